//! What is there of a page beside its record, found by the index of an archive.
//!
//! Owns which capture is that of a record, how much of it is read, and where its links stand. It
//! is asked on any thread. Invariant: of a body no more is held than was asked for.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clewline_core::link::Link;
use clewline_core::url::CrawlUrl;
use clewline_warc::cdxj::Capture;
use thiserror::Error;

use super::{JobPage, PageNeeds};
use crate::archive::{Archive, ContentError, OpenError, is_archive};
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
        let url = record.url.as_str();
        let status = record.status.map(|status| status.to_string());
        let is_it = |capture: &Capture| {
            let is_same = |status: &String| *status == capture.status;
            capture.url == url && status.as_ref().is_none_or(is_same)
        };
        let found = self.archive.best(url, None, is_it);
        let found = found.map_err(ContentError::from)?;
        let content = self.archive.read(&found.ok_or(AnswerError::NoCapture)?)?;
        let head = content.head().as_bytes().to_vec();
        let decoded = content.decoded().map_err(ContentError::from)?;
        let mut body = Vec::new();
        match decoded.take(most).read_to_end(&mut body) {
            // A body that breaks off has words before it does.
            Err(error) if body.is_empty() => Err(ContentError::from(error).into()),
            _ => Ok(PageAnswer { head, body }),
        }
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
        page.answer = needs.body.map(|most| self.answer(&page.record, most));
        if needs.links {
            page.links = self.links(&page.record.url);
        }
    }
}
