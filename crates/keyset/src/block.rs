//! A block of a run: keys in their order, packed, with a check sum.
//!
//! Owns its form. The first half of a key is its host's and is the same for all keys of a host,
//! which are neighbours, so it is written once for them: how many hosts there are, the hosts,
//! where the keys of each end, the second halves of all keys, zeros, and the sum. It refuses to
//! know files. Invariant: what is read from a block was checked against its sum.

use clewline_core::key::Key;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes of a block, of a sum, and of one half of a key.
pub(crate) const BLOCK: usize = 2048;
const SUM: usize = 8;
const HALF: usize = 8;
/// Bytes that say how many hosts there are, and where the keys of one end.
const COUNT: usize = 8;
const END: usize = 2;
/// Keys of a block at the most: those of one host.
pub(crate) const MOST_KEYS: usize = (BLOCK - SUM - COUNT - HALF - HALF) / HALF;

/// A block as it lies in a file.
pub(crate) type Block = [u8; BLOCK];

/// The sum says where a block belongs, too.
fn sum(block: &[u8], run: u64, number: usize) -> [u8; SUM] {
    let seed = run.rotate_left(32) ^ number as u64;
    xxh3_64_with_seed(&block[..BLOCK - SUM], seed).to_le_bytes()
}

/// Whether it is the block of that number in that run, as it was written.
pub(crate) fn is_sound(block: &Block, run: u64, number: usize) -> bool {
    sum(block, run, number) == block[BLOCK - SUM..]
}

/// The two halves of a key: the host's and the URL's.
const fn halves(key: Key) -> (u64, u64) {
    let number = key.number();
    ((number >> 64) as u64, number as u64)
}

/// Bytes of everything before the keys' second halves; they begin at a multiple of their length.
const fn head(hosts: usize) -> usize {
    COUNT + hosts * HALF + (hosts * END).next_multiple_of(HALF)
}

/// Fills blocks.
#[derive(Debug, Default)]
pub(crate) struct BlockPacker {
    hosts: Vec<u64>,
    /// How many keys there are up to the end of each host.
    ends: Vec<u16>,
    urls: Vec<u64>,
}

impl BlockPacker {
    /// Whether a key, which is behind all others, fits into the block that is being filled.
    pub(crate) fn has_room(&self, key: Key) -> bool {
        let is_new = self.hosts.last() != Some(&halves(key).0);
        let hosts = self.hosts.len() + usize::from(is_new);
        head(hosts) + (self.urls.len() + 1) * HALF + SUM <= BLOCK
    }

    /// Adds a key that has room.
    pub(crate) fn push(&mut self, key: Key) {
        let (host, url) = halves(key);
        self.urls.push(url);
        let end = self.urls.len() as u16;
        match self.ends.last_mut() {
            Some(last) if self.hosts.last() == Some(&host) => *last = end,
            _ => {
                self.hosts.push(host);
                self.ends.push(end);
            }
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.urls.is_empty()
    }

    /// Writes the block of a number behind others, and begins another.
    pub(crate) fn end(&mut self, out: &mut Vec<u8>, run: u64, number: usize) {
        let begin = out.len();
        out.extend((self.hosts.len() as u64).to_be_bytes());
        out.extend(self.hosts.iter().flat_map(|host| host.to_be_bytes()));
        out.extend(self.ends.iter().flat_map(|end| end.to_be_bytes()));
        out.resize(begin + head(self.hosts.len()), 0);
        out.extend(self.urls.iter().flat_map(|url| url.to_be_bytes()));
        out.resize(begin + BLOCK, 0);
        let sum = sum(&out[begin..], run, number);
        out[begin + BLOCK - SUM..].copy_from_slice(&sum);
        self.hosts.clear();
        self.ends.clear();
        self.urls.clear();
    }
}

/// The keys of a block that is sound.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PackedKeys<'a> {
    hosts: &'a [[u8; HALF]],
    ends: &'a [[u8; END]],
    urls: &'a [[u8; HALF]],
}

impl<'a> PackedKeys<'a> {
    /// Nothing where the parts do not fit into the block, which none is that was written.
    pub(crate) fn from_block(block: &'a Block) -> Option<Self> {
        let (count, _) = block.split_first_chunk()?;
        let hosts = usize::try_from(u64::from_be_bytes(*count)).ok()?;
        if hosts > BLOCK / HALF {
            return None;
        }
        let ends_at = COUNT + hosts * HALF;
        let ends = block.get(ends_at..ends_at + hosts * END)?;
        let urls = block.get(head(hosts)..BLOCK - SUM)?;
        Some(Self {
            hosts: block[COUNT..ends_at].as_chunks().0,
            ends: ends.as_chunks().0,
            urls: urls.as_chunks().0,
        })
    }

    /// Whether a key is in it. URLs are hashes, so it is next to where it would be if they were
    /// spread evenly.
    pub(crate) fn holds(self, key: Key) -> bool {
        let (host, url) = halves(key);
        let urls = self.urls_on(host);
        let place = guess(urls, url);
        let (before, behind) = urls.split_at(place.min(urls.len()));
        let is_behind = behind.first().is_some_and(|other| number(*other) <= url);
        let found = if is_behind {
            behind
                .iter()
                .map(|other| number(*other))
                .find(|other| *other >= url)
        } else {
            before
                .iter()
                .rev()
                .map(|other| number(*other))
                .find(|other| *other <= url)
        };
        found == Some(url)
    }

    /// What stands where a key is looked for first.
    pub(crate) fn near(self, key: Key) -> u64 {
        let (host, url) = halves(key);
        let urls = self.urls_on(host);
        urls.get(guess(urls, url)).map_or(0, |other| number(*other))
    }

    /// All keys in their order.
    pub(crate) fn keys(self) -> impl Iterator<Item = Key> {
        let hosts = self.hosts.iter().enumerate();
        hosts.flat_map(move |(at, host)| {
            let host = u128::from(number(*host)) << 64;
            let urls = self.urls_of(at).iter();
            urls.map(move |url| Key::from_number(host | u128::from(number(*url))))
        })
    }

    fn urls_on(self, host: u64) -> &'a [[u8; HALF]] {
        let at = self
            .hosts
            .binary_search_by_key(&host, |other| number(*other));
        at.map_or(&[], |at| self.urls_of(at))
    }

    fn urls_of(self, at: usize) -> &'a [[u8; HALF]] {
        let begin = at.checked_sub(1).map_or(0, |before| self.end_of(before));
        self.urls.get(begin..self.end_of(at)).unwrap_or_default()
    }

    fn end_of(self, at: usize) -> usize {
        usize::from(u16::from_be_bytes(self.ends[at]))
    }
}

const fn number(half: [u8; HALF]) -> u64 {
    u64::from_be_bytes(half)
}

/// Where a URL would be among others if they were spread evenly.
fn guess(urls: &[[u8; HALF]], url: u64) -> usize {
    let (Some(least), Some(most)) = (urls.first(), urls.last()) else {
        return 0;
    };
    let least = number(*least);
    let span = number(*most).saturating_sub(least).max(1);
    let above = url.saturating_sub(least).min(span);
    (above as f64 / span as f64 * (urls.len() - 1) as f64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills blocks with so many keys of each host; answers them and what is in them.
    fn blocks(per_host: u64) -> (Vec<Block>, Vec<Key>) {
        let key = |number: u64| {
            let host = u128::from(number / per_host + 1) << 64;
            Key::from_number(host | u128::from(number.pow(4) << 2))
        };
        let keys: Vec<Key> = (0..3_000).map(key).collect();
        let (mut packer, mut out, mut made) = (BlockPacker::default(), Vec::new(), 0);
        for key in &keys {
            if !packer.has_room(*key) {
                packer.end(&mut out, 7, made);
                made += 1;
            }
            packer.push(*key);
        }
        packer.end(&mut out, 7, made);
        assert!(packer.is_empty());
        (out.as_chunks().0.to_vec(), keys)
    }

    #[test]
    fn keys_are_found_where_they_were_put_and_no_others() {
        // One host, some, and as many as keys.
        for (per_host, wanted) in [(10_000, 12), (100, 12), (1, 27)] {
            let (blocks, keys) = blocks(per_host);
            assert_eq!(blocks.len(), wanted, "{per_host}");
            let packed: Vec<PackedKeys<'_>> =
                blocks.iter().filter_map(PackedKeys::from_block).collect();
            let all: Vec<Key> = packed.iter().flat_map(|block| block.keys()).collect();
            assert_eq!(all, keys, "{per_host}");
            for key in keys {
                let holding = |key| packed.iter().filter(|block| block.holds(key)).count();
                assert_eq!(holding(key), 1, "{per_host}: {key}");
                for other in [1, 1 << 64, 1 << 90] {
                    assert_eq!(holding(Key::from_number(key.number() ^ other)), 0);
                }
            }
        }
    }

    #[test]
    fn a_block_is_known_by_its_place_and_every_bit() {
        let (blocks, _) = blocks(100);
        assert!(is_sound(&blocks[3], 7, 3));
        assert!(!is_sound(&blocks[3], 7, 2));
        assert!(!is_sound(&blocks[3], 8, 3));
        for at in 0..BLOCK {
            let mut block = blocks[3];
            block[at] ^= 1 << (at % 8);
            assert!(!is_sound(&block, 7, 3), "byte {at}");
        }
    }

    #[test]
    fn a_block_that_nobody_writes_has_no_keys_beyond_it() {
        for byte in 0..=255 {
            let mut block = [byte; BLOCK];
            for hosts in 0..=255_u64 {
                block[..COUNT].copy_from_slice(&hosts.to_be_bytes());
                if let Some(packed) = PackedKeys::from_block(&block) {
                    assert!(packed.keys().count() <= MOST_KEYS * 256);
                    packed.holds(Key::from_bytes([byte; 16]));
                }
            }
        }
    }
}
