//! A code for the letters of pages (RFC 8878, section 4.2).
//!
//! Owns one prefix code for all records, and how letters are written by it. It was made once
//! from what is left of the pages of a dozen documentation sites when repetitions are taken
//! out; theirs take between 5.0 and 5.4 bits each by it. A code made for each record would take
//! a little less room and more time than finding the repetitions. Bytes that are seldom in
//! pages take 11 bits, and letters that gain nothing by it stay as they are.

use super::super::bits::{Bits, Waiting};

/// Bits of the longest code.
const LONGEST: u8 = 11;
/// Bits of the codes of printable letters, from the space on.
const PRINTABLE: [u8; 96] = [
    4, 11, 6, 9, 11, 11, 9, 10, 9, 9, 11, 11, 8, 7, 6, 6, 8, 8, 8, 9, 9, 10, 10, 10, 10, 10, 9, 9,
    6, 7, 5, 11, 11, 9, 10, 9, 9, 9, 10, 11, 10, 9, 11, 11, 10, 9, 9, 9, 9, 11, 9, 8, 8, 10, 11,
    11, 11, 11, 11, 11, 11, 11, 11, 8, 11, 4, 7, 5, 5, 4, 7, 6, 5, 4, 9, 8, 5, 6, 5, 4, 6, 10, 5,
    5, 4, 6, 7, 7, 7, 7, 10, 11, 11, 11, 11, 11,
];
const LINE_FEED: u8 = 6;
const CARRIAGE_RETURN: u8 = 10;
/// The code as readers are told it: the bits of all codes, themselves compressed.
const DESCRIPTION: [u8; 59] = [
    0x3a, 0x10, 0xc0, 0x9b, 0xa4, 0x03, 0x33, 0x30, 0x03, 0x33, 0x30, 0x03, 0x33, 0x00, 0x00, 0x11,
    0x42, 0xc8, 0x4e, 0x22, 0xe3, 0x4e, 0x72, 0x4b, 0xfb, 0x49, 0x6e, 0x92, 0xa4, 0x4c, 0xa5, 0x1d,
    0xb5, 0xf9, 0xff, 0xbf, 0x01, 0x0b, 0xcd, 0xfe, 0xb0, 0x24, 0xad, 0x7d, 0x44, 0x44, 0xfc, 0xdf,
    0x5a, 0xdb, 0x7b, 0xfc, 0xff, 0x58, 0xb6, 0xa2, 0x76, 0x27, 0x8c,
];
/// What stands before the letters: their kind and both sizes, in the longest of its forms.
pub(super) const HEADER: usize = 5;
/// The lengths of three of the four streams.
const LENGTHS: usize = 6;
/// Fewer letters gain nothing.
const FEWEST: usize = 256;
/// Letters that have room beside bits that wait.
const AT_ONCE: usize = 5;

/// Whether a reader of the frame knows the code from a block before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Not,
    Before,
}

#[derive(Debug, Clone, Copy)]
struct Code {
    bits: u16,
    count: u8,
}

static CODES: [Code; 256] = {
    let mut codes = [Code { bits: 0, count: 0 }; 256];
    // Codes are numbered from the longest ones on, and within a length by their letters.
    let (mut count, mut next) = (LONGEST, 0);
    while count > 0 {
        let mut byte = 0;
        while byte < codes.len() {
            if length(byte) == count {
                codes[byte] = Code { bits: next, count };
                next += 1;
            }
            byte += 1;
        }
        next >>= 1;
        count -= 1;
    }
    codes
};

const fn length(byte: usize) -> u8 {
    match byte {
        0x0a => LINE_FEED,
        0x0d => CARRIAGE_RETURN,
        0x20..0x80 => PRINTABLE[byte - 0x20],
        _ => LONGEST,
    }
}

/// The most that letters become, with what stands before them.
pub(super) const fn most(letters: usize) -> usize {
    HEADER + DESCRIPTION.len() + LENGTHS + letters / 8 * 11 + 64
}

/// Writes the section of letters by the code; answers its length, or nothing if that would not
/// make it shorter. The room must be [`most`] of them.
pub(super) fn write(letters: &[u8], told: Told, room: &mut [u8]) -> Option<usize> {
    if letters.len() < FEWEST {
        return None;
    }
    let description = match told {
        Told::Not => &DESCRIPTION[..],
        Told::Before => &[],
    };
    let lengths = HEADER + description.len();
    room[HEADER..lengths].copy_from_slice(description);
    let mut filled = lengths + LENGTHS;
    // Four streams, so that a reader can work on all of them at once.
    for (index, quarter) in letters.chunks(letters.len().div_ceil(4)).enumerate() {
        let length = write_stream(quarter, &mut room[filled..]);
        filled += length;
        if index < 3 {
            let place = lengths + 2 * index;
            room[place..place + 2].copy_from_slice(&(length as u16).to_le_bytes());
        }
    }
    let (count, size) = (letters.len() as u64, (filled - HEADER) as u64);
    // Coded or, by the code of before, treeless; four streams and 18 bits for each size.
    let kind = match told {
        Told::Not => 2,
        Told::Before => 3,
    };
    let header = kind | 3 << 2 | count << 4 | size << 22;
    room[..HEADER].copy_from_slice(&header.to_le_bytes()[..HEADER]);
    (filled < letters.len()).then_some(filled)
}

/// Writes letters from the last to the first, as they are read from the end of a stream.
fn write_stream(letters: &[u8], room: &mut [u8]) -> usize {
    let mut bits = Bits::new(Waiting::default(), room);
    let (rest, groups) = letters.as_rchunks::<AT_ONCE>();
    for group in groups.iter().rev() {
        for letter in group.iter().rev() {
            push(&mut bits, *letter);
        }
        bits.write();
    }
    for letter in rest.iter().rev() {
        push(&mut bits, *letter);
    }
    bits.write();
    // A reader finds the end by the last bit that is set.
    bits.push(1, 1);
    bits.align();
    bits.end().1
}

#[inline]
fn push(bits: &mut Bits<'_>, letter: u8) {
    let code = CODES[usize::from(letter)];
    bits.push(code.bits.into(), code.count.into());
}
