//! The way of ended jobs to the engine, in batches.
//!
//! Owns the ends that the engine has not been told of. To wake the engine costs two switches of
//! threads, more than it does with what it is told; so tasks leave their ends here, and the
//! engine hears of many at once: when there are enough of them, when the first of them has waited
//! for [`LONGEST`], or when a thread of the tasks has nothing else to do, whichever comes first.
//!
//! How many are enough depends on how busy the threads are. Where they rest now and then, answers
//! are what the crawl waits for: what ends first frees its place at once, and those that came
//! together do not wait for each other, be asked for together and come together again. Each batch
//! without a rest is twice as large as the one before, so that threads that never rest wake the
//! engine seldom.
//!
//! Invariants: no end waits here while all threads of the tasks are idle, and none at all that
//! asks for a pause.

use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use clewline_core::frontier::Ending;
use clewline_core::outcome::is_refusal_status;

use super::Message;
use super::runner::JobResult;

/// Ends that the engine hears of at once, at the most.
const BATCH: usize = 32;
/// An end waits until the next one that comes after this time.
const LONGEST: Duration = Duration::from_millis(4);

/// Ends on their way to the engine.
#[derive(Debug)]
pub(super) struct CompletionQueue {
    ended: Mutex<Ended>,
    engine: Sender<Message>,
}

/// What waits, in the order in which it came.
#[derive(Debug)]
struct Ended {
    jobs: Vec<JobResult>,
    /// When the first came.
    since: Instant,
    /// How many are told of at once.
    enough: usize,
}

impl CompletionQueue {
    pub(super) fn new(engine: Sender<Message>) -> Self {
        Self {
            ended: Mutex::new(Ended {
                jobs: Vec::new(),
                since: Instant::now(),
                enough: 1,
            }),
            engine,
        }
    }

    /// Leaves the end of a job, which came about just now.
    pub(super) fn leave(&self, done: JobResult, now: Instant) {
        let mut ended = self.lock();
        if ended.jobs.is_empty() {
            let enough = ended.enough;
            ended.jobs.reserve_exact(enough);
            ended.since = now;
        }
        let is_urgent = asks_for_a_pause(&done.settlement.ending);
        ended.jobs.push(done);
        let is_enough = ended.jobs.len() >= ended.enough;
        if is_enough {
            ended.enough = (2 * ended.enough).min(BATCH);
        }
        if is_enough || is_urgent || now - ended.since >= LONGEST {
            self.send(ended);
        }
    }

    /// Tells the engine what there is: a thread of the tasks is about to rest.
    pub(super) fn deliver(&self) {
        let mut ended = self.lock();
        ended.enough = 1;
        if !ended.jobs.is_empty() {
            self.send(ended);
        }
    }

    /// Sends while nobody else can, so that batches arrive in order.
    fn send(&self, mut ended: MutexGuard<'_, Ended>) {
        let batch = std::mem::take(&mut ended.jobs);
        // The engine is gone only when the whole crawl is being dropped.
        self.engine.send(Message::Done(batch)).ok();
    }

    fn lock(&self) -> MutexGuard<'_, Ended> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a server wants to be left alone: what is handed out before the engine knows reaches
/// it all the same.
fn asks_for_a_pause(ending: &Ending) -> bool {
    match ending {
        Ending::Answered(answer) => {
            answer.retry_after.is_some() || is_refusal_status(answer.status)
        }
        Ending::Withheld { .. } => true,
        Ending::Failed(_) | Ending::Resolved { .. } | Ending::CutShort { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use clewline_core::frontier::{Answer, JobId};

    use super::*;

    fn done(number: usize) -> JobResult {
        let ending = Ending::Resolved {
            addresses: Vec::new(),
            ttl: Duration::ZERO,
            trusted: false,
        };
        ended(number, ending)
    }

    fn ended(number: usize, ending: Ending) -> JobResult {
        JobResult::new(JobId(number as u64), ending)
    }

    fn batches(inbox: &Receiver<Message>) -> Vec<Vec<u64>> {
        let messages = inbox.try_iter().map(|message| match message {
            Message::Done(ended) => ended.iter().map(|done| done.settlement.job.0).collect(),
            other => panic!("{other:?}"),
        });
        messages.collect()
    }

    #[test]
    fn many_ends_are_one_message_and_none_is_left_behind() {
        let (outbox, inbox) = channel();
        let completions = CompletionQueue::new(outbox);
        let now = Instant::now();
        for round in 0..2 {
            completions.deliver();
            (0..2 * BATCH + 3).for_each(|number| completions.leave(done(number), now));
            let whole = batches(&inbox);
            let sizes: Vec<usize> = whole.iter().map(Vec::len).collect();
            assert_eq!(sizes, [1, 2, 4, 8, 16, BATCH], "round {round}");
            completions.deliver();
            completions.deliver();
            let all: Vec<u64> = whole.into_iter().chain(batches(&inbox)).flatten().collect();
            assert_eq!(all, (0..2 * BATCH as u64 + 3).collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_end_waits_for_many_that_come_slowly() {
        let (outbox, inbox) = channel();
        let completions = CompletionQueue::new(outbox);
        let begun = Instant::now();
        // Busy threads: many are enough.
        (0..BATCH).for_each(|number| completions.leave(done(number), begun));
        batches(&inbox);
        for (number, after, is_told) in [
            (0, Duration::ZERO, false),
            (1, LONGEST / 2, false),
            (2, LONGEST, true),
            (3, LONGEST * 3 / 2, false),
            (4, LONGEST * 2, false),
            (5, LONGEST * 5 / 2, true),
        ] {
            completions.leave(done(number), begun + after);
            assert_eq!(!batches(&inbox).is_empty(), is_told, "{number}");
        }
    }

    #[test]
    fn a_server_that_asks_for_a_pause_is_heard_at_once() {
        let (outbox, inbox) = channel();
        let completions = CompletionQueue::new(outbox);
        let now = Instant::now();
        let answered = |status, retry_after| {
            Ending::Answered(Box::new(Answer {
                status,
                retry_after,
                ..Answer::default()
            }))
        };
        let withheld = Ending::Withheld {
            until: LONGEST,
            sent_at: None,
        };
        for (number, ending, is_urgent) in [
            (0, answered(200, None), true),
            (1, answered(200, None), false),
            (2, answered(429, None), true),
            (3, answered(503, None), true),
            (4, answered(301, Some(Duration::from_secs(1))), true),
            (5, answered(404, None), false),
            (6, withheld, true),
        ] {
            completions.leave(ended(number, ending), now);
            assert_eq!(!batches(&inbox).is_empty(), is_urgent, "{number}");
        }
    }
}
