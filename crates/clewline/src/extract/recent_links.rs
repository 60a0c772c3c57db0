//! References that a page wrote a moment ago.
//!
//! Owns a small table of their fingerprints: a page names the same places again and again, and
//! what it wrote before need not be decoded, trimmed and looked up once more. Works on bytes as
//! written, so it refuses to know encodings and what a reference means. Invariant: what is held
//! was noted; what was noted may be forgotten.

use clewline_html::find::find_either;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Fingerprints that are remembered.
const PLACES: usize = 256;

/// The table; an empty place holds zero.
#[derive(Debug)]
pub(super) struct RecentLinks {
    marks: [u64; PLACES],
}

impl Default for RecentLinks {
    fn default() -> Self {
        Self { marks: [0; PLACES] }
    }
}

impl RecentLinks {
    /// The fingerprint of a reference, the fragment left out: no two links differ by it. After
    /// an ampersand a number sign may be part of a character; then all of it counts.
    #[inline]
    pub(super) fn mark(reference: &[u8], seed: u64) -> u64 {
        let end = match find_either(b'#', b'&', reference) {
            // White space before the fragment is part of the URL, but at its end it is not.
            Some(at) if reference[at] == b'#' && at > 0 && reference[at - 1] > b' ' => at,
            _ => reference.len(),
        };
        xxh3_64_with_seed(&reference[..end], seed)
    }

    pub(super) const fn holds(&self, mark: u64) -> bool {
        mark != 0 && self.marks[mark as usize % PLACES] == mark
    }

    pub(super) const fn note(&mut self, mark: u64) {
        self.marks[mark as usize % PLACES] = mark;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_that_lead_to_one_place_have_one_mark() {
        for (left, right, same) in [
            ("a.html#b", "a.html", true),
            ("a.html#b", "a.html#c&d", true),
            ("a", "b", false),
            ("#b", "#c", false),
            ("a&#98;", "a&#99;", false),
            ("a&b#c", "a&b#d", false),
            ("a #b", "a #c", false),
            ("", "#", false),
        ] {
            let [left_mark, right_mark] =
                [left, right].map(|reference| RecentLinks::mark(reference.as_bytes(), 3));
            assert_eq!(left_mark == right_mark, same, "{left} {right}");
        }
        assert_ne!(RecentLinks::mark(b"a", 3), RecentLinks::mark(b"a", 4));
    }

    #[test]
    fn forgets_but_does_not_invent() {
        let mut lately = RecentLinks::default();
        for mark in 0..1000 {
            assert!(!lately.holds(mark));
            lately.note(mark);
            assert_eq!(lately.holds(mark), mark != 0);
        }
        assert!(!lately.holds(1));
    }
}
