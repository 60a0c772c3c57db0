//! Rung 1: blocking sockets.
//!
//! The plainest way to fetch a page: connect, write, read, and let the operating system put the
//! whole thread to sleep whenever there is nothing to do yet. One thread fetches one page after
//! the other and spends nearly all its life asleep. `--max-tasks N` gives it company: N threads,
//! each with a stack of its own, each asleep as well. That works, until there are more pages to
//! wait for than threads to be had.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::process::ExitCode;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ladder::{
    Addresses, Answer, Crawl, MAX_ANSWER, Options, PORTION, Task, climb, request, too_large,
};

fn main() -> ExitCode {
    climb(1, |crawl, options| Ok(crawl_all(crawl, options)))
}

fn crawl_all(crawl: Crawl, options: &Options) -> Crawl {
    let pool = Pool {
        crawl: Mutex::new(crawl),
        changed: Condvar::new(),
        addresses: Addresses::new(options.connect_to),
        timeout: options.timeout,
    };
    thread::scope(|scope| {
        // This thread works, too; with one task there is no other.
        for number in 1..options.tasks() {
            let spawned = thread::Builder::new().spawn_scoped(scope, || pool.work());
            if let Err(error) = spawned {
                let text = format!("no thread after {number} of them: {error}; going on");
                options.error(&text);
                break;
            }
        }
        pool.work();
    });
    pool.crawl
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
}

/// What the threads share. Now that there are several, the crawl needs a lock, and whoever finds
/// nothing to do needs somebody to wake him: the price of threads is not memory alone.
struct Pool {
    crawl: Mutex<Crawl>,
    changed: Condvar,
    addresses: Addresses,
    timeout: Duration,
}

impl Pool {
    /// The life of a thread.
    fn work(&self) {
        while let Some(task) = self.next_task() {
            let result = self.fetch(&task);
            self.settle(task, result);
        }
    }

    /// The next page; `None` when the crawl is finished. An empty queue does not mean that: a
    /// page that another thread reads just now may bring more.
    fn next_task(&self) -> Option<Task> {
        let mut crawl = self.crawl();
        loop {
            if let Some(task) = crawl.next_task() {
                return Some(task);
            }
            if crawl.is_finished() {
                return None;
            }
            let woken = self.changed.wait(crawl);
            crawl = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn settle(&self, task: Task, result: io::Result<Answer>) {
        let mut crawl = self.crawl();
        for _ in 0..crawl.settle(task, result) {
            self.changed.notify_one();
        }
        if crawl.is_finished() {
            self.changed.notify_all();
        }
    }

    fn crawl(&self) -> MutexGuard<'_, Crawl> {
        self.crawl.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fetches a page. It reads like a recipe: each line waits for the line before it.
    fn fetch(&self, task: &Task) -> io::Result<Answer> {
        let deadline = Instant::now() + self.timeout;
        let address = self.addresses.of(&task.url)?;
        let mut stream = TcpStream::connect_timeout(&address, self.timeout)?;
        stream.set_write_timeout(Some(self.timeout))?;
        stream.write_all(&request(&task.url))?;
        let mut bytes = Vec::new();
        while read_some(&mut stream, &mut bytes, deadline)? > 0 {
            if bytes.len() > MAX_ANSWER {
                return Err(too_large());
            }
        }
        Answer::parse(&bytes)
    }
}

/// Reads what comes next; 0 bytes are the end. The thread sleeps inside `read`.
fn read_some(stream: &mut TcpStream, bytes: &mut Vec<u8>, deadline: Instant) -> io::Result<usize> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    stream.set_read_timeout(Some(left))?;
    let mut portion = [0; PORTION];
    let count = stream
        .read(&mut portion)
        .map_err(|error| match error.kind() {
            // That is how the system says that the time is over.
            io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
            _ => error,
        })?;
    bytes.extend_from_slice(&portion[..count]);
    Ok(count)
}
