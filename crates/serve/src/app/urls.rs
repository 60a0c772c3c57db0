//! The URLs of a job, page by page.
//!
//! Owns how a question is read from a request, and the walk through `urls.jsonl` from a cursor on,
//! forwards or backwards; other orders are in `sorted`. Refuses to know what becomes of the rows. Invariants: only committed records
//! are shown; one request looks at [`MOST_LOOKED`] bytes at most, however few rows fit, and its cursor
//! leads on from there; memory does not grow with the log.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use clewline_job::Job;
use clewline_job::log::lines::Lines;
use clewline_job::log::urls::LONGEST_LINE;
use clewline_job::record::{OutcomeKind, Record};
use serde::{Deserialize, Serialize};

use super::reply::{ApiProblem, parameter, wanted};
use super::sorted::UrlSort;
use crate::server::ServerRequest;

/// Rows of one page at most.
const MOST_ROWS: usize = 1_000;
/// Rows of a page unless somebody wants more or less.
const USUAL_ROWS: usize = 100;
/// Bytes of the log that one request looks at.
const MOST_LOOKED: u64 = 32 * 1024 * 1024;
/// Bytes that are read at once backwards.
const STEP: u64 = 64 * 1024;
/// The longest text that is looked for.
const LONGEST_PART: usize = 2_048;

/// Which URLs are asked for.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct UrlQuestion {
    pub(super) sort: UrlSort,
    /// The last ones first; in another order than that of time, the greatest.
    pub(super) is_newest_first: bool,
    /// Statuses from and to.
    pub(super) statuses: Option<(u16, u16)>,
    pub(super) outcome: Option<OutcomeKind>,
    /// Only broken ones: failed, or with an error status.
    pub(super) is_broken: bool,
    pub(super) contains: String,
    pub(super) content_type: String,
    /// Where the last page ended.
    pub(super) cursor: Option<String>,
    pub(super) most: usize,
}

/// Some URLs.
#[derive(Debug, Default, Serialize)]
pub(super) struct UrlList {
    /// Their records, as `urls.jsonl` has them.
    pub(super) rows: Vec<Record>,
    /// Those that match in all, where they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total: Option<u64>,
    /// Where to go on; nothing at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cursor: Option<String>,
    /// Records that were looked at for this page.
    pub(super) looked_at: u64,
}

/// What a line is judged by.
#[derive(Deserialize)]
struct UrlGlance<'a> {
    #[serde(borrow)]
    url: Cow<'a, str>,
    outcome: OutcomeKind,
    #[serde(default)]
    status: Option<u16>,
    #[serde(default, borrow)]
    content_type: Option<Cow<'a, str>>,
}

impl UrlQuestion {
    /// Reads what is asked.
    pub(super) fn read(request: &ServerRequest) -> Result<Self, ApiProblem> {
        let wrong = |what: &str| ApiProblem::new(400, what);
        let statuses = match parameter(request, "status").as_deref() {
            None => None,
            Some(text) => {
                let what = "status is a number such as 404, or a class such as 4xx";
                Some(statuses(text).ok_or_else(|| wrong(what))?)
            }
        };
        let outcome = match parameter(request, "outcome") {
            None => None,
            Some(name) => {
                let read = serde_json::from_value(serde_json::Value::String(name));
                let what = "outcome is fetched, redirected, unmodified, skipped or failed";
                Some(read.map_err(|_| wrong(what))?)
            }
        };
        let (sort, is_newest_first) = order(request)?;
        let cursor = parameter(request, "cursor").or_else(|| parameter(request, "from"));
        let contains = parameter(request, "q").unwrap_or_default();
        let content_type = parameter(request, "type").unwrap_or_default();
        if contains.len().max(content_type.len()) > LONGEST_PART {
            return Err(wrong("q and type have at most 2,048 bytes"));
        }
        Ok(Self {
            sort,
            is_newest_first,
            statuses,
            outcome,
            is_broken: match parameter(request, "broken").as_deref() {
                None | Some("false") => false,
                Some("true") => true,
                Some(_) => return Err(wrong("broken is true or false")),
            },
            contains,
            content_type,
            cursor,
            most: wanted(request, USUAL_ROWS, MOST_ROWS)?,
        })
    }

    /// Whether a line is wanted.
    pub(super) fn fits(&self, line: &[u8]) -> io::Result<bool> {
        let glance: UrlGlance<'_> = serde_json::from_slice(line)?;
        let fits_status = self.statuses.is_none_or(|(from, to)| {
            let status = glance.status;
            status.is_some_and(|status| (from..=to).contains(&status))
        });
        let is_error = glance.status.is_some_and(|status| status >= 400);
        let is_bad = is_error || glance.outcome == OutcomeKind::Failed;
        let found_type = glance.content_type.unwrap_or_default();
        Ok(fits_status
            && self.outcome.is_none_or(|outcome| outcome == glance.outcome)
            && (!self.is_broken || is_bad)
            && found_type.starts_with(&self.content_type)
            && glance.url.contains(&self.contains))
    }
}

/// What the rows are ordered by, and whether the greatest comes first.
fn order(request: &ServerRequest) -> Result<(UrlSort, bool), ApiProblem> {
    let wish = parameter(request, "sort").unwrap_or_default();
    let is_down = match parameter(request, "order").as_deref() {
        None | Some("") => None,
        Some("down") => Some(true),
        Some("up") => Some(false),
        Some(_) => return Err(ApiProblem::new(400, "order is up or down")),
    };
    let known = UrlSort::NAMES.iter().find(|(name, _)| *name == wish);
    match (wish.as_str(), known) {
        ("" | "newest", _) => Ok((UrlSort::Time, is_down.unwrap_or(true))),
        ("oldest", _) => Ok((UrlSort::Time, is_down.unwrap_or(false))),
        (_, Some((_, sort))) => Ok((*sort, is_down.unwrap_or(*sort != UrlSort::Url))),
        _ => {
            let names = UrlSort::NAMES.map(|(name, _)| name).join(", ");
            let why = format!("sort is newest, oldest, {names}");
            Err(ApiProblem::new(400, why))
        }
    }
}

fn statuses(text: &str) -> Option<(u16, u16)> {
    if let Some(class) = text.strip_suffix("xx") {
        let class: u16 = class.parse().ok().filter(|class| (1..=5).contains(class))?;
        return Some((class * 100, class * 100 + 99));
    }
    let status = text.parse().ok();
    let status = status.filter(|status| text.len() == 3 && (100..600).contains(status))?;
    Some((status, status))
}

/// The rows that a question fits.
pub(super) fn listed(job: &Path, question: &UrlQuestion) -> Result<UrlList, ApiProblem> {
    let opened = Job::open(job).map_err(|_| ApiProblem::new(404, "the job has no records yet"))?;
    let (path, end) = (opened.urls_path(), opened.urls_end().0);
    let cursor = question.cursor.as_deref().map(|text| text.parse().ok());
    let cursor = match cursor {
        None => None,
        Some(Some(at)) if is_boundary(&path, at, end)? => Some(at),
        Some(_) => return Err(ApiProblem::cursor()),
    };
    let walked = if question.is_newest_first {
        backwards(&path, cursor.unwrap_or(end), question)
    } else {
        forwards(&path, (cursor.unwrap_or(0), end), question)
    };
    Ok(walked?)
}

/// Whether a line begins at an offset.
pub(super) fn is_boundary(path: &Path, at: u64, end: u64) -> io::Result<bool> {
    if at == 0 || at > end {
        return Ok(at == 0);
    }
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(at - 1))?;
    let mut byte = [0];
    file.read_exact(&mut byte)?;
    Ok(byte == *b"\n")
}

fn forwards(path: &Path, (from, end): (u64, u64), question: &UrlQuestion) -> io::Result<UrlList> {
    let mut list = UrlList::default();
    let mut lines = Lines::open(path, from, Some(end))?;
    let mut at = from;
    while let Some(line) = lines.next_line()? {
        at += line.len() as u64;
        list.take(line, question)?;
        if list.rows.len() == question.most || at - from >= MOST_LOOKED {
            list.cursor = (at < end).then(|| at.to_string());
            break;
        }
    }
    Ok(list)
}

fn backwards(path: &Path, end: u64, question: &UrlQuestion) -> io::Result<UrlList> {
    let mut list = UrlList::default();
    let mut lines = LinesBackwards {
        file: File::open(path)?,
        start: end,
        buffer: Vec::new(),
    };
    while let Some((at, line)) = lines.previous()? {
        list.take(&line, question)?;
        if list.rows.len() == question.most || end - at >= MOST_LOOKED {
            list.cursor = (at > 0).then(|| at.to_string());
            break;
        }
    }
    Ok(list)
}

impl UrlList {
    fn take(&mut self, line: &[u8], question: &UrlQuestion) -> io::Result<()> {
        self.looked_at += 1;
        if question.fits(line)? {
            self.rows.push(serde_json::from_slice(line)?);
        }
        Ok(())
    }
}

/// Lines of a file from its end on.
struct LinesBackwards {
    file: File,
    /// Where the buffer begins in the file.
    start: u64,
    /// Whole lines, the first of them perhaps without its beginning.
    buffer: Vec<u8>,
}

impl LinesBackwards {
    /// The line before the last one, and where it begins.
    fn previous(&mut self) -> io::Result<Option<(u64, Vec<u8>)>> {
        loop {
            let before_end = self.buffer.len().saturating_sub(1);
            if let Some(at) = memchr::memrchr(b'\n', &self.buffer[..before_end]) {
                let line = self.buffer.split_off(at + 1);
                return Ok(Some((self.start + at as u64 + 1, line)));
            }
            if self.start == 0 {
                let line = std::mem::take(&mut self.buffer);
                return Ok((!line.is_empty()).then_some((0, line)));
            }
            if self.buffer.len() as u64 > LONGEST_LINE {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "a line is too long",
                ));
            }
            // Twice as much each time, so that a long line is not copied often.
            let step = STEP.max(self.buffer.len() as u64).min(self.start);
            self.start -= step;
            let mut piece = vec![0; step as usize];
            self.file.seek(SeekFrom::Start(self.start))?;
            self.file.read_exact(&mut piece)?;
            piece.append(&mut self.buffer);
            self.buffer = piece;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_backwards_whatever_their_length() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("log");
        let lines: Vec<String> = (0..300usize)
            .map(|number| format!("{number}{}\n", "x".repeat((number * 7919) % 3_000)))
            .chain([
                "y".repeat(300_000) + "\n",
                "\n".to_owned(),
                "z\n".to_owned(),
            ])
            .collect();
        let text = lines.concat();
        std::fs::write(&path, &text).unwrap();
        let mut found = Vec::new();
        let mut reader = LinesBackwards {
            file: File::open(&path).unwrap(),
            start: text.len() as u64,
            buffer: Vec::new(),
        };
        while let Some((at, line)) = reader.previous().unwrap() {
            assert!(text.as_bytes()[at as usize..].starts_with(&line));
            found.push(String::from_utf8(line).unwrap());
        }
        found.reverse();
        assert_eq!(found, lines);
    }

    #[test]
    fn statuses_are_numbers_and_classes() {
        for (text, expected) in [
            ("404", Some((404, 404))),
            ("4xx", Some((400, 499))),
            ("9xx", None),
            ("xx", None),
            ("-1", None),
            ("+40", None),
            ("099", None),
            ("99999", None),
        ] {
            assert_eq!(statuses(text), expected, "{text}");
        }
    }
}
