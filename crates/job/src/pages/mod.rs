//! The pages of a crawl, one after the other: record, head, body and links.
//!
//! Owns the two orders in which there are pages. [`Job`] reads records in the order of `urls.jsonl`,
//! as far as they are committed. [`ArchiveWalk`] goes through the files of an
//! archive, once and in bounded memory: that is the order in which URLs were settled, it needs no
//! index, it goes on from a place while a crawl runs, and it reads what others archived as well.
//! It refuses to know what is made of a page.

mod earlier;
mod files;
mod job;
#[cfg(test)]
mod tests;
mod walk;

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::JobFileError;

pub use files::{ArchiveFile, CommittedArchive};
pub use job::{CommittedRecords, Job};
pub use walk::{ArchiveWalk, WalkNeeds, WalkedCapture, WalkedPage};

/// Why pages cannot be read.
#[derive(Debug, Error)]
pub enum PagesError {
    /// The job folder.
    #[error(transparent)]
    Job(#[from] JobFileError),
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
