//! The files of an archive, and how far each is committed.
//!
//! Owns their order and their ends. A file in progress ends with `.open`; without a witnessed
//! commit nothing of it counts.

use std::fs;
use std::path::{Path, PathBuf};

use clewline::log::archive::{FOLDER, NAME, Position};
use clewline::{JobStanding, StoredJob};

use crate::error::SearchError;
use crate::rank::Growth;

/// What the name of the file in progress ends with.
const OPEN: &str = ".open";

/// A job's archive, as far as it is committed.
#[derive(Debug)]
pub(crate) struct Archive {
    /// By serial number.
    pub(crate) files: Vec<ArchiveFile>,
    /// Whether more may come.
    pub(crate) growth: Growth,
}

/// A file of the archive.
#[derive(Debug)]
pub(crate) struct ArchiveFile {
    pub(crate) path: PathBuf,
    /// Its name when it is closed.
    pub(crate) name: String,
    pub(crate) serial: u64,
    /// Bytes that are committed.
    pub(crate) end: u64,
}

impl Archive {
    /// Looks which files there are, and how much of them counts.
    pub(super) fn open(job: &Path) -> Result<Self, SearchError> {
        let stored = StoredJob::read(job)?;
        let folder = job.join(FOLDER);
        let committed = stored.committed(NAME)?.map(Position::of);
        let failed = |source| SearchError::Io {
            path: folder.clone(),
            source,
        };
        if !folder.is_dir() {
            return Err(SearchError::NoArchive(job.to_owned()));
        }
        let mut files = Vec::new();
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let length = fs::metadata(&path).map_err(failed)?.len();
            let Some(mut file) = ArchiveFile::of(path, length) else {
                continue;
            };
            file.cut(committed, stored.standing);
            if file.end > 0 {
                files.push(file);
            }
        }
        files.sort_unstable_by_key(|file| file.serial);
        let growth = match stored.standing {
            JobStanding::Finished => Growth::Over,
            _ => Growth::GoesOn,
        };
        Ok(Self { files, growth })
    }

    /// Where the archive ends.
    pub(crate) fn end(&self) -> Position {
        self.files
            .last()
            .map_or(Position::default(), |file| Position {
                serial: file.serial,
                offset: file.end,
            })
    }

    /// Whether a view that stands there still belongs to this archive.
    pub(crate) fn holds(&self, name: &str, at: Position) -> bool {
        at.serial == 0
            || self
                .files
                .iter()
                .any(|file| file.serial == at.serial && file.name == name && at.offset <= file.end)
    }
}

impl ArchiveFile {
    /// A file of the name `NAME-TIME-SERIAL.warc.gz`, with or without `.open`.
    fn of(path: PathBuf, length: u64) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let name = name.strip_suffix(OPEN).unwrap_or(name).to_owned();
        let (stem, _) = name.split_once(".warc")?;
        let serial = stem.rsplit('-').next()?.parse().ok()?;
        Some(Self {
            path,
            name,
            serial,
            end: length,
        })
    }

    /// A closed file of a finished crawl is whole; otherwise the commit says what counts.
    fn cut(&mut self, committed: Option<Position>, standing: JobStanding) {
        let is_open = self.path.extension().is_some_and(|end| end == "open");
        if !is_open && standing == JobStanding::Finished {
            return;
        }
        self.end = match committed {
            Some(at) if self.serial < at.serial => self.end,
            Some(at) if self.serial == at.serial => self.end.min(at.offset),
            Some(_) => 0,
            None if is_open => 0,
            None => self.end,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_committed_counts() {
        let at = |serial, offset| Some(Position { serial, offset });
        let (done, open) = ("a-1-00002.warc.gz", "a-1-00002.warc.gz.open");
        for (name, committed, standing, end) in [
            (done, at(2, 70), JobStanding::Unfinished, 70),
            (done, at(3, 70), JobStanding::Unfinished, 100),
            (done, at(1, 70), JobStanding::Unfinished, 0),
            (done, at(2, 70), JobStanding::Finished, 100),
            (open, at(2, 70), JobStanding::Unfinished, 70),
            (open, None, JobStanding::Unfinished, 0),
            (done, None, JobStanding::Unfinished, 100),
        ] {
            let mut file = ArchiveFile::of(PathBuf::from(name), 100).unwrap();
            assert_eq!((file.serial, file.name.as_str()), (2, done));
            file.cut(committed, standing);
            assert_eq!(file.end, end, "{name} {committed:?}");
        }
        assert!(ArchiveFile::of(PathBuf::from("index.cdxj"), 1).is_none());
    }
}
