//! Which part of the key space is whose.
//!
//! Owns the cut of the partitions into shards and the set of shards that one member owns. A shard
//! is a range of keys: a registrable domain lies in one of them with all its hosts, lanes, cookies
//! and rules. It refuses to know how a shard is won or lost. Invariant: the cut is fixed for a job.

use std::ops::RangeInclusive;

use crate::key::{HOST_BITS, HostId, PARTITIONS};

/// Partitions have so many bits.
const PARTITION_BITS: u32 = PARTITIONS.ilog2();

/// One of the ranges into which a fleet cuts the keys; what a member owns or not.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
pub struct ShardId(pub u16);

/// The shards of a job, and which of them are owned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shards {
    bits: u32,
    owned: Vec<u64>,
}

impl Shards {
    /// A cut into 2^bits shards, at the most one for each partition, of which none is owned.
    pub fn new(bits: u32) -> Self {
        let bits = bits.min(PARTITION_BITS);
        let words = (1_usize << bits).div_ceil(u64::BITS as usize);
        Self {
            bits,
            owned: vec![0; words],
        }
    }

    /// How many there are, owned or not.
    pub const fn count(&self) -> usize {
        1 << self.bits
    }

    /// All of them, owned or not.
    pub fn all(&self) -> impl Iterator<Item = ShardId> + use<> {
        (0..1_u16 << self.bits).map(ShardId)
    }

    /// The shard of a host.
    pub const fn of(&self, host: HostId) -> ShardId {
        ShardId(host.partition() >> (PARTITION_BITS - self.bits))
    }

    /// The hosts of a shard, and the rows that are kept beside them.
    pub const fn hosts(&self, shard: ShardId) -> RangeInclusive<HostId> {
        let bits = HOST_BITS.count_ones() + PARTITION_BITS - self.bits;
        let first = (shard.0 as u64) << bits;
        HostId(first)..=HostId(first | ((1 << bits) - 1))
    }

    /// Whether a shard is owned.
    pub fn owns(&self, shard: ShardId) -> bool {
        let (word, bit) = place(shard);
        self.owned.get(word).is_some_and(|word| word & bit != 0)
    }

    /// A shard is owned from now on.
    pub fn add(&mut self, shard: ShardId) {
        let (word, bit) = place(shard);
        self.owned[word] |= bit;
    }

    /// A shard is not owned any more.
    pub fn remove(&mut self, shard: ShardId) {
        let (word, bit) = place(shard);
        self.owned[word] &= !bit;
    }

    /// The shards that are owned.
    pub fn owned(&self) -> impl Iterator<Item = ShardId> {
        self.all().filter(|shard| self.owns(*shard))
    }
}

const fn place(shard: ShardId) -> (usize, u64) {
    (shard.0 as usize / 64, 1 << (shard.0 % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Keyer;
    use crate::url::CrawlUrl;

    #[test]
    fn every_host_lies_in_one_shard_and_a_domain_in_the_same() {
        let keyer = Keyer::new(5, &[]);
        let host = |name: &str| {
            let url = CrawlUrl::parse(&format!("http://{name}/x")).unwrap();
            keyer.key(&url).host()
        };
        for bits in [0, 1, 6, 12, 13] {
            let mut shards = Shards::new(bits);
            assert_eq!(shards.count(), 1 << bits.min(12));
            assert_eq!(shards.all().count(), shards.count());
            for number in 0..200 {
                let id = host(&format!("d{number}.test"));
                let shard = shards.of(id);
                let ranges = shards.all().filter(|of| shards.hosts(*of).contains(&id));
                assert_eq!(ranges.collect::<Vec<_>>(), [shard]);
                assert!(usize::from(shard.0) < shards.count());
                assert_eq!(shard, shards.of(host(&format!("www.d{number}.test"))));
                assert!(!shards.owns(shard));
                shards.add(shard);
                assert_eq!(shards.owned().collect::<Vec<_>>(), [shard]);
                shards.remove(shard);
            }
        }
    }

    #[test]
    fn the_last_shard_has_a_place() {
        let mut shards = Shards::new(12);
        shards.add(ShardId(4095));
        shards.add(ShardId(0));
        assert_eq!(
            shards.owned().collect::<Vec<_>>(),
            [ShardId(0), ShardId(4095)]
        );
        assert!(!shards.owns(ShardId(4096)), "there is none");
    }
}
