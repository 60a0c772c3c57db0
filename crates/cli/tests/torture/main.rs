//! Kill the crawl at random moments and go on: nothing is lost, nothing is recorded twice.
//!
//! The server outlives the crawler and keeps a log of everything it was asked. After the last
//! run three ledgers are compared: what the graph says must be found, what the server was
//! asked, and what stands in the job folder. `CLEWLINE_KILLS` and `CLEWLINE_TORTURE_PAGES`
//! make it larger.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are tests, but clippy knows only functions"
)]

mod archive;
mod graph;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clewline::log::{LinksReader, records, urls};
use clewline::record::{OutcomeKind, Record};
use terrarium::LiveWeb;

use graph::{Graph, HOST};

/// Requests in flight.
const CONCURRENCY: usize = 24;

/// What was answered this long before a kill may not have been committed: a batch gathers for
/// a tenth of a second, and a busy disk takes its time.
const COMMITTED_AFTER: Duration = Duration::from_secs(1);

/// How long a run may take to get anywhere; only a hang takes longer.
const PATIENCE: Duration = Duration::from_mins(1);

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

fn start(folder: &Path, web: &LiveWeb) -> Child {
    let root = web.url(HOST, "/p/0");
    Command::new(env!("CARGO_BIN_EXE_clewline"))
        .args([
            root.as_str(),
            "--quiet",
            "--no-sitemaps",
            "--retry-delay",
            "1ms",
            "--warc-size",
            archive::FILE_SIZE,
            "--output",
        ])
        .arg(folder)
        .args(["--concurrency", &CONCURRENCY.to_string()])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn finish(child: Child) {
    let output = child.wait_with_output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{talk}");
}

fn read(folder: &Path) -> Vec<Record> {
    records(&folder.join(urls::FILE))
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

/// The path of a record's URL.
fn path_of(record: &Record) -> String {
    record.url.path_and_query().to_owned()
}

/// Compares the ledgers after the last run.
fn check(graph: Graph, web: &LiveWeb, folder: &Path, kills: &[Instant]) {
    let records = read(folder);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for record in &records {
        *counts.entry(path_of(record)).or_default() += 1;
    }
    let twice: Vec<_> = counts.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "recorded twice: {twice:?}");

    let expected = graph.expected();
    let found: BTreeMap<String, (OutcomeKind, Option<u16>)> = records
        .iter()
        .map(|record| (path_of(record), (record.outcome, record.status)))
        .collect();
    let names = |map: &BTreeMap<String, _>| map.keys().cloned().collect::<BTreeSet<String>>();
    let lost: Vec<_> = names(&expected)
        .difference(&names(&found))
        .cloned()
        .collect();
    assert!(
        lost.is_empty(),
        "{} lost, such as {:?}",
        lost.len(),
        &lost[..lost.len().min(5)]
    );
    assert_eq!(found, expected);

    let log = web.log();
    let asked: BTreeSet<String> = log.iter().map(|hit| hit.target.clone()).collect();
    for record in records.iter().filter(|record| record.status.is_some()) {
        assert!(
            asked.contains(&path_of(record)),
            "{} is done but was never asked",
            record.url
        );
    }
    let denied = log
        .iter()
        .filter(|hit| hit.target.starts_with("/denied"))
        .count();
    assert_eq!(denied, 0, "robots.txt is obeyed after every restart");
    let counts = |hit: &&terrarium::Hit| hit.target != "/robots.txt" && hit.status != Some(500);
    let requests = log.iter().filter(counts).count();
    let repeats = requests - graph::requests(&expected);
    let open: usize = kills.iter().map(|kill| open_at(*kill, web)).sum();
    assert!(
        repeats <= open,
        "{repeats} repeats, but only {open} were open at {} kills",
        kills.len()
    );

    let links: Result<Vec<_>, _> = LinksReader::open(folder).unwrap().collect();
    let sources: BTreeSet<_> = links
        .unwrap()
        .into_iter()
        .map(|(source, ..)| source)
        .collect();
    let pages = records.iter().filter(|record| record.links > 0).count();
    assert_eq!(
        sources.len(),
        pages,
        "every page's links are there, and torn ones nowhere"
    );
    archive::check(folder);
    let kills = kills.len();
    eprintln!(
        "{} URLs, {kills} kills, {requests} requests, {repeats} repeats",
        records.len()
    );
}

/// How many URLs can have been handed out or settled but not committed at a kill.
fn open_at(kill: Instant, web: &LiveWeb) -> usize {
    let recent = |hit: &&terrarium::Hit| hit.at <= kill && hit.at + COMMITTED_AFTER >= kill;
    web.log().iter().filter(recent).count() + CONCURRENCY
}

/// Kills a run when the server has been asked so many times more.
fn kill_after(requests: usize, child: &mut Child, web: &LiveWeb) -> Option<Instant> {
    let target = web.log().len() + requests;
    let running = RefCell::new(child);
    let has_ended = || running.borrow_mut().try_wait().unwrap().is_some();
    let reached = web.wait_for(|log| log.len() >= target || has_ended(), PATIENCE);
    assert!(reached, "the crawl does not get anywhere");
    let ended = has_ended();
    let child = running.into_inner();
    if !ended {
        child.kill().unwrap();
    }
    let at = Instant::now();
    child.wait().unwrap();
    (!ended).then_some(at)
}

#[test]
fn kill_at_random_moments_loses_nothing() {
    let pages = number("CLEWLINE_TORTURE_PAGES", 1500);
    let wanted = number("CLEWLINE_KILLS", 20) as usize;
    let graph = Graph::new(pages);
    let place = tempfile::tempdir().unwrap();
    let (mut round, mut kills, mut dice) = (0, 0, 0x5eed_u64);
    while kills < wanted {
        round += 1;
        let web = graph.serve();
        let folder = place.path().join(format!("{round}.crawl"));
        let mut kills_here = Vec::new();
        loop {
            let mut child = start(&folder, &web);
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let part = pages as usize / 12;
            let requests = (dice >> 33) as usize % part.max(1);
            if kills + kills_here.len() >= wanted {
                child.wait().unwrap();
                break;
            }
            match kill_after(requests, &mut child, &web) {
                Some(at) => kills_here.push(at),
                None => break,
            }
        }
        // The last run of a round goes to the end, whatever came before.
        if read_marker(&folder) != "finished" {
            finish(start(&folder, &web));
        }
        check(graph, &web, &folder, &kills_here);
        kills += kills_here.len();
    }
}

/// What the folder says of itself.
fn read_marker(folder: &Path) -> &'static str {
    let text = std::fs::read_to_string(folder.join("job.toml")).unwrap_or_default();
    if text.contains("finished = true") {
        "finished"
    } else {
        "unfinished"
    }
}

#[test]
fn a_second_kill_right_after_the_restart_loses_nothing() {
    let graph = Graph::new(400);
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a.crawl");
    let web = graph.serve();
    let mut kills = Vec::new();
    for requests in [60, 0, 1, 80, 0, 2, 0] {
        let mut child = start(&folder, &web);
        kills.extend(kill_after(requests, &mut child, &web));
    }
    finish(start(&folder, &web));
    check(graph, &web, &folder, &kills);
}

#[test]
fn one_interrupt_repeats_nothing() {
    let graph = Graph::new(600);
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a.crawl");
    let web = graph.serve();
    for requests in [100, 200] {
        let mut child = start(&folder, &web);
        let target = web.log().len() + requests;
        assert!(web.wait_for(|log| log.len() >= target, PATIENCE));
        let process = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }
    finish(start(&folder, &web));
    check(graph, &web, &folder, &[]);
}
