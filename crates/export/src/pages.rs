//! Records with what their pages say, in the order of the log.
//!
//! Owns what is done for a page: reading its body out of the archive, and what the body says.
//! Invariants: the order is that of the log, however many threads there are; a page that breaks
//! the reader costs that page only.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use clewline_archive::Archive;
use clewline_content::{Content, ContentLimits, ItemRules, Items, ReadingSpeed, Refusal};
use clewline_job::Job;
use clewline_job::log::Offset;
use clewline_job::pages::CommittedRecords;
use clewline_job::record::Record;

use crate::bodies::body_of;
use crate::error::ExportError;
use crate::export::Work;
use crate::filter::Filter;
use crate::ordered::{Ordered, threads};
use crate::words::{Media, Words, text_of};

/// How much of a page is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Its record.
    Record,
    /// Its bytes as well.
    Body,
    /// Its words as well.
    Words(ReadingSpeed),
}

/// What was found beside a record.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Found {
    /// Nothing was wanted, or there is nothing that has words.
    Nothing,
    /// There is something, and this is why it cannot be read.
    Unreadable(String),
    Body(Vec<u8>),
    Words(Box<Words>),
}

/// A record and what its page says.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) record: Record,
    /// Where its record begins.
    pub(crate) place: Offset,
    pub(crate) found: Found,
    pub(crate) items: Option<Items>,
}

impl Page {
    const fn new(place: Offset, record: Record) -> Self {
        Self {
            record,
            place,
            found: Found::Nothing,
            items: None,
        }
    }

    /// What it says, if it could be read.
    pub(crate) fn words(&self) -> Option<&Words> {
        match &self.found {
            Found::Words(words) => Some(words),
            _ => None,
        }
    }
}

/// Records that filters let through.
pub(crate) struct Filtered<'a> {
    records: CommittedRecords,
    filters: &'a [Filter],
}

impl<'a> Filtered<'a> {
    pub(crate) fn new(job: &Job, filters: &'a [Filter]) -> Result<Self, ExportError> {
        Ok(Self {
            records: job.records()?,
            filters,
        })
    }

    /// How far reading is.
    pub(crate) fn offset(&self) -> Offset {
        self.records.offset()
    }
}

impl Iterator for Filtered<'_> {
    type Item = Result<(Offset, Record), ExportError>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.records.find(|record| match record {
            Ok((_, record)) => self.filters.iter().all(|filter| filter.matches(record)),
            Err(_) => true,
        });
        found.map(|found| found.map_err(ExportError::from))
    }
}

/// Reads pages.
pub(crate) struct Pages<'a> {
    records: Filtered<'a>,
    /// Nothing where records are all that is wanted.
    readers: Option<Ordered<(Offset, Record), Page>>,
    path: &'a Path,
}

impl<'a> Pages<'a> {
    /// Begins to read. Without a need for bodies the archive is not opened.
    pub(crate) fn new(work: &Work<'a>, need: Need) -> Result<Self, ExportError> {
        let (job, options) = (work.job, work.options);
        let readers = match need {
            Need::Record => None,
            Need::Body | Need::Words(_) => {
                let reader = PageReader {
                    archive: work.archives.open()?,
                    need,
                    rules: options.rules.clone(),
                };
                let started = Ordered::start(threads(options.threads), move |(place, record)| {
                    reader.read(place, record)
                });
                Some(started.map_err(ExportError::input(job.path()))?)
            }
        };
        Ok(Self {
            records: Filtered::new(job, &options.filters)?,
            readers,
            path: job.path(),
        })
    }

    /// How far reading is.
    pub(crate) fn offset(&self) -> Offset {
        self.records.offset()
    }
}

impl Iterator for Pages<'_> {
    type Item = Result<Page, ExportError>;

    fn next(&mut self) -> Option<Self::Item> {
        let Some(readers) = &mut self.readers else {
            let next = self.records.next()?;
            return Some(next.map(|(place, record)| Page::new(place, record)));
        };
        while readers.has_room() {
            match self.records.next() {
                None => break,
                Some(Ok(found)) => readers.push(found),
                Some(Err(error)) => return Some(Err(error)),
            }
        }
        let page = readers.next()?;
        Some(page.map_err(ExportError::input(self.path)))
    }
}

/// Reads one page after the other, on any thread.
struct PageReader {
    archive: Arc<Archive>,
    need: Need,
    rules: Option<ItemRules>,
}

impl PageReader {
    fn read(&self, place: Offset, record: Record) -> Page {
        let mut page = Page::new(place, record);
        let Some(media) = Media::of(&page.record) else {
            return page;
        };
        page.found = match body_of(&self.archive, &page.record) {
            Err(why) => Found::Unreadable(why),
            Ok(body) => match self.need {
                Need::Record => Found::Nothing,
                Need::Body => Found::Body(body),
                Need::Words(speed) => self.words(&mut page, &body, media, speed),
            },
        };
        page
    }

    fn words(&self, page: &mut Page, body: &[u8], media: Media, speed: ReadingSpeed) -> Found {
        let text = text_of(body, page.record.charset.as_deref());
        if media != Media::Html {
            return Found::Words(Box::new(Words::of_text(&text, media)));
        }
        let url = page.record.url.to_url();
        let limits = ContentLimits::default();
        // A bug that one page among millions finds must not end the export of the rest. Nothing is
        // shared with the reading, so nothing can be left half done.
        let read = AssertUnwindSafe(|| {
            // A page that has no items because it is too much to read says so by its words.
            let rules = self.rules.as_ref();
            let items = rules.and_then(|rules| rules.items(&text, &url, &limits).ok());
            (items, Content::read(&text, &url, speed, &limits))
        });
        let (items, content) = catch_unwind(read).unwrap_or((None, Err(Refusal::Broken)));
        page.items = items;
        match content {
            Ok(content) => Found::Words(Box::new(Words::of_page(content))),
            Err(refusal) => Found::Unreadable(refusal.to_string()),
        }
    }
}
