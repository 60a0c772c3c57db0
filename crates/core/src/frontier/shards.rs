//! The part of a crawl that one member of a fleet owns: taking a shard over, and giving it away.
//!
//! Owns which hosts may be asked here, what is counted for each shard, and the two steps by which
//! a shard leaves: it is closed, so that nothing of it starts, and when nothing of it is in flight
//! it is dropped. It refuses to know leases, logs and other members. Invariants: nothing of a
//! shard that is foreign or closed is handed out; a shard that is dropped leaves nothing behind
//! but what was sent to its owner; a host that was taken over is not asked sooner than its former
//! owner could have asked it again.

use std::net::IpAddr;
use std::time::Duration;

use super::Frontier;
use super::entry::{Class, QueueEntry};
use super::flights::{Flight, JobKind};
use super::grants::{AddressGrant, ShardPages};
use super::job::JobId;
use super::lane::{Lane, OriginRobots};
use super::pace::Moment;
use super::store::{KeyMap, LaneRow, Store};
use crate::fleet::{Mail, ShardId, Shards};
use crate::key::{HOST_BITS, HostId};
use crate::link::LinkKind;
use crate::politeness::Rate;

/// Counts of one shard that always add up: `admitted = settled + todo`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ShardCounts {
    /// URLs that were let in.
    pub admitted: u64,
    /// URLs that reached their end.
    pub settled: u64,
    /// URLs that are given up as part of a trap.
    pub withheld: u64,
    /// Roots and hops of their own redirects that are not settled.
    pub roots_todo: u64,
    /// Sitemap files that are not settled.
    pub sitemaps_todo: u64,
}

impl ShardCounts {
    /// URLs that are not settled.
    pub const fn todo(&self) -> u64 {
        self.admitted - self.settled
    }

    pub(super) fn admit(&mut self, entry: &QueueEntry) {
        self.admitted += 1;
        self.roots_todo += u64::from(entry.root);
        self.sitemaps_todo += u64::from(entry.kind == LinkKind::SitemapFile);
    }

    pub(super) fn settle(&mut self, entry: &QueueEntry) {
        self.settled += 1;
        self.withheld -= u64::from(entry.class == Class::Withheld);
        self.roots_todo -= u64::from(entry.root);
        self.sitemaps_todo -= u64::from(entry.kind == LinkKind::SitemapFile);
    }

    /// A URL that had reached its end waits again.
    pub fn requeue(&mut self, entry: &QueueEntry) {
        self.settled -= 1;
        self.roots_todo += u64::from(entry.root);
        self.sitemaps_todo += u64::from(entry.kind == LinkKind::SitemapFile);
    }

    pub(super) const fn withhold(&mut self, _entry: &QueueEntry) {
        self.withheld += 1;
    }
}

/// How a shard comes to its new owner.
#[derive(Debug, Clone, Copy, Default)]
pub struct Adoption {
    /// Its counts so far.
    pub counts: ShardCounts,
    /// Pages that may be fetched in it, where pages are granted.
    pub pages: u64,
    /// How much longer than its delay a host is left alone: its former owner may not have noticed
    /// yet that it is not its owner any more.
    pub grace: Duration,
}

/// What is known of one shard.
#[derive(Debug, Default)]
struct ShardState {
    counts: ShardCounts,
    pages: ShardPages,
    /// Nothing of it is handed out any more.
    closed: bool,
    /// The delays of its hosts count from here.
    adopted_at: Moment,
}

/// The part of the crawl that a member owns.
#[derive(Debug)]
pub(super) struct OwnShards {
    shards: Shards,
    states: Vec<ShardState>,
    /// Pages are handed out only against grants.
    pub(super) counts_pages: bool,
    /// Only roots are handed out.
    pub(super) roots_only: bool,
    /// Nothing else is left in the whole fleet.
    pub(super) last_call: bool,
    pub(super) addresses: KeyMap<IpAddr, AddressGrant>,
    /// The number of the last grant of an address.
    pub(super) last_grant: u64,
}

impl OwnShards {
    fn new(bits: u32) -> Self {
        let shards = Shards::new(bits);
        Self {
            states: shards.all().map(|_| ShardState::default()).collect(),
            shards,
            counts_pages: false,
            roots_only: false,
            last_call: false,
            addresses: KeyMap::default(),
            last_grant: 0,
        }
    }

    pub(super) const fn shard_of(&self, host: HostId) -> ShardId {
        self.shards.of(host)
    }

    pub(super) fn owns(&self, host: HostId) -> bool {
        self.shards.owns(self.shards.of(host))
    }

    /// Whether nothing of a host is handed out here.
    pub(super) fn is_closed(&self, host: HostId) -> bool {
        !self.owns(host) || self.state(host).closed
    }

    fn state(&self, host: HostId) -> &ShardState {
        &self.states[usize::from(self.shards.of(host).0)]
    }

    pub(super) fn pages_of(&self, shard: ShardId) -> &ShardPages {
        &self.states[usize::from(shard.0)].pages
    }

    pub(super) fn pages_mut(&mut self, shard: ShardId) -> &mut ShardPages {
        &mut self.states[usize::from(shard.0)].pages
    }
}

impl<S: Store> Frontier<S> {
    /// From here on the crawl is a fleet's, cut into 2^bits shards, of which none is owned yet.
    pub fn join_fleet(&mut self, bits: u32) {
        self.share = Some(Box::new(OwnShards::new(bits)));
    }

    /// The own, where there can be one; without a fleet nobody looks.
    pub(super) fn share_of(own: Option<&OwnShards>) -> Option<&OwnShards> {
        if S::IN_FLEET { own } else { None }
    }

    pub(super) fn share(&self) -> Option<&OwnShards> {
        Self::share_of(self.share.as_deref())
    }

    pub(super) fn share_mut(&mut self) -> Option<&mut OwnShards> {
        if S::IN_FLEET {
            self.share.as_deref_mut()
        } else {
            None
        }
    }

    /// Whether other members own parts of the crawl.
    pub(super) fn is_in_fleet(&self) -> bool {
        self.share().is_some()
    }

    /// Whether another member owns a host.
    pub(super) fn is_foreign(&self, host: HostId) -> bool {
        self.share().is_some_and(|own| !own.owns(host))
    }

    /// Whether nothing of a host is handed out here.
    pub(super) fn is_closed(&self, host: HostId) -> bool {
        self.share().is_some_and(|own| own.is_closed(host))
    }

    /// The shards that are owned, those that are closed among them.
    pub fn owned_shards(&self) -> Vec<ShardId> {
        let shards = self.share().map(|own| own.shards.owned());
        shards.into_iter().flatten().collect()
    }

    /// The counts of a shard that is owned.
    pub fn shard_counts(&self, shard: ShardId) -> Option<ShardCounts> {
        let own = self.share().filter(|own| own.shards.owns(shard))?;
        Some(own.states[usize::from(shard.0)].counts)
    }

    pub(super) fn count_in_shard(
        &mut self,
        entry: &QueueEntry,
        change: impl FnOnce(&mut ShardCounts, &QueueEntry),
    ) {
        if let Some(own) = self.share_mut() {
            let shard = own.shards.of(entry.key.host());
            change(&mut own.states[usize::from(shard.0)].counts, entry);
        }
    }

    /// Takes a shard over, whose keys, queues and lanes the store holds by now and nothing else
    /// of it.
    pub fn adopt_shard(&mut self, shard: ShardId, adoption: Adoption, now: Moment) {
        let Some(own) = self.share_mut() else {
            return;
        };
        own.shards.add(shard);
        own.states[usize::from(shard.0)] = ShardState {
            counts: adoption.counts,
            pages: ShardPages::new(adoption.pages),
            closed: false,
            adopted_at: now + adoption.grace,
        };
        let counts = adoption.counts;
        self.counts.admitted += counts.admitted;
        self.counts.settled += counts.settled;
        self.counts.withheld += counts.withheld;
        self.sitemaps_todo = self.sitemaps_todo.map(|todo| todo + counts.sitemaps_todo);
        // What was sent to its former owner was known here; whether it arrived is the store's to say.
        self.verdict_cache.forget_known();
        self.residents.let_wait();
        self.find_suspects_in_store();
    }

    /// Closes a shard: nothing of it starts any more. Until it is dropped it is owned, and takes in
    /// what others find.
    pub fn close_shard(&mut self, shard: ShardId, now: Moment) -> Result<(), S::Error> {
        let Some(own) = self.share_mut() else {
            return Ok(());
        };
        own.states[usize::from(shard.0)].closed = true;
        self.send_robots_fetches_away(shard, now)
    }

    /// Whether a job was handed out and its result is waited for.
    pub fn is_in_flight(&self, job: JobId) -> bool {
        self.flights.get(job).is_some()
    }

    /// The jobs in flight that keep a shard from being dropped.
    pub fn flights_of(&self, shard: ShardId) -> Vec<JobId> {
        let Some(own) = self.share() else {
            return Vec::new();
        };
        let concerns = |flight: &Flight| {
            let asker = match &flight.kind {
                JobKind::Robots(fetch) => fetch.for_lane,
                JobKind::Page(_)
                | JobKind::Postponed(_)
                | JobKind::Errand(_)
                | JobKind::Resolve(_) => flight.lane,
            };
            let waits_here = own.shards.of(asker) == shard && own.owns(asker);
            own.shards.of(flight.lane) == shard || waits_here
        };
        let flights = self.flights.iter();
        let flights = flights.filter(|(_, flight)| concerns(flight));
        flights.map(|(job, _)| job).collect()
    }

    /// Whether a lane of a shard changed since the last seal: the store does not know when its host
    /// was asked last.
    pub fn has_unsaved_lanes(&self, shard: ShardId) -> bool {
        let cut = self.share().map(|own| &own.shards);
        let mut hosts = self.residents.touched.iter();
        cut.is_some_and(|cut| hosts.any(|host| cut.of(*host) == shard))
    }

    /// Drops a shard that is closed and of which nothing is in flight; whether it could be.
    pub fn drop_shard(&mut self, shard: ShardId) -> Result<bool, S::Error> {
        let is_closed = |own: &OwnShards| own.states[usize::from(shard.0)].closed;
        if !self.share().is_some_and(is_closed) || !self.flights_of(shard).is_empty() {
            return Ok(false);
        }
        let Some(own) = self.share_mut() else {
            return Ok(false);
        };
        own.shards.remove(shard);
        let state = std::mem::take(&mut own.states[usize::from(shard.0)]);
        let cut = own.shards.clone();
        self.counts.admitted -= state.counts.admitted;
        self.counts.settled -= state.counts.settled;
        self.counts.withheld -= state.counts.withheld;
        let todo = state.counts.sitemaps_todo;
        self.sitemaps_todo = self.sitemaps_todo.map(|count| count.saturating_sub(todo));
        let in_shard = |host: &HostId| cut.of(*host) == shard;
        let hosts: Vec<HostId> = self.lanes.keys().copied().filter(in_shard).collect();
        for host in hosts {
            if let Some(lane) = self.lanes.remove(&host) {
                self.shared.forget_domain(lane.domain);
                self.forget_site(host, lane.domain);
            }
            self.without_robots.remove(&host);
        }
        for lane in self.lanes.values_mut() {
            lane.robots_fetches
                .retain(|fetch| !in_shard(&fetch.for_lane));
        }
        self.suspects.keep_only(|host| !in_shard(&host));
        self.verdict_cache.forget_known();
        self.store.forget(shard)?;
        Ok(true)
    }

    /// A closed shard fetches no robots.txt for lanes of others: those begin anew, and the owners of
    /// lanes elsewhere ask whoever owns the shard next.
    fn send_robots_fetches_away(&mut self, shard: ShardId, now: Moment) -> Result<(), S::Error> {
        let Some(own) = self.share() else {
            return Ok(());
        };
        let in_shard = |host: HostId| own.shards.of(host) == shard;
        let lanes = self.lanes.keys().copied();
        let hosts: Vec<HostId> = lanes.filter(|host| in_shard(*host)).collect();
        for host in hosts {
            for fetch in std::mem::take(&mut self.lane(host).robots_fetches) {
                if self.is_foreign(fetch.for_lane) {
                    self.store.export(Mail::RobotsFetch(Box::new(fetch)))?;
                } else if let Some(lane) = self.lanes.get_mut(&fetch.for_lane) {
                    lane.origin(fetch.for_origin).robots = OriginRobots::Unknown;
                    self.reschedule(fetch.for_lane, now)?;
                }
            }
        }
        Ok(())
    }

    /// A lane of a shard that was taken over waits as long as if its host had been asked at that
    /// moment.
    pub(super) fn hold_after_adoption(&self, host: HostId, lane: &mut Lane, delay: Duration) {
        let Some(own) = self.share() else {
            return;
        };
        let by_domain = lane.rules.politeness.domain.rate.map(Rate::interval);
        let gap = lane.pace.interval().max(delay);
        let gap = gap.max(by_domain.unwrap_or_default());
        lane.pace.hold_until(own.state(host).adopted_at + gap);
    }

    /// The fingerprint of a domain. In a fleet what is kept under it has to lie in the shard of its
    /// hosts.
    pub(super) const fn domain_on(host: HostId, domain: u64) -> u64 {
        if S::IN_FLEET {
            domain & HOST_BITS | host.0 & !HOST_BITS
        } else {
            domain
        }
    }
}

impl Lane {
    /// Keeps a delay that was asked for, for whoever owns the host next: it is not to be asked
    /// even for its robots.txt sooner than that.
    pub(super) fn keep_delay(&self, row: &mut LaneRow) {
        if self.pace.is_one_at_a_time() {
            row.interval = row.interval.max(self.pace.interval());
        }
    }
}
