//! Ctrl-C and SIGTERM: once and twice.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use terrarium::{LiveWeb, Page, Reply, Site};

use crate::place::{HOST, Place, masked, web_of};

/// Far longer than anything takes, so that a test fails instead of hanging.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A site without an end: each page leads to the next.
pub(crate) fn endless() -> Site {
    Site::new().handler(|request| {
        let number: u64 = request.path().trim_start_matches('/').parse().unwrap_or(0);
        let page = Page::html(format!("<a href=/{}>next</a>", number + 1));
        page.delay(Duration::from_millis(20)).into()
    })
}

/// A run of the command; it is ended if the test fails.
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn start(place: &Place, line: &[&str]) -> Self {
        Self::from_command(place.command(line))
    }

    pub(crate) fn from_command(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// Reads what is said until a line begins with this; the rest stays to be read.
    pub(crate) fn wait_for_line(&mut self, begin: &str) -> BufReader<ChildStderr> {
        let mut talk = BufReader::new(self.0.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with(begin) {
            line.clear();
            let length = talk.read_line(&mut line).unwrap();
            assert!(length > 0, "it ended without {begin:?}");
        }
        talk
    }

    /// Waits for the end of a run that was killed.
    pub(crate) fn ended(mut self) {
        self.0.wait().unwrap();
    }

    /// Exit code and stdout.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let mut out = String::new();
        let mut stdout = self.0.stdout.take().unwrap();
        stdout.read_to_string(&mut out).unwrap();
        (self.0.wait().unwrap().code(), out)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Where the test went well it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn wait_for_requests(web: &LiveWeb, number: usize) {
    assert!(web.wait_for(|log| log.len() >= number, PATIENCE));
}

#[test]
fn one_signal_finishes_what_is_in_flight_and_reports() {
    for signal in [Signal::INT, Signal::TERM] {
        let web = web_of(endless());
        let place = Place::new();
        let root = web.url(HOST, "/");
        let line = ["-o", "job", "--no-sitemaps", "--max-time", "1m", &root];
        let mut running = Running::start(&place, &line);
        wait_for_requests(&web, 5);
        running.signal(signal);
        let mut talk = running.wait_for_line("stopping: what is in flight may finish");
        let mut rest = String::new();
        talk.read_to_string(&mut rest).unwrap();
        let (code, out) = running.end();
        assert_eq!(code, Some(130));
        assert!(out.contains(" · interrupted · job\n"), "{out}");
        assert_eq!(
            rest,
            "note: stopped with 1 URL still to do; the same command goes on\n"
        );
        let asked = web.log().filtered(|hit| hit.path() != "/robots.txt").len();
        let recorded = place.records("job").len();
        assert_eq!(asked, recorded, "what was asked is recorded");
        assert!(place.path("job/report.html").exists());

        let ran = place.run(&["-o", "job", &root]);
        let expected = "\
error: job holds an unfinished crawl of another scope:
  sitemaps: false → true

hint: go on with the old scope, or say --rescope to go on with the new one
";
        assert_eq!((ran.code, ran.talk.as_str()), (2, expected));
    }
}

#[test]
fn two_signals_end_at_once() {
    let site = Site::new()
        .page("/", Page::html("<a href=/never>x</a>"))
        .page("/never", Reply::silence());
    let web = web_of(site);
    let place = Place::new();
    let root = web.url(HOST, "/");
    let mut running = Running::start(&place, &["-o", "job", &root]);
    assert!(web.wait_for(|log| log.count("/never") > 0, PATIENCE));
    running.signal(Signal::INT);
    let _talk = running.wait_for_line("stopping:");
    running.signal(Signal::TERM);
    // The page in flight would hold a report back for the whole time of grace.
    assert_eq!(running.end(), (Some(130), String::new()));
}

#[test]
fn what_never_answers_is_not_waited_for_without_end() {
    let web = web_of(endless());
    let root = web.url(HOST, "/");
    let place = Place::new();
    let running = Running::start(&place, &["-q", "--no-output", "--max-time", "100ms", &root]);
    let (code, out) = running.end();
    assert_eq!(code, Some(0));
    assert!(
        masked(&out, &web).contains("stopped by --max-time"),
        "{out}"
    );
}
