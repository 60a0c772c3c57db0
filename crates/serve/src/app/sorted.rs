//! The URLs of a job in another order than that of its log.
//!
//! Owns what they are ordered by, and the places of the first of them in the log. It refuses to know
//! which URLs are wanted. Invariants: memory is bounded by [`MOST_SORTED`] URLs whatever the log holds; all
//! pages of a list show the log as it was at the first; the log is read beside the requests.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use clewline_job::Job;
use clewline_job::log::lines::Lines;
use clewline_job::log::urls::LONGEST_LINE;
use serde::Deserialize;

use super::background::{BackgroundCache, BackgroundResult};
use super::reply::{ApiProblem, Numbered};
use super::urls::{UrlList, UrlQuestion, is_boundary};

/// URLs that a list in another order has; the rest is for filters.
const MOST_SORTED: usize = 100_000;
/// Bytes of a URL that decide its place.
const LONGEST_KEY: usize = 256;

/// What URLs are ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum UrlSort {
    /// As they were settled.
    #[default]
    Time,
    Url,
    Depth,
    Bytes,
    /// The time to the first byte.
    Millis,
}

impl UrlSort {
    pub(super) const NAMES: [(&'static str, Self); 5] = [
        ("time", Self::Time),
        ("url", Self::Url),
        ("depth", Self::Depth),
        ("bytes", Self::Bytes),
        ("millis", Self::Millis),
    ];
}

/// Which list: of a log up to an offset, as this question wants it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SortedKey {
    log: PathBuf,
    end: u64,
    question: UrlQuestion,
}

/// Where the lines of a list begin, in its order.
#[derive(Debug)]
pub(super) struct SortedUrls {
    offsets: Vec<u64>,
    /// URLs that match, those without a place included.
    matching: u64,
}

/// Where lists are sorted.
pub(super) type SortCache = BackgroundCache<SortedKey, SortedUrls>;

/// What decides the place of a line.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SortRank {
    Number(u64),
    Text(Box<[u8]>),
}

#[derive(Deserialize)]
struct SortGlance<'a> {
    #[serde(borrow)]
    url: Cow<'a, str>,
    depth: u32,
    body_bytes: u64,
    timings: SortTimings,
}

#[derive(Deserialize)]
struct SortTimings {
    #[serde(default)]
    first_byte: Option<f64>,
}

/// The rows that a question wants, in its order.
pub(super) fn listed(
    cache: &SortCache,
    job: &Path,
    question: &UrlQuestion,
) -> Result<BackgroundResult<UrlList>, ApiProblem> {
    let opened = Job::open(job).map_err(|_| ApiProblem::new(404, "the job has no records yet"))?;
    let (log, now) = (opened.urls_path(), opened.urls_end().0);
    let (end, from) = match &question.cursor {
        None => (now, 0),
        Some(cursor) => place_of(cursor, now).ok_or_else(ApiProblem::cursor)?,
    };
    if !is_boundary(&log, end, now)? {
        return Err(ApiProblem::cursor());
    }
    let key = SortedKey {
        log: log.clone(),
        end,
        question: UrlQuestion {
            cursor: None,
            most: 0,
            ..question.clone()
        },
    };
    let own = key.clone();
    let sorted = match cache.ask(&key, move || sort(&own).map_err(|error| error.to_string())) {
        BackgroundResult::Made(sorted) => sorted,
        BackgroundResult::Making => return Ok(BackgroundResult::Making),
        BackgroundResult::Failed(why) => return Ok(BackgroundResult::Failed(why)),
    };
    let shown = sorted.offsets.iter().skip(from).take(question.most);
    let mut list = UrlList {
        total: Some(sorted.matching),
        ..UrlList::default()
    };
    let mut lines = BufReader::new(File::open(&log)?);
    for offset in shown {
        lines.seek(SeekFrom::Start(*offset))?;
        let mut line = Vec::new();
        io::Read::take(&mut lines, LONGEST_LINE).read_until(b'\n', &mut line)?;
        list.rows
            .push(serde_json::from_slice(&line).map_err(io::Error::from)?);
    }
    list.looked_at = list.rows.len() as u64;
    let edition = format!("{end:x}");
    list.cursor = Numbered::written(&edition, from + list.rows.len(), sorted.offsets.len());
    Ok(BackgroundResult::Made(list.into()))
}

/// The end of the log and the place in the list that a cursor means.
fn place_of(cursor: &str, now: u64) -> Option<(u64, usize)> {
    let (edition, _) = cursor.split_once('-')?;
    let end = u64::from_str_radix(edition, 16)
        .ok()
        .filter(|end| *end <= now)?;
    Some((end, Numbered::place(cursor, edition)?))
}

fn sort(key: &SortedKey) -> io::Result<SortedUrls> {
    let mut first = FirstOnes::new(key.question.is_newest_first);
    let mut lines = Lines::open(&key.log, 0, Some(key.end))?;
    let mut at = 0;
    while let Some(line) = lines.next_line()? {
        if key.question.fits(line)? {
            first.take(rank(line, key.question.sort)?, at);
        }
        at += line.len() as u64;
    }
    Ok(first.finish())
}

fn rank(line: &[u8], sort: UrlSort) -> io::Result<SortRank> {
    let glance: SortGlance<'_> = serde_json::from_slice(line)?;
    Ok(match sort {
        UrlSort::Time => SortRank::Number(0),
        UrlSort::Url => {
            let bytes = glance.url.as_bytes();
            SortRank::Text(bytes[..bytes.len().min(LONGEST_KEY)].into())
        }
        UrlSort::Depth => SortRank::Number(glance.depth.into()),
        UrlSort::Bytes => SortRank::Number(glance.body_bytes),
        UrlSort::Millis => {
            let micros = glance.timings.first_byte.unwrap_or(0.0) * 1_000.0;
            SortRank::Number(micros as u64)
        }
    })
}

/// The first of many, in an order.
struct FirstOnes {
    is_descending: bool,
    kept: Vec<(SortRank, u64)>,
    matching: u64,
}

impl FirstOnes {
    const fn new(is_descending: bool) -> Self {
        Self {
            is_descending,
            kept: Vec::new(),
            matching: 0,
        }
    }

    fn order(is_descending: bool) -> impl Fn(&(SortRank, u64), &(SortRank, u64)) -> Ordering {
        move |(one, at), (other, other_at)| {
            let order = if is_descending {
                other.cmp(one)
            } else {
                one.cmp(other)
            };
            order.then(at.cmp(other_at))
        }
    }

    fn take(&mut self, rank: SortRank, at: u64) {
        self.matching += 1;
        self.kept.push((rank, at));
        if self.kept.len() >= 2 * MOST_SORTED {
            let order = Self::order(self.is_descending);
            self.kept.select_nth_unstable_by(MOST_SORTED, order);
            self.kept.truncate(MOST_SORTED);
        }
    }

    fn finish(mut self) -> SortedUrls {
        self.kept.sort_unstable_by(Self::order(self.is_descending));
        self.kept.truncate(MOST_SORTED);
        SortedUrls {
            offsets: self.kept.into_iter().map(|(_, at)| at).collect(),
            matching: self.matching,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_many_are_kept_whatever_their_number() {
        let many = 5 * MOST_SORTED as u64 / 2;
        let value = |at: u64| (at * 7_919) % 100_003;
        for is_descending in [false, true] {
            let mut first = FirstOnes::new(is_descending);
            for at in 0..many {
                first.take(SortRank::Number(value(at)), at);
            }
            let sorted = first.finish();
            let mut expected: Vec<u64> = (0..many).collect();
            expected.sort_by_key(|at| {
                (
                    if is_descending {
                        !value(*at)
                    } else {
                        value(*at)
                    },
                    *at,
                )
            });
            expected.truncate(MOST_SORTED);
            assert_eq!(sorted.offsets, expected);
            assert_eq!(sorted.matching, many);
        }
    }

    #[test]
    fn cursors_name_the_log_and_a_place_in_the_list() {
        for (cursor, expected) in [
            ("ff-3", Some((255, 3))),
            ("100-3", None),
            ("ff", None),
            ("ff-", None),
            ("-3", None),
            ("ff--3", None),
        ] {
            assert_eq!(place_of(cursor, 255), expected, "{cursor}");
        }
    }
}
