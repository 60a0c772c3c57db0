//! Groups of hosts that share a limit: registrable domains and addresses.
//!
//! Owns who is in flight in a group, when the group may start again, and which lanes wait for
//! that. Invariant: a group with waiters has a wake-up scheduled, or is at its limit of
//! requests in flight, so that the next release schedules one.

use std::collections::VecDeque;
use std::hash::Hash;

use super::pace::Moment;
use super::store::KeyMap;
use crate::key::HostId;
use crate::politeness::{GroupPace, Rate};

/// Groups are looked through for idle ones when their number has doubled since the last time.
const FIRST_SWEEP: usize = 1024;

#[derive(Debug, Default)]
struct Group {
    in_flight: u32,
    limit: u32,
    next_at: Moment,
    waiters: VecDeque<HostId>,
    wake_at: Option<Moment>,
}

/// Whether a group may start a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// Yes.
    Free,
    /// Not before this moment.
    At(Moment),
    /// Not before a request of the group has ended.
    Full,
}

/// What a due wake-up gives.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Woken {
    /// The lane that may try now.
    pub(super) lane: Option<HostId>,
    /// When the group wants to be woken again.
    pub(super) again: Option<Moment>,
}

/// All groups of one kind.
#[derive(Debug)]
pub(super) struct Groups<K: Eq + Hash + Copy> {
    groups: KeyMap<K, Group>,
    sweep_at: usize,
}

impl<K: Eq + Hash + Copy> Groups<K> {
    pub(super) fn new() -> Self {
        Self {
            groups: KeyMap::default(),
            sweep_at: FIRST_SWEEP,
        }
    }

    pub(super) fn room(&self, key: K, pace: GroupPace, now: Moment) -> Room {
        match self.groups.get(&key) {
            Some(group) if group.in_flight >= pace.in_flight => Room::Full,
            Some(group) if group.next_at > now => Room::At(group.next_at),
            _ => Room::Free,
        }
    }

    pub(super) fn start(&mut self, key: K, pace: GroupPace, now: Moment) {
        self.sweep(now);
        let group = self.groups.entry(key).or_default();
        group.in_flight += 1;
        group.limit = pace.in_flight;
        group.next_at = now + pace.rate.map_or(Moment::ZERO, Rate::interval);
    }

    /// A request of the group has ended; answers when to wake it, if lanes wait.
    pub(super) fn end(&mut self, key: K, now: Moment) -> Option<Moment> {
        let group = self.groups.get_mut(&key)?;
        group.in_flight = group.in_flight.saturating_sub(1);
        if group.waiters.is_empty() {
            return None;
        }
        arm(group, now)
    }

    /// A lane waits for this group; answers when to wake the group, if that is not known yet.
    pub(super) fn wait(&mut self, key: K, lane: HostId, room: Room) -> Option<Moment> {
        let group = self.groups.entry(key).or_default();
        group.waiters.push_back(lane);
        match room {
            Room::Full => None,
            Room::At(at) => arm(group, at),
            Room::Free => arm(group, Moment::ZERO),
        }
    }

    /// The group's wake-up is due: the lane that may try now, and the next wake-up.
    pub(super) fn wake(&mut self, key: K, at: Moment) -> Woken {
        let Some(group) = self.groups.get_mut(&key) else {
            return Woken::default();
        };
        if group.wake_at != Some(at) {
            return Woken::default();
        }
        group.wake_at = None;
        let full = group.limit > 0 && group.in_flight >= group.limit;
        if full || group.waiters.is_empty() {
            return Woken::default();
        }
        if group.next_at > at {
            return Woken {
                lane: None,
                again: arm(group, at),
            };
        }
        let lane = group.waiters.pop_front();
        let again = if group.waiters.is_empty() {
            None
        } else {
            arm(group, at)
        };
        Woken { lane, again }
    }

    fn sweep(&mut self, now: Moment) {
        if self.groups.len() >= self.sweep_at {
            self.groups.retain(|_, group| {
                group.in_flight > 0 || !group.waiters.is_empty() || group.next_at > now
            });
            self.sweep_at = (self.groups.len() * 2).max(FIRST_SWEEP);
        }
    }
}

fn arm(group: &mut Group, at: Moment) -> Option<Moment> {
    let at = at.max(group.next_at);
    if group.wake_at.is_some_and(|known| known <= at) {
        return None;
    }
    group.wake_at = Some(at);
    Some(at)
}
