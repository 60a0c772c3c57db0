//! When it is not the hosts: the network is away, or this process was stopped.
//!
//! Owns the judgement that nearly all hosts failed at once, and what follows from it: nothing
//! new is handed out, what failed does not count, and one request at a time, seldom, looks
//! whether the network is back. Only hosts that answered before are evidence, and only failures
//! that began together and before a connection was made, so that neither a list of dead hosts nor
//! servers that fall silent are mistaken for an outage; and it
//! takes three registrable domains at the least: that one host fails, or two, is the hosts' own
//! matter, which parks them. Invariant: a pause ends, be it by its patience.

use std::collections::VecDeque;
use std::time::Duration;

use super::Frontier;
use super::flights::{Flight, JobKind};
use super::job::{Ending, Excuse, Failure, JobId, Next, Note};
use super::pace::{Moment, Pace};
use super::place::LanePlace;
use super::store::{KeyMap, Store};
use crate::key::{HostId, Key};
use crate::outcome::{FailureClass, Retry};

/// Results that are looked at together.
const RECENT: usize = 256;
/// Failures that began within this time began together.
const TOGETHER: Duration = Duration::from_secs(30);
/// Domains that must fail together, at the least …
const FEWEST_DOMAINS: usize = 3;
/// … and where many are being crawled.
const MOST_DOMAINS: usize = 8;
/// An outage leaves at most one of so many domains well.
const NEARLY_ALL: usize = 10;
/// The first look whether the network is back; the wait doubles …
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// … to this.
const LONGEST_LOOK: Duration = Duration::from_secs(5);
/// After so long the hosts are judged by themselves again, so that every crawl ends.
const PATIENCE: Duration = Duration::from_hours(6);
/// Failed URLs of a lane that can be forgiven.
const FORGIVABLE: usize = 256;

/// One result of a host that answered before.
#[derive(Debug, Clone, Copy)]
struct Seen {
    at: Moment,
    host: HostId,
    domain: u64,
    well: bool,
}

/// The wait for the network.
#[derive(Debug)]
struct Pause {
    since: Moment,
    look_at: Moment,
    wait: Duration,
    lanes: VecDeque<HostId>,
    looking: Option<u64>,
}

/// What is known of the network.
#[derive(Debug, Default)]
pub(super) struct Outage {
    recent: VecDeque<Seen>,
    pause: Option<Pause>,
    /// The patience ran out; not before an answer comes is the rule in force again.
    given_up: bool,
}

/// How a lane was before it began to fail.
#[derive(Debug, Clone)]
pub(super) struct Onset {
    pace: Pace,
    host_failures: u32,
    charged: Vec<Key>,
}

impl Outage {
    fn see(&mut self, seen: Seen) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(seen);
    }

    /// The hosts that failed together, if those are nearly all.
    fn judge(&self, now: Moment) -> Option<VecDeque<HostId>> {
        let mut latest: KeyMap<u64, (Moment, bool)> = KeyMap::default();
        for seen in &self.recent {
            // A failure counts from its onset: only the first one in a row is recorded.
            latest.insert(seen.domain, (seen.at, seen.well));
        }
        let mut onsets: Vec<Moment> = latest
            .values()
            .filter(|(at, well)| !well && *at + TOGETHER >= now)
            .map(|(at, _)| *at)
            .collect();
        let needed = (latest.len() / 2).clamp(FEWEST_DOMAINS, MOST_DOMAINS);
        if onsets.len() < needed {
            return None;
        }
        onsets.sort_unstable();
        let since = onsets[onsets.len() - needed];
        let well = latest.values().filter(|(at, well)| *well && *at > since);
        if well.count() * NEARLY_ALL > onsets.len() {
            return None;
        }
        let failed = self.recent.iter().filter(|seen| {
            let (at, well) = latest[&seen.domain];
            !seen.well && !well && at + TOGETHER >= now
        });
        let mut hosts: Vec<HostId> = failed.map(|seen| seen.host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        Some(hosts.into())
    }
}

/// Whether a failure may be the network's fault.
const fn concerns_network(class: FailureClass) -> bool {
    !matches!(class.retry(), Retry::Permanent) || matches!(class, FailureClass::DnsNotFound)
}

impl<S: Store> Frontier<S> {
    /// This process was stopped: what was in flight may fail without it being anybody's fault.
    pub fn excuse(&mut self, stopped: Duration) {
        self.flights.excuse();
        self.note(Note::Stopped { stopped });
    }

    /// Whether the crawl waits for the network.
    pub const fn is_network_away(&self) -> bool {
        self.outage.pause.is_some()
    }

    /// Until when the crawl waits for the network, if it does.
    pub(super) fn waits_for_network(&self) -> Option<(Moment, Option<HostId>)> {
        let pause = self.outage.pause.as_ref()?;
        Some((pause.look_at, pause.lanes.front().copied()))
    }

    /// Weighs the end of a job: a failure that is not the host's own becomes one that does not
    /// count.
    pub(super) fn weigh(
        &mut self,
        job: JobId,
        flight: &Flight,
        ending: &mut Ending,
        now: Moment,
    ) -> Result<(), S::Error> {
        let pause = self.outage.pause.as_mut();
        let mut looked = pause.filter(|pause| pause.looking == Some(job.0));
        if let Some(pause) = &mut looked {
            pause.looking = None;
        }
        match ending {
            // Addresses may come from a cache; the same lane goes on to ask its host.
            Ending::Resolved { .. } => {
                if let Some(pause) = looked {
                    pause.look_at = now;
                    pause.lanes.push_front(flight.lane);
                }
                Ok(())
            }
            Ending::Failed(failure) if concerns_network(failure.class) => {
                if let Some(pause) = looked {
                    pause.wait = (pause.wait * 2).min(LONGEST_LOOK);
                    pause.look_at = now + pause.wait;
                    if failure.connected {
                        self.network_is_back(now);
                    }
                }
                self.weigh_failure(flight, failure, now)
            }
            // Nobody was asked, or nobody knows what came of it: so another host is.
            Ending::Withheld { .. } | Ending::CutShort { .. } => {
                if let Some(pause) = looked {
                    pause.look_at = now;
                }
                Ok(())
            }
            Ending::Answered(_) | Ending::Failed(_) => {
                let back = looked.is_some();
                self.reached(flight.lane, now);
                if back {
                    self.network_is_back(now);
                }
                Ok(())
            }
        }
    }

    /// A host was reached.
    fn reached(&mut self, host: HostId, now: Moment) {
        self.outage.given_up = false;
        let Some(lane) = self.lanes.get_mut(&host) else {
            return;
        };
        lane.answered = true;
        lane.onset = None;
        let domain = lane.domain;
        self.outage.see(Seen {
            at: now,
            host,
            domain,
            well: true,
        });
    }

    fn weigh_failure(
        &mut self,
        flight: &Flight,
        failure: &mut Failure,
        now: Moment,
    ) -> Result<(), S::Error> {
        failure.excuse = match failure.excuse {
            None if flight.excused => Some(Excuse::Stopped),
            None if self.outage.pause.is_some() => Some(Excuse::NetworkAway),
            excuse => excuse,
        };
        if failure.excuse.is_some() {
            return Ok(());
        }
        let host = flight.lane;
        let lane = self.lane(host);
        if failure.class.retry() == Retry::Host {
            // A host that dies takes everything with it that it was being asked for; that is
            // one failure, not as many as there were requests.
            if lane.failed_at.is_some_and(|at| flight.since < at) {
                failure.excuse = Some(Excuse::SameOutage);
                return Ok(());
            }
            lane.failed_at = Some(now);
        }
        if !lane.answered || failure.connected {
            return Ok(());
        }
        let charged = match &flight.kind {
            JobKind::Page(entry) | JobKind::Postponed(entry) => Some(entry.key),
            JobKind::Errand(_) => None,
            JobKind::Resolve(_) | JobKind::Robots(_) => lane.head(now).map(|head| head.key),
        };
        let domain = lane.domain;
        if let Some(onset) = &mut lane.onset {
            onset.charge(charged);
            return Ok(());
        }
        let mut onset = Onset {
            pace: lane.pace.clone(),
            host_failures: lane.host_failures,
            charged: Vec::new(),
        };
        onset.charge(charged);
        lane.onset = Some(Box::new(onset));
        self.outage.see(Seen {
            at: now,
            host,
            domain,
            well: false,
        });
        if self.outage.given_up {
            return Ok(());
        }
        match self.outage.judge(now) {
            Some(hosts) => {
                failure.excuse = Some(Excuse::NetworkAway);
                // This failure was not charged yet.
                self.lane(host).onset = None;
                self.network_is_away(hosts, now)
            }
            None => Ok(()),
        }
    }

    fn network_is_away(&mut self, hosts: VecDeque<HostId>, now: Moment) -> Result<(), S::Error> {
        self.note(Note::NetworkAway { hosts: hosts.len() });
        for host in &hosts {
            if let Some(lane) = self.lanes.get_mut(host) {
                lane.forgive();
                // Not before it answers again is it evidence again: so every pause is paid for
                // with an answer, and a crawl ends.
                lane.answered = false;
            }
            self.reschedule(*host, now)?;
        }
        self.outage.pause = Some(Pause {
            since: now,
            look_at: now + FIRST_LOOK,
            wait: FIRST_LOOK,
            lanes: hosts,
            looking: None,
        });
        Ok(())
    }

    fn network_is_back(&mut self, now: Moment) {
        if let Some(pause) = self.outage.pause.take() {
            self.outage.recent.clear();
            let after = now.saturating_sub(pause.since);
            self.note(Note::NetworkBack { after });
        }
    }

    /// What to do while the network is away; nothing, if it is not.
    pub(super) fn look_for_network(&mut self, now: Moment) -> Result<Option<Next>, S::Error> {
        let Some(pause) = &mut self.outage.pause else {
            return Ok(None);
        };
        if pause.looking.is_some() {
            return Ok(Some(Next::Waiting));
        }
        if now >= pause.since + PATIENCE {
            self.outage.given_up = true;
            self.network_is_back(now);
            return Ok(None);
        }
        if now < pause.look_at {
            return Ok(Some(Next::WaitUntil(pause.look_at)));
        }
        for _ in 0..pause.lanes.len() {
            if let Some(next) = self.look_at_next_host(now)? {
                return Ok(Some(next));
            }
        }
        Ok(self.look_later(now))
    }

    /// Lets the next of the hosts that failed ask for what it waits for, by its own rules.
    fn look_at_next_host(&mut self, now: Moment) -> Result<Option<Next>, S::Error> {
        let Some(pause) = &mut self.outage.pause else {
            return Ok(None);
        };
        let Some(host) = pause.lanes.pop_front() else {
            return Ok(None);
        };
        // A host that answered from the cache stands in the list twice.
        pause.lanes.retain(|known| *known != host);
        pause.lanes.push_back(host);
        if let Some(lane) = self.lanes.get_mut(&host) {
            if lane.place.is_in_group() {
                return Ok(None);
            }
            // The line for slots is not served while the network is away.
            lane.place.move_to(LanePlace::Nowhere);
        }
        let next = self.ask_lane(host, now)?;
        if let Some(Next::Start(job)) = &next
            && let Some(pause) = &mut self.outage.pause
        {
            pause.looking = Some(job.id.0);
        }
        Ok(next)
    }

    /// None of the hosts could be asked now. Where none has anything to ask for, the pause ends.
    fn look_later(&mut self, now: Moment) -> Option<Next> {
        let pause = self.outage.pause.as_mut()?;
        let lanes = pause.lanes.iter().filter_map(|host| self.lanes.get(host));
        let soonest = lanes
            .filter(|lane| !lane.is_idle() && lane.ended.is_none())
            .map(|lane| lane.pace.next_at())
            .min();
        let Some(soonest) = soonest else {
            self.network_is_back(now);
            return None;
        };
        pause.look_at = soonest.max(now + FIRST_LOOK);
        Some(Next::WaitUntil(pause.look_at))
    }
}

impl Onset {
    fn charge(&mut self, key: Option<Key>) {
        if let Some(key) = key
            && self.charged.len() < FORGIVABLE
        {
            self.charged.push(key);
        }
    }
}

impl super::lane::Lane {
    /// The host asked for a pause until then, which no forgiveness ends.
    pub(super) fn leave_alone(&mut self, until: Moment) {
        self.pace.park_until(until);
        if let Some(onset) = &mut self.onset {
            onset.pace.park_until(until);
        }
    }

    /// Takes back what the failures since their onset cost.
    fn forgive(&mut self) {
        let Some(onset) = self.onset.take() else {
            return;
        };
        self.pace.forgive(onset.pace);
        self.host_failures = onset.host_failures;
        for key in &onset.charged {
            self.forgive_try(*key);
        }
    }
}
