//! Frames of zstd (RFC 8878), made for pages that are written once and seldom read.
//!
//! Owns the way from what repeats to blocks: letters by one code for all pages (`alphabet`), and
//! sequences by the codes that every reader knows (`codes`). Codes made for each record would
//! cost more time than the rest. Invariant: what comes out depends on what went in since
//! [`Frame::begin`] alone, and a block is never larger than what is in it.

mod alphabet;
mod codes;

use super::bits::{Bits, Waiting};
use super::repeats::{Finder, Repeat, STRIDE, Taker, WINDOW, Window};
use alphabet::Told;
use codes::{LENGTH_STATE, LENGTHS, LETTERS, OFFSET_STATE, OFFSETS, Split};

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The most that a block holds (section 3.1.1.2.4).
pub(super) const BLOCK: usize = 128 * 1024;
/// The window of a frame that is larger than a block: 128 KiB, as section 3.1.1.1.2 spells it.
const WINDOW_DESCRIPTOR: u8 = 7 << 3;
/// Flags of a frame's header: a checksum follows; it is one segment, without a window.
const CHECKSUM: u8 = 1 << 2;
const ONE_SEGMENT: u8 = 1 << 5;
/// The longest header of a frame.
pub(super) const LONGEST_HEADER: usize = 14;
/// Before letters as they are stands their number, in the longest of its forms (section
/// 3.1.1.3.1.1).
const LETTERS_HEADER: usize = 3;
/// Offsets below are those met last (section 3.1.1.5).
const REPEATED: u32 = 3;
/// Bits that symbols may leave to say and that still have room beside 17 of the states and 7
/// that wait.
const MOST_EXTRA: u32 = 40;
/// Bytes that may be written beyond the letters and what sequences stand for.
const SLACK: usize = 64;

/// The shortest repetition that is taken. A letter takes five bits, a sequence three bytes and
/// the time of a dozen letters; and no sequence takes more bits than such letters have.
const SHORTEST: usize = 8;
/// A block has too few sequences for the third way to write their number.
const _: () = assert!(WINDOW / SHORTEST < 0x7f00 && WINDOW <= BLOCK);

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Content {
    /// Bytes as they are.
    Raw = 0,
    /// Letters and sequences.
    Compressed = 2,
}

/// Where in its frame a block stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Place {
    Within = 0,
    Last = 1,
}

/// The three bytes before a block.
pub(super) const fn block_header(size: usize, content: Content, place: Place) -> [u8; 3] {
    let header = (size as u32) << 3 | (content as u32) << 1 | place as u32;
    let [low, middle, high, _] = header.to_le_bytes();
    [low, middle, high]
}

/// The header of a frame that holds so many bytes; answers how long it is.
pub(super) fn frame_header(length: u64, out: &mut [u8; LONGEST_HEADER]) -> usize {
    let is_segment = length <= BLOCK as u64;
    let (flag, size, bytes) = match length {
        0..256 => (0, 1, length),
        256..65_792 => (1, 2, length - 256),
        65_792..=0xffff_ffff => (2, 4, length),
        _ => (3, 8, length),
    };
    out[..4].copy_from_slice(&MAGIC);
    out[4] = flag << 6 | CHECKSUM;
    out[5] = WINDOW_DESCRIPTOR;
    if is_segment {
        out[4] |= ONE_SEGMENT;
    }
    let start = if is_segment { 5 } else { 6 };
    out[start..start + size].copy_from_slice(&bytes.to_le_bytes()[..size]);
    start + size
}

/// A repetition and the letters before it.
#[derive(Debug, Clone, Copy)]
struct Sequence {
    letters: u32,
    length: u32,
    /// The distance as it is written.
    offset: u32,
}

/// Makes blocks of what it is given, one of each window.
pub(super) struct Frame {
    finder: Finder,
    letters: Box<[u8]>,
    sequences: Vec<Sequence>,
    /// The block on its way.
    block: Box<[u8]>,
    /// The distance that was used last.
    last: usize,
    told: Told,
}

impl Frame {
    pub(super) fn new() -> Self {
        Self {
            finder: Finder::new(),
            letters: vec![0; WINDOW + STRIDE].into_boxed_slice(),
            sequences: Vec::new(),
            block: vec![0; alphabet::most(WINDOW) + SLACK].into_boxed_slice(),
            last: 0,
            told: Told::Not,
        }
    }

    /// Begins a frame.
    pub(super) fn begin(&mut self) {
        self.finder.begin();
        (self.last, self.told) = (0, Told::Not);
    }

    /// Takes what has room in the window; answers the rest.
    pub(super) fn fill<'p>(&mut self, piece: &'p [u8]) -> &'p [u8] {
        self.finder.fill(piece)
    }

    /// Makes a block of what is in the window, which is compressed if that makes it smaller.
    /// The window is as it was until [`Frame::go_on`].
    pub(super) fn block(&mut self) -> (Content, &[u8]) {
        self.sequences.clear();
        let mut parts = Parts {
            sequences: &mut self.sequences,
            room: &mut self.letters,
            filled: 0,
            last: self.last,
        };
        self.finder.find(&mut parts);
        let Parts { filled, last, .. } = parts;
        let (letters, told) = write_letters(&self.letters[..filled], self.told, &mut self.block);
        let size = letters + write_sequences(&self.sequences, &mut self.block[letters..]);
        if size >= self.finder.filled().len() {
            // A reader will hear neither of its sequences nor of its code.
            return (Content::Raw, self.finder.filled());
        }
        (self.last, self.told) = (last, told);
        (Content::Compressed, &self.block[..size])
    }

    /// Forgets the block, for the next one of its frame.
    pub(super) fn go_on(&mut self) {
        self.finder.begin();
    }
}

/// Writes the section of letters (section 3.1.1.3.1); answers its length, and whether a reader
/// knows the code after it.
fn write_letters(letters: &[u8], told: Told, room: &mut [u8]) -> (usize, Told) {
    if let Some(size) = alphabet::write(letters, told, room) {
        return (size, Told::Before);
    }
    let header = ((letters.len() as u32) << 4 | 0b1100).to_le_bytes();
    room[..LETTERS_HEADER].copy_from_slice(&header[..LETTERS_HEADER]);
    room[LETTERS_HEADER..][..letters.len()].copy_from_slice(letters);
    (LETTERS_HEADER + letters.len(), told)
}

/// The parts of a block while they are found.
struct Parts<'a> {
    sequences: &'a mut Vec<Sequence>,
    room: &'a mut [u8],
    filled: usize,
    last: usize,
}

impl Parts<'_> {
    /// Copies letters, and bytes beyond them, which the next ones overwrite: most times few are
    /// copied, and to copy a fixed number costs less than to ask how many.
    #[inline]
    fn letters(&mut self, window: &Window, (from, to): (usize, usize)) {
        let mut at = from;
        loop {
            let letters = window[at % WINDOW..].first_chunk::<STRIDE>();
            let letters = letters.expect("a stride has room behind every place");
            self.room[self.filled..self.filled + STRIDE].copy_from_slice(letters);
            let taken = STRIDE.min(to - at);
            self.filled += taken;
            at += taken;
            if at == to {
                break;
            }
        }
    }
}

impl Taker for Parts<'_> {
    const SHORTEST: usize = SHORTEST;
    const LONGEST: usize = 65_535;
    const FARTHEST: usize = WINDOW;
    const STEP: usize = 3;

    #[inline]
    fn take(&mut self, window: &Window, letters: (usize, usize), repeat: Repeat) {
        let count = (letters.1 - letters.0) as u32;
        if count > 0 {
            self.letters(window, letters);
        }
        // Right after another repetition the same distance would be spelled otherwise.
        let is_repeated = repeat.distance == self.last && count > 0;
        self.sequences.push(Sequence {
            letters: count,
            length: repeat.length as u32,
            offset: if is_repeated {
                1
            } else {
                repeat.distance as u32 + REPEATED
            },
        });
        self.last = repeat.distance;
    }

    fn end(&mut self, window: &Window, letters: (usize, usize)) {
        self.letters(window, letters);
    }
}

/// Writes the section of sequences (section 3.1.1.3.2); answers its length.
fn write_sequences(sequences: &[Sequence], room: &mut [u8]) -> usize {
    let count = sequences.len() as u32;
    let [low, high, ..] = count.to_le_bytes();
    let mut start = if count < 128 {
        room[0] = low;
        1
    } else {
        room[..2].copy_from_slice(&[high | 0x80, low]);
        2
    };
    let Some((last, others)) = sequences.split_last() else {
        return start;
    };
    // All three codes are the predefined ones.
    room[start] = 0;
    start += 1;
    let mut current = last.split();
    let mut out = Backwards::new(current, &mut room[start..]);
    let mut others = others.iter().rev();
    loop {
        out.push_extras(current);
        let Some(before) = others.next() else {
            return start + out.end();
        };
        current = before.split();
        out.push_states(current);
    }
}

/// A sequence as symbols and what they leave to say.
#[derive(Debug, Clone, Copy)]
struct Symbols {
    letters: Split,
    length: Split,
    offset: u32,
}

impl Sequence {
    #[inline]
    fn split(&self) -> Symbols {
        Symbols {
            letters: codes::letters(self.letters),
            length: codes::length(self.length - 3),
            offset: self.offset,
        }
    }
}

impl Symbols {
    /// The symbol of an offset is how many bits it leaves to say.
    #[inline]
    const fn offset(self) -> u32 {
        self.offset.ilog2()
    }
}

/// Writes sequences from the last to the first, as they are read from the end of a block.
struct Backwards<'a> {
    bits: Bits<'a>,
    letters: u8,
    length: u8,
    offset: u8,
}

impl<'a> Backwards<'a> {
    fn new(last: Symbols, room: &'a mut [u8]) -> Self {
        Self {
            bits: Bits::new(Waiting::default(), room),
            letters: LETTERS.first(last.letters.symbol.into()),
            length: LENGTHS.first(last.length.symbol.into()),
            offset: OFFSETS.first(last.offset() as usize),
        }
    }

    /// Goes on to the states of a sequence: up to 17 bits, for which there is room beside what
    /// waits and what symbols leave to say.
    #[inline]
    fn push_states(&mut self, sequence: Symbols) {
        let offset = OFFSETS.step(self.offset, sequence.offset() as u8);
        let length = LENGTHS.step(self.length, sequence.length.symbol);
        let letters = LETTERS.step(self.letters, sequence.letters.symbol);
        let states = u64::from(offset.bits)
            | u64::from(length.bits) << offset.count
            | u64::from(letters.bits) << (offset.count + length.count);
        (self.offset, self.length, self.letters) = (offset.state, length.state, letters.state);
        let count = offset.count + length.count + letters.count;
        self.bits.push(states, count.into());
    }

    /// What symbols leave to say: up to 48 bits, beside 17 of the states.
    #[inline]
    fn push_extras(&mut self, sequence: Symbols) {
        let Symbols {
            letters,
            length,
            offset,
        } = sequence;
        let log = sequence.offset();
        let extra = u64::from(letters.extra) | u64::from(length.extra) << letters.extra_bits;
        let count = u32::from(letters.extra_bits) + u32::from(length.extra_bits);
        if count + log > MOST_EXTRA {
            self.bits.push(extra, count);
            self.bits.write();
            self.bits.push(low(offset, log), log);
        } else {
            self.bits
                .push(extra | low(offset, log) << count, count + log);
        }
        self.bits.write();
    }

    fn end(mut self) -> usize {
        for (state, count) in [
            (self.length, LENGTH_STATE),
            (self.offset, OFFSET_STATE),
            (self.letters, LENGTH_STATE),
        ] {
            self.bits.push(state.into(), count);
        }
        // A reader finds the end by the last bit that is set.
        self.bits.push(1, 1);
        self.bits.align();
        self.bits.end().1
    }
}

/// The lowest bits of a number.
#[inline]
fn low(number: u32, count: u32) -> u64 {
    u64::from(number & ((1 << count) - 1))
}

#[cfg(test)]
mod tests;
