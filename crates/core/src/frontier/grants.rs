//! What a fleet grants to one of its members: pages of a budget, and a part of an address.
//!
//! Owns how much of either is left here. Hosts of one address lie in many shards, so its limit is
//! dealt out among the members that ask it; a budget of pages is dealt out among shards, so that it
//! moves with them. It refuses to know who deals. Invariants: a page is handed out only against the
//! grant of its own shard; an address is not asked without a grant, nor beyond it.

use std::net::IpAddr;

use super::Frontier;
use super::entry::Origin;
use super::handout::{Ready, permitted};
use super::lane::Addresses;
use super::pace::Moment;
use super::store::Store;
use crate::fleet::ShardId;
use crate::key::HostId;
use crate::politeness::GroupPace;
use crate::url::CrawlUrl;

/// Leave to ask an address for a while.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AddressGrant {
    /// How it may be asked at the most.
    pub pace: GroupPace,
    /// Nothing is sent to it from then on, unless the grant is renewed.
    pub until: Moment,
    /// Whoever grants counts its answers. It reckons with every grant since the one that it was
    /// told to be held, because it can't know which of its answers arrived.
    pub number: u64,
}

/// How an address is used, for whoever grants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AddressUse {
    /// Which one.
    pub address: IpAddr,
    /// Requests in flight.
    pub in_flight: u32,
    /// The number of the grant that is held; zero for none.
    pub held: u64,
}

/// The pages that may be fetched in a shard.
#[derive(Debug, Default)]
pub(super) struct ShardPages {
    pub(super) granted: u64,
    pub(super) in_flight: u64,
}

impl ShardPages {
    pub(super) const fn new(granted: u64) -> Self {
        Self {
            granted,
            in_flight: 0,
        }
    }

    /// What is granted beyond what is in flight.
    const fn spare(&self) -> u64 {
        self.granted.saturating_sub(self.in_flight)
    }
}

impl<S: Store> Frontier<S> {
    /// Grants a part of an address, or renews the grant. An answer that comes after a later one
    /// counts for nothing: nobody reckons with it any more.
    pub fn grant_address(&mut self, address: IpAddr, grant: AddressGrant) {
        if let Some(own) = self.share_mut()
            && grant.number >= own.last_grant
        {
            own.last_grant = grant.number;
            own.addresses.insert(address, grant);
        }
    }

    /// The addresses that were granted and how they are used. A grant that has ended is forgotten
    /// when nothing of it is in flight.
    pub fn granted_addresses(&mut self, now: Moment) -> Vec<AddressUse> {
        let Some(own) = self.share_mut() else {
            return Vec::new();
        };
        let mut addresses = std::mem::take(&mut own.addresses);
        let shared = &self.shared;
        addresses.retain(|address, grant| grant.until > now || shared.in_flight(*address) > 0);
        let mut used: Vec<_> = addresses
            .iter()
            .map(|(address, grant)| AddressUse {
                address: *address,
                in_flight: shared.in_flight(*address),
                held: grant.number,
            })
            .collect();
        used.sort_unstable();
        if let Some(own) = self.share_mut() {
            own.addresses = addresses;
        }
        used
    }

    /// How an address may be asked: by the rule and by the grant.
    pub(super) fn granted(&self, address: IpAddr, rule: GroupPace) -> GroupPace {
        let own = self.share();
        match own.and_then(|own| own.addresses.get(&address)) {
            Some(grant) => slower(rule, grant.pace),
            None => rule,
        }
    }

    /// Whether an address may be asked only with a grant.
    pub fn needs_grant(&self, address: IpAddr) -> bool {
        self.is_in_fleet() && self.is_limited(address)
    }

    /// An origin whose address has no grant any more is resolved again, which brings one.
    pub(super) fn drop_ungranted(&mut self, host: HostId, url: &CrawlUrl, now: Moment) {
        if !self.is_in_fleet() {
            return;
        }
        let lane = self.lane(host);
        let turn = lane.address_turn;
        let Addresses::Known { addresses, .. } = &lane.origin(Origin::from_url(url)).addresses
        else {
            return;
        };
        let addresses = addresses.clone();
        let Ready::Yes(Some(address)) = permitted(&self.rules.addresses, &addresses, turn) else {
            return;
        };
        let grant = self.share().and_then(|own| own.addresses.get(&address));
        if self.is_limited(address) && grant.is_none_or(|grant| grant.until <= now) {
            self.lane(host).origin(Origin::from_url(url)).addresses = Addresses::Unknown;
        }
    }

    /// From here on pages are handed out only against grants.
    pub fn count_granted_pages(&mut self) {
        if let Some(own) = self.share_mut() {
            own.counts_pages = true;
        }
    }

    /// Grants pages to a shard that is owned.
    pub fn grant_pages(&mut self, shard: ShardId, pages: u64, now: Moment) -> Result<(), S::Error> {
        if let Some(own) = self.share_mut() {
            own.pages_mut(shard).granted += pages;
        }
        self.release_held(now)
    }

    /// The pages that may be fetched in a shard, those in flight among them.
    pub fn pages_granted(&self, shard: ShardId) -> u64 {
        self.share().map_or(0, |own| own.pages_of(shard).granted)
    }

    /// Takes back the pages that a shard has no work for; how many those are.
    pub fn return_pages(&mut self, shard: ShardId) -> u64 {
        if self.wants_pages(shard) {
            return 0;
        }
        let Some(own) = self.share_mut() else {
            return 0;
        };
        let pages = own.pages_mut(shard);
        let spare = pages.spare();
        pages.granted -= spare;
        spare
    }

    /// Whether a shard has pages that wait for a grant.
    pub fn wants_pages(&self, shard: ShardId) -> bool {
        let Some(own) = self.share() else {
            return false;
        };
        let mut held = self.page_budget.held();
        held.any(|host| own.shard_of(host) == shard)
    }

    /// Whether the shard of a host has no grant left for another page.
    pub(super) fn lacks_pages(&self, host: HostId) -> bool {
        self.share()
            .is_some_and(|own| own.counts_pages && own.pages_of(own.shard_of(host)).spare() == 0)
    }

    pub(super) fn count_pages(&mut self, host: HostId, change: impl FnOnce(&mut ShardPages)) {
        if let Some(own) = self.share_mut()
            && own.counts_pages
        {
            let shard = own.shard_of(host);
            change(own.pages_mut(shard));
        }
    }
}

/// The slower of two paces.
fn slower(one: GroupPace, other: GroupPace) -> GroupPace {
    let slower = [one.rate, other.rate].into_iter().flatten();
    GroupPace {
        in_flight: one.in_flight.min(other.in_flight),
        rate: slower.min_by(|one, other| one.number().total_cmp(&other.number())),
    }
}
