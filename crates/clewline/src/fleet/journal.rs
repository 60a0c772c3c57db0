//! The store of a member: the store on disk, and a journal of what changes in each shard.
//!
//! Owns the open batch of the fleet. The store below is a cache of the logs of the shards that the
//! member holds, so it may become durable sooner or later than the batch counts. It refuses to know
//! leases and the bus: whoever commits a batch is handed in. Invariants: only what is owned
//! changes; a shard that was forgotten or is taken over leaves nothing behind.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use clewline_core::fleet::{Mail, ShardId, Shards};
use clewline_core::frontier::{LaneRow, Origin, QueueEntry, Sealed, Span, Store, Waiting};
use clewline_core::key::{HostId, Key};
use clewline_core::robots::Robots;
use clewline_core::url::CrawlUrl;

use super::batch::{FleetBatch, ShardMap};
use super::committer::{CommitFailure, Committer};
use super::sent::SentKeys;
use super::shard_log::ShardLog;
use crate::store::{DiskStore, StoreError, moved_rows};

/// A batch that is on its way, for the engine and for whoever commits it.
pub(crate) type SharedBatch = Arc<Mutex<FleetBatch>>;

/// The store of a member.
pub(crate) struct JournalStore {
    inner: DiskStore,
    map: ShardMap,
    own: Shards,
    open: FleetBatch,
    sent: SentKeys,
    committer: Arc<Mutex<Committer>>,
    /// The batch that was sealed last, until somebody takes it.
    sealed: Option<SharedBatch>,
}

impl JournalStore {
    pub(crate) fn new(inner: DiskStore, map: ShardMap, committer: Committer) -> Self {
        Self {
            inner,
            own: map.cut.clone(),
            map,
            open: FleetBatch::default(),
            sent: SentKeys::default(),
            committer: Arc::new(Mutex::new(committer)),
            sealed: None,
        }
    }

    /// Takes shards up from their logs; nothing else is known of them from then on. No batch may be
    /// on its way.
    pub(crate) fn import(&mut self, shards: Vec<(ShardId, ShardLog)>) -> Result<(), StoreError> {
        for (shard, log) in shards {
            let range = self.map.cut.hosts(shard);
            let keys = log.known.iter().map(|key| Ok(*key));
            let rows = moved_rows(&log.queued, &log.lanes);
            let about = log.known.len() as u64;
            self.inner
                .import_range(&range, (keys, about), rows.map(Ok))?;
            self.sent.forget(|key| self.map.shard_of(key) == shard);
            self.own.add(shard);
        }
        self.keep()
    }

    /// Makes everything durable that the store below holds: it is a cache, so nothing has to wait
    /// for the batch to count.
    pub(crate) fn keep(&mut self) -> Result<(), StoreError> {
        let mut sealed = self.inner.seal(Vec::new())?;
        sealed.commit(&[])?;
        self.inner.committed();
        Ok(())
    }

    /// Whether anything changed since the last seal.
    pub(crate) fn has_open_batch(&self) -> bool {
        !self.open.is_empty()
    }

    /// Whether the open batch has to count before a shard may be another's.
    pub(crate) fn has_open_part_of(&self, shard: ShardId) -> bool {
        self.open.has_part_of(shard)
    }

    /// Makes sure that a shard is part of the open batch.
    pub(crate) fn mark(&mut self, shard: ShardId) {
        self.open.delta(shard);
    }

    /// The batch that was sealed last, if nobody took it yet.
    pub(crate) const fn take_sealed(&mut self) -> Option<SharedBatch> {
        self.sealed.take()
    }

    fn owns(&self, key: Key) -> bool {
        self.own.owns(self.map.shard_of(key))
    }
}

/// A batch of a member on its way.
pub(crate) struct SealedJournal {
    batch: SharedBatch,
    committer: Arc<Mutex<Committer>>,
    inner: <DiskStore as Store>::Sealed,
    /// Whether the store below has it.
    is_kept: bool,
}

impl Sealed for SealedJournal {
    type Error = CommitFailure;

    /// The store below comes first. It is a cache, so it may hold what does not count in the end. A disk
    /// that is full after the fleet has counted a batch would have its logs written again, differently.
    fn commit(&mut self, offsets: &[(&'static str, u64)]) -> Result<(), CommitFailure> {
        if !self.is_kept {
            self.inner.commit(offsets)?;
            self.is_kept = true;
        }
        let mut committer = self
            .committer
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        committer.commit(&self.batch, offsets)
    }
}

impl Store for JournalStore {
    type Error = StoreError;
    type Sealed = SealedJournal;

    const IN_FLEET: bool = true;

    fn export(&mut self, mail: Mail) -> Result<(), StoreError> {
        self.open.send(mail, &self.map);
        Ok(())
    }

    fn forget(&mut self, shard: ShardId) -> Result<(), StoreError> {
        self.own.remove(shard);
        self.open.lose(shard, &self.map);
        self.open.lost.clear();
        self.inner.forget_range(&self.map.cut.hosts(shard))?;
        self.keep()
    }

    fn rename(&mut self, from: Key, entry: &QueueEntry) -> Result<(), StoreError> {
        let delta = self.open.delta(self.map.shard_of(from));
        delta.renamed.push(from);
        delta.queued.push(entry.clone());
        Ok(())
    }

    fn contains(&mut self, key: Key) -> Result<bool, StoreError> {
        if self.owns(key) {
            self.inner.contains(key)
        } else {
            Ok(self.sent.contains(key))
        }
    }

    fn look_ahead(&mut self, keys: impl Iterator<Item = Key>) -> Result<(), StoreError> {
        let (own, map) = (&self.own, &self.map);
        self.inner
            .look_ahead(keys.filter(|key| own.owns(map.shard_of(*key))))
    }

    fn add(&mut self, key: Key) -> Result<(), StoreError> {
        if !self.owns(key) {
            self.sent.add(key);
            return Ok(());
        }
        self.open.delta(self.map.shard_of(key)).known.push(key);
        self.inner.add(key)
    }

    fn push(&mut self, entry: QueueEntry) -> Result<(), StoreError> {
        let delta = self.open.delta(self.map.shard_of(entry.key));
        // A key that is queued need not be named twice.
        if delta.known.last() == Some(&entry.key) {
            delta.known.pop();
        }
        delta.queued.push(entry.clone());
        self.inner.push(entry)
    }

    fn take(
        &mut self,
        host: HostId,
        span: Span,
        most: usize,
        into: &mut VecDeque<QueueEntry>,
    ) -> Result<(), StoreError> {
        self.inner.take(host, span, most, into)
    }

    fn waiting(&mut self, host: HostId, span: Span) -> Result<Waiting, StoreError> {
        self.inner.waiting(host, span)
    }

    fn settle(&mut self, entry: &QueueEntry) -> Result<(), StoreError> {
        let delta = self.open.delta(self.map.shard_of(entry.key));
        delta.settled.push(entry.key);
        self.inner.settle(entry)
    }

    fn next_host(
        &mut self,
        span: Span,
        is_active: &dyn Fn(HostId) -> bool,
    ) -> Result<Option<HostId>, StoreError> {
        self.inner.next_host(span, is_active)
    }

    fn look_through(
        &self,
        most: usize,
        see: &mut dyn FnMut(&CrawlUrl),
    ) -> Result<bool, StoreError> {
        self.inner.look_through(most, see)
    }

    fn rest(&mut self, host: HostId) {
        self.inner.rest(host);
    }

    fn load_lane(&self, host: HostId) -> Result<Option<LaneRow>, StoreError> {
        self.inner.load_lane(host)
    }

    fn save_lane(&mut self, host: HostId, row: LaneRow) -> Result<(), StoreError> {
        let delta = self.open.delta(self.map.cut.of(host));
        delta.lanes.insert(host, row.clone());
        self.inner.save_lane(host, row)
    }

    fn load_robots(
        &self,
        host: HostId,
        origin: Origin,
    ) -> Result<Option<(Robots, u64)>, StoreError> {
        self.inner.load_robots(host, origin)
    }

    fn save_robots(
        &mut self,
        host: HostId,
        origin: Origin,
        robots: &Robots,
        until: u64,
    ) -> Result<(), StoreError> {
        self.inner.save_robots(host, origin, robots, until)
    }

    fn seal(&mut self, notes: Vec<(&'static str, Vec<u8>)>) -> Result<SealedJournal, StoreError> {
        let batch = Arc::new(Mutex::new(std::mem::take(&mut self.open)));
        self.sealed = Some(Arc::clone(&batch));
        Ok(SealedJournal {
            batch,
            committer: Arc::clone(&self.committer),
            inner: self.inner.seal(notes)?,
            is_kept: false,
        })
    }

    fn committed(&mut self) {
        self.inner.committed();
    }

    fn open_size(&self) -> usize {
        self.open.size()
    }
}
