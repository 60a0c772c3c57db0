//! A frontier made again from the records of a crawl whose state is lost.
//!
//! Owns the two steps. First every URL that reached its end becomes known, so that none is asked
//! again; then the links of all pages are offered once more, and what nobody knows waits, as it
//! did before. What hosts and traps had taught is not in the records and is learnt anew.

use super::Frontier;
use super::entry::QueueEntry;
use super::job::{Answer, Offers};
use super::pace::Moment;
use super::page_budget::counts_as_page;
use super::store::Store;
use crate::key::Key;
use crate::link::{Link, LinkKind};
use crate::outcome::Outcome;
use crate::url::CrawlUrl;

/// A URL that reached its end, as its record tells it.
#[derive(Debug, Clone)]
pub struct SettledUrl {
    /// What was requested.
    pub url: CrawlUrl,
    /// Its identity.
    pub key: Key,
    /// How it was named when it was first found.
    pub kind: LinkKind,
    /// Links away from a root.
    pub depth: u32,
    /// It is a root, or a hop of a root's own redirects.
    pub root: bool,
    /// What happened.
    pub outcome: Outcome,
    /// Bytes that were read for it from the network.
    pub wire: u64,
}

impl SettledUrl {
    const fn was_read(&self) -> bool {
        matches!(self.outcome, Outcome::Fetched | Outcome::Unmodified)
    }
}

impl<S: Store> Frontier<S> {
    /// Takes a URL for settled. All of them come before the first [`Self::replay_links`].
    pub fn replay(&mut self, settled: &SettledUrl, now: Moment) -> Result<(), S::Error> {
        if self.is_known(settled.key)? {
            return Ok(());
        }
        self.know(settled.key)?;
        self.counts.admitted += 1;
        self.counts.settled += 1;
        self.counts.wire += settled.wire;
        let host = settled.key.host();
        self.lane_of(&settled.url, host, now)?;
        if settled.was_read() && counts_as_page(settled.kind) {
            self.counts.pages += 1;
            self.lane(host).pages += 1;
        }
        if settled.was_read() && settled.root {
            let entry = self.entry_of(settled);
            self.join_root(&entry);
        }
        self.touch(host)?;
        self.has_room_for_lane().map(|_| ())
    }

    /// Offers where a settled URL leads: its links, or the target of its redirect.
    pub fn replay_links(
        &mut self,
        settled: &SettledUrl,
        links: Offers,
        now: Moment,
    ) -> Result<(), S::Error> {
        let entry = self.entry_of(settled);
        if let Outcome::Redirected(target) = &settled.outcome {
            self.admit_hop(&entry, target.clone(), false, now)?;
        } else {
            let mut answer = Answer {
                links,
                ..Answer::default()
            };
            self.admit_links(&entry, &mut answer, now)?;
        }
        Ok(())
    }

    fn entry_of(&self, settled: &SettledUrl) -> QueueEntry {
        let link = Link::new(settled.url.clone(), settled.kind);
        let mut entry = self.entry(link, settled.key);
        entry.depth = settled.depth;
        entry.root = settled.root;
        entry
    }
}
