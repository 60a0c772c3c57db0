//! The pages of a job, in the order of its log.
//!
//! Owns the joining of a record with what the archive holds of its page. A record that is not kept
//! costs nothing beyond its line, and nothing of the archive is opened if records are all that is
//! wanted. Invariant: the order is that of the log, however many threads read.

use std::fmt;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;

use super::ordered::Ordered;
use super::{CommittedRecords, JobPage, PageNeeds, PageReader, PagesError};
use crate::log::Offset;
use crate::record::Record;

/// Reads the pages of a job.
pub struct JobPages<'a> {
    records: CommittedRecords,
    needs: PageNeeds,
    /// Nothing where records are all that is wanted.
    reader: Option<Arc<PageReader>>,
    is_kept: Box<dyn Fn(&Record) -> bool + 'a>,
    is_read: fn(&Record) -> bool,
    path: PathBuf,
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
    pub(super) fn new(
        records: CommittedRecords,
        needs: PageNeeds,
        reader: Option<Arc<PageReader>>,
        path: PathBuf,
    ) -> Self {
        Self {
            records,
            needs,
            reader,
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

    /// Where the next line of the log begins.
    pub const fn offset(&self) -> Offset {
        self.records.offset()
    }

    /// Reads pages and works on them on so many threads.
    pub fn on_threads<T: Send + 'static>(
        self,
        threads: NonZero<usize>,
        work: impl Fn(JobPage) -> T + Send + Sync + 'static,
    ) -> Result<PagesOnThreads<'a, T>, PagesError> {
        let reader = self.reader.clone();
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

    /// The next page that is kept, of which there is the record, and what is to be read of it.
    fn next_unread(&mut self) -> Option<Result<(JobPage, PageNeeds), PagesError>> {
        let is_kept = &self.is_kept;
        let found = self.records.find(|found| match found {
            Ok((_, record)) => is_kept(record),
            Err(_) => true,
        })?;
        Some(found.map(|(offset, record)| {
            let needs = (self.is_read)(&record).then_some(self.needs);
            (JobPage::new(offset, record), needs.unwrap_or_default())
        }))
    }
}

impl Iterator for JobPages<'_> {
    type Item = Result<JobPage, PagesError>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.next_unread()?;
        Some(found.map(|(mut page, needs)| {
            if let Some(reader) = &self.reader {
                reader.fill(&mut page, needs);
            }
            page
        }))
    }
}

/// What threads make of the pages of a job, in the order of its log.
pub struct PagesOnThreads<'a, T> {
    pages: JobPages<'a>,
    threads: Ordered<(JobPage, PageNeeds), T>,
}

impl<T> PagesOnThreads<'_, T> {
    /// Where the next line of the log begins.
    pub const fn offset(&self) -> Offset {
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
