//! Other rules in the middle of a crawl.
//!
//! Owns the change of limits, politeness and patterns while lanes are at work. Invariants: a change never
//! lets a host be asked sooner than the new figures allow, counted from its last request; what a
//! host taught by trouble and what its robots.txt asks for stay in force.

use std::sync::Arc;

use super::Frontier;
use super::lane::{Addresses, Lane};
use super::pace::Moment;
use super::rules::{HostRules, Rules};
use super::store::Store;
use super::summary::crawl_delay;
use crate::address::{Nearness, nearness};
use crate::key::HostId;
use crate::scope::PatternError;

impl<S: Store> Frontier<S> {
    /// Takes over the limits and the politeness of other rules; scope and keys stay.
    pub fn adopt(&mut self, other: &Rules, now: Moment) -> Result<(), S::Error> {
        self.rules.limits = other.limits.clone();
        self.set_slots(other.limits.concurrency as usize);
        self.rules.host = Arc::clone(&other.host);
        self.rules.hosts.clone_from(&other.hosts);
        // What is in flight and was not counted is not counted when it ends, either.
        self.shared.count(self.rules.grouping());
        let hosts: Vec<HostId> = self.lanes.keys().copied().collect();
        for host in hosts {
            self.retune(host, now);
        }
        self.release_held(now)
    }

    /// Leaves out what matches a pattern, found or already queued, from now on.
    pub fn exclude(&mut self, pattern: &str) -> Result<(), PatternError> {
        self.rules.scope.exclude(pattern)
    }

    fn retune(&mut self, host: HostId, now: Moment) {
        let is_root = self.is_own_root(host);
        let Some(lane) = self.lanes.get_mut(&host) else {
            return;
        };
        let rules = self.rules.for_host(&lane.host);
        lane.rules = if is_root {
            near_rules(lane, rules)
        } else {
            rules
        };
        let delay = crawl_delay(lane);
        lane.pace.change(&lane.rules.politeness, delay, now);
        let has_work = lane.place.scheduled().is_some() || !lane.window.is_empty();
        if has_work && !lane.place.is_waiting() {
            let at = lane.pace.next_at().max(now);
            self.schedule_lane(host, at);
        }
    }
}

/// A root on this machine or in a private network keeps its right to be asked faster.
fn near_rules(lane: &Lane, rules: Arc<HostRules>) -> Arc<HostRules> {
    let known = lane
        .origins
        .iter()
        .filter_map(|origin| match &origin.addresses {
            Addresses::Known { addresses, .. } => Some(addresses),
            _ => None,
        });
    let nearest = known.flatten().map(|address| nearness(*address)).min();
    let politeness = match (&rules.near, nearest) {
        (Some(near), Some(Nearness::Loopback)) => near.loopback.clone(),
        (Some(near), Some(Nearness::Private)) => near.private.clone(),
        _ => return rules,
    };
    Arc::new(HostRules {
        politeness,
        ..(*rules).clone()
    })
}
