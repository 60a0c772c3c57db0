//! Keys that were met lately.
//!
//! Owns a fixed table in front of the database: most links of a page were seen a moment ago,
//! and are answered from here. A key may be forgotten at any time. None is invented but by two
//! keys that have 64 bits in common, made of seeded hashes of URL and host: with all places taken, a
//! chance of 1 : 2,000,000,000,000 for each new URL.

use clewline_core::key::Key;

/// Bytes that one key takes.
const KEY_BYTES: u64 = 8;

/// Keys that lie side by side: as many as a processor fetches from memory at once.
const WAYS: usize = 8;

/// Keys of a table that just began, and of the largest there may be.
const FEWEST: u64 = 1 << 12;
const MOST: u64 = 1 << 23;

/// What stands in an empty place; a key that looks the same is never found.
const NOTHING: u64 = 0;

/// Keys that share a place, the one met last first.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct HotLine([u64; WAYS]);

impl HotLine {
    const EMPTY: Self = Self([NOTHING; WAYS]);

    /// Whether a mark is there; it is the first from now on.
    fn meet(&mut self, mark: u64) -> bool {
        let found = self.0.iter().position(|known| *known == mark);
        let found = found.filter(|_| mark != NOTHING);
        if let Some(at) = found {
            self.0[..=at].rotate_right(1);
        }
        found.is_some()
    }

    /// Puts a mark before the others; answers the one that must go for that.
    fn put(&mut self, mark: u64) -> u64 {
        self.0.rotate_right(1);
        std::mem::replace(&mut self.0[0], mark)
    }
}

/// A table of lines; a new key takes the place of the one in its line that was not met for the
/// longest time. It begins small and doubles while it fills, so that a small crawl finds it in
/// the processor's cache.
#[derive(Debug)]
pub(crate) struct HotKeys {
    lines: Vec<HotLine>,
    used: usize,
    /// Lines at the most.
    most: usize,
}

impl HotKeys {
    /// A table of about so many bytes at the most.
    pub(crate) fn new(bytes: u64) -> Self {
        let most = (bytes / KEY_BYTES).clamp(FEWEST, MOST);
        Self {
            lines: vec![HotLine::EMPTY; FEWEST as usize / WAYS],
            used: 0,
            most: (1 << most.ilog2()) / WAYS,
        }
    }

    /// Whether a key was met lately.
    pub(crate) fn meet(&mut self, key: Key) -> bool {
        let mark = mark(key);
        self.line(mark).meet(mark)
    }

    /// Brings the lines of keys near that will be asked for. Nothing waits for what it reads, so
    /// that the processor reads on while memory answers.
    pub(crate) fn prefetch(&self, keys: &[Key]) {
        let last = self.lines.len() - 1;
        let read = keys.iter().fold(NOTHING, |read, key| {
            read ^ self.lines[mark(*key) as usize & last].0[0]
        });
        std::hint::black_box(read);
    }

    /// Adds a key, unless it is there.
    pub(crate) fn add(&mut self, key: Key) {
        let mark = mark(key);
        if self.line(mark).meet(mark) {
            return;
        }
        if self.used > self.lines.len() * WAYS / 2 && self.lines.len() < self.most {
            self.grow();
        }
        self.put(mark);
    }

    /// Forgets all keys.
    pub(crate) fn clear(&mut self) {
        self.lines.fill(HotLine::EMPTY);
        self.used = 0;
    }

    fn grow(&mut self) {
        let double = vec![HotLine::EMPTY; 2 * self.lines.len()];
        let before = std::mem::replace(&mut self.lines, double);
        self.used = 0;
        let marks = before.iter().flat_map(|line| line.0.iter().rev());
        for mark in marks.filter(|mark| **mark != NOTHING) {
            self.put(*mark);
        }
    }

    fn put(&mut self, mark: u64) {
        let gone = self.line(mark).put(mark);
        self.used += usize::from(gone == NOTHING);
    }

    fn line(&mut self, mark: u64) -> &mut HotLine {
        let at = mark as usize & (self.lines.len() - 1);
        &mut self.lines[at]
    }
}

/// What is kept of a key: the URL's part and the host's, mixed.
pub(crate) fn mark(key: Key) -> u64 {
    let number = key.number();
    let (host, url) = ((number >> 64) as u64, number as u64);
    url ^ host.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u128) -> Key {
        key_on(7, number)
    }

    fn key_on(host: u128, number: u128) -> Key {
        Key::from_bytes((host << 64 | number).to_be_bytes())
    }

    #[test]
    fn forgets_but_does_not_invent() {
        let mut hot = HotKeys::new(0);
        assert!(!hot.meet(Key::from_bytes([0; 16])), "it looks like nothing");
        for number in 1..10_000 {
            assert!(!hot.meet(key(number)));
            hot.add(key(number));
            assert!(hot.meet(key(number)));
        }
        assert!(!hot.meet(key(1)), "the table is smaller than that");
        assert!(!hot.meet(key_on(8, 9_999)));
    }

    #[test]
    fn what_is_met_again_stays() {
        let mut hot = HotKeys::new(0);
        hot.add(key(1));
        for number in 2..100_000 {
            hot.add(key(number));
            assert!(hot.meet(key(1)), "{number}");
        }
        assert_eq!(hot.used, FEWEST as usize);
    }

    #[test]
    fn grows_with_what_it_holds_and_no_further() {
        let mut hot = HotKeys::new(KEY_BYTES << 14);
        (1..10_000).for_each(|number| hot.add(key(number)));
        assert!((1..10_000).all(|number| hot.meet(key(number))));
        assert_eq!(hot.lines.len() * WAYS, 1 << 14);
        (1..100_000).for_each(|number| hot.add(key(number)));
        assert_eq!(hot.lines.len() * WAYS, 1 << 14);
    }
}
