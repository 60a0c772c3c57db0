//! The end of a run: what it leaves to say.
//!
//! Owns the facts of a run for its report, and the closing of what the run had open. It decides
//! nothing any more.

use std::thread::{self, JoinHandle};

use clewline_core::frontier::Store;

use super::{CrawlOutcome, Engine, EngineError};
use crate::clock::timestamp;
use crate::report::{RunFacts, StoppedBy};

impl<S: Store + Send + 'static> Engine<S> {
    /// Crawls to the end. What stops it early is part of the outcome: what was done counts.
    pub(crate) fn run(mut self) -> CrawlOutcome {
        let ended = self.work().and_then(|stopped_by| {
            self.task_pool.abandon();
            self.flush().map(|()| stopped_by)
        });
        self.task_pool.abandon();
        if let Some(member) = &mut self.member {
            member.end();
        }
        let closed = self.log_writer.close();
        if let Some(board) = self.leases.take() {
            board.close();
        }
        self.outcome(ended.and_then(|stopped_by| {
            closed.map_err(|error| EngineError::Write(error.into()))?;
            Ok(stopped_by)
        }))
    }

    fn outcome(mut self, ended: Result<StoppedBy, EngineError>) -> CrawlOutcome {
        let counts = self.frontier.counts();
        for (reason, count) in self.frontier.refused() {
            self.tally.refuse(reason, count);
        }
        let todo = self.left_to_do();
        let mut notes = Vec::new();
        if !self.config.scope.robots {
            notes.push("robots.txt was ignored (--ignore-robots)".to_owned());
        }
        notes.append(&mut self.repaired);
        let (stopped_by, error) = match ended {
            Ok(stopped_by) => (stopped_by, None),
            Err(error) => (StoppedBy::Error(error.to_string()), Some(error)),
        };
        let facts = RunFacts {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seconds: self.resume_notes.spent(self.clock.now()).as_secs_f64(),
            started_at: self.resume_notes.started_at,
            finished_at: timestamp(),
            folder: self.config.output.folder.clone(),
            roots: self
                .config
                .roots
                .iter()
                .map(|root| root.url.clone())
                .collect(),
            joined_hosts: self.joined_hosts,
            concurrency: self.config.limits.concurrency,
            peak_in_flight: self.meter.peak_in_flight(),
            admitted: self.tally.done + todo,
            todo,
            withheld: counts.withheld,
            traps: self.frontier.traps(),
            empty_root: self.empty_root,
            resumable: self.config.output.folder.is_some() && !self.config.output.in_memory,
            stopped_by,
            notes,
        };
        self.delivery.finish();
        CrawlOutcome {
            config: self.config,
            tally: self.tally,
            facts,
            failed_roots: self.failed_roots,
            error,
            closing: Closing::begin(self.frontier),
        }
    }
}

/// The closing of a store, on a thread of its own: it waits for the disk while the report is
/// made. Whoever drops this waits for its end.
#[derive(Debug)]
pub(crate) struct Closing(Option<JoinHandle<()>>);

impl Closing {
    fn begin(store: impl Send + 'static) -> Self {
        let thread = thread::Builder::new().name("clewline-close".into());
        // Where there is no thread to be had, it is closed on the spot.
        Self(thread.spawn(move || drop(store)).ok())
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            thread.join().ok();
        }
    }
}
