//! What earlier checks found out about external links.
//!
//! Owns the file `check/external.jsonl` and how long a line counts. It refuses to ask anybody.
//! Invariants: a line is one URL and lines are sorted, so that the file can be kept under version
//! control; a file that cannot be read is an empty memory and is told; nothing grows beyond what is
//! linked now, or was within a month.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use clewline_check::{CheckVerdict, ProbeRow};
use clewline_core::url::CrawlUrl;
use clewline_job::durable;
use clewline_warc::Moment;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::plan::ProbeWish;

const DAY: Duration = Duration::from_hours(24);
/// How long an answer that is good counts, before the spread.
const OK_KEPT: Duration = Duration::from_hours(7 * 24);
/// How long redirects are believed.
const MOVED_KEPT: Duration = Duration::from_hours(7 * 24);
/// How long a host that refuses to be checked is left alone.
const BLOCKED_KEPT: Duration = DAY;
/// Each URL counts up to this share of its time more or less, so that they do not all fall due in
/// the same run.
const SPREAD: u64 = 20;
/// A URL that nobody links to is forgotten after this time.
const UNLINKED_KEPT: Duration = Duration::from_hours(30 * 24);
/// Longer lines are not ours.
const LONGEST_LINE: u64 = 256 * 1024;
/// More lines than this are not read.
const MOST_LINES: usize = 5_000_000;

/// What is remembered of a URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CachedProbe {
    /// Without its fragment.
    pub(crate) url: CrawlUrl,
    /// The verdict, for whoever reads the file.
    verdict: CheckVerdict,
    /// When: UTC, RFC 3339.
    at: String,
    /// Hash of the ids that were looked for, since a page that cannot be searched has none.
    #[serde(default)]
    looked: u64,
    #[serde(flatten)]
    pub(crate) row: ProbeRow,
}

impl CachedProbe {
    pub(crate) fn new(url: CrawlUrl, row: ProbeRow, wish: &ProbeWish, now: Moment) -> Self {
        Self {
            url,
            verdict: row.verdict(),
            at: now.to_milliseconds(),
            looked: hash_of(wish),
            row,
        }
    }

    /// Whether it still counts, for what is wanted now.
    pub(crate) fn counts(&self, wish: &ProbeWish, now: Moment) -> bool {
        let kept = match self.row.verdict() {
            CheckVerdict::Ok => spread(OK_KEPT, &self.url),
            CheckVerdict::Moved => spread(MOVED_KEPT, &self.url),
            CheckVerdict::Blocked => BLOCKED_KEPT,
            CheckVerdict::Broken | CheckVerdict::Unsure | CheckVerdict::Unchecked => return false,
        };
        let is_known = |id: &u64| {
            let ids = &self.row.ids;
            ids.binary_search_by_key(id, |(known, _)| *known).is_ok()
        };
        let is_looked_for = self.looked == hash_of(wish) || wish.ids.iter().all(is_known);
        self.age(now).is_some_and(|age| age < kept) && is_looked_for
    }

    /// How long ago it was asked; none where its time lies ahead or is no time.
    fn age(&self, now: Moment) -> Option<Duration> {
        let at = Moment::parse(&self.at)?;
        let seconds = now.seconds().checked_sub(at.seconds())?;
        u64::try_from(seconds).ok().map(Duration::from_secs)
    }
}

fn hash_of(wish: &ProbeWish) -> u64 {
    let ids: Vec<u8> = wish.ids.iter().flat_map(|id| id.to_le_bytes()).collect();
    if ids.is_empty() { 0 } else { xxh3_64(&ids) }
}

/// A time, a fifth longer or shorter by the hash of a URL.
fn spread(time: Duration, url: &CrawlUrl) -> Duration {
    let percent = 100 - SPREAD + xxh3_64(url.as_str().as_bytes()) % (2 * SPREAD + 1);
    time * u32::try_from(percent).unwrap_or(100) / 100
}

/// Everything that is remembered.
#[derive(Debug, Default)]
pub(crate) struct ProbeCache {
    lines: BTreeMap<String, CachedProbe>,
}

impl ProbeCache {
    /// Reads a file; one that is not there is empty. Lines that make no sense are passed over and
    /// counted.
    pub(crate) fn read(path: &Path) -> io::Result<(Self, usize)> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok((Self::default(), 0));
            }
            opened => opened?,
        };
        let mut cache = Self::default();
        let mut passed_over = 0;
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        for _ in 0..MOST_LINES {
            line.clear();
            let read = (&mut reader)
                .take(LONGEST_LINE)
                .read_until(b'\n', &mut line)?;
            if read == 0 {
                break;
            }
            match serde_json::from_slice::<CachedProbe>(&line) {
                Ok(probe) => cache.put(probe),
                Err(_) => passed_over += 1,
            }
        }
        Ok((cache, passed_over))
    }

    pub(crate) fn of(&self, url: &CrawlUrl) -> Option<&CachedProbe> {
        self.lines.get(url.as_str())
    }

    pub(crate) fn put(&mut self, probe: CachedProbe) {
        self.lines.insert(probe.url.as_str().to_owned(), probe);
    }

    /// Forgets what nobody has linked to for a long time.
    pub(crate) fn forget(&mut self, is_linked: impl Fn(&str) -> bool, now: Moment) {
        self.lines.retain(|url, probe| {
            is_linked(url) || probe.age(now).is_some_and(|age| age < UNLINKED_KEPT)
        });
    }

    /// Writes the file, whole or not at all.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let mut text = Vec::new();
        for probe in self.lines.values() {
            serde_json::to_writer(&mut text, probe)?;
            text.push(b'\n');
        }
        durable::make_folder(durable::parent(path))?;
        durable::write(path, &text)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use clewline_check::verdict::{LinkAnswer, judge_answer};

    use super::*;

    fn row(status: u16) -> ProbeRow {
        let answer = LinkAnswer {
            status: Some(status),
            ..LinkAnswer::default()
        };
        let judged = judge_answer(&answer, &[]);
        ProbeRow::new(judged, Some(status), Vec::new())
    }

    fn probe(url: &str, row: ProbeRow, at: &str) -> CachedProbe {
        let url = CrawlUrl::parse(url).unwrap();
        let at = Moment::parse(at).unwrap();
        CachedProbe::new(url, row, &ProbeWish::default(), at)
    }

    #[test]
    fn answers_count_for_their_time() {
        let now = Moment::parse("2026-11-18T12:00:00Z").unwrap();
        let check = |status, at: &str, expected: bool| {
            let probe = probe("https://a.test/", row(status), at);
            let counts = probe.counts(&ProbeWish::default(), now);
            assert_eq!(counts, expected, "{status} {at}");
        };
        check(200, "2026-11-13T12:00:00Z", true);
        check(200, "2026-11-09T12:00:00Z", false);
        check(403, "2026-11-17T13:00:00Z", true);
        check(403, "2026-11-17T11:00:00Z", false);
        check(404, "2026-11-18T11:59:59Z", false);
        check(503, "2026-11-18T11:59:59Z", false);
        check(200, "2026-11-19T12:00:00Z", false);
    }

    #[test]
    fn an_id_that_was_not_looked_for_is_not_known() {
        let now = Moment::parse("2026-11-18T12:00:00Z").unwrap();
        let wish = |ids: &[u64]| ProbeWish {
            ids: ids.iter().copied().collect(),
        };
        let mut searched = row(200);
        searched.note_ids(&[1, 2], &[2]);
        let url = CrawlUrl::parse("https://a.test/").unwrap();
        let searched = CachedProbe::new(url.clone(), searched, &wish(&[1, 2]), now);
        assert!(searched.counts(&wish(&[1]), now));
        assert!(!searched.counts(&wish(&[1, 3]), now));
        let picture = CachedProbe::new(url, row(200), &wish(&[1]), now);
        assert!(picture.counts(&wish(&[1]), now));
        assert!(!picture.counts(&wish(&[2]), now));
    }

    #[test]
    fn times_are_spread() {
        let times: BTreeSet<Duration> = (0..200)
            .map(|number| CrawlUrl::parse(&format!("https://a.test/{number}")).unwrap())
            .map(|url| spread(OK_KEPT, &url))
            .collect();
        assert!(times.len() > 30, "{times:?}");
        assert!(*times.first().unwrap() >= OK_KEPT * 80 / 100);
        assert!(*times.last().unwrap() <= OK_KEPT * 120 / 100);
    }

    #[test]
    fn files_are_sorted_and_read_again() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("check/external.jsonl");
        let mut cache = ProbeCache::default();
        for url in ["https://b.test/", "https://a.test/"] {
            cache.put(probe(url, row(200), "2026-11-18T12:00:00Z"));
        }
        cache.write(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let first: Vec<&str> = text.lines().map(|line| &line[..23]).collect();
        assert_eq!(
            first,
            ["{\"url\":\"https://a.test/", "{\"url\":\"https://b.test/"]
        );
        fs::write(&path, text.clone() + "no json\n").unwrap();
        let (again, passed_over) = ProbeCache::read(&path).unwrap();
        assert_eq!((again.lines, passed_over), (cache.lines, 1));
        let (missing, _) = ProbeCache::read(&place.path().join("none")).unwrap();
        assert!(missing.lines.is_empty());
    }

    #[test]
    fn what_is_linked_is_kept() {
        let now = Moment::parse("2026-11-18T12:00:00Z").unwrap();
        let mut cache = ProbeCache::default();
        for (url, at) in [
            ("https://a.test/", "2026-01-01T12:00:00Z"),
            ("https://b.test/", "2026-01-01T12:00:00Z"),
            ("https://c.test/", "2026-11-01T12:00:00Z"),
        ] {
            cache.put(probe(url, row(200), at));
        }
        cache.forget(|url| url == "https://a.test/", now);
        let kept: Vec<&String> = cache.lines.keys().collect();
        assert_eq!(kept, ["https://a.test/", "https://c.test/"]);
    }
}
