//! What follows when a URL reached its end.
//!
//! Owns the way of a record into the open batch, of a page to its reader, and whether the roots were
//! reached. It refuses to know what decided the end. Invariant: a URL that ended has one record.

use clewline_core::frontier::{Finished, Store};
use clewline_core::link::LinkKind;

use super::{Engine, JobResult, entries};
use crate::entry::Entry;
use crate::record::{OutcomeKind, Record};

impl<S: Store> Engine<S> {
    /// A URL reached its end, by a job or without one: its record goes into the open batch.
    pub(super) fn finished(&mut self, finished: Finished, result: Option<JobResult>) {
        let is_root = finished.entry.root;
        let (entry, whole, share) = match result {
            Some(mut result) => {
                let (whole, share) = (result.whole.take(), result.share.take());
                (entries::entry(finished, result), whole, share)
            }
            None => (entries::unasked(finished), None, None),
        };
        if let Some(whole) = whole
            && entry.record.outcome == OutcomeKind::Fetched
        {
            let page = whole.page(entry.record.clone());
            let reader = self.delivery.offer((page, None), share);
            self.mind(reader);
        }
        self.keep(entry, is_root);
    }

    /// Puts a record into the open batch.
    pub(super) fn keep(&mut self, entry: Entry, is_root: bool) {
        self.watch_roots(&entry.record, is_root);
        if let Some(member) = &mut self.member {
            member.finished(&entry.record);
        }
        self.batch_links += entry.links.len();
        self.batch.push(entry);
    }

    /// A crawl did its work once a page was fetched: a root, the end of a root's redirects, or
    /// what a sitemap named. Until then it gathers why its roots were not.
    fn watch_roots(&mut self, record: &Record, is_root: bool) {
        let is_error = record.status.is_none_or(|status| status >= 400);
        let is_fetched = match record.outcome {
            OutcomeKind::Fetched | OutcomeKind::Unmodified => {
                record.kind != LinkKind::SitemapFile && !is_error
            }
            // It was there, but is of a kind that is not wanted.
            OutcomeKind::Skipped => is_root && !is_error,
            OutcomeKind::Redirected | OutcomeKind::Failed => false,
        };
        if is_root && record.shell && record.links == 0 && record.rendered.is_none() {
            self.empty_root.get_or_insert_with(|| record.url.clone());
        }
        let leads_on = record.outcome == OutcomeKind::Redirected && record.error.is_none();
        if is_fetched {
            self.any_page_fetched = true;
            self.failed_roots = Vec::new();
        } else if is_root && !leads_on && !self.any_page_fetched {
            let why = record.error.clone().unwrap_or_default();
            let why = match record.status {
                Some(status) if why.is_empty() => format!("the server answered {status}"),
                Some(status) => format!("the server answered {status}: {why}"),
                None => why,
            };
            self.failed_roots.push((record.url.clone(), why));
        }
    }
}
