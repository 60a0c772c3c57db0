//! Pages that their reader sees before they are settled.
//!
//! Owns the results that wait for the reader's word about their links, for a crawl that
//! [holds links](crate::Crawl::hold_links). Until then the job counts as in flight, so that nothing
//! of it is committed and the crawl cannot end. It refuses to know who reads. Invariant: every result
//! that waits here is settled exactly once: by the word of its reader, or when the crawl is stopped.

use std::collections::BTreeMap;

use clewline_core::frontier::{Ending, Finished, JobId, Offers, Settled, Settlement, Store};
use clewline_core::outcome::Outcome;

use super::memory_budget::Share;
use super::{Engine, EngineError, JobResult, entries, state};
use crate::entry::Entry;
use crate::page::Page;

/// What a reader says of the links of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkWord {
    Follow,
    Skip,
}

/// A page with the job to give back after its reader's turn, if somebody waits for that.
pub(crate) type HandedPage = (Page, Option<JobId>);

/// A page that is with its reader.
#[derive(Debug)]
struct AwaitedTurn {
    entry: Entry,
    settlement: Settlement,
    /// The reader has the body.
    _share: Option<Share>,
}

/// The pages that are with their reader.
#[derive(Debug, Default)]
pub(super) struct ReaderTurns {
    /// Missing where links are followed at once.
    waiting: Option<BTreeMap<u64, AwaitedTurn>>,
}

impl ReaderTurns {
    pub(super) fn new(are_held: bool) -> Self {
        Self {
            waiting: are_held.then(BTreeMap::new),
        }
    }

    /// Only a page that was read is certain to end here; others may be tried again.
    fn awaits(&self, result: &JobResult) -> bool {
        self.waiting.is_some()
            && result.whole.is_some()
            && result.answer().is_some_and(|answer| {
                let is_read = answer.unread.is_none() && !answer.unmodified;
                is_read && matches!(answer.status, 200..=299)
            })
    }
}

impl<S: Store> Engine<S> {
    /// Shows a page to its reader first, or gives the result back to be settled at once.
    pub(super) fn shown_first(&mut self, mut result: JobResult) -> Option<JobResult> {
        let job = result.settlement.job;
        if !self.turns.awaits(&result) || self.frontier.in_hand(job).is_none() {
            return Some(result);
        }
        let (Some(queued), Some(whole)) = (self.frontier.in_hand(job), result.whole.take()) else {
            return Some(result);
        };
        let finished = Finished {
            entry: queued.clone(),
            outcome: Outcome::Fetched,
            new_links: 0,
            error: None,
        };
        let share = result.share.take();
        let (status, wire) = result.answer().map(|it| (it.status, it.wire)).unzip();
        let nothing = Ending::CutShort {
            wire: 0,
            sent_at: None,
        };
        let ending = std::mem::replace(&mut result.settlement.ending, nothing);
        let is_postponed = result.is_postponed;
        let mut entry = entries::entry(finished, result);
        entry.record.status = status;
        if !is_postponed {
            entry.record.tries += 1;
            entry.record.wire_bytes += wire.unwrap_or_default();
        }
        let page = whole.page(entry.record.clone());
        let turn = AwaitedTurn {
            entry,
            settlement: Settlement { job, ending },
            _share: share,
        };
        self.turns.waiting.as_mut()?.insert(job.0, turn);
        let reader = self.delivery.offer((page, Some(job)), None);
        self.mind(reader);
        None
    }

    /// The reader is done with a page: now it is settled.
    pub(super) fn end_turn(&mut self, job: JobId, word: LinkWord) -> Result<(), EngineError> {
        let waiting = self.turns.waiting.as_mut();
        let Some(turn) = waiting.and_then(|waiting| waiting.remove(&job.0)) else {
            return Ok(());
        };
        let AwaitedTurn {
            mut entry,
            mut settlement,
            ..
        } = turn;
        if let (LinkWord::Skip, Ending::Answered(answer)) = (word, &mut settlement.ending) {
            answer.links = Offers::default();
        }
        let settled = self.frontier.settle(&mut settlement, self.clock.now());
        match settled.map_err(state)? {
            Settled::Done(finished) => {
                entry.record.new_links = finished.new_links;
                self.keep(entry, finished.entry.root);
            }
            _ => self.exchanges.add(entry.exchange),
        }
        self.settled(job);
        Ok(())
    }

    /// Settles what is still with a reader of a crawl that ends: it was fetched, so it counts.
    pub(super) fn end_turns(&mut self) -> Result<(), EngineError> {
        while let Some(job) = self.turns.waiting.as_ref().and_then(|waiting| {
            let (_, turn) = waiting.first_key_value()?;
            Some(turn.settlement.job)
        }) {
            self.end_turn(job, LinkWord::Follow)?;
        }
        Ok(())
    }
}
