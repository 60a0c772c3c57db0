//! What a set of keys may take, and what it asks of its surroundings.
//!
//! Owns the options and their meaning. It refuses to know how memory is shared out among the
//! parts of a crawl.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A step on the way of keys to the disk. Tests end the process there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyStep {
    /// A run is written and synced, and no commit names it.
    RunWritten,
    /// Runs are being merged.
    Merging,
    /// Some runs are written over again without the keys of a range, others are not yet.
    Forgetting,
    /// A commit names the runs that replace others, and the others are still there.
    Replaced,
}

/// Who hears of each step.
pub type KeyObserver = Arc<dyn Fn(KeyStep) + Send + Sync>;

/// What a set of keys may take, and what it asks of its surroundings.
#[derive(Clone)]
pub struct KeysOptions {
    /// Bytes for keys that were met lately.
    pub hot: u64,
    /// Bytes for the indexes and filters of runs.
    pub indexes: u64,
    /// Bytes for blocks of runs that are read again and again.
    pub blocks: u64,
    /// Durable keys that gather before a run is made of them: each run is one more to look into.
    pub gather: usize,
    /// So many runs of about the same length become one.
    pub together: usize,
    /// A new run waits for the merge that is under way. Only tests that want an order need it.
    pub waits_for_merges: bool,
    /// How many bytes are free where a folder is, if the system says so.
    pub free_bytes: fn(&Path) -> Option<u64>,
    /// Hears of each step.
    pub observer: KeyObserver,
}

impl fmt::Debug for KeysOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KeysOptions")
            .field("hot", &self.hot)
            .field("indexes", &self.indexes)
            .field("blocks", &self.blocks)
            .field("gather", &self.gather)
            .field("together", &self.together)
            .finish_non_exhaustive()
    }
}
