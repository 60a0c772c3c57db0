//! What was sent to other members lately.
//!
//! Owns a cache of the keys of URLs that are durable in somebody's mail, so that a link which stands
//! on every page is sent once and not once a page. It may forget, and then something is sent again
//! and counts once. Invariants: it never knows what was not sent; its size is fixed.

use clewline_core::key::Key;

/// Keys that are remembered, at the most.
const PLACES: usize = 1 << 18;

/// Keys that were sent; of two that share a place, the later one.
#[derive(Debug)]
pub(crate) struct SentKeys(Vec<Option<Key>>);

impl Default for SentKeys {
    fn default() -> Self {
        Self(vec![None; PLACES])
    }
}

impl SentKeys {
    pub(crate) fn add(&mut self, key: Key) {
        self.0[place(key)] = Some(key);
    }

    pub(crate) fn contains(&self, key: Key) -> bool {
        self.0[place(key)] == Some(key)
    }

    pub(crate) fn forget(&mut self, is_gone: impl Fn(Key) -> bool) {
        for known in &mut self.0 {
            if known.is_some_and(&is_gone) {
                *known = None;
            }
        }
    }
}

const fn place(key: Key) -> usize {
    key.number() as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_knows_what_was_sent_and_never_more() {
        let mut sent = SentKeys::default();
        let key = |number: u128| Key::from_number(number << 64 | number);
        assert!(!sent.contains(key(7)));
        (0..1000).for_each(|number| sent.add(key(number)));
        assert!((0..1000).all(|number| sent.contains(key(number))));
        assert!(!sent.contains(key(1000)));
        let same_place = Key::from_number(1 << 100 | 7);
        assert!(!sent.contains(same_place));
        sent.add(same_place);
        assert!(sent.contains(same_place) && !sent.contains(key(7)));
        sent.forget(|gone| gone.number() < 500 << 64);
        assert!(!sent.contains(key(8)) && sent.contains(key(500)));
    }
}
