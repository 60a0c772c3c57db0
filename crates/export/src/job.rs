//! A job folder, as far as it may be read.
//!
//! Owns which files there are, how much of them is committed, and which earlier archives hold
//! bodies that this one refers to. It changes nothing.

use std::cell::OnceCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clewline::log::urls::{self, Records, records_from};
use clewline::log::{LinksReader, Offset, links};
use clewline::record::Record;
use clewline::{JobError, JobStanding, StoredJob};
use clewline_archive::{Archive, is_archive};
use clewline_core::key::Keyer;

use crate::error::ExportError;

/// A job folder to read from.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) path: PathBuf,
    /// How much of `urls.jsonl` counts.
    pub(crate) urls_end: Offset,
    /// How much of the link log counts; 0 if there is none.
    pub(crate) links_end: Offset,
    /// Makes the keys of the logs; none if the folder was made of WARC files.
    pub(crate) keyer: Option<Keyer>,
    /// This folder, and those of earlier crawls that it refers to.
    archives: Vec<PathBuf>,
    /// The archives, once they are wanted.
    opened: OnceCell<Arc<Archive>>,
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
            keyer: None,
            archives: vec![path.to_owned()],
            opened: OnceCell::new(),
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
        let earlier = stored.earlier().into_iter();
        job.archives
            .extend(earlier.filter(|folder| is_archive(folder)));
        Ok(job)
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
    pub(crate) fn archive(&self) -> Result<Arc<Archive>, ExportError> {
        if let Some(opened) = self.opened.get() {
            return Ok(Arc::clone(opened));
        }
        let opened = Arc::new(Archive::open(&self.archives)?);
        Ok(Arc::clone(self.opened.get_or_init(|| opened)))
    }

    /// The archive, and what makes keys of the URLs in it; nothing if the keys of the job cannot be
    /// made again.
    pub(crate) fn archive_with_keys(&self) -> Result<Option<(Arc<Archive>, &Keyer)>, ExportError> {
        let Some(keyer) = &self.keyer else {
            return Ok(None);
        };
        Ok(Some((self.archive()?, keyer)))
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
