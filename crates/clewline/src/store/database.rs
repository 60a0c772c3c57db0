//! The database under the store: where its keyspaces are opened, read and written.
//!
//! Owns the storage engine. A batch of changes becomes durable at once or not at all. After a
//! write error the engine is closed and opened again before the next try, because it does not
//! accept writes any more.

use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use fjall::config::BloomConstructionPolicy;
use fjall::config::{
    BlockSizePolicy, CompressionPolicy, FilterPolicy, FilterPolicyEntry, PartitioningPolicy,
};
use fjall::{CompressionType, Keyspace, KeyspaceCreateOptions, PersistMode};
use thiserror::Error;

/// Bytes of journals from which the parts that hold them back are written out; the least that
/// the engine takes. All of it is read over again on start.
const JOURNALS: u64 = 64 * 1024 * 1024;

/// What can go wrong with the state of a crawl.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It cannot be opened.
    #[error("the state in {} cannot be opened: {source}", path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: Box<fjall::Error>,
    },
    /// It cannot be read.
    #[error("the state cannot be read: {0}")]
    Read(#[source] Box<fjall::Error>),
    /// It cannot be written.
    #[error("the state cannot be written: {0}")]
    Write(#[source] Box<fjall::Error>),
    /// It was read, but makes no sense.
    #[error("the state is damaged: {0}")]
    Damaged(&'static str),
}

/// The parts of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    /// Keys that are known.
    Seen,
    /// Rows of entries by host, depth and batch.
    Queue,
    /// Which entries of a row are settled.
    Progress,
    /// What is kept of lanes.
    Lanes,
    /// robots.txt files by origin.
    Robots,
    /// Everything there is one of.
    Meta,
}

/// One change: a value, or its removal.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) space: Space,
    pub(super) key: Vec<u8>,
    pub(super) value: Option<Vec<u8>>,
}

/// What the database may take of the memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MemoryPlan {
    /// Keys met lately.
    pub(crate) hot: u64,
    /// Blocks read before.
    pub(crate) cache: u64,
    /// Writes not yet in tables.
    pub(crate) write_buffers: u64,
}

impl MemoryPlan {
    /// Shares out a number of bytes.
    pub(crate) const fn of(bytes: u64) -> Self {
        Self {
            hot: bytes / 8,
            cache: bytes / 8 * 3,
            write_buffers: bytes / 4,
        }
    }
}

/// Bytes on disk, by what they are for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// Keys that are known.
    pub keys: u64,
    /// Rows of the queues, and how far they got.
    pub queue: u64,
    /// Lanes, robots.txt files and what there is one of.
    pub rest: u64,
    /// Writes that are not in tables yet, or not known to be.
    pub journals: u64,
}

struct Handles {
    database: fjall::Database,
    seen: Keyspace,
    queue: Keyspace,
    progress: Keyspace,
    lanes: Keyspace,
    robots: Keyspace,
    meta: Keyspace,
}

impl Handles {
    fn open(path: &Path, plan: MemoryPlan) -> Result<Self, StoreError> {
        let at = |source| StoreError::Open {
            path: path.into(),
            source: Box::new(source),
        };
        let database = fjall::Database::builder(path)
            .cache_size(plan.cache)
            .max_journaling_size(JOURNALS)
            .worker_threads(1)
            .open()
            .map_err(at)?;
        let memtable = (plan.write_buffers / 4).clamp(1024 * 1024, 64 * 1024 * 1024);
        let space = |name: &str, options: KeyspaceCreateOptions| {
            // One index and one filter for a whole table would be megabytes to be read, and to
            // be thrown out of the cache again, for one question. Those of the first level are
            // small, and stay in memory.
            let options = options
                .index_block_partitioning_policy(PartitioningPolicy::new([false, true]))
                .filter_block_partitioning_policy(PartitioningPolicy::new([false, true]))
                .max_memtable_size(memtable);
            database.keyspace(name, || options).map_err(at)
        };
        let usual = KeyspaceCreateOptions::default;
        Ok(Self {
            seen: space("seen", seen_options())?,
            queue: space("queue", queue_options())?,
            progress: space("progress", usual())?,
            lanes: space("lanes", usual())?,
            robots: space("robots", usual())?,
            meta: space("meta", usual())?,
            database,
        })
    }

    fn space(&self, space: Space) -> &Keyspace {
        match space {
            Space::Seen => &self.seen,
            Space::Queue => &self.queue,
            Space::Progress => &self.progress,
            Space::Lanes => &self.lanes,
            Space::Robots => &self.robots,
            Space::Meta => &self.meta,
        }
    }

    fn write(&self, changes: &[Change]) -> fjall::Result<()> {
        let mut batch = self
            .database
            .batch()
            .durability(Some(PersistMode::SyncData));
        for change in changes {
            let space = self.space(change.space);
            match &change.value {
                Some(value) => batch.insert(space, change.key.as_slice(), value.as_slice()),
                None => batch.remove(space, change.key.as_slice()),
            }
        }
        batch.commit()
    }
}

/// Keys are hashes: they do not compress, and most questions are about keys that are new.
fn seen_options() -> KeyspaceCreateOptions {
    let bloom = FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(10.0));
    KeyspaceCreateOptions::default()
        .data_block_size_policy(BlockSizePolicy::all(4 * 1024))
        .data_block_compression_policy(CompressionPolicy::all(CompressionType::None))
        .filter_policy(FilterPolicy::all(bloom))
}

/// Rows are asked for where they are known to be. Rows of one host lie together and are much
/// alike, so that larger blocks take less room.
fn queue_options() -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        .data_block_size_policy(BlockSizePolicy::all(16 * 1024))
        .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
        .expect_point_read_hits(true)
}

/// The database, shared by the engine, which reads, and the log thread, which writes.
pub(super) struct Database {
    path: PathBuf,
    plan: MemoryPlan,
    handles: RwLock<Option<Handles>>,
}

impl Database {
    pub(super) fn open(path: &Path, plan: MemoryPlan) -> Result<Self, StoreError> {
        let handles = Handles::open(path, plan)?;
        Ok(Self {
            path: path.into(),
            plan,
            handles: RwLock::new(Some(handles)),
        })
    }

    pub(super) fn contains(&self, space: Space, key: &[u8]) -> Result<bool, StoreError> {
        self.read(|handles| handles.space(space).contains_key(key))
    }

    pub(super) fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.read(|handles| Ok(handles.space(space).get(key)?.map(|value| value.to_vec())))
    }

    /// The first key at or after `from`, and before `to`.
    pub(super) fn first(
        &self,
        space: Space,
        from: &[u8],
        to: &[u8],
    ) -> Result<Option<Vec<u8>>, StoreError> {
        self.read(|handles| {
            let mut range = handles.space(space).range(from..to);
            range
                .next()
                .map(|guard| guard.key().map(|key| key.to_vec()))
                .transpose()
        })
    }

    /// What its parts take on disk.
    pub(super) fn disk_use(&self) -> Result<DiskUse, StoreError> {
        self.read(|handles| {
            let rest = [&handles.lanes, &handles.robots, &handles.meta];
            Ok(DiskUse {
                keys: handles.seen.disk_space(),
                queue: handles.queue.disk_space() + handles.progress.disk_space(),
                rest: rest.iter().map(|space| space.disk_space()).sum(),
                journals: handles.database.journal_disk_space()?,
            })
        })
    }

    fn read<T>(&self, act: impl FnOnce(&Handles) -> fjall::Result<T>) -> Result<T, StoreError> {
        let guard = self.guard();
        let Some(handles) = guard.as_ref() else {
            return Err(StoreError::Read(Box::new(fjall::Error::Poisoned)));
        };
        act(handles).map_err(|error| StoreError::Read(Box::new(error)))
    }

    fn guard(&self) -> RwLockReadGuard<'_, Option<Handles>> {
        self.handles.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes all changes durable, or none.
    pub(super) fn write(&self, changes: &[Change]) -> Result<(), StoreError> {
        let result = match self.guard().as_ref() {
            Some(handles) => handles.write(changes),
            None => Err(fjall::Error::Poisoned),
        };
        let Err(error) = result else { return Ok(()) };
        self.reopen()?;
        Err(StoreError::Write(Box::new(error)))
    }

    /// After a failed write the engine refuses to write: it is closed and recovered.
    fn reopen(&self) -> Result<(), StoreError> {
        let mut guard = self.handles.write().unwrap_or_else(PoisonError::into_inner);
        *guard = None;
        *guard = Some(Handles::open(&self.path, self.plan)?);
        Ok(())
    }
}
