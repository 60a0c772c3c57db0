//! The frontier: which URL is next, and when.
//!
//! Owns every admitted URL until it is settled, and decides order *and* time in one place.
//! There is one way in, `admit`, for roots, links, redirects and sitemaps alike, and one way
//! out of a job, [`Frontier::settle`]. Invariants: no host, registrable domain or address is
//! asked sooner or more at once than its rules allow; every admitted URL is settled exactly
//! once; a budget is never exceeded by a request that could have been held back.

mod active;
mod admit;
mod change;
mod entry;
mod errands;
mod fallback;
mod flights;
mod foreign;
mod gate;
mod grants;
mod group;
mod handout;
mod health;
mod idle;
mod job;
mod lane;
mod latency;
mod levels;
mod outage;
mod pace;
mod page_budget;
mod parts;
mod place;
mod postponed;
mod redirects;
mod replay;
mod resolve;
mod robots;
mod roots;
mod rules;
mod schedule;
mod seen;
mod settle;
mod shards;
mod sitemaps;
mod slots;
mod store;
mod summary;
mod suspects;
#[cfg(test)]
mod tests;
mod traffic;
mod traps;
mod trouble;
mod verdict_cache;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use entry::{Attempts, Chain, Class, Origin, QueueEntry, RobotsFetch, Ticket, Try};
pub use errands::{Errand, ErrandRefusal, RefusedErrand};
pub use foreign::RootsOnly;
pub use gate::Handout;
pub use grants::{AddressGrant, AddressUse};
pub use health::HealthRow;
pub use job::{
    Admission, Answer, Budget, End, Ending, Excuse, Failure, FetchJob, Finished, Hold, HoldKind,
    JobId, Look, Next, Note, Offer, Offers, Patience, Refusals, Settled, Settlement, Work,
};
pub use pace::Moment;
pub use replay::SettledUrl;
pub use rules::{
    HostPattern, HostRules, LinkingPage, NearPoliteness, ROBOTS_RETRY, Rules, matches_host,
};
pub use shards::{Adoption, ShardCounts};
pub use store::{
    KeyHasher, KeyMap, KeySet, LaneRow, MemoryStore, NothingSealed, RowEnd, Sealed, Span, Store,
    Waiting,
};
pub use summary::{Cause, FrontierSummary, HostSummary, Wait};
pub use suspects::Suspicion;
pub use traps::{GivenUp, Site, Trap};
pub use verdict_cache::VerdictCache;

use active::Residents;
use errands::Errands;
use flights::Flights;
use gate::Gate;
use group::SharedLimits;
use lane::Lane;
use levels::Levels;
use outage::Outage;
use page_budget::PageBudget;
use redirects::Redirects;
use roots::RootHosts;
use schedule::Schedule;
use shards::OwnShards;
use slots::Slots;
use suspects::Suspects;
use traps::Traps;

use crate::key::{HostId, Key};
use crate::outcome::SkipReason;
use crate::url::CrawlUrl;

/// Entries that a lane takes from the store at a time: many where few of the lanes that may be
/// active are, few where all of them are, so that together they hold about as much at any time.
const SMALLEST_WINDOW: usize = 4;
const LARGEST_WINDOW: usize = 64;

/// Sitemap indexes above a sitemap.
const SITEMAP_NESTING: u8 = 2;

/// Counts that always add up: `admitted = settled + todo`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// URLs that were let in.
    pub admitted: u64,
    /// URLs that reached their end.
    pub settled: u64,
    /// Pages fetched, as the page budget counts them.
    pub pages: u64,
    /// Jobs in flight, those that prepare a lane included and pages that are postponed not.
    pub in_flight: u64,
    /// Bytes read from the network.
    pub wire: u64,
    /// Hosts met.
    pub hosts: u64,
    /// URLs that wait for nothing: they are given up as part of a trap.
    #[serde(default)]
    pub withheld: u64,
}

impl Counts {
    /// URLs that are not settled, those in flight and those withheld included.
    pub const fn todo(&self) -> u64 {
        self.admitted - self.settled
    }
}

/// All URLs of a crawl that are not settled yet, and the rules they wait by.
#[derive(Debug)]
pub struct Frontier<S> {
    rules: Rules,
    store: S,
    verdict_cache: Arc<VerdictCache>,
    /// In boxes, because a map has room for up to twice as many as there are.
    lanes: KeyMap<HostId, Box<Lane>>,
    shared: SharedLimits,
    schedule: Schedule,
    slots: Slots,
    flights: Flights,
    errands: Errands,
    gate: Gate,
    counts: Counts,
    page_budget: PageBudget,
    refused: Vec<u64>,
    roots: RootHosts,
    levels: Levels,
    notes: VecDeque<Note>,
    residents: Residents,
    /// Where redirects of this run led, to find those that lead in a circle.
    redirects: Redirects,
    /// Sitemap files that are admitted and not settled; unknown after a run that did not count.
    sitemaps_todo: Option<u64>,
    outage: Outage,
    suspects: Suspects,
    /// Hosts whose robots.txt was given up.
    without_robots: BTreeSet<HostId>,
    traps: Traps,
    /// The part of the crawl that is this member's, in a fleet.
    share: Option<Box<OwnShards>>,
}

/// What a frontier must find again after a restart, beside what its store keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrontierState {
    /// The counts.
    pub counts: Counts,
    /// Refusals by reason, as [`Frontier::refused`] gives them.
    pub refused: Vec<(SkipReason, u64)>,
    /// URLs that became roots because a root's redirects ended there.
    pub joined: Vec<CrawlUrl>,
    /// The level of a crawl that goes level by level.
    pub level: u32,
    /// Sitemap files that are admitted and not settled.
    #[serde(default)]
    pub sitemaps_todo: Option<u64>,
    /// Templates that were given up.
    #[serde(default)]
    pub traps: Vec<Trap>,
}

impl<S: Store> Frontier<S> {
    /// An empty frontier over a store.
    pub fn new(rules: Rules, store: S) -> Self {
        Self {
            shared: SharedLimits::new(rules.grouping()),
            slots: Slots::new(rules.limits.concurrency),
            levels: Levels::new(rules.limits.depth),
            rules,
            store,
            verdict_cache: Arc::default(),
            lanes: KeyMap::default(),
            schedule: Schedule::default(),
            flights: Flights::default(),
            errands: Errands::default(),
            gate: Gate::default(),
            counts: Counts::default(),
            page_budget: PageBudget::default(),
            refused: vec![0; SkipReason::ALL.len()],
            roots: RootHosts::default(),
            notes: VecDeque::new(),
            residents: Residents::default(),
            redirects: Redirects::default(),
            sitemaps_todo: Some(0),
            outage: Outage::default(),
            suspects: Suspects::default(),
            without_robots: BTreeSet::new(),
            traps: Traps::default(),
            share: None,
        }
    }

    /// The counts so far.
    pub const fn counts(&self) -> Counts {
        Counts {
            withheld: self.withheld(),
            ..self.counts
        }
    }

    /// Links that were refused at admission, by reason; one link counts as often as it is met.
    pub fn refused(&self) -> impl Iterator<Item = (SkipReason, u64)> {
        SkipReason::ALL
            .iter()
            .copied()
            .zip(self.refused.iter().copied())
    }

    /// What happened since the last call that a person may want to hear of.
    pub fn notes(&mut self) -> impl Iterator<Item = Note> {
        self.notes.drain(..)
    }

    /// The store under it, for those who look into it.
    pub const fn store(&mut self) -> &mut S {
        &mut self.store
    }

    /// What it knows and refuses, for those who make offers: a link to what is known need not be
    /// offered, and one that is refused need only be counted, unless it is marked nofollow.
    pub fn verdict_cache(&self) -> Arc<VerdictCache> {
        Arc::clone(&self.verdict_cache)
    }

    /// Hears of jobs that are about to be settled, so that the store can look up the links of
    /// all their pages at once.
    pub fn look_ahead<'a>(
        &mut self,
        settlements: impl Iterator<Item = &'a Settlement>,
    ) -> Result<(), S::Error> {
        let links = settlements.flat_map(|settlement| match &settlement.ending {
            Ending::Answered(answer) => answer.links.keys(),
            Ending::Failed(_)
            | Ending::Resolved { .. }
            | Ending::Withheld { .. }
            | Ending::CutShort { .. } => &[],
        });
        self.store.look_ahead(links.copied())
    }

    /// Whether a key is known.
    fn is_known(&mut self, key: Key) -> Result<bool, S::Error> {
        let known = self.store.contains(key)?;
        if known {
            self.verdict_cache.note(key);
        }
        Ok(known)
    }

    /// Makes a key known that was not.
    fn know(&mut self, key: Key) -> Result<(), S::Error> {
        self.store.add(key)?;
        self.verdict_cache.note(key);
        Ok(())
    }

    /// How many hosts are active.
    pub fn active(&self) -> usize {
        self.lanes.len()
    }

    /// The rules it works by.
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// How many entries a lane may take now.
    fn window(&self) -> usize {
        let entries = self.rules.active_lanes.saturating_mul(SMALLEST_WINDOW);
        let share = entries / self.lanes.len().max(1);
        share.clamp(SMALLEST_WINDOW, LARGEST_WINDOW)
    }

    /// A lane that has work in hand is never dropped.
    fn lane(&mut self, host: HostId) -> &mut Lane {
        self.lanes
            .get_mut(&host)
            .expect("a lane with work is there")
    }

    fn note(&mut self, note: Note) {
        const MOST: usize = 1024;
        if self.notes.len() < MOST {
            self.notes.push_back(note);
        }
    }
}
