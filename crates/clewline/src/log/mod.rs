//! Logs: append, sync, cut.
//!
//! Owns the seam [`Log`] and the writing of the archive; the formats of `urls.jsonl` and `links/` are
//! those of `clewline-job`, whose appenders take part in the commit here. A log is written strictly in the order of batches; after a crash it is cut back to the offset that
//! the store committed. A log refuses to know what a crawl is: it sees entries.

pub(crate) mod archive;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

pub use clewline_job::log::Offset;
pub(crate) use clewline_job::log::{LinksLog, UrlsLog, appender, lines, links, urls};

pub use crate::entry::Entry;
use crate::exchange::Exchange;

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

impl Log for UrlsLog {
    fn name(&self) -> &'static str {
        urls::NAME
    }

    fn append(&mut self, batch: &[Entry]) -> io::Result<()> {
        for entry in batch {
            let line = self.add(&entry.record)?;
            // The archive repeats the lines of what has an answer. It is set once, and a batch
            // that is written again has the same lines.
            if entry.exchange.is_some() {
                entry.line.set(line.into()).ok();
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<Offset> {
        Self::sync(self)
    }

    fn cut(&mut self, offset: Offset) -> io::Result<()> {
        Self::cut(self, offset)
    }
}

impl Log for LinksLog {
    fn name(&self) -> &'static str {
        links::NAME
    }

    fn append(&mut self, batch: &[Entry]) -> io::Result<()> {
        batch
            .iter()
            .try_for_each(|entry| self.add(entry.record.key, &entry.links))
    }

    fn sync(&mut self) -> io::Result<Offset> {
        Self::sync(self)
    }

    fn cut(&mut self, offset: Offset) -> io::Result<()> {
        Self::cut(self, offset)
    }
}
