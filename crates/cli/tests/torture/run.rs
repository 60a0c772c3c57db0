//! Runs of the crawler, and how they are ended.

use std::cell::RefCell;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use terrarium::{Hit, LiveWeb};

use crate::archive;
use crate::graph::{HOST, ROOT};
use crate::ledger::Kill;

/// Requests in flight.
pub(crate) const CONCURRENCY: usize = 24;

/// Runs of all tests. Each names its number in its requests: one that left a run before it was
/// killed may reach the server's log long after.
static RUNS: AtomicUsize = AtomicUsize::new(0);
const RUN: &str = "X-Run";

/// How many runs there were; theirs are the numbers below.
pub(crate) fn runs() -> usize {
    RUNS.load(Ordering::Relaxed)
}

/// The number of the run that made a request.
pub(crate) fn run_of(hit: &Hit) -> usize {
    let number = hit.header(RUN).and_then(|number| number.parse().ok());
    number.expect("every run names its number")
}

/// How long a run may take to get anywhere; only a hang takes longer.
const PATIENCE: Duration = Duration::from_mins(2);

/// How long nothing needs to happen before a run is looked at.
const GLANCE: Duration = Duration::from_millis(20);

/// What makes the tables of the state small.
pub(crate) const SMALL_TABLES: &str = "CLEWLINE_SMALL_TABLES";

/// A moment to kill a run at.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Moment {
    /// When the server has been asked so many times more.
    Requests(usize),
    /// So long after the start.
    Time(Duration),
}

/// The crawl of the graph into a folder.
pub(crate) fn command(folder: &Path, web: &LiveWeb) -> Command {
    let root = web.url(HOST, ROOT);
    let number = RUNS.fetch_add(1, Ordering::Relaxed);
    let mut command = Command::new(env!("CARGO_BIN_EXE_clewline"));
    command
        .args([root.as_str(), "--quiet", "--no-sitemaps"])
        .args(["--retry-delay", "1ms", "--warc-size", archive::FILE_SIZE])
        .arg("--output")
        .arg(folder)
        .args(["--concurrency", &CONCURRENCY.to_string()])
        .args(["--header", &format!("{RUN}: {number}")])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    // Every other run has tables and runs of keys so small that it makes and merges many.
    if number % 2 == 1 {
        command.env(SMALL_TABLES, "1");
    }
    command
}

pub(crate) fn start(folder: &Path, web: &LiveWeb) -> Child {
    command(folder, web).spawn().unwrap()
}

/// Waits for the end of a run, whatever it is.
pub(crate) fn ended(child: Child) -> (Output, String) {
    let output = child.wait_with_output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, talk)
}

/// A run that must come to its end.
pub(crate) fn finish(child: Child) {
    let (output, talk) = ended(child);
    assert_eq!(output.status.code(), Some(0), "{talk}");
}

/// Kills a run at a moment, unless it ends before.
pub(crate) fn kill_at(
    moment: Moment,
    mut child: Child,
    web: &LiveWeb,
    folder: &Path,
) -> Option<Kill> {
    let running = RefCell::new(&mut child);
    let has_ended = || running.borrow_mut().try_wait().unwrap().is_some();
    let (target, time) = match moment {
        Moment::Requests(number) => (web.log().len() + number, PATIENCE),
        Moment::Time(time) => (usize::MAX, time),
    };
    let began = Instant::now();
    // A run that has ended asks nothing more, and only requests wake the one who waits here.
    while !has_ended() && !web.wait_for(|log| log.len() >= target, time.min(GLANCE)) {
        if began.elapsed() >= time {
            assert!(target == usize::MAX, "the crawl does not get anywhere");
            break;
        }
    }
    let is_over = has_ended();
    if is_over {
        finish(child);
        return None;
    }
    child.kill().unwrap();
    child.wait().unwrap();
    Some(Kill::of(folder))
}

/// Whether the folder says that its crawl came to its end.
pub(crate) fn is_finished(folder: &Path) -> bool {
    let text = std::fs::read_to_string(folder.join("job.toml")).unwrap_or_default();
    text.contains("finished = true")
}

/// A number from the environment.
pub(crate) fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}
