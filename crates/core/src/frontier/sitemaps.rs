//! Sitemap files and the page budget.
//!
//! Owns how many sitemap files are asked where `--max-pages` bounds the crawl: none while as many
//! URLs wait as the budget has room for. What is put off is not lost: it is asked when what
//! waited did not use the budget up, or by a later run with a larger one.

use std::time::Duration;

use super::Frontier;
use super::entry::QueueEntry;
use super::job::Next;
use super::pace::Moment;
use super::store::Store;
use crate::key::HostId;
use crate::link::LinkKind;

/// After which time a sitemap that was put off is looked at again.
const LOOK: Duration = Duration::from_secs(2);

impl<S: Store> Frontier<S> {
    /// A URL was admitted.
    pub(super) fn sitemap_begun(&mut self, entry: &QueueEntry) {
        if entry.kind == LinkKind::SitemapFile {
            self.sitemaps_todo = self.sitemaps_todo.map(|count| count + 1);
        }
    }

    /// A URL is settled.
    pub(super) fn sitemap_ended(&mut self, entry: &QueueEntry) {
        if entry.kind == LinkKind::SitemapFile {
            self.sitemaps_todo = self.sitemaps_todo.map(|count| count.saturating_sub(1));
        }
    }

    /// Whether as many URLs wait as the page budget has room for: more sitemaps could not matter.
    /// They wait until something else ends, and are asked if it did not use the budget up.
    pub(super) fn enough_waits(&self) -> bool {
        let (Some(pages), Some(sitemaps)) = (self.rules.limits.pages, self.sitemaps_todo) else {
            return false;
        };
        let waiting = self.counts.todo().saturating_sub(sitemaps);
        waiting > 0 && self.counts.pages + waiting >= pages
    }

    /// Puts the head of a lane off.
    pub(super) fn put_off(&mut self, host: HostId, now: Moment) -> Result<Option<Next>, S::Error> {
        let entry = self.take_head(host, now);
        self.lane(host).delay(entry, now + LOOK);
        self.reschedule(host, now)?;
        Ok(None)
    }
}
