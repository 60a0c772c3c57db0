//! What stands behind the last commit in a log: at most a batch, and never cut in silence.
//!
//! Owns the judgement whether a log may be cut and the cut itself. It refuses to know what a log
//! holds. Invariant: what is cut off is on the disk under `state/tails` before it is cut.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::clock::timestamp;
use crate::durable;
use crate::failpoint::{Point, pass};
use crate::folder::{FolderError, Remedy, TAILS};

/// No batch is longer; a longer tail is not ours to cut.
pub(super) const LONGEST_TAIL: u64 = 256 * 1024 * 1024;

/// A log and what is known about its end.
#[derive(Debug)]
pub(super) struct LogEnd {
    pub(super) path: PathBuf,
    /// Where the store's last commit saw it end.
    pub(super) committed: u64,
}

impl LogEnd {
    /// Bytes behind the last commit. A log that is shorter has lost what no cut brings back.
    pub(super) fn tail(&self) -> Result<u64, FolderError> {
        let length = match fs::metadata(&self.path) {
            Ok(metadata) => metadata.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(source) => return Err(self.at(source)),
        };
        length.checked_sub(self.committed).ok_or_else(|| {
            let what = format!(
                "it has {length} bytes where the last commit saw {}",
                self.committed
            );
            self.damaged(what, Remedy::StartAfresh)
        })
    }

    /// Refuses to cut more than a batch.
    pub(super) fn may_be_cut(&self, tail: u64) -> Result<(), FolderError> {
        if tail > LONGEST_TAIL {
            let what = format!("{tail} bytes follow the last commit, too many to cut");
            return Err(self.damaged(what, Remedy::GoBack));
        }
        Ok(())
    }

    /// Cuts the log back; the tail is kept.
    pub(super) fn cut(&self, tail: u64, state: &Path) -> Result<(), FolderError> {
        self.keep(tail, &state.join(TAILS))
            .and_then(|()| {
                pass(Point::BeforeCut);
                let log = OpenOptions::new().write(true).open(&self.path)?;
                log.set_len(self.committed)?;
                pass(Point::AfterCut);
                log.sync_all()
            })
            .map_err(|source| self.at(source))
    }

    fn keep(&self, tail: u64, tails: &Path) -> io::Result<()> {
        durable::make_folder(tails)?;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let kept = tails.join(format!("{name}.{}", timestamp().replace(':', "-")));
        let mut log = File::open(&self.path)?;
        log.seek(SeekFrom::Start(self.committed))?;
        let mut kept = File::create(kept)?;
        io::copy(&mut log.take(tail), &mut kept)?;
        kept.sync_all()?;
        durable::sync_folder(tails)
    }

    fn at(&self, source: io::Error) -> FolderError {
        FolderError::Io {
            path: self.path.clone(),
            source,
        }
    }

    fn damaged(&self, what: String, remedy: Remedy) -> FolderError {
        FolderError::Damaged {
            path: self.path.clone(),
            what,
            remedy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_a_batch_is_cut() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("log");
        fs::write(&path, [0; 100]).unwrap();
        let check = |committed, expected: Result<u64, Remedy>| {
            let end = LogEnd {
                path: path.clone(),
                committed,
            };
            let judged = end
                .tail()
                .and_then(|tail| end.may_be_cut(tail).map(|()| tail));
            let judged = judged.map_err(|error| match error {
                FolderError::Damaged { remedy, .. } => remedy,
                other => panic!("{other}"),
            });
            assert_eq!(judged, expected, "{committed}");
        };
        check(100, Ok(0));
        check(90, Ok(10));
        check(101, Err(Remedy::StartAfresh));
        let long = File::create(&path).unwrap();
        long.set_len(LONGEST_TAIL + 2).unwrap();
        check(1, Err(Remedy::GoBack));
        check(2, Ok(LONGEST_TAIL));
    }
}
