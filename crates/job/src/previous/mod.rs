//! The archive of an earlier crawl, asked for what it holds of a URL.
//!
//! Owns the way from a URL through the index of an archive to its last capture and to the one with
//! its payload, and the comparison of two indexes. It refuses to know requests and crawls.
//! Everything is looked up where it lies; a bounded table of places in the index is held in memory.

mod compare;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use clewline_core::url::CrawlUrl;
use clewline_warc::cdxj::{Capture, CdxjFences, CdxjIndex};
use clewline_warc::http;
use clewline_warc::read::{Header, ReadError, WarcReader};
use clewline_warc::{Digest, Moment, RecordKind};

use crate::archive::{FOLDER, SORTED};
use crate::metadata::{self, Noted};

pub use compare::{Extent, compare};

/// Records among which the metadata record of a capture stands: the capture, its request, the metadata
/// record, and one more.
const BEHIND: usize = 4;

/// An archive that is complete and has an index.
#[derive(Debug, Clone)]
pub struct IndexedArchive {
    folder: PathBuf,
    /// Made by the first look-up.
    fences: Arc<OnceLock<Arc<CdxjFences>>>,
}

/// The last capture of a URL.
#[derive(Debug, Clone)]
pub struct LastCapture {
    /// The head of the answer, as it was recorded.
    pub head: Vec<u8>,
    /// The URL of the capture with the payload.
    pub target: Box<str>,
    /// When that was made.
    pub date: Moment,
    /// The digest of the payload, if it is known.
    pub digest: Option<Digest>,
    /// The capture itself, and the one with the payload if that is in the same archive.
    place: CapturePlace,
    payload: Option<CapturePlace>,
    /// What follows the capture itself, if the index tells how long that is.
    behind: Option<CapturePlace>,
}

/// Where a record begins.
#[derive(Debug, Clone)]
struct CapturePlace {
    file: PathBuf,
    offset: u64,
}

type Input = WarcReader<BufReader<File>>;

impl IndexedArchive {
    /// Opens the archive in a job folder, or a folder of WARC files; nothing without an index.
    pub fn open(folder: &Path) -> Option<Self> {
        let archive = Self::within(folder);
        archive.index().is_file().then_some(archive)
    }

    /// The same, whether there is an index or not.
    pub(crate) fn within(folder: &Path) -> Self {
        let archive = folder.join(FOLDER);
        let folder = if archive.is_dir() {
            archive
        } else {
            folder.to_path_buf()
        };
        Self {
            folder,
            fences: Arc::default(),
        }
    }

    /// Where its files are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file with the index.
    pub fn index(&self) -> PathBuf {
        self.folder.join(SORTED)
    }

    /// The index, opened.
    fn look_up(&self) -> io::Result<CdxjIndex> {
        let mut index = CdxjIndex::open(&self.index())?;
        let fences = if let Some(fences) = self.fences.get() {
            fences
        } else {
            let made = Arc::new(index.fences()?);
            self.fences.get_or_init(|| made)
        };
        Ok(index.fenced(Arc::clone(fences)))
    }

    /// The last capture of a URL, if the page was there and its answer is whole.
    pub fn last(&self, url: &CrawlUrl) -> io::Result<Option<LastCapture>> {
        let mut last = None;
        self.look_up()?.each(url.as_str(), |capture| {
            if capture.url == url.as_str() {
                last = Some(capture);
            }
            true
        })?;
        let Some(capture) = last.filter(is_usable) else {
            return Ok(None);
        };
        let Some((header, mut reader)) = self.place(&capture).and_then(|place| place.record())
        else {
            return Ok(None);
        };
        if header.value("WARC-Truncated").is_some() {
            return Ok(None);
        }
        let (head, _) = http::split(reader.block())?;
        Ok(self.last_capture(url, &capture, &header, head))
    }

    fn last_capture(
        &self,
        url: &CrawlUrl,
        capture: &Capture,
        header: &Header,
        head: Vec<u8>,
    ) -> Option<LastCapture> {
        let place = self.place(capture)?;
        let digest = Digest::parse(&capture.digest);
        let behind = (capture.length > 0).then(|| CapturePlace {
            offset: place.offset.saturating_add(capture.length),
            ..place.clone()
        });
        if header.kind() != RecordKind::Revisit {
            return Some(LastCapture {
                head,
                target: url.as_str().into(),
                date: header.date()?,
                digest,
                payload: Some(place.clone()),
                place,
                behind,
            });
        }
        let target = header.uri("WARC-Refers-To-Target-URI")?;
        let date = header.value("WARC-Refers-To-Date");
        Some(LastCapture {
            head,
            target: target.into(),
            date: date.and_then(Moment::parse)?,
            payload: self
                .payload(target, |other| *other == capture.digest)
                .ok()
                .flatten(),
            digest,
            place,
            behind,
        })
    }

    /// The first capture of a URL that holds a payload. All that have it are the same.
    fn payload(
        &self,
        url: &str,
        is_same: impl Fn(&String) -> bool,
    ) -> io::Result<Option<CapturePlace>> {
        let mut found = None;
        self.look_up()?.each(url, |capture| {
            let is_holder = !capture.is_revisit() && is_same(&capture.digest);
            if is_holder && capture.url == url {
                found = self.place(&capture);
            }
            found.is_none()
        })?;
        Ok(found)
    }

    /// Reads the block of the capture of a URL that holds a payload; nothing if it is not there.
    pub(crate) fn read_payload<T>(
        &self,
        url: &str,
        digest: Digest,
        read: impl FnOnce(&mut dyn BufRead) -> Option<T>,
    ) -> Option<T> {
        let is_same = |other: &String| Digest::parse(other) == Some(digest);
        let (header, mut reader) = self.payload(url, is_same).ok()??.record()?;
        let is_it = header.kind() == RecordKind::Response && header.target() == Some(url);
        is_it.then(|| read(&mut reader.block()))?
    }

    /// Where a capture lies.
    fn place(&self, capture: &Capture) -> Option<CapturePlace> {
        Some(CapturePlace {
            file: capture.file_in(&self.folder)?,
            offset: capture.offset,
        })
    }
}

impl CapturePlace {
    /// The record that begins here; none if it cannot be read, as if there were no capture.
    fn record(&self) -> Option<(Header, Input)> {
        let file = BufReader::new(File::open(&self.file).ok()?);
        let mut reader = WarcReader::seek(file, self.offset).ok()?;
        let header = reader.next_record()?.ok()?;
        Some((header, reader))
    }

    /// The notes on a URL that begin here or shortly behind.
    fn notes(&self, url: &CrawlUrl) -> Option<Noted> {
        let (mut header, mut reader) = self.record()?;
        for _ in 0..BEHIND {
            if header.kind() == RecordKind::Metadata && header.target() == Some(url.as_str()) {
                return metadata::metadata(reader.block()).ok().flatten();
            }
            header = match reader.next_record()? {
                Ok(header) => header,
                Err(ReadError::Input { .. }) => return None,
                Err(_) => continue,
            };
        }
        None
    }
}

impl LastCapture {
    /// Reads the block with the payload; nothing if it lies elsewhere or is damaged.
    pub fn read_payload<T>(&self, read: impl FnOnce(&mut dyn BufRead) -> Option<T>) -> Option<T> {
        let (_, mut reader) = self.payload.as_ref()?.record()?;
        let found = read(&mut reader.block())?;
        reader.end().ok()?;
        Some(found)
    }

    /// What the crawl noted of the URL behind its capture.
    pub fn notes(&self, url: &CrawlUrl) -> Option<Noted> {
        let behind = self.behind.as_ref();
        behind
            .and_then(|place| place.notes(url))
            .or_else(|| self.place.notes(url))
    }
}

/// Only a page that was there can be unchanged.
fn is_usable(capture: &Capture) -> bool {
    capture.status == "200" || (capture.is_revisit() && capture.status == "304")
}
