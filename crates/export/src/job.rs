//! A job folder, as far as it may be read.
//!
//! Owns which files there are, how much of them is committed, and which earlier archives hold
//! bodies that this one refers to. It changes nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clewline::log::urls::{self, Records, records_from};
use clewline::log::{LinksReader, Offset, links};
use clewline::record::Record;
use clewline::{JobError, JobStanding, StoredJob};
use clewline_archive::Archive;

use crate::error::ExportError;

/// Earlier crawls whose archives are opened beside this one's.
const MOST_EARLIER: usize = 16;

/// A job folder to read from.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) path: PathBuf,
    /// How much of `urls.jsonl` counts.
    pub(crate) urls_end: Offset,
    /// How much of the link log counts; 0 if there is none.
    pub(crate) links_end: Offset,
    /// This folder, and those of earlier crawls that it refers to.
    archives: Vec<PathBuf>,
}

impl Job {
    /// Looks what there is. A folder that has records and no `job.toml` was made of WARC files.
    pub(crate) fn open(path: &Path) -> Result<Self, ExportError> {
        let stored = match StoredJob::read(path) {
            Ok(stored) => Some(stored),
            Err(JobError::NoJob(_)) if path.join(urls::FILE).is_file() => None,
            Err(error) => return Err(error.into()),
        };
        let length = |file: &str| fs::metadata(path.join(file)).map(|facts| facts.len());
        let urls_length =
            length(urls::FILE).map_err(|_| ExportError::NoRecords(path.to_owned()))?;
        let links_length = length(links::FILE).unwrap_or(0);
        let mut job = Self {
            path: path.to_owned(),
            urls_end: Offset(urls_length),
            links_end: Offset(links_length),
            archives: vec![path.to_owned()],
        };
        let Some(stored) = stored else {
            return Ok(job);
        };
        if stored.standing != JobStanding::Finished {
            for (end, log) in [
                (&mut job.urls_end, urls::NAME),
                (&mut job.links_end, links::NAME),
            ] {
                let committed = stored.committed(log)?;
                *end = committed.map_or(*end, |committed| committed.min(*end));
            }
        }
        job.add_earlier(stored);
        Ok(job)
    }

    /// Adds the folders that revisits may refer to, and those that these refer to.
    fn add_earlier(&mut self, stored: StoredJob) {
        let mut known = vec![stored];
        while let Some(stored) = known.pop() {
            let archive = stored.config.output.archive;
            for folder in archive.update_from.into_iter().chain(archive.dedup_from) {
                let is_new = !self.archives.contains(&folder);
                if !is_new || self.archives.len() > MOST_EARLIER || !folder.is_dir() {
                    continue;
                }
                known.extend(StoredJob::read(&folder).ok());
                self.archives.push(folder);
            }
        }
    }

    /// The file of records.
    pub(crate) fn urls_path(&self) -> PathBuf {
        self.path.join(urls::FILE)
    }

    /// Committed records.
    pub(crate) fn records(&self) -> Result<CommittedRecords, ExportError> {
        let path = self.urls_path();
        let records = records_from(&path, Offset(0)).map_err(ExportError::input(&path))?;
        Ok(CommittedRecords {
            records: records.until(self.urls_end),
            path,
        })
    }

    /// Committed links; nothing if there is no log of them.
    pub(crate) fn links(&self) -> Result<Option<LinksReader>, ExportError> {
        if self.links_end == Offset(0) {
            return Ok(None);
        }
        let reader = LinksReader::open(&self.path);
        let reader = reader.map_err(ExportError::input(&self.path.join(links::FILE)))?;
        Ok(Some(reader.until(self.links_end.0)))
    }

    /// The archive, with those of earlier crawls that it refers to.
    pub(crate) fn archive(&self) -> Result<Archive, ExportError> {
        let earlier = self.archives[1..].iter();
        let earlier = earlier.filter(|path| path.join("archive").is_dir());
        let paths: Vec<PathBuf> = std::iter::once(&self.archives[0])
            .chain(earlier)
            .cloned()
            .collect();
        Ok(Archive::open(&paths)?)
    }
}

/// Records up to the commit, each with the place where its line begins.
#[derive(Debug)]
pub(crate) struct CommittedRecords {
    records: Records,
    path: PathBuf,
}

impl CommittedRecords {
    /// Where the next line begins.
    pub(crate) fn offset(&self) -> Offset {
        self.records.offset()
    }
}

impl Iterator for CommittedRecords {
    type Item = Result<(Offset, Record), ExportError>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.records.offset();
        match self.records.next()? {
            Ok(record) => Some(Ok((at, record))),
            // A crash may leave a torn line, which nobody committed.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(error) => Some(Err(ExportError::input(&self.path)(error))),
        }
    }
}
