//! One crawl of one web, from a configuration to everything that can be asked afterwards.
//!
//! Owns the way tests name places: `a.test/path`, host and target without scheme and port, since
//! ports differ in each run. Invariant: every crawl that is run here has totals that add up, as
//! many records as its report counts, and an end within [`PATIENCE`].

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use clewline::{Crawl, CrawlError, Event, Summary};
use clewline_core::frontier::Note;
use clewline_core::outcome::{FailureClass, SkipReason};
use clewline_core::url::CrawlUrl;
use clewline_job::config::{Config, Root, Speed};
use clewline_job::log::{records, urls};
use clewline_job::record::{OutcomeKind, Record};
use clewline_job::report::{Report, StoppedBy};
use tempfile::TempDir;
use terrarium::{Hit, LiveWeb, Log};

/// A crawl that does not end by itself is stopped and fails its test.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Waits between tries that no test has time for otherwise.
const SOON: Duration = Duration::from_millis(5);

/// How far the clocks of both sides may be apart.
const TOLERANCE: Duration = Duration::from_millis(1);

/// A busy machine may notice one arrival late, so that the gap after it looks too short. It does
/// not do so every time; a crawler in a hurry does.
const MEASUREMENTS: usize = 5;

/// What a crawl left behind, and what the server saw of it.
pub(crate) struct Crawled {
    pub(crate) records: Vec<Record>,
    pub(crate) report: Report,
    pub(crate) failed_roots: Vec<(CrawlUrl, String)>,
    pub(crate) log: Log,
    pub(crate) notes: Vec<Note>,
    place: TempDir,
}

/// Milliseconds.
pub(crate) const fn millis(number: u64) -> Duration {
    Duration::from_millis(number)
}

/// The configuration of a crawl at full speed, with the names of this web.
pub(crate) fn config(web: &LiveWeb, roots: &[&str]) -> Config {
    let mut config = Config {
        roots: roots.iter().map(|place| root(web, place)).collect(),
        ..Config::default()
    };
    config.fetch.resolve = web.resolve_args();
    config.politeness.speed = Some(Speed::Max);
    config.politeness.retry_delay = Some(SOON);
    config.politeness.robots_retry = Some(SOON);
    config.limits.time = Some(PATIENCE);
    config
}

/// The root at a place; a leading `https ` picks the site with TLS.
fn root(web: &LiveWeb, place: &str) -> Root {
    let (name, secure) = match place.strip_prefix("https ") {
        Some(place) => (place, true),
        None => (place, false),
    };
    let (host, path) = name.split_at(name.find('/').unwrap_or(name.len()));
    let url = if secure {
        web.tls_url(host, path)
    } else {
        web.url(host, path)
    };
    Root::parse(&url).unwrap()
}

/// Crawls at full speed, with the changes that a test makes.
pub(crate) fn crawl(web: &LiveWeb, roots: &[&str], change: impl FnOnce(&mut Config)) -> Crawled {
    let mut config = config(web, roots);
    change(&mut config);
    run(web, config)
}

/// Crawls by a whole configuration, into a job folder.
pub(crate) fn run(web: &LiveWeb, config: Config) -> Crawled {
    run_as(web, config, |crawl| crawl)
}

/// The same with more than a configuration can say.
pub(crate) fn run_as(
    web: &LiveWeb,
    config: Config,
    change: impl FnOnce(Crawl) -> Crawl,
) -> Crawled {
    let patience = config.limits.time == Some(PATIENCE);
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("job");
    let notes: Arc<Mutex<Vec<Note>>> = Arc::default();
    let ears = Arc::clone(&notes);
    let running = change(Crawl::from_config(config))
        .folder(&folder)
        .observe(move |event| {
            if let Event::Note(note) = event {
                ears.lock().unwrap().push(note.clone());
            }
        })
        .run();
    let summary = running.and_then(clewline::Running::wait).unwrap();
    let notes = notes.lock().unwrap().clone();
    let crawled = Crawled::new(web, summary, place, notes);
    let stopped_by = &crawled.report.facts.stopped_by;
    let out_of_patience = *stopped_by == StoppedBy::Budget("--max-time".into());
    assert!(
        !(patience && out_of_patience),
        "the crawl did not end: {crawled:?}"
    );
    crawled
}

/// Crawls until the gaps between requests to each host are as long as they should be.
pub(crate) fn check_gaps(expected: &[(&str, Duration)], crawl: impl Fn() -> Crawled) -> Crawled {
    let mut seen = Vec::new();
    for _ in 0..MEASUREMENTS {
        let crawled = crawl();
        let gaps = expected
            .iter()
            .map(|(host, _)| crawled.log.smallest_gap(host).unwrap());
        let gaps: Vec<Duration> = gaps.collect();
        let kept =
            |(gap, (_, expected)): (&Duration, &(&str, Duration))| *gap + TOLERANCE >= *expected;
        if gaps.iter().zip(expected).all(kept) {
            return crawled;
        }
        seen.push(gaps);
    }
    panic!("the gaps should be {expected:?}, but were {seen:?}");
}

/// What a crawl by this configuration answers where it cannot even start.
pub(crate) fn refusal(config: Config, folder: &Path) -> CrawlError {
    let started = Crawl::from_config(config).folder(folder).run();
    started.and_then(clewline::Running::wait).unwrap_err()
}

/// The records of a job folder.
pub(crate) fn records_in(folder: &Path) -> Vec<Record> {
    let records = records(&folder.join(urls::FILE)).unwrap();
    records.collect::<Result<_, _>>().unwrap()
}

impl Crawled {
    pub(crate) fn new(web: &LiveWeb, summary: Summary, place: TempDir, notes: Vec<Note>) -> Self {
        let records = records_in(&place.path().join("job"));
        let report = summary.report;
        assert_eq!(report.check(), Ok(()));
        assert_eq!(report.tally.done, records.len() as u64);
        if report.facts.stopped_by == StoppedBy::Finished {
            assert_eq!(report.facts.todo, 0, "a crawl that finished left something");
        }
        Self {
            records,
            report,
            failed_roots: summary.failed_roots,
            log: web.log(),
            notes,
            place,
        }
    }

    /// The job folder.
    pub(crate) fn folder(&self) -> PathBuf {
        self.place.path().join("job")
    }

    /// Everything that was requested, sorted, repetitions included; neither robots.txt nor the
    /// question for a sitemap that is not there.
    pub(crate) fn requested(&self) -> Vec<String> {
        let is_errand = |hit: &&Hit| {
            hit.target == "/robots.txt" || (hit.target == "/sitemap.xml" && hit.status == Some(404))
        };
        let pages = self.log.iter().filter(|hit| !is_errand(hit));
        let mut places: Vec<String> = pages
            .map(|hit| format!("{}{}", hit.host, hit.target))
            .collect();
        places.sort_unstable();
        places
    }

    /// Asserts that exactly these places were requested, each as often as it is named.
    pub(crate) fn check_requested(&self, expected: &[&str]) {
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(self.requested(), expected);
    }

    /// How often a path was requested, whatever the host.
    pub(crate) fn count(&self, path: &str) -> usize {
        self.log.count(path)
    }

    /// All records of a place, in the order in which they were settled.
    pub(crate) fn records_of(&self, place: &str) -> Vec<&Record> {
        let records = self.records.iter();
        records
            .filter(|record| place_of(&record.url) == place)
            .collect()
    }

    /// The only record of a place.
    pub(crate) fn record(&self, place: &str) -> &Record {
        let records = self.records_of(place);
        assert_eq!(records.len(), 1, "records of {place} in {self:?}");
        records[0]
    }

    /// Asserts that a place was skipped for this reason and gives its record.
    pub(crate) fn check_skipped(&self, place: &str, reason: SkipReason) -> &Record {
        let record = self.record(place);
        assert_eq!(record.outcome, OutcomeKind::Skipped, "{record:?}");
        assert_eq!(record.reason, Some(reason), "{record:?}");
        record
    }

    /// Asserts that a place failed in this way and gives its record.
    pub(crate) fn check_failed(&self, place: &str, class: FailureClass) -> &Record {
        let record = self.record(place);
        assert_eq!(record.outcome, OutcomeKind::Failed, "{record:?}");
        assert_eq!(record.failure, Some(class), "{record:?}");
        record
    }

    /// How many links were refused for this reason before they became part of the crawl.
    pub(crate) fn refused(&self, reason: SkipReason) -> u64 {
        let refused = &self.report.tally.refused;
        refused.get(&reason).copied().unwrap_or(0)
    }
}

/// Requests and records in short, for a test that fails.
impl std::fmt::Debug for Crawled {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(formatter, "requested {:#?}", self.requested())?;
        for record in &self.records {
            writeln!(
                formatter,
                "{} {:?} {:?} {:?} {:?} {:?}",
                place_of(&record.url),
                record.outcome,
                record.status,
                record.reason,
                record.failure,
                record.error
            )?;
        }
        write!(formatter, "{:?}", self.report.facts)
    }
}

/// Host and target of a URL, as tests name it.
pub(crate) fn place_of(url: &CrawlUrl) -> String {
    format!("{}{}", url.host(), url.path_and_query())
}
