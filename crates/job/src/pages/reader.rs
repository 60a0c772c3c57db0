//! What is there of a page beside its record, found by the index of an archive.
//!
//! Owns which capture is that of a record, how much of it is read, and where its links stand. It
//! is asked on any thread. Invariant: of a body no more is held than was asked for.

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use clewline_core::link::Link;
use clewline_core::url::CrawlUrl;
use clewline_warc::cdxj::Capture;
use clewline_warc::{Digest, Hasher, MediaType, Moment};
use thiserror::Error;

use super::{JobPage, PageNeeds};
use crate::archive::{
    Archive, ArchivedCapture, CaptureContent, ContentError, OpenError, is_archive,
};
use crate::charset::text_of;
use crate::metadata;
use crate::record::Record;

/// Why the answer of a page cannot be read.
#[derive(Debug, Error)]
pub enum AnswerError {
    /// Nothing was captured, or not in these files.
    #[error("the archive has no capture of it")]
    NoCapture,
    /// The capture.
    #[error(transparent)]
    Content(#[from] ContentError),
}

/// An answer, as far as it is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageAnswer {
    /// The head as it was recorded.
    pub head: Vec<u8>,
    /// The body as the server meant it.
    pub body: Vec<u8>,
    /// The DOM that a browser made of it, in UTF-8, if that is wanted and there.
    pub rendered: Option<Vec<u8>>,
    /// Where the archive has it; nothing if it was read in passing.
    pub provenance: Option<Provenance>,
}

impl PageAnswer {
    /// The text of the page: that of the DOM that a browser made of it, else that of the body.
    pub fn text(&self, charset: Option<&str>) -> Cow<'_, str> {
        match &self.rendered {
            Some(dom) => String::from_utf8_lossy(dom),
            None => text_of(&self.body, charset),
        }
    }
}

/// Where a capture stands, so that others can look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// When it was captured: UTC, RFC 3339, seconds.
    pub captured: String,
    /// The digest of its payload, with the name of the algorithm.
    pub digest: String,
    /// The file of the archive, without its folder.
    pub file: String,
    /// Where its record begins in the file.
    pub offset: u64,
}

/// A capture that was looked for by its URL.
#[derive(Debug, Clone)]
pub struct FoundCapture {
    /// The record that the crawl wrote behind it; nothing in archives of others.
    pub record: Option<Record>,
    /// The media type that the server named now; empty if it named none.
    named_type: String,
    /// The encoding of its text, if it is known.
    pub charset: Option<String>,
    /// Head, body and place.
    pub answer: PageAnswer,
    /// Where it stands.
    pub provenance: Provenance,
}

impl FoundCapture {
    /// The media type: that of the record, else the one that the head names; empty if none is known.
    pub fn media_type(&self) -> &str {
        let known = self
            .record
            .as_ref()
            .and_then(|record| record.content_type.as_deref());
        known.unwrap_or(&self.named_type)
    }
}

/// Reads pages of a job's archive and of the archives that it refers to, in any order.
#[derive(Debug)]
pub struct PageReader {
    archive: Archive,
}

impl PageReader {
    /// Opens the archive of a job, and those of earlier crawls that are still there.
    pub(super) fn open(job: &Path, earlier: &[PathBuf]) -> Result<Self, OpenError> {
        let earlier = earlier.iter().filter(|folder| is_archive(folder)).cloned();
        let paths: Vec<_> = [job.to_owned()].into_iter().chain(earlier).collect();
        Ok(Self {
            archive: Archive::open(&paths)?,
        })
    }

    /// The answer that a record tells of, with so many bytes of its body at the most.
    pub fn answer(&self, record: &Record, most: u64) -> Result<PageAnswer, AnswerError> {
        let found = self.find_settled(record)?;
        let content = self.archive.read(&found)?;
        self.read(&found, content, most)
    }

    /// The capture that a record tells of.
    fn find_settled(&self, record: &Record) -> Result<ArchivedCapture, AnswerError> {
        let url = record.url.as_str();
        let status = record.status.map(|status| status.to_string());
        let is_it = |capture: &Capture| {
            let is_same = |status: &String| *status == capture.status;
            capture.url == url && status.as_ref().is_none_or(is_same)
        };
        let found = self.archive.best(url, None, is_it);
        let found = found.map_err(ContentError::from)?;
        found.ok_or(AnswerError::NoCapture)
    }

    /// The answer that a record tells of, and the DOM that a browser made of it, where there is one.
    pub fn rendered_answer(&self, record: &Record, most: u64) -> Result<PageAnswer, AnswerError> {
        let found = self.find_settled(record)?;
        let content = self.archive.read(&found)?;
        let mut answer = self.read(&found, content, most)?;
        answer.rendered = self.dom(&found, Some(record), most);
        Ok(answer)
    }

    /// The DOM that a browser made of a captured page; one that is damaged is as good as none.
    fn dom(&self, found: &ArchivedCapture, record: Option<&Record>, most: u64) -> Option<Vec<u8>> {
        record.filter(|record| record.is_rendered())?;
        self.archive.rendered(found, most).ok()?
    }

    fn read(
        &self,
        found: &ArchivedCapture,
        content: CaptureContent,
        most: u64,
    ) -> Result<PageAnswer, AnswerError> {
        let head = content.head().as_bytes().to_vec();
        let decoded = content.decoded().map_err(ContentError::from)?;
        let mut body = Vec::new();
        match decoded.take(most).read_to_end(&mut body) {
            // A body that breaks off has words before it does.
            Err(error) if body.is_empty() => Err(ContentError::from(error).into()),
            _ => Ok(PageAnswer {
                head,
                body,
                rendered: None,
                provenance: Some(self.provenance(found)),
            }),
        }
    }

    fn provenance(&self, found: &ArchivedCapture) -> Provenance {
        let capture = &found.capture;
        let place = self.archive.places().get(found.place);
        Provenance {
            captured: captured(&capture.timestamp),
            digest: capture.digest.clone(),
            file: place.map_or_else(String::new, |place| place.name.clone()),
            offset: capture.offset,
        }
    }

    /// The capture of a URL that is closest to a time, the latest without one, among those that fit;
    /// with so many bytes of its body, and of the DOM that a browser made of it, at the most.
    pub fn capture(
        &self,
        url: &str,
        at: Option<Moment>,
        most: u64,
        fits: impl Fn(&Provenance) -> bool,
    ) -> Result<FoundCapture, AnswerError> {
        let found = self.find(url, at, fits)?;
        let notes = self.archive.notes(&found)?;
        let record = notes.and_then(|block| metadata::record(&block[..]));
        let content = self.archive.read(&found)?;
        let named = content.content_type().unwrap_or_default();
        let media = MediaType::parse(named.as_bytes());
        let known = record.as_ref().and_then(|record| record.charset.clone());
        let charset = known.or_else(|| {
            media
                .charset()
                .map(|label| String::from_utf8_lossy(label).into_owned())
        });
        let mut answer = self.read(&found, content, most)?;
        answer.rendered = self.dom(&found, record.as_ref(), most);
        Ok(FoundCapture {
            named_type: media.essence().unwrap_or_default(),
            charset,
            provenance: self.provenance(&found),
            record,
            answer,
        })
    }

    fn find(
        &self,
        url: &str,
        at: Option<Moment>,
        fits: impl Fn(&Provenance) -> bool,
    ) -> Result<ArchivedCapture, AnswerError> {
        let mut captures = self.archive.captures(url).map_err(ContentError::from)?;
        captures.retain(|found| found.capture.url == url && fits(&self.provenance(found)));
        let distance = |found: &ArchivedCapture| {
            let time = Moment::from_timestamp(&found.capture.timestamp).map_or(0, Moment::seconds);
            time.abs_diff(at.map_or(i64::MAX, Moment::seconds))
        };
        captures
            .into_iter()
            .min_by_key(distance)
            .ok_or(AnswerError::NoCapture)
    }

    /// Whether the payload of a capture is the one that its digest was made of. Some programs made
    /// it of the body with its chunks.
    pub fn is_sound(&self, url: &str, provenance: &Provenance) -> Result<bool, AnswerError> {
        let Some(expected) = Digest::parse(&provenance.digest) else {
            return Ok(false);
        };
        let found = self.find(url, None, |other| other == provenance)?;
        let content = self.archive.read(&found)?;
        if digest_of(content.payload(), &expected).map_err(ContentError::from)? == expected {
            return Ok(true);
        }
        let (_, body) = self.archive.read(&found)?.exact();
        Ok(digest_of(body, &expected).map_err(ContentError::from)? == expected)
    }

    /// Where a page points, as the metadata record behind its capture tells. What is damaged or
    /// missing tells nothing.
    pub fn links(&self, url: &CrawlUrl) -> Vec<Link> {
        self.noted_links(url.as_str()).unwrap_or_default()
    }

    fn noted_links(&self, url: &str) -> Option<Vec<Link>> {
        let found = self.archive.best(url, None, |capture| capture.url == url);
        let block = self.archive.notes(&found.ok()??).ok()??;
        Some(metadata::metadata(&block[..]).ok()??.links)
    }

    /// Adds what is wanted to a page of which there is the record.
    pub(super) fn fill(&self, page: &mut JobPage, needs: PageNeeds) {
        page.answer = needs.body.map(|most| {
            if needs.rendered {
                self.rendered_answer(&page.record, most)
            } else {
                self.answer(&page.record, most)
            }
        });
        if needs.links {
            page.links = self.links(&page.record.url);
        }
    }
}

/// The fourteen digits of an index as RFC 3339 has them.
fn captured(digits: &str) -> String {
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or("00");
    let (date, clock) = (
        (part(0, 4), part(4, 6), part(6, 8)),
        (part(8, 10), part(10, 12), part(12, 14)),
    );
    format!(
        "{}-{}-{}T{}:{}:{}Z",
        date.0, date.1, date.2, clock.0, clock.1, clock.2
    )
}

/// The digest of what is read, by the algorithm of another one.
fn digest_of(mut input: impl Read, like: &Digest) -> io::Result<Digest> {
    let mut hasher = Hasher::new(like.algorithm());
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match input.read(&mut buffer)? {
            0 => return Ok(hasher.finish()),
            count => hasher.update(&buffer[..count]),
        }
    }
}
