//! Pages out of a job's archive, in the order in which they were settled.
//!
//! Owns which records make a page, what is done about one that changed or vanished, and the
//! place after each. In files that others wrote every answer that is a page counts. It reads what is committed and nothing behind it. Invariant: reading from a
//! place that a step named goes on with the step after it.

mod earlier;
mod files;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, Read as _};
use std::path::Path;

use clewline::log::archive::Position;
use clewline::rebuild::{self, Foreign};
use clewline::record::{OutcomeKind, Record};
use clewline_warc::http::{self, HttpHead};
use clewline_warc::read::{Header, ReadError, WarcReader};
use clewline_warc::{Digest, Moment, RecordKind};

use crate::document::Document;
use crate::error::SearchError;
use crate::fold::{Likeness, address_of};
use crate::page::Page;
use crate::rank::folded;
use earlier::Original;
pub(crate) use files::Archive;
use files::ArchiveFile;

/// Bytes of a body that are decoded; what follows is not read.
const MOST_DECODED: u64 = 8 * 1024 * 1024;
/// Bytes of a line of `urls.jsonl`, as its writer has it.
const LONGEST_LINE: u64 = 8 * 1024 * 1024;
/// Captures that are remembered for those that refer to them, as many as the archive compares.
const MOST_PLACES: usize = 65_536;
/// Bytes of an answer that are looked at in a file of somebody else.
const LONGEST_BLOCK: u64 = 16 * 1024 * 1024;
/// Bytes of a warcinfo record that are looked at.
const LONGEST_INFO: u64 = 64 * 1024;
/// The digest of what has none.
const UNKNOWN: u64 = 0;
/// The field of a metadata record that holds the record.
const LINE_FIELD: &str = "urls-jsonl:";

/// What a settled URL means to an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// The page is this now.
    Put(Box<Document>),
    /// There is no page to be found under this URL.
    Remove {
        /// The URL.
        url: String,
        /// The page is there, and asks not to be indexed.
        is_asked: bool,
    },
    /// Nothing changed.
    Keep,
}

/// A change, and where reading goes on after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// What changed.
    pub(crate) change: Change,
    /// The place after it, as an offset of the archive's log.
    pub(crate) position: u64,
}

/// Reads the pages of an archive.
pub(crate) struct Source<'a> {
    archive: &'a Archive,
    /// Index of the file that is read.
    file: usize,
    reader: Option<WarcReader<File>>,
    at: Position,
    capture: Option<Capture>,
    /// Where payloads were captured, also those of answers that are no pages, such as a
    /// robots.txt: a page may refer to any of them.
    places: HashMap<Digest, u64>,
    /// Where an earlier run captured a digest.
    known: &'a dyn Fn(u64) -> Option<u64>,
    /// Reads answers that no line of a crawl speaks of; none while a file of ours is read.
    foreign: Option<Foreign>,
    /// Damaged places that were passed.
    damaged: u64,
}

/// An answer that waits for its metadata.
struct Capture {
    id: String,
    /// Nothing if the answer refers to an earlier one …
    body: Option<Vec<u8>>,
    /// … which is this one.
    original: Option<Original>,
    place: u64,
    date: Option<Moment>,
}

impl<'a> Source<'a> {
    /// Reads from a place on. `known` tells where an earlier run captured a digest.
    pub(crate) fn new(
        archive: &'a Archive,
        from: Position,
        known: &'a dyn Fn(u64) -> Option<u64>,
    ) -> Self {
        let file = archive
            .files
            .partition_point(|file| file.serial < from.serial);
        Self {
            archive,
            file,
            reader: None,
            at: from,
            capture: None,
            places: HashMap::new(),
            known,
            foreign: None,
            damaged: 0,
        }
    }

    /// Damaged places that were passed.
    pub(crate) fn damaged(&self) -> u64 {
        self.damaged
    }

    /// The file in which the last step lies.
    pub(crate) fn file_name(&self) -> String {
        let at = self.file.min(self.archive.files.len().saturating_sub(1));
        let file = self.archive.files.get(at);
        file.map_or(String::new(), |file| file.name.clone())
    }

    fn step(&mut self) -> Result<Option<Step>, SearchError> {
        while let Some(file) = self.archive.files.get(self.file) {
            if self.reader.is_none() {
                self.open(file)?;
            }
            while let Some(header) = self.header(file)? {
                if let Some(change) = self.record(&header, file)? {
                    let position = self.at.offset().0;
                    return Ok(Some(Step { change, position }));
                }
            }
            // The place stays in this file as long as none follows it: it may grow.
            self.reader = None;
            self.capture = None;
            let Some(next) = self.archive.files.get(self.file + 1) else {
                return Ok(None);
            };
            self.at = Position {
                serial: next.serial,
                offset: 0,
            };
            self.file += 1;
        }
        Ok(None)
    }

    fn open(&mut self, file: &ArchiveFile) -> Result<(), SearchError> {
        let failed = |source| SearchError::Io {
            path: file.path.clone(),
            source,
        };
        let offset = if file.serial == self.at.serial {
            self.at.offset
        } else {
            0
        };
        let input = file.open().map_err(failed)?;
        self.foreign = (!is_ours(&input)).then(Foreign::default);
        let reader = WarcReader::seek(input, offset);
        self.reader = Some(reader.map_err(|error| failed(io::Error::other(error)))?);
        Ok(())
    }

    /// The next record of the file that is committed; damage is passed and counted.
    fn header(&mut self, file: &ArchiveFile) -> Result<Option<Header>, SearchError> {
        let Some(reader) = &mut self.reader else {
            return Ok(None);
        };
        loop {
            match reader.next_record() {
                None => return Ok(None),
                Some(Ok(header)) => return Ok((reader.offset() < file.end).then_some(header)),
                Some(Err(error)) if error.offset() >= file.end => return Ok(None),
                Some(Err(ReadError::Input { source, .. })) => {
                    let path = file.path.clone();
                    return Err(SearchError::Io { path, source });
                }
                Some(Err(_)) => self.damaged += 1,
            }
        }
    }

    /// Takes a record in; a metadata record completes a step.
    fn record(
        &mut self,
        header: &Header,
        file: &ArchiveFile,
    ) -> Result<Option<Change>, SearchError> {
        let Some(reader) = &mut self.reader else {
            return Ok(None);
        };
        let mut change = None;
        match header.kind() {
            RecordKind::Response if self.foreign.is_some() => {
                let place = place(file, reader.offset());
                let mut block = Vec::new();
                // What can be read of a damaged one is told; that it is damaged, by its end.
                let _ = reader.block().take(LONGEST_BLOCK).read_to_end(&mut block);
                change = self.answer(header, &block, place);
            }
            RecordKind::Response => {
                let place = place(file, reader.offset());
                self.capture = Some(Capture {
                    id: header.id().unwrap_or_default().to_owned(),
                    body: body(reader.block()),
                    original: None,
                    place,
                    date: header.date(),
                });
                self.remember(header, place);
            }
            RecordKind::Revisit => {
                self.capture = Some(Capture {
                    id: header.id().unwrap_or_default().to_owned(),
                    body: None,
                    original: Original::of(header),
                    place: place(file, reader.offset()),
                    date: header.date(),
                });
            }
            RecordKind::Metadata => {
                let line = line(reader);
                let capture = self.capture.take();
                let concurrent = header.uri("WARC-Concurrent-To");
                let capture = capture.filter(|capture| concurrent == Some(capture.id.as_str()));
                change = line.map(|record| self.change(&record, capture));
            }
            _ => {}
        }
        let Some(reader) = &mut self.reader else {
            return Ok(None);
        };
        match reader.end() {
            Ok(ending) => {
                self.at = Position {
                    serial: file.serial,
                    offset: ending.offset + ending.length,
                };
                Ok(change)
            }
            Err(ReadError::Input { source, .. }) => Err(SearchError::Io {
                path: file.path.clone(),
                source,
            }),
            Err(_) => {
                self.damaged += 1;
                Ok(None)
            }
        }
    }

    /// What an answer alone says, in a file that has no lines of ours.
    fn answer(&mut self, header: &Header, block: &[u8], place: u64) -> Option<Change> {
        let record = self.foreign.as_ref()?.record(header, block)?;
        let capture = Capture {
            id: String::new(),
            body: body(block),
            original: None,
            place,
            date: header.date(),
        };
        Some(self.change(&record, Some(capture)))
    }

    fn change(&mut self, record: &Record, capture: Option<Capture>) -> Change {
        let is_page = match record.outcome {
            OutcomeKind::Fetched => record
                .status
                .is_none_or(|status| (200..300).contains(&status)),
            // The page is what it was in an earlier crawl.
            OutcomeKind::Unmodified => true,
            OutcomeKind::Redirected => false,
            OutcomeKind::Skipped | OutcomeKind::Failed => return Change::Keep,
        };
        let media_type = record.content_type.as_deref().unwrap_or("text/html");
        let Some(capture) = capture.filter(|_| is_page && Page::has_words(media_type)) else {
            return remove(record);
        };
        if record.noindex {
            return remove(record);
        }
        let (digest, date) = (digest_of(record), capture.date);
        let (body, place) = self.resolve(capture, digest);
        let page = Page::read(
            &body,
            media_type,
            record.charset.as_deref(),
            &record.url.to_url(),
        );
        let fetched_at = Moment::parse(&record.fetched_at).or(date);
        let title = record.title.clone().filter(|_| page.title.is_empty());
        Change::Put(Box::new(Document {
            url: record.url.as_str().to_owned(),
            host: record.url.host().to_owned(),
            title: title.unwrap_or(page.title),
            headings: page.headings,
            body: page.body,
            language: page.language,
            content_type: media_type.to_owned(),
            fetched_at: fetched_at.map_or(0, Moment::seconds),
            depth: record.depth,
            likeness: Likeness {
                digest,
                near: page.near,
                address: address_of(&record.url, record.canonical.as_ref()),
            },
            key: folded(&record.key),
            place,
        }))
    }

    fn remember(&mut self, header: &Header, place: u64) {
        if let Some(digest) = header.payload_digest() {
            if self.places.len() == MOST_PLACES {
                self.places.clear();
            }
            self.places.insert(digest, place);
        }
    }

    /// The body of a capture, or of the one that it refers to, here or in the archive of an
    /// earlier crawl.
    fn resolve(&self, capture: Capture, digest: u64) -> (Vec<u8>, u64) {
        let place = capture.place;
        if let Some(body) = capture.body {
            return (body, place);
        }
        let original = capture.original.as_ref();
        let read = original.and_then(|original| self.places.get(&original.digest?).copied());
        let known = || (self.known)(digest).filter(|_| digest != UNKNOWN);
        let here = read.or_else(known);
        let here = here.and_then(|earlier| Some((self.archive.body_at(earlier)?, earlier)));
        let elsewhere = || Some((self.archive.earlier.body(original?)?, place));
        here.or_else(elsewhere).unwrap_or((Vec::new(), place))
    }
}

impl Iterator for Source<'_> {
    type Item = Result<Step, SearchError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

impl Archive {
    fn body_at(&self, place: u64) -> Option<Vec<u8>> {
        let place = Position::of(clewline::log::Offset(place));
        let file = self.files.iter().find(|file| file.serial == place.serial)?;
        let mut reader = WarcReader::seek(file.open().ok()?, place.offset).ok()?;
        let header = reader.next_record()?.ok()?;
        (header.kind() == RecordKind::Response).then(|| body(reader.block()))?
    }

    /// The archive of a job folder.
    pub(crate) fn of_job(job: &Path) -> Result<Self, SearchError> {
        Self::open(job)
    }
}

fn place(file: &ArchiveFile, offset: u64) -> u64 {
    let serial = file.serial;
    Position { serial, offset }.offset().0
}

fn remove(record: &Record) -> Change {
    Change::Remove {
        url: record.url.as_str().to_owned(),
        is_asked: record.noindex,
    }
}

/// Whether a crawl of ours wrote a file, as its first record tells.
fn is_ours(file: &File) -> bool {
    let mut reader = WarcReader::new(file);
    let first = reader.next_record();
    if !first.is_some_and(|first| first.is_ok_and(|it| it.kind() == RecordKind::WarcInfo)) {
        return false;
    }
    let mut info = Vec::new();
    // As far as it can be read.
    let _ = reader.block().take(LONGEST_INFO).read_to_end(&mut info);
    rebuild::is_ours(&String::from_utf8_lossy(&info))
}

/// The decoded body of the record that is being read, as far as it can be decoded.
fn body(block: impl BufRead) -> Option<Vec<u8>> {
    let (head, rest) = http::split(block).ok()?;
    let head = HttpHead::parse(&head);
    let payload = http::payload(head, rest);
    let mut body = Vec::new();
    let decoded = http::decoded(&head.content_codings(), payload, u64::MAX).ok()?;
    // A body that breaks off has words before it does.
    let _ = decoded.take(MOST_DECODED).read_to_end(&mut body);
    Some(body)
}

/// The record in the first field of a metadata record.
fn line(reader: &mut WarcReader<File>) -> Option<Record> {
    let mut line = Vec::new();
    let mut block = reader.block().take(LONGEST_LINE);
    block.read_until(b'\n', &mut line).ok()?;
    let json = line.strip_prefix(LINE_FIELD.as_bytes())?;
    serde_json::from_slice(json).ok()
}

/// The first half of a digest, which is as good as the whole here.
fn digest_of(record: &Record) -> u64 {
    let digits = record
        .digest
        .as_deref()
        .and_then(|text| text.split_once(':'));
    let digits = digits.and_then(|(_, digits)| digits.get(..16));
    digits
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .unwrap_or(UNKNOWN)
}
