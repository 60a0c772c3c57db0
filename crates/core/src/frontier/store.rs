//! The store: what a crawl knows and what still waits.
//!
//! Owns the seam [`Store`] under the frontier and its implementation in memory. Everything
//! between two seals belongs to one batch; a store on disk makes a batch durable at once or
//! not at all. It refuses to know why an entry waits and when it is due.

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::convert::Infallible;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Bound;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::entry::{Class, Origin, QueueEntry};
use super::health::HealthRow;
use super::seen::SeenKeys;
use crate::fleet::{Mail, ShardId};
use crate::key::{HostId, Key};
use crate::outcome::{FailureClass, SkipReason};
use crate::robots::Robots;
use crate::url::CrawlUrl;

/// How far into the queues of a host one looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The last queue.
    pub class: Class,
    /// The deepest entries of each.
    pub deepest: u32,
}

impl Span {
    /// Only what is asked in its turn.
    pub const fn normal(deepest: u32) -> Self {
        Self {
            class: Class::Normal,
            deepest,
        }
    }
}

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

/// What a lane leaves behind when it is put aside, and what a restart finds of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LaneRow {
    /// Not to be asked before this time, in milliseconds since 1970.
    pub not_before: u64,
    /// That is the end of a pause after trouble, not of the usual gap.
    #[serde(default)]
    pub parked: bool,
    /// Pages fetched.
    pub pages: u64,
    /// The gap between requests that was in force.
    pub interval: Duration,
    /// The gap at which the host refused requests.
    #[serde(alias = "shortest_interval")]
    pub refused_interval: Duration,
    /// Failures of the host in a row.
    pub host_failures: u32,
    /// The host is not asked any more, and why.
    pub ended: Option<RowEnd>,
    /// What its refusals taught.
    #[serde(default)]
    pub health: HealthRow,
    /// What was learnt of a site's templates, in the row that stands for its domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traps: Option<Box<str>>,
}

/// Why a host is not asked any more, in a [`LaneRow`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowEnd {
    /// Its URLs are skipped for this reason.
    pub skip: Option<SkipReason>,
    /// Or they fail with this class.
    pub fail: Option<FailureClass>,
    /// In words.
    pub why: Box<str>,
}

/// The state under a frontier: seen keys, one queue per host, and what is known of hosts.
pub trait Store {
    /// What can go wrong; it stops the crawl.
    type Error: std::error::Error + Send + Sync + 'static;

    /// A batch that is closed and waits to become durable.
    type Sealed: Sealed;

    /// Whether the crawl is a fleet's, whose members own a part of it each. Where it is not, nobody
    /// asks whose a host is, and that costs nothing.
    const IN_FLEET: bool = false;

    /// Keeps what is for the owner of another shard; it goes out with the batch that is open.
    fn export(&mut self, _mail: Mail) -> Result<(), Self::Error> {
        unreachable!("without a fleet every shard is this store's own")
    }

    /// Forgets all that it holds of a shard, and what of it is not durable.
    fn forget(&mut self, _shard: ShardId) -> Result<(), Self::Error> {
        unreachable!("without a fleet no shard is given away")
    }

    /// An entry that is in hand goes on under another URL than it was queued under.
    fn rename(&mut self, _from: Key, _entry: &QueueEntry) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Whether a key is known.
    fn contains(&mut self, key: Key) -> Result<bool, Self::Error>;

    /// Hears which keys will be asked for next, all at once, so that it can look them up in the
    /// order that suits it.
    fn look_ahead(&mut self, keys: impl Iterator<Item = Key>) -> Result<(), Self::Error>;

    /// Makes a key known that was not.
    fn add(&mut self, key: Key) -> Result<(), Self::Error>;

    /// Appends to the queue of the entry's host and class; lower depths come first.
    fn push(&mut self, entry: QueueEntry) -> Result<(), Self::Error>;

    /// Moves about `most` entries out of the last queue of a span, and no other. They stay the
    /// store's to restore until they are settled.
    fn take(
        &mut self,
        host: HostId,
        span: Span,
        most: usize,
        into: &mut VecDeque<QueueEntry>,
    ) -> Result<(), Self::Error>;

    /// What waits for a host in all queues of a span.
    fn waiting(&mut self, host: HostId, span: Span) -> Result<Waiting, Self::Error>;

    /// An entry that was taken has reached its end.
    fn settle(&mut self, entry: &QueueEntry) -> Result<(), Self::Error>;

    /// A host that is not active and for which something of a span waits.
    fn next_host(
        &mut self,
        span: Span,
        is_active: &dyn Fn(HostId) -> bool,
    ) -> Result<Option<HostId>, Self::Error>;

    /// Shows URLs that are queued, at most so many; whether those were all. What was queued a moment
    /// ago, or is in hand, may be missing.
    fn look_through(
        &self,
        most: usize,
        see: &mut dyn FnMut(&CrawlUrl),
    ) -> Result<bool, Self::Error>;

    /// The host is not active any more; everything taken from its queue is settled.
    fn rest(&mut self, host: HostId);

    /// What was saved of a lane.
    fn load_lane(&self, host: HostId) -> Result<Option<LaneRow>, Self::Error>;

    /// Saves a lane.
    fn save_lane(&mut self, host: HostId, row: LaneRow) -> Result<(), Self::Error>;

    /// A robots.txt that was saved, and until when it is believed, in milliseconds since 1970.
    /// A store may keep none: a lane has its own, and one that was put aside asks again.
    fn load_robots(
        &self,
        _host: HostId,
        _origin: Origin,
    ) -> Result<Option<(Robots, u64)>, Self::Error> {
        Ok(None)
    }

    /// Saves a robots.txt, or does without.
    fn save_robots(
        &mut self,
        _host: HostId,
        _origin: Origin,
        _robots: &Robots,
        _until: u64,
    ) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Closes the open batch, with what else belongs to it, and opens the next.
    fn seal(&mut self, notes: Vec<(&'static str, Vec<u8>)>) -> Result<Self::Sealed, Self::Error>;

    /// The oldest sealed batch is durable.
    fn committed(&mut self);

    /// How much the open batch holds: entries and keys.
    fn open_size(&self) -> usize;
}

/// A batch that is closed; becomes durable on any thread, in the order of sealing.
pub trait Sealed: Send + 'static {
    /// What can go wrong.
    type Error: std::error::Error + Send + Sync + 'static;

    /// Makes the batch durable, together with the offsets of the logs. May be called again
    /// after a failure.
    fn commit(&mut self, offsets: &[(&'static str, u64)]) -> Result<(), Self::Error>;
}

/// Hashes keys, which are hashes already, cheaply and the same way in every run.
#[derive(Debug, Default, Clone, Copy)]
pub struct KeyHasher(u64);

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
pub type KeyMap<K, V> = HashMap<K, V, BuildHasherDefault<KeyHasher>>;

/// A set whose members are hashes already.
pub type KeySet<K> = HashSet<K, BuildHasherDefault<KeyHasher>>;

/// A store that lives and ends with the process.
#[derive(Debug, Default)]
pub struct MemoryStore {
    seen: SeenKeys,
    /// One that is empty stays until somebody who looks for hosts comes by.
    queues: KeyMap<HostId, BTreeMap<(Class, u32), VecDeque<QueueEntry>>>,
    /// The hosts that have a queue.
    hosts: BTreeSet<HostId>,
    lanes: KeyMap<HostId, LaneRow>,
    cursor: Option<HostId>,
}

/// A batch of a store in memory: there is nothing to make durable.
#[derive(Debug, Clone, Copy)]
pub struct NothingSealed;

impl Sealed for NothingSealed {
    type Error = Infallible;

    fn commit(&mut self, _offsets: &[(&'static str, u64)]) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Whether anything of a span waits in these queues.
fn has_ready<T>(queues: &BTreeMap<(Class, u32), T>, span: Span) -> bool {
    Class::ALL
        .into_iter()
        .take_while(|class| *class <= span.class)
        .any(|class| {
            queues
                .range((class, 0)..=(class, span.deepest))
                .next()
                .is_some()
        })
}

impl Store for MemoryStore {
    type Error = Infallible;
    type Sealed = NothingSealed;

    fn contains(&mut self, key: Key) -> Result<bool, Infallible> {
        Ok(self.seen.contains(key))
    }

    fn look_ahead(&mut self, keys: impl Iterator<Item = Key>) -> Result<(), Infallible> {
        // Each key lies somewhere else in memory; whoever asks next finds it near.
        self.seen.prefetch(keys);
        Ok(())
    }

    fn add(&mut self, key: Key) -> Result<(), Infallible> {
        self.seen.add(key);
        Ok(())
    }

    fn push(&mut self, entry: QueueEntry) -> Result<(), Infallible> {
        let queue = match self.queues.entry(entry.key.host()) {
            Slot::Occupied(queue) => queue.into_mut(),
            Slot::Vacant(place) => {
                self.hosts.insert(*place.key());
                place.insert(BTreeMap::new())
            }
        };
        queue
            .entry((entry.class, entry.depth))
            .or_default()
            .push_back(entry);
        Ok(())
    }

    fn take(
        &mut self,
        host: HostId,
        span: Span,
        most: usize,
        into: &mut VecDeque<QueueEntry>,
    ) -> Result<(), Infallible> {
        let Some(queue) = self.queues.get_mut(&host) else {
            return Ok(());
        };
        let mut room = most;
        let range = (span.class, 0)..=(span.class, span.deepest);
        while room > 0
            && let Some((key, level)) = queue.range_mut(range.clone()).next()
        {
            let count = level.len().min(room);
            // A queue grows to four at once, and most hosts have one.
            into.reserve_exact(count);
            into.extend(level.drain(..count));
            room -= count;
            if level.is_empty() {
                let key = *key;
                queue.remove(&key);
            }
        }
        Ok(())
    }

    fn waiting(&mut self, host: HostId, span: Span) -> Result<Waiting, Infallible> {
        let Some(queue) = self.queues.get(&host) else {
            return Ok(Waiting::Nothing);
        };
        Ok(if has_ready(queue, span) {
            Waiting::Ready
        } else if has_ready(
            queue,
            Span {
                deepest: u32::MAX,
                ..span
            },
        ) {
            Waiting::Deeper
        } else {
            Waiting::Nothing
        })
    }

    fn settle(&mut self, _entry: &QueueEntry) -> Result<(), Infallible> {
        Ok(())
    }

    fn next_host(
        &mut self,
        span: Span,
        is_active: &dyn Fn(HostId) -> bool,
    ) -> Result<Option<HostId>, Infallible> {
        let from = self.cursor.map_or(Bound::Unbounded, Bound::Excluded);
        let after = self.hosts.range((from, Bound::Unbounded));
        let before = self.hosts.range(..=self.cursor.unwrap_or(HostId(0)));
        let mut empty = Vec::new();
        let found = after.chain(before).copied().find(|host| {
            let queue = self.queues.get(host).filter(|queue| !queue.is_empty());
            if queue.is_none() {
                empty.push(*host);
            }
            !is_active(*host) && queue.is_some_and(|queue| has_ready(queue, span))
        });
        for host in empty {
            self.hosts.remove(&host);
            self.queues.remove(&host);
        }
        self.cursor = found.or(self.cursor);
        Ok(found)
    }

    fn look_through(
        &self,
        most: usize,
        see: &mut dyn FnMut(&CrawlUrl),
    ) -> Result<bool, Infallible> {
        let levels = self.queues.values().flat_map(BTreeMap::values);
        let mut entries = levels.flatten();
        for entry in entries.by_ref().take(most) {
            see(&entry.url);
        }
        Ok(entries.next().is_none())
    }

    fn rest(&mut self, _host: HostId) {}

    fn load_lane(&self, host: HostId) -> Result<Option<LaneRow>, Infallible> {
        Ok(self.lanes.get(&host).cloned())
    }

    fn save_lane(&mut self, host: HostId, row: LaneRow) -> Result<(), Infallible> {
        self.lanes.insert(host, row);
        Ok(())
    }

    fn seal(&mut self, _notes: Vec<(&'static str, Vec<u8>)>) -> Result<NothingSealed, Infallible> {
        Ok(NothingSealed)
    }

    fn committed(&mut self) {}

    fn open_size(&self) -> usize {
        0
    }
}
