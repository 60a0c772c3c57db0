//! Reports: what happened, for people and for programs.
//!
//! Owns the tally, the facts of a run, and the writers: text for a terminal, JSON, the list
//! of the original crawler, and one HTML page. It refuses to know the engine and the network:
//! it sees records and logs only. Invariant: the totals add up ([`Report::check`]), and
//! everything foreign is escaped where it is written.

mod broken;
mod facts;
pub mod figures;
mod html;
mod ink;
mod list;
mod pictures;
mod rendered;
#[cfg(test)]
pub(crate) mod samples;
mod series;
mod tally;
#[cfg(test)]
mod tests;
mod text;
mod times;
mod update;

use std::io;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use broken::{Broken, MOST_BROKEN, MOST_REFERRERS};
pub use facts::{RunFacts, StoppedBy};
pub use html::html;
pub use ink::Ink;
pub use list::list;
pub use pictures::{PagePicture, pictures};
pub use rendered::RenderedPages;
pub use series::{MOST_POINTS, Series, SeriesPoint};
pub use tally::{Bodies, Guesses, HostTally, MOST_DEPTHS, MOST_HOSTS, Outcomes, Tally};
pub use text::{TextStyle, text};
pub use times::{PhaseTimes, TIME_BOUNDS, TimeHistogram};
pub use update::{Listed, MOST_LISTED, Update};

/// The version of the JSON form of a report.
pub const FORMAT: u32 = 1;

/// Hosts in the list of the slowest.
const SLOWEST_HOSTS: usize = 20;

/// Everything that a report says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The version of this form.
    pub v: u32,
    /// What the engine knows about the run.
    pub facts: RunFacts,
    /// What the records add up to.
    pub tally: Tally,
    /// Broken targets, most linked first; [`Tally::broken`] is their true number.
    pub broken: Vec<Broken>,
    /// The hosts with the longest mean first-byte time, slowest first.
    pub slowest_hosts: Vec<SlowHost>,
    /// How it compares with an earlier crawl, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub update: Option<Update>,
    /// What some of its pages look like, for people.
    #[serde(skip)]
    pub pictures: Vec<PagePicture>,
}

/// A host in the list of the slowest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlowHost {
    /// Its name.
    pub host: String,
    /// Requests, all tries counted.
    pub requests: u64,
    /// Mean first-byte time in milliseconds.
    pub mean: f64,
    /// Longest first-byte time in milliseconds.
    pub most: f64,
}

/// Totals that do not add up: a defect of the crawler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Imbalance {
    /// A URL was lost or settled twice.
    #[error("{admitted} URLs were admitted, but {done} are done and {todo} are left")]
    Admitted {
        /// URLs that entered the crawl.
        admitted: u64,
        /// URLs that were settled.
        done: u64,
        /// URLs still queued.
        todo: u64,
    },
    /// A record was counted under no outcome, or under two.
    #[error("{done} URLs are done, but the outcomes sum to {sum}")]
    Done {
        /// URLs that were settled.
        done: u64,
        /// The sum of the outcomes.
        sum: u64,
    },
    /// A skipped URL without a reason, or a failed one without a class.
    #[error("{count} URLs were skipped or failed, but the reasons sum to {sum}")]
    Reasons {
        /// Skipped and failed URLs.
        count: u64,
        /// The sum of their reasons and classes.
        sum: u64,
    },
}

impl Report {
    /// Puts a report together. Where there is a job folder, broken targets and their
    /// referrers come from its logs; without one from the tally, which remembers fewer.
    pub fn build(folder: Option<&Path>, mut tally: Tally, facts: RunFacts) -> io::Result<Self> {
        let spent = Duration::try_from_secs_f64(facts.seconds).unwrap_or_default();
        tally.tick(spent, 0);
        let met = std::mem::take(&mut tally.met);
        let broken = if let Some(folder) = folder {
            broken::read(folder, met.are_all_of(&tally))?
        } else {
            let mut broken: Vec<_> = met.broken.into_iter().map(|(_, broken)| broken).collect();
            broken::sort(&mut broken);
            broken
        };
        Ok(Self {
            v: FORMAT,
            slowest_hosts: slowest(&tally),
            facts,
            tally,
            broken,
            update: None,
            pictures: Vec::new(),
        })
    }

    /// Whether the totals add up.
    pub fn check(&self) -> Result<(), Imbalance> {
        let (admitted, todo, done) = (self.facts.admitted, self.facts.todo, self.tally.done);
        if admitted != done + todo {
            return Err(Imbalance::Admitted {
                admitted,
                done,
                todo,
            });
        }
        let outcomes = self.tally.outcomes;
        let sum = outcomes.rows().iter().map(|(_, count)| count).sum();
        if done != sum {
            return Err(Imbalance::Done { done, sum });
        }
        let count = outcomes.skipped + outcomes.failed;
        let sum =
            self.tally.skipped.values().sum::<u64>() + self.tally.failures.values().sum::<u64>();
        if count != sum {
            return Err(Imbalance::Reasons { count, sum });
        }
        Ok(())
    }

    /// Pages per second over the whole run.
    pub fn pages_per_second(&self) -> f64 {
        if self.facts.seconds > 0.0 {
            self.tally.pages as f64 / self.facts.seconds
        } else {
            0.0
        }
    }
}

/// The whole report as one JSON object, safe to show on a terminal.
pub fn json(report: &Report) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(report)?;
    let mut out = Vec::with_capacity(text.len());
    crate::escape::json_text(&text, &mut out);
    Ok(String::from_utf8(out).expect("escapes are ASCII and the rest was text"))
}

fn slowest(tally: &Tally) -> Vec<SlowHost> {
    let timed = tally.hosts.iter().filter_map(|(host, numbers)| {
        Some(SlowHost {
            host: host.clone(),
            requests: numbers.requests,
            mean: numbers.first_byte_mean()?,
            most: numbers.first_byte_longest()?,
        })
    });
    let mut hosts: Vec<_> = timed.collect();
    hosts.sort_by(|left, right| right.mean.total_cmp(&left.mean));
    hosts.truncate(SLOWEST_HOSTS);
    hosts
}
