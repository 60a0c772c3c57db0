//! What the engine does for a member of a fleet.
//!
//! Owns the calls to the member beside the loop: its turn, the results it holds back, its batches,
//! its leave. What they mean is decided in `fleet`. Without a fleet nothing of this happens.

use std::time::Duration;

use clewline_core::frontier::{Ending, Excuse, Failure, JobId, Moment, Settled, Store};
use clewline_core::outcome::FailureClass;

use super::runner::JobResult;
use super::{Engine, EngineError, Event, state};
use crate::fleet::AtWork;
use crate::report::StoppedBy;

/// What the member said in its last turn.
#[derive(Debug, Default)]
pub(super) struct MemberSays {
    /// Nothing is to be asked now.
    pub(super) holds: bool,
    /// The open batch is to be handed over.
    commit: bool,
    /// Its next turn is due then.
    pub(super) due: Option<Moment>,
}

impl<S: Store> Engine<S> {
    /// Lets the member do what is due; how the crawl ended here, if it did.
    pub(super) fn fleet_turn(&mut self) -> Result<Option<StoppedBy>, EngineError> {
        let Some(member) = &mut self.member else {
            return Ok(None);
        };
        let turn = member.turn(AtWork {
            frontier: &mut self.frontier,
            batch: &mut self.batch,
            cookies: &mut self.cookies,
            is_writing: self.log_writer.unwritten() > 0,
            now: self.clock.now(),
        })?;
        self.member_says = MemberSays {
            holds: turn.holds,
            commit: turn.commit,
            due: Some(turn.due),
        };
        for told in &turn.told {
            (self.observer)(Event::Told(told));
        }
        if let Some(paused) = turn.paused {
            self.pause(paused);
        }
        for change in turn.changes {
            // What makes no sense here was refused where it was ordered.
            self.change(change)?.ok();
        }
        for job in turn.abort {
            self.abort(job)?;
        }
        for result in turn.settle {
            self.settle(result)?;
        }
        Ok(turn.ended)
    }

    /// Results that are not held back.
    pub(super) fn received(&mut self, ended: Vec<JobResult>) -> Vec<JobResult> {
        let Some(member) = &mut self.member else {
            return ended;
        };
        let (frontier, pool) = (&self.frontier, &self.task_pool);
        let ended = ended.into_iter().filter_map(|result| {
            pool.forget(result.settlement.job);
            member.receive(result, frontier)
        });
        ended.collect()
    }

    /// Gives a job up that somebody else may do soon; its URL stays open.
    fn abort(&mut self, job: JobId) -> Result<(), EngineError> {
        self.task_pool.abort(job);
        let given_up = Ending::Failed(Failure {
            class: FailureClass::Connect,
            message: "the lease of its shard has ended".into(),
            excuse: Some(Excuse::Shortage),
            connected: false,
            wire: 0,
            sent_at: None,
        });
        // Not by `settle`: this machine is short of nothing.
        let mut result = JobResult::new(job, given_up);
        let settled = self
            .frontier
            .settle(&mut result.settlement, self.clock.now());
        if let Settled::Done(finished) = settled.map_err(state)? {
            self.finished(*finished, Some(result));
        }
        if let Some(board) = &mut self.leases {
            board.give_back(job);
        }
        Ok(())
    }

    /// Hands the open batch over if the member says so.
    pub(super) fn hand_fleet_batch_over(&mut self, now: Moment) -> Result<(), EngineError> {
        let is_due = std::mem::take(&mut self.member_says.commit);
        if !is_due || self.log_writer.unwritten() > 0 {
            return Ok(());
        }
        if let Some(member) = &mut self.member {
            member.before_seal(&mut self.frontier);
        }
        self.seal_and_write(now)
    }

    pub(super) fn leave_fleet(&mut self, grace: Duration) {
        self.log_writer.give_up();
        if let Some(member) = &mut self.member {
            member.leave(grace);
        }
    }
}
