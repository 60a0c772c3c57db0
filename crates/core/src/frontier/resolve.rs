//! The end of resolving a name.
//!
//! Owns what addresses, or their lack, mean for a lane: whom it may ask and, for the host of a
//! root, how fast.

use std::sync::Arc;
use std::time::Duration;

use super::entry::Origin;
use super::job::{Ending, Note, Settled};
use super::lane::{Addresses, LaneEnd};
use super::pace::Moment;
use super::store::Store;
use super::{Frontier, HostRules};
use crate::address::{Nearness, nearness};
use crate::key::HostId;
use crate::outcome::FailureClass;
use crate::url::host_ip;

/// How long addresses count at the least: an answer that has no life must still serve the
/// request that it was asked for, or the lane would ask for ever.
const SHORTEST_USE: Duration = Duration::from_millis(100);

impl<S: Store> Frontier<S> {
    pub(super) fn resolved(
        &mut self,
        host: HostId,
        origin: Origin,
        ending: &mut Ending,
        now: Moment,
    ) -> Result<Settled, S::Error> {
        let lane = self.lane(host);
        match ending {
            Ending::Resolved {
                addresses,
                ttl,
                trusted,
            } => {
                // Through a proxy there is no address, except where the host is one itself.
                let addresses = std::mem::take(addresses);
                let literal = host_ip(&lane.host).filter(|_| addresses.is_empty());
                let first_time = !std::mem::replace(&mut lane.resolved_before, true);
                let until = now + (*ttl).max(SHORTEST_USE);
                let of_root = first_time && self.is_own_root(host);
                if *trusted || of_root {
                    for address in addresses.iter().copied().chain(literal) {
                        self.rules.addresses.trust(address);
                    }
                }
                let nearest = addresses.iter().map(|address| nearness(*address)).min();
                self.lane(host).origin(origin).addresses = Addresses::Known { addresses, until };
                if of_root && let Some(nearness) = nearest {
                    self.adapt_to(host, nearness);
                }
                Ok(Settled::Prepared)
            }
            Ending::Failed(failure) => {
                lane.origin(origin).addresses = Addresses::Unknown;
                if let Some(fetch) = lane.take_robots_fetch() {
                    return self.robots_fetch_failed(host, &fetch, failure, now);
                }
                if failure.excuse.is_some() {
                    return Ok(Settled::Prepared);
                }
                if failure.class == FailureClass::DnsNotFound {
                    let end = LaneEnd::fail(failure.class, failure.message.clone());
                    self.end_lane(host, end);
                    return Ok(Settled::Prepared);
                }
                self.head_failed(host, failure, now)
            }
            Ending::CutShort { .. } => {
                lane.origin(origin).addresses = Addresses::Unknown;
                Ok(Settled::Prepared)
            }
            Ending::Answered(_) | Ending::Withheld { .. } => {
                unreachable!("resolving is answered with addresses")
            }
        }
    }

    /// Whether a root is on the host that the user named, rather than somebody else.
    pub(super) fn is_own_root(&self, host: HostId) -> bool {
        !self.rules.foreign_roots && self.roots.are_on(host)
    }

    /// A root on this machine or in a private network may be asked faster.
    pub(super) fn adapt_to(&mut self, host: HostId, nearness: Nearness) {
        let lane = self.lane(host);
        let Some(near) = &lane.rules.near else { return };
        let politeness = match nearness {
            Nearness::Public => return,
            Nearness::Loopback => near.loopback.clone(),
            Nearness::Private => near.private.clone(),
        };
        lane.rules = Arc::new(HostRules {
            politeness,
            ..(*lane.rules).clone()
        });
        lane.pace.retune(&lane.rules.politeness);
        let host = lane.host.clone();
        self.note(Note::Near { host, nearness });
    }
}
