//! Pages on their way to the user of the library.
//!
//! Owns the pages that wait for their reader. Nothing new is handed out while one waits, so a
//! slow reader slows the crawl down instead of filling the memory.

use std::collections::VecDeque;

use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;

use super::memory_budget::Share;
use super::turns::HandedPage;

/// Whether somebody still wants pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    Listens,
    Gone,
}

/// The way to the reader; without one there is nothing to deliver.
#[derive(Debug)]
pub(super) struct Delivery {
    reader: Option<Sender<HandedPage>>,
    waiting: VecDeque<(HandedPage, Option<Share>)>,
}

impl Delivery {
    pub(super) const fn new(reader: Option<Sender<HandedPage>>) -> Self {
        Self {
            reader,
            waiting: VecDeque::new(),
        }
    }

    /// Whether there is somebody who wants pages.
    pub(super) const fn has_reader(&self) -> bool {
        self.reader.is_some()
    }

    /// Whether a page waits for its reader.
    pub(super) fn is_behind(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes a page over and passes on as much as the reader has room for.
    pub(super) fn offer(&mut self, page: HandedPage, share: Option<Share>) -> Reader {
        self.waiting.push_back((page, share));
        self.pass_on()
    }

    /// Passes on as much as the reader has room for.
    pub(super) fn pass_on(&mut self) -> Reader {
        let Some(reader) = &self.reader else {
            return Reader::Gone;
        };
        while let Some((page, share)) = self.waiting.pop_front() {
            match reader.try_send(page) {
                Ok(()) => {}
                Err(TrySendError::Full(page)) => {
                    self.waiting.push_front((page, share));
                    return Reader::Listens;
                }
                Err(TrySendError::Closed(_)) => {
                    self.waiting.clear();
                    return Reader::Gone;
                }
            }
        }
        Reader::Listens
    }

    /// At the end the last pages wait for their reader.
    pub(super) fn finish(self) {
        let Some(reader) = self.reader else { return };
        for (page, _) in self.waiting {
            if reader.blocking_send(page).is_err() {
                return;
            }
        }
    }
}
