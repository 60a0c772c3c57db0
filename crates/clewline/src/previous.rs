//! An earlier crawl, asked for what it knew of a URL.
//!
//! Owns the way from a URL through the index of an earlier archive to its last capture: what to
//! ask the server with, and what the page linked to if nothing changed. It refuses to know
//! requests and crawls. Everything is looked up where it lies; nothing is held in memory.

mod compare;

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use clewline_core::url::CrawlUrl;
use clewline_warc::cdxj::{Capture, Index};
use clewline_warc::http::{self, Head};
use clewline_warc::read::{Header, ReadError, Reader};
use clewline_warc::{Digest, Kind, Moment};

use crate::config::ConfigProblem;
use crate::exchange::Unmodified;
use crate::extract::{Extracted, Extractor};
use crate::fetch::Condition;
use crate::log::archive;
use crate::warc_metadata;

pub(crate) use compare::{Extent, compare};

/// Records behind a capture among which its metadata record stands: request, metadata.
const BEHIND: usize = 3;

/// The archive of an earlier crawl.
#[derive(Debug, Clone)]
pub(crate) struct PreviousCrawl {
    folder: PathBuf,
}

/// What an earlier crawl holds of a URL.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    /// What to ask with.
    pub(crate) condition: Condition,
    /// What a revisit of it says.
    pub(crate) original: Unmodified,
    /// The capture itself, and the one with the payload if that is in the same archive.
    place: Place,
    payload: Option<Place>,
}

#[derive(Debug, Clone)]
struct Place {
    file: PathBuf,
    offset: u64,
}

/// What was on a page that did not change.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) extracted: Extracted,
    /// Digest of the decoded body, as records spell it.
    pub(crate) digest: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) charset: Option<String>,
}

type Input = Reader<BufReader<File>>;

impl PreviousCrawl {
    /// Opens the archive in a job folder, or a folder of WARC files with an index.
    pub(crate) fn open(folder: &Path, setting: &'static str) -> Result<Self, ConfigProblem> {
        let archive = folder.join(archive::FOLDER);
        let folder = if archive.is_dir() { &archive } else { folder };
        if !folder.join(archive::SORTED).is_file() {
            let name = folder.display();
            return Err(ConfigProblem {
                setting,
                problem: format!(
                    "{name} has no index.cdxj; finish that crawl, or make one with `clewline \
                     warc rebuild`"
                ),
            });
        }
        Ok(Self {
            folder: folder.to_path_buf(),
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
            whole(&self.folder).is_some_and(|folder| folder.starts_with(output))
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
        self.folder.join(archive::SORTED)
    }

    /// The last capture of a URL, if it can be asked for and answered from.
    pub(crate) fn last(&self, url: &CrawlUrl) -> io::Result<Option<Held>> {
        let mut last = None;
        Index::open(&self.index())?.each(url.as_str(), |capture| {
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
        let condition = condition(Head::parse(&head));
        Ok(condition.and_then(|condition| self.held(url, &capture, &header, condition)))
    }

    fn held(
        &self,
        url: &CrawlUrl,
        capture: &Capture,
        header: &Header,
        condition: Condition,
    ) -> Option<Held> {
        let place = self.place(capture)?;
        if header.kind() != Kind::Revisit {
            return Some(Held {
                condition,
                original: Unmodified {
                    target: url.as_str().into(),
                    date: header.date()?,
                    digest: Digest::parse(&capture.digest),
                },
                payload: Some(place.clone()),
                place,
            });
        }
        let target = header.uri("WARC-Refers-To-Target-URI")?;
        let date = header
            .value("WARC-Refers-To-Date")
            .and_then(Moment::parse)?;
        Some(Held {
            condition,
            payload: self.payload(target, &capture.digest).ok().flatten(),
            original: Unmodified {
                target: target.into(),
                date,
                digest: Digest::parse(&capture.digest),
            },
            place,
        })
    }

    /// The capture of a URL that holds a payload.
    fn payload(&self, url: &str, digest: &str) -> io::Result<Option<Place>> {
        let mut found = None;
        Index::open(&self.index())?.each(url, |capture| {
            let holds = !capture.is_revisit() && capture.digest == digest && capture.url == url;
            if holds {
                found = self.place(&capture);
            }
            found.is_none()
        })?;
        Ok(found)
    }

    /// Where a capture lies.
    fn place(&self, capture: &Capture) -> Option<Place> {
        Some(Place {
            file: capture.file_in(&self.folder)?,
            offset: capture.offset,
        })
    }
}

impl Place {
    /// The record that begins here; none if it cannot be read, as if there were no capture.
    fn record(&self) -> Option<(Header, Input)> {
        let file = BufReader::new(File::open(&self.file).ok()?);
        let mut reader = Reader::seek(file, self.offset).ok()?;
        let header = reader.next_record()?.ok()?;
        Some((header, reader))
    }
}

impl Held {
    /// What was on the page: read from its body again, or as the earlier crawl noted it where
    /// the body lies elsewhere. Nothing if neither can be read.
    pub(crate) fn known(
        &self,
        url: &CrawlUrl,
        extractor: &dyn Extractor,
        limit: u64,
    ) -> Option<Known> {
        self.read_body(url, extractor, limit)
            .or_else(|| self.read_notes(url))
    }

    fn read_body(&self, url: &CrawlUrl, extractor: &dyn Extractor, limit: u64) -> Option<Known> {
        let (_, mut reader) = self.payload.as_ref()?.record()?;
        let found = warc_metadata::answer(url, reader.block(), extractor, limit);
        let found = found.ok().flatten()?;
        reader.end().ok()?;
        Some(Known {
            digest: Some(format!("xxh3:{:032x}", found.digest)),
            content_type: found.headers.media_type(),
            charset: found.extracted.charset.map(str::to_owned),
            extracted: found.extracted,
        })
    }

    fn read_notes(&self, url: &CrawlUrl) -> Option<Known> {
        let (_, mut reader) = self.place.record()?;
        for _ in 0..BEHIND {
            let header = match reader.next_record()? {
                Ok(header) => header,
                Err(ReadError::Input { .. }) => return None,
                Err(_) => continue,
            };
            if header.kind() != Kind::Metadata || header.target() != Some(url.as_str()) {
                continue;
            }
            let noted = warc_metadata::metadata(reader.block()).ok().flatten()?;
            return Some(Known {
                extracted: Extracted {
                    links: noted.links.into_iter().collect(),
                    title: noted.record.title,
                    canonical: noted.record.canonical,
                    noindex: noted.record.noindex,
                    ..Extracted::default()
                },
                digest: noted.record.digest,
                content_type: noted.record.content_type,
                charset: noted.record.charset,
            });
        }
        None
    }
}

/// Only a page that was there can be unchanged.
fn is_usable(capture: &Capture) -> bool {
    capture.status == "200" || (capture.is_revisit() && capture.status == "304")
}

/// What the server said to recognise the page by; nothing if it said nothing.
fn condition(head: Head<'_>) -> Option<Condition> {
    let text = |name: &str| head.text(name).filter(|value| !value.is_empty());
    let condition = Condition {
        etag: text("etag"),
        last_modified: text("last-modified"),
    };
    (condition != Condition::default()).then_some(condition)
}
