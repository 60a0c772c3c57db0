//! What repeats in a record: the half of compression that deflate and zstd share.
//!
//! Owns a window of the record, the search in it and the table of places. It refuses to look for
//! the best match: one place is remembered for each hash, so that the table stays in the
//! processor's nearest cache and a small record costs little more than its bytes. Invariant:
//! what it finds depends on what is in the window alone.
//!
//! A window has a fixed size, and every place in it has sixteen bits: so each of them is within,
//! and no step asks for it. No match reaches from window to window.

use super::bits::WORD;

/// Bytes that are looked through together.
pub(super) const WINDOW: usize = 1 << 16;
/// Bytes that are copied or compared at once.
pub(super) const STRIDE: usize = 16;
/// Bits of a hash; 16 KB of places.
const HASH_BITS: u32 = 13;
/// Windows that are filled less get by with fewer places, which are cleared sooner.
const SMALL: usize = 4 * 1024;
const SMALL_HASH_BITS: u32 = 11;
/// A number without a pattern, as multiplicative hashing wants it: 2⁶⁴ divided by the golden
/// ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// After so many letters in vain, as a power of two, the steps become longer.
const PATIENCE: u32 = 6;

/// A window, and behind it room for whoever takes more than there is.
pub(super) type Window = [u8; WINDOW + STRIDE];

/// What takes repetitions, one after the other.
pub(super) trait Taker {
    /// The shortest that is looked for: shorter ones are hardly shorter than their letters, or
    /// not worth the time. No more than a word.
    const SHORTEST: usize;
    /// How long one may be.
    const LONGEST: usize;
    /// How far back one may begin.
    const FARTHEST: usize;
    /// Places from one look to the next, two or three. All between are remembered.
    const STEP: usize;

    /// Letters from one place of the window to another, and the repetition that follows them.
    fn take(&mut self, window: &Window, letters: (usize, usize), repeat: Repeat);

    /// The letters after the last repetition.
    fn end(&mut self, window: &Window, letters: (usize, usize));
}

/// So many bytes are those that stand so far before them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Repeat {
    pub(super) length: usize,
    pub(super) distance: usize,
}

/// Looks for repetitions within windows.
pub(super) struct Finder {
    window: Box<Window>,
    filled: usize,
    /// Where a hash was met last. What stands there may be something else, so it is compared
    /// before it is believed; before anything was met, all stand for the first place.
    places: Box<[u16; 1 << HASH_BITS]>,
}

impl Finder {
    pub(super) fn new() -> Self {
        let places = vec![0; 1 << HASH_BITS].into_boxed_slice();
        let window = vec![0; WINDOW + STRIDE].into_boxed_slice();
        Self {
            window: window.try_into().expect("it is as large as a window"),
            filled: 0,
            places: places.try_into().expect("there are so many places"),
        }
    }

    /// Forgets everything.
    pub(super) fn begin(&mut self) {
        self.filled = 0;
    }

    /// Takes as much of a piece as the window has room for; answers the rest.
    pub(super) fn fill<'p>(&mut self, piece: &'p [u8]) -> &'p [u8] {
        let (now, later) = piece.split_at(piece.len().min(WINDOW - self.filled));
        self.window[self.filled..self.filled + now.len()].copy_from_slice(now);
        self.filled += now.len();
        later
    }

    /// Looks through the window.
    ///
    /// Every second or third place is looked up, and every one remembered: whether there is a
    /// match is what no processor can foresee, so it is asked less often. One that began before
    /// is followed back.
    pub(super) fn find<T: Taker>(&mut self, taker: &mut T) {
        let bits = if self.filled < SMALL {
            SMALL_HASH_BITS
        } else {
            HASH_BITS
        };
        let shift = u64::BITS - bits;
        // Bits of a word beyond the shortest repetition.
        let beyond = 8 * (WORD - T::SHORTEST) as u32;
        let (window, places) = (&*self.window, &mut *self.places);
        places[..1 << bits].fill(0);
        // All hashes name the first place until they are met. At the last one a whole word stands.
        let (mut letters, mut at) = (0, 1);
        while at + WORD <= self.filled {
            let here = word(window, at);
            let place = &mut places[hash(here << beyond, shift)];
            let before = usize::from(std::mem::replace(place, at as u16));
            for between in 1..T::STEP {
                let here = word(window, at + between) << beyond;
                places[hash(here, shift)] = (at + between) as u16;
            }
            let differs = here ^ word(window, before);
            let distance = at - before;
            let is_far = T::FARTHEST < WINDOW && distance > T::FARTHEST;
            if differs << beyond != 0 || is_far {
                at += T::STEP + ((at - letters) >> PATIENCE);
                continue;
            }
            let end = match differs {
                0 => common(window, (before + WORD, at + WORD), self.filled),
                _ => at + differs.trailing_zeros() as usize / 8,
            };
            if at > letters {
                at -= back(window, (before, at)).min(at - letters);
            }
            let end = end.min(at + T::LONGEST);
            let length = end - at;
            taker.take(window, (letters, at), Repeat { length, distance });
            (letters, at) = (end, end);
            // One place within the match, for what repeats its end.
            places[hash(word(window, at - 2) << beyond, shift)] = (at - 2) as u16;
        }
        taker.end(window, (letters, self.filled));
    }
}

/// The hash of letters that stand in the upper bytes of a word.
#[inline]
const fn hash(letters: u64, shift: u32) -> usize {
    (letters.wrapping_mul(SPREAD) >> shift) as usize % (1 << HASH_BITS)
}

/// The word at a place of a window.
#[inline]
pub(super) fn word(window: &Window, at: usize) -> u64 {
    let bytes = window[at % WINDOW..].first_chunk::<WORD>();
    u64::from_le_bytes(*bytes.expect("a word has room behind every place"))
}

/// Where what stands at two places ceases to be the same.
#[inline]
fn common(window: &Window, (mut before, mut at): (usize, usize), end: usize) -> usize {
    while at < end {
        let differs = word(window, before) ^ word(window, at);
        if differs != 0 {
            at += differs.trailing_zeros() as usize / 8;
            break;
        }
        (before, at) = (before + WORD, at + WORD);
    }
    at.min(end)
}

/// How many bytes before two places are the same; no more than a word.
#[inline]
fn back(window: &Window, (before, at): (usize, usize)) -> usize {
    if before < WORD {
        return 0;
    }
    let differs = word(window, before - WORD) ^ word(window, at - WORD);
    differs.leading_zeros() as usize / 8
}

/// What tests give to whoever looks for repetitions.
#[cfg(test)]
pub(super) mod samples {
    /// Numbers without a pattern.
    pub(in crate::write) fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u32;
        std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .take(length)
        .collect()
    }
}
