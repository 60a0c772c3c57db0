//! What a site's pages said before, in little room.
//!
//! Owns two fixed memories: a filter for pieces of text and a sample for whole texts. Both keep
//! fewer the more they meet, by the smallness of hashes, so that what lies far back is still
//! known. A piece that was never met is taken for known once in ten times at the most.

/// Words of one generation of the filter.
const WORDS: usize = 32;

/// Pieces of one generation.
const PIECES: u16 = 320;

/// A level beyond which nothing is left to keep.
const DEEPEST: u8 = 12;

fn is_sampled(hash: u32, level: u8) -> bool {
    hash.leading_zeros() >= u32::from(level)
}

/// Pieces of text that were met: two generations of a Bloom filter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PieceFilter {
    /// The generation that is being filled, and the one before it.
    bits: Vec<u64>,
    count: u16,
    level: u8,
}

impl PieceFilter {
    /// Meets the pieces of a page, of which none comes twice: how many are kept at all, and how
    /// many of those are new.
    pub(super) fn meet(&mut self, pieces: &[u32]) -> (usize, usize) {
        self.bits.resize(2 * WORDS, 0);
        let (mut kept, mut new) = (0, 0);
        for piece in pieces {
            if !is_sampled(*piece, self.level) {
                continue;
            }
            kept += 1;
            if !self.holds(0, *piece) {
                new += usize::from(!self.holds(WORDS, *piece));
                self.note(*piece);
            }
        }
        if self.count >= PIECES {
            self.bits.copy_within(..WORDS, WORDS);
            self.bits[..WORDS].fill(0);
            self.count = 0;
            self.level = (self.level + 1).min(DEEPEST);
        }
        (kept, new)
    }

    fn places(piece: u32) -> [usize; 2] {
        let spread = u64::from(piece).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        [spread >> 53, spread >> 42].map(|bits| bits as usize % (64 * WORDS))
    }

    fn holds(&self, from: usize, piece: u32) -> bool {
        let mut places = Self::places(piece).into_iter();
        places.all(|at| self.bits[from + at / 64] & (1 << (at % 64)) != 0)
    }

    fn note(&mut self, piece: u32) {
        for at in Self::places(piece) {
            self.bits[at / 64] |= 1 << (at % 64);
        }
        self.count += 1;
    }

    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.push(self.level);
        bytes.extend(self.count.to_le_bytes());
        bytes.push(u8::from(!self.bits.is_empty()));
        bytes.extend(self.bits.iter().flat_map(|word| word.to_le_bytes()));
    }

    pub(super) fn read(bytes: &mut &[u8]) -> Option<Self> {
        let level = number(bytes, 1)? as u8;
        let count = number(bytes, 2)? as u16;
        let words = if number(bytes, 1)? == 0 { 0 } else { 2 * WORDS };
        let bits = (0..words)
            .map(|_| number(bytes, 8))
            .collect::<Option<_>>()?;
        Some(Self { bits, count, level })
    }
}

/// A sample of hashes with something beside each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sample<const MOST: usize> {
    members: Vec<(u32, u32)>,
    level: u8,
}

impl<const MOST: usize> Sample<MOST> {
    /// Puts something beside a hash; answers what was there. None where it was not, and nothing
    /// at all where this hash is not kept.
    #[expect(
        clippy::option_option,
        reason = "not kept, new, and known before are three answers"
    )]
    pub(super) fn put(&mut self, hash: u32, beside: u32) -> Option<Option<u32>> {
        if !is_sampled(hash, self.level) {
            return None;
        }
        if let Some(known) = self.members.iter_mut().find(|member| member.0 == hash) {
            return Some(Some(std::mem::replace(&mut known.1, beside)));
        }
        self.members.push((hash, beside));
        while self.members.len() > MOST {
            self.level = (self.level + 1).min(DEEPEST);
            let level = self.level;
            self.members.retain(|member| is_sampled(member.0, level));
            if level == DEEPEST {
                self.members.truncate(MOST);
            }
        }
        Some(None)
    }

    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend([self.level, self.members.len() as u8]);
        for (hash, beside) in &self.members {
            bytes.extend(hash.to_le_bytes());
            bytes.extend(beside.to_le_bytes());
        }
    }

    pub(super) fn read(bytes: &mut &[u8]) -> Option<Self> {
        let level = number(bytes, 1)? as u8;
        let count = number(bytes, 1)?;
        let member = |_| Some((number(bytes, 4)? as u32, number(bytes, 4)? as u32));
        let members = (0..count).map(member).collect::<Option<_>>()?;
        Some(Self { members, level })
    }
}

/// Reads a number of so many bytes, the lowest first.
pub(super) fn number(bytes: &mut &[u8], size: usize) -> Option<u64> {
    let (front, rest) = bytes.split_at_checked(size)?;
    *bytes = rest;
    let mut word = [0; 8];
    word[..size].copy_from_slice(front);
    Some(u64::from_le_bytes(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: u32) -> u32 {
        super::super::template::short(&number.to_le_bytes(), 0)
    }

    #[test]
    fn pieces_are_new_once_and_known_at_a_distance() {
        let mut pieces = PieceFilter::default();
        let mut invented = 0;
        for number in 0..20_000 {
            let (kept, new) = pieces.meet(&[hash(number)]);
            invented += kept - new;
            assert_eq!(pieces.meet(&[hash(number)]).1, 0, "{number}");
        }
        assert!(invented < 400, "{invented} new pieces were taken for known");
        assert!(pieces.level > 3);
        let again = (15_000..20_000).map(|number| pieces.meet(&[hash(number)]));
        let (kept, new) = again.fold((0, 0), |sum, met| (sum.0 + met.0, sum.1 + met.1));
        assert!(kept > 20 && new < kept / 2, "{new} of {kept}");
    }

    #[test]
    fn a_sample_stays_small_and_knows_what_it_keeps() {
        let mut sample = Sample::<20>::default();
        for number in 0..1000 {
            if sample.put(hash(number), number).is_some() {
                let beside = sample.put(hash(number), number + 1);
                assert!(matches!(beside, None | Some(Some(_))), "{number}");
            }
            assert!(sample.members.len() <= 20);
        }
        assert!(sample.members.len() > 5);
        let (first, beside) = sample.members[0];
        assert_eq!(sample.put(first, 7), Some(Some(beside)));
        assert_eq!(sample.put(first, 8), Some(Some(7)));
    }

    #[test]
    fn both_survive_being_written() {
        let (mut pieces, mut sample) = (PieceFilter::default(), Sample::<20>::default());
        let mut bytes = Vec::new();
        for number in 0..500 {
            pieces.meet(&[hash(number)]);
            sample.put(hash(number), number);
        }
        pieces.write(&mut bytes);
        sample.write(&mut bytes);
        let mut rest = &bytes[..];
        assert_eq!(PieceFilter::read(&mut rest), Some(pieces));
        assert_eq!(Sample::read(&mut rest), Some(sample));
        assert!(rest.is_empty());
        assert_eq!(PieceFilter::read(&mut &bytes[..9]), None);
    }
}
