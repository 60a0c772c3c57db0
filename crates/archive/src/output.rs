//! Views on their way to disk.
//!
//! Owns what becomes of what is already there, and why a view could not be written. Refuses to
//! know which view it is.

use std::io;
use std::path::PathBuf;

/// What becomes of what is already at the place that is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExistingOutput {
    /// It stays, and nothing is written.
    #[default]
    Keep,
    /// It is written over.
    Replace,
}

/// Why a view of an archive cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// A folder has something in it.
    #[error("{path} is not empty; name another folder, or replace what is in it with --overwrite")]
    FolderNotEmpty {
        /// Which.
        path: PathBuf,
    },
    /// A file is there already.
    #[error("{path} is there already; name another file, or replace it with --overwrite")]
    FileExists {
        /// Which.
        path: PathBuf,
    },
    /// A file cannot be written, or what goes into it cannot be read.
    #[error("cannot write {path}: {source}")]
    Write {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The index of the archive cannot be read.
    #[error("cannot read the index: {0}")]
    Index(#[from] io::Error),
}
