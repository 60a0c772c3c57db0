//! The keys that are known, in sorted runs.
//!
//! Owns the files of runs: new ones are made of very many keys at once, and runs of about the
//! same length are merged on a thread of their own, so that there are few to look into and a
//! key is written over again a few times at the most. Which runs count is a row of the store, so
//! it changes with a commit or not at all; files that it does not name are left from a crash, and
//! removed. Invariant: a run is removed only after the commit that does without it.

mod block;
mod filter;
mod index;
mod kept;
mod run;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::{self, JoinHandle};

use clewline_core::frontier::KeySet;
use clewline_core::key::Key;

use super::database::{StoreError, is_damage};
use super::hot::mark;
use crate::disk::free_bytes;
use crate::durable;
use crate::failpoint::{Point, pass, small_tables};
use crate::memory::MemoryPlan;
pub(super) use kept::KeptBlocks;
use run::{Asked, Keys, Listing, Run, RunWriter};

/// So many runs of about the same length become one, about so many times as long; fewer where a
/// test wants many merges.
const TOGETHER: usize = 4;
const TOGETHER_IF_SMALL: usize = 2;
/// Keys between two looks at whether a merge is still wanted.
const BETWEEN_LOOKS: u64 = 1 << 16;
/// Of the room that is left for filters, a new one takes at most three quarters: shorter runs
/// come after it.
const FILTER_SHARE: (u64, u64) = (3, 4);
const DAMAGE: &str = "a run of keys is not what was written";
/// Bytes that a merge leaves free on the disk.
const LEFT_FREE: u64 = 256 * 1024 * 1024;

/// All runs of a store.
pub(super) struct Runs {
    shelf: Arc<Shelf>,
    merging: Mutex<Option<JoinHandle<()>>>,
}

/// What the thread that merges shares with the others.
struct Shelf {
    folder: PathBuf,
    /// Bytes that indexes and filters may take.
    room: u64,
    /// Bytes that they and the blocks that are kept may take.
    block_room: u64,
    state: RwLock<State>,
    /// Nobody wants a merge any more.
    stopped: AtomicBool,
    /// A merge found damage.
    damaged: AtomicBool,
}

#[derive(Default)]
struct State {
    runs: Vec<Arc<Run>>,
    /// What no list needs as soon as the present one is committed.
    replaced: Vec<Arc<Run>>,
    next: u64,
    /// The list was committed as it is.
    committed: bool,
}

/// Which runs count, as a commit names them.
pub(super) struct List(Vec<Listing>);

impl List {
    /// The row that a commit writes.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        self.0
            .iter()
            .flat_map(|listing| listing.to_bytes())
            .collect()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, StoreError> {
        let (listings, rest) = bytes.as_chunks();
        if rest.is_empty() {
            Ok(Self(listings.iter().map(Listing::from_bytes).collect()))
        } else {
            Err(StoreError::damaged("the list of the runs of keys"))
        }
    }
}

impl Runs {
    /// Opens the runs that the last commit named, and removes what it did not.
    pub(super) fn open(
        folder: &Path,
        list: Option<&[u8]>,
        plan: MemoryPlan,
    ) -> Result<Self, StoreError> {
        let list = List::from_bytes(list.unwrap_or_default())?;
        let failed = |error| failed_to_read(folder, error);
        durable::make_folder(folder).map_err(failed)?;
        let mut runs = Vec::new();
        for listing in &list.0 {
            let run = Run::open(folder, *listing);
            let file = run::path(folder, listing.number);
            runs.push(Arc::new(run.map_err(|error| failed_to_read(&file, error))?));
        }
        remove_unlisted(folder, &list).map_err(failed)?;
        let highest = list.0.iter().map(|listing| listing.number).max();
        let state = State {
            runs,
            replaced: Vec::new(),
            next: highest.map_or(1, |number| number + 1),
            committed: true,
        };
        Ok(Self {
            shelf: Arc::new(Shelf {
                folder: folder.into(),
                room: plan.key_runs(),
                block_room: plan.key_runs() + plan.key_blocks(),
                state: RwLock::new(state),
                stopped: AtomicBool::new(false),
                damaged: AtomicBool::new(false),
            }),
            merging: Mutex::new(None),
        })
    }

    /// Says of each key whether it is in a run. They must come in their order.
    pub(super) fn look_up(
        &self,
        keys: &[Key],
        kept: &mut KeptBlocks,
        mut each: impl FnMut(Key, bool),
    ) -> Result<(), StoreError> {
        let state = self.shelf.read();
        if !state.runs.is_empty() {
            let taken: u64 = state.runs.iter().map(|run| run.memory()).sum();
            kept.fit(self.shelf.block_room.saturating_sub(taken));
        }
        let marks: Vec<u64> = keys.iter().map(|key| mark(*key)).collect();
        let marks = &marks;
        let asked = Asked { keys, marks };
        let mut known = vec![false; keys.len()];
        for run in &state.runs {
            run.mark_known(asked, &mut known, kept)
                .map_err(|error| failed_to_read(&run.path, error))?;
        }
        for (key, known) in keys.iter().zip(known) {
            each(*key, known);
        }
        Ok(())
    }

    /// Reads every run to its end; damage is named by its file.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        for run in &self.shelf.read().runs {
            let mut keys = run.keys();
            while keys
                .next()
                .map_err(|error| failed_to_read(&run.path, error))?
                .is_some()
            {}
        }
        Ok(())
    }

    /// Makes a run of keys that are durable elsewhere until a commit names it.
    pub(super) fn add(&self, keys: &KeySet<Key>) -> Result<(), StoreError> {
        if self.shelf.damaged.load(Ordering::Relaxed) {
            return Err(StoreError::damaged(DAMAGE).within(&self.shelf.folder));
        }
        if small_tables().is_some() {
            self.rest();
        }
        let mut sorted: Vec<Key> = keys.iter().copied().collect();
        sorted.sort_unstable();
        let written = self.shelf.write_run(sorted.len() as u64, &[], |run| {
            sorted.iter().try_for_each(|key| run.push(*key)).map(Some)
        });
        let failed = |error: io::Error| StoreError::Write(Box::new(error.into()));
        let run = written.map_err(failed)?;
        pass(Point::RunWritten);
        self.shelf.write().put(run.into_iter().map(Arc::new));
        self.merge();
        Ok(())
    }

    /// Which runs count now, unless the last commit says so already.
    pub(super) fn to_commit(&self) -> Option<List> {
        let state = self.shelf.read();
        let listings = state.runs.iter().map(|run| run.listing);
        (!state.committed).then(|| List(listings.collect()))
    }

    /// A list was committed: what it does without is removed.
    pub(super) fn committed(&self, list: &List) {
        let listed: HashSet<u64> = list.0.iter().map(|listing| listing.number).collect();
        let gone: Vec<Arc<Run>> = {
            let mut state = self.shelf.write();
            let now = state.runs.iter().map(|run| run.listing.number);
            state.committed = now.eq(list.0.iter().map(|listing| listing.number));
            let replaced = state.replaced.iter();
            let gone = replaced.filter(|run| !listed.contains(&run.listing.number));
            let gone: Vec<_> = gone.cloned().collect();
            state
                .replaced
                .retain(|run| listed.contains(&run.listing.number));
            gone
        };
        if !gone.is_empty() {
            pass(Point::RunsReplaced);
        }
        for run in gone {
            // One that stays is removed on the next start.
            run.remove().ok();
        }
    }

    /// Bytes on disk.
    pub(super) fn bytes(&self) -> u64 {
        let state = self.shelf.read();
        let runs = state.runs.iter().chain(&state.replaced);
        runs.map(|run| run.bytes()).sum()
    }

    /// Starts a merge, if there is something to merge and none is under way.
    fn merge(&self) {
        let mut merging = self.merging();
        let is_busy = merging.as_ref().is_some_and(|thread| !thread.is_finished());
        if is_busy || self.shelf.read().to_merge().is_none() {
            return;
        }
        let shared = Arc::clone(&self.shelf);
        let thread = thread::Builder::new().name("clewline-keys".into());
        // Without a thread the runs stay apart until the next one is made.
        *merging = thread.spawn(move || shared.merge_all()).ok();
    }

    fn merging(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.merging.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until nothing is left to merge, or for the end of a merge that was stopped.
    fn rest(&self) {
        let thread = self.merging().take();
        thread.map_or(Ok(()), JoinHandle::join).ok();
    }
}

impl Drop for Runs {
    fn drop(&mut self) {
        self.shelf.stopped.store(true, Ordering::Relaxed);
        self.rest();
    }
}

impl State {
    /// Puts runs on the shelf. The longest comes first: most keys that are known are found there,
    /// and need no look into the others.
    fn put(&mut self, runs: impl Iterator<Item = Arc<Run>>) {
        self.runs.extend(runs);
        self.runs.sort_by_key(|run| Reverse(run.listing.keys));
        self.committed = false;
    }

    /// Runs of about the same length, if there are enough of them; the shortest first.
    fn to_merge(&self) -> Option<Vec<Arc<Run>>> {
        let together = small_tables().map_or(TOGETHER, |_| TOGETHER_IF_SMALL);
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

impl Shelf {
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Merges until nothing is left to merge or a merge does not succeed; the next run that is
    /// made begins another try.
    fn merge_all(&self) {
        loop {
            let Some(parts) = self.read().to_merge() else {
                return;
            };
            match self.merge(&parts) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    if is_damage(error.kind()) {
                        self.damaged.store(true, Ordering::Relaxed);
                    }
                    return;
                }
            }
        }
    }

    /// Makes one run of several; answers whether it did.
    fn merge(&self, parts: &[Arc<Run>]) -> io::Result<bool> {
        let bytes: u64 = parts.iter().map(|run| run.bytes()).sum();
        // A disk that cannot be asked says so when it is written to.
        if free_bytes(&self.folder).is_some_and(|free| free < bytes + LEFT_FREE) {
            return Ok(false);
        }
        let keys = parts.iter().map(|run| run.listing.keys).sum();
        let merged = self.write_run(keys, parts, |run| self.weave(parts, run))?;
        let Some(merged) = merged else {
            return Ok(false);
        };
        let mut state = self.write();
        state
            .runs
            .retain(|run| !parts.iter().any(|part| Arc::ptr_eq(part, run)));
        state.replaced.extend(parts.iter().cloned());
        state.put([Arc::new(merged)].into_iter());
        Ok(true)
    }

    /// Writes the keys of all parts in their order, each once; stops where nobody wants it.
    fn weave(&self, parts: &[Arc<Run>], run: &mut RunWriter) -> io::Result<Option<()>> {
        pass(Point::RunsMerging);
        let mut heads = Vec::with_capacity(parts.len());
        for part in parts {
            let mut keys = part.keys();
            let first = keys.next()?;
            heads.extend(first.map(|first| (first, keys)));
        }
        let mut written: u64 = 0;
        while let Some(least) = heads.iter().map(|(key, _)| *key).min() {
            run.push(least)?;
            step(&mut heads, least)?;
            written += 1;
            if written.is_multiple_of(BETWEEN_LOOKS) && self.stopped.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }

    /// Writes a run, with its name; nothing is left of one that fails or is not wanted. The
    /// filters of `parts` are not needed after it.
    fn write_run(
        &self,
        keys: u64,
        parts: &[Arc<Run>],
        fill: impl FnOnce(&mut RunWriter) -> io::Result<Option<()>>,
    ) -> io::Result<Option<Run>> {
        let (number, filter) = {
            let mut state = self.write();
            state.next += 1;
            (state.next - 1, self.filter_room(&state, parts))
        };
        let written = RunWriter::begin(&self.folder, number, keys, filter).and_then(|mut run| {
            let Some(()) = fill(&mut run)? else {
                return Ok(None);
            };
            let run = run.finish()?;
            durable::sync_folder(&self.folder)?;
            Ok(Some(run))
        });
        if !matches!(written, Ok(Some(_))) {
            fs::remove_file(run::path(&self.folder, number)).ok();
        }
        written
    }

    /// What the filter of a new run may take beside those of all runs but the parts of it.
    fn filter_room(&self, state: &State, parts: &[Arc<Run>]) -> u64 {
        let others = state
            .runs
            .iter()
            .filter(|run| !parts.iter().any(|part| Arc::ptr_eq(part, run)));
        let taken: u64 = others.map(|run| run.memory()).sum();
        let (share, of) = FILTER_SHARE;
        self.room.saturating_sub(taken) / of * share
    }
}

/// Takes a key from the head of whoever has it.
fn step(heads: &mut Vec<(Key, Keys<'_>)>, least: Key) -> io::Result<()> {
    let mut at = 0;
    while let Some((key, rest)) = heads.get_mut(at) {
        if *key == least {
            let Some(next) = rest.next()? else {
                heads.swap_remove(at);
                continue;
            };
            *key = next;
        }
        at += 1;
    }
    Ok(())
}

/// Removes runs that no commit names.
fn remove_unlisted(folder: &Path, list: &List) -> io::Result<()> {
    let listed: HashSet<PathBuf> = list
        .0
        .iter()
        .map(|listing| run::path(folder, listing.number))
        .collect();
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        let is_run = path.extension().is_some_and(|ending| ending == run::ENDING);
        if is_run && !listed.contains(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn failed_to_read(path: &Path, error: io::Error) -> StoreError {
    if is_damage(error.kind()) {
        return StoreError::damaged(DAMAGE).within(path);
    }
    if error.kind() == io::ErrorKind::Unsupported {
        return StoreError::Earlier(path.into());
    }
    StoreError::Read {
        path: path.into(),
        source: Box::new(error.into()),
    }
}
