//! Views of an archive: what was captured, shown again.
//!
//! Owns the rewriting of references in pages and style sheets ([`rewrite`]) and two views of what
//! `clewline-job` opens ([`Archive`]): a folder to browse ([`mirror`]) and a package ([`wacz`]). It
//! refuses to know how a crawl works, what a record looks like inside, and how pages are served.
//! Invariant: nothing is ever fetched; whatever is read is foreign, and every size is bounded.
#![warn(missing_docs)]

pub mod mirror;
mod output;
pub mod rewrite;
#[cfg(test)]
mod samples;
mod title;
pub mod wacz;

pub use clewline_job::archive::{
    Archive, ArchivedCapture, CaptureContent, ContentError, OpenError, archive_in, warcs_in,
};
pub use output::{ExistingOutput, OutputError};
