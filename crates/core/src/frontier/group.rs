//! Groups of hosts that share a limit: registrable domains and addresses.
//!
//! Owns who is in flight in a group, when the group may start again, and which lanes wait for
//! that. Invariant: a group with waiters has a wake-up scheduled, or is at its limit of
//! requests in flight, so that the next release schedules one.

use std::collections::VecDeque;
use std::hash::Hash;
use std::net::IpAddr;

use super::pace::Moment;
use super::rules::Grouping;
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

/// A group of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GroupKey {
    /// The hosts of a registrable domain, by its fingerprint.
    Domain(u64),
    /// The hosts at an address.
    Address(IpAddr),
}

/// Why a group may not start a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupWait {
    /// Not before this moment.
    At(Moment),
    /// Not before fewer than so many requests of the group are in flight.
    Full(u32),
}

/// What a due wake-up gives.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Woken {
    /// The lane that may try now.
    pub(super) lane: Option<HostId>,
    /// When the group wants to be woken again.
    pub(super) again: Option<Moment>,
}

/// All groups of both kinds, and which of them are counted.
#[derive(Debug)]
pub(super) struct SharedLimits {
    domains: Groups<u64>,
    addresses: Groups<IpAddr>,
    grouping: Grouping,
}

impl SharedLimits {
    pub(super) fn new(grouping: Grouping) -> Self {
        Self {
            domains: Groups::new(),
            addresses: Groups::new(),
            grouping,
        }
    }

    /// From now on these are counted.
    pub(super) const fn count(&mut self, grouping: Grouping) {
        self.grouping = grouping;
    }

    pub(super) const fn counts_domains(&self) -> bool {
        self.grouping.domains
    }

    pub(super) const fn counts_addresses(&self) -> bool {
        self.grouping.addresses
    }

    /// What keeps a group from starting a request; nothing, if it may.
    pub(super) fn room(&self, group: GroupKey, pace: GroupPace, now: Moment) -> Option<GroupWait> {
        match group {
            GroupKey::Domain(key) => self.domains.room(key, pace, now),
            GroupKey::Address(key) => self.addresses.room(key, pace, now),
        }
    }

    /// A request of the group starts.
    pub(super) fn start(&mut self, group: GroupKey, pace: GroupPace, now: Moment) {
        match group {
            GroupKey::Domain(key) => self.domains.start(key, pace, now),
            GroupKey::Address(key) => self.addresses.start(key, pace, now),
        }
    }

    /// A request of the group has ended; answers when to wake it, if lanes wait.
    pub(super) fn end(&mut self, group: GroupKey, now: Moment) -> Option<Moment> {
        match group {
            GroupKey::Domain(key) => self.domains.end(key, now),
            GroupKey::Address(key) => self.addresses.end(key, now),
        }
    }

    /// Requests in flight to an address.
    pub(super) fn in_flight(&self, address: IpAddr) -> u32 {
        let group = self.addresses.groups.get(&address);
        group.map_or(0, |group| group.in_flight)
    }

    /// The hosts of a domain have another owner.
    pub(super) fn forget_domain(&mut self, domain: u64) {
        self.domains.groups.remove(&domain);
    }

    /// A lane waits for this group; answers when to wake the group, if that is not known yet.
    pub(super) fn wait(
        &mut self,
        group: GroupKey,
        lane: HostId,
        room: GroupWait,
    ) -> Option<Moment> {
        match group {
            GroupKey::Domain(key) => self.domains.wait(key, lane, room),
            GroupKey::Address(key) => self.addresses.wait(key, lane, room),
        }
    }

    /// The group's wake-up is due: the lane that may try now, and the next wake-up.
    pub(super) fn wake(&mut self, group: GroupKey, at: Moment) -> Woken {
        match group {
            GroupKey::Domain(key) => self.domains.wake(key, at),
            GroupKey::Address(key) => self.addresses.wake(key, at),
        }
    }
}

/// All groups of one kind.
#[derive(Debug)]
struct Groups<K: Eq + Hash + Copy> {
    groups: KeyMap<K, Group>,
    sweep_at: usize,
}

impl<K: Eq + Hash + Copy> Groups<K> {
    fn new() -> Self {
        Self {
            groups: KeyMap::default(),
            sweep_at: FIRST_SWEEP,
        }
    }

    fn room(&self, key: K, pace: GroupPace, now: Moment) -> Option<GroupWait> {
        match self.groups.get(&key) {
            Some(group) if group.in_flight >= pace.in_flight => {
                Some(GroupWait::Full(pace.in_flight))
            }
            Some(group) if group.next_at > now => Some(GroupWait::At(group.next_at)),
            _ => None,
        }
    }

    fn start(&mut self, key: K, pace: GroupPace, now: Moment) {
        self.sweep(now);
        let group = self.groups.entry(key).or_default();
        group.in_flight += 1;
        group.limit = pace.in_flight;
        group.next_at = now + pace.rate.map_or(Moment::ZERO, Rate::interval);
    }

    fn end(&mut self, key: K, now: Moment) -> Option<Moment> {
        let group = self.groups.get_mut(&key)?;
        group.in_flight = group.in_flight.saturating_sub(1);
        if group.waiters.is_empty() {
            return None;
        }
        arm(group, now)
    }

    fn wait(&mut self, key: K, lane: HostId, room: GroupWait) -> Option<Moment> {
        let group = self.groups.entry(key).or_default();
        group.waiters.push_back(lane);
        match room {
            GroupWait::Full(limit) => {
                // Requests that are in flight may have started by a higher limit. If the group took
                // itself for free by that one, its waiters would be woken in a circle.
                group.limit = limit;
                None
            }
            GroupWait::At(at) => arm(group, at),
        }
    }

    fn wake(&mut self, key: K, at: Moment) -> Woken {
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
