//! What of a fleet is lost, before anything is merged.
//!
//! Owns the pass over all records that count, and the comparison with what the fleet settled: a URL
//! that reached its end and has no record that counts is lost. It refuses to know the database and
//! what becomes of lost URLs. Invariants: a key is lost once at the most; memory grows with what is
//! lost and with the number of hosts, not with the number of URLs.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use clewline_core::fleet::CutTenure;
use clewline_core::key::{HostId, Key};
use tempfile::TempDir;

use super::counting::MissingWorker;
use super::key_sorter::KeySorter;
use super::log_copy::{each_record, is_page};
use super::worker_folder::{BATCHES_FILE, BatchLine};
use super::{MergeError, MergePlan, Sources};
use crate::record::Record;

/// URLs that reached their end and have no record that counts.
#[derive(Debug, Default)]
pub struct LostUrls {
    /// Their keys.
    pub keys: HashSet<Key>,
    /// Pages of each host that are there.
    pub pages: HashMap<HostId, u64>,
}

/// What the folders of a fleet hold.
#[derive(Debug)]
pub struct MergeSurvey {
    missing: Vec<MissingWorker>,
    cut: Vec<CutTenure>,
    there: KeySorter,
    settled: KeySorter,
    pages: HashMap<HostId, u64>,
    /// The keys lie here.
    scratch: TempDir,
}

impl MergeSurvey {
    /// Reads all records that the plan names.
    pub fn new(plan: &MergePlan) -> Result<Self, MergeError> {
        let mut sources = Sources::open(plan)?;
        let scratch = tempfile::tempdir().map_err(|error| MergeError::io(Path::new("."), error))?;
        let mut there = KeySorter::new(scratch.path());
        let mut pages: HashMap<HostId, u64> = HashMap::new();
        let mut reached: HashMap<u64, u64> = HashMap::new();
        for worker in &sources.workers {
            let name = worker.file.worker;
            let counting = &mut sources.counting;
            each_record(worker, |batch, key, line| {
                let Some(tenure) = counting.tenure(name, batch, key) else {
                    return Ok(());
                };
                if is_page(&serde_json::from_slice::<Record>(line)?) {
                    counting.found_page(tenure);
                    *pages.entry(key.host()).or_default() += 1;
                }
                there.add(key, name)
            })?;
            let last = BatchLine::last_in(&worker.path.join(BATCHES_FILE));
            let last = last.map_err(|error| MergeError::io(&worker.path, error))?;
            reached.insert(name, last.batch);
        }
        let mut missing = sources.absent();
        let absent: HashSet<u64> = missing.iter().map(|it| it.worker).collect();
        let short = sources.counting.short().into_iter();
        missing.extend(short.filter(|it| !absent.contains(&it.worker)));
        Ok(Self {
            missing,
            cut: sources.counting.cut(&reached),
            there,
            settled: KeySorter::new(scratch.path()),
            pages,
            scratch,
        })
    }

    /// Workers whose pages are not all there.
    pub fn missing(&self) -> &[MissingWorker] {
        &self.missing
    }

    /// Tenures of which something is lost.
    pub fn cut(&self) -> &[CutTenure] {
        &self.cut
    }

    /// Adds keys that reached their end, in any order; some of them may come twice.
    pub fn settled(&mut self, keys: impl IntoIterator<Item = Key>) -> Result<(), MergeError> {
        for key in keys {
            let added = self.settled.add(key, 0);
            added.map_err(|error| MergeError::io(self.scratch.path(), error))?;
        }
        Ok(())
    }

    /// Those that have no record that counts.
    pub fn lost(self) -> Result<LostUrls, MergeError> {
        let place = self.scratch.path().to_owned();
        let at = |error| MergeError::io(&place, error);
        let mut there = self.there.sorted().map_err(at)?;
        let mut settled = self.settled.sorted().map_err(at)?;
        let mut keys = HashSet::new();
        let mut covering = there.next_key().map_err(at)?;
        while let Some((key, _)) = settled.next_key().map_err(at)? {
            while covering.is_some_and(|(covered, _)| covered < key) {
                covering = there.next_key().map_err(at)?;
            }
            if covering.is_none_or(|(covered, _)| covered != key) {
                keys.insert(key);
            }
        }
        Ok(LostUrls {
            keys,
            pages: self.pages,
        })
    }
}
