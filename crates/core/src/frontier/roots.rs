//! The roots: what the user asked for, and what stands for it.
//!
//! Owns which hosts are those of roots, and which pages joined them because a root's redirects ended
//! there. It refuses to know what the scope makes of them. Invariant: a page that joined is
//! remembered, so that the scope is the same after a restart.

use std::collections::HashSet;

use super::Frontier;
use super::entry::QueueEntry;
use super::job::Note;
use super::store::Store;
use crate::key::HostId;
use crate::scope::Joined;
use crate::url::CrawlUrl;

/// The hosts of roots, and the pages that joined them.
#[derive(Debug, Default)]
pub(super) struct RootHosts {
    hosts: HashSet<HostId>,
    joined: Vec<CrawlUrl>,
}

impl RootHosts {
    /// A root is on this host.
    pub(super) fn add(&mut self, host: HostId) {
        self.hosts.insert(host);
    }

    /// Whether a root is on this host.
    pub(super) fn are_on(&self, host: HostId) -> bool {
        self.hosts.contains(&host)
    }
}

impl<S: Store> Frontier<S> {
    /// A root of an earlier run that is not to be fetched again.
    pub fn know_root(&mut self, url: &CrawlUrl) {
        self.join_scope(url);
        self.roots.add(self.rules.keyer.key(url).host());
    }

    /// The pages with which hosts joined the roots, the first one first.
    pub fn joined(&self) -> &[CrawlUrl] {
        &self.roots.joined
    }

    /// Takes up the pages that joined the roots in an earlier run.
    pub(super) fn restore_joined(&mut self, joined: Vec<CrawlUrl>) {
        for url in &joined {
            self.join_scope(url);
        }
        self.roots.joined = joined;
    }

    /// A root's redirects ended on this page: its host joins the roots.
    pub(super) fn join_root(&mut self, entry: &QueueEntry) {
        if self.join_scope(&entry.url) == Joined::Host {
            self.remember_joined(&entry.url);
        }
    }

    pub(super) fn remember_joined(&mut self, url: &CrawlUrl) {
        self.roots.joined.push(url.clone());
        self.note(Note::HostJoined {
            host: url.host().into(),
        });
    }

    /// Widens the scope by a root.
    pub(super) fn join_scope(&mut self, root: &CrawlUrl) -> Joined {
        let joined = self.rules.scope.join(root);
        if joined != Joined::Nothing {
            self.verdict_cache.forget_refusals();
        }
        joined
    }
}
