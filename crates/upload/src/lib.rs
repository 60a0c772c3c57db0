//! What a worker of a fleet writes, in an object store: S3, or a folder that machines share.
//!
//! Owns the names of objects, the copying of what each batch added ([`Uploader`]) and the way back
//! into folders that can be merged ([`download`]). It refuses to know what the logs say, which batches
//! count and who asks for a commit. Invariants: what a line of `batches.jsonl` speaks of is there before
//! the line is; an object's name says which bytes it holds, so to upload one again changes nothing.
//!
//! ```text
//! PREFIX/JOB/WORKER/fleet.json, job.toml
//! PREFIX/JOB/WORKER/urls/FROM-TO, links/FROM-TO, batches/FROM-TO, archive/FILE/FROM-TO
//! ```
#![warn(missing_docs)]

mod connector;
mod dial;
mod download;
mod place;
mod segment;
mod uploader;

use thiserror::Error;

pub use download::{Downloaded, download};
pub use uploader::{UploadedBatch, Uploader};

/// Whether this is the address of an object store, and not a path.
pub fn is_store(address: &str) -> bool {
    ["s3://", "file://"]
        .iter()
        .any(|scheme| address.starts_with(scheme))
}

/// Why something is not there, or could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UploadError {
    /// The store does not answer; the same call may go through later.
    #[error("the object store does not answer: {0}")]
    Away(String),
    /// The store refuses, or the address is none: the same call will not go through later.
    #[error("the object store cannot be used: {0}")]
    Unusable(String),
    /// What was uploaded is not whole.
    #[error("{name} is not whole: {what}")]
    Torn {
        /// The object, or the beginning of the names of several.
        name: String,
        /// What is wrong with it.
        what: String,
    },
    /// A file of this machine.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which one.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl UploadError {
    fn io(path: &std::path::Path, source: std::io::Error) -> Self {
        Self::Io {
            path: path.into(),
            source,
        }
    }
}

impl From<object_store::Error> for UploadError {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error as Told;
        let text = error.to_string();
        match error {
            _ if distrusts(&error) => Self::Unusable(text),
            Told::NotFound { .. }
            | Told::InvalidPath { .. }
            | Told::NotSupported { .. }
            | Told::NotImplemented { .. }
            | Told::PermissionDenied { .. }
            | Told::Unauthenticated { .. }
            | Told::UnknownConfigurationKey { .. } => Self::Unusable(text),
            _ => Self::Away(text),
        }
    }
}

/// Whether a certificate is behind an error, somewhere in the chain of its causes.
fn distrusts(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<dial::UntrustedStore>() {
            return true;
        }
        cause = error.source();
    }
    false
}
