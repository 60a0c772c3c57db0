//! Errands: what a page asks for while it waits for its end.
//!
//! Owns the requests of [postponed](super::postponed) pages, from the moment at which they are sent
//! to their answer or refusal. An errand is a job of its host's lane, as a robots.txt is: its name is
//! resolved, robots.txt and address are judged when it is handed out, and it is paced, counted and
//! charged as any request. Only what a crawl is to contain does not concern it: scope, depth, known
//! keys and page budgets. Errands are never stored. Invariant: every errand of a page that still
//! waits ends once, by a settlement or by a refusal; those of a page that has ended are dropped.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Frontier;
use super::entry::Origin;
use super::flights::JobKind;
use super::handout::{Launch, Ready};
use super::job::{Answer, Ending, Failure, JobId, Next, Settled, Work};
use super::lane::Lane;
use super::pace::Moment;
use super::robots::RobotsWord;
use super::store::Store;
use crate::key::HostId;
use crate::outcome::{FailureClass, Outcome, SkipReason, is_refusal_status};
use crate::url::CrawlUrl;

/// A request that a postponed page makes.
#[derive(Debug, Clone)]
pub struct Errand {
    /// The job of the page.
    pub page: JobId,
    /// Its number, by which whoever sent it knows it.
    pub number: u64,
    /// What is requested.
    pub url: CrawlUrl,
    /// HEAD instead of GET.
    pub is_head: bool,
    /// When it was handed out last.
    pub(super) asked_at: Moment,
    /// A try was cut short, which does not count; the next one has its full time.
    pub(super) was_cut: bool,
}

impl Errand {
    /// A request of this page that was not handed out yet.
    pub const fn new(page: JobId, number: u64, url: CrawlUrl) -> Self {
        Self {
            page,
            number,
            url,
            is_head: false,
            asked_at: Moment::ZERO,
            was_cut: false,
        }
    }

    /// The same for the head of the answer alone.
    #[must_use]
    pub fn for_head(self) -> Self {
        Self {
            is_head: true,
            ..self
        }
    }
}

/// An errand that ended without a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedErrand {
    /// The number of the errand.
    pub number: u64,
    /// By what.
    pub by: ErrandRefusal,
    /// The same in words.
    pub why: Box<str>,
}

/// Why an errand ended without a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrandRefusal {
    /// The rules of the crawl or of the host.
    Rule(SkipReason),
    /// The host could not be reached.
    Failure(FailureClass),
    /// A budget of the crawl is spent.
    Budget,
}

/// The errands that wait in a lane.
#[derive(Debug, Default)]
pub(super) struct ErrandQueue(VecDeque<Errand>);

impl Lane {
    /// The errand that is next.
    pub(super) fn first_errand(&self) -> Option<&Errand> {
        self.errands.as_ref()?.0.front()
    }

    pub(super) const fn has_errands(&self) -> bool {
        self.errands.is_some()
    }

    fn take_errand(&mut self) -> Option<Errand> {
        let first = self.errands.as_mut()?.0.pop_front();
        self.drop_empty_queue();
        first
    }

    fn drop_errands_of(&mut self, page: JobId) {
        if let Some(queue) = &mut self.errands {
            queue.0.retain(|errand| errand.page != page);
        }
        self.drop_empty_queue();
    }

    fn drop_empty_queue(&mut self) {
        // Most lanes never have one, and there are tens of thousands of them.
        self.errands.take_if(|queue| queue.0.is_empty());
    }
}

/// Who has errands, and which were refused.
#[derive(Debug, Default)]
pub(super) struct Errands {
    /// Pages that are postponed, with the hosts that they have sent errands to.
    pages: BTreeMap<JobId, BTreeSet<HostId>>,
    refused: Vec<RefusedErrand>,
}

impl Errands {
    /// A page may send errands from now on.
    pub(super) fn open(&mut self, page: JobId) {
        self.pages.insert(page, BTreeSet::new());
    }

    /// Whether any page waits for its end.
    pub(super) fn has_pages(&self) -> bool {
        !self.pages.is_empty()
    }

    fn refuse(&mut self, errand: &Errand, by: ErrandRefusal, why: Box<str>) {
        self.refused.push(RefusedErrand {
            number: errand.number,
            by,
            why,
        });
    }
}

impl<S: Store> Frontier<S> {
    /// Takes on a request of a postponed page. How it ends is told by [`Settled::Errand`] or by
    /// [`Self::refused_errands`], unless its page ends before.
    pub fn send_errand(&mut self, errand: Errand, now: Moment) -> Result<(), S::Error> {
        let Some(hosts) = self.errands.pages.get_mut(&errand.page) else {
            return Ok(());
        };
        let host = self.rules.keyer.key(&errand.url).host();
        hosts.insert(host);
        self.lane_of(&errand.url, host, now)?;
        self.queue_errand(host, errand, VecDeque::push_back);
        self.reschedule(host, now)
    }

    /// Errands that ended without a request since the last call.
    pub fn refused_errands(&mut self) -> impl Iterator<Item = RefusedErrand> {
        self.errands.refused.drain(..)
    }

    /// The errand that a job in flight does.
    pub fn errand(&self, job: JobId) -> Option<&Errand> {
        match &self.flights.get(job)?.kind {
            JobKind::Errand(errand) => Some(errand),
            _ => None,
        }
    }

    fn queue_errand(
        &mut self,
        host: HostId,
        errand: Errand,
        push: impl FnOnce(&mut VecDeque<Errand>, Errand),
    ) {
        let queue = self.lane(host).errands.get_or_insert_default();
        push(&mut queue.0, errand);
    }

    /// A page has ended: what it still asked for is dropped.
    pub(super) fn drop_errands(&mut self, page: JobId) {
        for host in self.errands.pages.remove(&page).unwrap_or_default() {
            if let Some(lane) = self.lanes.get_mut(&host) {
                lane.drop_errands_of(page);
            }
        }
    }

    /// Starts the errand that is next in a lane, if it may be asked now.
    pub(super) fn try_errand(
        &mut self,
        host: HostId,
        url: CrawlUrl,
        now: Moment,
    ) -> Result<Option<Next>, S::Error> {
        let address = match self.ready(host, &url, now) {
            Ready::Yes(address) => address,
            Ready::Resolve(next) => return Ok(Some(next)),
            Ready::Private(why) => {
                return self.refuse_errand(host, SkipReason::PrivateAddress, why, now);
            }
            Ready::No => return Ok(None),
        };
        match self.ask_robots(host, &url, now)? {
            RobotsWord::Allowed => {}
            RobotsWord::Disallowed(why) => {
                return self.refuse_errand(host, SkipReason::Robots, why, now);
            }
            RobotsWord::NotYet => return Ok(None),
            RobotsWord::Later(_) | RobotsWord::GivenUp => {
                let why = "robots.txt could not be read".into();
                return self.refuse_errand(host, SkipReason::RobotsUnreachable, why, now);
            }
            RobotsWord::First(next) => return Ok(Some(next)),
        }
        if !self.may_start(host, address, now) {
            return Ok(None);
        }
        let lane = self.lane(host);
        let errand = lane.take_errand();
        let errand = errand.expect("the errand was looked at a moment ago");
        let work = Work::Errand {
            url,
            address,
            is_head: errand.is_head,
            spaced: lane.pace.is_one_at_a_time(),
            streams: lane.pace.in_flight_limit(),
        };
        let launch = Launch {
            kind: JobKind::Errand(Box::new(errand)),
            address,
            work,
        };
        Ok(Some(self.start(host, launch, now)))
    }

    /// Refuses the errand that is next in a lane.
    fn refuse_errand(
        &mut self,
        host: HostId,
        reason: SkipReason,
        why: Box<str>,
        now: Moment,
    ) -> Result<Option<Next>, S::Error> {
        if let Some(errand) = self.lane(host).take_errand() {
            self.errands
                .refuse(&errand, ErrandRefusal::Rule(reason), why);
        }
        self.reschedule(host, now)?;
        Ok(None)
    }

    /// Refuses everything that waits in a lane which is not asked any more.
    pub(super) fn refuse_errands_of_ended(&mut self, host: HostId) {
        let Some(end) = self.lane(host).ended.clone() else {
            return;
        };
        let by = match end.outcome {
            Outcome::Skipped(reason) => ErrandRefusal::Rule(reason),
            Outcome::Failed(class) => ErrandRefusal::Failure(class),
            _ => ErrandRefusal::Rule(SkipReason::HostUnreachable),
        };
        self.end_errands(host, by, &end.why);
    }

    /// The host failed before the errand could be asked for: so fail all that wait. Whether there
    /// were any.
    pub(super) fn fail_errands(&mut self, host: HostId, failure: &Failure) -> bool {
        let has_errands = self.lane(host).has_errands();
        let by = ErrandRefusal::Failure(failure.class);
        self.end_errands(host, by, &failure.message);
        has_errands
    }

    /// A budget is spent: nothing that waits is asked for any more.
    pub(super) fn refuse_all_errands(&mut self) {
        let hosts: BTreeSet<HostId> = self.errands.pages.values().flatten().copied().collect();
        for host in hosts {
            if self.lanes.contains_key(&host) {
                let why = "a budget of the crawl is spent";
                self.end_errands(host, ErrandRefusal::Budget, why);
            }
        }
    }

    fn end_errands(&mut self, host: HostId, by: ErrandRefusal, why: &str) {
        while let Some(errand) = self.lane(host).take_errand() {
            self.errands.refuse(&errand, by, why.into());
        }
    }

    /// The end of an errand that was handed out: what it means for its host, and whether it is to be
    /// done again.
    pub(super) fn errand_settled(
        &mut self,
        host: HostId,
        mut errand: Errand,
        ending: &Ending,
        now: Moment,
    ) -> Settled {
        let again_at = match ending {
            Ending::Answered(answer) => {
                self.errand_answered(host, &errand, answer, now);
                return Settled::Errand(Box::new(errand));
            }
            Ending::Failed(failure) if failure.excuse.is_some() => now,
            Ending::Failed(_) => return Settled::Errand(Box::new(errand)),
            Ending::Withheld { until, .. } => {
                self.lane(host).leave_alone(*until);
                *until
            }
            Ending::CutShort { .. } => {
                errand.was_cut = true;
                now
            }
            Ending::Resolved { .. } => unreachable!("a request is not answered with addresses"),
        };
        if self.errands.pages.contains_key(&errand.page) {
            self.queue_errand(host, errand, VecDeque::push_front);
        }
        Settled::Again(again_at)
    }

    fn errand_answered(&mut self, host: HostId, errand: &Errand, answer: &Answer, now: Moment) {
        let lane = self.lane(host);
        let politeness = lane.rules.politeness.clone();
        if is_refusal_status(answer.status) {
            let pause = answer.retry_after.unwrap_or(politeness.first_pause);
            let pause = pause.min(politeness.longest_retry_after);
            return lane.leave_alone(now + pause);
        }
        if answer.status >= 500 {
            return;
        }
        lane.host_failures = 0;
        lane.origin(Origin::from_url(&errand.url)).answered = true;
        let span = (errand.asked_at, now);
        lane.pace.answered(&politeness, answer.first_byte, span);
    }
}
