//! A job folder, as far as it may be read.
//!
//! Owns which logs there are, how much of them is committed, and which earlier archives hold
//! bodies that this one refers to. It changes nothing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use clewline_core::key::Keyer;

use super::{CommittedArchive, JobPages, PageNeeds, PageReader, PagesError};
use crate::archive::WarcLocation;
use crate::log::urls::{self, Records, records_from};
use crate::log::{LinksReader, Offset, links};
use crate::record::Record;
use crate::{JobFile, JobFileError, JobStanding};

/// What pages are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobSource {
    /// A job folder, which has records.
    Folder,
    /// A WARC file or a folder of them, which have pages and no logs.
    Warc,
    /// A package of WARC files, likewise.
    Wacz,
}

/// A job folder to read from, or a WARC or WACZ file or a folder of WARC files with the pages of one.
#[derive(Debug)]
pub struct Job {
    path: PathBuf,
    source: JobSource,
    urls_end: Offset,
    links_end: Offset,
    keyer: Option<Keyer>,
    earlier: Vec<PathBuf>,
    /// Where there are files of an archive and no logs.
    files: Option<CommittedArchive>,
    /// Opened when something of the archive is wanted, once: that may take a pass over its files.
    reader: OnceLock<Arc<PageReader>>,
}

impl Job {
    /// Looks what there is. A folder that has records and no `job.toml` was made of WARC files. A
    /// WARC or WACZ file has pages and no logs, and so has a folder of nothing but WARC files.
    pub fn open(path: &Path) -> Result<Self, PagesError> {
        if path.is_file() {
            let is_package = WarcLocation::is_package(path);
            return Ok(Self {
                source: if is_package {
                    JobSource::Wacz
                } else {
                    JobSource::Warc
                },
                files: Some(CommittedArchive::from_file(path)?),
                ..Self::new(path, Offset(0), Offset(0))
            });
        }
        let stored = match JobFile::read(path) {
            Ok(stored) => Some(stored),
            Err(JobFileError::NoJob(_)) if path.join(urls::FILE).is_file() => None,
            Err(error @ JobFileError::NoJob(_)) => {
                // A folder of WARC files is read as one of them is.
                let files = CommittedArchive::open(path).map_err(|_| error)?;
                return Ok(Self {
                    source: JobSource::Warc,
                    files: Some(files),
                    ..Self::new(path, Offset(0), Offset(0))
                });
            }
            Err(error) => return Err(error.into()),
        };
        let length = |file: &str| fs::metadata(path.join(file)).map(|facts| facts.len());
        let urls_length = length(urls::FILE).map_err(|_| PagesError::NoRecords(path.to_owned()))?;
        let links_length = length(links::FILE).unwrap_or(0);
        let mut job = Self::new(path, Offset(urls_length), Offset(links_length));
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

    fn new(path: &Path, urls_end: Offset, links_end: Offset) -> Self {
        Self {
            path: path.to_owned(),
            source: JobSource::Folder,
            urls_end,
            links_end,
            keyer: None,
            earlier: Vec::new(),
            files: None,
            reader: OnceLock::new(),
        }
    }

    /// The folder, or the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it is that was opened.
    pub const fn source(&self) -> JobSource {
        self.source
    }

    /// Refuses what has no records.
    pub fn require_records(&self) -> Result<(), PagesError> {
        match self.source {
            JobSource::Folder => Ok(()),
            JobSource::Warc | JobSource::Wacz => Err(JobFileError::NoJob(self.path.clone()).into()),
        }
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

    /// Committed records.
    pub fn records(&self) -> Result<CommittedRecords, PagesError> {
        self.require_records()?;
        let path = self.urls_path();
        let records = records_from(&path, Offset(0)).map_err(PagesError::at(&path))?;
        Ok(CommittedRecords {
            records: records.until(self.urls_end),
            path,
        })
    }

    /// Pages in the order of the records, with what is wanted of them; where there are none, in the
    /// order of the archive.
    pub fn pages(&self, needs: PageNeeds) -> Result<JobPages<'_>, PagesError> {
        if let Some(files) = &self.files {
            return Ok(JobPages::in_archive(files, needs, self.path.clone()));
        }
        let is_record_enough = needs == PageNeeds::default();
        let reader = (!is_record_enough).then(|| self.reader()).transpose()?;
        let path = self.path.clone();
        Ok(JobPages::in_log(self.records()?, needs, reader, path))
    }

    /// Reads what the archive holds of single pages.
    pub fn reader(&self) -> Result<Arc<PageReader>, PagesError> {
        if let Some(opened) = self.reader.get() {
            return Ok(Arc::clone(opened));
        }
        let opened = Arc::new(PageReader::open(&self.path, &self.earlier)?);
        Ok(Arc::clone(self.reader.get_or_init(|| opened)))
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
