//! Where in a table the row of a key is.
//!
//! Owns a hash table of places: keys are hashes already, so that a look costs one row or two. It
//! refuses to hold keys: whoever asks has the rows. Invariants: the first row of a key is found; at
//! most half of the slots are taken, so that every search ends.

use clewline_core::key::Key;

use super::UrlRow;

/// No place.
const EMPTY: u32 = u32::MAX;
/// Spreads keys over slots (Knuth, volume 3, section 6.4).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The places of rows by key.
#[derive(Debug)]
pub(super) struct KeyPlaces(Vec<u32>);

impl KeyPlaces {
    pub(super) fn new(rows: &[UrlRow]) -> Self {
        let count = (rows.len() * 2).next_power_of_two().max(2);
        let mut places = Self(vec![EMPTY; count]);
        for (place, row) in rows.iter().enumerate() {
            let slot = places.slot(rows, row.key);
            if places.0[slot] == EMPTY {
                places.0[slot] = place as u32;
            }
        }
        places
    }

    pub(super) fn find(&self, rows: &[UrlRow], key: Key) -> Option<usize> {
        let place = self.0[self.slot(rows, key)];
        (place != EMPTY).then_some(place as usize)
    }

    /// The slot that has the key, or the one that is free for it.
    fn slot(&self, rows: &[UrlRow], key: Key) -> usize {
        let number = key.number();
        let mixed = (number as u64 ^ (number >> 64) as u64).wrapping_mul(GOLDEN);
        let mut slot = (mixed >> (u64::BITS - self.0.len().trailing_zeros())) as usize;
        while self.0[slot] != EMPTY && rows[self.0[slot] as usize].key != key {
            slot = (slot + 1) % self.0.len();
        }
        slot
    }
}
