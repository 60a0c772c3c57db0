//! The tally: everything a report counts, folded from records one by one.
//!
//! Owns the counters and their bounds. It refuses to know files and clocks, so it serves live
//! progress and the final report alike, and can be stored to go on after a restart. Invariant:
//! its memory is bounded whatever the web sends, and each record counts once in each total.

use std::collections::BTreeMap;
use std::time::Duration;

use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use clewline_core::outcome::{FailureClass, SkipReason};
use serde::{Deserialize, Serialize};

use super::broken::Broken;
use super::rendered::RenderedPages;
use super::series::Series;
use super::times::PhaseTimes;
use crate::record::{OutcomeKind, Record};

/// Hosts with numbers of their own; the rest is summed in [`Tally::other_hosts`].
pub const MOST_HOSTS: usize = 10_000;

/// No registered name is longer (RFC 1035, section 2.3.4); the URL standard allows it.
const LONGEST_HOST: usize = 253;

/// Media types that are counted by name, far more than are shown.
const MOST_TYPES: usize = 500;

/// A longer media type is counted as another one.
const LONGEST_TYPE: usize = 100;

/// Depths with a count of their own; the last one holds everything deeper.
pub const MOST_DEPTHS: usize = 100;

/// Broken targets that are remembered here, for crawls that leave nothing on disk.
const MOST_BROKEN: usize = 1_000;

/// A fold over records.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    /// Settled URLs.
    pub done: u64,
    /// Pages that were brought or confirmed; sitemaps and parts of pages do not count.
    pub pages: u64,
    /// Settled URLs by outcome.
    pub outcomes: Outcomes,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Fetched bodies by media type.
    pub types: BTreeMap<String, u64>,
    /// Fetched bodies of types beyond the bound, or without one.
    pub other_types: u64,
    /// Failed URLs by class.
    pub failures: BTreeMap<FailureClass, u64>,
    /// Skipped URLs by reason.
    pub skipped: BTreeMap<SkipReason, u64>,
    /// Links that were refused before they became URLs of the crawl, by reason.
    pub refused: BTreeMap<SkipReason, u64>,
    /// Settled URLs that answered with 400 or above, or failed.
    pub broken: u64,
    /// Bytes read from the network.
    pub wire_bytes: u64,
    /// Bytes of bodies after decoding.
    pub body_bytes: u64,
    /// Bodies that were cut at a limit.
    pub truncated: u64,
    /// HTML pages that answered with 200.
    pub html: Bodies,
    /// Other bodies that answered with 200.
    pub other: Bodies,
    /// Answers that are neither a redirect nor a 200.
    pub error: Bodies,
    /// Distinct links found, summed over pages.
    pub links: u64,
    /// URLs that were guessed from scripts.
    pub guesses: Guesses,
    /// Pages that look empty without JavaScript.
    pub shells: u64,
    /// Pages that a browser rendered.
    pub rendered: RenderedPages,
    /// Settled URLs by depth.
    pub depths: Vec<u64>,
    /// Numbers by host.
    pub hosts: BTreeMap<String, HostTally>,
    /// The sum over the hosts beyond [`MOST_HOSTS`].
    pub other_hosts: HostTally,
    /// How long the last tries took.
    pub times: PhaseTimes,
    /// Tries after which there was another one, by the status that they were answered with.
    pub retried_statuses: BTreeMap<u16, u64>,
    /// Tries after which there was another one, by why they failed.
    pub retried_failures: BTreeMap<FailureClass, u64>,
    /// The crawl over time.
    pub series: Series,
    /// What was met since the tally was begun or restored.
    #[serde(skip)]
    pub(super) met: Met,
}

/// Records of one run. The logs hold those of all runs, so this is not stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Met {
    records: u64,
    /// The first broken targets among them.
    pub(super) broken: Vec<(Key, Broken)>,
}

impl Met {
    /// The broken targets, if a tally holds no record and no broken target beside these.
    pub(super) fn are_all_of(self, tally: &Tally) -> Option<Vec<(Key, Broken)>> {
        let is_whole = self.records > 0 && self.records == tally.done;
        (is_whole && self.broken.len() as u64 == tally.broken).then_some(self.broken)
    }
}

/// Settled URLs by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcomes {
    /// An answer was read.
    pub fetched: u64,
    /// The answer was a redirect.
    pub redirected: u64,
    /// Nothing changed since an earlier crawl.
    pub unmodified: u64,
    /// Not fetched, on purpose.
    pub skipped: u64,
    /// Could not be fetched.
    pub failed: u64,
}

impl Outcomes {
    /// Names and counts, in the order in which they are shown.
    pub const fn rows(&self) -> [(&'static str, u64); 5] {
        [
            ("fetched", self.fetched),
            ("redirected", self.redirected),
            ("unmodified", self.unmodified),
            ("skipped", self.skipped),
            ("failed", self.failed),
        ]
    }

    fn add(&mut self, outcome: OutcomeKind) {
        let counter = match outcome {
            OutcomeKind::Fetched => &mut self.fetched,
            OutcomeKind::Redirected => &mut self.redirected,
            OutcomeKind::Unmodified => &mut self.unmodified,
            OutcomeKind::Skipped => &mut self.skipped,
            OutcomeKind::Failed => &mut self.failed,
        };
        *counter += 1;
    }
}

/// URLs that were guessed, and how many of them were there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guesses {
    /// Settled, whatever came of it.
    pub tried: u64,
    /// Answered with a page or a redirect.
    pub existed: u64,
}

impl Guesses {
    fn add(&mut self, record: &Record) {
        if record.kind.is_guess() {
            self.tried += 1;
            let is_there = record.status.is_some_and(|status| status < 400);
            self.existed += u64::from(is_there);
        }
    }
}

/// A number of bodies and their size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bodies {
    /// How many.
    pub count: u64,
    /// Their bytes after decoding.
    pub bytes: u64,
}

impl Bodies {
    const fn add(&mut self, bytes: u64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The numbers of one host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostTally {
    /// Settled URLs.
    pub done: u64,
    /// Requests, all tries counted.
    pub requests: u64,
    /// URLs that failed.
    pub failures: u64,
    /// Answers with a status of 400 or above.
    pub errors: u64,
    /// Bytes read from the network.
    pub bytes: u64,
    /// Answers whose first byte was timed.
    pub timed: u64,
    /// The sum of their first-byte times, in microseconds.
    pub first_byte_sum: u64,
    /// The longest of them, in microseconds.
    pub first_byte_most: u64,
}

impl HostTally {
    /// Mean first-byte time in milliseconds, if any answer was timed.
    pub fn first_byte_mean(&self) -> Option<f64> {
        (self.timed > 0).then(|| self.first_byte_sum as f64 / 1000.0 / self.timed as f64)
    }

    /// Longest first-byte time in milliseconds, if any answer was timed.
    pub fn first_byte_longest(&self) -> Option<f64> {
        (self.timed > 0).then(|| self.first_byte_most as f64 / 1000.0)
    }

    fn add(&mut self, record: &Record, first_byte: Option<u64>) {
        self.done += 1;
        self.requests += u64::from(record.tries);
        self.failures += u64::from(record.outcome == OutcomeKind::Failed);
        self.errors += u64::from(answer(record).is_some_and(|status| status >= 400));
        self.bytes = self.bytes.saturating_add(record.wire_bytes);
        if let Some(micros) = first_byte {
            self.timed += 1;
            self.first_byte_sum += micros;
            self.first_byte_most = self.first_byte_most.max(micros);
        }
    }
}

impl Tally {
    /// Counts one settled URL.
    pub fn add(&mut self, record: &Record) {
        let first_byte = record.timings.first_byte.and_then(micros);
        self.done += 1;
        self.met.records += 1;
        let brought = matches!(
            record.outcome,
            OutcomeKind::Fetched | OutcomeKind::Unmodified
        );
        self.pages += u64::from(brought && Self::counts_as_page(record.kind));
        self.outcomes.add(record.outcome);
        self.wire_bytes = self.wire_bytes.saturating_add(record.wire_bytes);
        self.body_bytes = self.body_bytes.saturating_add(record.body_bytes);
        self.truncated += u64::from(record.truncated);
        self.links += u64::from(record.links);
        self.add_reason(record);
        self.add_body(record);
        self.add_depth(record.depth);
        self.host(record.url.host()).add(record, first_byte);
        self.guesses.add(record);
        self.shells += u64::from(record.shell);
        self.rendered.add(record);
        self.add_broken(record);
        self.times.add(&record.timings);
        self.add_retries(record);
        self.series.add(record.body_bytes, first_byte);
    }

    /// The same without numbers by host, which are most of its size.
    #[must_use]
    pub fn without_hosts(&self) -> Self {
        Self {
            done: self.done,
            pages: self.pages,
            outcomes: self.outcomes,
            statuses: self.statuses.clone(),
            types: self.types.clone(),
            other_types: self.other_types,
            failures: self.failures.clone(),
            skipped: self.skipped.clone(),
            refused: self.refused.clone(),
            broken: self.broken,
            wire_bytes: self.wire_bytes,
            body_bytes: self.body_bytes,
            truncated: self.truncated,
            html: self.html,
            other: self.other,
            error: self.error,
            links: self.links,
            guesses: self.guesses,
            depths: self.depths.clone(),
            times: self.times,
            retried_statuses: self.retried_statuses.clone(),
            retried_failures: self.retried_failures.clone(),
            series: self.series.clone(),
            ..Self::default()
        }
    }

    /// Whether what is named so is a page; sitemaps and parts of pages are none.
    pub fn counts_as_page(kind: LinkKind) -> bool {
        kind != LinkKind::SitemapFile && !kind.is_requisite()
    }

    /// Counts links that were refused before they became URLs of the crawl.
    pub fn refuse(&mut self, reason: SkipReason, count: u64) {
        if count > 0 {
            *self.refused.entry(reason).or_default() += count;
        }
    }

    /// Notes the moment, since the crawl began, up to which records were added, and how many
    /// requests are in flight. After a restart `at` goes on from the time already spent.
    pub fn tick(&mut self, at: Duration, in_flight: u32) {
        self.series.tick(at, in_flight);
    }

    fn add_reason(&mut self, record: &Record) {
        if let Some(status) = answer(record) {
            *self.statuses.entry(status).or_default() += 1;
        }
        if record.outcome == OutcomeKind::Failed {
            let class = record.failure.unwrap_or(FailureClass::Internal);
            *self.failures.entry(class).or_default() += 1;
        }
        if let (OutcomeKind::Skipped, Some(reason)) = (record.outcome, record.reason) {
            *self.skipped.entry(reason).or_default() += 1;
        }
    }

    fn add_retries(&mut self, record: &Record) {
        for tried in &record.earlier {
            if let Some(class) = tried.failure {
                *self.retried_failures.entry(class).or_default() += 1;
            } else if let Some(status) = tried.status {
                *self.retried_statuses.entry(status).or_default() += 1;
            }
        }
    }

    fn add_body(&mut self, record: &Record) {
        if record.outcome != OutcomeKind::Fetched {
            return;
        }
        self.add_type(record.content_type.as_deref().unwrap_or_default());
        let bodies = match BodyClass::from_record(record) {
            BodyClass::Html => &mut self.html,
            BodyClass::Other => &mut self.other,
            BodyClass::Error => &mut self.error,
        };
        bodies.add(record.body_bytes);
    }

    fn add_type(&mut self, name: &str) {
        if let Some(count) = self.types.get_mut(name) {
            *count += 1;
        } else if self.types.len() < MOST_TYPES && (1..=LONGEST_TYPE).contains(&name.len()) {
            self.types.insert(name.to_owned(), 1);
        } else {
            self.other_types += 1;
        }
    }

    fn add_depth(&mut self, depth: u32) {
        let depth = (depth as usize).min(MOST_DEPTHS - 1);
        if depth >= self.depths.len() {
            self.depths.resize(depth + 1, 0);
        }
        self.depths[depth] += 1;
    }

    fn host(&mut self, name: &str) -> &mut HostTally {
        let known = self.hosts.contains_key(name);
        if !known && (self.hosts.len() >= MOST_HOSTS || name.len() > LONGEST_HOST) {
            return &mut self.other_hosts;
        }
        if !known {
            self.hosts.insert(name.to_owned(), HostTally::default());
        }
        self.hosts.get_mut(name).expect("known or just inserted")
    }

    fn add_broken(&mut self, record: &Record) {
        let Some(broken) = Broken::from_record(record) else {
            return;
        };
        self.broken += 1;
        if self.met.broken.len() < MOST_BROKEN {
            self.met.broken.push((record.key, broken));
        }
    }
}

/// Whole microseconds, so that sums are exact and survive being stored. A time that is none
/// is left out; a day is longer than any time-out.
pub(super) fn micros(millis: f64) -> Option<u64> {
    const DAY: f64 = 86_400_000.0;
    let is_time = (0.0..=DAY).contains(&millis);
    is_time.then(|| (millis * 1000.0).round() as u64)
}

/// The status that counts. A sitemap that the crawler only looked for has none: nobody linked to
/// it, and nobody misses it.
fn answer(record: &Record) -> Option<u16> {
    let is_probe = record.reason == Some(SkipReason::NoSitemap);
    record.status.filter(|_| !is_probe)
}

/// How the original crawler sorted bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyClass {
    Html,
    Other,
    Error,
}

impl BodyClass {
    pub(super) fn from_record(record: &Record) -> Self {
        let is_html = matches!(
            record.content_type.as_deref(),
            Some("text/html" | "application/xhtml+xml")
        );
        match record.status {
            Some(200) if is_html => Self::Html,
            Some(200) => Self::Other,
            _ => Self::Error,
        }
    }
}
