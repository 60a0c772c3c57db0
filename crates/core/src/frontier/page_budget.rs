//! The budget of pages: of the crawl, and of each host.
//!
//! Owns what counts as a page, how many pages are in flight, and which hosts the budget holds
//! back. It refuses to know what goes on when it is spent. Invariant: pages in flight are counted
//! before they start, so that the budget is never exceeded.

use std::collections::BTreeSet;

use super::Frontier;
use super::pace::Moment;
use super::store::Store;
use crate::key::HostId;
use crate::link::LinkKind;

/// Entries of all lanes that are taken from the store in search of parts.
const MOST_PASSED_OVER: usize = 100_000;

/// What is taken of the budget, and who waits for it.
#[derive(Debug, Default)]
pub(super) struct PageBudget {
    in_flight: u64,
    /// Hosts whose next page would exceed the crawl's budget.
    held: BTreeSet<HostId>,
    /// Entries that were taken from the store in search of parts.
    passed_over: usize,
}

impl PageBudget {
    /// The request for a page starts.
    pub(super) const fn started(&mut self) {
        self.in_flight += 1;
    }

    /// The request for a page has ended.
    pub(super) const fn ended(&mut self) {
        self.in_flight -= 1;
    }

    /// The budget holds a host back.
    pub(super) fn hold(&mut self, host: HostId) {
        self.held.insert(host);
    }

    /// Whether the budget holds this host back.
    pub(super) fn holds(&self, host: HostId) -> bool {
        self.held.contains(&host)
    }

    /// The hosts that the budget holds back.
    pub(super) fn held(&self) -> impl Iterator<Item = HostId> {
        self.held.iter().copied()
    }

    /// Whether the budget holds any host back.
    pub(super) fn holds_any(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether more entries may be passed over in search of parts.
    pub(super) const fn may_pass_over(&self) -> bool {
        self.passed_over < MOST_PASSED_OVER
    }

    /// So many more entries were passed over.
    pub(super) const fn pass_over(&mut self, entries: usize) {
        self.passed_over += entries;
    }
}

impl<S: Store> Frontier<S> {
    /// Whether no page may be fetched any more, whatever becomes of those in flight.
    pub(super) fn pages_spent(&self) -> bool {
        let pages = self.rules.limits.pages;
        pages.is_some_and(|pages| self.counts.pages >= pages)
    }

    /// Whether a crawl without a budget for pages goes on with parts of pages.
    pub(super) fn only_parts(&self) -> bool {
        self.rules.scope.takes_requisites() && self.pages_spent()
    }

    /// Whether a budget of pages holds what is next on a host.
    pub(super) fn page_budget_holds(&mut self, host: HostId, kind: LinkKind) -> bool {
        if kind.is_requisite() {
            return false;
        }
        if counts_as_page(kind) && self.lacks_pages(host) {
            self.page_budget.hold(host);
            return true;
        }
        let limits = &self.rules.limits;
        if !counts_as_page(kind) && !self.pages_spent() {
            return false;
        }
        let taken = self.counts.pages + self.page_budget.in_flight;
        if limits.pages.is_some_and(|pages| taken >= pages) {
            self.page_budget.hold(host);
            return true;
        }
        let lane = self.lanes.get(&host).expect("a scheduled lane is there");
        let most = lane.rules.pages.or(limits.pages_per_host);
        most.is_some_and(|pages| lane.pages + lane.pages_in_flight >= pages)
    }

    /// Lanes that waited for the page budget look again.
    pub(super) fn release_held(&mut self, now: Moment) -> Result<(), S::Error> {
        for host in std::mem::take(&mut self.page_budget.held) {
            self.reschedule(host, now)?;
        }
        Ok(())
    }
}

/// Sitemaps and parts of pages do not count as pages.
pub(super) fn counts_as_page(kind: LinkKind) -> bool {
    kind.is_page()
}
