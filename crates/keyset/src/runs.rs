//! The runs that count.
//!
//! Owns which runs there are: new ones are made of very many keys at once, and a thread merges
//! those of about the same length. Which runs count is a row of the database, so it changes with
//! a commit or not at all; files that it does not name are left from a crash, and removed.
//! Invariant: a run is removed only after the commit that does without it.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use clewline_core::frontier::KeySet;
use clewline_core::key::Key;

use crate::error::KeysError;
use crate::hot::mark;
use crate::kept::KeptBlocks;
use crate::options::{KeyStep, KeysOptions};
use crate::run::{self, AskedKeys, Run, RunListing};
use crate::run_folder::{RunFolder, RunsState};
use crate::sorted::RunKeys;

/// All runs of a set of keys.
pub(crate) struct Runs {
    folder: Arc<RunFolder>,
    merging: Mutex<Option<JoinHandle<()>>>,
}

/// Which runs count, as a commit names them.
pub(crate) struct RunList(Vec<RunListing>);

impl RunList {
    /// The row that a commit writes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.0
            .iter()
            .flat_map(|listing| listing.to_bytes())
            .collect()
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, KeysError> {
        let (listings, rest) = bytes.as_chunks();
        if rest.is_empty() {
            Ok(Self(listings.iter().map(RunListing::from_bytes).collect()))
        } else {
            Err(KeysError::damaged("the list of the runs of keys"))
        }
    }
}

impl Runs {
    /// Opens the runs that the last commit named, and removes what it did not.
    pub(crate) fn open(
        folder: &Path,
        list: &[u8],
        options: &KeysOptions,
    ) -> Result<Self, KeysError> {
        let list = RunList::from_bytes(list)?;
        let mut runs = Vec::new();
        for listing in &list.0 {
            let run = Run::open(folder, *listing);
            let file = run::path(folder, listing.number);
            runs.push(Arc::new(
                run.map_err(|error| KeysError::from_read(&file, error))?,
            ));
        }
        let failed = |error| KeysError::from_read(folder, error);
        remove_unlisted(folder, &list).map_err(failed)?;
        let highest = list.0.iter().map(|listing| listing.number).max();
        let state = RunsState {
            runs,
            replaced: Vec::new(),
            next: highest.map_or(1, |number| number + 1),
            committed: true,
        };
        Ok(Self {
            folder: Arc::new(RunFolder::new(folder, options, state)),
            merging: Mutex::new(None),
        })
    }

    /// Says of each key whether it is in a run. They must come in their order.
    pub(crate) fn look_up(
        &self,
        keys: &[Key],
        kept: &mut KeptBlocks,
        mut each: impl FnMut(Key, bool),
    ) -> Result<(), KeysError> {
        let state = self.folder.read();
        if !state.runs.is_empty() {
            let taken: u64 = state.runs.iter().map(|run| run.memory()).sum();
            kept.fit(self.folder.block_room.saturating_sub(taken));
        }
        let marks: Vec<u64> = keys.iter().map(|key| mark(*key)).collect();
        let marks = &marks;
        let asked = AskedKeys { keys, marks };
        let mut known = vec![false; keys.len()];
        for run in &state.runs {
            run.mark_known(asked, &mut known, kept)
                .map_err(|error| KeysError::from_read(&run.path, error))?;
        }
        for (key, known) in keys.iter().zip(known) {
            each(*key, known);
        }
        Ok(())
    }

    /// Reads every run to its end; damage is named by its file.
    pub(crate) fn check(&self) -> Result<(), KeysError> {
        for run in self.all() {
            let mut keys = RunKeys::all(run);
            while keys.next()?.is_some() {}
        }
        Ok(())
    }

    /// The runs as they are now.
    pub(crate) fn all(&self) -> Vec<Arc<Run>> {
        self.folder.read().runs.clone()
    }

    /// Makes a run of keys that are durable elsewhere until a commit names it.
    pub(crate) fn add(&self, keys: &KeySet<Key>) -> Result<(), KeysError> {
        let mut sorted: Vec<Key> = keys.iter().copied().collect();
        sorted.sort_unstable();
        let count = sorted.len() as u64;
        self.add_sorted(sorted.into_iter().map(Ok), count)?;
        Ok(())
    }

    /// Makes a run of about so many keys, which must be sorted; answers how many there were.
    pub(crate) fn add_sorted(
        &self,
        keys: impl Iterator<Item = Result<Key, KeysError>>,
        about: u64,
    ) -> Result<u64, KeysError> {
        if self.folder.damaged.load(Ordering::Relaxed) {
            return Err(KeysError::damaged_run(&self.folder.path));
        }
        if self.folder.waits_for_merges {
            self.rest();
        }
        let written = self.folder.write_run(about, &[], |run| {
            let mut last = None;
            for key in keys {
                let key = key?;
                if last.is_some_and(|last| key <= last) {
                    return Err(KeysError::Unsorted);
                }
                last = Some(key);
                run.push(key)?;
            }
            Ok(last.map(|_| ()))
        })?;
        let count = written.as_ref().map_or(0, |run| run.listing.keys);
        if let Some(run) = written {
            (self.folder.observer)(KeyStep::RunWritten);
            self.folder.write().put([Arc::new(run)].into_iter());
            self.merge();
        }
        Ok(count)
    }

    /// Writes the runs that hold keys of a range over again without these keys. All of them take
    /// the place of the old ones, or none does. No commit may be under way.
    pub(crate) fn forget(&self, range: &RangeInclusive<Key>) -> Result<(), KeysError> {
        // A merge would bring the keys back.
        self.rest();
        let mut parts = Vec::new();
        for run in self.all() {
            let first = RunKeys::starting_at(Arc::clone(&run), *range.start())?.next()?;
            parts.extend(first.filter(|key| key <= range.end()).map(|_| run));
        }
        let mut written: Vec<Arc<Run>> = Vec::new();
        for part in &parts {
            match self.folder.write_without(part, range) {
                Ok(run) => written.extend(run.map(Arc::new)),
                Err(error) => {
                    for run in written {
                        run.remove().ok();
                    }
                    return Err(error);
                }
            }
            (self.folder.observer)(KeyStep::Forgetting);
        }
        if !parts.is_empty() {
            self.folder.write().replace(&parts, written.into_iter());
        }
        Ok(())
    }

    /// Which runs count now, unless the last commit says so already.
    pub(crate) fn to_commit(&self) -> Option<RunList> {
        let state = self.folder.read();
        let listings = state.runs.iter().map(|run| run.listing);
        (!state.committed).then(|| RunList(listings.collect()))
    }

    /// A list was committed: what it does without is removed.
    pub(crate) fn committed(&self, list: &RunList) {
        let listed: HashSet<u64> = list.0.iter().map(|listing| listing.number).collect();
        let gone: Vec<Arc<Run>> = {
            let mut state = self.folder.write();
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
            (self.folder.observer)(KeyStep::Replaced);
        }
        for run in gone {
            // One that stays is removed on the next start.
            run.remove().ok();
        }
    }

    /// Bytes on disk.
    pub(crate) fn bytes(&self) -> u64 {
        let state = self.folder.read();
        let runs = state.runs.iter().chain(&state.replaced);
        runs.map(|run| run.bytes()).sum()
    }

    /// Starts a merge, if there is something to merge and none is under way.
    fn merge(&self) {
        let mut merging = self.merging();
        let is_busy = merging.as_ref().is_some_and(|thread| !thread.is_finished());
        if is_busy || self.folder.to_merge().is_none() {
            return;
        }
        let shared = Arc::clone(&self.folder);
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
        self.folder.stopped.store(true, Ordering::Relaxed);
        self.rest();
    }
}

/// Removes runs that no commit names.
fn remove_unlisted(folder: &Path, list: &RunList) -> io::Result<()> {
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

#[cfg(test)]
#[path = "runs_tests.rs"]
mod tests;
