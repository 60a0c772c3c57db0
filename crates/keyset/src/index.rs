//! Which block of a run a key would be in.
//!
//! Owns the first key of every block, and a table of how far the keys have come at each of many
//! steps of equal width. Keys are hashes, so most steps hold one or two blocks and a question
//! touches memory at two places; where most keys share a host, steps are uneven and it becomes
//! a search by halves. Invariant: the answer is that of a search by halves over all blocks.

use clewline_core::key::Key;

/// Bytes that a block takes here: its first key, and about one step.
const BLOCK_BYTES: u64 = 16 + 4;

/// The first keys of all blocks.
#[derive(Debug)]
pub(crate) struct BlockIndex {
    firsts: Vec<Key>,
    /// How many blocks begin before each step, and behind the last one how many there are.
    before: Vec<u32>,
    /// The first number, and what is between it and the last one.
    least: u128,
    span: u128,
}

impl BlockIndex {
    /// The index of blocks that begin so, in their order.
    pub(crate) fn new(mut firsts: Vec<Key>) -> Self {
        firsts.shrink_to_fit();
        let least = firsts.first().map_or(0, |key| key.number());
        let mut index = Self {
            span: firsts.last().map_or(0, |key| key.number() - least),
            before: vec![0; firsts.len() + 1],
            least,
            firsts,
        };
        for at in 0..index.firsts.len() {
            let step = index.step(index.firsts[at].number());
            index.before[step + 1] += 1;
        }
        let mut sum = 0;
        for before in &mut index.before {
            sum += *before;
            *before = sum;
        }
        index
    }

    /// The block that holds a key if any does.
    pub(crate) fn block_of(&self, key: Key) -> Option<usize> {
        let first = self.firsts.first()?;
        if key < *first {
            return None;
        }
        let step = self.step(key.number());
        let (begin, end) = (self.before[step] as usize, self.before[step + 1] as usize);
        let within = self.firsts[begin..end].partition_point(|first| *first <= key);
        (begin + within).checked_sub(1)
    }

    /// The step of a number: there are as many as blocks.
    fn step(&self, number: u128) -> usize {
        let above = number.saturating_sub(self.least).min(self.span);
        let aligned = above << self.span.leading_zeros().min(u128::BITS - 1);
        let high = aligned >> 64;
        ((high * self.firsts.len() as u128) >> 64) as usize
    }

    /// How many blocks there are.
    pub(crate) const fn blocks(&self) -> usize {
        self.firsts.len()
    }

    /// What it takes in memory.
    pub(crate) const fn bytes(&self) -> u64 {
        self.firsts.len() as u64 * BLOCK_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_found_as_by_halves() {
        let mixed = |number: u128| {
            number.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834) >> (number % 3)
        };
        let spread: Vec<u128> = (1..3_000).map(mixed).collect();
        // Anywhere, on one host, on two with a stray one, one after the other, one, none.
        let cases: [Vec<u128>; 6] = [
            spread.clone(),
            spread.iter().map(|number| 7 << 64 | number >> 64).collect(),
            spread
                .iter()
                .map(|number| (5 + number % 2) << 64 | number >> 64)
                .chain([u128::MAX])
                .collect(),
            (0..100).collect(),
            vec![u128::MAX],
            Vec::new(),
        ];
        for mut numbers in cases {
            numbers.sort_unstable();
            numbers.dedup();
            let firsts: Vec<Key> = numbers.iter().copied().map(Key::from_number).collect();
            let index = BlockIndex::new(firsts.clone());
            let around =
                |number: u128| [number.saturating_sub(1), number, number.saturating_add(1)];
            let asked = numbers.iter().copied().flat_map(around);
            for number in asked.chain(spread.iter().copied()).chain([0, u128::MAX]) {
                let key = Key::from_number(number);
                let wanted = firsts.partition_point(|first| *first <= key).checked_sub(1);
                assert_eq!(index.block_of(key), wanted, "{key} of {}", firsts.len());
            }
        }
    }
}
