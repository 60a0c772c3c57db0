//! What a run keeps for the next one, beside what the store keeps.
//!
//! Owns the notes that are sealed with every batch: the frontier's counts, the time spent, the
//! cookies, and now and then the tally. It decides nothing about the crawl.

use std::time::Duration;

use clewline_core::cookies::CookieJar;
use clewline_core::frontier::{FrontierState, Moment};

use crate::clock::timestamp;
use crate::report::Tally;

/// How often the tally is kept; what came after is read again from the log.
const TALLY_TIME: Duration = Duration::from_secs(5);

/// Names under which a restart finds things again.
pub(crate) const FRONTIER_NOTE: &str = "frontier";
pub(crate) const SPENT_NOTE: &str = "spent";
pub(crate) const COOKIES_NOTE: &str = "cookies";
pub(crate) const TALLY_NOTE: &str = "tally";
pub(crate) const STARTED_NOTE: &str = "started";
/// The identity of the job that the state belongs to.
pub(crate) const JOB_NOTE: &str = "job";

/// What earlier runs of the same job did.
#[derive(Debug)]
pub(crate) struct EarlierRuns {
    pub(crate) resumed: bool,
    pub(crate) tally: Tally,
    pub(crate) tally_offset: u64,
    pub(crate) spent: Duration,
    pub(crate) started_at: String,
    /// The identity of the job.
    pub(crate) job: String,
    /// What was repaired before this run, in words.
    pub(crate) repaired: Vec<String>,
}

impl Default for EarlierRuns {
    fn default() -> Self {
        Self {
            resumed: false,
            tally: Tally::default(),
            tally_offset: 0,
            spent: Duration::ZERO,
            started_at: timestamp(),
            job: String::new(),
            repaired: Vec::new(),
        }
    }
}

/// What was kept, and when.
#[derive(Debug)]
pub(super) struct ResumeNotes {
    /// Time that earlier runs spent.
    pub(super) spent: Duration,
    /// When the first run began.
    pub(super) started_at: String,
    job: String,
    /// The cookies are not as they were kept.
    pub(super) cookies_changed: bool,
    /// Up to where the tally counts the log of URLs.
    pub(super) tally_offset: u64,
    tally_kept: Moment,
}

impl ResumeNotes {
    pub(super) fn new(earlier: &EarlierRuns) -> Self {
        Self {
            spent: earlier.spent,
            started_at: earlier.started_at.clone(),
            job: earlier.job.clone(),
            cookies_changed: true,
            tally_offset: earlier.tally_offset,
            tally_kept: Moment::ZERO,
        }
    }

    /// Time spent in all runs.
    pub(super) fn spent(&self, now: Moment) -> Duration {
        self.spent + now
    }

    /// The notes to seal with a batch.
    pub(super) fn notes(
        &mut self,
        now: Moment,
        frontier: &FrontierState,
        cookies: &CookieJar,
        tally: &Tally,
    ) -> Result<Vec<(&'static str, Vec<u8>)>, serde_json::Error> {
        let mut notes = vec![
            (FRONTIER_NOTE, serde_json::to_vec(frontier)?),
            (STARTED_NOTE, serde_json::to_vec(&self.started_at)?),
            (JOB_NOTE, serde_json::to_vec(&self.job)?),
            (SPENT_NOTE, serde_json::to_vec(&self.spent(now))?),
        ];
        if std::mem::take(&mut self.cookies_changed) {
            notes.push((COOKIES_NOTE, serde_json::to_vec(cookies)?));
        }
        if now >= self.tally_kept + TALLY_TIME {
            self.tally_kept = now;
            notes.push((TALLY_NOTE, serde_json::to_vec(&(tally, self.tally_offset))?));
        }
        Ok(notes)
    }
}
