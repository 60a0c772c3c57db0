//! Views of an archive: what was captured, shown again.
//!
//! Owns opening a set of WARC files with an index of their captures ([`Archive`]), the rewriting
//! of references in pages and style sheets ([`rewrite`]), and two views: a folder to browse
//! ([`mirror`]) and a package ([`wacz`]). It refuses to know how a crawl works, what a record looks
//! like inside, and how pages are served. Invariant: nothing is ever fetched; whatever is read is
//! foreign, and every size is bounded.
#![warn(missing_docs)]

mod content;
pub mod mirror;
mod open;
mod output;
pub mod rewrite;
mod section;
mod title;
pub mod wacz;

pub use content::{CaptureContent, ContentError, LARGEST};
pub use open::{Archive, ArchivedCapture, OpenError, archive_in, is_archive, warcs_in};
pub use output::{Existing, OutputError};
