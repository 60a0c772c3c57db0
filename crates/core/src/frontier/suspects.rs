//! URLs under suspicion: those that were being read when the crawler died, again and again.
//!
//! Owns what becomes of them. One that is watched is asked only while nothing else is in flight,
//! so that the next death is its own; one that is guilty is not asked any more. It refuses to
//! know how the suspicion arose. Invariant: while a watched URL is in flight, it is alone.

use std::collections::BTreeSet;

use super::Frontier;
use super::entry::QueueEntry;
use super::flights::JobKind;
use super::job::{JobId, Next};
use super::pace::Moment;
use super::store::{KeyMap, Store};
use crate::key::{HostId, Key};
use crate::outcome::{FailureClass, Outcome};

/// How much a URL is suspected to kill the crawler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suspicion {
    /// It is asked only while nothing else is.
    Watched,
    /// It is not asked any more.
    Guilty,
}

/// What is said of a URL that is not asked any more.
const GUILTY: &str = "the crawler died three times while it read this page";

/// The URLs under suspicion.
#[derive(Debug, Default)]
pub(super) struct Suspects {
    known: KeyMap<Key, Suspicion>,
    /// Hosts with URLs that wait until nothing is in flight.
    aside: BTreeSet<HostId>,
    /// A watched URL is in flight, and nothing may start beside it.
    is_one_alone: bool,
}

impl Suspects {
    /// Whether a watched URL is in flight, beside which nothing may start.
    pub(super) const fn is_one_alone(&self) -> bool {
        self.is_one_alone
    }

    /// Hosts of another owner are not suspected here.
    pub(super) fn keep_only(&mut self, is_kept: impl Fn(HostId) -> bool) {
        self.known.retain(|key, _| is_kept(key.host()));
        self.aside.retain(|host| is_kept(*host));
    }

    /// Nothing is in flight any more.
    pub(super) const fn end_alone(&mut self) {
        self.is_one_alone = false;
    }

    /// A URL has reached its end.
    pub(super) fn clear(&mut self, key: Key) {
        self.known.remove(&key);
    }

    fn about(&self, key: Key) -> Option<Suspicion> {
        self.known.get(&key).copied()
    }
}

/// What suspicion makes of the head of a lane.
pub(super) enum Suspect {
    /// Nothing: it may be asked.
    Free,
    /// It waits until nothing is in flight.
    Aside,
    /// It has reached its end.
    Ended(Next),
}

impl<S: Store> Frontier<S> {
    /// Puts a URL under suspicion.
    pub fn suspect(&mut self, key: Key, suspicion: Suspicion) {
        self.suspects.known.insert(key, suspicion);
    }

    /// The page that a job in flight is about.
    pub fn leased(&self, job: JobId) -> Option<Key> {
        self.in_hand(job).map(|entry| entry.key)
    }

    /// The same, with all that is known of it.
    pub fn in_hand(&self, job: JobId) -> Option<&QueueEntry> {
        match &self.flights.get(job)?.kind {
            JobKind::Page(entry) | JobKind::Postponed(entry) => Some(entry),
            JobKind::Resolve(_) | JobKind::Robots(_) | JobKind::Errand(_) => None,
        }
    }

    /// Whether a job in flight asks for a root, for a hop of a root's own redirects, or for the
    /// robots.txt of one.
    pub fn is_for_root(&self, job: JobId, now: Moment) -> bool {
        match self.flights.get(job).map(|flight| &flight.kind) {
            Some(JobKind::Page(entry) | JobKind::Postponed(entry)) => entry.root,
            Some(JobKind::Robots(fetch)) => {
                let lane = self.lanes.get(&fetch.for_lane);
                lane.and_then(|lane| lane.head(now))
                    .is_some_and(|head| head.root)
            }
            Some(JobKind::Resolve(_) | JobKind::Errand(_)) | None => false,
        }
    }

    /// Judges the head of a lane.
    pub(super) fn examine(&mut self, host: HostId, now: Moment) -> Result<Suspect, S::Error> {
        let suspicion = if self.suspects.known.is_empty() {
            None
        } else {
            let head = self.lanes.get(&host).and_then(|lane| lane.head(now));
            head.and_then(|head| self.suspects.about(head.key))
        };
        match suspicion {
            Some(Suspicion::Guilty) => {
                let entry = self.take_head(host, now);
                let outcome = Outcome::Failed(FailureClass::Internal);
                let finished = self.finish(entry, outcome, Some(GUILTY.into()));
                Ok(Suspect::Ended(Next::Settled(Box::new(finished))))
            }
            Some(Suspicion::Watched) if !self.flights.is_empty() => {
                let entry = self.take_head(host, now);
                self.lane(host).set_aside.push_back(entry);
                self.suspects.aside.insert(host);
                self.reschedule(host, now)?;
                Ok(Suspect::Aside)
            }
            Some(Suspicion::Watched) | None => Ok(Suspect::Free),
        }
    }

    /// A URL is about to be asked: from here on it is alone, if it is watched.
    pub(super) fn guard(&mut self, key: Key) {
        let suspects = &mut self.suspects;
        suspects.is_one_alone = !suspects.known.is_empty() && suspects.known.contains_key(&key);
    }

    /// While nothing is in flight, one lane gets back what was set aside.
    pub(super) fn bring_back(&mut self, now: Moment) -> Result<bool, S::Error> {
        if !self.flights.is_empty() {
            return Ok(false);
        }
        let Some(host) = self.suspects.aside.pop_first() else {
            return Ok(false);
        };
        if let Some(lane) = self.lanes.get_mut(&host) {
            while let Some(entry) = lane.set_aside.pop_back() {
                lane.window.push_front(entry);
            }
        }
        self.reschedule(host, now)?;
        Ok(true)
    }
}
