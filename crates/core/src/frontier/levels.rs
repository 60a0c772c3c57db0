//! The levels of a crawl with a depth: when the next one may begin.
//!
//! Owns the end of a level. Levels are handed out in order, so that the depth of a URL is its
//! shortest path; but a level waits only a bounded time for hosts that keep it waiting, because
//! one silent host would otherwise hold up all others at every level. What comes late is not
//! lost: its links follow at their own depth, one more than that of their page. Only a URL that
//! others led to meanwhile keeps the depth it was given. Invariant: a level does not end while
//! something of it could start, or was started a moment ago.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use super::Frontier;
use super::flights::Flights;
use super::job::JobId;
use super::pace::Moment;
use super::schedule::Wake;
use super::slots::HostStanding;
use super::store::Store;
use crate::key::HostId;

/// A level waits so long for the answer of a host that has not given a page yet …
const NEW_PATIENCE: Duration = Duration::from_secs(2);
/// … so long for one that has …
const PROVEN_PATIENCE: Duration = Duration::from_secs(10);
/// … and so long for one that is to be asked later: it keeps its pace, or is parked.
const PARKED_PATIENCE: Duration = Duration::from_secs(30);

/// Requests in flight that a level waits for, in the order of their starts.
#[derive(Debug, Default)]
struct Awaited(VecDeque<(Moment, JobId)>);

impl Awaited {
    fn add(&mut self, until: Moment, job: JobId) {
        self.0.push_back((until, job));
    }

    /// Forgets those at both ends that are over; until when the level waits for the others.
    fn until(&mut self, flights: &Flights, now: Moment) -> Option<Moment> {
        let is_over = |(until, job): &(Moment, JobId)| *until <= now || flights.get(*job).is_none();
        while self.0.front().is_some_and(is_over) {
            self.0.pop_front();
        }
        while self.0.back().is_some_and(is_over) {
            self.0.pop_back();
        }
        self.0.back().map(|(until, _)| *until)
    }
}

/// The level that is handed out, what it waits for, and who waits for the next one.
#[derive(Debug)]
pub(super) struct Levels {
    level: u32,
    /// Hosts with URLs of the next level.
    held: BTreeSet<HostId>,
    new: Awaited,
    proven: Awaited,
    /// Until then a host keeps the level waiting that will be asked again.
    later: Moment,
    /// When to look again whether the level is over.
    look_at: Option<Moment>,
}

impl Levels {
    /// Depth is the shortest path only if levels are handed out in order; without a limit of
    /// depth all URLs are of one level.
    pub(super) fn new(deepest: Option<u32>) -> Self {
        Self {
            level: deepest.map_or(u32::MAX, |_| 0),
            held: BTreeSet::new(),
            new: Awaited::default(),
            proven: Awaited::default(),
            later: Moment::ZERO,
            look_at: None,
        }
    }

    /// The depth of the level, of URLs that may be handed out.
    #[inline]
    pub(super) const fn level(&self) -> u32 {
        self.level
    }

    /// Goes on with the level of an earlier run.
    pub(super) const fn restore(&mut self, level: u32) {
        self.level = level;
    }

    /// A host has URLs of the next level; whether that is news.
    pub(super) fn hold(&mut self, host: HostId) -> bool {
        self.held.insert(host)
    }

    /// Whether a host waits for the next level.
    pub(super) fn holds(&self, host: HostId) -> bool {
        self.held.contains(&host)
    }

    /// When to look again whether the level is over, if nothing happens before.
    pub(super) const fn look_at(&self) -> Option<Moment> {
        self.look_at
    }
}

impl<S: Store> Frontier<S> {
    /// Notes a request that the level waits for. A silent host had its time.
    pub(super) fn await_flight(&mut self, job: JobId, standing: HostStanding, now: Moment) {
        if self.rules.limits.depth.is_none() {
            return;
        }
        let (awaited, patience) = match standing {
            HostStanding::New | HostStanding::Answered => (&mut self.levels.new, NEW_PATIENCE),
            HostStanding::Proven => (&mut self.levels.proven, PROVEN_PATIENCE),
            HostStanding::Silent => return,
        };
        awaited.until(&self.flights, now);
        awaited.add(now + patience, job);
    }

    /// Lets URLs down to a depth be handed out, and no deeper ones.
    pub(super) fn reach_down_to(&mut self, depth: u32, now: Moment) -> Result<(), S::Error> {
        self.levels.level = depth;
        self.residents.let_wait();
        for host in std::mem::take(&mut self.levels.held) {
            self.reschedule(host, now)?;
        }
        Ok(())
    }

    /// Goes on to the next level where nothing of this one can be done soon.
    pub(super) fn next_level(&mut self, now: Moment) -> Result<bool, S::Error> {
        self.levels.look_at = None;
        if self.levels.held.is_empty() || self.does_level_wait(now) {
            return Ok(false);
        }
        self.reach_down_to(self.levels.level + 1, now)?;
        Ok(true)
    }

    fn does_level_wait(&mut self, now: Moment) -> bool {
        let new = self.levels.new.until(&self.flights, now);
        let proven = self.levels.proven.until(&self.flights, now);
        self.levels.look_at = new.max(proven);
        self.levels.look_at.is_some() || self.slots.are_wanted_by_new() || self.is_one_due_soon(now)
    }

    /// Whether a host that is not silent will be asked soon.
    fn is_one_due_soon(&mut self, now: Moment) -> bool {
        if now < self.levels.later {
            return true;
        }
        let soon = now + PARKED_PATIENCE;
        match self.first_wake() {
            Some((at, wake)) if at < soon && self.is_silent(wake) => {}
            first => return first.is_some_and(|(at, _)| at < soon),
        }
        // Silent hosts come first. All others are looked through, and not again before the
        // first of them is due.
        let wakes = self.schedule.iter();
        let others = wakes.filter(|(at, wake)| *at < soon && !self.is_silent(*wake));
        let first = others.map(|(at, _)| at).min();
        self.levels.later = first.unwrap_or_default();
        first.is_some()
    }

    /// Whether a wake-up is that of a silent host, or of none any more.
    fn is_silent(&self, wake: Wake) -> bool {
        match wake {
            Wake::Lane(host) => {
                let lane = self.lanes.get(&host);
                lane.is_none_or(|lane| {
                    lane.standing == HostStanding::Silent || lane.place.scheduled().is_none()
                })
            }
            Wake::Group(_) => false,
        }
    }
}
