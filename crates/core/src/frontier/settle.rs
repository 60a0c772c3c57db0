//! The one way out of a job.
//!
//! Owns what the end of a try means: for its URL, for its host and for the groups it was
//! charged to. Every job passes here exactly once.

use std::sync::Arc;
use std::time::Duration;

use super::Frontier;
use super::entry::{Origin, QueueEntry, RobotsFetch};
use super::flights::{Flight, JobKind};
use super::group::GroupKey;
use super::job::{Admission, Answer, Ending, Failure, Note, Settled, Settlement};
use super::lane::{LaneEnd, OriginRobots};
use super::pace::Moment;
use super::page_budget::counts_as_page;
use super::schedule::Wake;
use super::store::Store;
use super::trouble::Meaning;
use crate::key::HostId;
use crate::link::LinkKind;
use crate::outcome::{
    FailureClass, Outcome, Retry, SkipReason, is_redirect_status, is_refusal_status,
    is_retryable_status,
};
use crate::robots::Robots;
use crate::url::CrawlUrl;

/// How long a robots.txt is believed (RFC 9309, 2.4).
const ROBOTS_TTL: Duration = Duration::from_hours(24);

impl<S: Store> Frontier<S> {
    /// Ends a job. What becomes of its URL is the answer. Of the settlement it takes what it
    /// keeps, as links and rules; the rest is still there for whoever writes the record.
    ///
    /// # Panics
    /// If the job was settled before: a lease ends once.
    pub fn settle(
        &mut self,
        settlement: &mut Settlement,
        now: Moment,
    ) -> Result<Settled, S::Error> {
        let flight = self.flights.take(settlement.job);
        if let JobKind::Postponed(entry) = flight.kind {
            return self.settle_postponed(settlement, *entry, now);
        }
        self.counts.in_flight -= 1;
        if self.flights.is_empty() {
            self.suspects.end_alone();
        }
        let host = flight.lane;
        self.release(&flight, now);
        if let JobKind::Page(entry) = &flight.kind {
            self.release_page(host, entry.kind);
        }
        let ending = &mut settlement.ending;
        self.weigh(settlement.job, &flight, ending, now)?;
        self.give_slot_back(&flight, ending);
        let settled = match (flight.kind, ending) {
            (JobKind::Resolve(origin), ending) => self.resolved(host, origin, ending, now)?,
            (JobKind::Robots(fetch), ending) => {
                self.count_wire(host, ending);
                self.robots_settled(host, &fetch, ending, now)?
            }
            (JobKind::Errand(errand), ending) => {
                self.count_wire(host, ending);
                self.errand_settled(host, *errand, ending, now)
            }
            (JobKind::Page(mut entry), ending) => {
                entry.wire += self.count_wire(host, ending);
                let was_spent = self.pages_spent();
                let settled = self.page_settled(host, *entry, ending, now)?;
                self.look_at_budget(was_spent, now)?;
                settled
            }
            (JobKind::Postponed(_), _) => unreachable!("it was settled above"),
        };
        self.note_end(host, &settled, now)?;
        Ok(settled)
    }

    /// What follows the settlement of any job.
    pub(super) fn note_end(
        &mut self,
        host: HostId,
        settled: &Settled,
        now: Moment,
    ) -> Result<(), S::Error> {
        if let Settled::Done(finished) = settled {
            self.store.settle(&finished.entry)?;
        }
        self.reschedule(host, now)?;
        self.touch(host)
    }

    /// A page was settled: lanes that wait for its budget look again.
    pub(super) fn look_at_budget(&mut self, was_spent: bool, now: Moment) -> Result<(), S::Error> {
        match (was_spent, self.only_parts()) {
            (false, true) => self.sift(now),
            (true, true) => Ok(()),
            (_, false) => self.release_held(now),
        }
    }

    /// Gives back what the request of a job was charged to.
    pub(super) fn release(&mut self, flight: &Flight, now: Moment) {
        let Some(lane) = self.lanes.get_mut(&flight.lane) else {
            return;
        };
        if matches!(flight.kind, JobKind::Resolve(_)) {
            return;
        }
        lane.in_flight -= 1;
        if let Some(domain) = flight.domain {
            self.leave_group(GroupKey::Domain(domain), now);
        }
        if let Some(address) = flight.address {
            self.leave_group(GroupKey::Address(address), now);
        }
    }

    /// Gives back what a page was charged to as a page.
    pub(super) fn release_page(&mut self, host: HostId, kind: LinkKind) {
        let Some(lane) = self.lanes.get_mut(&host).filter(|_| counts_as_page(kind)) else {
            return;
        };
        lane.pages_in_flight -= 1;
        self.page_budget.ended();
        self.count_pages(host, |pages| pages.in_flight -= 1);
    }

    fn leave_group(&mut self, group: GroupKey, now: Moment) {
        if let Some(at) = self.shared.end(group, now) {
            self.schedule.add(at, Wake::Group(group));
        }
    }

    /// Counts what a request read, and says how much that was.
    pub(super) fn count_wire(&mut self, host: HostId, ending: &Ending) -> u64 {
        let (wire, sent_at) = match ending {
            Ending::Answered(answer) => (answer.wire, answer.sent_at),
            Ending::Failed(failure) => (failure.wire, failure.sent_at),
            Ending::Withheld { sent_at, .. } => (0, *sent_at),
            Ending::CutShort { wire, sent_at } => (*wire, *sent_at),
            Ending::Resolved { .. } => (0, None),
        };
        self.counts.wire += wire;
        if let (Some(lane), Some(at)) = (self.lanes.get_mut(&host), sent_at) {
            lane.pace.sent(at);
        }
        wire
    }

    fn robots_settled(
        &mut self,
        host: HostId,
        fetch: &RobotsFetch,
        ending: &mut Ending,
        now: Moment,
    ) -> Result<Settled, S::Error> {
        let answer = match ending {
            Ending::Answered(answer) => answer,
            Ending::Failed(failure) => return self.robots_fetch_failed(host, fetch, failure, now),
            Ending::Withheld { until, .. } => {
                self.lane(host).leave_alone(*until);
                self.put_robots_fetch_back(host, fetch.clone(), now)?;
                return Ok(Settled::Prepared);
            }
            Ending::CutShort { .. } => {
                self.put_robots_fetch_back(host, fetch.clone(), now)?;
                return Ok(Settled::Prepared);
            }
            Ending::Resolved { .. } => unreachable!("a request is not answered with addresses"),
        };
        let lane = self.lane(host);
        let politeness = lane.rules.politeness.clone();
        if matches!(answer.status, 429 | 500..) {
            if is_refusal_status(answer.status) {
                let pause = answer.retry_after.unwrap_or(politeness.first_pause);
                let pause = pause.min(politeness.longest_retry_after);
                lane.pace.park_until(now + pause);
            }
            return self
                .robots_unreachable(fetch, now)
                .map(|()| Settled::Prepared);
        }
        lane.host_failures = 0;
        lane.origin(Origin::from_url(&fetch.url)).answered = true;
        let span = (fetch.asked_at, now);
        lane.pace.answered(&politeness, answer.first_byte, span);
        if is_redirect_status(answer.status)
            && fetch.hops_left > 0
            && let Some(target) = answer.location.take()
        {
            self.send_robots_fetch(
                RobotsFetch {
                    hops_left: fetch.hops_left - 1,
                    url: target,
                    ..fetch.clone()
                },
                now,
            )?;
            return Ok(Settled::Prepared);
        }
        // Everything else, an endless chain of redirects too, is "there is none": allowed.
        let robots = answer.robots.take();
        let robots = robots.filter(|_| matches!(answer.status, 200..=299));
        let robots = robots.unwrap_or_else(|| Box::new(Robots::allow_all()));
        self.robots_known(fetch, robots, now)?;
        Ok(Settled::Prepared)
    }

    /// Sends a robots fetch on to the lane of its URL's host.
    pub(super) fn send_robots_fetch(
        &mut self,
        fetch: RobotsFetch,
        now: Moment,
    ) -> Result<(), S::Error> {
        let key = self.rules.keyer.key(&fetch.url);
        if self.is_closed(key.host()) {
            return self.mail_robots_fetch(fetch, now);
        }
        let host = self.lane_of(&fetch.url, key.host(), now)?;
        let lane = self.lane(host);
        lane.robots_fetches.push_back(fetch);
        self.reschedule(host, now)
    }

    pub(super) fn robots_known(
        &mut self,
        fetch: &RobotsFetch,
        robots: Box<Robots>,
        now: Moment,
    ) -> Result<(), S::Error> {
        let host = fetch.for_lane;
        if self.is_asker_away(host) {
            return self.mail_robots(fetch, Some(robots));
        }
        let lane = self.lane(host);
        let politeness = lane.rules.politeness.clone();
        let delay = robots
            .crawl_delay()
            .filter(|_| !politeness.ignore_crawl_delay);
        let sitemaps: Vec<String> = robots.sitemaps().to_vec();
        let until = self.rules.wall(now + ROBOTS_TTL);
        self.store
            .save_robots(host, fetch.for_origin, &robots, until)?;
        let lane = self.lane(host);
        let state = lane.origin(fetch.for_origin);
        state.robots_tries = 0;
        state.robots = OriginRobots::Known {
            robots,
            until: now + ROBOTS_TTL,
        };
        match delay {
            Some(delay) if delay > politeness.longest_crawl_delay => {
                let why = format!("robots.txt asks for a Crawl-delay of {} s", delay.as_secs());
                self.end_lane(host, LaneEnd::skip(SkipReason::CrawlDelay, why));
            }
            Some(delay) => lane.pace.obey_delay(delay),
            None => {}
        }
        let listed_in = Arc::new(fetch.url.clone());
        for sitemap in sitemaps {
            if let Ok(url) = CrawlUrl::parse(&sitemap) {
                self.offer_sitemap(url, Some(Arc::clone(&listed_in)), now)?;
            }
        }
        self.reschedule(host, now)
    }

    pub(super) fn robots_unreachable(
        &mut self,
        fetch: &RobotsFetch,
        now: Moment,
    ) -> Result<(), S::Error> {
        if self.is_asker_away(fetch.for_lane) {
            return self.mail_robots(fetch, None);
        }
        let again_at = now + self.rules.robots_retry;
        let lane = self.lane(fetch.for_lane);
        lane.origin(fetch.for_origin).await_robots(again_at);
        let host = lane.host.clone();
        self.note(Note::Parked {
            host,
            until: again_at,
            why: "robots.txt could not be read",
        });
        self.reschedule(fetch.for_lane, now)
    }

    pub(super) fn robots_fetch_failed(
        &mut self,
        host: HostId,
        fetch: &RobotsFetch,
        failure: &Failure,
        now: Moment,
    ) -> Result<Settled, S::Error> {
        let own = fetch.for_lane == host;
        let host_class =
            failure.class.retry() == Retry::Host || failure.class == FailureClass::DnsNotFound;
        if failure.excuse.is_some() || (own && host_class) {
            if self.is_asker_away(fetch.for_lane) {
                self.put_robots_fetch_back(host, fetch.clone(), now)?;
                return Ok(Settled::Prepared);
            }
            // The lane that waits for the rules begins anew; a hop ran in another lane.
            let lane = self.lane(fetch.for_lane);
            lane.origin(fetch.for_origin).robots = OriginRobots::Unknown;
            if failure.excuse.is_some() {
                self.reschedule(fetch.for_lane, now)?;
                return Ok(Settled::Prepared);
            }
            if failure.class == FailureClass::DnsNotFound {
                self.end_lane(host, LaneEnd::fail(failure.class, failure.message.clone()));
                return Ok(Settled::Prepared);
            }
            return self.head_failed(host, failure, now);
        }
        self.robots_unreachable(fetch, now)
            .map(|()| Settled::Prepared)
    }

    /// The host failed before its head could be asked: that costs the head one try.
    pub(super) fn head_failed(
        &mut self,
        host: HostId,
        failure: &Failure,
        now: Moment,
    ) -> Result<Settled, S::Error> {
        if self.fail_errands(host, failure) {
            // They made the request; the head has a try of its own.
            return Ok(Settled::Prepared);
        }
        let lane = self.lane(host);
        match lane.take_head(now) {
            Some(entry) => self.host_failed(host, entry, failure, now),
            None => Ok(Settled::Prepared),
        }
    }

    fn page_settled(
        &mut self,
        host: HostId,
        entry: QueueEntry,
        ending: &mut Ending,
        now: Moment,
    ) -> Result<Settled, S::Error> {
        match ending {
            Ending::Answered(answer) => self.page_answered(host, entry, answer, now),
            Ending::Failed(failure) if failure.excuse.is_some() => {
                self.put_back(host, entry);
                Ok(Settled::Again(now))
            }
            Ending::Failed(failure) => match failure.class.retry() {
                Retry::Host => self.host_failed(host, entry, failure, now),
                Retry::Transient => {
                    let blame = self.weigh_failure_of(host, &entry, now);
                    self.page_troubled(host, blame, entry.attempts.asked_at, now);
                    Ok(self.try_again(host, entry, failure, now))
                }
                Retry::Permanent => Ok(self.failed(entry, failure)),
            },
            Ending::Withheld { until, .. } => {
                self.put_back(host, entry);
                self.lane(host).leave_alone(*until);
                Ok(Settled::Again(*until))
            }
            Ending::CutShort { .. } => {
                let entry = QueueEntry {
                    was_cut: true,
                    ..entry
                };
                self.lane(host).window.push_back(entry);
                Ok(Settled::Again(now))
            }
            Ending::Resolved { .. } => unreachable!("a request is not answered with addresses"),
        }
    }

    pub(super) fn put_back(&mut self, host: HostId, entry: QueueEntry) {
        let lane = self.lane(host);
        lane.window.push_front(entry);
    }

    fn page_answered(
        &mut self,
        host: HostId,
        mut entry: QueueEntry,
        answer: &mut Answer,
        now: Moment,
    ) -> Result<Settled, S::Error> {
        entry.guessed_scheme = false;
        let meaning = self.weigh_status(host, &entry, answer.status, now);
        match meaning {
            Meaning::Refusal => self.page_refused(host, entry, answer, now),
            Meaning::Failure(blame) => {
                entry.tries += 1;
                self.page_troubled(host, blame, entry.attempts.asked_at, now);
                if is_retryable_status(answer.status) && self.may_try_again(host, &entry) {
                    entry.remember(self.rules.wall(now), Ok(answer.status));
                    return Ok(self.delay(host, entry, now));
                }
                self.page_finished(host, entry, answer, now)
            }
            Meaning::Answer => {
                self.answered_well(host, &entry, answer, now);
                entry.tries += 1;
                self.page_finished(host, entry, answer, now)
            }
        }
    }

    pub(super) fn page_finished(
        &mut self,
        host: HostId,
        entry: QueueEntry,
        answer: &mut Answer,
        now: Moment,
    ) -> Result<Settled, S::Error> {
        if let Some(reason) = answer.unread {
            return Ok(self.done(entry, Outcome::Skipped(reason), None, 0));
        }
        if entry.guessed_sitemap && answer.status >= 400 {
            return Ok(self.done(entry, Outcome::Skipped(SkipReason::NoSitemap), None, 0));
        }
        if is_redirect_status(answer.status)
            && let Some(target) = answer.location.take()
        {
            if self.returns_with_cookie(&entry, &target, answer.cookie) {
                return Ok(self.ask_again(host, entry, answer.status, now));
            }
            let admission = self.admit_hop(&entry, target.clone(), answer.cookie, now)?;
            if admission == Admission::Known && self.closes_circle(&entry, &target) {
                let error = format!("it redirects to {target}, which leads back to it");
                let outcome = Outcome::Failed(FailureClass::RedirectLoop);
                return Ok(self.done(entry, outcome, Some(error.into()), 0));
            }
            let error = match admission {
                Admission::Refused(reason) => Some(reason.about().into()),
                _ => None,
            };
            let new = u32::from(admission == Admission::Accepted);
            return Ok(self.done(entry, Outcome::Redirected(target), error, new));
        }
        if counts_as_page(entry.kind) {
            self.counts.pages += 1;
            self.count_pages(host, |pages| pages.granted -= 1);
            self.lane(host).pages += 1;
        }
        if entry.root {
            self.join_root(&entry);
            self.admit_sitemaps(&entry, now)?;
        }
        let outcome = if answer.unmodified {
            Outcome::Unmodified
        } else {
            Outcome::Fetched
        };
        self.learn(host, &entry, answer)?;
        let new = self.admit_links(&entry, answer, now)?;
        self.count_born(host, &entry, new);
        let mut finished = self.finish(entry, outcome, None);
        finished.new_links = new;
        Ok(Settled::Done(Box::new(finished)))
    }

    pub(super) fn done(
        &mut self,
        entry: QueueEntry,
        outcome: Outcome,
        error: Option<Box<str>>,
        new_links: u32,
    ) -> Settled {
        let mut finished = self.finish(entry, outcome, error);
        finished.new_links = new_links;
        Settled::Done(Box::new(finished))
    }

    pub(super) fn end_lane(&mut self, host: HostId, end: LaneEnd) {
        let lane = self.lane(host);
        let note = Note::HostEnded {
            host: lane.host.clone(),
            why: end.why.clone(),
        };
        lane.ended = Some(end);
        self.note(note);
    }
}
