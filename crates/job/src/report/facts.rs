//! The facts of a run that no record holds.
//!
//! Owns what the engine hands over at the end. It refuses to know how they came about.

use std::fmt;
use std::path::PathBuf;

use clewline_core::frontier::Trap;
use clewline_core::url::CrawlUrl;
use serde::{Deserialize, Serialize};

/// What the engine knows about a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunFacts {
    /// The version of the crawler.
    pub version: String,
    /// When the crawl began: UTC, RFC 3339.
    pub started_at: String,
    /// When it ended: UTC, RFC 3339.
    pub finished_at: String,
    /// How long it worked, earlier runs of a resumed job included.
    pub seconds: f64,
    /// The job folder, if there is one.
    pub folder: Option<PathBuf>,
    /// Where it began.
    pub roots: Vec<CrawlUrl>,
    /// Hosts that joined the roots because a root's redirects ended there.
    pub joined_hosts: Vec<String>,
    /// How many requests could have been in flight.
    pub concurrency: u32,
    /// How many were.
    pub peak_in_flight: u32,
    /// URLs that entered the crawl.
    pub admitted: u64,
    /// URLs still queued, those that are withheld included.
    pub todo: u64,
    /// URLs that are withheld as parts of traps.
    pub withheld: u64,
    /// The templates that were given up as traps.
    pub traps: Vec<Trap>,
    /// A root that is an empty page without JavaScript and has no link, so that nothing follows.
    pub empty_root: Option<CrawlUrl>,
    /// Whether another run can go on where this one stopped.
    pub resumable: bool,
    /// Why it ended.
    pub stopped_by: StoppedBy,
    /// What a reader of the numbers should know, such as that robots.txt was ignored.
    pub notes: Vec<String>,
}

/// Why a crawl ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum StoppedBy {
    /// Nothing was left to do.
    #[default]
    Finished,
    /// By the user.
    Interrupted,
    /// By a budget, named as its flag: `--max-pages`.
    Budget(String),
    /// By an error that the crawl could not go on after.
    Error(String),
}

impl StoppedBy {
    /// How a job of a fleet ended, by what its database says of an early end.
    pub fn in_fleet(early: Option<&str>) -> Self {
        match early {
            Some(flag) if flag.starts_with("--") => Self::Budget(flag.to_owned()),
            Some(_) => Self::Interrupted,
            None => Self::Finished,
        }
    }
}

impl fmt::Display for StoppedBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished => formatter.write_str("finished"),
            Self::Interrupted => formatter.write_str("interrupted"),
            Self::Budget(name) => write!(formatter, "stopped by {name}"),
            Self::Error(text) => write!(formatter, "stopped by an error: {text}"),
        }
    }
}
