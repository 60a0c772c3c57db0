//! The end of a run: what it leaves to say.
//!
//! Owns the facts of a run for its report. It decides nothing any more.

use clewline_core::frontier::Store;

use super::{Engine, EngineError, Outcome};
use crate::clock::timestamp;
use crate::report::{RunFacts, StoppedBy};

impl<S: Store> Engine<S> {
    pub(super) fn outcome(mut self, ended: Result<StoppedBy, EngineError>) -> Outcome {
        let counts = self.frontier.counts();
        for (reason, count) in self.frontier.refused() {
            self.tally.refuse(reason, count);
        }
        let mut notes = Vec::new();
        if !self.config.scope.robots {
            notes.push("robots.txt was ignored (--ignore-robots)".to_owned());
        }
        let (stopped_by, error) = match ended {
            Ok(stopped_by) => (stopped_by, None),
            Err(error) => (StoppedBy::Error(error.to_string()), Some(error)),
        };
        let facts = RunFacts {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seconds: self.keeping.spent(self.clock.now()).as_secs_f64(),
            started_at: self.keeping.started_at,
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
            admitted: counts.admitted,
            // What is settled but not durable is not done.
            todo: counts.admitted - self.tally.done,
            resumable: self.config.output.folder.is_some() && !self.config.output.in_memory,
            stopped_by,
            notes,
        };
        self.delivery.finish();
        let failed_roots = if self.any_root_reached {
            Vec::new()
        } else {
            self.failed_roots
        };
        Outcome {
            config: self.config,
            tally: self.tally,
            facts,
            failed_roots,
            error,
        }
    }
}
