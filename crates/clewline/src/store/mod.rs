//! The store on disk: nothing a crawl knows is lost with the process.
//!
//! Owns the queues, the lanes' rows and the rest of the state, in batches, and the commit that
//! makes them durable together with the known keys (`clewline-keyset`). A batch is open while the
//! frontier works on it, then sealed, then durable; what is not durable yet is answered from
//! memory. It refuses to know when anything is due.

mod as_store;
mod database;
mod key_options;
pub(crate) mod packing;
mod queue;
mod range;
mod survey;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;

use clewline_core::frontier::{Class, KeyMap, LaneRow, Origin, QueueEntry, Sealed};
use clewline_core::key::{HostId, Keyer};
use clewline_core::robots::Robots;
use clewline_core::url::Scheme;
use clewline_keyset::{KeyRow, KeysOptions, KnownKeys, SavedKeys, SealedKeys};

use database::{Database, Space, StoreChange};
pub use database::{DiskUse, StoreError};
use packing::{PackedRow, Packer, unpack};
use queue::{HostQueue, KnownRow, ROW_ENTRIES, Rank, Rest, RowPosition, ToRead};
use range::MovedRanges;
pub(crate) use range::moved_rows;

use crate::durable;
use crate::memory::MemoryPlan;

/// The name under which the number of the last durable batch is kept.
const BATCH: &str = "batch";

/// Where the runs of keys are.
const KEYS: &str = "keys";

/// The prefix of the offsets of logs.
const OFFSET: &str = "offset.";

/// A row of which not every entry is settled.
#[derive(Debug)]
struct Row {
    host: HostId,
    place: RowPosition,
    settled: Vec<u8>,
    remaining: u32,
    changed: bool,
    /// It is in a batch that was sealed, so it is or will be on disk.
    sealed: bool,
}

impl Row {
    /// A row that lies on disk, as far as it was settled there.
    fn on_disk(host: HostId, place: RowPosition, settled: Option<Vec<u8>>) -> Self {
        Self {
            host,
            place,
            settled: settled.unwrap_or_default(),
            remaining: 0,
            changed: false,
            sealed: true,
        }
    }

    fn is_settled(&self, place: u32) -> bool {
        self.settled
            .get(place as usize / 8)
            .is_some_and(|byte| byte & (1 << (place % 8)) != 0)
    }

    fn settle(&mut self, place: u32) {
        let at = place as usize / 8;
        if self.settled.len() <= at {
            self.settled.resize(at + 1, 0);
        }
        if !self.is_settled(place) {
            self.settled[at] |= 1 << (place % 8);
            self.remaining -= 1;
            self.changed = true;
        }
    }
}

/// What was written since the last seal.
#[derive(Debug, Default)]
struct OpenBatch {
    rows: Vec<(u64, Packer)>,
    open_rows: KeyMap<HostId, Vec<usize>>,
    changed_rows: Vec<u64>,
    lanes: KeyMap<HostId, LaneRow>,
    robots: Vec<(Vec<u8>, Vec<u8>)>,
    entries: usize,
    moved: MovedRanges,
}

/// What is sealed and not durable yet.
#[derive(Debug)]
struct Waits {
    rows: Vec<(HostId, RowPosition)>,
    lanes: KeyMap<HostId, LaneRow>,
    robots: Vec<(Vec<u8>, Vec<u8>)>,
    moved: Vec<RangeInclusive<HostId>>,
}

/// The store on disk.
pub struct DiskStore {
    database: Arc<Database>,
    keyer: Keyer,
    keys: KnownKeys,
    batch: u64,
    open: OpenBatch,
    waits: VecDeque<Waits>,
    queues: KeyMap<HostId, HostQueue>,
    rows: KeyMap<u64, Row>,
    next_row: u64,
    cursor: u64,
    durable: u64,
    resting: VecDeque<(u64, HostId)>,
}

/// A batch on its way to the disk.
pub struct SealedBatch {
    database: Arc<Database>,
    changes: Vec<StoreChange>,
    keys: SealedKeys,
}

impl Sealed for SealedBatch {
    type Error = StoreError;

    fn commit(&mut self, offsets: &[(&'static str, u64)]) -> Result<(), StoreError> {
        let runs = self.keys.prepare()?;
        let own = self.changes.len();
        self.changes.extend(runs.map(StoreChange::from));
        for (name, offset) in offsets {
            self.changes.push(StoreChange {
                space: Space::Meta,
                key: format!("{OFFSET}{name}").into_bytes(),
                value: Some(offset.to_be_bytes().to_vec()),
            });
        }
        let written = self.database.write(&self.changes);
        self.changes.truncate(own);
        if written.is_ok() {
            self.keys.committed();
        }
        written
    }
}

impl From<KeyRow> for StoreChange {
    fn from(row: KeyRow) -> Self {
        Self {
            space: Space::Meta,
            key: row.name,
            value: row.value,
        }
    }
}

impl DiskStore {
    /// Opens the state in a folder, or makes it.
    pub(crate) fn open(path: &Path, keyer: Keyer, plan: MemoryPlan) -> Result<Self, StoreError> {
        let key_options = key_options::from_plan(plan);
        Self::open_parts(path, keyer, plan, &key_options).map_err(|error| error.within(path))
    }

    fn open_parts(
        path: &Path,
        keyer: Keyer,
        plan: MemoryPlan,
        key_options: &KeysOptions,
    ) -> Result<Self, StoreError> {
        let database = Arc::new(Database::open(path, plan)?);
        let batch = match database.get(Space::Meta, BATCH.as_bytes())? {
            Some(bytes) => number(&bytes)?,
            None => 0,
        };
        Ok(Self {
            keys: open_keys(&path.join(KEYS), &database, key_options)?,
            database,
            keyer,
            batch: batch + 1,
            open: OpenBatch::default(),
            waits: VecDeque::new(),
            queues: KeyMap::default(),
            rows: KeyMap::default(),
            next_row: 0,
            cursor: 0,
            durable: batch,
            resting: VecDeque::new(),
        })
    }

    /// Reads everything once: damage that lies where nobody has looked yet is told.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        for space in Space::ALL {
            self.database.scan(space, |_, _| true)?;
        }
        Ok(self.keys.check()?)
    }

    /// Whether a state was made there, whole or damaged.
    pub(crate) fn is_there(path: &Path) -> bool {
        database::is_there(path)
    }

    /// What its parts take on disk.
    pub fn disk_use(&self) -> Result<DiskUse, StoreError> {
        self.database.disk_use(self.keys.bytes())
    }

    /// Something that was sealed with a batch under a name.
    pub(crate) fn note(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.database.get(Space::Meta, name.as_bytes())
    }

    /// Where a log ended when the last batch became durable.
    pub(crate) fn offset(&self, log: &str) -> Result<Option<u64>, StoreError> {
        let bytes = self
            .database
            .get(Space::Meta, format!("{OFFSET}{log}").as_bytes())?;
        bytes.map(|bytes| number(&bytes)).transpose()
    }

    /// The logs end elsewhere than the last commit says, after a repair; a note about them goes.
    pub(crate) fn mend(
        &self,
        offsets: &[(&'static str, u64)],
        note: &'static str,
    ) -> Result<(), StoreError> {
        let mut changes = vec![StoreChange {
            space: Space::Meta,
            key: note.as_bytes().to_vec(),
            value: None,
        }];
        changes.extend(offsets.iter().map(|(name, offset)| StoreChange {
            space: Space::Meta,
            key: format!("{OFFSET}{name}").into_bytes(),
            value: Some(offset.to_be_bytes().to_vec()),
        }));
        self.database.write(&changes)
    }

    /// Begins a row of the open batch.
    fn begin_row(&mut self, host: HostId, rank: Rank) -> usize {
        let part = self.open.rows.len() as u32;
        let place = RowPosition {
            rank,
            batch: self.batch,
            part,
        };
        self.next_row += 1;
        let row = Row {
            host,
            place,
            settled: Vec::new(),
            remaining: 0,
            changed: false,
            sealed: false,
        };
        self.rows.insert(self.next_row, row);
        self.open.rows.push((self.next_row, Packer::default()));
        let index = self.open.rows.len() - 1;
        self.open.open_rows.entry(host).or_default().push(index);
        let number = self.next_row;
        let queue = self.queue(host);
        let rest = Rest::Here(VecDeque::new());
        queue.known.insert(place, KnownRow { row: number, rest });
        index
    }

    /// A row of the open batch that has room and of which something waits.
    fn row_with_room(&mut self, host: HostId, rank: Rank) -> usize {
        let candidates = self
            .open
            .open_rows
            .get(&host)
            .map_or(&[][..], Vec::as_slice);
        let found = candidates.iter().rev().copied().find(|index| {
            let (row, packer) = &self.open.rows[*index];
            let place = self.rows.get(row).map(|row| row.place);
            let is_waiting = place.is_some_and(|place| {
                self.queues
                    .get(&host)
                    .is_some_and(|queue| queue.known.contains_key(&place))
            });
            is_waiting
                && packer.count() < ROW_ENTRIES
                && place.is_some_and(|place| place.rank == rank)
        });
        found.unwrap_or_else(|| self.begin_row(host, rank))
    }

    /// Reads a row from disk and takes up to `most` of its entries that are not settled.
    fn read(
        &mut self,
        (host, place): (HostId, RowPosition),
        what: ToRead,
        most: usize,
        into: &mut VecDeque<QueueEntry>,
    ) -> Result<(), StoreError> {
        let key = place.key(host);
        let bytes = self.database.get(Space::Queue, &key)?;
        let bytes = bytes.ok_or(StoreError::damaged("a row of the queue is missing"))?;
        let (row, from) = match what {
            ToRead::Rest { row, from } => (row, from),
            ToRead::Whole => (self.begin_read_row(host, place)?, 0),
        };
        let state = self
            .rows
            .get_mut(&row)
            .expect("a row of which something waits is known");
        let (mut taken, mut waiting, mut next) = (0, 0, None);
        let packed = PackedRow {
            row,
            rank: place.rank,
        };
        let open = unpack(&bytes, packed, &self.keyer, |at| {
            if at < from || state.is_settled(at) {
                return false;
            }
            waiting += 1;
            let has_room = taken < most;
            taken += usize::from(has_room);
            if !has_room && next.is_none() {
                next = Some(at);
            }
            has_room
        })?;
        if what == ToRead::Whole {
            state.remaining = waiting;
        }
        into.extend(open);
        self.queue(host).keep_rest(place, row, next);
        Ok(())
    }

    /// A row on disk that nobody has taken of in this run.
    fn begin_read_row(&mut self, host: HostId, place: RowPosition) -> Result<u64, StoreError> {
        let settled = self.database.get(Space::Progress, &place.key(host))?;
        self.next_row += 1;
        let row = Row::on_disk(host, place, settled);
        self.rows.insert(self.next_row, row);
        Ok(self.next_row)
    }

    fn queue(&mut self, host: HostId) -> &mut HostQueue {
        let queue = self.queues.entry(host).or_insert_with(HostQueue::new);
        queue.wake();
        queue
    }

    fn forget_idle(&mut self, host: HostId) {
        let durable = self.durable;
        if self
            .queues
            .get(&host)
            .is_some_and(|queue| queue.can_go(durable))
        {
            self.queues.remove(&host);
        }
    }

    fn first_row(&mut self, host: HostId, class: Class) -> Result<Option<RowPosition>, StoreError> {
        let database = Arc::clone(&self.database);
        self.queue(host).first((host, class), &database)
    }

    /// The changes of rows: new ones are written, finished ones removed, others marked.
    fn seal_rows(&mut self, changes: &mut Vec<StoreChange>) -> Vec<(HostId, RowPosition)> {
        let mut written = Vec::new();
        for (row, packer) in std::mem::take(&mut self.open.rows) {
            let Some(state) = self.rows.get_mut(&row) else {
                continue;
            };
            if state.remaining == 0 {
                self.rows.remove(&row);
                continue;
            }
            let key = state.place.key(state.host);
            if state.changed {
                let value = Some(state.settled.clone());
                changes.push(StoreChange {
                    space: Space::Progress,
                    key: key.clone(),
                    value,
                });
            }
            state.changed = false;
            state.sealed = true;
            written.push((state.host, state.place));
            changes.push(StoreChange {
                space: Space::Queue,
                key,
                value: Some(packer.into_bytes()),
            });
        }
        for row in std::mem::take(&mut self.open.changed_rows) {
            let Some(state) = self.rows.get_mut(&row) else {
                continue;
            };
            if !state.changed || !state.sealed {
                continue;
            }
            state.changed = false;
            let key = state.place.key(state.host);
            if state.remaining == 0 {
                changes.push(StoreChange {
                    space: Space::Queue,
                    key: key.clone(),
                    value: None,
                });
                changes.push(StoreChange {
                    space: Space::Progress,
                    key,
                    value: None,
                });
                self.rows.remove(&row);
            } else {
                let value = Some(state.settled.clone());
                changes.push(StoreChange {
                    space: Space::Progress,
                    key,
                    value,
                });
            }
        }
        written
    }
}

/// Opens the keys that the last commit knew.
fn open_keys(
    folder: &Path,
    database: &Database,
    options: &KeysOptions,
) -> Result<KnownKeys, StoreError> {
    durable::make_folder(folder).map_err(|source| StoreError::Open {
        path: folder.into(),
        source: Box::new(source.into()),
    })?;
    let mut saved = SavedKeys::default();
    for (from, to) in SavedKeys::SPANS {
        database.scan_between(Space::Meta, from, to, |name, value| {
            saved.read(name, value);
            true
        })?;
    }
    Ok(KnownKeys::open(folder, saved, options)?)
}

/// Reads a row with a robots.txt.
pub(crate) fn read_robots(bytes: &[u8]) -> Result<(Robots, u64), StoreError> {
    serde_json::from_slice(bytes).map_err(|_| StoreError::damaged("a robots.txt"))
}

fn number(bytes: &[u8]) -> Result<u64, StoreError> {
    let bytes = bytes
        .try_into()
        .map_err(|_| StoreError::damaged("a number"))?;
    Ok(u64::from_be_bytes(bytes))
}

/// The key of a row with a robots.txt.
pub(crate) fn robots_key(host: HostId, origin: Origin) -> Vec<u8> {
    let mut key = host.0.to_be_bytes().to_vec();
    key.push(u8::from(origin.scheme == Scheme::Https));
    key.extend_from_slice(&origin.port.to_be_bytes());
    key
}
