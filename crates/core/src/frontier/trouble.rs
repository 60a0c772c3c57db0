//! Tries that brought no page: what follows for the URL and for its host.
//!
//! Owns the way from a verdict of [`super::health`] to pauses, a slower pace and another try. A
//! URL is tried again a few times, each time after a longer wait. A host is given up only after
//! many failures in a row, and its URLs are tried again in the next run.

use std::sync::Arc;

use super::Frontier;
use super::entry::{Origin, QueueEntry};
use super::health::{Blame, HostRefusal, Tried};
use super::job::{Answer, Failure, Note, Settled};
use super::lane::LaneEnd;
use super::pace::{Moment, RateMatters};
use super::store::Store;
use crate::key::{HostId, Key};
use crate::outcome::{Outcome, SkipReason, is_refusal_status, is_retryable_status};

/// "Forbidden" (RFC 9110, section 15.5.4).
const FORBIDDEN: u16 = 403;

/// A host that could not be reached starts again this many steps below its pace.
const OUTAGE_STEPS: u8 = 3;
/// A host that fails for most of what it is asked goes down step by step without such a limit.
const ALL_STEPS: u8 = u8::MAX;

/// Parts of a wait by which the waits of two URLs can differ: they must not end together.
const SPREAD: u32 = 256;

/// What an answer means for the host that gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It answered.
    Answer,
    /// It answered with an error.
    Failure(Blame),
    /// It asks to be left alone.
    Refusal,
}

impl<S: Store> Frontier<S> {
    /// What a status means for the host of a page.
    pub(super) fn weigh_status(
        &mut self,
        host: HostId,
        entry: &QueueEntry,
        status: u16,
        now: Moment,
    ) -> Meaning {
        let tried = Tried::new(entry, now);
        let limits = self.rules.limits.clone();
        let health = &mut self.lane(host).health;
        if is_refusal_status(status)
            || (status == FORBIDDEN && health.is_forbidden_run(&entry.url, &tried))
        {
            Meaning::Refusal
        } else if status >= 500 || is_retryable_status(status) {
            Meaning::Failure(health.failed(&tried, &limits))
        } else {
            Meaning::Answer
        }
    }

    /// Who is to blame for a page that brought no answer, or not all of it.
    pub(super) fn weigh_failure_of(
        &mut self,
        host: HostId,
        entry: &QueueEntry,
        now: Moment,
    ) -> Blame {
        let tried = Tried::new(entry, now);
        let limits = self.rules.limits.clone();
        self.lane(host).health.failed(&tried, &limits)
    }

    /// A page was answered, and its host is well.
    pub(super) fn answered_well(
        &mut self,
        host: HostId,
        entry: &QueueEntry,
        answer: &Answer,
        now: Moment,
    ) {
        let lane = self.lane(host);
        let rules = Arc::clone(&lane.rules);
        lane.host_failures = 0;
        lane.origin(Origin::from_url(&entry.url)).answered = true;
        if answer.status != FORBIDDEN {
            lane.health.answered(&Tried::new(entry, now));
        }
        if answer.status < 400 {
            lane.health.know_kind(&entry.url);
        }
        let was_probing = lane.pace.is_probing();
        // A host that is probed recovers by what it was asked since, or because all that was on
        // its way shows that it is well.
        let is_failing = lane.health.is_failing();
        let since = if is_failing {
            entry.attempts.asked_at
        } else {
            now
        };
        let span = (since, now);
        lane.pace
            .answered(&rules.politeness, answer.first_byte, span);
        let asked_at = entry.attempts.asked_at;
        lane.pace.connected(answer.connect, (asked_at, now));
        if was_probing && !lane.pace.is_probing() {
            lane.health.start_afresh();
        }
    }

    /// A page failed, and this is to blame.
    pub(super) fn page_troubled(&mut self, host: HostId, blame: Blame, since: Moment, now: Moment) {
        let most_failed = self.rules.limits.failed_pages;
        let lane = self.lane(host);
        if blame == Blame::Page || lane.rules.politeness.tolerates_failures {
            return;
        }
        if lane.pace.step_down(ALL_STEPS, since, now) {
            lane.look_elsewhere();
        }
        if blame == Blame::Hopeless {
            let why = format!("{most_failed} different pages in a row failed");
            self.end_lane(host, LaneEnd::skip(SkipReason::HostUnreachable, why));
        }
    }

    /// The host said "not now" instead of giving a page.
    pub(super) fn page_refused(
        &mut self,
        host: HostId,
        mut entry: QueueEntry,
        answer: &mut Answer,
        now: Moment,
    ) -> Result<Settled, S::Error> {
        let tried = Tried::new(&entry, now);
        entry.tries += 1;
        let lane = self.lane(host);
        let rules = Arc::clone(&lane.rules);
        let is_own = lane.health.is_own(&tried);
        let refusal = lane
            .health
            .refused(&tried, answer.retry_after, &rules.politeness);
        match refusal {
            HostRefusal::Page | HostRefusal::Known(None) => {}
            HostRefusal::PageAfterAll => lane.pace.take_back_refusal(),
            HostRefusal::Known(Some(until)) => lane.leave_alone(until),
            HostRefusal::Pause(until) => self.pause(host, until, now),
            HostRefusal::TooLong(_) | HostRefusal::GiveUp => {
                return Ok(self.refused_too_long(host, entry, answer, refusal));
            }
        }
        if is_own || refusal == HostRefusal::Page {
            entry.attempts.excused = 0;
        } else {
            entry.attempts.excuse(self.rules.limits.tries);
        }
        entry.attempts.blame_host(now);
        if self.may_try_again(host, &entry) {
            entry.remember(self.rules.wall(now), Ok(answer.status));
            return Ok(self.delay(host, entry, now));
        }
        self.page_finished(host, entry, answer, now)
    }

    /// Leaves a host alone after a refusal, and asks it more slowly after that.
    fn pause(&mut self, host: HostId, until: Moment, now: Moment) {
        let most_rounds = self.rules.limits.host_failures;
        let lane = self.lane(host);
        lane.leave_alone(until);
        match lane.pace.refused(now) {
            RateMatters::Surely => lane.health.rate_matters(),
            RateMatters::Hardly if lane.health.rate_hardly_matters() => {
                lane.pace.take_back_refusal();
            }
            RateMatters::Hardly | RateMatters::Perhaps => {}
        }
        let rounds = lane.health.refused_rounds();
        let name = lane.host.clone();
        if rounds >= most_rounds {
            let why = format!("it refused requests {rounds} times in a row");
            self.end_lane(host, LaneEnd::skip(SkipReason::HostUnreachable, why));
            return;
        }
        self.note(Note::Parked {
            host: name,
            until,
            why: "it asked to come back later",
        });
    }

    /// The host asks for more patience than there is: the URL ends, and the host is asked for
    /// another one after a while.
    fn refused_too_long(
        &mut self,
        host: HostId,
        entry: QueueEntry,
        answer: &Answer,
        refusal: HostRefusal,
    ) -> Settled {
        let after = answer.retry_after.unwrap_or_default().as_secs();
        let why = format!("the host asked to come back in {after} s");
        let lane = self.lane(host);
        if let HostRefusal::TooLong(Some(until)) = refusal {
            lane.leave_alone(until);
            let host = lane.host.clone();
            self.note(Note::Parked {
                host,
                until,
                why: "it asked to come back much later",
            });
        } else if refusal == HostRefusal::GiveUp {
            let end = LaneEnd::skip(SkipReason::RetryAfter, why.as_str());
            self.end_lane(host, end);
        }
        let outcome = Outcome::Skipped(SkipReason::RetryAfter);
        self.done(entry, outcome, Some(why.into()), 0)
    }

    /// A failure that is about the host: the lane is parked and the URL is tried again later. If
    /// it is about the URL after all, as where a server dies of one page, answers to other URLs
    /// meanwhile show it. Where another port answers and this one never did, it is about the
    /// port, and the others need not wait for it.
    pub(super) fn host_failed(
        &mut self,
        host: HostId,
        mut entry: QueueEntry,
        failure: &Failure,
        now: Moment,
    ) -> Result<Settled, S::Error> {
        if let Some(settled) = self.fall_back_to_http(host, &mut entry, failure, now)? {
            self.put_back(host, entry);
            return Ok(settled);
        }
        if self.lane(host).is_dead_door(Origin::from_url(&entry.url)) {
            return Ok(self.door_failed(host, entry, failure, now));
        }
        let tried = Tried::new(&entry, now);
        entry.attempts.blame_host(now);
        let lane = self.lane(host);
        if lane.health.is_own(&tried) {
            return Ok(self.try_again(host, entry, failure, now));
        }
        let politeness = &lane.rules.politeness;
        let wait = politeness.retry_delay * 2u32.pow(lane.host_failures.min(6));
        let until = now + wait.min(politeness.longest_outage_pause);
        lane.pace
            .step_down(OUTAGE_STEPS, entry.attempts.asked_at, now);
        lane.pace.park_until(until);
        lane.host_failures += 1;
        lane.address_turn += 1;
        entry.tries += 1;
        let failures = lane.host_failures;
        if failures >= self.rules.limits.host_failures {
            let why = format!("{failures} failures in a row: {}", failure.message);
            self.end_lane(host, LaneEnd::skip(SkipReason::HostUnreachable, why));
        }
        if entry.tries >= self.rules.limits.tries {
            let error = Some(failure.message.clone());
            let finished = self.finish(entry, Outcome::Failed(failure.class), error);
            return Ok(Settled::Done(Box::new(finished)));
        }
        entry.remember(self.rules.wall(now), Err(failure.class));
        self.lane(host).delay(entry, until);
        Ok(Settled::Again(until))
    }

    /// A port failed that never answered. After many failures no URL of it is tried twice.
    fn door_failed(
        &mut self,
        host: HostId,
        entry: QueueEntry,
        failure: &Failure,
        now: Moment,
    ) -> Settled {
        let state = self.lane(host).origin(Origin::from_url(&entry.url));
        state.failures += 1;
        if state.failures >= self.rules.limits.host_failures {
            return self.failed(entry, failure);
        }
        self.try_again(host, entry, failure, now)
    }

    pub(super) fn try_again(
        &mut self,
        host: HostId,
        mut entry: QueueEntry,
        failure: &Failure,
        now: Moment,
    ) -> Settled {
        if entry.tries + 1 >= self.rules.limits.tries {
            return self.failed(entry, failure);
        }
        entry.tries += 1;
        entry.remember(self.rules.wall(now), Err(failure.class));
        self.delay(host, entry, now)
    }

    /// Whether a URL that was answered may be asked once more.
    pub(super) fn may_try_again(&self, host: HostId, entry: &QueueEntry) -> bool {
        let lane = self.lanes.get(&host);
        lane.is_some_and(|lane| lane.ended.is_none())
            && entry.tries < self.rules.limits.tries + entry.attempts.excused
    }

    /// Keeps a URL for another try, after a wait that doubles with each. No two waits are quite
    /// the same, so that URLs that failed together do not come together again.
    pub(super) fn delay(&mut self, host: HostId, entry: QueueEntry, now: Moment) -> Settled {
        let lane = self.lane(host);
        let counted = entry.tries.saturating_sub(entry.attempts.excused);
        let wait = lane.rules.politeness.retry_delay * 2u32.pow(counted.clamp(1, 7) - 1);
        let due = (now + wait).max(lane.pace.next_at());
        let due = due + wait / 4 / SPREAD * share_of(entry.key);
        lane.delay(entry, due);
        Settled::Again(due)
    }

    pub(super) fn failed(&mut self, mut entry: QueueEntry, failure: &Failure) -> Settled {
        entry.tries += 1;
        let error = Some(failure.message.clone());
        Settled::Done(Box::new(self.finish(
            entry,
            Outcome::Failed(failure.class),
            error,
        )))
    }
}

/// A number below [`SPREAD`] that differs from URL to URL.
fn share_of(key: Key) -> u32 {
    let [.., last] = *key.as_bytes();
    u32::from(last)
}
