//! Leave to ask addresses, which hosts of many shards share.
//!
//! Owns when the bus is asked for it, and the names that are resolved and wait for it. How much is
//! granted is the bus's to say, what it means the frontier's. Invariant: a name is settled only with
//! addresses that may be asked.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use clewline_core::fleet::{BusError, DealtAddress};
use clewline_core::frontier::{AddressGrant, AddressUse, Ending, Frontier, Moment, Work};

use super::asker::QuickQuestion;
use super::driver::FleetDriver;
use super::journal::JournalStore;
use super::membership::AtWork;
use crate::engine::JobResult;

/// Grants are asked for at the most so often while somebody waits for one.
const SOON: Duration = Duration::from_millis(100);
/// Addresses in one question.
const MOST: usize = 1000;
/// Addresses of one name that are asked for.
const PER_NAME: usize = 4;

impl FleetDriver {
    /// How long a grant holds.
    fn grant_time(&self) -> Duration {
        self.times.expiry * 3 / 2
    }

    /// An address is asked.
    pub(super) fn note_use(&mut self, work: &Work, now: Moment) {
        if let Some((_, Some(address))) = work.request() {
            self.used.insert(address, now);
        }
    }

    /// A name that is resolved waits until one of its addresses may be asked.
    pub(super) fn await_grant(
        &mut self,
        result: JobResult,
        frontier: &Frontier<JournalStore>,
    ) -> Option<JobResult> {
        let Ending::Resolved { addresses, .. } = &result.settlement.ending else {
            return Some(result);
        };
        let limited = addresses.iter().copied();
        let limited = limited.filter(|address| frontier.needs_grant(*address));
        let limited: Vec<IpAddr> = limited.take(PER_NAME).collect();
        let has_others = addresses
            .iter()
            .any(|address| !frontier.needs_grant(*address));
        if limited.is_empty() || has_others {
            return Some(result);
        }
        self.ungranted.push((result, limited));
        None
    }

    pub(super) fn ask_addresses(&mut self, at: &mut AtWork<'_, JournalStore>) {
        let usual = (self.times.expiry / 4).min(Duration::from_secs(1));
        let gap = if self.ungranted.is_empty() {
            usual
        } else {
            SOON
        };
        let is_due = at.now >= self.addresses_asked + gap;
        if self.is_asking_addresses || !is_due || !self.may_work() {
            return;
        }
        self.addresses_asked = at.now;
        let recent = self.times.expiry / 2;
        self.used.retain(|_, used| *used + recent > at.now);
        let none = |address| AddressUse {
            address,
            in_flight: 0,
            held: 0,
        };
        let waiting = self.ungranted.iter().flat_map(|(_, addresses)| addresses);
        let mut wanted: BTreeMap<IpAddr, AddressUse> =
            waiting.map(|address| (*address, none(*address))).collect();
        for one in at.frontier.granted_addresses(at.now) {
            let is_wanted = one.in_flight > 0 || wanted.contains_key(&one.address);
            if is_wanted || self.used.contains_key(&one.address) {
                wanted.insert(one.address, one);
            }
        }
        if wanted.is_empty() {
            return;
        }
        self.is_asking_addresses = true;
        self.asker.ask(QuickQuestion::Addresses {
            asked: wanted.into_values().take(MOST).collect(),
            rule: self.rule,
            time: self.grant_time(),
        });
    }

    /// Hears which addresses may be asked until then, by the clock of the lease.
    pub(super) fn hear_addresses(
        &mut self,
        dealt: Result<Vec<DealtAddress>, BusError>,
        until: Moment,
        at: &mut AtWork<'_, JournalStore>,
    ) {
        self.is_asking_addresses = false;
        let dealt = match dealt {
            Ok(dealt) => dealt,
            Err(error) => return self.is_away(error),
        };
        let left = until.saturating_sub(self.lease_now());
        if left.is_zero() {
            return;
        }
        let mut granted = Vec::new();
        for one in dealt {
            if let Some((pace, number)) = one.pace {
                let grant = AddressGrant {
                    pace,
                    until: at.now + left,
                    number,
                };
                at.frontier.grant_address(one.address, grant);
                granted.push(one.address);
            }
        }
        let is_granted = |addresses: &[IpAddr]| addresses.iter().any(|one| granted.contains(one));
        let ready = self
            .ungranted
            .extract_if(.., |(_, addresses)| is_granted(addresses));
        for (mut result, _) in ready {
            if let Ending::Resolved { addresses, .. } = &mut result.settlement.ending {
                addresses.retain(|address| granted.contains(address));
            }
            self.turn.settle.push(result);
        }
    }
}
