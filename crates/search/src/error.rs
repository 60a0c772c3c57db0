//! Why an index cannot be made or asked.
//!
//! Owns the words; each names the thing and the next step.

use std::io;
use std::path::PathBuf;

use clewline_job::JobFileError;
use clewline_job::pages::PagesError;
use tantivy::TantivyError;
use tantivy::directory::error::{LockError, OpenWriteError};
use thiserror::Error;

/// Why an index cannot be made or asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The folder is not a job, or cannot be read.
    #[error(transparent)]
    Job(#[from] JobFileError),
    /// There is nothing to index.
    #[error("{} has no archive to make an index from; crawl without --no-archive", .0.display())]
    NoArchive(PathBuf),
    /// There is no index yet.
    #[error("{} has no index; clewline index makes one", .0.display())]
    NoIndex(PathBuf),
    /// Another process writes to the index.
    #[error("another process writes to {}; wait for it to end", .0.display())]
    Busy(PathBuf),
    /// A file of the job cannot be read, or one of the index cannot be written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The index is damaged or the disk failed.
    #[error("the index in {} cannot be used ({source}); clewline index --rebuild makes it anew", path.display())]
    Engine {
        /// The folder of the index.
        path: PathBuf,
        /// What the engine says.
        source: TantivyError,
    },
}

impl From<PagesError> for SearchError {
    fn from(error: PagesError) -> Self {
        match error {
            PagesError::Job(error) => Self::Job(error),
            PagesError::NoArchive(path) | PagesError::NoRecords(path) => Self::NoArchive(path),
            PagesError::Io { path, source } => Self::Io { path, source },
        }
    }
}

impl SearchError {
    /// Whether the index cannot be written, as on a read-only file system.
    pub fn is_read_only(&self) -> bool {
        let kind = match self {
            Self::Io { source, .. } => Some(source.kind()),
            Self::Engine { source, .. } => io_cause(source),
            _ => None,
        };
        matches!(
            kind,
            Some(io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied)
        )
    }
}

/// What the system said to the engine, if that was the trouble.
fn io_cause(error: &TantivyError) -> Option<io::ErrorKind> {
    match error {
        TantivyError::IoError(source)
        | TantivyError::LockFailure(LockError::IoError(source), _) => Some(source.kind()),
        TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, .. }) => {
            Some(io_error.kind())
        }
        _ => None,
    }
}
