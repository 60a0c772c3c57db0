//! Promises that a race does not show: a pace that is kept and used, an order that can be
//! repeated, and those of their own modules: many requests at once, and growth.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::super::arena::internet::{Internet, Plan};
use super::super::ground::Ground;
use super::super::measure::{Cost, Stopwatch};
use super::super::options::{Care, Options};
use super::contestant::{self, Blanks, Contestant};
use super::internet::way_in;
use super::round::{Account, Arena, empty};
use super::{flight, growth};
use crate::stage::say;

/// The part of the ceiling that a crawl must reach.
const OF_CEILING: f64 = 0.95;

/// Fields of a record that tell of the moment or of the run, not of the web.
const OF_THE_RUN: [&str; 4] = ["fetched_at", "timings", "address", "key"];

/// A promise and whether it was kept.
#[derive(Debug, Clone)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) seen: String,
    pub(crate) wanted: String,
    pub(crate) kept: Kept,
}

/// Whether a promise was kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    Yes,
    No,
    /// This machine cannot show it.
    NotMeasured,
}

impl From<bool> for Kept {
    fn from(kept: bool) -> Self {
        if kept { Self::Yes } else { Self::No }
    }
}

impl Check {
    /// A promise that this machine cannot show, and why.
    pub(super) fn not_measured(name: &'static str, why: &str, wanted: String) -> Self {
        Self {
            name,
            seen: format!("not measured: {why}"),
            wanted,
            kept: Kept::NotMeasured,
        }
    }
}

type Examine = fn(&Bench) -> Result<Vec<Check>>;

const CHECKS: [(&str, Examine); 4] = [
    ("many at once", flight::checks),
    ("pace", |bench| Ok(vec![pace(bench)?])),
    ("order", |bench| Ok(vec![order(bench)?])),
    ("growth", growth::checks),
];

/// Makes the checks that are wanted.
pub(crate) fn run(ground: &Ground, options: &Options) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    for (name, examine) in CHECKS {
        if options.wants(name) {
            say(&format!("\n{name}"));
            checks.extend(examine(&Bench { ground, options })?);
        }
    }
    Ok(checks)
}

/// What the checks share.
pub(super) struct Bench<'a> {
    pub(super) ground: &'a Ground,
    pub(super) options: &'a Options,
}

/// Where a crawl begins and how it goes.
pub(super) struct Course<'a> {
    pub(super) roots: &'a Path,
    pub(super) in_flight: usize,
    pub(super) words: &'a [&'a str],
    /// Other cores than the one of whoever is measured.
    pub(super) cores: Option<&'a str>,
}

/// One crawl, from all sides.
pub(super) struct Crawled {
    pub(super) cost: Cost,
    pub(super) account: Account,
    report: Value,
}

impl Crawled {
    /// A number of its report.
    pub(super) fn count(&self, path: &str) -> u64 {
        let number = self.report.pointer(path);
        number.and_then(Value::as_u64).unwrap_or(0)
    }
}

impl Bench<'_> {
    /// A number for figures that are quoted, and one for a try.
    pub(super) fn size(&self, full: u32, quick: u32) -> u32 {
        match self.options.care {
            Care::Full => full,
            Care::Quick => quick,
        }
    }

    /// Clewline in an internet.
    pub(super) fn crawl(
        &self,
        internet: &Internet,
        who: Contestant,
        course: &Course,
    ) -> Result<Crawled> {
        self.watch(internet, who, course, &mut |_| ())
    }

    /// The same, looked at on the way.
    pub(super) fn watch(
        &self,
        internet: &Internet,
        who: Contestant,
        course: &Course,
        look: &mut dyn FnMut(u32),
    ) -> Result<Crawled> {
        let way = way_in(internet, &course.roots.display().to_string());
        let way: Vec<&str> = way.iter().map(String::as_str).collect();
        let who = who
            .with(&way)
            .with(&["--format", "json"])
            .with(course.words);
        let disk = self.ground.scratch.join("crawl");
        empty(&disk)?;
        let blanks = Blanks {
            url: "",
            out: &disk,
            disk: &disk,
            list: &internet.list(),
            in_flight: course.in_flight,
        };
        let session = internet.open(&blanks)?;
        let stopwatch = Stopwatch::new(&self.ground.scratch, self.options.limit());
        let stopwatch = match course.cores {
            Some(cores) => stopwatch.on(cores),
            None => stopwatch,
        };
        let cost = stopwatch.watch(&who.command(&blanks), look)?;
        let account = session.close()?;
        let Ok(report) = serde_json::from_str(&stopwatch.words()?) else {
            bail!("{} said no report: {}", who.name, stopwatch.complaints()?);
        };
        Ok(Crawled {
            cost,
            account,
            report,
        })
    }
}

/// A fixed delay at which the hosts could take half of what the crawler can do: are they asked
/// as often as they may be?
fn pace(bench: &Bench) -> Result<Check> {
    // Long beside the delay, so that beginning and end do not matter.
    let watched = f64::from(bench.size(60, 20));
    let hosts = bench.size(400, 50);
    let internet = Internet::prepare(
        bench.ground,
        &Plan {
            profile: "real",
            hosts,
            pages: 200,
            seed: 7,
            latency: 0.1,
            delay: None,
            secure: None,
            promises: Vec::new(),
        },
    )?;
    let seconds = format!("{watched}s");
    let crawl = |words: &[&str]| {
        let course = Course {
            roots: &internet.origins(),
            in_flight: 5000,
            words: &[&["--max-time", &seconds, "--speed", "max"], words].concat(),
            cores: None,
        };
        bench.crawl(&internet, contestant::in_memory(bench.ground), &course)
    };
    let free = crawl(&[])?;
    let capacity = free.account.requests as f64 / free.cost.wall;
    let turns = turns(&fs::read_to_string(internet.turns())?)?;
    let delay = 2.0 * turns.len() as f64 / capacity;
    let held = crawl(&["--delay", &format!("{:.0}ms", delay * 1000.0)])?;
    let rate = held.account.requests as f64 / held.cost.wall.min(watched);
    let ceiling = ceiling(&turns, delay, watched);
    Ok(Check {
        name: "use of a fixed delay on many hosts",
        seen: format!(
            "{rate:.0} requests/s with a delay of {delay:.2} s on {} hosts, {:.1} % of the ceiling \
             (without a delay: {capacity:.0}/s)",
            turns.len(),
            rate / ceiling * 100.0
        ),
        wanted: format!("{:.0} % of {ceiling:.0} requests/s", OF_CEILING * 100.0),
        kept: (rate >= OF_CEILING * ceiling).into(),
    })
}

/// Requests that each host gets in a whole crawl, from lines `HOST NUMBER`.
fn turns(text: &str) -> Result<Vec<u32>> {
    let number = |line: &str| Ok(line.split_whitespace().nth(1).unwrap_or_default().parse()?);
    text.lines().map(number).collect()
}

/// Requests per second if every host is asked whenever its delay is over, until it has nothing
/// left.
fn ceiling(turns: &[u32], delay: f64, watched: f64) -> f64 {
    let most = (watched / delay).floor() + 1.0;
    let requests: f64 = turns.iter().map(|turns| most.min(f64::from(*turns))).sum();
    requests / watched
}

/// Two crawls, one request at a time: the same lines in the same order.
fn order(bench: &Bench) -> Result<Check> {
    let hosts = bench.size(100, 10);
    let internet = Internet::prepare(
        bench.ground,
        &Plan {
            profile: "micro",
            hosts,
            pages: 20,
            seed: 7,
            latency: 1.0,
            delay: None,
            secure: None,
            promises: Vec::new(),
        },
    )?;
    let crawl = || -> Result<Vec<String>> {
        let course = Course {
            roots: &internet.roots(),
            in_flight: 1,
            words: &["--speed", "max"],
            cores: None,
        };
        bench.crawl(&internet, contestant::with_folder(bench.ground), &course)?;
        let urls = bench.ground.scratch.join("crawl/urls.jsonl");
        let urls = fs::read_to_string(urls).context("urls.jsonl")?;
        urls.lines().map(timeless).collect()
    };
    let (first, second) = (crawl()?, crawl()?);
    let differ = first
        .iter()
        .zip(&second)
        .filter(|(left, right)| left != right)
        .count();
    let kept = differ == 0 && first.len() == second.len();
    Ok(Check {
        name: "order with one request at a time",
        seen: format!(
            "{} and {} records, {differ} differ",
            first.len(),
            second.len()
        ),
        wanted: "the same records in the same order".to_owned(),
        kept: kept.into(),
    })
}

/// A record without what belongs to the run.
fn timeless(line: &str) -> Result<String> {
    let mut record: Value = serde_json::from_str(line)?;
    if let Some(fields) = record.as_object_mut() {
        fields.retain(|name, _| !OF_THE_RUN.contains(&name.as_str()));
    }
    Ok(record.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_runs_out_lowers_the_ceiling() {
        // 30 s at one in 10 s are four turns, the first at once.
        let check = |text: &str, requests: f64| {
            let found = ceiling(&turns(text).unwrap(), 10.0, 30.0) * 30.0;
            assert!((found - requests).abs() < 1e-9, "{text:?}: {found}");
        };
        check("a.test 100\nb.test 100\n", 8.0);
        check("a.test 2\n", 2.0);
        check("", 0.0);
        assert!(turns("a.test\n").is_err());
    }

    #[test]
    fn the_moment_is_left_out() {
        let line = r#"{"url":"u","key":"k","fetched_at":"t","status":200}"#;
        assert_eq!(timeless(line).unwrap(), r#"{"status":200,"url":"u"}"#);
    }
}
