//! The pages of a crawl, one after the other: record, head, body and links.
//!
//! Owns what a page is, what may be wanted of it ([`PageNeeds`]) and the two orders in which pages
//! come. [`Job::pages`] goes through `urls.jsonl`, as far as it is committed, and finds the rest by
//! the index of the archive: a record that is not kept costs nothing, and threads read many pages
//! at once. A WARC or WACZ file opens as a [`Job`] without logs; its pages come by the walk. [`ArchiveWalk`] goes through the files of an archive, once and in bounded memory: that is
//! the order in which URLs were settled, it needs no index, it goes on from a place while a crawl
//! runs, and it reads what others archived as well. It refuses to know what is made of a page.

mod earlier;
mod files;
mod job;
mod ordered;
mod pages_of_job;
mod reader;
#[cfg(test)]
pub(crate) mod tests;
mod walk;

use std::io;
use std::path::{Path, PathBuf};

use clewline_core::link::Link;
use thiserror::Error;

use crate::JobFileError;
use crate::archive::OpenError;
use crate::log::Offset;
use crate::record::Record;

pub use files::{ArchiveFile, CommittedArchive};
pub use job::{CommittedRecords, Job, JobSource};
pub use ordered::{Ordered, threads};
pub use pages_of_job::{JobPages, PagesOnThreads};
pub use reader::{AnswerError, FoundCapture, PageAnswer, PageReader, Provenance};
pub use walk::{ArchiveWalk, WalkedCapture, WalkedPage};

/// What is wanted of a page beside its record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageNeeds {
    /// Bytes of its decoded body at the most; without it heads and bodies are not read.
    pub body: Option<u64>,
    /// The DOM that a browser made of it, where there is one, bounded as the body, and beside it.
    pub rendered: bool,
    /// Its links.
    pub links: bool,
}

/// A settled URL of a job.
#[derive(Debug)]
pub struct JobPage {
    /// Its record.
    pub record: Record,
    /// Where its line begins in the log; of files without logs, where the page ends in the archive.
    pub offset: Offset,
    /// Its answer, if that is wanted.
    pub answer: Option<Result<PageAnswer, AnswerError>>,
    /// Where it points, if that is wanted.
    pub links: Vec<Link>,
}

impl JobPage {
    const fn new(offset: Offset, record: Record) -> Self {
        Self {
            record,
            offset,
            answer: None,
            links: Vec::new(),
        }
    }
}

/// Why pages cannot be read.
#[derive(Debug, Error)]
pub enum PagesError {
    /// The job folder.
    #[error(transparent)]
    Job(#[from] JobFileError),
    /// The archive.
    #[error(transparent)]
    Archive(#[from] OpenError),
    /// The crawl kept no archive.
    #[error("{} has no archive", .0.display())]
    NoArchive(PathBuf),
    /// The folder has no records.
    #[error("{} has no urls.jsonl", .0.display())]
    NoRecords(PathBuf),
    /// A file or folder could not be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl PagesError {
    /// An error of the system at a path.
    fn at(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}
