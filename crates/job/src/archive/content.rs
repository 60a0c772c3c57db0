//! What a capture holds.
//!
//! Owns the way from a place in a file to a head and a body: a revisit leads to the capture with
//! its payload, chunks and content codings come off. Refuses to know what the body means.
//! Invariant: no more than a limit is ever held; the rest streams.

use std::io::{self, BufReader, Read};

use clewline_warc::cdxj::Capture;
use clewline_warc::http::{self, HttpHead};
use clewline_warc::read::{Header, ReadError, WarcReader};
use clewline_warc::{MediaType, Moment, RecordKind};

use super::open::{Archive, ArchivedCapture};
use super::section::Section;
use super::{PICTURED, RENDERED, THUMBNAIL};

/// The status of an answer that says that nothing changed (RFC 9110 section 15.4.5).
const NOT_MODIFIED: u16 = 304;
/// The most that a body may decode to.
pub const LARGEST: u64 = 4 << 30;

/// Records behind a capture that belong to it: request, metadata, rendered DOM, two pictures.
const BEHIND: usize = 5;
/// Bytes of a thumbnail; a browser's are smaller.
const LARGEST_THUMBNAIL: u64 = 64 * 1024;
/// How a JPEG begins.
const JPEG: &[u8] = b"\xff\xd8\xff";
/// Bytes that are read of a metadata record.
const MOST_NOTED: u64 = 64 << 20;

/// What [`HttpHead::codings`] says of a body that is not coded.
const UNCODED: &str = "-/-";

/// Why a capture cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContentError {
    /// The record is damaged or cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file cannot be read, or the body does not decode.
    #[error(transparent)]
    Input(#[from] io::Error),
    /// The index leads to no record, or to one of another URL.
    #[error("the index does not lead to the record of {url}; make the index anew")]
    Astray {
        /// What was looked for.
        url: String,
    },
    /// The payload of a revisit is in no file here.
    #[error("the capture repeats one of {url} that is not in these files")]
    NoOriginal {
        /// What it repeats.
        url: String,
    },
}

/// A capture's message: the head as it was recorded, and the body, not read yet.
pub struct CaptureContent {
    head: Vec<u8>,
    is_http: bool,
    media_type: String,
    body: Box<dyn Read>,
    /// How long the body is, if nothing codes it.
    length: Option<u64>,
}

impl Archive {
    /// Opens a capture.
    pub fn read(&self, held: &ArchivedCapture) -> Result<CaptureContent, ContentError> {
        let content = self.read_record(held)?;
        if !held.capture.is_revisit() {
            return Ok(content);
        }
        if content.head().status() == Some(NOT_MODIFIED)
            && let Some(last) = self.last_answer(&held.capture)?
        {
            let content = self.read_record(&last)?;
            return self.with_payload(content, &last.capture);
        }
        self.with_payload(content, &held.capture)
    }

    /// The answer that a 304 repeats, where that is a revisit, too: same body, but its own head.
    fn last_answer(&self, revisit: &Capture) -> Result<Option<ArchivedCapture>, ContentError> {
        let at = Moment::from_timestamp(&revisit.timestamp);
        let is_before = |other: &Capture| {
            let is_answer = other.status != NOT_MODIFIED.to_string();
            is_answer && other.digest == revisit.digest && other.timestamp <= revisit.timestamp
        };
        let found = self.best(&revisit.url, at, is_before)?;
        Ok(found.filter(|found| found.capture.is_revisit()))
    }

    /// What a revisit says, with the body that it repeats.
    fn with_payload(
        &self,
        content: CaptureContent,
        revisit: &Capture,
    ) -> Result<CaptureContent, ContentError> {
        let original = self.original(revisit)?;
        let with_body = self.read_record(&original)?;
        // Writers may leave the head of a revisit out, and a 304 is no head of this body.
        if matches!(content.head().status(), None | Some(NOT_MODIFIED)) {
            return Ok(with_body);
        }
        Ok(CaptureContent {
            length: with_body.length,
            // The framing is the business of the record with the body.
            body: with_body.payload(),
            head: without_framing(&content.head),
            ..content
        })
    }

    /// The capture whose payload a revisit repeats.
    fn original(&self, revisit: &Capture) -> Result<ArchivedCapture, ContentError> {
        let url = match revisit.refers_to_url.as_str() {
            "" => &revisit.url,
            url => url,
        };
        let at = Moment::from_timestamp(&revisit.refers_to_date)
            .or_else(|| Moment::from_timestamp(&revisit.timestamp));
        let is_same = |other: &Capture| !other.is_revisit() && other.digest == revisit.digest;
        let found = self.best(url, at, is_same)?;
        found.ok_or_else(|| ContentError::NoOriginal {
            url: url.to_owned(),
        })
    }

    /// The block of the metadata record that a crawl wrote behind a capture, if there is one;
    /// the capture itself is not read.
    pub fn notes(&self, held: &ArchivedCapture) -> Result<Option<Vec<u8>>, ContentError> {
        let is_it = |record: &Header| {
            let is_of_it = record.target() == Some(held.capture.url.as_str());
            record.kind() == RecordKind::Metadata && is_of_it
        };
        self.behind(held, MOST_NOTED, is_it)
    }

    /// So many bytes at the most of the DOM that a browser made of the page of a capture, which is
    /// UTF-8; nothing if there is none behind it.
    pub fn rendered(
        &self,
        held: &ArchivedCapture,
        most: u64,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        self.behind(held, most, |record| is_rendered(record, &held.capture.url))
    }

    /// The small picture that a browser took of the page of a capture, as JPEG, if there is one.
    pub fn thumbnail(&self, held: &ArchivedCapture) -> Result<Option<Vec<u8>>, ContentError> {
        let is_it = |record: &Header| is_view(record, THUMBNAIL, &held.capture.url);
        let found = self.behind(held, LARGEST_THUMBNAIL, is_it)?;
        Ok(found.filter(|bytes| bytes.starts_with(JPEG)))
    }

    /// The beginning of the block of one of the records that a crawl wrote behind a capture.
    fn behind(
        &self,
        held: &ArchivedCapture,
        most: u64,
        is_it: impl Fn(&Header) -> bool,
    ) -> Result<Option<Vec<u8>>, ContentError> {
        let capture = &held.capture;
        let Some(place) = self.places().get(held.place) else {
            return Ok(None);
        };
        let behind = capture.offset.saturating_add(capture.length);
        if behind >= place.length {
            return Ok(None);
        }
        let mut reader = WarcReader::seek(BufReader::new(place.open()?), behind)?;
        for _ in 0..BEHIND {
            let Some(record) = reader.next_record().transpose()? else {
                return Ok(None);
            };
            if is_it(&record) {
                let mut block = Vec::new();
                reader.block().take(most).read_to_end(&mut block)?;
                return Ok(Some(block));
            }
            if matches!(record.kind(), RecordKind::Response | RecordKind::Revisit) {
                break;
            }
        }
        Ok(None)
    }

    fn read_record(&self, held: &ArchivedCapture) -> Result<CaptureContent, ContentError> {
        let astray = || ContentError::Astray {
            url: held.capture.url.clone(),
        };
        let place = self.places().get(held.place).ok_or_else(astray)?;
        let input = BufReader::new(place.open()?);
        let mut reader = WarcReader::seek(input, held.capture.offset)?;
        let record = reader.next_record().ok_or_else(astray)??;
        if record.target() != Some(held.capture.url.as_str()) {
            return Err(astray());
        }
        let (is_http, media_type) = (record.is_http(), held.capture.mime.clone());
        let block = Block { reader };
        let mut content = CaptureContent {
            head: Vec::new(),
            is_http,
            media_type,
            body: Box::new(io::empty()),
            length: Some(record.length()),
        };
        if is_http {
            let (message, rest) = http::split(BufReader::new(block))?;
            let length = record.length().checked_sub(message.len() as u64);
            content.length = length.filter(|_| HttpHead::parse(&message).codings() == UNCODED);
            (content.head, content.body) = (message, Box::new(rest));
        } else {
            content.body = Box::new(block);
        }
        Ok(content)
    }
}

impl CaptureContent {
    /// The head as it was recorded; empty if the capture is no HTTP message.
    pub fn head(&self) -> HttpHead<'_> {
        HttpHead::parse(&self.head)
    }

    /// The status that is shown: what is no message is simply there.
    pub fn status(&self) -> u16 {
        self.head().status().unwrap_or(200)
    }

    /// The value of `Content-Type`, as text.
    pub fn content_type(&self) -> Option<String> {
        if self.is_http {
            return self.head().text("content-type");
        }
        Some(self.media_type.clone())
    }

    /// The media type without parameters, in lower case; empty if none is told.
    pub fn media_type(&self) -> String {
        let named = self.content_type().unwrap_or_default();
        MediaType::parse(named.as_bytes())
            .essence()
            .unwrap_or_default()
    }

    /// The block as it was recorded, the head apart.
    pub fn exact(self) -> (Vec<u8>, Box<dyn Read>) {
        (self.head, self.body)
    }

    /// The body with chunks taken off, in its content coding.
    pub fn payload(self) -> Box<dyn Read> {
        if !self.is_http {
            return self.body;
        }
        Box::new(http::payload(HttpHead::parse(&self.head), self.body))
    }

    /// How long the body is as the server meant it; it is read if its record does not tell.
    pub fn decoded_length(self) -> io::Result<u64> {
        match self.length {
            Some(length) => Ok(length),
            None => io::copy(&mut self.decoded()?, &mut io::sink()),
        }
    }

    /// The body as the server meant it, at most [`LARGEST`] bytes.
    pub fn decoded(self) -> io::Result<Box<dyn Read>> {
        let codings = self.head().content_codings();
        http::decoded(&codings, self.payload(), LARGEST)
    }
}

/// Whether an index names a record, if it names its kind: what a browser made of a page lies behind the
/// page's capture and is found there.
pub fn is_indexed(record: &Header) -> bool {
    let target = record.target().unwrap_or_default();
    let is_view = [RENDERED, PICTURED, THUMBNAIL]
        .iter()
        .any(|name| target.starts_with(name));
    record.kind() != RecordKind::Resource || !is_view
}

/// Whether a record holds the DOM that a browser made of the page of a URL.
pub(crate) fn is_rendered(record: &Header, url: &str) -> bool {
    is_view(record, RENDERED, url)
}

fn is_view(record: &Header, name: &str, url: &str) -> bool {
    let target = record.target();
    let page = target.and_then(|target| target.strip_prefix(name));
    record.kind() == RecordKind::Resource && page == Some(url)
}

/// A record's block that owns its reader.
struct Block {
    reader: WarcReader<BufReader<Section>>,
}

impl Read for Block {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.reader.block().read(out)
    }
}

/// A head without the fields that frame a body, for a body that has lost its framing.
fn without_framing(head: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(head.len());
    let mut is_kept = true;
    for line in head.split_inclusive(|&byte| byte == b'\n') {
        let is_folded = matches!(line.first(), Some(b' ' | b'\t'));
        if !is_folded {
            let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
            let name = name.trim_ascii();
            is_kept = !name.eq_ignore_ascii_case(b"transfer-encoding");
        }
        if is_kept {
            kept.extend_from_slice(line);
        }
    }
    kept
}
