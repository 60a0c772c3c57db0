//! The store: what a crawl knows and what still waits.
//!
//! Owns the seam [`Store`] under the frontier and its implementation in memory. Everything
//! between two commits belongs to one batch; a store on disk makes a batch durable at once or
//! not at all. It refuses to know why an entry waits and when it is due.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::convert::Infallible;
use std::hash::{BuildHasherDefault, Hasher};

use super::entry::Entry;
use crate::key::{HostId, Key};

/// What waits for a host, seen from a level of the crawl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// Something that may be handed out.
    Ready,
    /// Only entries deeper than asked for.
    Deeper,
    /// Nothing.
    Nothing,
}

/// The state under a frontier: seen keys and one queue per host.
pub trait Store {
    /// What can go wrong; it stops the crawl.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Whether a key is known.
    fn contains(&self, key: Key) -> Result<bool, Self::Error>;

    /// Makes a key known; says whether it was new.
    fn insert(&mut self, key: Key) -> Result<bool, Self::Error>;

    /// Appends to the queue of the entry's host; lower depths come first.
    fn push(&mut self, entry: Entry) -> Result<(), Self::Error>;

    /// Moves up to `most` entries, no deeper than `deepest`, out of a host's queue. They stay
    /// the store's to restore until they are settled.
    fn take(
        &mut self,
        host: HostId,
        deepest: u32,
        most: usize,
        into: &mut VecDeque<Entry>,
    ) -> Result<(), Self::Error>;

    /// What waits for a host.
    fn waiting(&self, host: HostId, deepest: u32) -> Result<Waiting, Self::Error>;

    /// An entry that was taken has reached its end.
    fn settle(&mut self, key: Key) -> Result<(), Self::Error>;

    /// Makes everything since the last commit durable, with the offsets of the logs.
    fn commit(&mut self, offsets: &[(&'static str, u64)]) -> Result<(), Self::Error>;
}

/// Hashes keys, which are hashes already, cheaply and the same way in every run.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        // Spreads what is not a hash already, such as addresses of one network.
        let spread = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        spread ^ (spread >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.rchunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.0 = self.0.rotate_left(32) ^ u64::from_le_bytes(word);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = self.0.rotate_left(32) ^ number;
    }

    fn write_usize(&mut self, _length: usize) {}
}

/// A map whose keys are hashes already.
pub(super) type KeyMap<K, V> = HashMap<K, V, BuildHasherDefault<KeyHasher>>;

/// A store that lives and ends with the process.
#[derive(Debug, Default)]
pub struct MemoryStore {
    seen: HashSet<Key, BuildHasherDefault<KeyHasher>>,
    queues: KeyMap<HostId, BTreeMap<u32, VecDeque<Entry>>>,
}

impl Store for MemoryStore {
    type Error = Infallible;

    fn contains(&self, key: Key) -> Result<bool, Infallible> {
        Ok(self.seen.contains(&key))
    }

    fn insert(&mut self, key: Key) -> Result<bool, Infallible> {
        Ok(self.seen.insert(key))
    }

    fn push(&mut self, entry: Entry) -> Result<(), Infallible> {
        let queue = self.queues.entry(entry.key.host()).or_default();
        queue.entry(entry.depth).or_default().push_back(entry);
        Ok(())
    }

    fn take(
        &mut self,
        host: HostId,
        deepest: u32,
        most: usize,
        into: &mut VecDeque<Entry>,
    ) -> Result<(), Infallible> {
        let Some(queue) = self.queues.get_mut(&host) else {
            return Ok(());
        };
        let mut room = most;
        while room > 0
            && let Some(mut level) = queue.first_entry()
            && *level.key() <= deepest
        {
            let count = level.get().len().min(room);
            into.extend(level.get_mut().drain(..count));
            room -= count;
            if level.get().is_empty() {
                level.remove();
            }
        }
        if queue.is_empty() {
            self.queues.remove(&host);
        }
        Ok(())
    }

    fn waiting(&self, host: HostId, deepest: u32) -> Result<Waiting, Infallible> {
        let first = self.queues.get(&host).and_then(|queue| queue.keys().next());
        Ok(match first {
            Some(depth) if *depth <= deepest => Waiting::Ready,
            Some(_) => Waiting::Deeper,
            None => Waiting::Nothing,
        })
    }

    fn settle(&mut self, _key: Key) -> Result<(), Infallible> {
        Ok(())
    }

    fn commit(&mut self, _offsets: &[(&'static str, u64)]) -> Result<(), Infallible> {
        Ok(())
    }
}
