//! When nothing can start right now: what the crawl waits for, and whether it is over.
//!
//! Owns the budgets, the end of the crawl, and what comes only then: URLs that are asked alone, and hosts whose robots.txt stayed out of reach. Those keep their URLs to the end of
//! the run, so that a crawl that is resumed before it ended tries them again.

use super::Frontier;
use super::job::{Budget, End, Hold, HoldKind, Next};
use super::lane::{Lane, OriginRobots};
use super::pace::Moment;
use super::schedule::Wake;
use super::store::Store;

impl<S: Store> Frontier<S> {
    /// Finds something that may be done after all, now that nothing else can.
    pub(super) fn go_on(&mut self, now: Moment) -> Result<bool, S::Error> {
        if self.gate.holds_any() {
            return Ok(false);
        }
        if self.only_parts() {
            // What else waits is left for a run with a larger budget.
            return self.next_level(now);
        }
        Ok(self.bring_back(now)?
            || (!S::IN_FLEET && self.next_level(now)?)
            || self.release_suspects(now)?
            || self.last_call(now)?)
    }

    /// The budget that is spent, if one is.
    pub(super) fn spent(&self, now: Moment) -> Option<Budget> {
        let limits = &self.rules.limits;
        let is_over = self.pages_spent() && !self.only_parts() && !self.errands.has_pages();
        if is_over && self.counts.todo() > self.withheld() {
            return Some(Budget::Pages);
        }
        if limits.bytes.is_some_and(|bytes| self.counts.wire >= bytes) {
            return Some(Budget::Bytes);
        }
        limits
            .time
            .is_some_and(|time| now >= time)
            .then_some(Budget::Time)
    }

    pub(super) fn idle(&mut self) -> Next {
        let wake = self.first_wake().map(|(at, _)| at);
        match wake.into_iter().chain(self.levels.look_at()).min() {
            Some(at) => Next::WaitUntil(at),
            None if !self.flights.is_empty() || self.gate.holds_any() => Next::Waiting,
            None if self.is_in_fleet() => Next::Idle,
            None if self.counts.todo() <= self.withheld() => Next::Done(End::Finished),
            None if self.page_budget.holds_any() => Next::Done(End::Budget(Budget::Pages)),
            None => Next::Done(End::Budget(Budget::PagesPerHost)),
        }
    }

    /// The first wake-up that still means something.
    pub(super) fn first_wake(&mut self) -> Option<(Moment, Wake)> {
        while let Some((at, wake)) = self.schedule.peek() {
            let outdated = match wake {
                Wake::Lane(host) => self
                    .lanes
                    .get(&host)
                    .is_none_or(|lane| lane.place.scheduled() != Some(at)),
                Wake::Group(_) => false,
            };
            if !outdated {
                return Some((at, wake));
            }
            self.schedule.drop_first();
        }
        None
    }

    /// What keeps the crawl from going faster right now.
    pub fn hold(&mut self, now: Moment) -> Option<Hold> {
        if let Some((until, host)) = self.waits_for_network() {
            let lane = host.and_then(|host| self.lanes.get(&host));
            return Some(Hold {
                host: lane.map(|lane| lane.host.clone()).unwrap_or_default(),
                until,
                by: HoldKind::NetworkAway,
            });
        }
        let (until, wake) = self.first_wake()?;
        let Wake::Lane(host) = wake else { return None };
        if until <= now {
            return None;
        }
        let lane = self.lanes.get(&host)?;
        let by = self.hold_kind(lane, until, now)?;
        // A retry is about one port; the other kinds are about the host.
        let retried = matches!(by, HoldKind::Retry { .. }).then(|| lane.head(until));
        let host = match retried.flatten() {
            Some(entry) => entry.url.authority().into(),
            None => lane.host.clone(),
        };
        Some(Hold { host, until, by })
    }

    /// Why a lane that has something to do waits until then. A host without a limit of rate
    /// waits for a retry or for the end of a pause, never for its rate.
    fn hold_kind(&self, lane: &Lane, until: Moment, now: Moment) -> Option<HoldKind> {
        let robots = lane.origins.iter().any(|state| {
            matches!(state.robots, OriginRobots::Unreachable { again_at } if again_at == until)
        });
        let is_parked = lane.pace.parked_until(now).is_some();
        let is_retry = lane.first_delayed() == Some(until) && lane.pace.next_at() < until;
        Some(if robots {
            HoldKind::Robots
        } else if is_retry || (is_parked && lane.host_failures > 0) {
            let tried = lane.head(until).map_or(0, |entry| entry.tries);
            let most = self.rules.limits.tries;
            HoldKind::Retry { tried, most }
        } else if is_parked {
            HoldKind::Parked
        } else if lane.pace.is_one_at_a_time() {
            HoldKind::Delay(lane.pace.interval())
        } else if lane.pace.interval().is_zero() {
            return None;
        } else {
            HoldKind::Rate(1.0 / lane.pace.interval().as_secs_f64())
        })
    }

    /// At the very end, hosts whose robots.txt stayed out of reach give up their URLs.
    fn last_call(&mut self, now: Moment) -> Result<bool, S::Error> {
        let waits = !self.flights.is_empty() || self.first_wake().is_some();
        if self.without_robots.is_empty() || waits || self.waits_for_last_call() {
            return Ok(false);
        }
        for host in std::mem::take(&mut self.without_robots) {
            if let Some(lane) = self.lanes.get_mut(&host) {
                lane.last_call = true;
            }
            self.reschedule(host, now)?;
        }
        Ok(true)
    }
}
