//! `urls.jsonl` and `links/` of all workers, without what does not count.
//!
//! Owns the passes over both logs, batch by batch, and the check that no key counts twice. Lines are
//! copied as they are. It refuses to know why a batch counts. Invariant: what a batch added to a log
//! is read exactly to where its line says it ended.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use clewline_core::key::Key;
use clewline_core::link::LinkKind;

use super::key_sorter::KeySorter;
use super::worker_folder::{WorkerFolder, name_of};
use super::{Counting, MergeError, Sources};
use crate::log::appender::{damage, torn};
use crate::log::lines::Lines;
use crate::log::{LinksLog, LinksReader, links, urls};
use crate::record::{OutcomeKind, Record};
use crate::report::Tally;

/// What the logs add up to.
#[derive(Debug)]
pub(super) struct CopiedLogs {
    pub(super) tally: Tally,
    /// Records that do not count.
    pub(super) dropped: u64,
    /// The first and the last moment of a record.
    pub(super) span: Option<(String, String)>,
    /// Keys, in a file of their own until they are compared.
    keys: KeySorter,
}

/// The logs while they are made.
pub(super) struct LogCopy {
    urls: BufWriter<File>,
    urls_path: PathBuf,
    links: LinksLog,
    links_path: PathBuf,
    copied: CopiedLogs,
}

impl LogCopy {
    pub(super) fn begin(draft: &Path, scratch: &Path) -> Result<Self, MergeError> {
        let urls_path = draft.join(urls::FILE);
        let links_path = draft.join(links::FILE);
        let urls = File::create(&urls_path).map_err(|error| MergeError::io(&urls_path, error))?;
        let links = LinksLog::open(draft).map_err(|error| MergeError::io(&links_path, error))?;
        Ok(Self {
            urls: BufWriter::with_capacity(256 * 1024, urls),
            urls_path,
            links,
            links_path,
            copied: CopiedLogs {
                tally: Tally::default(),
                dropped: 0,
                span: None,
                keys: KeySorter::new(scratch),
            },
        })
    }

    /// Copies the logs of all workers, one after the other.
    pub(super) fn run(mut self, sources: &mut Sources) -> Result<CopiedLogs, MergeError> {
        for worker in &sources.workers {
            self.copy_urls(worker, &mut sources.counting)?;
            self.copy_links(worker, &sources.counting)?;
        }
        let to_urls = |error| MergeError::io(&self.urls_path, error);
        let urls = self
            .urls
            .into_inner()
            .map_err(io::IntoInnerError::into_error);
        urls.and_then(|urls| urls.sync_all()).map_err(to_urls)?;
        let to_links = |error| MergeError::io(&self.links_path, error);
        self.links.sync().map_err(to_links)?;
        self.copied.checked()
    }

    fn copy_urls(
        &mut self,
        worker: &WorkerFolder,
        counting: &mut Counting,
    ) -> Result<(), MergeError> {
        let mut written = Ok(());
        let name = worker.file.worker;
        let (urls, copied) = (&mut self.urls, &mut self.copied);
        each_record(worker, |batch, key, line| {
            let Some(tenure) = counting.tenure(name, batch, key) else {
                copied.dropped += 1;
                return Ok(());
            };
            let record: Record = serde_json::from_slice(line)?;
            if is_page(&record) {
                counting.found_page(tenure);
            }
            copied.note(&record);
            if written.is_ok() {
                written = urls
                    .write_all(line)
                    .and_then(|()| copied.keys.add(key, name));
            }
            Ok(())
        })?;
        written.map_err(|error| MergeError::io(&self.urls_path, error))
    }

    fn copy_links(&mut self, worker: &WorkerFolder, counting: &Counting) -> Result<(), MergeError> {
        let path = worker.path.join(links::FILE);
        let from = |error| MergeError::io(&path, error);
        let mut batches = worker.batches().map_err(from)?;
        let mut reader = None;
        let mut block: Vec<(Key, LinkKind)> = Vec::new();
        while let Some(span) = batches.next_span().map_err(from)? {
            if span.links.is_empty() {
                continue;
            }
            let reader = match &mut reader {
                Some(reader) => reader,
                none => none.insert(LinksReader::open(&worker.path).map_err(from)?),
            };
            while reader.place() < span.links.end {
                block.clear();
                let mut source = None;
                let read = reader.each_of_block(|page, target, kind| {
                    source = Some(page);
                    block.push((target, kind));
                });
                if !read.map_err(from)? {
                    return Err(from(torn(&path, "it ends before its last batch")));
                }
                let counts = |page| counting.tenure(worker.file.worker, span.batch, page);
                if let Some(page) = source.filter(|page| counts(*page).is_some()) {
                    let to = |error| MergeError::io(&self.links_path, error);
                    self.links.add(page, &block).map_err(to)?;
                }
            }
            if reader.place() > span.links.end {
                let what = format!("batch {} ends within a block", span.batch);
                return Err(from(damage(&path, &what)));
            }
        }
        Ok(())
    }
}

impl CopiedLogs {
    fn note(&mut self, record: &Record) {
        self.tally.add(record);
        let moment = &record.fetched_at;
        let (first, last) = self
            .span
            .get_or_insert_with(|| (moment.clone(), moment.clone()));
        if moment < first {
            first.clone_from(moment);
        }
        if moment > last {
            last.clone_from(moment);
        }
    }

    /// Refuses keys that count twice.
    fn checked(mut self) -> Result<Self, MergeError> {
        let nowhere = Path::new("keys of all records");
        let at = |error| MergeError::io(nowhere, error);
        let keys = std::mem::replace(&mut self.keys, KeySorter::new(nowhere));
        let mut keys = keys.sorted().map_err(at)?;
        let mut before: Option<(Key, u64)> = None;
        while let Some((key, worker)) = keys.next_key().map_err(at)? {
            if let Some((_, one)) = before.filter(|(known, _)| *known == key) {
                return Err(MergeError::CountedTwice {
                    key,
                    one: name_of(one),
                    other: name_of(worker),
                });
            }
            before = Some((key, worker));
        }
        Ok(self)
    }
}

/// Pages as budgets count them.
pub(super) fn is_page(record: &Record) -> bool {
    let is_brought = matches!(
        record.outcome,
        OutcomeKind::Fetched | OutcomeKind::Unmodified
    );
    is_brought && Tally::counts_as_page(record.kind)
}

/// Hands on every line that a batch speaks of, with its batch and its key.
pub(super) fn each_record(
    worker: &WorkerFolder,
    mut each: impl FnMut(u64, Key, &[u8]) -> io::Result<()>,
) -> Result<(), MergeError> {
    let path = worker.path.join(urls::FILE);
    let at = |error| MergeError::io(&path, error);
    let mut batches = worker.batches().map_err(at)?;
    let mut lines = None;
    let mut place = 0;
    while let Some(span) = batches.next_span().map_err(at)? {
        if span.urls.is_empty() {
            continue;
        }
        let lines = match &mut lines {
            Some(lines) => lines,
            none => none.insert(Lines::open(&path, 0, None).map_err(at)?),
        };
        while place < span.urls.end {
            let line = lines.next_line().map_err(at)?;
            let line = line.ok_or_else(|| at(torn(&path, "it ends before its last batch")))?;
            place += line.len() as u64;
            let key = urls::key_of(line).map_err(at)?;
            each(span.batch, key, line).map_err(at)?;
        }
        if place > span.urls.end {
            let what = format!("batch {} ends within a line", span.batch);
            return Err(at(damage(&path, &what)));
        }
    }
    Ok(())
}

/// When a worker settled its first URL.
pub(super) fn first_moment(worker: &WorkerFolder) -> Result<Option<String>, MergeError> {
    let path = worker.path.join(urls::FILE);
    if !path.exists() {
        return Ok(None);
    }
    let at = |error| MergeError::io(&path, error);
    let mut lines = Lines::open(&path, 0, None).map_err(at)?;
    let first = lines.next_line().map_err(at)?;
    let record = first.and_then(|line| serde_json::from_slice::<Record>(line).ok());
    Ok(record.map(|record| record.fetched_at))
}
