//! Links on which the frontier has its verdict, for those who work for it.
//!
//! Owns fixed tables in which the frontier notes what it knows and what the scope refuses, and any
//! thread may look: most links of a page lead to what was met a moment ago, or are those at the
//! foot of every page, and need not be offered at all. A link may be forgotten at any time. None
//! is invented but by a collision of some 60 bits of a seeded hash in the one place where it is
//! looked for. A scope that becomes wider refuses nothing of what was noted before.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::key::Key;
use crate::link::LinkKind;
use crate::outcome::SkipReason;

/// Places of the table: what a site of some ten thousand pages needs, and a processor's cache
/// holds.
const PLACES: usize = 1 << 15;

/// Places for what is refused.
const REFUSED: usize = 1 << 12;

/// What stands in an empty place; a key that looks the same is never found.
const NOTHING: u64 = 0;

/// Tables of keys that are known and of links that are refused.
#[derive(Debug)]
pub struct VerdictCache {
    places: Box<[AtomicU64]>,
    refused: Box<[AtomicU64]>,
    /// Whether anything stands among what is refused.
    refuses: AtomicBool,
}

impl Default for VerdictCache {
    fn default() -> Self {
        let empty = |places| (0..places).map(|_| AtomicU64::new(NOTHING)).collect();
        Self {
            places: empty(PLACES),
            refused: empty(REFUSED),
            refuses: AtomicBool::new(false),
        }
    }
}

impl VerdictCache {
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

    /// Why the scope refuses a link that is named in this way, if it is known to. Whoever does not
    /// offer it therefore has to count it, one by one, in [`super::Answer::refused`].
    pub fn refuses(&self, key: Key, kind: LinkKind) -> Option<SkipReason> {
        let mark = refusal_mark(key, kind);
        let noted = self.refusal_place(mark).load(Ordering::Relaxed);
        let number = usize::try_from(noted ^ mark).ok()?;
        SkipReason::ALL.get(number.checked_sub(1)?).copied()
    }

    /// Notes a link that is refused for its address and kind alone.
    pub(super) fn note_refusal(&self, key: Key, kind: LinkKind, reason: SkipReason) {
        let mark = refusal_mark(key, kind);
        // The reason takes little of the mark's room: it is what a place and a mark differ by.
        let noted = mark ^ (1 + reason.place() as u64);
        self.refusal_place(mark).store(noted, Ordering::Relaxed);
        self.refuses.store(true, Ordering::Relaxed);
    }

    /// Forgets what is known: a part of it has another owner from now on, or comes from one.
    pub(super) fn forget_known(&self) {
        for place in &self.places {
            place.store(NOTHING, Ordering::Relaxed);
        }
    }

    /// Forgets what was refused: from now on it may be welcome.
    pub(super) fn forget_refusals(&self) {
        // Roots may come by the million, before anything is refused.
        if self.refuses.swap(false, Ordering::Relaxed) {
            for place in &self.refused {
                place.store(NOTHING, Ordering::Relaxed);
            }
        }
    }

    fn refusal_place(&self, mark: u64) -> &AtomicU64 {
        &self.refused[mark as usize % REFUSED]
    }

    fn place(&self, mark: u64) -> &AtomicU64 {
        &self.places[mark as usize % PLACES]
    }
}

/// A link is judged by the way in which it is named, too.
fn refusal_mark(key: Key, kind: LinkKind) -> u64 {
    /// Far apart for kinds that are near.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    mark(key) ^ (kind as u64 + 1).wrapping_mul(SPREAD)
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
        let verdict_cache = VerdictCache::default();
        let key = |number: u128| Key::from_bytes((number | 7 << 64).to_be_bytes());
        for number in 1..3 * PLACES as u128 {
            assert!(!verdict_cache.knows(key(number)));
            verdict_cache.note(key(number));
            assert!(verdict_cache.knows(key(number)));
        }
        assert!(
            !verdict_cache.knows(key(1)),
            "the table is smaller than that"
        );
        verdict_cache.note(key(0));
        assert!(!verdict_cache.knows(key(0)), "it looks like nothing");
    }

    #[test]
    fn refusals_are_of_one_kind_and_end_with_the_scope() {
        let verdict_cache = VerdictCache::default();
        let (image, anchor) = (LinkKind::Image, LinkKind::Anchor);
        for (number, reason) in (1..).zip(SkipReason::ALL) {
            let key = Key::from_number(number * 0x1234_5678_9abc_def1);
            assert_eq!(verdict_cache.refuses(key, image), None);
            verdict_cache.note_refusal(key, image, *reason);
            assert_eq!(verdict_cache.refuses(key, image), Some(*reason));
            assert_eq!(verdict_cache.refuses(key, anchor), None);
            assert!(!verdict_cache.knows(key));
            verdict_cache.forget_refusals();
            assert_eq!(verdict_cache.refuses(key, image), None);
        }
    }
}
