//! Why an index cannot be made or asked.
//!
//! Owns the words; each names the thing and the next step.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why an index cannot be made or asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The folder is not a job, or cannot be read.
    #[error(transparent)]
    Job(#[from] clewline::JobError),
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
        source: tantivy::TantivyError,
    },
}
