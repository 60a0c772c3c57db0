//! What says of most keys that they are not in a run, without a look into its file.
//!
//! Owns the bits. All bits of a key lie in one line of the processor's cache, so that a question
//! waits for memory once. Invariant: a key that was added is never denied; how many others are
//! not denied either depends on the bits that there are for each.

use std::io::{self, Read, Write};

/// Bits that a key gets where there is room: one of a hundred other keys is not denied.
const BITS_PER_KEY: u64 = 10;
/// Words and bits of a line.
const WORDS: usize = 8;
const LINE_BITS: u64 = 512;
/// Bytes of a line.
pub(crate) const LINE: u64 = LINE_BITS / 8;
/// Bits of a key at the most; each is named by nine bits of a number.
const MOST_PROBES: u32 = 7;
const PROBE_WIDTH: u32 = 9;

/// The filter of a run.
#[derive(Debug)]
pub(crate) struct KeyFilter {
    lines: Vec<[u64; WORDS]>,
    probes: u32,
}

impl KeyFilter {
    /// An empty one for so many keys, in about so many bytes at the most.
    pub(crate) fn new(keys: u64, most: u64) -> Self {
        let bits = keys
            .saturating_mul(BITS_PER_KEY)
            .min(most.saturating_mul(8));
        let lines = bits.div_ceil(LINE_BITS).max(1);
        // The best number of bits for a key is 0.7 times what it has, so to speak.
        let share = bits.saturating_mul(7) / keys.max(1).saturating_mul(10);
        Self {
            lines: vec![[0; WORDS]; lines as usize],
            probes: (share as u32).clamp(1, MOST_PROBES),
        }
    }

    /// Adds a key by its mark.
    pub(crate) fn add(&mut self, mark: u64) {
        let line = self.line(mark);
        for bit in bits(mark, self.probes) {
            self.lines[line][bit / 64] |= 1 << (bit % 64);
        }
    }

    /// Whether a key may be in the run.
    pub(crate) fn may_have(&self, mark: u64) -> bool {
        let line = &self.lines[self.line(mark)];
        bits(mark, self.probes).all(|bit| line[bit / 64] & (1 << (bit % 64)) != 0)
    }

    /// Brings the lines of keys near that will be asked for. Nothing waits for what it reads, so
    /// that the processor reads on while memory answers.
    pub(crate) fn prefetch(&self, marks: impl Iterator<Item = u64>) {
        let read = marks.fold(0, |read, mark| read ^ self.lines[self.line(mark)][0]);
        std::hint::black_box(read);
    }

    fn line(&self, mark: u64) -> usize {
        ((u128::from(mark) * self.lines.len() as u128) >> 64) as usize
    }

    /// Bytes that it takes, here and in a file.
    pub(crate) fn bytes(&self) -> u64 {
        self.lines.len() as u64 * LINE
    }

    /// How many bits a key has.
    pub(crate) const fn probes(&self) -> u32 {
        self.probes
    }

    /// Writes all lines.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        for line in &self.lines {
            let mut bytes = [0; LINE as usize];
            for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(line) {
                *place = word.to_le_bytes();
            }
            out.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Reads as many lines as were written.
    pub(crate) fn read(from: &mut impl Read, lines: u64, probes: u64) -> io::Result<Self> {
        let mut filter = Self {
            lines: Vec::with_capacity(lines as usize),
            probes: (probes as u32).clamp(1, MOST_PROBES),
        };
        for _ in 0..lines {
            let mut bytes = [0; LINE as usize];
            from.read_exact(&mut bytes)?;
            let mut line = [0; WORDS];
            for (word, place) in line.iter_mut().zip(bytes.as_chunks::<8>().0) {
                *word = u64::from_le_bytes(*place);
            }
            filter.lines.push(line);
        }
        Ok(filter)
    }
}

/// The bits of a key within its line.
fn bits(mark: u64, probes: u32) -> impl Iterator<Item = usize> {
    let mixed = mark.wrapping_mul(0xd6e8_feb8_6659_fd93);
    let mixed = mixed ^ (mixed >> 32);
    (0..probes).map(move |probe| (mixed >> (probe * PROBE_WIDTH)) as usize % LINE_BITS as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(from: u64) -> impl Iterator<Item = u64> {
        (from..from + 20_000).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    #[test]
    fn what_was_added_is_never_denied_and_most_else_is() {
        for (most, tolerated) in [(u64::MAX, 400), (10_000, 6_000), (0, 20_000)] {
            let mut filter = KeyFilter::new(20_000, most);
            marks(0).for_each(|mark| filter.add(mark));
            let mut bytes = Vec::new();
            filter.write(&mut bytes).unwrap();
            assert_eq!(bytes.len() as u64, filter.bytes());
            let lines = filter.bytes() / LINE;
            let probes = u64::from(filter.probes());
            let read = KeyFilter::read(&mut &bytes[..], lines, probes).unwrap();
            for filter in [filter, read] {
                assert!(marks(0).all(|mark| filter.may_have(mark)));
                let wrong = marks(1 << 40).filter(|mark| filter.may_have(*mark)).count();
                assert!(wrong <= tolerated, "{most}: {wrong}");
            }
        }
    }
}
