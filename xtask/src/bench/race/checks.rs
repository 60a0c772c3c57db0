//! Promises that a race does not show: many requests at once, a pace that is kept and used, and
//! an order that can be repeated.

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
use crate::stage::say;

/// The most memory that a waiting request may take.
const KIB_PER_REQUEST: f64 = 8.0;

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
    pub(crate) kept: bool,
}

type Examine = fn(&Bench) -> Result<Check>;

const CHECKS: [(&str, Examine); 3] = [
    ("many at once", many_at_once),
    ("pace", pace),
    ("order", order),
];

/// Makes the checks that are wanted.
pub(crate) fn run(ground: &Ground, options: &Options) -> Result<Vec<Check>> {
    let mut checks = Vec::new();
    for (name, examine) in CHECKS {
        if options.wants(name) {
            say(&format!("\n{name}"));
            checks.push(examine(&Bench { ground, options })?);
        }
    }
    Ok(checks)
}

/// What the checks share.
struct Bench<'a> {
    ground: &'a Ground,
    options: &'a Options,
}

/// Where a crawl begins and how it goes.
struct Course<'a> {
    roots: &'a Path,
    in_flight: usize,
    words: &'a [&'a str],
}

/// One crawl, from all sides.
struct Crawled {
    cost: Cost,
    account: Account,
    report: Value,
}

impl Bench<'_> {
    fn size(&self, full: u32, quick: u32) -> u32 {
        match self.options.care {
            Care::Full => full,
            Care::Quick => quick,
        }
    }

    /// Clewline in an internet.
    fn crawl(&self, internet: &Internet, who: Contestant, course: &Course) -> Result<Crawled> {
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
        let cost = stopwatch.run(&who.command(&blanks))?;
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

fn count(report: &Value, path: &str) -> u64 {
    report.pointer(path).and_then(Value::as_u64).unwrap_or(0)
}

/// A request to every host at once, all of which answer late.
fn many_at_once(bench: &Bench) -> Result<Check> {
    let hosts = bench.size(10_000, 1000);
    let internet = Internet::prepare(
        bench.ground,
        &Plan {
            profile: "slow",
            hosts,
            pages: 5,
            seed: 7,
            latency: 10.0,
            promises: Vec::new(),
        },
    )?;
    let crawl = |roots: &Path, in_flight: u32| {
        let course = Course {
            roots,
            in_flight: in_flight as usize,
            words: &["--speed", "max"],
        };
        bench.crawl(&internet, contestant::in_memory(bench.ground), &course)
    };
    let crawled = crawl(&internet.origins(), hosts)?;
    // A crawl that reaches nothing shows what the program takes by itself.
    let nowhere = bench.ground.scratch.join("nowhere");
    fs::write(&nowhere, "http://127.0.0.1:1/\n")?;
    let alone = crawl(&nowhere, 1)?;
    let failed = count(&crawled.report, "/tally/outcomes/failed");
    let at_once = count(&crawled.report, "/facts/peak_in_flight");
    let memory = crawled.cost.peak.saturating_sub(alone.cost.peak) as f64;
    let each = memory / at_once.max(1) as f64;
    Ok(Check {
        name: "requests in flight to slow hosts",
        seen: format!("{at_once} at once, {failed} failed, {each:.1} KiB each, all included"),
        wanted: format!("{hosts} at once, none failed, at most {KIB_PER_REQUEST} KiB each"),
        kept: failed == 0 && at_once >= u64::from(hosts) && each <= KIB_PER_REQUEST,
    })
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
            promises: Vec::new(),
        },
    )?;
    let seconds = format!("{watched}s");
    let crawl = |words: &[&str]| {
        let course = Course {
            roots: &internet.origins(),
            in_flight: 5000,
            words: &[&["--max-time", &seconds, "--speed", "max"], words].concat(),
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
        kept: rate >= OF_CEILING * ceiling,
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
            promises: Vec::new(),
        },
    )?;
    let crawl = || -> Result<Vec<String>> {
        let course = Course {
            roots: &internet.roots(),
            in_flight: 1,
            words: &["--speed", "max"],
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
        kept,
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
