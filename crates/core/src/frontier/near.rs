//! Lanes whose turn comes soon, brought near.
//!
//! Owns no state. With very many hosts each lane lies somewhere else in memory, and so do its
//! queue, its URL, its domain and its address: whoever hands out a page would wait for them one
//! after the other. Here several lanes are read side by side before their turn comes, so that
//! the waits overlap. Nothing is decided by what is read.

use std::hint::black_box;

use super::Frontier;
use super::lane::{Addresses, Lane};
use super::schedule::Wake;
use super::store::Store;

/// Lanes that are brought near at a time.
const TOGETHER: usize = 8;

impl<S: Store> Frontier<S> {
    /// Brings the next lanes near, every so many wake-ups, if enough of them are due.
    pub(super) fn draw_lanes_near(&self) {
        let Some(coming) = self.schedule.coming::<TOGETHER>() else {
            return;
        };
        // What the next step needs is read for all lanes before any lane goes on.
        let lanes = coming.map(|wake| match wake {
            Wake::Lane(host) => self.lanes.get(&host).map(|lane| &**lane),
            Wake::Domain(_) | Wake::Address(_) => None,
        });
        let lanes = || lanes.iter().copied().flatten();
        black_box(lanes().fold(0, |read, lane| read ^ lane.touch()));
        let heads = lanes().filter_map(Lane::first_in_window);
        black_box(heads.fold(0, |read, head| read ^ head.touch()));
        for lane in lanes() {
            self.domains.draw_near(lane.domain);
            let origin = lane.origins.first();
            if let Some(Addresses::Known { addresses, .. }) = origin.map(|origin| &origin.addresses)
                && let Some(address) = addresses.first()
            {
                self.addresses.draw_near(*address);
            }
        }
    }
}
