//! Keys that the frontier knows, for those who work for it.
//!
//! Owns a fixed table in which the frontier notes what it knows and any thread may look: most
//! links of a page lead to what was met a moment ago, and need not be offered at all. A key may be
//! forgotten at any time. None is invented but by a collision of 64 bits of a seeded hash in
//! the one place where it is looked for.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::key::Key;

/// Places of the table: what a site of some ten thousand pages needs, and a processor's cache
/// holds.
const PLACES: usize = 1 << 15;

/// What stands in an empty place; a key that looks the same is never found.
const NOTHING: u64 = 0;

/// A table of keys that are known.
#[derive(Debug)]
pub struct Familiar {
    places: Box<[AtomicU64]>,
}

impl Default for Familiar {
    fn default() -> Self {
        Self {
            places: (0..PLACES).map(|_| AtomicU64::new(NOTHING)).collect(),
        }
    }
}

impl Familiar {
    /// Whether a key is known for sure; what is not found here may be known all the same.
    pub fn knows(&self, key: Key) -> bool {
        let mark = mark(key);
        mark != NOTHING && self.place(mark).load(Ordering::Relaxed) == mark
    }

    /// Notes a key that the store knows by now.
    pub(super) fn note(&self, key: Key) {
        let mark = mark(key);
        self.place(mark).store(mark, Ordering::Relaxed);
    }

    fn place(&self, mark: u64) -> &AtomicU64 {
        &self.places[mark as usize % PLACES]
    }
}

/// The URL's own half of a key, which is a hash of its whole text.
fn mark(key: Key) -> u64 {
    let [_, _, _, _, _, _, _, _, url @ ..] = *key.as_bytes();
    u64::from_be_bytes(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_but_does_not_invent() {
        let familiar = Familiar::default();
        let key = |number: u128| Key::from_bytes((number | 7 << 64).to_be_bytes());
        for number in 1..3 * PLACES as u128 {
            assert!(!familiar.knows(key(number)));
            familiar.note(key(number));
            assert!(familiar.knows(key(number)));
        }
        assert!(!familiar.knows(key(1)), "the table is smaller than that");
        familiar.note(key(0));
        assert!(!familiar.knows(key(0)), "it looks like nothing");
    }
}
