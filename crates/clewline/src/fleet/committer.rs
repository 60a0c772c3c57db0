//! The commit of a member's batches, on the thread that writes the logs.
//!
//! Owns the order that matters: logs first, then the place of the batch in them, then the one
//! statement. It goes on asking until it is known whether a batch counts: an answer that got lost is
//! no failure, a refusal costs only the shards that have another owner. It refuses to know what a
//! batch changes. Invariants: what counts is in the logs and synced; after the bus forgot something
//! that it had confirmed nothing is committed any more.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::sync::mpsc::Sender;
use std::time::Duration;

use clewline_core::fleet::{Bus, BusError, ShardId, ShardRow, Upload};
use thiserror::Error;

use super::FleetWord;
use super::batch::{FleetBatch, ShardMap};
use super::journal::SharedBatch;
use super::lease::FleetLease;
use super::worker_folder::BatchesFile;
use crate::engine::Message;
use crate::store::StoreError;

/// How often the bus is asked again that did not answer.
const AGAIN: Duration = Duration::from_millis(200);

/// Why a batch could not be committed.
#[derive(Debug, Error)]
pub(crate) enum CommitFailure {
    /// The member's part in the fleet has ended.
    #[error("{0}")]
    Ended(String),
    /// The place of the batch could not be written.
    #[error("the batches of this worker cannot be written: {0}")]
    Write(#[from] std::io::Error),
    /// The results could not be uploaded.
    #[error("the results cannot be uploaded: {0}")]
    Upload(Box<dyn std::error::Error + Send + Sync>),
    /// The bus will not take it.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// The local store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Commits batches, one after the other.
pub(crate) struct Committer {
    pub(crate) bus: Box<dyn Bus>,
    pub(crate) worker: u64,
    pub(crate) lease: FleetLease,
    pub(crate) map: ShardMap,
    pub(crate) batches: BatchesFile,
    pub(crate) upload: Option<Upload>,
    pub(crate) engine: Sender<Message>,
    /// The last batch that is known to count.
    pub(crate) counted: u64,
}

/// What the rows say after an attempt.
enum Verdict {
    Happened,
    /// These have another owner.
    Lost(Vec<ShardId>),
    /// Neither: it is asked again.
    Pending,
    /// The bus forgot what it had confirmed.
    FellBack,
}

impl Committer {
    /// Commits a batch, however long that takes. May be called again after a failure.
    pub(crate) fn commit(
        &mut self,
        batch: &SharedBatch,
        offsets: &[(&'static str, u64)],
    ) -> Result<(), CommitFailure> {
        let mut batch = batch.lock().unwrap_or_else(PoisonError::into_inner);
        if batch.number <= self.counted {
            return Ok(());
        }
        self.batches.append(batch.number, offsets)?;
        if let Some(upload) = &mut self.upload {
            upload(self.batches.folder(), batch.number, offsets).map_err(CommitFailure::Upload)?;
        }
        let rows = self.insist(&mut batch)?;
        self.counted = batch.number;
        let word = FleetWord::Committed {
            rows,
            lost: batch.lost.clone(),
        };
        // An engine that is gone needs no words.
        self.engine.send(Message::Fleet(word)).ok();
        Ok(())
    }

    /// Asks until the batch counts, or nothing is left of it.
    fn insist(&mut self, batch: &mut FleetBatch) -> Result<Vec<ShardRow>, CommitFailure> {
        loop {
            if let Some(why) = self.lease.ended() {
                return Err(CommitFailure::Ended(why));
            }
            let Some(epochs) = self.epochs(batch) else {
                self.lease.wait(AGAIN);
                continue;
            };
            if batch.deltas.is_empty() {
                return Ok(Vec::new());
            }
            let commit = batch.commit(self.worker, &epochs, &self.map);
            let rows = match self.bus.commit(&commit) {
                Ok(rows) => rows,
                Err(BusError::Away(_)) => {
                    self.lease.wait(AGAIN);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            match self.verdict(batch, &rows) {
                Verdict::Happened => return Ok(rows),
                Verdict::Lost(shards) => {
                    for shard in shards {
                        batch.lose(shard, &self.map);
                    }
                }
                Verdict::Pending => self.lease.wait(AGAIN),
                Verdict::FellBack => {
                    let why = "the fleet's database forgot something that it had confirmed";
                    self.lease.end(why);
                }
            }
        }
    }

    /// The epochs of a batch's shards, once all of them are held for sure. What was lost leaves it.
    fn epochs(&self, batch: &mut FleetBatch) -> Option<BTreeMap<ShardId, u64>> {
        let held = self.lease.held();
        let shards: Vec<ShardId> = batch.deltas.keys().copied().collect();
        let mut epochs = BTreeMap::new();
        for shard in shards {
            let tenure = batch.facts.get(&shard).map(|facts| facts.tenure);
            match held.get(&shard) {
                Some(lease) if Some(lease.tenure) == tenure => {
                    epochs.insert(shard, lease.epoch?);
                }
                _ => batch.lose(shard, &self.map),
            }
        }
        Some(epochs)
    }

    fn verdict(&self, batch: &FleetBatch, rows: &[ShardRow]) -> Verdict {
        let mut lost = Vec::new();
        let mut fell_back = false;
        for row in rows {
            let Some(facts) = batch.facts.get(&row.shard) else {
                continue;
            };
            if row.worker != Some(self.worker) {
                lost.push(row.shard);
            } else if row.batch == batch.number && row.fence.head == facts.head + 1 {
                // It counts whole, whoever owns its other shards by now.
                return Verdict::Happened;
            } else if row.fence.head != facts.head {
                fell_back = true;
            }
        }
        match (fell_back, lost.is_empty()) {
            (true, _) => Verdict::FellBack,
            (false, false) => Verdict::Lost(lost),
            (false, true) => Verdict::Pending,
        }
    }
}
