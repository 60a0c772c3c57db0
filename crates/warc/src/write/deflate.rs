//! Deflate (RFC 1951), made for pages that are written once and seldom read.
//!
//! Owns the way from what repeats to one block with the fixed codes of section 3.2.6: codes made
//! for a record would cost more than they save. Invariant: what comes out depends on what went in
//! since [`Deflate::begin`] alone, and is at most an eighth longer.

use super::bits::{Bits, PendingBits, WORD};
use super::repeats::{self, Finder, Repeat, Taker, Window, word};

const LONGEST: usize = 258;
const FARTHEST: usize = 32 * 1024;
/// So much room there is for output whenever a window is written: letters have nine bits at
/// most, and a word is written where less may be filled.
pub(super) const LEAST_ROOM: usize = repeats::WINDOW / 8 * 9 + 4 * WORD;
/// Of each letter in a word, the bit that no letter of ASCII has.
const NOT_ASCII: u64 = u64::from_ne_bytes([0x80; WORD]);
/// Eight times the code of the letter 0, the first bit highest.
const FIRST_CODES: u64 = u64::from_ne_bytes([0x30; WORD]);

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

/// The codes of distances, the first bit lowest.
static DISTANCES: [u8; 32] = {
    let mut codes = [0; 32];
    let mut number = 0;
    while number < codes.len() {
        codes[number] = (number as u8).reverse_bits() >> 3;
        number += 1;
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

/// A distance and how many bits it has: five, and all of it that they do not say.
#[inline]
fn distance(distance: usize) -> (u64, u32) {
    let above = distance as u32 - 1;
    let (code, extra_bits) = if above < 4 {
        (above, 0)
    } else {
        let log = above.ilog2();
        (2 * log + (above >> (log - 1) & 1), log - 1)
    };
    let extra = above & ((1 << extra_bits) - 1);
    let code = u32::from(DISTANCES[code as usize % DISTANCES.len()]);
    (u64::from(code | extra << 5), 5 + extra_bits)
}

/// Whether another block follows in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follows {
    Nothing,
    Blocks,
}

/// Makes a block of what it is given, window by window.
pub(super) struct Deflate {
    finder: Finder,
    waiting: PendingBits,
}

impl Deflate {
    pub(super) fn new() -> Self {
        Self {
            finder: Finder::new(),
            waiting: PendingBits::default(),
        }
    }

    /// Begins a stream with a block.
    pub(super) fn begin(&mut self, follows: Follows) {
        self.finder.begin();
        let is_last = u64::from(follows == Follows::Nothing);
        self.waiting = PendingBits {
            bits: 0b010 | is_last,
            count: 3,
        };
    }

    /// Takes what has room in the window; answers the rest.
    pub(super) fn fill<'p>(&mut self, piece: &'p [u8]) -> &'p [u8] {
        self.finder.fill(piece)
    }

    /// Writes what is in the window; the room must be [`LEAST_ROOM`] at least. Answers how many
    /// bytes it wrote.
    pub(super) fn write(&mut self, room: &mut [u8]) -> usize {
        let mut out = Output(Bits::new(self.waiting, room));
        self.finder.find(&mut out);
        self.finder.begin();
        let (waiting, filled) = out.0.end();
        self.waiting = waiting;
        filled
    }

    /// Ends the block and fills its last byte; the room must be [`LEAST_ROOM`] at least. Answers
    /// how many bytes it wrote.
    pub(super) fn end(&mut self, room: &mut [u8]) -> usize {
        let mut out = Output(Bits::new(self.waiting, room));
        out.push(symbol(256));
        out.0.write();
        out.0.align();
        self.waiting = PendingBits::default();
        out.0.end().1
    }

    /// As [`Deflate::end`], for stored blocks to follow: an empty one brings them to a byte
    /// (section 3.2.4).
    pub(super) fn end_before_stored(&mut self, room: &mut [u8]) -> usize {
        // The end of this block and the beginning of a stored one are ten zeros.
        self.waiting.count += 3;
        let filled = self.end(room);
        room[filled..filled + 4].copy_from_slice(&[0, 0, 0xff, 0xff]);
        filled + 4
    }
}

struct Output<'a>(Bits<'a>);

impl Output<'_> {
    #[inline]
    const fn push(&mut self, code: Code) {
        self.0.push(code.bits as u64, code.count as u32);
    }

    /// Writes the letters from one place to another. Most times they are few, so it pays to
    /// make all that a word holds at once.
    #[inline]
    fn letters(&mut self, window: &Window, (mut at, to): (usize, usize)) {
        while to - at >= WORD {
            self.word(word(window, at), WORD);
            at += WORD;
        }
        let few = word(window, at) & ((1 << (8 * (to - at))) - 1);
        self.word(few, to - at);
    }

    /// Writes the first letters of a word; those behind them must be zero. Letters of ASCII
    /// have codes of eight bits: 0x30 more than the letter, the first bit first.
    #[inline]
    fn word(&mut self, letters: u64, count: usize) {
        if letters & NOT_ASCII != 0 {
            return self.any_letters(&letters.to_le_bytes()[..count]);
        }
        let codes = (letters + FIRST_CODES).swap_bytes().reverse_bits();
        let above = u64::MAX.checked_shl(8 * count as u32).unwrap_or(0);
        self.0.write_bytes(codes & !above, count);
    }

    /// Writes letters, four of which have room beside what waits.
    fn any_letters(&mut self, letters: &[u8]) {
        for four in letters.chunks(4) {
            for letter in four {
                self.push(LITERALS[usize::from(*letter)]);
            }
            self.0.write();
        }
    }
}

impl Taker for Output<'_> {
    const SHORTEST: usize = 5;
    const LONGEST: usize = LONGEST;
    const FARTHEST: usize = FARTHEST;
    const STEP: usize = 2;

    #[inline]
    fn take(&mut self, window: &Window, letters: (usize, usize), repeat: Repeat) {
        // Most of them follow one another.
        if letters.0 < letters.1 {
            self.letters(window, letters);
        }
        let length = LENGTHS[repeat.length - 3];
        let (distance, count) = distance(repeat.distance);
        let bits = u64::from(length.bits) | distance << length.count;
        self.0.push(bits, u32::from(length.count) + count);
        self.0.write();
    }

    fn end(&mut self, window: &Window, letters: (usize, usize)) {
        self.letters(window, letters);
    }
}

#[cfg(test)]
mod tests {
    use super::super::repeats::samples::noise;
    use super::*;
    use flate2::{Decompress, FlushDecompress, Status};
    use proptest::prelude::*;

    /// Compresses pieces.
    fn deflated(pieces: &[&[u8]]) -> Vec<u8> {
        let mut deflate = Deflate::new();
        deflate.begin(Follows::Nothing);
        let (mut out, mut room) = (Vec::new(), vec![0xaa; LEAST_ROOM]);
        for mut piece in pieces.iter().copied() {
            while !piece.is_empty() {
                piece = deflate.fill(piece);
                if !piece.is_empty() {
                    let filled = deflate.write(&mut room);
                    out.extend_from_slice(&room[..filled]);
                }
            }
        }
        let filled = deflate.write(&mut room);
        out.extend_from_slice(&room[..filled]);
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

    fn check(pieces: &[&[u8]]) -> usize {
        let whole = pieces.concat();
        let stream = deflated(pieces);
        assert!(
            inflated(&stream, whole.len()) == whole,
            "{} bytes",
            whole.len()
        );
        // Nine bits for a letter, three before the block and seven at its end.
        assert!(stream.len() <= (9 * whole.len() + 10).div_ceil(8));
        stream.len()
    }

    #[test]
    fn every_length_and_distance_comes_back() {
        for length in 0..600 {
            let run = vec![b'r'; length];
            assert!(check(&[&run]) < 14);
            let mut apart = noise(300);
            apart.extend_from_slice(&apart.clone()[..length.min(300)]);
            check(&[&apart]);
        }
        let letters = noise(400);
        for distance in (400..70_000).step_by(211).chain(32_760..32_776) {
            let mut far = letters.clone();
            far.resize(distance, b'.');
            far.extend_from_slice(&letters);
            let length = check(&[&far]);
            let is_near = distance <= FARTHEST;
            assert_eq!(length < 500 + distance / 100, is_near, "{distance}");
        }
    }

    #[test]
    fn noise_grows_by_an_eighth_at_most_and_text_shrinks() {
        for length in [0, 1, 7, 8, 9, 1000, 70_000, 200_000] {
            check(&[&noise(length)]);
            // Letters that all have nine bits.
            let high: Vec<u8> = noise(length).iter().map(|byte| byte | 0x90).collect();
            check(&[&high]);
            let text = "<a href=\"page.html\">page</a>\n".repeat(length / 29 + 1);
            let size = check(&[text.as_bytes()]);
            assert!(size < 60 + text.len() / 50, "{size} of {}", text.len());
        }
    }

    #[test]
    fn the_same_input_gives_the_same_bytes_whatever_came_before() {
        let mut deflate = Deflate::new();
        let mut made = |input: &[u8]| {
            let mut room = vec![0; LEAST_ROOM + WORD];
            deflate.begin(Follows::Nothing);
            deflate.fill(input);
            let filled = deflate.write(&mut room);
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
        ) {
            let pieces: Vec<&[u8]> = pieces.iter().map(String::as_bytes).collect();
            check(&pieces);
        }
    }
}
