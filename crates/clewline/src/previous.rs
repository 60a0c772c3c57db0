//! An earlier crawl, asked for what it knew of a URL.
//!
//! Owns what a crawl makes of an earlier one: what to ask the server with, and what the page linked
//! to if nothing changed. Where captures lie is the business of `clewline-job`. Nothing is held in
//! memory.

use std::io;
use std::path::{Path, PathBuf};

use bytes::BytesMut;
use clewline_core::url::CrawlUrl;
use clewline_job::archive;
pub(crate) use clewline_job::previous::Extent;
use clewline_job::previous::{IndexedArchive, LastCapture};
use clewline_warc::http::HttpHead;

use crate::config::ConfigProblem;
use crate::exchange::Unmodified;
use crate::extract::{Extracted, Extractor};
use crate::fetch::Condition;
use crate::headers::Headers;
use crate::report::Update;
use crate::warc_metadata;

/// The archive of an earlier crawl.
#[derive(Debug, Clone)]
pub(crate) struct PreviousCrawl(IndexedArchive);

/// What an earlier crawl holds of a URL.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    /// What to ask with.
    pub(crate) condition: Condition,
    /// What a revisit of it says.
    pub(crate) original: Unmodified,
    capture: LastCapture,
}

/// What was on a page that did not change.
#[derive(Debug, Default)]
pub(crate) struct UnchangedPage {
    pub(crate) extracted: Extracted,
    /// Digest of the decoded body, as records spell it.
    pub(crate) digest: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) charset: Option<String>,
    /// The answer itself, if its body was read.
    pub(crate) answer: Option<PastAnswer>,
    /// What found its links, if that is known.
    pub(crate) extractor: Option<u64>,
}

/// An answer of the earlier crawl, decoded.
#[derive(Debug)]
pub(crate) struct PastAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: BytesMut,
}

impl PreviousCrawl {
    /// Opens the archive in a job folder, or a folder of WARC files with an index.
    pub(crate) fn open(folder: &Path, setting: &'static str) -> Result<Self, ConfigProblem> {
        let archive = folder.join(archive::FOLDER);
        let name = if archive.is_dir() { &archive } else { folder };
        let opened = IndexedArchive::open(folder).map(Self);
        opened.ok_or_else(|| ConfigProblem {
            setting,
            problem: format!(
                "{} has no index.cdxj; finish that crawl, or make one with `clewline warc rebuild`",
                name.display()
            ),
        })
    }

    /// Refuses the folder of the crawl itself, which is written or even replaced.
    pub(crate) fn lies_apart_from(
        &self,
        output: Option<&Path>,
        setting: &'static str,
    ) -> Result<(), ConfigProblem> {
        let whole = |path: &Path| path.canonicalize().ok();
        let output = output.and_then(whole);
        let is_within = output.is_some_and(|output| {
            whole(self.0.folder()).is_some_and(|folder| folder.starts_with(output))
        });
        if is_within {
            return Err(ConfigProblem {
                setting,
                problem: "is the folder of this crawl; name another one with --output".to_owned(),
            });
        }
        Ok(())
    }

    /// The file with the index.
    pub(crate) fn index(&self) -> PathBuf {
        self.0.index()
    }

    /// The last capture of a URL, if it can be asked for and answered from.
    pub(crate) fn last(&self, url: &CrawlUrl) -> io::Result<Option<Held>> {
        let Some(capture) = self.0.last(url)? else {
            return Ok(None);
        };
        let condition = condition(HttpHead::parse(&capture.head));
        Ok(condition.map(|condition| Held {
            condition,
            original: Unmodified {
                target: capture.target.clone(),
                date: capture.date,
                digest: capture.digest,
            },
            capture,
        }))
    }
}

/// Compares the archive of a job folder with an earlier one.
pub(crate) fn compare(past: &PreviousCrawl, folder: &Path, extent: Extent) -> io::Result<Update> {
    let now = folder.join(archive::FOLDER).join(archive::SORTED);
    clewline_job::previous::compare(&past.index(), &now, extent)
}

impl Held {
    /// What was on the page: as the earlier crawl noted it where an extractor with the same mark would
    /// find the same again, else read from its body, or as noted after all where the body lies
    /// elsewhere. Nothing if neither can be read. The body is kept in what is given for it.
    pub(crate) fn known(
        &self,
        url: &CrawlUrl,
        (extractor, mark): (&dyn Extractor, Option<u64>),
        (limit, body): (u64, Option<BytesMut>),
    ) -> Option<UnchangedPage> {
        let is_noted = |page: &UnchangedPage| page.extractor.is_some() && page.extractor == mark;
        if body.is_none() && mark.is_some() {
            let noted = self.read_notes(url);
            if noted.as_ref().is_some_and(is_noted) {
                return noted;
            }
        }
        self.read_body(url, (extractor, mark), (limit, body))
            .or_else(|| self.read_notes(url))
    }

    fn read_body(
        &self,
        url: &CrawlUrl,
        (extractor, mark): (&dyn Extractor, Option<u64>),
        (limit, mut body): (u64, Option<BytesMut>),
    ) -> Option<UnchangedPage> {
        let found = self.capture.read_payload(|block| {
            let mut keep = |piece: &[u8]| {
                if let Some(body) = &mut body {
                    body.extend_from_slice(piece);
                }
            };
            let answer = warc_metadata::answer_told(url, block, extractor, limit, &mut keep);
            answer.ok().flatten()
        })?;
        let answer = body.filter(|_| !found.truncated).map(|body| PastAnswer {
            status: found.status,
            headers: found.headers.clone(),
            body,
        });
        Some(UnchangedPage {
            answer,
            digest: Some(format!("xxh3:{:032x}", found.digest)),
            content_type: found.headers.media_type(),
            charset: found.extracted.charset.map(str::to_owned),
            extracted: found.extracted,
            extractor: mark.filter(|_| !found.truncated),
        })
    }

    fn read_notes(&self, url: &CrawlUrl) -> Option<UnchangedPage> {
        let noted = self.capture.notes(url)?;
        // Notes that were cut are believed where there is nothing else.
        let is_whole = !noted.record.truncated && noted.links.len() == noted.record.links as usize;
        Some(UnchangedPage {
            extractor: noted.extractor.filter(|_| is_whole),
            extracted: Extracted {
                links: noted.links.into_iter().collect(),
                title: noted.record.title,
                canonical: noted.record.canonical,
                noindex: noted.record.noindex,
                is_shell: noted.record.shell,
                ..Extracted::default()
            },
            digest: noted.record.digest,
            content_type: noted.record.content_type,
            charset: noted.record.charset,
            answer: None,
        })
    }
}

/// What the server said to recognise the page by; nothing if it said nothing.
fn condition(head: HttpHead<'_>) -> Option<Condition> {
    let text = |name: &str| head.text(name).filter(|value| !value.is_empty());
    let condition = Condition {
        etag: text("etag"),
        last_modified: text("last-modified"),
    };
    (condition != Condition::default()).then_some(condition)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_without_an_index_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let problem = PreviousCrawl::open(place.path(), "update-from").unwrap_err();
        assert!(problem.to_string().contains("warc rebuild"), "{problem}");
    }
}
