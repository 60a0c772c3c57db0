//! Job folders: what a crawl leaves behind, and how it is read.
//!
//! Owns the configuration of a crawl, the layout of the folder, the formats of its logs, the readers of
//! its pages, the report, the shapes of what `status`, `why` and `inspect` answer, the lookup of single
//! URLs, the comparison with an earlier crawl, and the making of logs and views
//! from archives. It refuses to know fetching, the engine and flags; what only the crawler can do,
//! such as reading an answer for links, is lent to it. Invariant: nothing here changes what a crawl
//! has committed, and whatever is read is foreign and bounded.
#![warn(missing_docs)]

pub mod archive;
pub mod charset;
pub mod config;
pub mod csv;
pub mod durable;
pub mod escape;
pub mod exclusion;
#[doc(hidden)]
pub mod failpoint;
pub mod folder;
pub mod hosts;
pub mod inspection;
mod job_file;
pub mod log;
pub mod look;
pub mod lookup;
pub mod merge;
pub mod metadata;
pub mod notes;
pub mod pages;
pub mod previous;
pub mod rebuild;
pub mod record;
pub mod report;
pub mod status;
pub mod why;
pub mod witness;

pub use job_file::{JobFile, JobFileError, JobStanding, KeptSettings};
pub use pages::Job;
