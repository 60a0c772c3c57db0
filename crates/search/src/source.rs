//! Pages out of a job's archive, as changes of an index.
//!
//! Owns what is done about a page that is new, changed or vanished. Which records make a page and
//! in what order they come is the business of `clewline-job`. Invariant: reading from a place that
//! a step named goes on with the step after it.

use clewline_job::archive::Position;
use clewline_job::log::Offset;
use clewline_job::pages::{ArchiveWalk, CommittedArchive, PageNeeds, WalkedCapture, WalkedPage};
use clewline_job::rebuild::ReadAnswer;
use clewline_job::record::{OutcomeKind, Record};
use clewline_warc::Moment;
use xxhash_rust::xxh3::xxh3_64;

use crate::document::Document;
use crate::error::SearchError;
use crate::fold::{Likeness, address_of};
use crate::page::PageText;
use crate::rank::folded;

/// Bytes of a body that are decoded; what follows is not read.
const MOST_DECODED: u64 = 8 * 1024 * 1024;
/// The media type of a rendered DOM, and of answers that name none.
const HTML: &str = "text/html";
/// The digest of what has none.
const UNKNOWN: u64 = 0;

/// What a settled URL means to an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IndexChange {
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
pub(crate) struct SourceStep {
    /// What changed.
    pub(crate) change: IndexChange,
    /// The place after it, as an offset of the archive's log.
    pub(crate) position: u64,
}

/// Reads the pages of an archive.
pub(crate) struct PageSource<'a> {
    walk: ArchiveWalk<'a>,
    /// Where an earlier run captured a digest.
    known: &'a dyn Fn(u64) -> Option<u64>,
}

impl<'a> PageSource<'a> {
    /// Reads from a place on. `known` tells where an earlier run captured a digest.
    pub(crate) fn new(
        archive: &'a CommittedArchive,
        from: Position,
        known: &'a dyn Fn(u64) -> Option<u64>,
        read_answer: &'a ReadAnswer<'a>,
    ) -> Self {
        let needs = PageNeeds {
            body: Some(MOST_DECODED),
            rendered: true,
            links: false,
        };
        Self {
            walk: ArchiveWalk::new(archive, from, needs, read_answer),
            known,
        }
    }

    /// Damaged places that were passed.
    pub(crate) fn damaged(&self) -> u64 {
        self.walk.damaged()
    }

    /// The file in which the last step lies.
    pub(crate) fn file_name(&self) -> String {
        self.walk.file_name()
    }

    fn step(&mut self) -> Result<Option<SourceStep>, SearchError> {
        let Some(page) = self.walk.next().transpose()? else {
            return Ok(None);
        };
        let WalkedPage {
            record,
            capture,
            rendered,
            position,
            ..
        } = page;
        Ok(Some(SourceStep {
            change: self.change(&record, capture, rendered.as_deref()),
            position: position.offset().0,
        }))
    }

    fn change(
        &self,
        record: &Record,
        capture: Option<WalkedCapture>,
        rendered: Option<&[u8]>,
    ) -> IndexChange {
        let is_page = match record.outcome {
            OutcomeKind::Fetched => record
                .status
                .is_none_or(|status| (200..300).contains(&status)),
            // The page is what it was in an earlier crawl.
            OutcomeKind::Unmodified => true,
            OutcomeKind::Redirected => false,
            OutcomeKind::Skipped | OutcomeKind::Failed => return IndexChange::Keep,
        };
        let media_type = record.content_type.as_deref().unwrap_or(HTML);
        let Some(capture) = capture.filter(|_| is_page && PageText::has_words(media_type)) else {
            return remove(record);
        };
        if record.noindex {
            return remove(record);
        }
        let (digest, date) = (digest_of(record), capture.date);
        let known = || {
            let place = (self.known)(digest).filter(|_| digest != UNKNOWN);
            place.map(|place| Position::new(Offset(place)))
        };
        let (body, place) = self.walk.body(capture, known);
        let url = record.url.to_url();
        let page = match rendered {
            Some(dom) => PageText::read(dom, HTML, None, &url),
            None => PageText::read(&body, media_type, record.charset.as_deref(), &url),
        };
        // Pages of an application are often the same bytes, and differ by what scripts show.
        let digest = rendered.map_or(digest, xxh3_64);
        let fetched_at = Moment::parse(&record.fetched_at).or(date);
        let title = record.title.clone().filter(|_| page.title.is_empty());
        IndexChange::Put(Box::new(Document {
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
            place: place.offset().0,
        }))
    }
}

impl Iterator for PageSource<'_> {
    type Item = Result<SourceStep, SearchError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

fn remove(record: &Record) -> IndexChange {
    IndexChange::Remove {
        url: record.url.as_str().to_owned(),
        is_asked: record.noindex,
    }
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
