//! What repeats in a record: the half of compression that deflate and zstd share.
//!
//! Owns the search and the table of places. It refuses to look for the best match: one place is
//! remembered for each hash, so that the table stays in the processor's nearest cache and a
//! small record costs little more than its bytes. Invariant: what it finds depends on what it
//! was given since [`Finder::begin`] alone.

use super::bits::WORD;

/// Bits of a hash; 32 KB of places.
const HASH_BITS: u32 = 14;
/// Records below this size get by with fewer places, which are cleared sooner.
const SMALL: u64 = 4 * 1024;
const SMALL_HASH_BITS: u32 = 11;
/// A number without a pattern, as multiplicative hashing wants it: 2⁶⁴ divided by the golden
/// ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
/// After so many letters in vain, as a power of two, the steps become longer.
const PATIENCE: u32 = 6;

/// So far a match is followed back.
const BACK: usize = 32;

/// What takes repetitions, one after the other.
pub(super) trait Taker {
    /// The shortest that is looked for: shorter ones are hardly shorter than their letters, or
    /// not worth the time. No more than a word.
    const SHORTEST: usize;
    /// How long one may be.
    const LONGEST: usize;
    /// How far back one may begin.
    const WINDOW: usize;

    /// Letters from one place of the input to another, and the repetition that follows them.
    fn take(&mut self, input: &[u8], letters: (usize, usize), repeat: Repeat);
}

/// So many bytes are those that stand so far before them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Repeat {
    pub(super) length: usize,
    pub(super) distance: usize,
}

/// Looks for repetitions within pieces. None reaches from piece to piece.
pub(super) struct Finder {
    /// The lower bits of where a hash was met last, for each hash. What they name may be wrong
    /// or of an earlier piece, so it is compared before it is believed.
    places: Box<[u16; 1 << HASH_BITS]>,
    shift: u32,
}

impl Finder {
    pub(super) fn new() -> Self {
        let places = vec![0; 1 << HASH_BITS].into_boxed_slice();
        Self {
            places: places.try_into().expect("there are so many places"),
            shift: u64::BITS - HASH_BITS,
        }
    }

    /// Forgets everything, for a record of about this length.
    pub(super) fn begin(&mut self, length: u64) {
        let bits = if length < SMALL {
            SMALL_HASH_BITS
        } else {
            HASH_BITS
        };
        self.places[..1 << bits].fill(0);
        self.shift = u64::BITS - bits;
    }

    /// Looks through a piece from a place to its end. Answers from where on there are only
    /// letters.
    ///
    /// Every second place is looked up, and every one remembered: whether there is a match is
    /// what no processor can foresee, so it is asked half as often. One that began before is
    /// followed back.
    pub(super) fn find<T: Taker>(&mut self, input: &[u8], start: usize, taker: &mut T) -> usize {
        // Bits of a word beyond the shortest repetition.
        let beyond = 8 * (WORD - T::SHORTEST) as u32;
        let (mut letters, mut at) = (start, start);
        while let Some(here) = word(input, at) {
            let place = self.place(here << beyond);
            let distance = usize::from((at as u16).wrapping_sub(*place));
            *place = at as u16;
            if let Some(next) = word(input, at + 1) {
                *self.place(next << beyond) = (at + 1) as u16;
            }
            if (1..=T::WINDOW.min(at)).contains(&distance)
                && let Some(there) = word(input, at - distance)
                && (here ^ there) << beyond == 0
            {
                let end = at + length::<T>(here ^ there, &input[at - distance..], &input[at..]);
                let first = letters.max(distance).max(at.saturating_sub(BACK));
                while at > first && input[at - 1] == input[at - distance - 1] {
                    at -= 1;
                }
                let end = end.min(at + T::LONGEST);
                let length = end - at;
                taker.take(input, (letters, at), Repeat { length, distance });
                (letters, at) = (end, end);
                // One place within the match, for what repeats its end.
                if let Some(last) = word(input, at - 2) {
                    *self.place(last << beyond) = (at - 2) as u16;
                }
            } else {
                at += 2 + ((at - letters) >> PATIENCE);
            }
        }
        letters
    }

    /// The place of letters that stand in the upper bytes of a word.
    #[inline]
    fn place(&mut self, letters: u64) -> &mut u16 {
        let hash = letters.wrapping_mul(SPREAD) >> self.shift;
        &mut self.places[hash as usize & ((1 << HASH_BITS) - 1)]
    }
}

#[inline]
fn word(input: &[u8], at: usize) -> Option<u64> {
    let bytes = input.get(at..)?.first_chunk::<WORD>()?;
    Some(u64::from_le_bytes(*bytes))
}

/// How many bytes both begin with, if their first words differ so.
#[inline]
fn length<T: Taker>(differs: u64, before: &[u8], here: &[u8]) -> usize {
    match differs {
        0 => WORD + common(&before[WORD..], &here[WORD..], T::LONGEST - WORD),
        _ => differs.trailing_zeros() as usize / 8,
    }
}

/// How many bytes both begin with, up to a number.
fn common(before: &[u8], here: &[u8], most: usize) -> usize {
    let here = &here[..here.len().min(most)];
    let mut count = 0;
    while let (Some(one), Some(other)) = (word(before, count), word(here, count)) {
        let differs = one ^ other;
        if differs != 0 {
            return count + differs.trailing_zeros() as usize / 8;
        }
        count += WORD;
    }
    let rest = before[count..].iter().zip(&here[count..]);
    count + rest.take_while(|(one, other)| one == other).count()
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
