//! Batches: from the open one to what counts.
//!
//! Owns the moment at which a batch is sealed and handed to the log writer, and what is done when it
//! is durable. Invariant: a record counts only after its batch was written, and everything that
//! was settled before a batch was sealed is in it or in an earlier one.

use std::time::Duration;

use clewline_core::frontier::{Moment, Sealed, Store};

use super::log_writer::{Batch, Word, WrittenBatch};
use super::{Engine, EngineError, Event, Message, state};

/// A batch is handed to the logs after this time …
pub(super) const BATCH_TIME: Duration = Duration::from_millis(50);
/// … or at this size, whichever comes first.
pub(super) const BATCH_SIZE: usize = 2000;
/// Room for so many records is used again for a later batch.
const SPARE: usize = 2 * BATCH_SIZE;
/// Links and queue entries that weigh as much as one record.
pub(super) const LINKS_PER_RECORD: usize = 32;

impl<S: Store> Engine<S> {
    /// Seals the open batch and hands it to the log writer, when it is time and there is room.
    pub(super) fn hand_batch_over(&mut self, now: Moment, size: usize) -> Result<(), EngineError> {
        if self.member.is_some() {
            return self.hand_fleet_batch_over(now);
        }
        let open = self.open_records();
        // While the log writer is at work, what fills the memory is what it writes: to hand over the
        // little that came since would make it sync for that alone.
        let pressed = self.log_writer.unwritten() == 0 && self.exchanges.is_filling();
        let due = now >= self.batch_since + BATCH_TIME || open >= size || pressed;
        if open == 0 || !due || !self.log_writer.has_room() {
            return Ok(());
        }
        self.seal_and_write(now)
    }

    /// Seals the open batch and hands it to the log writer, which has room.
    pub(super) fn seal_and_write(&mut self, now: Moment) -> Result<(), EngineError> {
        let frontier = self.frontier.state();
        let notes = self
            .resume_notes
            .notes(now, &frontier, &self.cookies, &self.tally)
            .map_err(state)?;
        let mut sealed = self.frontier.seal(notes).map_err(state)?;
        if let Some(member) = &mut self.member {
            member.after_seal(&mut self.frontier, &self.cookies, now);
        }
        self.batch_since = now;
        let commit = Box::new(move |offsets: &[(&'static str, u64)]| {
            sealed.commit(offsets).map_err(Into::into)
        });
        let entries = std::mem::replace(&mut self.batch, std::mem::take(&mut self.spare));
        self.batch_links = 0;
        // A log writer that is gone has said why; that word is on its way.
        let batch = Batch {
            entries,
            exchanges: self.exchanges.take(),
            commit,
        };
        self.log_writer.write(batch).ok();
        Ok(())
    }

    pub(super) fn listen(&mut self, word: Word) -> Result<(), EngineError> {
        match word {
            Word::Written(written) => self.commit(written)?,
            Word::NoRoom(why) => {
                self.no_room = true;
                (self.observer)(Event::NoRoom(&why));
            }
            Word::RoomAgain => {
                self.no_room = false;
                (self.observer)(Event::RoomAgain);
            }
            Word::Failed(error) => return Err(EngineError::from_log_writer(error)),
        }
        Ok(())
    }

    /// A batch is durable: now it counts.
    fn commit(&mut self, mut written: WrittenBatch) -> Result<(), EngineError> {
        self.log_writer.written();
        self.frontier.committed();
        if let Some(member) = &mut self.member {
            let now = self.clock.now();
            member.after_commit(&mut self.frontier, &mut written.entries, now)?;
        }
        for entry in &written.entries {
            self.tally.add(&entry.record);
            (self.observer)(Event::Settled(&entry.record));
        }
        self.control_state.committed(&written);
        let urls = written
            .offsets
            .iter()
            .find(|(name, _)| *name == crate::log::urls::NAME);
        self.resume_notes.tally_offset = urls.map_or(0, |(_, offset)| *offset);
        written.entries.clear();
        if written.entries.capacity() <= SPARE {
            self.spare = written.entries;
        }
        Ok(())
    }

    /// Writes everything that is left and waits for it.
    pub(super) fn flush(&mut self) -> Result<(), EngineError> {
        if self.member.is_some() {
            // What a member has not committed when it leaves counts nowhere.
            return Ok(());
        }
        loop {
            self.hand_batch_over(self.clock.now(), 1)?;
            let open = self.batch.len() + self.exchanges.count();
            if open == 0 && self.log_writer.unwritten() == 0 {
                return Ok(());
            }
            match self.inbox.recv() {
                Ok(Message::LogWriter(word)) => self.listen(word)?,
                Ok(Message::Stop(_)) => self.log_writer.give_up(),
                // Jobs that end now stay open: they belong to nobody's batch.
                Ok(_) => {}
                Err(_) => return Ok(()),
            }
        }
    }
}
