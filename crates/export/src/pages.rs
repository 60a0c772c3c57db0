//! Records with what their pages say, in the order of the log.
//!
//! Owns the reading of bodies and the threads that read pages. Invariants: the order is that of
//! the log, however many threads there are; at most [`WINDOW`] pages for each thread are held.

use std::collections::VecDeque;
use std::num::NonZero;
use std::rc::Rc;
use std::sync::mpsc::Receiver;
use std::thread;

use clewline::log::Offset;
use clewline::record::Record;
use clewline_archive::Archive;
use clewline_content::{Answer, ContentLimits, Items, Readers, Rules, Speed};

use crate::bodies::body_of;
use crate::error::ExportError;
use crate::filter::Filter;
use crate::job::{CommittedRecords, Job};
use crate::words::{Media, Words, text_of};

/// Pages that are held for each thread.
const WINDOW: usize = 4;
/// Threads that read pages.
const MOST_THREADS: usize = 64;

/// How much of a page is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Its record.
    Record,
    /// Its bytes as well.
    Body,
    /// Its words as well.
    Words(Speed),
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
        self.records.find(|record| match record {
            Ok((_, record)) => self.filters.iter().all(|filter| filter.matches(record)),
            Err(_) => true,
        })
    }
}

/// Reads pages.
pub(crate) struct Pages<'a> {
    records: Filtered<'a>,
    archive: Option<Rc<Archive>>,
    readers: Option<Readers>,
    need: Need,
    rules: Option<&'a Rules>,
    waiting: VecDeque<Waiting>,
    most_waiting: usize,
}

struct Waiting {
    page: Page,
    answer: Option<Receiver<Answer>>,
}

impl<'a> Pages<'a> {
    /// Begins to read. Without a need for bodies the archive is not opened.
    pub(crate) fn new(
        job: &Job,
        filters: &'a [Filter],
        need: Need,
        rules: Option<&'a Rules>,
    ) -> Result<Self, ExportError> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let threads = NonZero::new(threads.min(MOST_THREADS)).unwrap_or(NonZero::<usize>::MIN);
        let readers = match need {
            Need::Words(_) => Some(Readers::start(threads, ContentLimits::default())),
            Need::Record | Need::Body => None,
        };
        Ok(Self {
            records: Filtered::new(job, filters)?,
            archive: match need {
                Need::Record => None,
                Need::Body | Need::Words(_) => Some(job.archive()?),
            },
            readers: readers.transpose().map_err(ExportError::input(&job.path))?,
            need,
            rules,
            waiting: VecDeque::new(),
            most_waiting: threads.get().saturating_mul(WINDOW),
        })
    }

    /// How far reading is.
    pub(crate) fn offset(&self) -> Offset {
        self.records.offset()
    }

    fn begin(&self, place: Offset, record: Record) -> Waiting {
        let mut waiting = Waiting {
            page: Page {
                record,
                place,
                found: Found::Nothing,
                items: None,
            },
            answer: None,
        };
        let media = Media::of(&waiting.page.record).filter(|_| self.need != Need::Record);
        let Some(media) = media else {
            return waiting;
        };
        let record = &waiting.page.record;
        let body = self
            .archive
            .as_deref()
            .ok_or_else(|| "there is no archive".to_owned());
        let body = match body.and_then(|archive| body_of(archive, record)) {
            Ok(body) => body,
            Err(why) => {
                waiting.page.found = Found::Unreadable(why);
                return waiting;
            }
        };
        match self.need {
            Need::Record => {}
            Need::Body => waiting.page.found = Found::Body(body),
            Need::Words(speed) => self.read(&mut waiting, &body, media, speed),
        }
        waiting
    }

    /// Hands a page to the threads; what is no page is read at once.
    fn read(&self, waiting: &mut Waiting, body: &[u8], media: Media, speed: Speed) {
        let page = &mut waiting.page;
        let text = text_of(body, page.record.charset.as_deref());
        let readers = self.readers.as_ref().filter(|_| media == Media::Html);
        let Some(readers) = readers else {
            page.found = Found::Words(Box::new(Words::of_text(&text, media)));
            return;
        };
        let url = page.record.url.to_url();
        if let Some(rules) = self.rules {
            // A page that has no items because it is too much to read says so by its words.
            page.items = rules.items(&text, &url, &ContentLimits::default()).ok();
        }
        waiting.answer = Some(readers.read(text, url, speed));
    }
}

impl Iterator for Pages<'_> {
    type Item = Result<Page, ExportError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.waiting.len() < self.most_waiting {
            match self.records.next() {
                None => break,
                Some(Ok((place, record))) => {
                    let waiting = self.begin(place, record);
                    self.waiting.push_back(waiting);
                }
                Some(Err(error)) => return Some(Err(error)),
            }
        }
        let Waiting { mut page, answer } = self.waiting.pop_front()?;
        if let Some(answer) = answer {
            page.found = match answer.recv() {
                Ok(Ok(content)) => Found::Words(Box::new(Words::of_page(content))),
                Ok(Err(refusal)) => Found::Unreadable(refusal.to_string()),
                Err(_) => Found::Unreadable("the threads that read pages ended".to_owned()),
            };
        }
        Some(Ok(page))
    }
}
