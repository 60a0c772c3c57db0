//! A lane: one host, its queue's head, its origins and its pace.
//!
//! Owns what is known of a host while it is active. It refuses to know other lanes and the
//! groups it belongs to.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use super::entry::{Origin, QueueEntry, RobotsFetch};
use super::errands::ErrandQueue;
use super::health::Health;
use super::outage::Onset;
use super::pace::{Moment, Pace};
use super::place::Whereabouts;
use super::rules::HostRules;
use super::slots::HostStanding;
use super::store::{LaneRow, RowEnd};
use super::traps::Turns;
use crate::key::Key;
use crate::outcome::{FailureClass, Outcome, SkipReason};
use crate::robots::Robots;

/// Of a host that has always something new, one URL in so many is tried again.
const FRESH_PER_RETRY: u32 = 19;
/// URLs of a host that wait to be tried again; beyond that many they come before new ones.
const MOST_DELAYED: usize = 1024;
/// Tries that are due at once keep a distance: so many of them fill the wait before a second try.
const RETRIES_PER_DELAY: u32 = 100;

/// Tries for a robots.txt that cannot be read.
const ROBOTS_TRIES: u32 = 3;

/// What is known of the addresses of an origin.
#[derive(Debug, Clone)]
pub(super) enum Addresses {
    Unknown,
    Asking,
    Known {
        addresses: Vec<IpAddr>,
        until: Moment,
    },
}

/// What is known of an origin's robots.txt.
#[derive(Debug, Clone)]
pub(super) enum OriginRobots {
    Unknown,
    Fetching,
    Known { robots: Box<Robots>, until: Moment },
    Unreachable { again_at: Moment },
    GivenUp,
}

/// One scheme and port of a host.
#[derive(Debug, Clone)]
pub(super) struct OriginState {
    pub(super) origin: Origin,
    pub(super) addresses: Addresses,
    pub(super) robots: OriginRobots,
    pub(super) robots_tries: u32,
    pub(super) robots_recalled: bool,
    /// Whether it ever answered, whatever it said.
    pub(super) answered: bool,
    /// Failures while others of the host answered.
    pub(super) failures: u32,
}

impl OriginState {
    /// Its robots.txt could not be read, or is on its way: it is not asked for again before then,
    /// and not for ever.
    pub(super) fn await_robots(&mut self, again_at: Moment) {
        self.robots_tries += 1;
        self.robots = if self.robots_tries >= ROBOTS_TRIES {
            OriginRobots::GivenUp
        } else {
            OriginRobots::Unreachable { again_at }
        };
    }

    /// Whether nobody is asking for its addresses or its robots.txt.
    fn is_settled(&self) -> bool {
        !matches!(self.addresses, Addresses::Asking)
            && !matches!(self.robots, OriginRobots::Fetching)
    }
}

/// Why a host is not asked any more.
#[derive(Debug, Clone)]
pub(super) struct LaneEnd {
    pub(super) outcome: Outcome,
    pub(super) why: Box<str>,
}

impl LaneEnd {
    pub(super) fn skip(reason: SkipReason, why: impl Into<Box<str>>) -> Self {
        Self {
            outcome: Outcome::Skipped(reason),
            why: why.into(),
        }
    }

    fn to_row(&self) -> RowEnd {
        let (skip, fail) = match self.outcome {
            Outcome::Skipped(reason) => (Some(reason), None),
            Outcome::Failed(class) => (None, Some(class)),
            _ => (None, None),
        };
        RowEnd {
            skip,
            fail,
            why: self.why.clone(),
        }
    }

    fn from_row(row: RowEnd) -> Option<Self> {
        // A robots.txt or a host that could not be reached is tried again in the next run.
        let outcome = match (row.skip, row.fail) {
            (Some(SkipReason::HostUnreachable), _) | (None, None) => return None,
            (Some(reason), _) => Outcome::Skipped(reason),
            (None, Some(class)) => Outcome::Failed(class),
        };
        Some(Self {
            outcome,
            why: row.why,
        })
    }

    pub(super) fn fail(class: FailureClass, why: impl Into<Box<str>>) -> Self {
        Self {
            outcome: Outcome::Failed(class),
            why: why.into(),
        }
    }
}

/// An entry that waits for its next try.
#[derive(Debug)]
pub(super) struct Delayed {
    pub(super) due: Moment,
    order: u64,
    pub(super) entry: QueueEntry,
}

impl PartialEq for Delayed {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Delayed {}

impl PartialOrd for Delayed {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Delayed {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due, self.order).cmp(&(other.due, other.order))
    }
}

/// Takes the first of a queue. A queue that is empty gives its room back: most hosts have a page
/// or two in hand, and tens of thousands of them wait at a time.
fn pop<T>(queue: &mut VecDeque<T>) -> Option<T> {
    let first = queue.pop_front();
    if queue.is_empty() {
        *queue = VecDeque::new();
    }
    first
}

/// One host.
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts of a host that do not exclude each other; where it is in hand is its place"
)]
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) host: Box<str>,
    pub(super) domain: u64,
    pub(super) rules: Arc<HostRules>,
    pub(super) pace: Pace,
    pub(super) health: Health,
    pub(super) in_flight: u32,
    pub(super) pages: u64,
    pub(super) pages_in_flight: u64,
    /// URLs that were let in and are not settled, as far as they are counted.
    pub(super) queued: u64,
    /// All of them are: none lay in the store when the lane was made.
    pub(super) counted: bool,
    pub(super) window: VecDeque<QueueEntry>,
    pub(super) robots_fetches: VecDeque<RobotsFetch>,
    pub(super) errands: Option<Box<ErrandQueue>>,
    pub(super) origins: Vec<OriginState>,
    pub(super) host_failures: u32,
    pub(super) address_turn: usize,
    pub(super) resolved_before: bool,
    pub(super) ended: Option<LaneEnd>,
    pub(super) place: Whereabouts,
    pub(super) touched: bool,
    pub(super) resting: bool,
    /// It answered in this run, or gave pages in an earlier one.
    pub(super) answered: bool,
    /// How far it is trusted with slots.
    pub(super) standing: HostStanding,
    /// Whole pages that it gave; only whether the number changes matters.
    pub(super) whole_answers: u32,
    /// Its last answer came in about its usual time, and no request was cut short since.
    pub(super) keeps_time: bool,
    /// When the host as a whole failed the last time.
    pub(super) failed_at: Option<Moment>,
    /// How it was before it began to fail, while it fails.
    pub(super) onset: Option<Box<Onset>>,
    /// Entries that wait until nothing is in flight.
    pub(super) set_aside: VecDeque<QueueEntry>,
    /// Entries whose robots.txt was given up are not kept any longer.
    pub(super) last_call: bool,
    /// When URLs that are suspected to be of a trap have their turn.
    pub(super) turns: Turns,
    delayed: BinaryHeap<Reverse<Delayed>>,
    delays: u64,
    /// URLs that were taken for their first try since the last one that was tried again.
    fresh_in_row: u32,
    /// No URL is tried again before.
    next_retry_at: Moment,
}

impl Lane {
    pub(super) fn new(host: &str, domain: u64, rules: Arc<HostRules>) -> Self {
        Self {
            host: host.into(),
            domain,
            pace: Pace::new(&rules.politeness),
            rules,
            health: Health::default(),
            in_flight: 0,
            pages: 0,
            pages_in_flight: 0,
            queued: 0,
            counted: true,
            window: VecDeque::new(),
            robots_fetches: VecDeque::new(),
            errands: None,
            origins: Vec::new(),
            host_failures: 0,
            address_turn: 0,
            resolved_before: false,
            ended: None,
            place: Whereabouts::NEW,
            touched: false,
            resting: false,
            answered: false,
            standing: HostStanding::New,
            whole_answers: 0,
            keeps_time: false,
            failed_at: None,
            onset: None,
            set_aside: VecDeque::new(),
            last_call: false,
            turns: Turns::default(),
            delayed: BinaryHeap::new(),
            delays: 0,
            fresh_in_row: 0,
            next_retry_at: Moment::ZERO,
        }
    }

    /// The state of an origin, made where it is new.
    pub(super) fn origin(&mut self, origin: Origin) -> &mut OriginState {
        let at = self.origins.iter().position(|state| state.origin == origin);
        let at = at.unwrap_or_else(|| {
            let robots = OriginRobots::Unknown;
            // Most hosts have one origin, and there are many hosts.
            self.origins.reserve_exact(1);
            let addresses = Addresses::Unknown;
            self.origins.push(OriginState {
                origin,
                addresses,
                robots,
                robots_tries: 0,
                robots_recalled: false,
                answered: false,
                failures: 0,
            });
            self.origins.len() - 1
        });
        &mut self.origins[at]
    }

    /// Whether it is the port that is dead and not the host: others have answered, this one
    /// never did.
    pub(super) fn is_dead_door(&self, origin: Origin) -> bool {
        let answering = self.origins.iter().filter(|state| state.answered);
        let mut answering = answering.peekable();
        answering.peek().is_some() && answering.all(|state| state.origin != origin)
    }

    /// Turns to the next address of an origin, if there is one that was not tried yet.
    pub(super) fn turn_to_untried(&mut self, origin: Origin) -> bool {
        let number = match &self.origin(origin).addresses {
            Addresses::Known { addresses, .. } => addresses.len(),
            _ => 0,
        };
        let is_untried = self.address_turn + 1 < number;
        self.address_turn += usize::from(is_untried);
        is_untried
    }

    /// Keeps an entry for a later try.
    pub(super) fn delay(&mut self, entry: QueueEntry, due: Moment) {
        self.delays += 1;
        self.delayed.push(Reverse(Delayed {
            due,
            order: self.delays,
            entry,
        }));
    }

    /// The entry that is next, if there is one now.
    pub(super) fn head(&self, now: Moment) -> Option<&QueueEntry> {
        self.due_retry(now).or_else(|| self.window.front())
    }

    /// The same to be marked, where it is in the window.
    pub(super) fn head_mut(&mut self, now: Moment) -> Option<&mut QueueEntry> {
        if self.due_retry(now).is_some() {
            return None;
        }
        self.window.front_mut()
    }

    /// Takes the entry that [`Lane::head`] shows.
    pub(super) fn take_head(&mut self, now: Moment) -> Option<QueueEntry> {
        if self.due_retry(now).is_none() {
            self.fresh_in_row += 1;
            return pop(&mut self.window);
        }
        self.fresh_in_row = 0;
        self.next_retry_at = now + self.rules.politeness.retry_delay / RETRIES_PER_DELAY;
        self.delayed.pop().map(|Reverse(delayed)| delayed.entry)
    }

    /// The URL that is tried again now, if its turn has come: roots at once, others when nothing
    /// else is there, or once in a while.
    fn due_retry(&self, now: Moment) -> Option<&QueueEntry> {
        let Reverse(first) = self.delayed.peek()?;
        let is_its_turn = first.entry.root
            || self.window.is_empty()
            || self.fresh_in_row >= FRESH_PER_RETRY
            || self.delayed.len() >= MOST_DELAYED;
        let is_due = first.due.max(self.next_retry_at) <= now;
        (is_due && is_its_turn).then_some(&first.entry)
    }

    /// Turns to other URLs than those that come next, because those that came before failed.
    pub(super) fn look_elsewhere(&mut self) {
        let half = self.window.len() / 2;
        self.window.rotate_left(half);
    }

    /// Puts what is due to be tried again into the window: parts of pages before everything else,
    /// and pages, which may not be fetched any more, behind it.
    pub(super) fn sort_due_retries(&mut self, now: Moment) {
        while let Some(Reverse(delayed)) = self.delayed.peek()
            && delayed.due <= now
            && let Some(Reverse(Delayed { entry, .. })) = self.delayed.pop()
        {
            if entry.kind.is_requisite() {
                self.window.push_front(entry);
            } else {
                self.window.push_back(entry);
            }
        }
    }

    /// Brings parts of pages before pages; whether one is next. None are known to be among the
    /// first `looked` entries of the window.
    pub(super) fn bring_parts_before(&mut self, looked: usize) -> bool {
        let is_part = |entry: &QueueEntry| entry.kind.is_requisite();
        if self.window.front().is_some_and(is_part) {
            return true;
        }
        if !self.window.iter().skip(looked).any(is_part) {
            return false;
        }
        let (parts, pages): (VecDeque<_>, VecDeque<_>) = self.window.drain(..).partition(is_part);
        self.window = parts;
        self.window.extend(pages);
        true
    }

    /// When the first part of a page is tried again.
    pub(super) fn first_delayed_part(&self) -> Option<Moment> {
        let parts = self.delayed.iter().map(|Reverse(delayed)| delayed);
        let parts = parts.filter(|delayed| delayed.entry.kind.is_requisite());
        parts.map(|delayed| delayed.due).min()
    }

    /// Takes the robots fetch that is next.
    pub(super) fn take_robots_fetch(&mut self) -> Option<RobotsFetch> {
        pop(&mut self.robots_fetches)
    }

    /// Takes any entry, due or not, for a lane that has ended.
    pub(super) fn take_any(&mut self) -> Option<QueueEntry> {
        self.window
            .pop_front()
            .or_else(|| self.delayed.pop().map(|Reverse(delayed)| delayed.entry))
            .or_else(|| self.set_aside.pop_front())
    }

    /// A try of this entry does not count after all, and it need not wait for the next.
    pub(super) fn forgive_try(&mut self, key: Key) {
        let mut delayed = std::mem::take(&mut self.delayed).into_vec();
        if let Some(at) = delayed.iter().position(|Reverse(one)| one.entry.key == key) {
            let Reverse(found) = delayed.swap_remove(at);
            self.window.push_front(found.entry);
        }
        self.delayed = delayed.into();
        if let Some(entry) = self.window.iter_mut().find(|entry| entry.key == key) {
            entry.tries = entry.tries.saturating_sub(1);
        }
    }

    /// When the first delayed entry is due.
    pub(super) fn first_delayed(&self) -> Option<Moment> {
        let first = self.delayed.peek();
        first.map(|Reverse(delayed)| delayed.due.max(self.next_retry_at))
    }

    /// How many URLs the lane has in its hands.
    pub(super) fn in_hand(&self) -> usize {
        self.window.len() + self.delayed.len() + self.in_flight as usize
    }

    /// Whether nothing of this lane is in memory but itself.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight == 0
            && self.pages_in_flight == 0
            && self.errands.is_none()
            && self.window.is_empty()
            && self.delayed.is_empty()
            && self.robots_fetches.is_empty()
            && self.set_aside.is_empty()
            && !self.place.is_waiting()
            && self.origins.iter().all(OriginState::is_settled)
    }

    /// What is kept of the lane when it is put aside, or lost.
    pub(super) fn row(&self, wall: impl Fn(Moment) -> u64) -> LaneRow {
        let (interval, refused_interval) = self.pace.learnt();
        LaneRow {
            not_before: wall(self.pace.next_at()),
            parked: self.pace.is_parked(),
            pages: self.pages,
            interval,
            refused_interval,
            host_failures: self.host_failures,
            ended: self.ended.as_ref().map(LaneEnd::to_row),
            health: self.health.row(),
            traps: None,
        }
    }

    /// Takes up what was kept.
    pub(super) fn restore(&mut self, row: LaneRow, now: Moment, moment: impl Fn(u64) -> Moment) {
        self.pace.learn((row.interval, row.refused_interval), now);
        self.health.restore(row.health);
        let not_before = moment(row.not_before);
        if row.parked {
            self.pace.park_until(not_before);
        } else {
            // The usual gap may be a shorter one by now.
            self.pace
                .hold_until(not_before.min(now + self.pace.interval()));
        }
        self.pages = row.pages;
        self.answered = row.pages > 0;
        if row.pages > 0 {
            self.standing = HostStanding::Proven;
        }
        self.host_failures = row.host_failures;
        self.ended = row.ended.and_then(LaneEnd::from_row);
    }
}
