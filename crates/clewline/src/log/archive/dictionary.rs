//! The dictionary of an archive in zstd.
//!
//! Owns when it is learnt and how a later run finds it again. The first files of a job have
//! none; after about a thousand records the file in progress is closed, its records are read
//! back, and every later file begins with the dictionary that was made from them. Refuses to
//! know how files are written. Invariant: nothing but the files themselves is needed to go on,
//! because each of them holds its dictionary.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use clewline_job::archive::WarcName;
use clewline_warc::{Dictionary, WarcCompression, samples};

use super::ArchivePlan;
use super::files::list;

/// Records that a dictionary is made from.
pub(super) const RECORDS: usize = 1000;
/// The largest dictionary: what zstd's own tools make unasked.
const LARGEST: u64 = 110 * 1024;
/// A smaller one is not worth its place.
const SMALLEST: u64 = 4 * 1024;
/// A dictionary takes at most this part of the file that it stands in.
const OF_FILE: u64 = 32;

/// Waits until there is enough to learn from.
#[derive(Debug)]
pub(super) struct DictionaryTrainer {
    folder: PathBuf,
    /// The largest dictionary that is made.
    size: usize,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// There are so many records without a dictionary.
    Waiting(usize),
    /// There is a dictionary, or there will be none.
    Over,
}

impl DictionaryTrainer {
    /// Looks at what earlier runs left: a dictionary, or records to learn from.
    pub(super) fn open(
        folder: &Path,
        plan: &ArchivePlan,
    ) -> io::Result<(Self, Option<Dictionary>)> {
        let size = LARGEST.min(plan.file_size / OF_FILE);
        let mut learner = Self {
            folder: folder.to_owned(),
            size: size as usize,
            stage: Stage::Over,
        };
        if plan.coding != WarcCompression::Zstd || size < SMALLEST {
            return Ok((learner, None));
        }
        let found = newest(folder)?;
        if found.is_none() {
            learner.stage = Stage::Waiting(gather(folder)?.len());
        }
        Ok((learner, found))
    }

    /// So many records were written.
    pub(super) fn count(&mut self, more: usize) {
        if let Stage::Waiting(records) = &mut self.stage {
            *records += more;
        }
    }

    /// Whether the file in progress shall be closed to learn from it.
    pub(super) fn is_due(&self) -> bool {
        matches!(self.stage, Stage::Waiting(RECORDS..))
    }

    /// Learns from the files so far, of which everything must be on the disk. Records that have
    /// too little in common give no dictionary, and the archive goes on without.
    pub(super) fn learn(&mut self) -> io::Result<Option<Dictionary>> {
        self.stage = Stage::Over;
        Ok(Dictionary::train(&gather(&self.folder)?, self.size).ok())
    }
}

/// The files in zstd, the last one first.
fn in_zstd(folder: &Path) -> io::Result<impl Iterator<Item = WarcName>> {
    let is_zstd = |file: &WarcName| file.name.ends_with(WarcCompression::Zstd.suffix());
    Ok(list(folder)?.into_iter().rev().filter(is_zstd))
}

/// The dictionary of the last file that has one. A file that cannot be read is passed over:
/// whether one is damaged is not asked here.
fn newest(folder: &Path) -> io::Result<Option<Dictionary>> {
    let of_file = |file: WarcName| {
        let input = File::open(file.path(folder)).ok()?;
        Dictionary::from_file(input).ok().flatten()
    };
    Ok(in_zstd(folder)?.find_map(of_file))
}

/// Records of files without a dictionary.
fn gather(folder: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    for file in in_zstd(folder)? {
        if found.len() >= RECORDS {
            break;
        }
        if let Ok(input) = File::open(file.path(folder)) {
            found.extend(samples(BufReader::new(input), RECORDS - found.len()));
        }
    }
    Ok(found)
}
