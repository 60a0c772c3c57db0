//! A stream of numbers for one page.
//!
//! Owns the way from a seed and a text, such as a target, to as many numbers as a page needs.
//! Invariant: the same seed and text give the same stream, whoever asks and whenever.

use std::fmt::Write as _;

use crate::internet::chance::{Chance, Topic};

/// Numbers one after another.
#[derive(Clone, Debug)]
pub(super) struct Dice {
    chance: Chance,
    key: u64,
    thrown: u64,
}

impl Dice {
    /// The stream of this text.
    pub(super) fn new(seed: u64, text: &str) -> Self {
        Self {
            chance: Chance::new(seed),
            key: hash(text),
            thrown: 0,
        }
    }

    /// The next number.
    pub(super) fn bits(&mut self) -> u64 {
        self.thrown += 1;
        let draw = self.chance.draw(Topic::Generated, self.key, self.thrown);
        draw.bits()
    }

    /// The next number below `end`; 0 if there is none.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.bits() >> 16) as usize % end.max(1)
    }

    /// One of these.
    pub(super) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// So many hexadecimal digits.
    pub(super) fn hex(&mut self, digits: usize) -> String {
        let mut text = String::new();
        while text.len() < digits {
            let _ = write!(text, "{:016x}", self.bits());
        }
        text.truncate(digits);
        text
    }

    /// A made-up word of two to four syllables.
    pub(super) fn name(&mut self) -> String {
        const HEADS: &[u8] = b"bdfgklmnprstvz";
        const VOWELS: &[u8] = b"aeiou";
        let syllables = 2 + self.below(3);
        let mut letters = String::new();
        for _ in 0..syllables {
            letters.push(char::from(*self.pick(HEADS)));
            letters.push(char::from(*self.pick(VOWELS)));
            if self.below(4) == 0 {
                letters.push(char::from(*self.pick(b"nrsl")));
            }
        }
        letters
    }
}

/// FNV-1a.
pub(super) fn hash(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}
