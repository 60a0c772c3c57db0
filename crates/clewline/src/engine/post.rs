//! The way of ended jobs to the engine, in batches.
//!
//! Owns the ends that the engine has not been told of. To wake the engine costs two switches of
//! threads, more than it does with what it is told; so tasks leave their ends here, and the
//! engine hears of many at once: when there are [`BATCH`] of them, or when a thread of the tasks
//! has nothing else to do, whichever comes first. Invariants: no end waits here while all threads
//! of the tasks are idle, and none at all that asks for a pause.

use std::sync::mpsc::Sender;
use std::sync::{Mutex, MutexGuard, PoisonError};

use clewline_core::frontier::Ending;

use super::{JobDone, Message};

/// Ends that the engine hears of at once, at the most.
const BATCH: usize = 32;

/// Ends on their way to the engine.
#[derive(Debug)]
pub(super) struct Post {
    ended: Mutex<Vec<JobDone>>,
    engine: Sender<Message>,
}

impl Post {
    pub(super) const fn new(engine: Sender<Message>) -> Self {
        Self {
            ended: Mutex::new(Vec::new()),
            engine,
        }
    }

    /// Leaves the end of a job.
    pub(super) fn leave(&self, done: JobDone) {
        let mut ended = self.lock();
        if ended.capacity() == 0 {
            ended.reserve_exact(BATCH);
        }
        let is_urgent = asks_for_a_pause(&done.settlement.ending);
        ended.push(done);
        if ended.len() >= BATCH || is_urgent {
            self.send(ended);
        }
    }

    /// Tells the engine what there is: a thread of the tasks is about to rest.
    pub(super) fn deliver(&self) {
        let ended = self.lock();
        if !ended.is_empty() {
            self.send(ended);
        }
    }

    /// Sends while nobody else can, so that batches arrive in order.
    fn send(&self, mut ended: MutexGuard<'_, Vec<JobDone>>) {
        let batch = std::mem::take(&mut *ended);
        // The engine is gone only when the whole crawl is being dropped.
        self.engine.send(Message::Done(batch)).ok();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<JobDone>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a server wants to be left alone: what is handed out before the engine knows reaches
/// it all the same.
fn asks_for_a_pause(ending: &Ending) -> bool {
    match ending {
        Ending::Answered(answer) => {
            answer.retry_after.is_some() || matches!(answer.status, 429 | 503)
        }
        Ending::Failed(_) | Ending::Resolved { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Duration;

    use clewline_core::frontier::{Answer, JobId, Settlement};

    use super::super::facts::Facts;
    use super::*;

    fn done(number: usize) -> JobDone {
        let ending = Ending::Resolved {
            addresses: Vec::new(),
            ttl: Duration::ZERO,
            trusted: false,
        };
        ended(number, ending)
    }

    fn ended(number: usize, ending: Ending) -> JobDone {
        JobDone {
            settlement: Settlement {
                job: JobId(number as u64),
                ending,
            },
            facts: Facts::default(),
            set_cookies: Vec::new(),
            share: None,
        }
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
        let post = Post::new(outbox);
        post.deliver();
        (0..2 * BATCH + 3).for_each(|number| post.leave(done(number)));
        let whole = batches(&inbox);
        let sizes: Vec<usize> = whole.iter().map(Vec::len).collect();
        assert_eq!(sizes, [BATCH, BATCH]);
        post.deliver();
        post.deliver();
        let all: Vec<u64> = whole.into_iter().chain(batches(&inbox)).flatten().collect();
        assert_eq!(all, (0..2 * BATCH as u64 + 3).collect::<Vec<_>>());
    }

    #[test]
    fn a_server_that_asks_for_a_pause_is_heard_at_once() {
        let (outbox, inbox) = channel();
        let post = Post::new(outbox);
        let answered = |status, retry_after| {
            Ending::Answered(Box::new(Answer {
                status,
                retry_after,
                ..Answer::default()
            }))
        };
        for (number, ending, is_urgent) in [
            (1, answered(200, None), false),
            (2, answered(429, None), true),
            (3, answered(503, None), true),
            (4, answered(301, Some(Duration::from_secs(1))), true),
            (5, answered(404, None), false),
        ] {
            post.leave(ended(number, ending));
            assert_eq!(!batches(&inbox).is_empty(), is_urgent, "{number}");
        }
    }
}
