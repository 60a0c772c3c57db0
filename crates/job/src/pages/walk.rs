//! Pages out of an archive, in the order in which they were settled.
//!
//! Owns which records make a page, where the body of one lies that refers to another capture, and
//! the place after each. In files that others wrote every answer is a page, if somebody can read it.
//! It reads what is committed and nothing behind it. Invariants: reading from a place that a page
//! named goes on with the page after it; of a body no more is held than was asked for.

use std::collections::HashMap;
use std::io::{self, BufRead, Read as _};

use clewline_core::key::Keyer;
use clewline_core::link::Link;
use clewline_warc::http::{self, HttpHead};
use clewline_warc::read::{Header, WarcReader};
use clewline_warc::{Digest, Moment, RecordKind};

use super::earlier::Referred;
use super::files::{ArchiveFile, CommittedArchive};
use super::{PageNeeds, PagesError};
use crate::archive::{FileRecords, Position, Section, is_rendered};
use crate::metadata;
use crate::rebuild::{ReadAnswer, is_ours};
use crate::record::Record;

/// Captures that are remembered for those that refer to them, as many as the archive compares.
const MOST_PLACES: usize = 65_536;
/// Bytes of an answer that are looked at in a file of somebody else.
const LONGEST_BLOCK: u64 = 16 * 1024 * 1024;

/// A settled URL.
#[derive(Debug)]
pub struct WalkedPage {
    /// Its record.
    pub record: Record,
    /// Its answer, if there was one and it is wanted.
    pub capture: Option<WalkedCapture>,
    /// Where it points, if that is wanted.
    pub links: Vec<Link>,
    /// The DOM that a browser made of it, if that is wanted and there.
    pub rendered: Option<Vec<u8>>,
    /// The place after it.
    pub position: Position,
}

/// An answer.
#[derive(Debug)]
pub struct WalkedCapture {
    /// The head as it was recorded.
    pub head: Vec<u8>,
    /// Where it lies.
    pub place: Position,
    /// When it came.
    pub date: Option<Moment>,
    id: String,
    /// Nothing if the answer refers to another capture …
    body: Option<Vec<u8>>,
    /// … which is this one.
    referred: Option<Referred>,
}

impl WalkedCapture {
    fn new(header: &Header, place: Position) -> Self {
        Self {
            head: Vec::new(),
            place,
            date: header.date(),
            id: header.id().unwrap_or_default().to_owned(),
            body: None,
            referred: None,
        }
    }
}

/// Reads the pages of an archive.
pub struct ArchiveWalk<'a> {
    archive: &'a CommittedArchive,
    needs: PageNeeds,
    /// Reads answers that no line of a crawl speaks of.
    read_answer: &'a ReadAnswer<'a>,
    /// Number of the file that is read.
    file: usize,
    records: Option<FileRecords<Section>>,
    at: Position,
    capture: Option<WalkedCapture>,
    /// A rendered page, whose DOM may stand behind it.
    waiting: Option<WalkedPage>,
    /// The page behind one that waited.
    next: Option<WalkedPage>,
    /// Where payloads were captured, also those of answers that are no pages, such as a
    /// robots.txt: a page may refer to any of them.
    places: HashMap<Digest, Position>,
    /// A crawl of ours wrote the file that is read.
    is_ours: bool,
    /// Damaged places that were passed.
    damaged: u64,
}

impl<'a> ArchiveWalk<'a> {
    /// Reads from a place on.
    pub fn new(
        archive: &'a CommittedArchive,
        from: Position,
        needs: PageNeeds,
        read_answer: &'a ReadAnswer<'a>,
    ) -> Self {
        let file = archive
            .files
            .partition_point(|file| file.serial < from.serial);
        Self {
            archive,
            needs,
            read_answer,
            file,
            records: None,
            at: from,
            capture: None,
            waiting: None,
            next: None,
            places: HashMap::new(),
            is_ours: true,
            damaged: 0,
        }
    }

    /// Where reading goes on.
    pub(super) const fn place(&self) -> Position {
        self.at
    }

    /// Reads answers that no line of a crawl speaks of in another way.
    pub(super) fn read_answers(&mut self, read_answer: &'a ReadAnswer<'a>) {
        self.read_answer = read_answer;
    }

    /// Damaged places that were passed.
    pub const fn damaged(&self) -> u64 {
        self.damaged
    }

    /// The name of the file in which the last page lies.
    pub fn file_name(&self) -> String {
        let at = self.file.min(self.archive.files.len().saturating_sub(1));
        let file = self.archive.files.get(at);
        file.map_or(String::new(), |file| file.name.clone())
    }

    /// The body of a capture, or of the one that it refers to, here or in the archive of an earlier
    /// crawl, and where that lies. `known` tells where an earlier walk met the payload.
    pub fn body(
        &self,
        capture: WalkedCapture,
        known: impl FnOnce() -> Option<Position>,
    ) -> (Vec<u8>, Position) {
        let place = capture.place;
        if let Some(body) = capture.body {
            return (body, place);
        }
        let referred = capture.referred.as_ref();
        let read = referred.and_then(|referred| self.places.get(&referred.digest?).copied());
        let here = read.or_else(known);
        let here = here.and_then(|earlier| Some((self.body_at(earlier)?, earlier)));
        let elsewhere = || {
            let read = |block: &mut dyn BufRead| Some(self.answer(block)?.1);
            Some((self.archive.earlier.read(referred?, read)?, place))
        };
        here.or_else(elsewhere).unwrap_or((Vec::new(), place))
    }

    fn body_at(&self, place: Position) -> Option<Vec<u8>> {
        let mut files = self.archive.files.iter();
        let file = files.find(|file| file.serial == place.serial)?;
        let mut reader = WarcReader::seek(file.open().ok()?, place.offset).ok()?;
        let header = reader.next_record()?.ok()?;
        let is_it = header.kind() == RecordKind::Response;
        is_it.then(|| Some(self.answer(reader.block())?.1))?
    }

    /// The head and the decoded body of an answer, as far as it can be decoded and is wanted.
    fn answer(&self, block: impl BufRead) -> Option<(Vec<u8>, Vec<u8>)> {
        let (message, rest) = http::split(block).ok()?;
        let head = HttpHead::parse(&message);
        let payload = http::payload(head, rest);
        let mut body = Vec::new();
        let decoded = http::decoded(&head.content_codings(), payload, u64::MAX).ok()?;
        // A body that breaks off has words before it does.
        let most = self.needs.body.unwrap_or(0);
        let _ = decoded.take(most).read_to_end(&mut body);
        Some((message, body))
    }

    fn step(&mut self) -> Result<Option<WalkedPage>, PagesError> {
        let next = self.next.take();
        if let Some(page) = self.completed(next, None) {
            return Ok(Some(page));
        }
        while let Some(file) = self.archive.files.get(self.file) {
            if self.records.is_none() {
                self.open(file)?;
            }
            while let Some(header) = self.header(file)? {
                if let Some(page) = self.record(&header, file)? {
                    return Ok(Some(page));
                }
            }
            if let Some(page) = self.waiting.take() {
                return Ok(Some(page));
            }
            // The place stays in this file as long as none follows it: it may grow.
            self.records = None;
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

    fn open(&mut self, file: &ArchiveFile) -> Result<(), PagesError> {
        let failed = |source| failed(file, source);
        let is_begun = file.serial == self.at.serial;
        let offset = if is_begun { self.at.offset } else { 0 };
        let mut input = file.open().map_err(failed)?;
        self.is_ours = is_by_a_crawl(&mut input);
        let records = FileRecords::between(input, offset, file.end);
        self.records = Some(records.map_err(failed)?);
        Ok(())
    }

    /// The next record of the file that is committed; damage is passed and counted.
    fn header(&mut self, file: &ArchiveFile) -> Result<Option<Header>, PagesError> {
        let Some(records) = &mut self.records else {
            return Ok(None);
        };
        loop {
            match records.next_record().map_err(|error| failed(file, error))? {
                Ok(next) => return Ok(next),
                Err(_) => self.damaged += 1,
            }
        }
    }

    /// Takes a record in; a metadata record completes a page, of a rendered one the DOM behind it.
    fn record(
        &mut self,
        header: &Header,
        file: &ArchiveFile,
    ) -> Result<Option<WalkedPage>, PagesError> {
        let Some(mut records) = self.records.take() else {
            return Ok(None);
        };
        let dom = self.dom(header, &mut records);
        let found = self.take_in(header, file, &mut records);
        let ending = records.end().map_err(|error| failed(file, error))?;
        self.records = Some(records);
        let Ok(ending) = ending else {
            self.damaged += 1;
            return Ok(self.waiting.take());
        };
        self.at = Position {
            serial: file.serial,
            offset: ending.offset + ending.length,
        };
        let position = self.at;
        let page = found.map(|(record, links, capture)| WalkedPage {
            record,
            capture,
            links,
            rendered: None,
            position,
        });
        Ok(self.completed(page, dom))
    }

    /// The DOM of the page that waits, if a record holds it.
    fn dom(&self, header: &Header, records: &mut FileRecords<Section>) -> Option<Vec<u8>> {
        let page = self.waiting.as_ref()?;
        if !is_rendered(header, page.record.url.as_str()) {
            return None;
        }
        let mut dom = Vec::new();
        let mut block = records.block().take(self.needs.body.unwrap_or(0));
        block.read_to_end(&mut dom).ok()?;
        Some(dom)
    }

    /// Which page is complete when one was read, or the DOM of the one that waits.
    fn completed(&mut self, page: Option<WalkedPage>, dom: Option<Vec<u8>>) -> Option<WalkedPage> {
        if let Some(mut waiting) = self.waiting.take() {
            if dom.is_some() {
                waiting.position = self.at;
                waiting.rendered = dom;
            }
            self.next = page;
            return Some(waiting);
        }
        let page = page?;
        let needs = self.needs;
        if needs.rendered && needs.body.is_some() && page.record.is_rendered() {
            self.waiting = Some(page);
            return None;
        }
        Some(page)
    }

    fn take_in(
        &mut self,
        header: &Header,
        file: &ArchiveFile,
        records: &mut FileRecords<Section>,
    ) -> Option<(Record, Vec<Link>, Option<WalkedCapture>)> {
        let place = Position {
            serial: file.serial,
            offset: records.offset(),
        };
        match header.kind() {
            RecordKind::Response if !self.is_ours => {
                let mut block = Vec::new();
                // What can be read of a damaged one is told; that it is damaged, by its end.
                let _ = records.block().take(LONGEST_BLOCK).read_to_end(&mut block);
                let keys = Keyer::new(0, &[]);
                let derived = (self.read_answer)(&keys, header, &mut block.as_slice())?;
                let capture = self.captured(header, place, &block[..]);
                Some((derived.record, derived.links, Some(capture)))
            }
            RecordKind::Response => {
                self.capture = Some(self.captured(header, place, records.block()));
                self.remember(header, place);
                None
            }
            RecordKind::Revisit => {
                let head = http::split(records.block()).map(|(head, _)| head);
                self.capture = Some(WalkedCapture {
                    head: head.unwrap_or_default(),
                    referred: Referred::new(header),
                    ..WalkedCapture::new(header, place)
                });
                None
            }
            RecordKind::Metadata => {
                let capture = self.capture.take();
                let concurrent = header.uri("WARC-Concurrent-To");
                let capture = capture.filter(|capture| concurrent == Some(capture.id.as_str()));
                if self.needs.links {
                    let noted = metadata::metadata(records.block()).ok().flatten()?;
                    return Some((noted.record, noted.links, capture));
                }
                let record = metadata::record(records.block())?;
                Some((record, Vec::new(), capture))
            }
            _ => None,
        }
    }

    fn captured(&self, header: &Header, place: Position, block: impl BufRead) -> WalkedCapture {
        let answer = self.needs.body.and_then(|_| self.answer(block));
        let (head, body) = answer.map_or((Vec::new(), None), |(head, body)| (head, Some(body)));
        WalkedCapture {
            head,
            body,
            ..WalkedCapture::new(header, place)
        }
    }

    fn remember(&mut self, header: &Header, place: Position) {
        if let Some(digest) = header.payload_digest() {
            if self.places.len() == MOST_PLACES {
                self.places.clear();
            }
            self.places.insert(digest, place);
        }
    }
}

impl Iterator for ArchiveWalk<'_> {
    type Item = Result<WalkedPage, PagesError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

fn failed(file: &ArchiveFile, source: io::Error) -> PagesError {
    PagesError::Io {
        path: file.path.clone(),
        source,
    }
}

/// Whether a crawl of ours wrote a file, as its first record tells.
fn is_by_a_crawl(file: &mut Section) -> bool {
    let mut records = FileRecords::whole(file);
    let first = records.next_record();
    let is_info = matches!(first, Ok(Ok(Some(header))) if header.kind() == RecordKind::WarcInfo);
    is_info && is_ours(&records.info())
}
