//! Logs: append, sync, cut.
//!
//! Owns the seam [`Log`] and the logs of a job folder: `urls.jsonl`, `links/` and `archive/`. A log is
//! written strictly in the order of batches; after a crash it is cut back to the offset that
//! the store committed. A log refuses to know what a crawl is: it sees entries.

mod appender;
pub mod archive;
pub(crate) mod lines;
pub mod links;
#[cfg(test)]
mod tests;
pub mod urls;

use std::io;
use std::sync::Arc;

use crate::exchange::Exchange;
use crate::record::Entry;

pub use archive::ArchiveLog;
pub use links::{LinksLog, LinksReader};
pub use urls::{UrlsLog, records};

/// Where a log ends after a batch, in its own measure (bytes for a file).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Offset(pub u64);

/// An ordered, durable output of settled URLs.
pub trait Log: Send {
    /// The name under which the store keeps its offset; stable, unique within a job.
    fn name(&self) -> &'static str;

    /// Takes the exchanges that came with a batch and belong to none of its URLs: robots.txt,
    /// and tries that are made again. Called before [`Log::append`], and undone with it.
    fn keep(&mut self, exchanges: &[Arc<Exchange>]) -> io::Result<()> {
        let _ = exchanges;
        Ok(())
    }

    /// Appends a whole batch. Nothing of it counts before [`Log::sync`] returned.
    fn append(&mut self, batch: &[Entry]) -> io::Result<()>;

    /// Makes everything appended so far durable and says where the log ends.
    fn sync(&mut self) -> io::Result<Offset>;

    /// Takes back everything after an offset that [`Log::sync`] once returned.
    fn cut(&mut self, offset: Offset) -> io::Result<()>;

    /// The crawl ends and everything appended is durable: whatever is nicer when complete.
    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
