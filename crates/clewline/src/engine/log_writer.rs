//! The log writer: writes batches to the logs and commits them, in order, on a thread of its own.
//!
//! Owns the logs while a crawl runs. A batch is appended to every log, the logs are synced, and
//! only then the store's part of the batch becomes durable, together with the offsets of the
//! logs, and the witness is told. Where there is no room on the disk, or no descriptor, it waits
//! until there is, and nothing is torn: a log is cut back to its last offset before the next try.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Message;
use crate::descriptors;
use crate::entry::Entry;
use crate::exchange::Exchange;
use crate::failpoint::{Point, pass};
use crate::log::{Log, Offset};
use crate::witness::Witness;

/// Batches handed over at a time: one is written, and the next is there when it is done. While
/// both are, the open batch goes on growing until it is full, so that a slow disk is asked to
/// sync seldom and not for every few pages.
const QUEUE: usize = 2;

/// How often a full disk is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// The store's part of a batch: makes it durable, with the offsets of the logs.
pub(super) type Commit =
    Box<dyn FnMut(&[(&'static str, u64)]) -> Result<(), Box<dyn Error + Send + Sync>> + Send>;

/// A batch on its way.
pub(super) struct Batch {
    pub(super) entries: Vec<Entry>,
    /// Exchanges that belong to none of the entries.
    pub(super) exchanges: Vec<Arc<Exchange>>,
    pub(super) commit: Commit,
}

/// A batch that is durable, and where each log ends after it.
#[derive(Debug)]
pub(crate) struct WrittenBatch {
    pub(super) entries: Vec<Entry>,
    pub(super) offsets: Vec<(&'static str, u64)>,
    /// How long that took, waiting for room included.
    pub(super) took: Duration,
}

/// What the log writer says.
#[derive(Debug)]
pub(crate) enum Word {
    /// A batch is durable.
    Written(WrittenBatch),
    /// Nothing can be written for lack of room; it is tried again and again.
    NoRoom(String),
    /// There is room again.
    RoomAgain,
    /// Nothing can be written any more.
    Failed(Box<dyn Error + Send + Sync>),
}

/// The engine's end of the log writer.
pub(super) struct LogWriter {
    batches: Option<SyncSender<Batch>>,
    thread: Option<JoinHandle<io::Result<()>>>,
    unwritten: usize,
    give_up: Arc<AtomicBool>,
}

impl LogWriter {
    pub(super) fn start(
        logs: Vec<Box<dyn Log>>,
        witness: Option<Witness>,
        engine: Sender<Message>,
    ) -> io::Result<Self> {
        let (batches, queue) = sync_channel(QUEUE);
        let give_up = Arc::new(AtomicBool::new(false));
        let mut control_state = WriterThread {
            logs,
            offsets: Vec::new(),
            witness,
            engine,
            give_up: Arc::clone(&give_up),
            is_committing: false,
        };
        let thread = std::thread::Builder::new()
            .name("clewline-logs".into())
            .spawn(move || control_state.write_batches(&queue))?;
        Ok(Self {
            batches: Some(batches),
            thread: Some(thread),
            unwritten: 0,
            give_up,
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

    /// Hands a batch over; there was room a moment ago.
    pub(super) fn write(&mut self, batch: Batch) -> Result<(), EngineGone> {
        let batches = self.batches.as_ref().ok_or(EngineGone)?;
        match batches.try_send(batch) {
            Ok(()) => {
                self.unwritten += 1;
                Ok(())
            }
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => Err(EngineGone),
        }
    }

    /// The engine heard of a written batch.
    pub(super) const fn written(&mut self) {
        self.unwritten -= 1;
    }

    /// A disk without room is not waited for any more.
    pub(super) fn give_up(&self) {
        self.give_up.store(true, Ordering::Relaxed);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// Ends the thread; everything handed over has been reported by then.
    pub(super) fn close(&mut self) -> io::Result<()> {
        self.batches = None;
        let ended = self.thread.take().map(JoinHandle::join);
        ended.and_then(Result::ok).unwrap_or(Ok(()))
    }
}

/// The log writer's thread has ended, and said why before.
#[derive(Debug)]
pub(super) struct EngineGone;

struct WriterThread {
    logs: Vec<Box<dyn Log>>,
    offsets: Vec<(&'static str, u64)>,
    witness: Option<Witness>,
    engine: Sender<Message>,
    give_up: Arc<AtomicBool>,
    /// The logs hold the whole batch, and its commit was asked for.
    is_committing: bool,
}

impl WriterThread {
    fn write_batches(&mut self, queue: &Receiver<Batch>) -> io::Result<()> {
        match self
            .logs
            .iter_mut()
            .map(|log| Ok((log.name(), log.sync()?.0)))
            .collect()
        {
            Ok(offsets) => self.offsets = offsets,
            Err(error) => {
                self.say(Word::Failed(Box::<io::Error>::new(error)));
                return Ok(());
            }
        }
        for batch in queue {
            let word = match self.write_patiently(batch) {
                Ok(written) => Word::Written(written),
                Err(error) => Word::Failed(error),
            };
            let failed = matches!(word, Word::Failed(_));
            self.say(word);
            if failed {
                return Ok(());
            }
        }
        self.logs.iter_mut().try_for_each(|log| log.close())
    }

    fn say(&self, word: Word) {
        // An engine that is gone needs no words.
        self.engine.send(Message::LogWriter(word)).ok();
    }

    /// Writes a batch, as often as it takes while only room is lacking.
    fn write_patiently(
        &mut self,
        mut batch: Batch,
    ) -> Result<WrittenBatch, Box<dyn Error + Send + Sync>> {
        let mut waited = false;
        let began = Instant::now();
        loop {
            match self.write(&mut batch) {
                Ok(offsets) => {
                    if waited {
                        self.say(Word::RoomAgain);
                    }
                    self.offsets.clone_from(&offsets);
                    // What is written need not wait in memory until the engine looks.
                    batch.entries.iter_mut().for_each(Entry::forget_bytes);
                    return Ok(WrittenBatch {
                        entries: batch.entries,
                        offsets,
                        took: began.elapsed(),
                    });
                }
                Err(error) => {
                    let lacks_room = lacks_room(error.as_ref());
                    // A commit that failed for good may still count, in a fleet if its answer was
                    // lost. Then its records must be there; if not, nobody reads them.
                    if self.is_committing && !lacks_room {
                        return Err(error);
                    }
                    self.take_back()?;
                    if !lacks_room || self.give_up.load(Ordering::Relaxed) {
                        return Err(error);
                    }
                    if !std::mem::replace(&mut waited, true) {
                        self.say(Word::NoRoom(error.to_string()));
                    }
                    std::thread::park_timeout(AGAIN);
                }
            }
        }
    }

    fn write(
        &mut self,
        batch: &mut Batch,
    ) -> Result<Vec<(&'static str, u64)>, Box<dyn Error + Send + Sync>> {
        pass(Point::BeforeAppend);
        self.is_committing = false;
        for (index, log) in self.logs.iter_mut().enumerate() {
            if index == 1 {
                pass(Point::BetweenAppends);
            }
            log.keep(&batch.exchanges)?;
            log.append(&batch.entries)?;
        }
        pass(Point::AfterAppend);
        let mut offsets = Vec::with_capacity(self.logs.len());
        for (index, log) in self.logs.iter_mut().enumerate() {
            if index == 1 {
                pass(Point::BetweenSyncs);
            }
            offsets.push((log.name(), log.sync()?.0));
        }
        pass(Point::AfterSync);
        self.is_committing = true;
        (batch.commit)(&offsets)?;
        pass(Point::AfterCommit);
        if let Some(witness) = &mut self.witness {
            witness.record(&offsets);
        }
        pass(Point::AfterWitness);
        Ok(offsets)
    }

    /// Cuts the logs back to where the last durable batch ended.
    fn take_back(&mut self) -> io::Result<()> {
        for (log, (_, offset)) in self.logs.iter_mut().zip(&self.offsets) {
            log.cut(Offset(*offset))?;
        }
        Ok(())
    }
}

/// Whether an error, or what caused it, is a lack of room or of descriptors.
fn lacks_room(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>()
            && (matches!(
                error.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            ) || descriptors::ran_out(error))
        {
            return true;
        }
        cause = error.source();
    }
    false
}
