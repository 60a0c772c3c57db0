//! Where the matrix is run: a web that can be computed, the command, and the ledgers.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use clewline_job::log::{records, urls};
use clewline_job::record::{OutcomeKind, Record};
use rustix::process::{Pid, Signal, kill_process};
use terrarium::{LiveWeb, Page, Site, Web};

/// The host of most crawls; its address is its name.
pub(crate) const HOST: &str = "127.0.0.1";

/// Far longer than anything takes, so that a test fails instead of hanging.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// What page number so and so of a site of so many pages says: it leads to two more.
pub(crate) fn page(number: u64, pages: u64) -> Page {
    let links = [2 * number + 1, 2 * number + 2].into_iter();
    let links = links.filter(|link| *link < pages);
    Page::html(terrarium::links(links.map(|link| format!("/{link}"))))
}

/// The number in a path.
pub(crate) fn number(path: &str) -> u64 {
    path.trim_start_matches('/').parse().unwrap_or(0)
}

/// A site of so many pages, each after a while.
pub(crate) fn tree(pages: u64, delay: Duration) -> Site {
    Site::new()
        .robots("User-agent: *\nDisallow:\n")
        .delay(delay)
        .handler(move |request| page(number(request.path()), pages).into())
}

/// The same as a web of one host.
pub(crate) fn web(pages: u64, delay: Duration) -> LiveWeb {
    Web::new().site(HOST, tree(pages, delay)).start()
}

/// A folder and the command that crawls into it.
pub(crate) struct Ground {
    place: tempfile::TempDir,
}

impl Ground {
    pub(crate) fn new() -> Self {
        Self {
            place: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.place.path().join("job")
    }

    /// The line of a crawl with these flags.
    pub(crate) fn line(&self, flags: &[&str], roots: &[String]) -> Vec<String> {
        let folder = self.folder().to_str().unwrap().to_owned();
        let mut line: Vec<String> = [
            env!("CARGO_BIN_EXE_clewline"),
            "--no-sitemaps",
            "--retry-delay",
            "2ms",
            "--max-time",
            "50s",
            "--output",
        ]
        .map(str::to_owned)
        .to_vec();
        line.push(folder);
        line.extend(flags.iter().map(|flag| (*flag).to_owned()));
        line.extend(roots.iter().cloned());
        line
    }

    /// Starts a command line, in a clean environment.
    pub(crate) fn start(&self, line: &[String]) -> Run {
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).current_dir(self.place.path());
        Run::new(command.env_clear())
    }

    /// Starts a crawl behind a shell that does something first.
    pub(crate) fn start_behind(&self, script: &str, line: &[String]) -> Run {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{script} && exec \"$0\" \"$@\"")]);
        command.args(line).current_dir(self.place.path());
        Run::new(command.env_clear())
    }

    pub(crate) fn records(&self) -> Vec<Record> {
        read(&self.folder())
    }
}

pub(crate) fn read(folder: &Path) -> Vec<Record> {
    let all = records(&folder.join(urls::FILE)).unwrap();
    all.map(Result::unwrap).collect()
}

/// A crawl at work; it is ended if the test fails.
pub(crate) struct Run(Child);

impl Run {
    fn new(command: &mut Command) -> Self {
        let command = command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        let piped = command.stdin(Stdio::null()).stdout(Stdio::null());
        Self(piped.stderr(Stdio::piped()).spawn().unwrap())
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// What it says, to be read while it runs.
    pub(crate) fn talk(&mut self) -> std::process::ChildStderr {
        self.0.stderr.take().unwrap()
    }

    /// Exit code and what was said and not yet read.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let mut talk = String::new();
        if let Some(mut stderr) = self.0.stderr.take() {
            stderr.read_to_string(&mut talk).unwrap();
        }
        (self.0.wait().unwrap().code(), talk)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Where the test went well it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Every URL was fetched exactly once, and nothing else is recorded.
pub(crate) fn check_all_fetched(records: &[Record], pages: usize) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for record in records {
        *counts.entry(record.url.as_str()).or_default() += 1;
        let what = (record.outcome, record.failure, record.error.as_deref());
        assert_eq!(
            record.outcome,
            OutcomeKind::Fetched,
            "{} {what:?}",
            record.url
        );
    }
    assert_eq!(counts.len(), pages, "lost {}", pages - counts.len());
    assert_eq!(records.len(), pages, "recorded twice");
}

/// Says that a row of the matrix was left out, past the harness that hides what passing tests
/// print.
pub(crate) fn skip(row: &str, why: &str) {
    let line = format!("SKIPPED: {row}: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}
