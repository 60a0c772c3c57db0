//! Exchanges on their way to the archive.
//!
//! Owns those that belong to no settled URL: robots.txt, and tries that are made again. Refuses
//! to know what they hold. Without an archive there are none, and always room.

use std::sync::Arc;

use crate::exchange::{Exchange, Spool};

/// What waits for the next batch beside its records.
#[derive(Debug)]
pub(super) struct Exchanges {
    spool: Option<Arc<Spool>>,
    waiting: Vec<Arc<Exchange>>,
}

impl Exchanges {
    pub(super) const fn new(spool: Option<Arc<Spool>>) -> Self {
        Self {
            spool,
            waiting: Vec::new(),
        }
    }

    /// Whether the bytes of another exchange can be kept.
    pub(super) fn has_room(&self) -> bool {
        self.spool.as_ref().is_none_or(|spool| spool.has_room())
    }

    /// Whether so much waits that it should be written before its time.
    pub(super) fn is_filling(&self) -> bool {
        self.spool.as_ref().is_some_and(|spool| spool.is_filling())
    }

    pub(super) fn add(&mut self, exchange: Option<Arc<Exchange>>) {
        self.waiting.extend(exchange);
    }

    pub(super) fn count(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn take(&mut self) -> Vec<Arc<Exchange>> {
        std::mem::take(&mut self.waiting)
    }
}
