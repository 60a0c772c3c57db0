//! The pages of a job, in the order of its log; of files without logs, in the order of the archive.
//!
//! Owns the joining of a record with what the archive holds of its page. In the order of the log a
//! record that is not kept costs nothing beyond its line, and nothing of the archive is opened if
//! records are all that is wanted. Invariant: the order does not depend on how many threads read.

use std::fmt;
use std::io::BufRead;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;

use clewline_core::key::Keyer;
use clewline_warc::read::Header;

use super::ordered::Ordered;
use super::{
    AnswerError, ArchiveWalk, CommittedArchive, CommittedRecords, JobPage, PageAnswer, PageNeeds,
    PageReader, PagesError, WalkedPage,
};
use crate::archive::Position;
use crate::log::Offset;
use crate::rebuild::{Derived, ReadAnswer};
use crate::record::Record;

/// Reads the pages of a job.
pub struct JobPages<'a> {
    order: PageOrder<'a>,
    needs: PageNeeds,
    is_kept: Box<dyn Fn(&Record) -> bool + 'a>,
    is_read: fn(&Record) -> bool,
    path: PathBuf,
}

enum PageOrder<'a> {
    /// The reader is missing where records are all that is wanted.
    Log(CommittedRecords, Option<Arc<PageReader>>),
    Archive(Box<ArchiveWalk<'a>>),
}

impl fmt::Debug for JobPages<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobPages")
            .field("path", &self.path)
            .field("needs", &self.needs)
            .finish_non_exhaustive()
    }
}

impl<'a> JobPages<'a> {
    pub(super) fn in_log(
        records: CommittedRecords,
        needs: PageNeeds,
        reader: Option<Arc<PageReader>>,
        path: PathBuf,
    ) -> Self {
        Self::new(PageOrder::Log(records, reader), needs, path)
    }

    pub(super) fn in_archive(files: &'a CommittedArchive, needs: PageNeeds, path: PathBuf) -> Self {
        let walk = ArchiveWalk::new(files, Position::default(), needs, &no_answer);
        Self::new(PageOrder::Archive(Box::new(walk)), needs, path)
    }

    fn new(order: PageOrder<'a>, needs: PageNeeds, path: PathBuf) -> Self {
        Self {
            order,
            needs,
            is_kept: Box::new(|_| true),
            is_read: |_| true,
            path,
        }
    }

    /// Passes over all other records.
    #[must_use]
    pub fn only(mut self, is_kept: impl Fn(&Record) -> bool + 'a) -> Self {
        self.is_kept = Box::new(is_kept);
        self
    }

    /// Of the pages of all other records nothing but the record is read.
    #[must_use]
    pub fn reading_only(mut self, is_read: fn(&Record) -> bool) -> Self {
        self.is_read = is_read;
        self
    }

    /// In files that others wrote every answer is a page if this can read it; without it none is.
    #[must_use]
    pub fn reading_answers(mut self, read_answer: &'a ReadAnswer<'a>) -> Self {
        if let PageOrder::Archive(walk) = &mut self.order {
            walk.read_answers(read_answer);
        }
        self
    }

    /// How far reading is: where the next line of the log begins, or the next page of the archive.
    pub fn offset(&self) -> Offset {
        match &self.order {
            PageOrder::Log(records, _) => records.offset(),
            PageOrder::Archive(walk) => walk.place().offset(),
        }
    }

    /// Reads pages and works on them on so many threads.
    pub fn on_threads<T: Send + 'static>(
        self,
        threads: NonZero<usize>,
        work: impl Fn(JobPage) -> T + Send + Sync + 'static,
    ) -> Result<PagesOnThreads<'a, T>, PagesError> {
        let reader = self.reader().cloned();
        let work = move |(mut page, needs): (JobPage, PageNeeds)| {
            if let Some(reader) = &reader {
                reader.fill(&mut page, needs);
            }
            work(page)
        };
        let started = Ordered::start(threads, work).map_err(PagesError::at(&self.path))?;
        Ok(PagesOnThreads {
            pages: self,
            threads: started,
        })
    }

    const fn reader(&self) -> Option<&Arc<PageReader>> {
        match &self.order {
            PageOrder::Log(_, reader) => reader.as_ref(),
            PageOrder::Archive(_) => None,
        }
    }

    /// The next page that is kept, and what is to be read of it yet.
    fn next_unread(&mut self) -> Option<Result<(JobPage, PageNeeds), PagesError>> {
        loop {
            let next = match &mut self.order {
                PageOrder::Log(records, _) => {
                    let next = records.next()?;
                    next.map(|(offset, record)| JobPage::new(offset, record))
                }
                PageOrder::Archive(walk) => {
                    let next = walk.next()?;
                    next.map(|page| walked(walk, page, self.needs, self.is_read))
                }
            };
            match next {
                Ok(page) if !(self.is_kept)(&page.record) => {}
                Ok(page) => {
                    let needs = (self.is_read)(&page.record).then_some(self.needs);
                    return Some(Ok((page, needs.unwrap_or_default())));
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Iterator for JobPages<'_> {
    type Item = Result<JobPage, PagesError>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.next_unread()?;
        Some(found.map(|(mut page, needs)| {
            if let Some(reader) = self.reader() {
                reader.fill(&mut page, needs);
            }
            page
        }))
    }
}

/// A page of an archive, with what is wanted of it.
fn walked(
    walk: &ArchiveWalk<'_>,
    page: WalkedPage,
    needs: PageNeeds,
    is_read: fn(&Record) -> bool,
) -> JobPage {
    let (is_read, position) = (is_read(&page.record), page.position);
    let capture = page.capture.filter(|_| is_read && needs.body.is_some());
    let rendered = page.rendered;
    let answer = capture.map(|mut capture| {
        let head = std::mem::take(&mut capture.head);
        let (body, _) = walk.body(capture, || None);
        PageAnswer {
            head,
            body,
            rendered,
            provenance: None,
        }
    });
    let is_wanted = is_read && needs.body.is_some();
    JobPage {
        answer: is_wanted.then(|| answer.ok_or(AnswerError::NoCapture)),
        links: page.links,
        ..JobPage::new(position.offset(), page.record)
    }
}

fn no_answer(_: &Keyer, _: &Header, _: &mut dyn BufRead) -> Option<Derived> {
    None
}

/// What threads make of the pages of a job, in their order.
pub struct PagesOnThreads<'a, T> {
    pages: JobPages<'a>,
    threads: Ordered<(JobPage, PageNeeds), T>,
}

impl<T> PagesOnThreads<'_, T> {
    /// How far reading is, as [`JobPages::offset`] has it.
    pub fn offset(&self) -> Offset {
        self.pages.offset()
    }
}

impl<T: Send + 'static> Iterator for PagesOnThreads<'_, T> {
    type Item = Result<T, PagesError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.threads.has_room() {
            match self.pages.next_unread() {
                None => break,
                Some(Ok(page)) => self.threads.push(page),
                Some(Err(error)) => return Some(Err(error)),
            }
        }
        let made = self.threads.next()?;
        Some(made.map_err(PagesError::at(&self.pages.path)))
    }
}
