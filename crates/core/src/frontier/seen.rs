//! Keys that are known, in memory.
//!
//! Owns a table of whole keys in lines of four, each line as wide as one of the processor's
//! cache. Where a key is looked for is one place in memory, known before anything was read: with
//! millions of keys that is one wait for each in place of two, and waits for many keys go on side
//! by side ([`SeenKeys::prefetch`]). It refuses to know what a key stands for. Invariants: a key
//! that was added is found, and no other; nothing is ever removed; lines fill from their front.
//!
//! Keys are seeded hashes, so nobody can aim at one line.

use crate::key::Key;

/// Keys of a line.
const WAYS: usize = 4;

/// Lines of a table that holds something, at the least.
const FEWEST: usize = 16;

/// A table that is fuller than this part of its places is made twice as large.
const FULL: (usize, usize) = (3, 4);

/// What stands in an empty place; the key that looks the same is remembered apart.
const NOTHING: u128 = 0;

/// Four places that are read at once.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Line([u128; WAYS]);

impl Line {
    const EMPTY: Self = Self([NOTHING; WAYS]);

    /// Whether a number stands here, without a branch for each place: which of them it is cannot
    /// be guessed.
    fn holds(&self, number: u128) -> bool {
        let places = self.0.iter();
        places.fold(0, |found, place| found | u8::from(*place == number)) != 0
    }

    /// Whether what belongs here may stand in the next line.
    const fn is_full(&self) -> bool {
        self.0[WAYS - 1] != NOTHING
    }
}

/// A set of keys that only grows.
#[derive(Debug, Default)]
pub(super) struct SeenKeys {
    lines: Vec<Line>,
    /// Keys in the lines.
    held: usize,
    holds_nothing_like: bool,
}

impl SeenKeys {
    /// Whether a key was added.
    pub(super) fn contains(&self, key: Key) -> bool {
        let number = key.number();
        if number == NOTHING {
            return self.holds_nothing_like;
        }
        if self.lines.is_empty() {
            return false;
        }
        let mut at = self.home(number);
        loop {
            let line = &self.lines[at];
            if line.holds(number) {
                return true;
            }
            if !line.is_full() {
                return false;
            }
            at = self.after(at);
        }
    }

    /// Brings the lines of keys near that will be asked for. Nothing waits for what it reads, so
    /// that the processor reads on while memory answers.
    pub(super) fn prefetch(&self, keys: impl Iterator<Item = Key>) {
        if self.lines.is_empty() {
            return;
        }
        let read = keys.fold(NOTHING, |read, key| {
            read ^ self.lines[self.home(key.number())].0[0]
        });
        std::hint::black_box(read);
    }

    /// Adds a key.
    pub(super) fn add(&mut self, key: Key) {
        if self.contains(key) {
            return;
        }
        let number = key.number();
        if number == NOTHING {
            self.holds_nothing_like = true;
            return;
        }
        if self.held * FULL.1 >= self.lines.len() * WAYS * FULL.0 {
            self.grow();
        }
        self.put(number);
        self.held += 1;
    }

    fn grow(&mut self) {
        let wanted = (2 * self.lines.len()).max(FEWEST);
        let old = std::mem::replace(&mut self.lines, vec![Line::EMPTY; wanted]);
        let numbers = old.iter().flat_map(|line| line.0);
        for number in numbers.filter(|number| *number != NOTHING) {
            self.put(number);
        }
    }

    /// Puts a number that is not there into the first place that is free.
    fn put(&mut self, number: u128) {
        let mut at = self.home(number);
        while self.lines[at].is_full() {
            at = self.after(at);
        }
        let places = &mut self.lines[at].0;
        let free = places.iter_mut().find(|place| **place == NOTHING);
        *free.expect("a line that is not full has a free place") = number;
    }

    /// The line where a number is looked for first.
    fn home(&self, number: u128) -> usize {
        let mixed = number as u64 ^ ((number >> 64) as u64).rotate_left(32);
        let spread = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((u128::from(spread) * self.lines.len() as u128) >> 64) as usize
    }

    /// The line after another; one of them is never full.
    fn after(&self, at: usize) -> usize {
        if at + 1 == self.lines.len() {
            0
        } else {
            at + 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u128) -> Key {
        Key::from_number(number)
    }

    #[test]
    fn what_was_added_is_known_and_nothing_else() {
        let mut seen = SeenKeys::default();
        // Keys that differ in one half only, or in a bit, stand for different URLs.
        let keys: Vec<Key> = (0..20_000_u128)
            .flat_map(|n| [key(n), key(n << 64), key(n << 64 | n), key(!n)])
            .collect();
        seen.prefetch(keys.iter().copied());
        let mut known = std::collections::HashSet::new();
        for (at, one) in keys.iter().enumerate() {
            assert_eq!(seen.contains(*one), known.contains(one), "{at}");
            seen.add(*one);
            known.insert(*one);
            assert!(seen.contains(*one), "{at}");
        }
        seen.prefetch(keys.iter().copied());
        assert!(keys.iter().all(|one| seen.contains(*one)));
        let strangers = (0..20_000_u128).map(|n| key(n << 64 | 0xffff_ffff));
        assert!(strangers.into_iter().all(|one| !seen.contains(one)));
        assert_eq!(seen.held + 1, known.len(), "all but the key of zeros");
    }

    #[test]
    fn keys_of_one_line_go_on_in_the_next_and_around_the_end() {
        let mut seen = SeenKeys::default();
        seen.add(key(1));
        let last = seen.lines.len() - 1;
        let crowd: Vec<Key> = (2..)
            .filter(|number| seen.home(*number) == last)
            .take(3 * WAYS)
            .map(key)
            .collect();
        for (at, one) in crowd.iter().enumerate() {
            assert!(!seen.contains(*one));
            seen.add(*one);
            assert!(crowd[..=at].iter().all(|earlier| seen.contains(*earlier)));
        }
        assert_eq!(seen.lines.len(), last + 1, "it was not full");
        assert!(seen.lines[0].is_full(), "the last line flowed over");
    }
}
