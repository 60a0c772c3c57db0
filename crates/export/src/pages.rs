//! Records with what their pages say, in the order of the log.
//!
//! Owns which pages are read and what their bodies say; `clewline-job` finds them. Invariants: the
//! order is that of the log, however many threads there are; a page that breaks the reader costs
//! that page only.

use std::panic::{AssertUnwindSafe, catch_unwind};

use clewline_content::{Content, ContentLimits, ItemRules, Items, ReadingSpeed, Refusal};
use clewline_job::Job;
use clewline_job::log::Offset;
use clewline_job::pages::{
    JobPage, JobPages, PageAnswer, PageNeeds, PagesOnThreads, Provenance, threads,
};
use clewline_job::record::Record;

use crate::error::ExportError;
use crate::export::ExportContext;
use crate::filter::Filter;
use crate::words::{BodyKind, PageWords};

/// Bytes of a body that are read: one more than the content of a page may have, so that a longer
/// one is known to be longer and refused.
pub(crate) const MOST_BODY: u64 = 16 * 1024 * 1024 + 1;

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
pub(crate) enum ReadContent {
    /// Nothing was wanted, or there is nothing that has words.
    Nothing,
    /// There is something, and this is why it cannot be read.
    Unreadable(String),
    Body(Vec<u8>),
    Words(Box<PageWords>),
}

/// A record and what its page says.
#[derive(Debug, Clone)]
pub(crate) struct ExportedPage {
    pub(crate) record: Record,
    /// Where its record begins.
    pub(crate) place: Offset,
    pub(crate) found: ReadContent,
    pub(crate) items: Option<Items>,
    /// Where its capture stands, if it was read.
    pub(crate) provenance: Option<Provenance>,
}

impl ExportedPage {
    const fn new(place: Offset, record: Record) -> Self {
        Self {
            record,
            place,
            found: ReadContent::Nothing,
            items: None,
            provenance: None,
        }
    }

    /// What it says, if it could be read.
    pub(crate) fn words(&self) -> Option<&PageWords> {
        match &self.found {
            ReadContent::Words(words) => Some(words),
            _ => None,
        }
    }
}

/// The records that filters let through, with what is wanted of their pages.
pub(crate) fn filtered<'a>(
    job: &'a Job,
    filters: &'a [Filter],
    needs: PageNeeds,
) -> Result<JobPages<'a>, ExportError> {
    let is_kept = |record: &Record| filters.iter().all(|filter| filter.matches(record));
    Ok(job.pages(needs)?.only(is_kept))
}

/// Reads pages.
pub(crate) enum ExportPages<'a> {
    /// Records are all that is wanted.
    Records(JobPages<'a>),
    Read(PagesOnThreads<'a, ExportedPage>),
}

impl<'a> ExportPages<'a> {
    /// Begins to read. Without a need for bodies the archive is not opened.
    pub(crate) fn new(work: &ExportContext<'a>, need: Need) -> Result<Self, ExportError> {
        let options = work.options;
        let speed = match need {
            Need::Record => {
                let records = filtered(work.job, &options.filters, PageNeeds::default())?;
                return Ok(Self::Records(records));
            }
            Need::Body => None,
            Need::Words(speed) => Some(speed),
        };
        let needs = PageNeeds {
            body: Some(MOST_BODY),
            rendered: speed.is_some(),
            links: false,
        };
        let pages = filtered(work.job, &options.filters, needs)?;
        let pages = pages.reading_only(|record| BodyKind::from_record(record).is_some());
        let words = WordsReader {
            speed,
            rules: options.rules.clone(),
        };
        let read = pages.on_threads(threads(options.threads), move |page| words.read(page))?;
        Ok(Self::Read(read))
    }

    /// How far reading is.
    pub(crate) fn offset(&self) -> Offset {
        match self {
            Self::Records(pages) => pages.offset(),
            Self::Read(pages) => pages.offset(),
        }
    }
}

impl Iterator for ExportPages<'_> {
    type Item = Result<ExportedPage, ExportError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = match self {
            Self::Records(pages) => {
                let next = pages.next()?;
                next.map(|page| ExportedPage::new(page.offset, page.record))
            }
            Self::Read(pages) => pages.next()?,
        };
        Some(next.map_err(ExportError::from))
    }
}

/// Finds out what pages say, on any thread.
struct WordsReader {
    /// Nothing if their bytes are wanted.
    speed: Option<ReadingSpeed>,
    rules: Option<ItemRules>,
}

impl WordsReader {
    fn read(&self, read: JobPage) -> ExportedPage {
        let mut page = ExportedPage::new(read.offset, read.record);
        let (Some(media), Some(mut answer)) = (BodyKind::from_record(&page.record), read.answer)
        else {
            return page;
        };
        if let Ok(answer) = &mut answer {
            page.provenance = answer.provenance.take();
        }
        page.found = match (answer, self.speed) {
            (Err(why), _) => ReadContent::Unreadable(why.to_string()),
            (Ok(answer), None) => ReadContent::Body(answer.body),
            (Ok(answer), Some(speed)) => self.words(&mut page, &answer, media, speed),
        };
        page
    }

    fn words(
        &self,
        page: &mut ExportedPage,
        answer: &PageAnswer,
        media: BodyKind,
        speed: ReadingSpeed,
    ) -> ReadContent {
        let text = answer.text(page.record.charset.as_deref());
        if media != BodyKind::Html {
            return ReadContent::Words(Box::new(PageWords::from_text(&text, media)));
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
            Ok(content) => ReadContent::Words(Box::new(PageWords::from_content(content))),
            Err(refusal) => ReadContent::Unreadable(refusal.to_string()),
        }
    }
}
