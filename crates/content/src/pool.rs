//! Threads that read pages.
//!
//! Owns how many pages are read at once and how many wait. It refuses to know where pages come
//! from. Invariant: memory is bounded by the pages that were handed in and not yet answered, and
//! a page that breaks the reader costs that page only.

use std::io;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use url::Url;

use crate::content::{Content, ReadingSpeed};
use crate::limits::{ContentLimits, Refusal};

/// Pages that wait for each thread.
const WAITING_PER_THREAD: usize = 2;

/// The result of one reading.
pub type Answer = Result<Content, Refusal>;

struct Task {
    html: String,
    url: Url,
    speed: ReadingSpeed,
    answer: SyncSender<Answer>,
}

/// Plain threads that read pages; dropping it waits for those in work.
#[derive(Debug)]
pub struct Readers {
    tasks: Option<SyncSender<Task>>,
    threads: Vec<JoinHandle<()>>,
}

impl Readers {
    /// Starts the threads.
    pub fn start(threads: NonZero<usize>, limits: ContentLimits) -> io::Result<Self> {
        let (tasks, waiting) = sync_channel(threads.get().saturating_mul(WAITING_PER_THREAD));
        let waiting = Arc::new(Mutex::new(waiting));
        let start = |number| {
            let waiting = Arc::clone(&waiting);
            let name = format!("reader-{number}");
            thread::Builder::new()
                .name(name)
                .spawn(move || work(&waiting, &limits))
        };
        let threads = (0..threads.get()).map(start).collect::<Result<_, _>>()?;
        Ok(Self {
            tasks: Some(tasks),
            threads,
        })
    }

    /// Hands in a page; waits while all threads are busy and enough pages wait. The answer comes
    /// through the receiver, which closes without one only if the threads are gone.
    pub fn read(&self, html: String, url: Url, speed: ReadingSpeed) -> Receiver<Answer> {
        let (answer, receiver) = sync_channel(1);
        let task = Task {
            html,
            url,
            speed,
            answer,
        };
        if let Some(tasks) = &self.tasks {
            // The threads outlive the sender; if all were gone, the receiver says so.
            let _ = tasks.send(task);
        }
        receiver
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        drop(self.tasks.take());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn work(waiting: &Mutex<Receiver<Task>>, limits: &ContentLimits) {
    loop {
        let task = waiting.lock().ok().and_then(|waiting| waiting.recv().ok());
        let Some(task) = task else {
            return;
        };
        let Task {
            html,
            url,
            speed,
            answer,
        } = task;
        // A bug that one page among millions finds must not end the thread that reads the rest.
        // Nothing is shared with the reading, so nothing can be left half done.
        let read = AssertUnwindSafe(|| Content::read(&html, &url, speed, limits));
        let result = catch_unwind(read).unwrap_or(Err(Refusal::Broken));
        // Whoever asked may have gone.
        let _ = answer.send(result);
    }
}
