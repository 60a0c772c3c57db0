//! WACZ packages: WARC files, their index and a list of pages in one ZIP file.
//!
//! Owns the layout of WACZ 1.1.1 as it is written; `clewline-job` reads it. Refuses to know records:
//! they are copied as they are. Invariant: the WARC files lie in the package uncompressed, so that
//! a reader can seek in them; the same archive makes the same package.

mod export;
mod zip;

pub use clewline_job::archive::PackageError;
pub use export::{PackageSummary, export};
