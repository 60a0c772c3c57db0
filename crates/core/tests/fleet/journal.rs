//! A store of a member: its shards in memory, and a journal of what changed in each.
//!
//! Owns the open batch. What a page of one shard added to another of the same member is remembered
//! with its source: if the other is lost before the batch counts, it becomes mail.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::convert::Infallible;

use clewline_core::fleet::{Mail, ShardId, Shards};
use clewline_core::frontier::{
    LaneRow, MemoryStore, QueueEntry, Sealed, ShardCounts, Span, Store, Waiting,
};
use clewline_core::key::{HostId, Key, Keyer};
use clewline_core::url::CrawlUrl;

/// One change of a shard.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Add(Key),
    Push(Box<QueueEntry>),
    Settle(Key),
    Lane(HostId, LaneRow),
}

/// What all deltas of a shard make together.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShardLog {
    pub(crate) known: HashSet<Key>,
    pub(crate) queue: Vec<QueueEntry>,
    pub(crate) lanes: BTreeMap<HostId, LaneRow>,
    pub(crate) counts: ShardCounts,
}

impl ShardLog {
    pub(crate) fn apply(&mut self, delta: &Delta) {
        for change in &delta.changes {
            match change {
                Change::Add(key) => {
                    self.known.insert(*key);
                }
                Change::Push(entry) => self.queue.push((**entry).clone()),
                Change::Settle(key) => {
                    let at = self.queue.iter().position(|entry| entry.key == *key);
                    self.queue.remove(at.expect("what is settled was queued"));
                }
                Change::Lane(host, row) => {
                    self.lanes.insert(*host, row.clone());
                }
            }
        }
        self.counts = delta.counts;
        assert_eq!(
            self.counts.todo(),
            self.queue.len() as u64,
            "admitted = settled + todo in every commit"
        );
    }
}

/// What one batch changed in one shard.
#[derive(Debug, Clone, Default)]
pub(crate) struct Delta {
    pub(crate) changes: Vec<Change>,
    pub(crate) counts: ShardCounts,
}

/// Everything between two seals.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    pub(crate) deltas: BTreeMap<ShardId, Delta>,
    /// Mail and the shard whose page it came from, if it came from one.
    pub(crate) mail: Vec<(Option<ShardId>, Mail)>,
}

impl Batch {
    /// Whether anything of it is about a shard, or may be: mail of which nobody knows on whose behalf
    /// it is sent.
    pub(crate) fn has_part_of(&self, shard: ShardId) -> bool {
        let mut mail = self.mail.iter();
        self.deltas.contains_key(&shard)
            || mail.any(|(from, _)| from.is_none_or(|from| from == shard))
    }

    /// A shard is lost, and its part of the batch with it. What pages of other shards added to it
    /// would be lost as well, so that goes to its owner by mail.
    pub(crate) fn lose(&mut self, shard: ShardId, source: impl Fn(&QueueEntry) -> Option<ShardId>) {
        self.mail.retain(|(from, _)| *from != Some(shard));
        let Some(delta) = self.deltas.remove(&shard) else {
            return;
        };
        for change in delta.changes {
            if let Change::Push(entry) = change
                && source(&entry).is_some_and(|from| from != shard)
            {
                self.mail.push((source(&entry), Mail::Url(entry)));
            }
        }
    }
}

/// A sealed batch; the bus commits it, not the store.
#[derive(Debug)]
pub(crate) struct SealedBatch(pub(crate) Batch);

impl Sealed for SealedBatch {
    type Error = Infallible;

    fn commit(&mut self, _offsets: &[(&'static str, u64)]) -> Result<(), Infallible> {
        Ok(())
    }
}

/// The store of a member.
#[derive(Debug)]
pub(crate) struct JournalStore {
    cut: Shards,
    keyer: Keyer,
    own: BTreeMap<ShardId, MemoryStore>,
    /// Keys of foreign shards that were sent there.
    sent: HashMap<ShardId, HashSet<Key>>,
    open: Batch,
    /// What the open batch sends, by the shard it comes from.
    sending: HashSet<(Option<ShardId>, Key)>,
    cursor: usize,
}

impl JournalStore {
    pub(crate) fn new(bits: u32, keyer: Keyer) -> Self {
        Self {
            cut: Shards::new(bits),
            keyer,
            own: BTreeMap::new(),
            sent: HashMap::new(),
            open: Batch::default(),
            sending: HashSet::new(),
            cursor: 0,
        }
    }

    /// Takes up a shard from its log; nothing else is known of it from then on.
    pub(crate) fn import(&mut self, shard: ShardId, log: &ShardLog) {
        let mut store = MemoryStore::default();
        let Ok(()) = log.known.iter().try_for_each(|key| store.add(*key));
        for entry in &log.queue {
            let Ok(()) = store.push(entry.clone());
        }
        for (host, row) in &log.lanes {
            let Ok(()) = store.save_lane(*host, row.clone());
        }
        self.sent.remove(&shard);
        self.own.insert(shard, store);
    }

    /// The shard of the page on which a URL was found.
    pub(crate) fn source(&self, entry: &QueueEntry) -> Option<ShardId> {
        let page = entry.found_on.as_ref()?;
        Some(self.cut.of(self.keyer.key(page).host()))
    }

    /// Whether the open batch has to count before a shard may be another's.
    pub(crate) fn has_open_part_of(&self, shard: ShardId) -> bool {
        self.open.has_part_of(shard)
    }

    /// Whether anything changed since the last seal.
    pub(crate) fn has_open_batch(&self) -> bool {
        !self.open.deltas.is_empty() || !self.open.mail.is_empty()
    }

    /// Makes sure that a shard is part of the open batch.
    pub(crate) fn mark(&mut self, shard: ShardId) {
        self.open.deltas.entry(shard).or_default();
    }

    fn note(&mut self, host: HostId, change: Change) {
        let shard = self.cut.of(host);
        assert!(self.own.contains_key(&shard), "only what is owned changes");
        let delta = self.open.deltas.entry(shard).or_default();
        delta.changes.push(change);
    }

    fn store(&mut self, host: HostId) -> &mut MemoryStore {
        let shard = self.cut.of(host);
        self.own.get_mut(&shard).expect("the shard is owned")
    }
}

impl Store for JournalStore {
    type Error = Infallible;
    type Sealed = SealedBatch;

    const IN_FLEET: bool = true;

    fn export(&mut self, mail: Mail) -> Result<(), Infallible> {
        let from = match &mail {
            Mail::Url(entry) => {
                let from = self.source(entry);
                let again = entry.chain.as_ref().is_some_and(|chain| chain.revisited);
                if !self.sending.insert((from, entry.key)) && !again {
                    return Ok(());
                }
                from
            }
            Mail::RobotsFetch(_) | Mail::RobotsAnswer { .. } => None,
        };
        self.open.mail.push((from, mail));
        Ok(())
    }

    fn forget(&mut self, shard: ShardId) -> Result<(), Infallible> {
        self.own.remove(&shard);
        self.sent.remove(&shard);
        self.sending.retain(|(from, _)| *from != Some(shard));
        let (cut, keyer) = (&self.cut, &self.keyer);
        self.open.lose(shard, |entry| {
            let page = entry.found_on.as_ref()?;
            Some(cut.of(keyer.key(page).host()))
        });
        Ok(())
    }

    fn contains(&mut self, key: Key) -> Result<bool, Infallible> {
        let shard = self.cut.of(key.host());
        match self.own.get_mut(&shard) {
            Some(store) => store.contains(key),
            None => Ok(self
                .sent
                .get(&shard)
                .is_some_and(|sent| sent.contains(&key))),
        }
    }

    fn look_ahead(&mut self, _keys: impl Iterator<Item = Key>) -> Result<(), Infallible> {
        Ok(())
    }

    fn add(&mut self, key: Key) -> Result<(), Infallible> {
        let shard = self.cut.of(key.host());
        if self.own.contains_key(&shard) {
            self.note(key.host(), Change::Add(key));
            return self.store(key.host()).add(key);
        }
        self.sent.entry(shard).or_default().insert(key);
        Ok(())
    }

    fn push(&mut self, entry: QueueEntry) -> Result<(), Infallible> {
        let host = entry.key.host();
        self.note(host, Change::Push(Box::new(entry.clone())));
        self.store(host).push(entry)
    }

    fn take(
        &mut self,
        host: HostId,
        span: Span,
        most: usize,
        into: &mut VecDeque<QueueEntry>,
    ) -> Result<(), Infallible> {
        self.store(host).take(host, span, most, into)
    }

    fn waiting(&mut self, host: HostId, span: Span) -> Result<Waiting, Infallible> {
        self.store(host).waiting(host, span)
    }

    fn settle(&mut self, entry: &QueueEntry) -> Result<(), Infallible> {
        self.note(entry.key.host(), Change::Settle(entry.key));
        Ok(())
    }

    fn next_host(
        &mut self,
        span: Span,
        is_active: &dyn Fn(HostId) -> bool,
    ) -> Result<Option<HostId>, Infallible> {
        let count = self.own.len();
        for step in 0..count {
            let at = (self.cursor + step) % count;
            let store = self.own.values_mut().nth(at).expect("it is one of them");
            if let Ok(Some(host)) = store.next_host(span, is_active) {
                self.cursor = at;
                return Ok(Some(host));
            }
        }
        Ok(None)
    }

    fn look_through(
        &self,
        most: usize,
        see: &mut dyn FnMut(&CrawlUrl),
    ) -> Result<bool, Infallible> {
        let mut left = most;
        for store in self.own.values() {
            let mut count = 0;
            let seen_all = store.look_through(left, &mut |url| {
                count += 1;
                see(url);
            })?;
            left -= count;
            if !seen_all {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn rest(&mut self, _host: HostId) {}

    fn load_lane(&self, host: HostId) -> Result<Option<LaneRow>, Infallible> {
        let store = self.own.get(&self.cut.of(host));
        store.expect("the shard is owned").load_lane(host)
    }

    fn save_lane(&mut self, host: HostId, row: LaneRow) -> Result<(), Infallible> {
        self.note(host, Change::Lane(host, row.clone()));
        self.store(host).save_lane(host, row)
    }

    fn seal(&mut self, _notes: Vec<(&'static str, Vec<u8>)>) -> Result<SealedBatch, Infallible> {
        self.sending.clear();
        Ok(SealedBatch(std::mem::take(&mut self.open)))
    }

    fn committed(&mut self) {}

    fn open_size(&self) -> usize {
        let changes = self.open.deltas.values().map(|delta| delta.changes.len());
        changes.sum::<usize>() + self.open.mail.len()
    }
}
