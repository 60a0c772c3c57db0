//! How a crawl stands, as data.
//!
//! Owns the shape of the answer, which `status --json` prints and a running crawl sends over its
//! socket. It refuses to know how the figures are found: the library looks into the state of a job,
//! or asks the crawl that runs in it.

use std::path::PathBuf;

/// What a URL waits for, as a status names it.
pub use clewline_core::frontier::Cause;
use clewline_core::frontier::FrontierSummary;
use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::report::{Tally, TimeHistogram};

/// What a crawl does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum State {
    /// It runs.
    Running,
    /// It runs, and waits for the word to go on.
    Paused,
    /// It runs, and ends as soon as what is in flight has ended.
    Stopping,
    /// It does not run, and URLs are left.
    Unfinished,
    /// It came to its end.
    Finished,
    /// No page could be fetched, beginning with its roots.
    Unreached,
}

/// How a crawl stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The job folder, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// What it does.
    pub state: State,
    /// How its last run ended; none while it runs, and after one that was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Why nothing new is started, where the hosts are not the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// URLs settled, with durable records.
    pub done: u64,
    /// URLs that wait or are in flight.
    pub queued: u64,
    /// URLs that are withheld as parts of traps.
    #[serde(default)]
    pub withheld: u64,
    /// Requests in flight, those for names and robots.txt included.
    pub in_flight: u64,
    /// Pages fetched.
    pub pages: u64,
    /// Bytes read from the network.
    pub bytes: u64,
    /// Hosts met.
    pub hosts_met: u64,
    /// URLs that failed.
    pub failed: u64,
    /// URLs that answered with an error status.
    pub broken: u64,
    /// Seconds spent, in all runs.
    pub seconds: f64,
    /// Pages per second, over the last seconds.
    pub pages_per_second: f64,
    /// Bytes per second, over the last seconds.
    pub bytes_per_second: f64,
    /// Seconds that what is queued is expected to take, where that can be said: by the pages of
    /// the last seconds, and not less than politeness asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_left: Option<f64>,
    /// The figures in force that can be changed while it runs.
    pub figures: Figures,
    /// What it uses of its machine; only a crawl that runs can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineUse>,
    /// The last things that a person may want to know, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<StatusNote>,
    /// What waits where and for what, and how long that takes at the least.
    #[serde(flatten)]
    pub summary: FrontierSummary,
}

/// Notes of a status.
pub const MOST_NOTES: usize = 20;

/// What a crawl uses of its machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineUse {
    /// The share of the time since the last status in which its engine was busy, from 0 to 1.
    pub engine_busy: f64,
    /// Connections to hosts that are at work; those that speak HTTP/2 are as long as they are open.
    #[serde(default)]
    pub active_connections: u64,
    /// Connections to hosts that are kept for a later request.
    #[serde(default)]
    pub idle_connections: u64,
    /// Connections that are open, and other descriptors that come and go with requests.
    pub open_descriptors: u64,
    /// Bytes that answers under way hold.
    pub held_bytes: u64,
    /// Bytes that the crawl may use.
    pub memory_limit: u64,
    /// Resident memory of the process, where the system tells.
    pub resident_bytes: Option<u64>,
    /// Bytes that are free where the job folder lies.
    pub disk_free_bytes: Option<u64>,
    /// What it made durable since it was started.
    #[serde(default)]
    pub commits: CommitUse,
}

/// What a crawl made durable, a batch at a time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitUse {
    /// How long it took to write a batch and to commit it.
    pub times: TimeHistogram,
    /// Records in these batches.
    pub records: u64,
}

/// Something that a person may want to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusNote {
    /// Its number in this run, from 1.
    pub number: u64,
    /// What happened, as a line.
    pub text: String,
}

/// Figures that can be changed while a crawl runs; none is by the speed, or unlimited.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Requests per second and host.
    pub rate: Option<f64>,
    /// Seconds between requests to a host.
    pub delay: Option<f64>,
    /// Requests in flight in all.
    pub concurrency: u32,
    /// Requests in flight per host.
    pub host_concurrency: Option<u32>,
    /// Pages in all.
    pub max_pages: Option<u64>,
    /// Pages per host.
    pub max_pages_per_host: Option<u64>,
    /// Bytes from the network.
    pub max_bytes: Option<u64>,
    /// Seconds in all runs.
    pub max_time: Option<f64>,
}

impl Status {
    /// Takes over what a tally counted.
    pub const fn count(&mut self, tally: &Tally) {
        (self.done, self.pages) = (tally.done, tally.pages);
        (self.failed, self.broken) = (tally.outcomes.failed, tally.broken);
    }
}

impl Figures {
    /// The figures that a configuration asks for.
    pub fn from_config(config: &Config) -> Self {
        let (pace, limits) = (&config.politeness, &config.limits);
        Self {
            rate: pace.rate,
            delay: pace.delay.map(|delay| delay.as_secs_f64()),
            concurrency: limits.concurrency,
            host_concurrency: pace.host_concurrency,
            max_pages: limits.pages,
            max_pages_per_host: limits.pages_per_host,
            max_bytes: limits.bytes,
            max_time: limits.time.map(|time| time.as_secs_f64()),
        }
    }
}
