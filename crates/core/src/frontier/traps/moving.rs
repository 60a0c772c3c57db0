//! Sites that come and go with the shards of a fleet.
//!
//! Owns how what was learnt of a site leaves with its shard, and under which row it is kept there.
//! Refuses to know when a shard moves. Invariant: nothing is saved for a shard that is gone.

use super::super::Frontier;
use super::super::store::Store;
use super::row;
use crate::key::HostId;

impl<S: Store> Frontier<S> {
    /// The row in which what was learnt of a domain is kept.
    pub(super) const fn site_row(domain: u64) -> HostId {
        if S::IN_FLEET {
            row::id_in_shard(domain)
        } else {
            row::id(domain)
        }
    }

    /// A lane left with its shard, and its site with it.
    pub(in super::super) fn forget_site(&mut self, host: HostId, domain: u64) {
        self.traps.held.remove(&host);
        self.traps.caught.remove(&domain);
        if let Some(site) = self.traps.sites.remove(&domain) {
            site.tell(&mut self.traps.named);
        }
    }

    /// A shard was taken over: hosts that are not active may have suspects.
    pub(in super::super) const fn find_suspects_in_store(&mut self) {
        self.traps.parked = true;
    }
}
