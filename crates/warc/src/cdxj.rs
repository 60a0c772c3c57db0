//! The index of captures: CDXJ, one line for each, sorted by key and time.
//!
//! Owns the line, making lines from the records of a file, sorting them in bounded memory
//! (`sort`) and finding them by halving (`lookup`). The form is that of pywb, so either can use
//! the other's index: `key timestamp {"url": …}`, all values text.

mod lookup;
mod sort;

use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::digest::Digest;
use crate::http::{self, HttpHead};
use crate::kind::RecordKind;
use crate::moment::Moment;
use crate::read::{Header, ReadError, RecordExtent, WarcReader};
use crate::surt::surt;
use crate::write::PayloadHasher;

pub use lookup::{CdxjFences, CdxjIndex};
pub use sort::sort;

/// The name of the index beside the files of a finished archive.
pub const INDEX: &str = "index.cdxj";

/// The longest line that is read.
pub const LONGEST_LINE: u64 = 1024 * 1024;

/// The media type that marks a revisit in an index.
const REVISIT: &str = "warc/revisit";

/// A capture: what was at a URL at a time, and where it lies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// When, as fourteen digits. Stands before the other values in a line.
    #[serde(skip)]
    pub timestamp: String,
    /// The URL.
    pub url: String,
    /// The media type that the server named; `warc/revisit` for a revisit.
    #[serde(default)]
    pub mime: String,
    /// The status; `-` if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// The digest of the payload.
    #[serde(default)]
    pub digest: String,
    /// How the body is coded, as [`HttpHead::codings`] tells it. Not told for revisits, which have
    /// no body, and in other people's indexes.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub codings: String,
    /// The length of the member.
    #[serde(serialize_with = "as_text", deserialize_with = "number", default)]
    pub length: u64,
    /// Where the member begins.
    #[serde(serialize_with = "as_text", deserialize_with = "number")]
    pub offset: u64,
    /// The file, without its folder.
    pub filename: String,
    /// For a revisit: the URL of the capture with the payload, if told.
    #[serde(
        rename = "refers-to-url",
        default,
        skip_serializing_if = "String::is_empty"
    )]
    pub refers_to_url: String,
    /// For a revisit: the timestamp of the capture with the payload, if told.
    #[serde(
        rename = "refers-to-date",
        default,
        skip_serializing_if = "String::is_empty"
    )]
    pub refers_to_date: String,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands references to its functions"
)]
fn as_text<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

/// Numbers are text in pywb's indexes, and numbers in some others.
fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Text(String),
        Number(u64),
    }
    match Either::deserialize(deserializer)? {
        Either::Text(text) => text.parse().map_err(de::Error::custom),
        Either::Number(number) => Ok(number),
    }
}

impl Capture {
    /// The line without its end. It sorts as the index does, as bytes.
    pub fn line(&self) -> String {
        let values = serde_json::to_string(self).expect("names and text make JSON");
        format!("{} {} {values}", surt(&self.url), self.timestamp)
    }

    /// Reads a line. Nothing if it is none, such as the header that some indexes have.
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.trim_end().splitn(3, ' ');
        let (_, timestamp, values) = (words.next()?, words.next()?, words.next()?);
        Moment::from_timestamp(timestamp)?;
        let mut capture: Self = serde_json::from_str(values).ok()?;
        timestamp.clone_into(&mut capture.timestamp);
        Some(capture)
    }

    /// Whether the payload stands in another capture.
    pub fn is_revisit(&self) -> bool {
        self.mime == REVISIT
    }

    /// Its file in a folder. The name comes from an index that anybody may have written: one that
    /// leads out of the folder is none.
    pub fn file_in(&self, folder: &Path) -> Option<PathBuf> {
        let name = Path::new(&self.filename);
        let is_inside = name.file_name() == Some(name.as_os_str());
        is_inside.then(|| folder.join(name))
    }

    /// A capture of the record that a reader is at, which is read to its end. Nothing for kinds
    /// that no index holds, and for records that cannot be read alone.
    pub fn from_record<R: Read>(
        header: &Header,
        reader: &mut WarcReader<R>,
        filename: &str,
    ) -> Result<Option<Self>, ReadError> {
        let capture = match (header.target(), header.date()) {
            (Some(url), Some(date)) if is_indexed(header.kind()) => {
                Some(Self::begun(header, url, date))
            }
            _ => None,
        };
        let Some(mut capture) = capture else {
            return reader.end().map(|_| None);
        };
        // Damage that ends the block early is told by the end of the record.
        let described = capture.describe(header, reader.block());
        let RecordExtent {
            offset,
            length,
            is_alone,
            ..
        } = reader.end()?;
        described.map_err(|source| ReadError::Input { offset, source })?;
        filename.clone_into(&mut capture.filename);
        (capture.offset, capture.length) = (offset, length);
        Ok(is_alone.then_some(capture))
    }

    fn begun(header: &Header, url: &str, date: Moment) -> Self {
        let of_original = header.value("WARC-Refers-To-Date").and_then(Moment::parse);
        let refers_to_url = header.uri("WARC-Refers-To-Target-URI").unwrap_or_default();
        let digest = header.value("WARC-Payload-Digest").unwrap_or_default();
        Self {
            timestamp: date.timestamp(),
            url: url.to_owned(),
            mime: String::new(),
            status: String::new(),
            digest: digest.to_owned(),
            codings: String::new(),
            length: 0,
            offset: 0,
            filename: String::new(),
            refers_to_url: refers_to_url.to_owned(),
            refers_to_date: of_original.map(Moment::timestamp).unwrap_or_default(),
        }
    }

    /// Takes status and type from the message, and the digest from its payload where the header
    /// has none.
    fn describe(&mut self, header: &Header, block: impl BufRead) -> io::Result<()> {
        let is_revisit = header.kind() == RecordKind::Revisit;
        let named = || header.value("Content-Type").unwrap_or("unk").to_owned();
        if !header.is_http() {
            (self.mime, self.status) = (named(), "-".to_owned());
            if self.digest.is_empty() {
                self.digest = digest_of(block, PayloadHasher::new(false))?.to_string();
            }
            return Ok(());
        }
        let (head, body) = http::split(block)?;
        let head = HttpHead::parse(&head);
        self.status = head
            .status()
            .map_or_else(|| "-".to_owned(), |status| status.to_string());
        self.mime = head.media_type().unwrap_or_else(|| "unk".to_owned());
        if is_revisit {
            REVISIT.clone_into(&mut self.mime);
            return Ok(());
        }
        self.codings = head.codings();
        if self.digest.is_empty() {
            let hasher = PayloadHasher::new(head.is_chunked());
            self.digest = digest_of(body, hasher)?.to_string();
        }
        Ok(())
    }
}

fn is_indexed(kind: RecordKind) -> bool {
    matches!(
        kind,
        RecordKind::Response | RecordKind::Revisit | RecordKind::Resource
    )
}

fn digest_of(mut body: impl Read, mut hasher: PayloadHasher) -> io::Result<Digest> {
    let mut buffer = [0; 16 * 1024];
    loop {
        match body.read(&mut buffer)? {
            0 => return Ok(hasher.finish().digest),
            count => hasher.update(&buffer[..count]),
        }
    }
}

#[cfg(test)]
mod tests;
