//! What can go wrong with known keys.
//!
//! Owns the one place where an error of the system becomes damage or trouble. It refuses to know
//! what a crawl does about it.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

const DAMAGED_RUN: &str = "a run of keys is not what was written";

/// What can go wrong with known keys.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeysError {
    /// Something was read that makes no sense.
    #[error("{what}")]
    Damaged {
        /// What makes no sense.
        what: &'static str,
        /// The file, where it is known.
        path: Option<PathBuf>,
    },
    /// A file or a row has a format that is not read any more.
    #[error("{} was made by an earlier version", .0.display())]
    Earlier(PathBuf),
    /// The keys in this folder have a format that is not known yet.
    #[error("{} was made by a later version", .0.display())]
    Later(PathBuf),
    /// A file cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Read {
        /// The file or the folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A run cannot be written.
    #[error("a run of keys cannot be written: {0}")]
    Write(#[from] io::Error),
    /// A sealed batch has not been committed yet.
    #[error("keys move between machines only while no batch waits for its commit")]
    Busy,
    /// Imported keys must be sorted, each once.
    #[error("the keys to import are not sorted")]
    Unsorted,
}

impl KeysError {
    /// A row that makes no sense.
    pub(crate) const fn damaged(what: &'static str) -> Self {
        Self::Damaged { what, path: None }
    }

    /// A run that is not what was written, or a folder of such runs.
    pub(crate) fn damaged_run(path: &Path) -> Self {
        Self::Damaged {
            what: DAMAGED_RUN,
            path: Some(path.into()),
        }
    }

    /// What a failed read of a run, or of the folder of runs, means.
    pub(crate) fn from_read(path: &Path, error: io::Error) -> Self {
        use io::ErrorKind::{InvalidData, NotFound, UnexpectedEof, Unsupported};
        match error.kind() {
            InvalidData | NotFound | UnexpectedEof => Self::damaged_run(path),
            Unsupported => Self::Earlier(path.into()),
            _ => Self::Read {
                path: path.into(),
                source: error,
            },
        }
    }
}
