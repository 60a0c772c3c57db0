//! A job folder, as far as it may be read.
//!
//! Owns which logs there are, how much of them is committed, and which earlier archives hold
//! bodies that this one refers to. It changes nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clewline_core::key::Keyer;

use super::PagesError;
use crate::log::urls::{self, Records, records_from};
use crate::log::{LinksReader, Offset, links};
use crate::record::Record;
use crate::{JobFile, JobFileError, JobStanding};

/// A job folder to read from.
#[derive(Debug)]
pub struct Job {
    path: PathBuf,
    urls_end: Offset,
    links_end: Offset,
    keyer: Option<Keyer>,
    earlier: Vec<PathBuf>,
}

impl Job {
    /// Looks what there is. A folder that has records and no `job.toml` was made of WARC files.
    pub fn open(path: &Path) -> Result<Self, PagesError> {
        let stored = match JobFile::read(path) {
            Ok(stored) => Some(stored),
            Err(JobFileError::NoJob(_)) if path.join(urls::FILE).is_file() => None,
            Err(error) => return Err(error.into()),
        };
        let length = |file: &str| fs::metadata(path.join(file)).map(|facts| facts.len());
        let urls_length = length(urls::FILE).map_err(|_| PagesError::NoRecords(path.to_owned()))?;
        let links_length = length(links::FILE).unwrap_or(0);
        let mut job = Self {
            path: path.to_owned(),
            urls_end: Offset(urls_length),
            links_end: Offset(links_length),
            keyer: None,
            earlier: Vec::new(),
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
        job.keyer = Some(stored.keyer());
        job.earlier = stored.earlier();
        Ok(job)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of records.
    pub fn urls_path(&self) -> PathBuf {
        self.path.join(urls::FILE)
    }

    /// How much of `urls.jsonl` counts.
    pub const fn urls_end(&self) -> Offset {
        self.urls_end
    }

    /// How much of the link log counts; 0 if there is none.
    pub const fn links_end(&self) -> Offset {
        self.links_end
    }

    /// Makes the keys of the logs; none if the folder was made of WARC files.
    pub const fn keyer(&self) -> Option<&Keyer> {
        self.keyer.as_ref()
    }

    /// Folders of earlier crawls that hold bodies of this one.
    pub fn earlier(&self) -> &[PathBuf] {
        &self.earlier
    }

    /// Committed records.
    pub fn records(&self) -> Result<CommittedRecords, PagesError> {
        let path = self.urls_path();
        let records = records_from(&path, Offset(0)).map_err(PagesError::at(&path))?;
        Ok(CommittedRecords {
            records: records.until(self.urls_end),
            path,
        })
    }

    /// Committed links; nothing if there is no log of them.
    pub fn links(&self) -> Result<Option<LinksReader>, PagesError> {
        if self.links_end == Offset(0) {
            return Ok(None);
        }
        let reader = LinksReader::open(&self.path);
        let reader = reader.map_err(PagesError::at(&self.path.join(links::FILE)))?;
        Ok(Some(reader.until(self.links_end.0)))
    }
}

/// Records up to the commit, each with the place where its line begins.
#[derive(Debug)]
pub struct CommittedRecords {
    records: Records,
    path: PathBuf,
}

impl CommittedRecords {
    /// Where the next line begins.
    pub const fn offset(&self) -> Offset {
        self.records.offset()
    }
}

impl Iterator for CommittedRecords {
    type Item = Result<(Offset, Record), PagesError>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.records.offset();
        match self.records.next()? {
            Ok(record) => Some(Ok((at, record))),
            // A crash may leave a torn line, which nobody committed.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
            Err(error) => Some(Err(PagesError::at(&self.path)(error))),
        }
    }
}
