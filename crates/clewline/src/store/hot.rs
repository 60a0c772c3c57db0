//! Keys that were met lately.
//!
//! Owns a fixed table in front of the database: most links of a page were seen a moment ago,
//! and are answered from here. A key may be forgotten at any time; none is ever invented.

use clewline_core::key::Key;

/// Bytes that one key takes.
const KEY_BYTES: u64 = 16;

/// Keys that are kept at the least and at the most.
const FEWEST: u64 = 1 << 12;
const MOST: u64 = 1 << 22;

/// A table with one place per slot; a new key replaces the old one there.
#[derive(Debug)]
pub(super) struct HotKeys {
    slots: Vec<Option<Key>>,
}

impl HotKeys {
    /// A table of about so many bytes.
    pub(super) fn new(bytes: u64) -> Self {
        let slots = (bytes / (KEY_BYTES + 1)).clamp(FEWEST, MOST) as usize;
        Self {
            slots: vec![None; slots],
        }
    }

    pub(super) fn contains(&self, key: Key) -> bool {
        self.slots[self.slot(key)] == Some(key)
    }

    pub(super) fn add(&mut self, key: Key) {
        let slot = self.slot(key);
        self.slots[slot] = Some(key);
    }

    fn slot(&self, key: Key) -> usize {
        let bytes: [u8; 8] = key.as_bytes()[8..].try_into().expect("eight bytes");
        // The bytes are a hash: as a fraction of all hashes they name a place among the slots.
        let hash = u128::from(u64::from_be_bytes(bytes));
        ((hash * self.slots.len() as u128) >> u64::BITS) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_but_never_invents() {
        let mut hot = HotKeys::new(0);
        let key = |number: u64| {
            let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            Key::from_bytes(u128::from(hash).to_be_bytes())
        };
        for number in 0..10_000 {
            assert!(!hot.contains(key(number)));
            hot.add(key(number));
            assert!(hot.contains(key(number)));
        }
        assert!(!hot.contains(key(0)), "the table is smaller than that");
    }
}
