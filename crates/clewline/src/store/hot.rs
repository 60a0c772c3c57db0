//! Keys that were met lately.
//!
//! Owns a fixed table in front of the database: most links of a page were seen a moment ago,
//! and are answered from here. A key may be forgotten at any time; none is ever invented.

use clewline_core::key::Key;

/// Bytes that one key takes.
const KEY_BYTES: u64 = 16;

/// Slots of a table that just began, and of the largest there may be.
const FEWEST: u64 = 1 << 12;
const MOST: u64 = 1 << 22;

/// A table with one place per slot; a new key replaces the old one there. It begins small and
/// doubles while it fills, so that a small crawl finds it in the processor's cache. An empty
/// slot holds zero.
#[derive(Debug)]
pub(super) struct HotKeys {
    slots: Vec<u128>,
    used: usize,
    most: usize,
}

impl HotKeys {
    /// A table of about so many bytes at the most.
    pub(super) fn new(bytes: u64) -> Self {
        let most = (bytes / KEY_BYTES).clamp(FEWEST, MOST);
        Self {
            slots: vec![0; FEWEST as usize],
            used: 0,
            most: 1 << most.ilog2(),
        }
    }

    pub(super) fn contains(&self, key: Key) -> bool {
        let number = u128::from_be_bytes(*key.as_bytes());
        number != 0 && self.slots[self.slot(number)] == number
    }

    pub(super) fn add(&mut self, key: Key) {
        if self.used > self.slots.len() / 2 && self.slots.len() < self.most {
            let double = vec![0; 2 * self.slots.len()];
            let before = std::mem::replace(&mut self.slots, double);
            self.used = 0;
            for number in before.into_iter().filter(|number| *number != 0) {
                self.put(number);
            }
        }
        self.put(u128::from_be_bytes(*key.as_bytes()));
    }

    fn put(&mut self, number: u128) {
        let slot = self.slot(number);
        self.used += usize::from(self.slots[slot] == 0);
        self.slots[slot] = number;
    }

    /// By the URL's own part of the key, which is its last.
    fn slot(&self, number: u128) -> usize {
        number as usize & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u128) -> Key {
        Key::from_bytes(number.to_be_bytes())
    }

    #[test]
    fn forgets_but_never_invents() {
        let mut hot = HotKeys::new(0);
        assert!(!hot.contains(key(0)));
        for number in 1..10_000 {
            assert!(!hot.contains(key(number)));
            hot.add(key(number));
            assert!(hot.contains(key(number)));
        }
        assert!(!hot.contains(key(1)), "the table is smaller than that");
    }

    #[test]
    fn grows_with_what_it_holds_and_no_further() {
        let mut hot = HotKeys::new(KEY_BYTES << 14);
        (1..10_000).for_each(|number| hot.add(key(number)));
        assert!((1..10_000).all(|number| hot.contains(key(number))));
        assert_eq!(hot.slots.len(), 1 << 14);
        (1..100_000).for_each(|number| hot.add(key(number)));
        assert_eq!(hot.slots.len(), 1 << 14);
    }
}
