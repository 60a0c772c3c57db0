//! Blocks of runs that were read more than once lately.
//!
//! Owns them in memory, so that keys of hosts that many pages link to cost no read and no sum.
//! A block is kept from the second time on: most are needed once, and would drive out the others.
//! It refuses to know what is in a block. Invariant: what is kept was sound when it was read, and
//! is the block that was asked for.

use crate::block::{BLOCK, Block};

/// Blocks of a set, and how many more it remembers to have been asked for.
const WAYS: usize = 8;
const REMEMBERED: usize = 7;
/// A set for every so many bytes.
const SET_BYTES: u64 = (WAYS * BLOCK + size_of::<BlockSet>()) as u64;
/// Of the room that there is, so much is left for the indexes and filters of the next runs.
const LEFT: usize = 8;

/// The name of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockTag(u64);

impl BlockTag {
    /// No block: runs are counted from one.
    const NONE: Self = Self(0);

    /// A run has fewer than 2^32 blocks, which would be terabytes, and there are fewer runs.
    pub(crate) const fn for_block(run: u64, number: usize) -> Self {
        Self(run << 32 | number as u64)
    }
}

/// Blocks that share a place, the one met last first.
#[derive(Debug, Clone)]
#[repr(align(64))]
struct BlockSet {
    /// Of the blocks that are kept, and then of those that are remembered.
    tags: [BlockTag; WAYS + REMEMBERED],
    /// Where the blocks are that are kept.
    places: [u8; WAYS],
}

impl BlockSet {
    const EMPTY: Self = Self {
        tags: [BlockTag::NONE; WAYS + REMEMBERED],
        places: [0, 1, 2, 3, 4, 5, 6, 7],
    };

    /// Where a block is among those that are kept.
    fn find(&self, tag: BlockTag) -> Option<usize> {
        self.tags[..WAYS].iter().position(|kept| *kept == tag)
    }

    /// Puts a block that is kept before the others; answers its place.
    fn meet(&mut self, at: usize) -> u8 {
        self.tags[..=at].rotate_right(1);
        self.places[..=at].rotate_right(1);
        self.places[0]
    }

    /// A block was read: it is remembered, or takes the place of the last one that is kept,
    /// which is remembered from then on.
    fn read(&mut self, tag: BlockTag) -> Option<u8> {
        let remembered = &mut self.tags[WAYS..];
        let Some(at) = remembered.iter().position(|known| *known == tag) else {
            remembered.rotate_right(1);
            remembered[0] = tag;
            return None;
        };
        self.tags[..=WAYS + at].rotate_right(1);
        self.places.rotate_right(1);
        Some(self.places[0])
    }
}

/// Blocks that were read more than once lately.
#[derive(Debug)]
pub(crate) struct KeptBlocks {
    sets: Vec<BlockSet>,
    /// The blocks of all sets; none before the first is kept.
    blocks: Vec<Block>,
}

impl KeptBlocks {
    /// None, and next to no room for any.
    pub(crate) fn new() -> Self {
        Self::with_sets(1)
    }

    fn with_sets(sets: usize) -> Self {
        Self {
            sets: vec![BlockSet::EMPTY; sets],
            blocks: Vec::new(),
        }
    }

    /// Keeps to about so many bytes. Where there are too few, or many more than before, all
    /// blocks are forgotten, which is seldom and costs a few reads of each.
    pub(crate) fn fit(&mut self, bytes: u64) {
        let most = (bytes / SET_BYTES).max(1) as usize;
        let has = self.sets.len();
        if has > most || has < most / 2 {
            // What there was must go first.
            *self = Self::new();
            *self = Self::with_sets(most - most / LEFT);
        }
    }

    /// A block, if it is kept, without counting as asked for.
    pub(crate) fn peek(&self, tag: BlockTag) -> Option<&Block> {
        let set = self.set_of(tag);
        let at = self.sets[set].find(tag)?;
        Some(self.at(place(set, self.sets[set].places[at])))
    }

    /// Where a block is, if it is kept.
    pub(crate) fn find(&mut self, tag: BlockTag) -> Option<usize> {
        let set = self.set_of(tag);
        let at = self.sets[set].find(tag)?;
        let within = self.sets[set].meet(at);
        Some(place(set, within))
    }

    /// The block at a place that was found.
    pub(crate) fn at(&self, place: usize) -> &Block {
        &self.blocks[place]
    }

    /// A sound block was read that is not kept; it is, if that was not the first time.
    pub(crate) fn read(&mut self, tag: BlockTag, block: &Block) {
        let set = self.set_of(tag);
        let Some(within) = self.sets[set].read(tag) else {
            return;
        };
        if self.blocks.is_empty() {
            self.blocks = vec![[0; BLOCK]; self.sets.len() * WAYS];
        }
        self.blocks[place(set, within)] = *block;
    }

    fn set_of(&self, tag: BlockTag) -> usize {
        let spread = tag.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((u128::from(spread) * self.sets.len() as u128) >> 64) as usize
    }
}

/// The place of a block among those of all sets.
fn place(set: usize, within: u8) -> usize {
    set * WAYS + usize::from(within)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tag(number: usize) -> BlockTag {
        BlockTag::for_block(1 + number as u64 / 100, number % 100)
    }

    fn block(number: usize) -> Block {
        let mut block = [0; BLOCK];
        block[..8].copy_from_slice(&number.to_le_bytes());
        block
    }

    /// Asks for a block as a run does; answers whether it was kept.
    fn ask(kept: &mut KeptBlocks, number: usize) -> bool {
        let peeked = kept.peek(tag(number)).copied();
        let place = kept.find(tag(number));
        match place {
            Some(place) => assert_eq!(kept.at(place), &block(number), "{number}"),
            None => kept.read(tag(number), &block(number)),
        }
        assert_eq!(peeked, place.map(|_| block(number)), "{number}");
        place.is_some()
    }

    #[test]
    fn a_block_is_kept_from_the_second_time_on_and_never_another() {
        let mut kept = KeptBlocks::new();
        kept.fit(1 << 20);
        for round in 0..4 {
            for number in 0..200 {
                assert_eq!(ask(&mut kept, number), round > 1, "{round}: {number}");
            }
        }
        for round in 0..3 {
            let found = (0..20_000).filter(|number| ask(&mut kept, *number));
            assert!(found.count() <= kept.sets.len() * WAYS, "{round}");
        }
    }

    #[test]
    fn what_is_asked_for_often_outlives_what_is_asked_for_once() {
        let mut kept = KeptBlocks::new();
        assert_eq!(kept.sets.len(), 1, "so that all share a set");
        for number in [0, 0, 1, 1] {
            ask(&mut kept, number);
        }
        for stranger in 2..10_000 {
            assert!(!ask(&mut kept, stranger));
            assert!(ask(&mut kept, 0) && ask(&mut kept, 1), "{stranger}");
        }
        let crowd = 10_000..10_000 + WAYS;
        for number in crowd.clone().chain(crowd).chain([0]) {
            ask(&mut kept, number);
        }
        assert_eq!(kept.blocks.len(), WAYS);
    }

    #[test]
    fn blocks_keep_to_their_room_and_stay_while_it_changes_little() {
        let mut kept = KeptBlocks::new();
        for (bytes, stays) in [
            (1 << 20, false),
            (1 << 20, true),
            (950 << 10, true),
            (400 << 10, false),
            (700 << 10, true),
            (1 << 20, false),
            (0, false),
        ] {
            kept.fit(bytes);
            assert_eq!(kept.blocks.is_empty(), !stays, "{bytes}");
            for number in (0..10).chain(0..10) {
                ask(&mut kept, number);
            }
            let taken = kept.blocks.len() * BLOCK + kept.sets.len() * size_of::<BlockSet>();
            assert!(taken as u64 <= bytes.max(SET_BYTES), "{bytes}: {taken}");
        }
    }
}
