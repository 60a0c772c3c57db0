//! The index, fed while a crawl runs.
//!
//! Owns when it is fed and what is left to say at the end. It refuses to know how; the crate
//! `clewline-search` does, from what is committed. Invariants: the crawl never waits for it; it
//! takes less than a quarter of one processor, and only what the crawl leaves of that; if it
//! fails, feeding ends and nothing else does.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use clewline_search::{SearchError, feed};

/// Time before the first feeding …
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// … and between two, at the least.
const PAUSE: Duration = Duration::from_secs(5);
/// After a feeding it rests so many times as long as that took.
const RESTS: u32 = 3;
/// How much the thread stands back behind those of the crawl.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

/// The thread that feeds the index of a job.
pub(crate) struct Feeder {
    is_over: Arc<AtomicBool>,
    /// Wakes the thread when it is gone.
    orders: Sender<()>,
    thread: JoinHandle<Result<(), SearchError>>,
}

impl Feeder {
    /// Begins. Without a thread to spare the index is made at the end alone.
    pub(crate) fn start(job: PathBuf) -> Option<Self> {
        Self::start_after(FIRST_PAUSE, job)
    }

    fn start_after(pause: Duration, job: PathBuf) -> Option<Self> {
        let (orders, ends) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let heard = Arc::clone(&is_over);
        let thread = thread::Builder::new()
            .name("index".to_owned())
            .spawn(move || run(&job, pause, &ends, &heard));
        Some(Self {
            is_over,
            orders,
            thread: thread.ok()?,
        })
    }

    /// Ends after the page at hand; answers why the feeding failed, if it did.
    pub(crate) fn finish(self) -> Option<anyhow::Error> {
        self.is_over.store(true, Ordering::Relaxed);
        drop(self.orders);
        match self.thread.join() {
            Ok(fed) => fed.err().map(Into::into),
            Err(_) => Some(anyhow!("indexing came upon a bug; please report it")),
        }
    }
}

fn run(
    job: &Path,
    mut pause: Duration,
    ends: &Receiver<()>,
    is_over: &AtomicBool,
) -> Result<(), SearchError> {
    stand_back();
    while ends.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
        let began = Instant::now();
        match feed(job, is_over) {
            // Somebody searches, and has brought it up to date for that.
            Ok(_) | Err(SearchError::Busy(_)) => {}
            Err(error) => return Err(error),
        }
        pause = PAUSE.max(began.elapsed() * RESTS);
    }
    Ok(())
}

/// Lets the crawl go first where there are too few processors for both. Threads that this one
/// starts inherit it.
fn stand_back() {
    // On Linux this is of the thread alone; one that may not stand back works all the same.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICENESS);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_told_at_the_end() {
        let place = tempfile::tempdir().unwrap();
        let (orders, ends) = channel::<()>();
        let over = AtomicBool::new(false);
        let failed = run(place.path(), Duration::ZERO, &ends, &over).unwrap_err();
        assert!(
            failed.to_string().contains("is not a job folder"),
            "{failed}"
        );
        drop(orders);
        let thread = thread::spawn(move || Err(failed));
        let feeder = Feeder {
            is_over: Arc::default(),
            orders: channel().0,
            thread,
        };
        assert!(
            feeder
                .finish()
                .unwrap()
                .to_string()
                .contains("is not a job folder")
        );
    }

    #[test]
    fn whoever_ends_it_does_not_wait_for_the_pause() {
        let hour = Duration::from_hours(1);
        let feeder = Feeder::start_after(hour, PathBuf::from("nowhere")).unwrap();
        assert!(feeder.finish().is_none(), "it had nothing to do yet");
    }
}
