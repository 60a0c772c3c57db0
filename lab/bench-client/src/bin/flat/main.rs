//! A crawl of a hundred million URLs in flat memory, without the network.
//!
//! Owns the course of the run: the real frontier over the real store finds a made-up web, then
//! hosts without end, is closed, opened again, and goes on. Rows go to standard error on the
//! way, one object of JSON to standard output at the end. Invariant: a run whose counts are not
//! exact has no figures.

mod drive;
mod gauge;
mod web;

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use clewline::measuring::frontier_on_disk;
use clewline_core::frontier::{Counts, HostRules, Moment, Next, Rules};
use clewline_core::key::{Key, Keyer};
use clewline_core::politeness::Politeness;
use clewline_core::scope::{Reach, Scope};
use serde_json::{Value, json};

use drive::Drive;
use gauge::{Gauge, Row};
use web::{Plan, Web};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Hosts that are known at the start.
const ROOTS: u64 = 64;
/// Pages that are fetched after the restart, unless all are.
const PAGES_AFTER: u64 = 2000;
/// What memory may grow by in the second half of the first part; between two looks it differs by
/// a tenth, for buffers fill and are written out.
const GROWTH: f64 = 1.25;
/// Bytes on disk per URL, of keys and queue together.
const BYTES_PER_URL: f64 = 60.0;
/// Bytes of memory.
const MEMORY: u64 = 1_000_000_000;
/// Seconds from opening to the first job.
const RESTART: f64 = 10.0;

#[derive(Parser)]
struct Arguments {
    /// Where the state goes; must not exist but for --restart, and is removed in the end
    #[arg(long)]
    folder: PathBuf,
    /// Distinct URLs
    #[arg(long, value_parser = number)]
    urls: u64,
    /// Hosts that they are on
    #[arg(long, value_parser = number)]
    hosts: u64,
    /// Hosts in the end, one URL on each that is added
    #[arg(long, value_parser = number)]
    then_hosts: u64,
    /// As --memory of a crawl
    #[arg(long, value_parser = number)]
    memory: u64,
    /// Rows to print
    #[arg(long, default_value_t = 20)]
    rows: u64,
    /// Only go on from what a killed run left in the folder
    #[arg(long)]
    restart: bool,
    /// Fetch everything after the restart
    #[arg(long)]
    drain: bool,
    /// Fail if memory grows, or memory, disk or restart are beyond their targets
    #[arg(long)]
    check: bool,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let folder = arguments.folder.display();
    if arguments.restart {
        ensure!(arguments.folder.exists(), "{folder} is not there");
    } else {
        ensure!(
            !arguments.folder.exists(),
            "{folder} is there already: remove it first"
        );
    }
    fs::create_dir_all(&arguments.folder)?;
    let ended = run(&arguments);
    fs::remove_dir_all(&arguments.folder)?;
    let summary = ended?;
    let mut out = io::stdout().lock();
    writeln!(out, "{summary}")?;
    Ok(out.flush()?)
}

fn run(arguments: &Arguments) -> Result<Value> {
    let plan = Plan {
        urls: arguments.urls,
        hosts: arguments.hosts,
        then_hosts: arguments.then_hosts.max(arguments.hosts),
    };
    if arguments.restart {
        let restart = go_on(arguments, plan, None, Moment::ZERO)?;
        return Ok(json!({"restart_seconds": restart}));
    }
    let ledger = arguments.folder.join("ledger");
    let found = find_all(arguments, plan, &ledger)?;
    let (rows, counts) = (&found.rows, found.counts);
    let hosts = rows.last().map(|row| row.done.hosts);
    ensure!(
        counts.admitted == plan.all_urls() && hosts == Some(plan.then_hosts),
        "{counts:?} are not {plan:?}"
    );
    let settled = keys(&ledger)?;
    ensure!(
        settled.len() as u64 == counts.settled,
        "{} of {} pages were fetched more than once",
        counts.settled - settled.len() as u64,
        counts.settled
    );
    drop(settled);
    let restart = go_on(arguments, plan, Some(counts), found.now)?;
    let again = keys(&ledger)?;
    let pages = fs::metadata(&ledger)?.len() / 16;
    ensure!(
        again.len() as u64 == pages,
        "{} pages were fetched again after the restart",
        pages - again.len() as u64
    );
    if arguments.check {
        check(&found, restart)?;
    }
    Ok(json!({
        "plan": {"urls": plan.urls, "hosts": plan.hosts, "then_hosts": plan.then_hosts},
        "memory": arguments.memory,
        "lanes": found.lanes,
        "rows": rows.iter().map(Row::json).collect::<Vec<_>>(),
        "restart_seconds": restart,
    }))
}

/// What the first run leaves.
struct Found {
    rows: Vec<Row>,
    /// Hosts that may be active.
    lanes: usize,
    /// Rows of the first part, in which hosts have many URLs.
    first_part: usize,
    counts: Counts,
    now: Moment,
}

/// The first run: finds all URLs, and then all hosts.
fn find_all(arguments: &Arguments, plan: Plan, ledger: &Path) -> Result<Found> {
    let state = arguments.folder.join("state");
    let mut frontier = frontier_on_disk(&state, rules(Moment::ZERO), arguments.memory)?;
    let mut web = Web::new(plan, keyer());
    let roots = ROOTS.min(plan.hosts);
    drive::begin_with(&mut frontier, (0..roots).map(|_| web.root()))?;
    let mut drive = Drive::start(frontier, web, ledger)?;
    drive.done.new = roots;
    let mut gauge = Gauge::start()?;
    let mut rows = Vec::new();
    let mut first_part = 0;
    tell(Row::HEAD)?;
    let step = (plan.urls / arguments.rows).max(1);
    for part in [plan.urls, plan.all_urls()] {
        first_part = rows.len();
        while drive.done.new < part {
            let goal = (drive.done.new / step + 1) * step;
            ensure!(
                drive.until(goal.min(part), u64::MAX)?,
                "nothing is left to fetch at {:?}",
                drive.done
            );
            let disk = drive.frontier().store().disk_use()?;
            let row = gauge.look(drive.done, disk)?;
            tell(&row.line())?;
            rows.push(row);
        }
    }
    let now = drive.now;
    let lanes = drive.frontier().rules().active_lanes;
    let counts = drive.stop()?;
    Ok(Found {
        rows,
        lanes,
        first_part,
        counts,
        now,
    })
}

/// The second run: opens what the first left, and answers how long the first job took. What a
/// killed run had counted is not known.
fn go_on(arguments: &Arguments, plan: Plan, left: Option<Counts>, now: Moment) -> Result<f64> {
    let state = arguments.folder.join("state");
    let began = Instant::now();
    let mut frontier = frontier_on_disk(&state, rules(now), arguments.memory)?;
    let counts = frontier.counts();
    let before = left.unwrap_or(counts);
    ensure!(
        (counts.admitted, counts.settled) == (before.admitted, before.settled),
        "{before:?} became {counts:?} over a restart"
    );
    let mut moment = Moment::ZERO;
    let first = loop {
        match frontier.next(moment)? {
            Next::WaitUntil(at) => moment = at,
            next => break next,
        }
    };
    let restart = began.elapsed().as_secs_f64();
    ensure!(
        matches!(first, Next::Start(_)),
        "the restart began with {first:?}"
    );
    tell(&format!("restart to first job: {restart:.2} s"))?;
    // That job was a trial: its lease ends with this frontier.
    drop(frontier);
    let frontier = frontier_on_disk(&state, rules(now), arguments.memory)?;
    let nothing_new = Web::found(plan, keyer());
    let ledger = arguments.folder.join("ledger");
    let mut drive = Drive::start(frontier, nothing_new, &ledger)?;
    let pages = if arguments.drain {
        u64::MAX
    } else {
        PAGES_AFTER.min(before.todo())
    };
    let is_more = drive.until(u64::MAX, pages)?;
    let after = drive.stop()?;
    ensure!(
        is_more || after.todo() == 0,
        "{} URLs were lost",
        after.todo()
    );
    tell(&format!(
        "and {} more pages",
        after.settled - before.settled
    ))?;
    Ok(restart)
}

/// The rules of a polite crawl of the whole web.
fn rules(epoch: Moment) -> Rules {
    let scope = Scope::new(Reach::Any, false, &[], &[]).expect("there are no patterns");
    let mut rules = Rules::new(scope, keyer());
    rules.host = Arc::new(HostRules {
        politeness: Politeness::default(),
        near: None,
        robots: true,
        pages: None,
    });
    rules.sitemaps = false;
    rules.epoch = epoch.as_millis() as u64;
    rules
}

fn keyer() -> Keyer {
    Keyer::new(7, &[])
}

/// The keys in the ledger.
fn keys(ledger: &Path) -> Result<HashSet<Key>> {
    let bytes = fs::read(ledger)?;
    let keys = bytes.chunks_exact(16);
    let key = |chunk: &[u8]| Key::from_bytes(chunk.try_into().expect("sixteen bytes"));
    Ok(keys.map(key).collect())
}

/// Holds the figures that do not depend on the machine against their targets.
fn check(found: &Found, restart: f64) -> Result<()> {
    let rows = &found.rows;
    let last = rows.last().context("there are no rows")?;
    let first_part = &rows[..found.first_part];
    let end = first_part.last().context("there is no first part")?;
    let growth = end.peak as f64 / first_part[first_part.len() / 2].peak as f64;
    ensure!(
        growth <= GROWTH,
        "memory grew by {growth:.2} in the second half"
    );
    let most = rows.iter().map(|row| row.peak).max().unwrap_or(0);
    ensure!(most <= MEMORY, "{most} bytes of memory are in use");
    let (keys, queue) = last.per_url();
    ensure!(
        keys + queue <= BYTES_PER_URL,
        "a URL takes {keys:.1} bytes as a key and {queue:.1} in the queue"
    );
    ensure!(restart <= RESTART, "the first job took {restart:.1} s");
    Ok(())
}

fn tell(line: &str) -> Result<()> {
    Ok(writeln!(io::stderr().lock(), "{line}")?)
}

/// A number with a unit: 100k, 1M.
fn number(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'k') => (&text[..text.len() - 1], 1_000),
        Some(b'M') => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    let number: Option<u64> = digits.parse().ok();
    let number = number.and_then(|number| number.checked_mul(unit));
    number
        .filter(|number| *number > 0)
        .ok_or_else(|| "is not a number such as 50000, 100k or 1M".to_owned())
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_have_units() {
        for (text, expected) in [
            ("7", Some(7)),
            ("100k", Some(100_000)),
            ("2M", Some(2_000_000)),
            ("0", None),
            ("M", None),
            ("1.5M", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(number(text).ok(), expected, "{text}");
        }
    }
}
