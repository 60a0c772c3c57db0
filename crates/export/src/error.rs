//! Why an export cannot be made.
//!
//! Owns the words; each names the thing and the next step.

use std::io;
use std::path::{Path, PathBuf};

use clewline_job::JobFileError;
use clewline_job::pages::PagesError;
use thiserror::Error;

use crate::form::Form;

/// Why an export cannot be made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The folder is not a job, or cannot be read.
    #[error(transparent)]
    Job(#[from] JobFileError),
    /// There is nothing to export.
    #[error(
        "{} has no urls.jsonl; name the folder of a crawl, or make one of WARC files with clewline warc rebuild",
        .0.display()
    )]
    NoRecords(PathBuf),
    /// The form needs bodies, and there are none.
    #[error("{0}; without an archive only csv, sitemap and graph can be exported")]
    Archive(#[from] clewline_job::archive::OpenError),
    /// A file of the job cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Input {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The output cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Output {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Something is at the place of the output.
    #[error("{} is there already; name another place, or replace it with --overwrite", .0.display())]
    Occupied(PathBuf),
    /// What is at the place of the output was not made by an export, and is not removed.
    #[error("{} is not empty and no export made it, so it is not replaced; name another place", .0.display())]
    Foreign(PathBuf),
    /// A sitemap lists pages of one origin, and a stream is one file.
    #[error(
        "the pages are of several origins ({first}, {second} …), and a sitemap lists those of one; \
         name a file with -o, which makes one for each, or choose with --where 'url~^{first}/'"
    )]
    SeveralOrigins {
        /// One of them.
        first: String,
        /// Another one.
        second: String,
    },
    /// The form is a folder, and a stream was asked for.
    #[error("{0} makes several files and cannot be written to a stream; name a folder with -o")]
    NotAStream(Form),
    /// A delta was asked for, and there is nothing to compare with.
    #[error(
        "{} updates no earlier crawl that is still there; crawl with --update-from, or leave --delta out",
        .0.display()
    )]
    NoEarlier(PathBuf),
}

impl From<PagesError> for ExportError {
    fn from(error: PagesError) -> Self {
        match error {
            PagesError::Job(error) => Self::Job(error),
            PagesError::NoArchive(path) | PagesError::NoRecords(path) => Self::NoRecords(path),
            PagesError::Archive(error) => Self::Archive(error),
            PagesError::Io { path, source } => Self::Input { path, source },
        }
    }
}

impl ExportError {
    /// Says which file could not be read.
    pub(crate) fn input(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Input {
            path: path.to_owned(),
            source,
        }
    }

    /// Says which file could not be written.
    pub(crate) fn output(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Output {
            path: path.to_owned(),
            source,
        }
    }
}
