//! One crawl of the two: its records, as compact rows.
//!
//! Owns what a record says about the page behind it ([`PageState`]) and where the whole record
//! lies meanwhile: in a temporary file. It refuses to know the other side. Invariant: a row takes
//! 48 bytes, whatever a record holds; of several records of a URL the last one counts.

use std::fs::File;
use std::io::{BufWriter, Write as _};

use clewline_job::pages::{Job, PageNeeds};
use clewline_job::rebuild::ReadAnswer;
use clewline_job::record::{OutcomeKind, Record};
use clewline_job::{JobFile, JobStanding};
use clewline_platform::file::read_exact_at;
use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed, xxh3_128};

use crate::options::{DiffError, DiffOptions};

/// The longest line that is read back; a record is far below.
const LONGEST_LINE: u32 = 64 << 20;

/// What became of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageState {
    /// It was there.
    There,
    /// It redirects.
    Redirect,
    /// 404 or 410.
    Missing,
    /// The server refuses it with another status: 401, 403, 451.
    Refused,
    /// Nothing can be said of it: a time-out, 429, the server's fault.
    Unreadable,
    /// Nobody asked: excluded by robots.txt, by the scope or by a limit.
    Unasked,
}

impl PageState {
    fn from_record(record: &Record) -> Self {
        match (record.outcome, record.status) {
            (OutcomeKind::Skipped, _) => Self::Unasked,
            (_, Some(404 | 410)) => Self::Missing,
            (OutcomeKind::Failed, _) | (OutcomeKind::Fetched, Some(408 | 425 | 429 | 500..)) => {
                Self::Unreadable
            }
            (OutcomeKind::Redirected, _) | (OutcomeKind::Fetched, Some(300..400)) => Self::Redirect,
            (OutcomeKind::Fetched, Some(400..500)) => Self::Refused,
            (OutcomeKind::Fetched | OutcomeKind::Unmodified, _) => Self::There,
        }
    }

    /// There is an answer that a browser would show or follow.
    pub(crate) const fn is_there(self) -> bool {
        matches!(self, Self::There | Self::Redirect)
    }
}

/// How a body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyForm {
    Html,
    Text,
    Other,
}

impl BodyForm {
    pub(crate) fn from_record(record: &Record) -> Self {
        match record.content_type.as_deref() {
            None | Some("text/html" | "application/xhtml+xml") => Self::Html,
            Some("text/plain" | "text/markdown") => Self::Text,
            Some(_) => Self::Other,
        }
    }
}

/// A URL of a crawl.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SideRow {
    /// By which it is known on both sides.
    pub(crate) key: u128,
    /// The digest of its body; 0 if there is none.
    pub(crate) digest: u64,
    /// A browser made something of it, which the digest does not tell.
    pub(crate) is_rendered: bool,
    pub(crate) place: SpoolPlace,
    /// The shape of its path.
    pub(crate) template: u32,
    pub(crate) state: PageState,
    pub(crate) form: BodyForm,
    /// As sent; 0 without an answer.
    pub(crate) status: u16,
}

/// A crawl.
#[derive(Debug)]
pub(crate) struct Side {
    /// By key.
    pub(crate) rows: Vec<SideRow>,
    pub(crate) records: ValueSpool,
    /// All that could be found was asked for.
    pub(crate) is_whole: bool,
}

impl Side {
    /// Reads the records of a crawl.
    pub(crate) fn read(
        job: &Job,
        read_answer: &ReadAnswer<'_>,
        options: &DiffOptions,
        tell: &mut dyn FnMut(u64),
    ) -> Result<Self, DiffError> {
        let mut writer = SpoolWriter::new()?;
        let mut rows = Vec::new();
        for page in job
            .pages(PageNeeds::default())?
            .reading_answers(read_answer)
        {
            let record = page?.record;
            if record.url.path() == "/robots.txt" {
                continue;
            }
            let mapped = options.mapped(record.url.as_str());
            rows.push(SideRow {
                key: key_of(&mapped),
                template: template_of(&mapped),
                digest: digest_of(&record),
                is_rendered: record.is_rendered(),
                place: writer.push(&record)?,
                state: PageState::from_record(&record),
                form: BodyForm::from_record(&record),
                status: record.status.unwrap_or(0),
            });
            tell(rows.len() as u64);
        }
        // The sort is stable, so that the last record of a key is the last one of its run.
        rows.sort_by_key(|row| row.key);
        rows.reverse();
        rows.dedup_by_key(|row| row.key);
        rows.reverse();
        Ok(Self {
            rows,
            records: writer.finish()?,
            is_whole: is_whole(job),
        })
    }

    pub(crate) fn record(&self, row: &SideRow) -> Result<Record, DiffError> {
        self.records.read(row.place)
    }
}

/// Whether a URL that is missing was looked for.
fn is_whole(job: &Job) -> bool {
    JobFile::read(job.path()).map_or(true, |file| file.standing == JobStanding::Finished)
}

/// The shape of a path: pages of one have the same layout, so they share noise. The last segment is
/// left out but for its ending, as are digits and the values of a query.
pub(crate) fn template_of(url: &str) -> u32 {
    let url = url.split('#').next().unwrap_or(url);
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let (folder, name) = path.rsplit_once('/').unwrap_or((path, ""));
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let names = query
        .split('&')
        .map(|pair| pair.split('=').next().unwrap_or(""));
    let shape: String = folder
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    let mut hash = xxh3_64_with_seed(shape.as_bytes(), u64::from(name.is_empty()));
    for part in [ending].into_iter().chain(names) {
        hash = xxh3_64_with_seed(part.as_bytes(), hash);
    }
    // 0 is the whole site.
    (hash as u32).max(1)
}

/// What stands for a URL.
pub(crate) fn key_of(url: &str) -> u128 {
    xxh3_128(url.as_bytes())
}

fn digest_of(record: &Record) -> u64 {
    let digest = record.digest.as_deref();
    digest.map_or(0, |digest| xxh3_64(digest.as_bytes()).max(1))
}

/// Where a value lies in a [`ValueSpool`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SpoolPlace {
    at: u64,
    length: u32,
}

/// Writes values to a temporary file.
pub(crate) struct SpoolWriter {
    file: BufWriter<File>,
    at: u64,
    line: Vec<u8>,
}

/// Values in a temporary file that is gone when it is closed.
#[derive(Debug)]
pub(crate) struct ValueSpool(File);

impl SpoolWriter {
    pub(crate) fn new() -> Result<Self, DiffError> {
        let file = tempfile::tempfile().map_err(DiffError::Spool)?;
        Ok(Self {
            file: BufWriter::with_capacity(1 << 18, file),
            at: 0,
            line: Vec::new(),
        })
    }

    pub(crate) fn push(&mut self, value: &impl Serialize) -> Result<SpoolPlace, DiffError> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, value).map_err(|it| DiffError::Spool(it.into()))?;
        self.file.write_all(&self.line).map_err(DiffError::Spool)?;
        let place = SpoolPlace {
            at: self.at,
            length: self.line.len() as u32,
        };
        self.at += self.line.len() as u64;
        Ok(place)
    }

    pub(crate) fn finish(self) -> Result<ValueSpool, DiffError> {
        let file = self.file.into_inner();
        Ok(ValueSpool(
            file.map_err(|error| DiffError::Spool(error.into_error()))?,
        ))
    }
}

impl ValueSpool {
    pub(crate) fn read<T: DeserializeOwned>(&self, place: SpoolPlace) -> Result<T, DiffError> {
        let mut line = vec![0; place.length.min(LONGEST_LINE) as usize];
        read_exact_at(&self.0, &mut line, place.at).map_err(DiffError::Spool)?;
        serde_json::from_slice(&line).map_err(|error| DiffError::Spool(error.into()))
    }
}
