//! The database under the store: where its keyspaces are opened, read and written.
//!
//! Owns the storage engine. A batch of changes becomes durable at once or not at all, and stamps
//! every part with its number: the engine cuts a damaged journal and keeps the tables that were
//! written since, so only parts with the same stamp are of the same commit. After a write error
//! the engine is closed and opened again before the next try, because it does not accept writes
//! any more. A database that is new takes over a hundred syncs to make: that is done on a thread of
//! its own while the first request is on its way, and until then nothing is in it.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};
use std::thread::{self, JoinHandle};

use clewline_keyset::KeysError;
use fjall::compaction::Leveled;
use fjall::config::{BlockSizePolicy, CompressionPolicy, PartitioningPolicy};
use fjall::{CompressionType, Keyspace, KeyspaceCreateOptions, PersistMode};
use thiserror::Error;

use crate::descriptors;
use crate::durable;
use crate::failpoint::{Point, pass, small_tables, watch};
use crate::memory::MemoryPlan;

/// Bytes of journals from which the parts that hold them back are written out; the least that
/// the engine takes. All of it is read over again on start.
const JOURNALS: u64 = 64 * 1024 * 1024;

/// Bytes of a table. The first level of tables that do not overlap has four times as much and
/// is read over with every few buffers that are written out: small tables make that short, so
/// that no buffers gather in memory meanwhile.
const TABLE: u64 = 16 * 1024 * 1024;

/// The least and the most that a buffer for writes takes.
const SMALLEST_BUFFER: u64 = 512 * 1024;
const LARGEST_BUFFER: u64 = 64 * 1024 * 1024;

/// What can go wrong with the state of a crawl.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It cannot be opened.
    #[error("the state in {} cannot be opened: {}", path.display(), plain(source))]
    Open {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: Box<fjall::Error>,
    },
    /// It cannot be read.
    #[error("the state in {} cannot be read: {}", path.display(), plain(source))]
    Read {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: Box<fjall::Error>,
    },
    /// It cannot be written.
    #[error("the state cannot be written: {}", plain(.0))]
    Write(#[source] Box<fjall::Error>),
    /// The storage engine broke down over it, which only damage can be the reason for.
    #[error("the state in {} is damaged: the storage engine broke down over it", .0.display())]
    Broken(PathBuf),
    /// A part of it is not there.
    #[error("the state in {} is damaged: a part of it is missing", .0.display())]
    Incomplete(PathBuf),
    /// It has a part that is not kept there any more.
    #[error(
        "the state in {} was made by an earlier version of clewline: finish the crawl with that \
         version, or begin anew with --overwrite",
        .0.display()
    )]
    Earlier(PathBuf),
    /// Its format is not known yet.
    #[error("the state in {} was made by a later version of clewline: go on with that version", .0.display())]
    Later(PathBuf),
    /// Its parts are not of the same commit.
    #[error("the state in {} is damaged: its parts are of different commits", .0.display())]
    Mixed(PathBuf),
    /// It was read, but makes no sense.
    #[error("the state{} is damaged: {what}", named(path.as_deref()))]
    Damaged {
        /// What makes no sense.
        what: &'static str,
        /// The folder or the file, where it is known.
        path: Option<PathBuf>,
    },
}

impl StoreError {
    /// Something was read that makes no sense.
    pub(crate) const fn damaged(what: &'static str) -> Self {
        Self::Damaged { what, path: None }
    }

    /// Whether what is on disk is to blame, and not the room on it or the right to read it.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Self::Open { source, .. } | Self::Read { source, .. } => {
                !matches!(**source, fjall::Error::Locked | fjall::Error::Poisoned)
                    && io_cause(source).is_none_or(|error| is_damage(error.kind()))
            }
            Self::Write(_) | Self::Later(_) => false,
            Self::Broken(_)
            | Self::Incomplete(_)
            | Self::Earlier(_)
            | Self::Mixed(_)
            | Self::Damaged { .. } => true,
        }
    }

    /// The same, with the place of the damage if it has none yet.
    pub(super) fn within(self, folder: &Path) -> Self {
        match self {
            Self::Damaged { what, path: None } => Self::Damaged {
                what,
                path: Some(folder.into()),
            },
            other => other,
        }
    }
}

impl From<KeysError> for StoreError {
    fn from(error: KeysError) -> Self {
        match error {
            KeysError::Damaged { what, path } => Self::Damaged { what, path },
            KeysError::Earlier(path) => Self::Earlier(path),
            KeysError::Later(path) => Self::Later(path),
            KeysError::Read { path, source } => Self::Read {
                path,
                source: Box::new(source.into()),
            },
            KeysError::Write(source) => Self::Write(Box::new(source.into())),
            other => Self::Write(Box::new(io::Error::other(other).into())),
        }
    }
}

fn named(path: Option<&Path>) -> String {
    path.map(|path| format!(" in {}", path.display()))
        .unwrap_or_default()
}

/// What the storage engine says, without its own names for things.
fn plain(error: &fjall::Error) -> String {
    if let Some(error) = io_cause(error) {
        return match error.kind() {
            std::io::ErrorKind::NotFound => "one of its files is missing".to_owned(),
            std::io::ErrorKind::UnexpectedEof => "one of its files is too short".to_owned(),
            _ => error.to_string(),
        };
    }
    match error {
        fjall::Error::Locked => "another process works with it",
        fjall::Error::Poisoned => "a write before it failed",
        _ => "one of its files is damaged",
    }
    .to_owned()
}

/// The system's own error at the bottom of one of the storage engine's.
fn io_cause(error: &fjall::Error) -> Option<&std::io::Error> {
    let first: &(dyn std::error::Error + 'static) = error;
    let mut causes = std::iter::successors(Some(first), |error| error.source());
    causes.find_map(|error| error.downcast_ref())
}

/// Whether a file that can't be read is a damaged one.
const fn is_damage(kind: std::io::ErrorKind) -> bool {
    use std::io::ErrorKind::{InvalidData, NotFound, UnexpectedEof};
    matches!(kind, InvalidData | NotFound | UnexpectedEof)
}

/// The parts of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Space {
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

impl Space {
    pub(super) const ALL: [Self; 5] = [
        Self::Queue,
        Self::Progress,
        Self::Lanes,
        Self::Robots,
        Self::Meta,
    ];
}

/// One change: a value, or its removal.
#[derive(Debug)]
pub(super) struct StoreChange {
    pub(super) space: Space,
    pub(super) key: Vec<u8>,
    pub(super) value: Option<Vec<u8>>,
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
        let existed = is_there(path);
        let database = fjall::Database::builder(path)
            .cache_size(plan.cache())
            .max_journaling_size(JOURNALS)
            .worker_threads(1)
            .max_cached_files(Some(descriptors::tables()))
            .open()
            .map_err(at)?;
        // The engine makes what is missing, and would go on with a part of what is known.
        if existed && !SPACES.iter().all(|name| database.keyspace_exists(name)) {
            return Err(StoreError::Incomplete(path.into()));
        }
        if database.keyspace_exists(EARLIER) {
            return Err(StoreError::Earlier(path.into()));
        }
        watch(Point::InFlush, {
            let database = database.clone();
            move || database.outstanding_flushes() > 0
        });
        watch(Point::InCompaction, {
            let database = database.clone();
            move || database.active_compactions() > 0
        });
        let space = |name: &str, weight: Weight, options: KeyspaceCreateOptions| {
            // One index and one filter for a whole table would be megabytes to be read, and to
            // be thrown out of the cache again, for one question. Those of the first level are
            // small, and stay in memory.
            let tables = Leveled::default().with_table_target_size(TABLE);
            let options = options
                .compaction_strategy(Arc::new(tables))
                .index_block_partitioning_policy(PartitioningPolicy::new([false, true]))
                .filter_block_partitioning_policy(PartitioningPolicy::new([false, true]))
                .max_memtable_size(write_buffer(plan, weight));
            database.keyspace(name, || options).map_err(at)
        };
        let usual = KeyspaceCreateOptions::default;
        let [queue, progress, lanes, robots, meta] = SPACES;
        let handles = Self {
            queue: space(queue, Weight::Large, queue_options())?,
            progress: space(progress, Weight::Small, usual())?,
            lanes: space(lanes, Weight::Small, usual())?,
            robots: space(robots, Weight::Small, usual())?,
            meta: space(meta, Weight::Small, usual())?,
            database,
        };
        // The engine syncs what it puts into these folders, but not their own names.
        durable::sync_folder(&path.join(PARTS)).map_err(|error| at(error.into()))?;
        Ok(handles)
    }

    fn space(&self, space: Space) -> &Keyspace {
        match space {
            Space::Queue => &self.queue,
            Space::Progress => &self.progress,
            Space::Lanes => &self.lanes,
            Space::Robots => &self.robots,
            Space::Meta => &self.meta,
        }
    }

    /// The number of the last write, which every part must agree on.
    fn stamp(&self, path: &Path) -> Result<u64, StoreError> {
        let stamp_of = |space: &Keyspace| -> Result<u64, StoreError> {
            let bytes = space.get(STAMP).map_err(|error| StoreError::Read {
                path: path.into(),
                source: Box::new(error),
            })?;
            let stamp = bytes.map(|bytes| <[u8; 8]>::try_from(&*bytes));
            let stamp = stamp.transpose().ok().flatten();
            Ok(stamp.map_or(0, u64::from_be_bytes))
        };
        let stamp = stamp_of(&self.meta)?;
        let mut agree = true;
        for space in self.all() {
            agree &= stamp_of(space)? == stamp;
        }
        if agree {
            Ok(stamp)
        } else {
            Err(StoreError::Mixed(path.into()))
        }
    }

    const fn all(&self) -> [&Keyspace; SPACES.len()] {
        [
            &self.queue,
            &self.progress,
            &self.lanes,
            &self.robots,
            &self.meta,
        ]
    }

    fn write(&self, changes: &[StoreChange], stamp: u64) -> fjall::Result<()> {
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
        for space in self.all() {
            batch.insert(space, STAMP, stamp.to_be_bytes());
        }
        pass(Point::BeforeCommit);
        batch.commit()
    }
}

/// Damage that the storage engine did not expect makes it panic; that is damage, and no crash.
fn guarded<T>(path: &Path, act: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|_| Err(StoreError::Broken(path.into())))
}

/// How much of all writes goes to a part.
#[derive(Debug, Clone, Copy)]
pub(super) enum Weight {
    Large,
    Small,
}

/// What is written to a part before it is put into a table. Two parts are large, with the keys,
/// and four small; each has a buffer that fills while another is written out.
pub(super) fn write_buffer(plan: MemoryPlan, weight: Weight) -> u64 {
    let bytes = match weight {
        Weight::Large => plan.write_buffers() / 6,
        Weight::Small => plan.write_buffers() / 24,
    };
    small_tables().unwrap_or(bytes.clamp(SMALLEST_BUFFER, LARGEST_BUFFER))
}

/// The names of the parts.
const SPACES: [&str; 5] = ["queue", "progress", "lanes", "robots", "meta"];

/// A part that earlier versions had.
const EARLIER: &str = "seen";

/// The key of the stamp in every part, behind all others.
const STAMP: [u8; 32] = [0xff; 32];

/// The folder in which the engine keeps them.
const PARTS: &str = "keyspaces";

/// The engine's own mark of a database, which it writes last.
const MARK: &str = "version";

/// Whether a database was made there.
pub(super) fn is_there(path: &Path) -> bool {
    path.join(MARK).exists()
}

/// Rows are asked for where they are known to be. Rows of one host lie together and are much
/// alike, so that larger blocks take less room.
fn queue_options() -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        .data_block_size_policy(BlockSizePolicy::all(16 * 1024))
        .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
        .expect_point_read_hits(true)
}

/// Whether the storage engine can be asked.
enum Standing {
    /// It makes a new database.
    Making(JoinHandle<Result<Handles, StoreError>>),
    Open(Handles),
    Closed,
}

/// The database, shared by the engine, which reads, and the log thread, which writes.
pub(super) struct Database {
    path: PathBuf,
    plan: MemoryPlan,
    /// The number of the last write that was tried.
    stamp: AtomicU64,
    standing: RwLock<Standing>,
}

impl Database {
    /// Opens a database, or begins to make it.
    pub(super) fn open(path: &Path, plan: MemoryPlan) -> Result<Self, StoreError> {
        let (standing, stamp) = if is_there(path) {
            let (handles, stamp) = guarded(path, || {
                let handles = Handles::open(path, plan)?;
                let stamp = handles.stamp(path)?;
                Ok((handles, stamp))
            })?;
            (Standing::Open(handles), stamp)
        } else {
            (begin_to_make(path, plan)?, 0)
        };
        Ok(Self {
            path: path.into(),
            plan,
            stamp: AtomicU64::new(stamp),
            standing: RwLock::new(standing),
        })
    }

    /// Waits for a database that is being made.
    pub(super) fn finish_making(&self) -> Result<(), StoreError> {
        if !matches!(*self.guard(), Standing::Making(_)) {
            return Ok(());
        }
        let standing = self.standing.write();
        let mut standing = standing.unwrap_or_else(PoisonError::into_inner);
        if let Standing::Making(maker) = std::mem::replace(&mut *standing, Standing::Closed) {
            let broken = |_| Err(StoreError::Broken(self.path.clone()));
            *standing = Standing::Open(maker.join().unwrap_or_else(broken)?);
            pass(Point::NewStore);
        }
        Ok(())
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

    /// Shows all rows of a part in their order, until the answer is no.
    pub(super) fn scan(
        &self,
        space: Space,
        each: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), StoreError> {
        self.scan_between(space, &[], &STAMP, each)
    }

    /// The same for the rows at or behind `from`, and before `to`.
    pub(super) fn scan_between(
        &self,
        space: Space,
        from: &[u8],
        to: &[u8],
        mut each: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), StoreError> {
        self.read(|handles| {
            for guard in handles.space(space).range(from..to) {
                let (key, value) = guard.into_inner()?;
                if !each(&key, &value) {
                    break;
                }
            }
            Ok(())
        })
    }

    /// What its parts take on disk, with so many bytes of keys beside them.
    pub(super) fn disk_use(&self, keys: u64) -> Result<DiskUse, StoreError> {
        self.read(|handles| {
            let rest = [&handles.lanes, &handles.robots, &handles.meta];
            Ok(DiskUse {
                keys,
                queue: handles.queue.disk_space() + handles.progress.disk_space(),
                rest: rest.iter().map(|space| space.disk_space()).sum(),
                journals: handles.database.journal_disk_space()?,
            })
        })
    }

    /// Reads; the default of an answer stands for "there is nothing".
    fn read<T: Default>(
        &self,
        act: impl FnOnce(&Handles) -> fjall::Result<T>,
    ) -> Result<T, StoreError> {
        let failed = |error| StoreError::Read {
            path: self.path.clone(),
            source: Box::new(error),
        };
        match &*self.guard() {
            Standing::Making(_) => Ok(T::default()),
            Standing::Open(handles) => guarded(&self.path, || act(handles).map_err(failed)),
            Standing::Closed => Err(failed(fjall::Error::Poisoned)),
        }
    }

    fn guard(&self) -> RwLockReadGuard<'_, Standing> {
        self.standing.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes all changes durable, or none. Whoever sealed them waited for the database.
    pub(super) fn write(&self, changes: &[StoreChange]) -> Result<(), StoreError> {
        let stamp = self.stamp.fetch_add(1, Ordering::Relaxed) + 1;
        self.change(|handles| handles.write(changes, stamp))
    }

    fn change(&self, act: impl FnOnce(&Handles) -> fjall::Result<()>) -> Result<(), StoreError> {
        let failed = |error| StoreError::Write(Box::new(error));
        let result = match &*self.guard() {
            Standing::Open(handles) => guarded(&self.path, || act(handles).map_err(failed)),
            Standing::Making(_) | Standing::Closed => Err(failed(fjall::Error::Poisoned)),
        };
        if matches!(result, Err(StoreError::Write(_))) {
            guarded(&self.path, || self.reopen())?;
        }
        result
    }

    /// After a failed write the engine refuses to write: it is closed and recovered.
    fn reopen(&self) -> Result<(), StoreError> {
        let standing = self.standing.write();
        let mut standing = standing.unwrap_or_else(PoisonError::into_inner);
        *standing = Standing::Closed;
        *standing = Standing::Open(Handles::open(&self.path, self.plan)?);
        Ok(())
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let standing = self.standing.get_mut();
        let standing = standing.unwrap_or_else(PoisonError::into_inner);
        // Whoever closes the folder must find nobody at work in it.
        let handles = match std::mem::replace(standing, Standing::Closed) {
            Standing::Making(maker) => maker.join().ok().and_then(Result::ok),
            Standing::Open(handles) => Some(handles),
            Standing::Closed => None,
        };
        // An engine that broke down may do so once more on its way out, and nobody asks it.
        catch_unwind(AssertUnwindSafe(|| drop(handles))).ok();
    }
}

/// Makes a database on a thread of its own. That its folder can be made is seen at once.
fn begin_to_make(path: &Path, plan: MemoryPlan) -> Result<Standing, StoreError> {
    let failed = |error: std::io::Error| StoreError::Open {
        path: path.into(),
        source: Box::new(error.into()),
    };
    durable::make_folder(path).map_err(failed)?;
    let place = path.to_owned();
    let maker = thread::Builder::new()
        .name("clewline-store".into())
        .spawn(move || guarded(&place, || Handles::open(&place, plan)));
    Ok(Standing::Making(maker.map_err(failed)?))
}
