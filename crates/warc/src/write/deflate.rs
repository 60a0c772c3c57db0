//! Deflate (RFC 1951), made for pages that are written once and seldom read.
//!
//! Owns the way from bytes to one block with the fixed codes of section 3.2.6. It refuses to
//! look for the best match: one place is remembered for each hash of four bytes, so that its
//! tables stay in the processor's nearest cache and a small record costs little more than its
//! bytes. Invariant: what comes out depends on what went in since [`Deflate::begin`] alone, and
//! is at most an eighth longer.

/// Bits of a hash; 32 KB of places.
const HASH_BITS: u32 = 14;
/// A number without a pattern, as multiplicative hashing wants it: 2³² divided by the golden
/// ratio.
const SPREAD: u32 = 0x9e37_79b1;
const LONGEST: usize = 258;
const WINDOW: usize = 32 * 1024;
/// What is read of the input at once.
const WORD: usize = 8;
/// Bytes that may be written beyond what a span of input becomes.
const SLACK: usize = 3 * WORD;
/// So much room there is for output whenever more input is taken.
pub(super) const LEAST_ROOM: usize = 1024;

/// Bits to be written, the first one lowest, and how many they are.
#[derive(Debug, Clone, Copy)]
struct Code {
    bits: u16,
    count: u8,
}

static LITERALS: [Code; 256] = {
    let mut codes = [Code { bits: 0, count: 0 }; 256];
    let mut byte = 0;
    while byte < codes.len() {
        codes[byte] = symbol(byte as u16);
        byte += 1;
    }
    codes
};

/// The codes of lengths from 3 on, with their extra bits.
static LENGTHS: [Code; LONGEST - 2] = {
    let mut codes = [Code { bits: 0, count: 0 }; LONGEST - 2];
    let mut above = 0;
    while above < codes.len() {
        let (number, extra, extra_bits) = match above as u16 {
            255 => (285, 0, 0),
            short @ 0..8 => (257 + short, 0, 0),
            long => {
                let extra_bits = long.ilog2() - 2;
                let group = 257 + 4 * extra_bits as u16 + (long >> extra_bits);
                (group, long & ((1 << extra_bits) - 1), extra_bits)
            }
        };
        let code = symbol(number);
        codes[above] = Code {
            bits: code.bits | extra << code.count,
            count: code.count + extra_bits as u8,
        };
        above += 1;
    }
    codes
};

/// The code of a letter or a length, which is written with its first bit first.
const fn symbol(number: u16) -> Code {
    let (code, count) = match number {
        0..144 => (0x30 + number, 8),
        144..256 => (0x190 + (number - 144), 9),
        256..280 => (number - 256, 7),
        _ => (0xc0 + (number - 280), 8),
    };
    Code {
        bits: code.reverse_bits() >> (u16::BITS - count),
        count: count as u8,
    }
}

/// Whether another block follows in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follows {
    Nothing,
    Blocks,
}

/// Makes a block of what it is given in pieces. Matches do not reach from piece to piece.
pub(super) struct Deflate {
    /// The lower bits of where a hash was met last, for each hash. What they name may be wrong
    /// or of an earlier piece, so it is compared before it is believed.
    places: Box<[u16; 1 << HASH_BITS]>,
    /// Bits that fill no byte yet.
    bits: u64,
    count: u32,
}

impl Deflate {
    pub(super) fn new() -> Self {
        let places = vec![0; 1 << HASH_BITS].into_boxed_slice();
        Self {
            places: places.try_into().expect("there are so many places"),
            bits: 0,
            count: 0,
        }
    }

    /// Begins a stream with a block.
    pub(super) fn begin(&mut self, follows: Follows) {
        self.places.fill(0);
        let is_last = u64::from(follows == Follows::Nothing);
        (self.bits, self.count) = (0b010 | is_last, 3);
    }

    /// Takes input from `start` on, as much as surely has room when compressed. Answers where
    /// it stopped, and how many bytes it wrote.
    pub(super) fn take(&mut self, input: &[u8], start: usize, room: &mut [u8]) -> (usize, usize) {
        let span = room.len().saturating_sub(SLACK) / 9 * 8;
        let end = input.len().min(start.saturating_add(span));
        let mut out = Output {
            bits: self.bits,
            count: self.count,
            room,
            filled: 0,
        };
        let mut at = self.matches(input, start, end, &mut out);
        while at < end {
            out.push(LITERALS[usize::from(input[at])]);
            out.write();
            at += 1;
        }
        out.write();
        (self.bits, self.count) = (out.bits, out.count);
        (at, out.filled)
    }

    /// Takes input until `end`, or until it is too short to be compared by words.
    fn matches(&mut self, input: &[u8], start: usize, end: usize, out: &mut Output<'_>) -> usize {
        let mut at = start;
        while at < end
            && let Some(here) = word(input, at)
        {
            let place = &mut self.places[hash(here as u32)];
            let distance = usize::from((at as u16).wrapping_sub(*place));
            *place = at as u16;
            // Matches of three bytes are hardly shorter than their letters.
            if (1..=WINDOW.min(at)).contains(&distance)
                && let Some(there) = word(input, at - distance)
                && (here ^ there) as u32 == 0
            {
                let differs = here ^ there;
                let length = match differs {
                    0 => WORD + common(&input[at - distance + WORD..], &input[at + WORD..]),
                    _ => differs.trailing_zeros() as usize / 8,
                };
                out.push(LENGTHS[length - 3]);
                out.push_distance(distance);
                out.write();
                at += length;
                // One place within the match, for what repeats its end.
                if let Some(last) = word(input, at - 2) {
                    self.places[hash(last as u32)] = (at - 2) as u16;
                }
            } else {
                out.push(LITERALS[usize::from(here as u8)]);
                out.write_half();
                at += 1;
            }
        }
        at
    }

    /// Ends the block and fills its last byte; the room must be [`LEAST_ROOM`] at least. Answers
    /// how many bytes it wrote.
    pub(super) fn end(&mut self, room: &mut [u8]) -> usize {
        let mut out = Output {
            bits: self.bits,
            count: self.count,
            room,
            filled: 0,
        };
        out.push(symbol(256));
        out.write();
        out.count = out.count.next_multiple_of(8);
        out.write();
        (self.bits, self.count) = (0, 0);
        out.filled
    }

    /// As [`Deflate::end`], for stored blocks to follow: an empty one brings them to a byte
    /// (section 3.2.4).
    pub(super) fn end_before_stored(&mut self, room: &mut [u8]) -> usize {
        // The end of this block and the beginning of a stored one are ten zeros.
        self.count += 3;
        let filled = self.end(room);
        room[filled..filled + 4].copy_from_slice(&[0, 0, 0xff, 0xff]);
        filled + 4
    }
}

fn hash(letters: u32) -> usize {
    (letters.wrapping_mul(SPREAD) >> (u32::BITS - HASH_BITS)) as usize
}

fn word(input: &[u8], at: usize) -> Option<u64> {
    let bytes = input.get(at..)?.first_chunk::<WORD>()?;
    Some(u64::from_le_bytes(*bytes))
}

/// How many bytes both begin with; no more than a match can have beyond its first word.
fn common(before: &[u8], here: &[u8]) -> usize {
    let here = &here[..here.len().min(LONGEST - WORD)];
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

/// Bits on their way into bytes.
struct Output<'a> {
    bits: u64,
    count: u32,
    room: &'a mut [u8],
    filled: usize,
}

impl Output<'_> {
    #[inline]
    fn push(&mut self, code: Code) {
        self.bits |= u64::from(code.bits) << self.count;
        self.count += u32::from(code.count);
    }

    /// Pushes a distance: five bits, and all of it that they do not say.
    #[inline]
    fn push_distance(&mut self, distance: usize) {
        let above = distance as u32 - 1;
        let (code, extra, extra_bits) = if above < 4 {
            (above, 0, 0)
        } else {
            let log = above.ilog2();
            let extra_bits = log - 1;
            let extra = above & ((1 << extra_bits) - 1);
            (2 * log + (above >> extra_bits & 1), extra, extra_bits)
        };
        let code = code.reverse_bits() >> (u32::BITS - 5);
        self.bits |= u64::from(code | extra << 5) << self.count;
        self.count += 5 + extra_bits;
    }

    /// Writes all whole bytes.
    #[inline]
    fn write(&mut self) {
        let room = &mut self.room[self.filled..self.filled + WORD];
        room.copy_from_slice(&self.bits.to_le_bytes());
        self.filled += (self.count / 8) as usize;
        self.bits >>= self.count / 8 * 8;
        self.count %= 8;
    }

    /// Writes if there is no room for a literal and a match beside what waits.
    #[inline]
    fn write_half(&mut self) {
        if self.count > u32::BITS {
            self.write();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Decompress, FlushDecompress, Status};
    use proptest::prelude::*;

    /// Compresses pieces through a room of this size.
    fn deflated(pieces: &[&[u8]], room: usize) -> Vec<u8> {
        let mut deflate = Deflate::new();
        deflate.begin(Follows::Nothing);
        let (mut out, mut room) = (Vec::new(), vec![0xaa; room]);
        for piece in pieces {
            let mut at = 0;
            while at < piece.len() {
                let (stopped, filled) = deflate.take(piece, at, &mut room);
                assert!(stopped > at, "it goes on");
                out.extend_from_slice(&room[..filled]);
                at = stopped;
            }
        }
        let filled = deflate.end(&mut room);
        out.extend_from_slice(&room[..filled]);
        out
    }

    fn inflated(stream: &[u8], length: usize) -> Vec<u8> {
        let mut out = vec![0; length + 1];
        let mut inflate = Decompress::new(false);
        let status = inflate.decompress(stream, &mut out, FlushDecompress::Finish);
        assert_eq!(status.unwrap(), Status::StreamEnd);
        assert_eq!(inflate.total_in(), stream.len() as u64);
        out.truncate(inflate.total_out() as usize);
        out
    }

    fn check(pieces: &[&[u8]], room: usize) -> usize {
        let whole = pieces.concat();
        let stream = deflated(pieces, room);
        assert!(
            inflated(&stream, whole.len()) == whole,
            "{} bytes",
            whole.len()
        );
        assert!(stream.len() <= whole.len() + whole.len() / 8 + 2);
        stream.len()
    }

    /// Numbers without a pattern.
    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u32;
        std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .take(length)
        .collect()
    }

    #[test]
    fn every_length_and_distance_comes_back() {
        for length in 0..600 {
            let run = vec![b'r'; length];
            assert!(check(&[&run], LEAST_ROOM) < 14);
            let mut apart = noise(300);
            apart.extend_from_slice(&apart.clone()[..length.min(300)]);
            check(&[&apart], LEAST_ROOM);
        }
        let letters = noise(400);
        for distance in (400..70_000).step_by(211).chain(32_760..32_776) {
            let mut far = letters.clone();
            far.resize(distance, b'.');
            far.extend_from_slice(&letters);
            let length = check(&[&far], 64 * 1024);
            let is_near = distance <= WINDOW;
            assert_eq!(length < 500 + distance / 100, is_near, "{distance}");
        }
    }

    #[test]
    fn noise_grows_by_an_eighth_at_most_and_text_shrinks() {
        for length in [0, 1, 7, 8, 9, 1000, 70_000, 200_000] {
            for room in [LEAST_ROOM, 64 * 1024] {
                check(&[&noise(length)], room);
                let text = "<a href=\"page.html\">page</a>\n".repeat(length / 29 + 1);
                let size = check(&[text.as_bytes()], room);
                assert!(size < 60 + text.len() / 50, "{size} of {}", text.len());
            }
        }
    }

    #[test]
    fn the_same_input_gives_the_same_bytes_whatever_came_before() {
        let mut deflate = Deflate::new();
        let mut made = |input: &[u8]| {
            let mut room = vec![0; 4096];
            deflate.begin(Follows::Nothing);
            let (_, filled) = deflate.take(input, 0, &mut room);
            let ended = deflate.end(&mut room[filled..]);
            room[..filled + ended].to_vec()
        };
        let first = made(b"one and one and one make three");
        made(&noise(1000));
        assert_eq!(made(b"one and one and one make three"), first);
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(
            pieces in prop::collection::vec("[ab<\n\u{e9}]{0,300}", 0..5),
            room in LEAST_ROOM..4096_usize,
        ) {
            let pieces: Vec<&[u8]> = pieces.iter().map(String::as_bytes).collect();
            check(&pieces, room);
        }
    }
}
