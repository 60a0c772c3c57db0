//! The folder of runs, which the thread that merges shares with the others.
//!
//! Owns how a run gets into the folder: new, merged of others, or written over again without some
//! keys. It refuses to know commits. Invariants: a run is in the list only when it is whole and
//! synced with its name; nothing is left of one that fails.

use std::cmp::Reverse;
use std::fs::{self, File};
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use clewline_core::key::Key;

use crate::error::KeysError;
use crate::options::{KeyObserver, KeyStep, KeysOptions};
use crate::run::{self, Run, RunWriter};
use crate::sorted::{KeySource, MergedKeys, RunKeys};

/// Keys between two looks at whether a merge is still wanted.
const BETWEEN_LOOKS: u64 = 1 << 16;
/// Of the room that is left for filters, a new one takes at most three quarters: shorter runs
/// come after it.
const FILTER_SHARE: (u64, u64) = (3, 4);
/// Bytes that a merge leaves free on the disk.
const LEFT_FREE: u64 = 256 * 1024 * 1024;

/// The folder, and which of its runs count.
pub(crate) struct RunFolder {
    pub(crate) path: PathBuf,
    /// Bytes that indexes and filters may take.
    room: u64,
    /// Bytes that they and the blocks that are kept may take.
    pub(crate) block_room: u64,
    together: usize,
    pub(crate) waits_for_merges: bool,
    free_bytes: fn(&Path) -> Option<u64>,
    pub(crate) observer: KeyObserver,
    state: RwLock<RunsState>,
    /// Nobody wants a merge any more.
    pub(crate) stopped: AtomicBool,
    /// A merge found damage.
    pub(crate) damaged: AtomicBool,
}

/// Which runs count.
#[derive(Default)]
pub(crate) struct RunsState {
    pub(crate) runs: Vec<Arc<Run>>,
    /// What no list needs as soon as the present one is committed.
    pub(crate) replaced: Vec<Arc<Run>>,
    pub(crate) next: u64,
    /// The list was committed as it is.
    pub(crate) committed: bool,
}

impl RunsState {
    /// Adds runs. The longest comes first: most keys that are known are found there, and need no
    /// look into the others.
    pub(crate) fn put(&mut self, runs: impl Iterator<Item = Arc<Run>>) {
        self.runs.extend(runs);
        self.runs.sort_by_key(|run| Reverse(run.listing.keys));
        self.committed = false;
    }

    /// Puts runs in the place of others.
    pub(crate) fn replace(&mut self, parts: &[Arc<Run>], runs: impl Iterator<Item = Arc<Run>>) {
        self.runs.retain(|run| !is_among(parts, run));
        self.replaced.extend(parts.iter().cloned());
        self.put(runs);
    }

    /// Runs of about the same length, if there are enough of them; the shortest first.
    fn to_merge(&self, together: usize) -> Option<Vec<Arc<Run>>> {
        let length = |run: &Arc<Run>| run.listing.keys.max(1).ilog(together as u64);
        let of_length = |wanted: u32| {
            let alike = self.runs.iter().filter(|run| length(run) == wanted);
            alike.cloned().collect::<Vec<_>>()
        };
        let mut lengths: Vec<u32> = self.runs.iter().map(length).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let groups = lengths.into_iter().map(of_length);
        groups.into_iter().find(|group| group.len() >= together)
    }
}

impl RunFolder {
    pub(crate) fn new(path: &Path, options: &KeysOptions, state: RunsState) -> Self {
        Self {
            path: path.into(),
            room: options.indexes,
            block_room: options.indexes + options.blocks,
            together: options.together,
            waits_for_merges: options.waits_for_merges,
            free_bytes: options.free_bytes,
            observer: Arc::clone(&options.observer),
            state: RwLock::new(state),
            stopped: AtomicBool::new(false),
            damaged: AtomicBool::new(false),
        }
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, RunsState> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, RunsState> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn to_merge(&self) -> Option<Vec<Arc<Run>>> {
        self.read().to_merge(self.together)
    }

    /// Merges until nothing is left to merge or a merge does not succeed; the next run that is
    /// made begins another try.
    pub(crate) fn merge_all(&self) {
        while let Some(parts) = self.to_merge() {
            match self.merge(&parts) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    if matches!(error, KeysError::Damaged { .. }) {
                        self.damaged.store(true, Ordering::Relaxed);
                    }
                    return;
                }
            }
        }
    }

    /// Makes one run of several; answers whether it did.
    fn merge(&self, parts: &[Arc<Run>]) -> Result<bool, KeysError> {
        let bytes: u64 = parts.iter().map(|run| run.bytes()).sum();
        // A disk that cannot be asked says so when it is written to.
        if (self.free_bytes)(&self.path).is_some_and(|free| free < bytes + LEFT_FREE) {
            return Ok(false);
        }
        let keys = parts.iter().map(|run| run.listing.keys).sum();
        let merged = self.write_run(keys, parts, |run| self.weave(parts, run))?;
        let Some(merged) = merged else {
            return Ok(false);
        };
        let merged = [Arc::new(merged)].into_iter();
        self.write().replace(parts, merged);
        Ok(true)
    }

    /// Writes the keys of all parts in their order, each once; stops where nobody wants it.
    fn weave(&self, parts: &[Arc<Run>], run: &mut RunWriter) -> Result<Option<()>, KeysError> {
        (self.observer)(KeyStep::Merging);
        let sources = parts.iter().cloned().map(RunKeys::all);
        let mut keys = MergedKeys::new(sources.map(KeySource::Run))?;
        let mut written: u64 = 0;
        while let Some(key) = keys.next()? {
            run.push(key)?;
            written += 1;
            if written.is_multiple_of(BETWEEN_LOOKS) && self.stopped.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }

    /// Writes a run over again without the keys of a range; nothing, if no key is left.
    pub(crate) fn write_without(
        &self,
        part: &Arc<Run>,
        range: &RangeInclusive<Key>,
    ) -> Result<Option<Run>, KeysError> {
        let keys = part.listing.keys;
        self.write_run(keys, std::slice::from_ref(part), |run| {
            let mut left = None;
            let mut keys = RunKeys::all(Arc::clone(part));
            while let Some(key) = keys.next()? {
                if !range.contains(&key) {
                    run.push(key)?;
                    left = Some(());
                }
            }
            Ok(left)
        })
    }

    /// Writes a run, with its name; nothing is left of one that fails or is not wanted. The
    /// filters of `parts` are not needed after it.
    pub(crate) fn write_run(
        &self,
        keys: u64,
        parts: &[Arc<Run>],
        fill: impl FnOnce(&mut RunWriter) -> Result<Option<()>, KeysError>,
    ) -> Result<Option<Run>, KeysError> {
        let (number, filter) = {
            let mut state = self.write();
            state.next += 1;
            (state.next - 1, self.filter_room(&state, parts))
        };
        let begin = RunWriter::begin(&self.path, number, keys, filter);
        let written = begin.map_err(KeysError::Write).and_then(|mut run| {
            let Some(()) = fill(&mut run)? else {
                return Ok(None);
            };
            let run = run.finish()?;
            sync_folder(&self.path)?;
            Ok(Some(run))
        });
        if !matches!(written, Ok(Some(_))) {
            fs::remove_file(run::path(&self.path, number)).ok();
        }
        written
    }

    /// What the filter of a new run may take beside those of all runs but the parts of it.
    fn filter_room(&self, state: &RunsState, parts: &[Arc<Run>]) -> u64 {
        let others = state.runs.iter().filter(|run| !is_among(parts, run));
        let taken: u64 = others.map(|run| run.memory()).sum();
        let (share, of) = FILTER_SHARE;
        self.room.saturating_sub(taken) / of * share
    }
}

fn is_among(parts: &[Arc<Run>], run: &Arc<Run>) -> bool {
    parts.iter().any(|part| Arc::ptr_eq(part, run))
}

/// The names in a folder are only durable once the folder is.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}
