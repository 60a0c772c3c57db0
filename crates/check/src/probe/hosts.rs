//! What the answers of one run say of hosts.
//!
//! Owns the verdict on links that nobody asked, because their host failed or refused too often. It
//! refuses to know why a host was given up. Invariant: a link that nobody asked comes closer to broken
//! only if every link of its host that was asked failed.

use std::collections::{BTreeMap, BTreeSet};

use clewline_core::url::CrawlUrl;

use super::{FailingSince, FailurePatience, ProbeRow};
use crate::verdict::{CheckVerdict, JudgedAnswer};

/// What is known of hosts after a run.
#[derive(Debug, Default)]
pub struct HostSigns {
    /// Origins of which something answered without a failure.
    alive: BTreeSet<String>,
    /// Origins that refuse to be checked, with what was seen.
    walls: BTreeMap<String, JudgedAnswer>,
}

impl HostSigns {
    /// Reads them from the rows of a run.
    pub fn new<'a>(rows: impl IntoIterator<Item = (&'a CrawlUrl, &'a ProbeRow)>) -> Self {
        let mut signs = Self::default();
        for (url, row) in rows {
            let is_answered = row.status.is_some() && !row.judged.is_failing;
            if is_answered || !row.hops.is_empty() {
                signs.alive.insert(url.origin().to_owned());
            }
            if is_answered && row.judged.verdict == CheckVerdict::Blocked {
                let wall = signs.walls.entry(url.origin().to_owned());
                wall.or_insert_with(|| row.judged.clone());
            }
        }
        signs
    }

    /// The row of a URL in the light of its host and of what an earlier run knew.
    #[must_use]
    pub fn settle(
        &self,
        (url, mut row): (&CrawlUrl, ProbeRow),
        earlier: Option<&ProbeRow>,
        now: u64,
        patience: &FailurePatience,
    ) -> ProbeRow {
        if row.is_left_out()
            && let Some(wall) = self.walls.get(url.origin())
        {
            row.judged = wall.clone();
        } else if row.is_left_out() && self.alive.contains(url.origin()) {
            row.failing = earlier.map_or(FailingSince::default(), |earlier| earlier.failing);
            return row;
        }
        row.after(earlier, now, patience)
    }
}
