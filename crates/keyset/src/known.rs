//! The one type that answers whether a key is known.
//!
//! Owns the order in which its parts are asked, which the crate's documentation draws, and what
//! of them is in which batch. Invariants: a key that was added is known until it is forgotten;
//! after a start exactly the keys are known that the last commit knew.

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use clewline_core::frontier::KeySet;
use clewline_core::key::Key;

use crate::error::KeysError;
use crate::fresh::FreshKeys;
use crate::hot::HotKeys;
use crate::kept::KeptBlocks;
use crate::options::KeysOptions;
use crate::rows::{KeyRow, SavedKeys, fresh_rows};
use crate::runs::{RunList, Runs};
use crate::sorted::ExportedKeys;

/// The keys that a crawl knows.
pub struct KnownKeys {
    hot: HotKeys,
    /// What was added since the last seal.
    open: KeySet<Key>,
    /// What is sealed and not durable yet, by batch.
    sealed: VecDeque<(u64, KeySet<Key>)>,
    fresh: FreshKeys,
    /// Keys that were looked up ahead and are not durable. They are asked for last, and only
    /// until the open batch is sealed: one that is added meanwhile is found in that.
    absent: KeySet<Key>,
    runs: Arc<Runs>,
    kept: KeptBlocks,
    /// The next commit must say which version the rows have.
    needs_format: bool,
}

/// The keys of a batch on its way to the disk.
pub struct SealedKeys {
    runs: Arc<Runs>,
    /// Keys of earlier batches that go into a run before this one is committed.
    departing: Option<Arc<KeySet<Key>>>,
    /// What the commit under way says of runs.
    list: Option<RunList>,
}

impl SealedKeys {
    /// Makes everything ready for the commit of the batch; answers the row that names the runs, if
    /// it changes. After a failure it may be called again.
    pub fn prepare(&mut self) -> Result<Option<KeyRow>, KeysError> {
        if let Some(keys) = &self.departing {
            self.runs.add(keys)?;
            self.departing = None;
        }
        self.list = self.runs.to_commit();
        Ok(self.list.as_ref().map(|list| KeyRow::runs(list.to_bytes())))
    }

    /// The batch was committed, with what [`SealedKeys::prepare`] answered.
    pub fn committed(&mut self) {
        if let Some(list) = self.list.take() {
            self.runs.committed(&list);
        }
    }
}

impl KnownKeys {
    /// Opens the keys that the last commit knew. The folder must exist; runs lie in it.
    pub fn open(folder: &Path, saved: SavedKeys, options: &KeysOptions) -> Result<Self, KeysError> {
        let needs_format = saved.needs_format(folder)?;
        let runs = Runs::open(folder, &saved.runs, options)?;
        Ok(Self {
            hot: HotKeys::new(options.hot),
            open: KeySet::default(),
            sealed: VecDeque::new(),
            fresh: FreshKeys::new(saved, options.gather),
            absent: KeySet::default(),
            runs: Arc::new(runs),
            kept: KeptBlocks::new(),
            needs_format,
        })
    }

    /// Whether a key is known.
    pub fn contains(&mut self, key: Key) -> Result<bool, KeysError> {
        if self.remembers(key) || self.fresh.contains(&key) {
            return Ok(true);
        }
        if self.absent.contains(&key) {
            return Ok(false);
        }
        let mut known = false;
        let runs = &self.runs;
        runs.look_up(&[key], &mut self.kept, |_, is_known| known = is_known)?;
        if known {
            self.hot.add(key);
        }
        Ok(known)
    }

    /// Looks up keys that will be asked for next, all at once.
    pub fn look_ahead(&mut self, keys: impl Iterator<Item = Key>) -> Result<(), KeysError> {
        let mut unknown: Vec<Key> = keys.collect();
        self.hot.prefetch(&unknown);
        unknown.retain(|key| !self.remembers(*key));
        unknown.sort_unstable();
        unknown.dedup();
        self.absent.clear();
        let (hot, absent, fresh) = (&mut self.hot, &mut self.absent, &self.fresh);
        // Where very much is known, most of it is in runs, whose filters are asked side by side.
        let runs = &self.runs;
        runs.look_up(&unknown, &mut self.kept, |key, is_in_run| {
            if is_in_run || fresh.contains(&key) {
                hot.add(key);
            } else {
                absent.insert(key);
            }
        })
    }

    /// Makes a key known, durably with the batch that is sealed next.
    pub fn add(&mut self, key: Key) {
        self.open.insert(key);
        self.hot.add(key);
    }

    /// How many keys the open batch has.
    pub fn open_len(&self) -> usize {
        self.open.len()
    }

    /// Closes the open batch under a number that is higher than those before; answers the rows
    /// that belong into its commit. Batches are committed in their order.
    pub fn seal(&mut self, batch: u64) -> (SealedKeys, Vec<KeyRow>) {
        let open = std::mem::take(&mut self.open);
        let mut rows: Vec<KeyRow> = fresh_rows(batch, &open).collect();
        if std::mem::take(&mut self.needs_format) {
            rows.push(KeyRow::format());
        }
        let departing = self.fresh.depart(batch).map(|departure| {
            rows.extend(departure.rows.into_iter().map(KeyRow::removed));
            departure.keys
        });
        self.absent.clear();
        self.sealed.push_back((batch, open));
        let sealed = SealedKeys {
            runs: Arc::clone(&self.runs),
            departing: departing.filter(|keys| !keys.is_empty()),
            list: None,
        };
        (sealed, rows)
    }

    /// The first sealed batch became durable.
    pub fn committed(&mut self) {
        if let Some((batch, keys)) = self.sealed.pop_front() {
            self.fresh.arrived(batch);
            self.fresh.add(batch, keys);
        }
    }

    /// All keys of a range, sorted, as they are known now. What is known or forgotten later makes
    /// no difference to it.
    pub fn export(&self, range: &RangeInclusive<Key>) -> Result<ExportedKeys, KeysError> {
        let sealed = self.sealed.iter().flat_map(|(_, keys)| keys);
        let in_memory = self.open.iter().chain(sealed).copied();
        let in_memory = in_memory.chain(self.fresh.keys());
        let mut in_memory: Vec<Key> = in_memory.filter(|key| range.contains(key)).collect();
        in_memory.sort_unstable();
        in_memory.dedup();
        ExportedKeys::new(self.runs.all(), in_memory, range)
    }

    /// Makes about so many sorted keys known, as one run; answers how many there were. They are
    /// known at once, and durably with the batch that is sealed next.
    pub fn import(
        &mut self,
        keys: impl Iterator<Item = Result<Key, KeysError>>,
        about: u64,
    ) -> Result<u64, KeysError> {
        self.require_no_commit()?;
        let count = self.runs.add_sorted(keys, about)?;
        self.absent.clear();
        Ok(count)
    }

    /// Makes all keys of a range unknown: at once, and durably with the batch that is sealed next.
    /// Runs that hold such keys are written over again, which takes as much room as they do.
    /// The caches outside of this crate may still say that such a key is known.
    pub fn forget(&mut self, range: &RangeInclusive<Key>) -> Result<(), KeysError> {
        self.require_no_commit()?;
        self.runs.forget(range)?;
        self.open.retain(|key| !range.contains(key));
        self.fresh.forget(range);
        self.hot.clear();
        Ok(())
    }

    /// Reads everything once: damage that lies where nobody has looked yet is told.
    pub fn check(&self) -> Result<(), KeysError> {
        self.runs.check()
    }

    /// Bytes of all runs on disk.
    pub fn bytes(&self) -> u64 {
        self.runs.bytes()
    }

    /// Whether a key was met lately or is not durable yet.
    fn remembers(&mut self, key: Key) -> bool {
        self.hot.meet(key)
            || self.open.contains(&key)
            || self.sealed.iter().any(|(_, keys)| keys.contains(&key))
    }

    /// A list of runs that changes while a commit is under way could become durable with the
    /// wrong batch.
    fn require_no_commit(&self) -> Result<(), KeysError> {
        self.sealed.is_empty().then_some(()).ok_or(KeysError::Busy)
    }
}
