//! The scribe: writes batches to the logs, in order, on a thread of its own.
//!
//! Owns the logs while a crawl runs. Batches are appended strictly in the order in which they
//! were handed over; after each the logs are synced and their offsets reported, and only then
//! may the engine commit the batch.

use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use super::Message;
use crate::log::Log;
use crate::record::Entry;

/// Batches that may wait; more than that and nothing new is handed out.
const QUEUE: usize = 4;

/// A batch that is durable in all logs.
#[derive(Debug)]
pub(crate) struct Written {
    pub(super) entries: Vec<Entry>,
    pub(super) offsets: Vec<(&'static str, u64)>,
}

/// The engine's end of the scribe.
pub(super) struct Scribe {
    batches: Option<SyncSender<Vec<Entry>>>,
    thread: Option<JoinHandle<()>>,
    unwritten: usize,
}

impl Scribe {
    pub(super) fn start(logs: Vec<Box<dyn Log>>, engine: Sender<Message>) -> io::Result<Self> {
        let (batches, queue) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("clewline-logs".into())
            .spawn(move || write_batches(logs, &queue, &engine))?;
        Ok(Self {
            batches: Some(batches),
            thread: Some(thread),
            unwritten: 0,
        })
    }

    /// Whether a batch could be handed over without waiting.
    pub(super) const fn has_room(&self) -> bool {
        self.unwritten < QUEUE
    }

    /// Batches handed over and not yet reported as written.
    pub(super) const fn unwritten(&self) -> usize {
        self.unwritten
    }

    /// Hands a batch over; gives it back where there is no room.
    pub(super) fn write(&mut self, batch: Vec<Entry>) -> Result<(), Vec<Entry>> {
        let Some(batches) = &self.batches else {
            return Err(batch);
        };
        match batches.try_send(batch) {
            Ok(()) => {
                self.unwritten += 1;
                Ok(())
            }
            Err(TrySendError::Full(batch) | TrySendError::Disconnected(batch)) => Err(batch),
        }
    }

    /// The engine heard of a written batch.
    pub(super) const fn written(&mut self) {
        self.unwritten -= 1;
    }

    /// Ends the thread; everything handed over has been reported by then.
    pub(super) fn close(&mut self) {
        self.batches = None;
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

fn write_batches(
    mut logs: Vec<Box<dyn Log>>,
    queue: &Receiver<Vec<Entry>>,
    engine: &Sender<Message>,
) {
    for entries in queue {
        let result = write(&mut logs, &entries).map(|offsets| Written { entries, offsets });
        let failed = result.is_err();
        if engine.send(Message::Written(result)).is_err() || failed {
            return;
        }
    }
}

fn write(logs: &mut [Box<dyn Log>], entries: &[Entry]) -> io::Result<Vec<(&'static str, u64)>> {
    for log in logs.iter_mut() {
        log.append(entries)?;
    }
    logs.iter_mut()
        .map(|log| Ok((log.name(), log.sync()?.0)))
        .collect()
}
