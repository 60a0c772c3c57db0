//! Words to a crawl at work: stop, pause, go on, other figures, how does it stand?
//!
//! Owns the handle [`Control`] and the changes that a running crawl takes; in `socket` and
//! `server` the same words reach it from another process. It refuses to know how the engine
//! obeys. Invariant: nobody who asks can hold the engine up; it answers from memory, and an
//! answer that nobody takes is dropped.

pub(crate) mod protocol;
mod remote;
#[cfg(unix)]
pub(crate) mod server;
#[cfg(not(unix))]
#[path = "deaf.rs"]
pub(crate) mod server;
#[cfg(unix)]
pub(crate) mod socket;

use std::fmt;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use clewline_core::frontier::{HostSummary, JobId};
use clewline_core::url::CrawlUrl;
use clewline_job::exclusion::ExclusionPreview;
use clewline_job::hosts::{HostPage, HostQuestion};
pub(crate) use clewline_job::why::RobotsSaying;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::config::{Config, ConfigProblem, Root};
use crate::engine::{LinkWord, Message};
use crate::report::Tally;
use crate::status::Status;

/// How long an answer may take; the engine may be in the middle of a commit.
const PATIENCE: Duration = Duration::from_secs(20);

/// A longer delay is a mistake.
const LONGEST_DELAY: Duration = Duration::from_hours(24);

/// Why a running crawl did not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ControlError {
    /// It has ended, or is about to.
    #[error("the crawl has ended")]
    Ended,
    /// It does not answer in time.
    #[error("the crawl did not answer within {} s", PATIENCE.as_secs())]
    Late,
    /// The new figures make no sense.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Refused(Vec<ConfigProblem>),
    /// It goes on with the new figures, but they could not be kept for the next run.
    #[error("done, but it could not be written to job.toml: {0}")]
    NotKept(String),
}

/// Another figure for a running crawl. It counts at once and is kept for later runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Change {
    /// Requests per second and host at the most; takes the place of a delay.
    Rate(f64),
    /// Fixed time between requests to a host; takes the place of a rate.
    Delay(Duration),
    /// Requests in flight in all.
    Concurrency(u32),
    /// Requests in flight per host.
    HostConcurrency(u32),
    /// Pages fetched in all; none is unlimited.
    MaxPages(Option<u64>),
    /// Pages fetched per host; none is unlimited.
    MaxPagesPerHost(Option<u64>),
    /// Bytes read from the network; none is unlimited.
    MaxBytes(Option<u64>),
    /// Time of all runs together; none is unlimited.
    MaxTime(Option<Duration>),
}

impl Change {
    /// The order that brings it to all members of a fleet.
    pub fn as_fleet_order(self) -> String {
        let order = crate::fleet::FleetOrder::Change(self);
        serde_json::to_string(&order).unwrap_or_default()
    }

    /// Puts the figure into a configuration, or says what is wrong with it.
    pub(crate) fn apply(self, config: &mut Config) -> Result<(), Vec<ConfigProblem>> {
        let (pace, limits) = (&mut config.politeness, &mut config.limits);
        match self {
            Self::Rate(rate) => (pace.rate, pace.delay) = (Some(rate), None),
            Self::Delay(delay) if delay > LONGEST_DELAY => {
                return Err(vec![ConfigProblem {
                    setting: "delay",
                    problem: "is longer than a day".into(),
                }]);
            }
            Self::Delay(delay) => (pace.rate, pace.delay) = (None, Some(delay)),
            Self::Concurrency(number) => limits.concurrency = number,
            Self::HostConcurrency(number) => pace.host_concurrency = Some(number),
            Self::MaxPages(pages) => limits.pages = pages,
            Self::MaxPagesPerHost(pages) => limits.pages_per_host = pages,
            Self::MaxBytes(bytes) => limits.bytes = bytes,
            Self::MaxTime(time) => limits.time = time,
        }
        let problems = config.validate();
        if problems.is_empty() {
            Ok(())
        } else {
            Err(problems)
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, value) = match self {
            Self::Rate(rate) => ("rate", Some(format!("{rate}/s"))),
            Self::Delay(delay) => ("delay", Some(format!("{}s", delay.as_secs_f64()))),
            Self::Concurrency(number) => ("concurrency", Some(number.to_string())),
            Self::HostConcurrency(number) => ("host-concurrency", Some(number.to_string())),
            Self::MaxPages(pages) => ("max-pages", pages.map(|pages| pages.to_string())),
            Self::MaxPagesPerHost(pages) => {
                ("max-pages-per-host", pages.map(|pages| pages.to_string()))
            }
            Self::MaxBytes(bytes) => ("max-bytes", bytes.map(|bytes| bytes.to_string())),
            Self::MaxTime(time) => (
                "max-time",
                time.map(|time| format!("{}s", time.as_secs_f64())),
            ),
        };
        write!(
            formatter,
            "{name} {}",
            value.as_deref().unwrap_or("unlimited")
        )
    }
}

/// What the engine is asked from outside its thread.
#[derive(Debug)]
pub(crate) enum Asked {
    Status(Sender<Status>),
    Look(Box<CrawlUrl>, Sender<Sight>),
    Hosts(Box<HostQuestion>, Sender<HostPage>),
    Tally(Sender<Tally>),
    Preview(String, Sender<Result<ExclusionPreview, ControlError>>),
    Exclude(String, Sender<Result<(), ControlError>>),
    Pause,
    GoOn,
    Change(Change, Sender<Result<(), ControlError>>),
    Add(Box<Root>, Sender<Result<bool, ControlError>>),
}

/// What a crawl knows of a URL that may have no record yet.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sight {
    /// It was let into the crawl.
    pub(crate) seen: bool,
    /// What the stored robots.txt says.
    pub(crate) robots: Option<RobotsSaying>,
    /// Hosts that joined the roots.
    pub(crate) joined: Vec<CrawlUrl>,
    /// Where each log ended at the last commit, if one was seen.
    pub(crate) ends: Vec<(String, u64)>,
    /// How its host stands, if it is active.
    pub(crate) host: Option<HostSummary>,
    /// The template that it belongs to was given up as a trap: in words.
    #[serde(default)]
    pub(crate) trap: Option<String>,
}

/// Steers a crawl from anywhere. A crawl that has ended takes no notice.
#[derive(Debug, Clone)]
pub struct Control(Sender<Message>);

impl Control {
    pub(crate) const fn new(engine: Sender<Message>) -> Self {
        Self(engine)
    }

    /// Hands out nothing more and ends when everything in flight is settled, or after `grace`.
    pub fn stop(&self, grace: Duration) {
        self.tell(Message::Stop(grace));
    }

    /// Hands out nothing more until [`Control::go_on`]; what is in flight comes to its end.
    pub fn pause(&self) {
        self.tell(Message::Asked(Asked::Pause));
    }

    /// Goes on after [`Control::pause`].
    pub fn go_on(&self) {
        self.tell(Message::Asked(Asked::GoOn));
    }

    /// Goes on with another figure, from now on and, with a job folder, in later runs.
    pub fn change(&self, change: Change) -> Result<(), ControlError> {
        self.ask(|reply| Asked::Change(change, reply))?
    }

    /// One more URL to crawl from, as people type it: it counts as a root, and its host belongs to the
    /// scope from now on. Whether it was new; one that is refused is an error that says why. A job that
    /// is resumed knows the URL, and its configuration does not name it.
    pub fn add(&self, root: &str) -> Result<bool, ControlError> {
        let refused = |problem: String| {
            let setting = "url";
            ControlError::Refused(vec![ConfigProblem { setting, problem }])
        };
        let root = Root::parse(root).map_err(|error| refused(error.to_string()))?;
        self.ask(|reply| Asked::Add(Box::new(root), reply))?
    }

    /// How many queued URLs a pattern would leave out.
    pub fn preview_exclusion(&self, pattern: &str) -> Result<ExclusionPreview, ControlError> {
        self.ask(|reply| Asked::Preview(pattern.to_owned(), reply))?
    }

    /// Leaves out what matches a pattern, as `--exclude` does, from now on and in later runs: what is
    /// found, and what is queued already.
    pub fn exclude(&self, pattern: &str) -> Result<(), ControlError> {
        self.ask(|reply| Asked::Exclude(pattern.to_owned(), reply))?
    }

    /// How the crawl stands. Waits for the engine's next turn: not for asynchronous code.
    pub fn status(&self) -> Result<Status, ControlError> {
        self.ask(Asked::Status)
    }

    /// Some of the hosts, in the order that is asked for.
    pub fn hosts(&self, question: HostQuestion) -> Result<HostPage, ControlError> {
        self.ask(|reply| Asked::Hosts(Box::new(question), reply))
    }

    /// What is counted of all URLs, without the numbers by host.
    pub fn tally(&self) -> Result<Tally, ControlError> {
        self.ask(Asked::Tally)
    }

    pub(crate) fn look(&self, url: CrawlUrl) -> Result<Sight, ControlError> {
        self.ask(|reply| Asked::Look(Box::new(url), reply))
    }

    pub(crate) fn taken(&self) {
        self.tell(Message::Taken);
    }

    pub(crate) fn read(&self, job: JobId, word: LinkWord) {
        self.tell(Message::Read(job, word));
    }

    fn tell(&self, message: Message) {
        // A crawl that has ended needs no words.
        self.0.send(message).ok();
    }

    fn ask<T>(&self, question: impl FnOnce(Sender<T>) -> Asked) -> Result<T, ControlError> {
        let (reply, answer) = channel();
        let sent = self.0.send(Message::Asked(question(reply)));
        sent.map_err(|_| ControlError::Ended)?;
        answer.recv_timeout(PATIENCE).map_err(|error| match error {
            std::sync::mpsc::RecvTimeoutError::Timeout => ControlError::Late,
            std::sync::mpsc::RecvTimeoutError::Disconnected => ControlError::Ended,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Root;

    #[test]
    fn changes_reach_their_figure_or_are_refused() {
        let mut config = Config {
            roots: vec![Root::parse("a.test").unwrap()],
            ..Config::default()
        };
        let mut check = |change: Change, words: &str, fine: bool| {
            let mut changed = config.clone();
            assert_eq!(change.to_string(), words);
            assert_eq!(change.apply(&mut changed).is_ok(), fine, "{words}");
            let json = serde_json::to_string(&change).unwrap();
            assert_eq!(serde_json::from_str::<Change>(&json).unwrap(), change);
            if fine {
                assert_ne!(changed, config, "{words}");
                config = changed;
            }
        };
        let second = Duration::from_secs(1);
        check(Change::Delay(second), "delay 1s", true);
        check(Change::Rate(2.5), "rate 2.5/s", true);
        check(Change::Rate(0.0), "rate 0/s", false);
        check(
            Change::Delay(Duration::from_hours(25)),
            "delay 90000s",
            false,
        );
        check(Change::Concurrency(7), "concurrency 7", true);
        check(Change::Concurrency(0), "concurrency 0", false);
        check(Change::HostConcurrency(3), "host-concurrency 3", true);
        check(Change::MaxPages(Some(9)), "max-pages 9", true);
        check(Change::MaxPages(Some(0)), "max-pages 0", false);
        check(Change::MaxPages(None), "max-pages unlimited", true);
        check(
            Change::MaxPagesPerHost(Some(4)),
            "max-pages-per-host 4",
            true,
        );
        check(Change::MaxBytes(Some(10)), "max-bytes 10", true);
        check(Change::MaxTime(Some(second)), "max-time 1s", true);
        assert_eq!(
            (config.politeness.rate, config.politeness.delay),
            (Some(2.5), None)
        );
    }
}
