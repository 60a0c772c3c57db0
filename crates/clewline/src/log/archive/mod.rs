//! `archive/`: every exchange as it was on the wire, as WARC files.
//!
//! Owns the order of records: for each settled URL the answer (or a revisit of an earlier one
//! with the same payload), the request, and a metadata record with the URL's line of
//! `urls.jsonl` and its links; before them the exchanges that belong to no settled URL. Refuses
//! to know how a record is written (`clewline-warc`) and what a crawl is. Invariant: what is
//! cut and appended again stands there once, and every file is whole after a cut.

mod compressor_pool;
mod dictionary;
mod earlier;
mod files;
mod group;
mod index;
mod info;
mod loss;
mod seen;
#[cfg(test)]
mod tests;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use clewline_job::archive::{FOLDER, NAME, Position};
use clewline_warc::{Dictionary, WarcCompression};

use super::{Log, Offset};
use crate::entry::Entry;
use crate::exchange::Exchange;
use crate::failpoint::{Point, pass};

use compressor_pool::{Compressed, CompressorPool};
use dictionary::DictionaryTrainer;
use earlier::{EarlierPayloads, KnownPayload};
use files::Files;
pub(crate) use files::{Tails, last_end, tail_after, take_back};
use group::{Group, Numbers};
use index::CaptureIndex;
pub(crate) use info::info;
pub(crate) use loss::{MISSING, Repaired, beyond, fault, repair};
use seen::{Holder, Seen, has_payload};

/// How an archive is written.
#[derive(Debug, Clone)]
pub(crate) struct ArchivePlan {
    /// What the names of its files begin with.
    pub(crate) name: String,
    /// How records are compressed.
    pub(crate) coding: WarcCompression,
    /// A file of this size is closed.
    pub(crate) file_size: u64,
    /// The block of the record at the beginning of each file.
    pub(crate) info: Vec<u8>,
    /// What identifiers of records are made from: random, and another one for each run.
    pub(crate) seed: [u8; 16],
    /// Indexes of earlier archives, whose payloads are not stored again.
    pub(crate) earlier: Vec<PathBuf>,
}

/// Writes the archive.
#[derive(Debug)]
pub(crate) struct ArchiveLog {
    plan: ArchivePlan,
    files: Files,
    compressors: CompressorPool,
    learner: DictionaryTrainer,
    numbers: Numbers,
    seen: Seen,
    earlier: Option<EarlierPayloads>,
    index: CaptureIndex,
}

impl ArchiveLog {
    /// Goes on after an offset that the log once had; what follows it must have been taken back.
    pub(crate) fn open(folder: &Path, plan: ArchivePlan, end: Offset) -> io::Result<Self> {
        let folder = folder.join(FOLDER);
        let end = Position::new(end);
        let index = CaptureIndex::open(&folder, end)?;
        let (learner, dictionary) = DictionaryTrainer::open(&folder, &plan)?;
        let mut log = Self {
            earlier: EarlierPayloads::open(&plan.earlier, &folder)?,
            files: Files::new(folder, end),
            compressors: CompressorPool::new(plan.coding),
            learner,
            numbers: Numbers::new(plan.seed),
            seen: index.seen()?,
            index,
            plan,
        };
        if let Some(dictionary) = dictionary {
            log.use_dictionary(dictionary);
        }
        Ok(log)
    }

    /// Has all later records compressed with a dictionary. No file may be in progress.
    fn use_dictionary(&mut self, dictionary: Dictionary) {
        self.compressors.use_dictionary(&dictionary);
        self.files.use_dictionary(dictionary);
    }

    /// Makes the dictionary once there is enough to learn from. This happens between two
    /// batches, so that no record is compressed for another file than it goes to.
    fn learn(&mut self) -> io::Result<()> {
        if self.learner.is_due() {
            self.files.end()?;
            if let Some(dictionary) = self.learner.learn()? {
                self.use_dictionary(dictionary);
            }
        }
        Ok(())
    }

    /// Writes groups in their order, compressed in parallel.
    fn write(&mut self, groups: &[Group<'_>]) -> io::Result<()> {
        self.learn()?;
        self.learner.count(groups.iter().map(Group::records).sum());
        let Self {
            plan,
            files,
            compressors,
            numbers,
            index,
            ..
        } = self;
        compressors.run(groups, &mut |group, pressed| {
            files.make_room(plan, numbers)?;
            let start = files.position();
            let capture = match pressed {
                Compressed::Ready { bytes, capture } => {
                    pass(Point::ArchiveHandOver);
                    files.write_all(bytes)?;
                    capture
                }
                Compressed::Large(encoder) => group.encode(encoder, files)?,
            };
            if let Some(length) = capture {
                index.note(group, files.name(), start.offset, length);
            }
            Ok(())
        })
    }

    fn group<'a>(
        &mut self,
        exchange: Option<&'a Arc<Exchange>>,
        entry: Option<&'a Entry>,
    ) -> io::Result<Group<'a>> {
        let exchange = exchange.map(AsRef::as_ref);
        Ok(Group {
            original: match exchange {
                Some(exchange) => self.original(exchange)?,
                None => None,
            },
            exchange,
            entry,
            ids: self
                .numbers
                .next(entry.map_or(0, |entry| entry.views.len())),
        })
    }

    /// The capture that holds the same payload. Those of earlier crawls come first: what repeats
    /// them holds nothing itself, so no later capture may refer to it.
    fn original(&mut self, exchange: &Exchange) -> io::Result<Option<Holder>> {
        let known = match &mut self.earlier {
            Some(earlier) if has_payload(exchange) => {
                earlier.find(exchange.payload_digest, &exchange.codings)?
            }
            _ => KnownPayload::Not,
        };
        Ok(match known {
            KnownPayload::Alike(holder) => Some(holder),
            KnownPayload::Otherwise => None,
            KnownPayload::Not => self.seen.meet(exchange),
        })
    }
}

impl Log for ArchiveLog {
    fn name(&self) -> &'static str {
        NAME
    }

    fn keep(&mut self, exchanges: &[Arc<Exchange>]) -> io::Result<()> {
        // A new batch means that the one before it is durable.
        self.seen.settle();
        self.files.settle()?;
        self.index.settle()?;
        let groups: Vec<Group<'_>> = exchanges
            .iter()
            .map(|exchange| self.group(Some(exchange), None))
            .collect::<io::Result<_>>()?;
        self.write(&groups)
    }

    fn append(&mut self, batch: &[Entry]) -> io::Result<()> {
        let groups: Vec<Group<'_>> = batch
            .iter()
            .map(|entry| self.group(entry.exchange.as_ref(), Some(entry)))
            .collect::<io::Result<_>>()?;
        self.write(&groups)
    }

    fn sync(&mut self) -> io::Result<Offset> {
        self.files.sync().map(Position::offset)
    }

    fn cut(&mut self, offset: Offset) -> io::Result<()> {
        self.seen.take_back();
        self.index.take_back();
        self.files.cut(Position::new(offset))
    }

    fn close(&mut self) -> io::Result<()> {
        self.files.close()?;
        self.index.settle()?;
        self.index.close()
    }
}
