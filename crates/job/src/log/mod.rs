//! The logs of a job folder: `urls.jsonl` and `links/`.
//!
//! Owns their formats, both ways: what appends to them, syncs and cuts them, and what reads them.
//! It refuses to know when a batch is complete and who commits it: that is the engine's. Invariant:
//! what is read back is what was appended, or an error that names the place.

pub mod appender;
pub mod lines;
pub mod links;
pub mod urls;

pub use links::{LinksLog, LinksReader};
pub use urls::{UrlsLog, records};

/// Where a log ends after a batch, in its own measure (bytes for a file).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Offset(pub u64);
