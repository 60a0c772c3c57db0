//! Work on all cores, with results in the order in which the work was handed in.
//!
//! Owns the threads and how much is held. It refuses to know what the work is. Invariants: the
//! order does not depend on the number of threads; for each thread at most [`WINDOW`] results are
//! held or under way.

use std::collections::VecDeque;
use std::io;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// Results that are held for each thread.
const WINDOW: usize = 4;
/// Threads at the most.
const MOST_THREADS: usize = 64;

/// Threads that do one kind of work.
pub struct Ordered<I, O> {
    tasks: Option<SyncSender<(I, SyncSender<O>)>>,
    waiting: VecDeque<Receiver<O>>,
    threads: Vec<JoinHandle<()>>,
    most_waiting: usize,
}

/// As many threads as are asked for, else as there are cores.
pub fn threads(asked: Option<NonZero<usize>>) -> NonZero<usize> {
    let cores = || thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN);
    let number = asked.unwrap_or_else(cores).get().min(MOST_THREADS);
    NonZero::new(number).unwrap_or(NonZero::<usize>::MIN)
}

impl<I: Send + 'static, O: Send + 'static> Ordered<I, O> {
    /// Starts the threads.
    pub fn start(
        threads: NonZero<usize>,
        work: impl Fn(I) -> O + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let most_waiting = threads.get().saturating_mul(WINDOW);
        let (tasks, handed_in) = sync_channel::<(I, SyncSender<O>)>(most_waiting);
        let handed_in = Arc::new(Mutex::new(handed_in));
        let work = Arc::new(work);
        let start = |number| {
            let (handed_in, work) = (Arc::clone(&handed_in), Arc::clone(&work));
            let run = move || {
                while let Some((input, answer)) = take(&handed_in) {
                    // Whoever asked may have gone.
                    let _ = answer.send(work(input));
                }
            };
            thread::Builder::new()
                .name(format!("pages-{number}"))
                .spawn(run)
        };
        Ok(Self {
            tasks: Some(tasks),
            waiting: VecDeque::new(),
            threads: (0..threads.get()).map(start).collect::<Result<_, _>>()?,
            most_waiting,
        })
    }

    /// Whether more should be handed in before a result is taken.
    pub fn has_room(&self) -> bool {
        self.waiting.len() < self.most_waiting
    }

    /// Hands in a piece of work.
    pub fn push(&mut self, input: I) {
        let (answer, receiver) = sync_channel(1);
        if let Some(tasks) = &self.tasks {
            // If all threads were gone, the receiver would say so.
            let _ = tasks.send((input, answer));
        }
        self.waiting.push_back(receiver);
    }
}

impl<I, O> Iterator for Ordered<I, O> {
    /// An error means that the work broke down.
    type Item = io::Result<O>;

    /// The next result; nothing if all were taken.
    fn next(&mut self) -> Option<io::Result<O>> {
        let receiver = self.waiting.pop_front()?;
        let gone = |_| io::Error::other("a thread that read pages ended in the middle of its work");
        Some(receiver.recv().map_err(gone))
    }
}

fn take<T>(tasks: &Mutex<Receiver<T>>) -> Option<T> {
    tasks.lock().ok()?.recv().ok()
}

impl<I, O> Drop for Ordered<I, O> {
    fn drop(&mut self) {
        drop(self.tasks.take());
        for thread in self.threads.drain(..) {
            // A thread that broke down has said so to whoever waited for it.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_their_order() {
        for number in 1..5 {
            let work = |input: u64| {
                if input.is_multiple_of(3) {
                    thread::yield_now();
                }
                input * input
            };
            let mut ordered = Ordered::start(NonZero::new(number).unwrap(), work).unwrap();
            let mut inputs = 0..100;
            let mut seen = Vec::new();
            loop {
                while ordered.has_room()
                    && let Some(input) = inputs.next()
                {
                    ordered.push(input);
                }
                assert!(ordered.waiting.len() <= number * WINDOW);
                match ordered.next() {
                    Some(result) => seen.push(result.unwrap()),
                    None => break,
                }
            }
            assert_eq!(seen, (0..100).map(|it| it * it).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn work_that_breaks_down_is_an_error() {
        let one = NonZero::<usize>::MIN;
        let mut ordered = Ordered::start(one, |input: u8| 10 / input).unwrap();
        ordered.push(5);
        ordered.push(0);
        assert_eq!(ordered.next().unwrap().unwrap(), 2);
        assert!(ordered.next().unwrap().is_err());
        assert!(ordered.next().is_none());
    }
}
