//! The store on disk: nothing a crawl knows is lost with the process.
//!
//! Owns the seen keys, the queues, the lanes' rows and the rest of the state, in batches. A
//! batch is open while the frontier works on it, then sealed, then durable; what is not durable
//! yet is answered from memory. It refuses to know when anything is due.

mod database;
mod hot;
mod packing;
mod queue;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use clewline_core::frontier::{
    Entry, KeyMap, KeySet, LaneRow, Origin, Sealed, Store, Ticket, Waiting,
};
use clewline_core::key::{HostId, Key, Keyer};
use clewline_core::robots::Robots;
use clewline_core::url::Scheme;

pub(crate) use database::MemoryPlan;
pub use database::StoreError;
use database::{Change, Database, Space};
use hot::HotKeys;
use packing::{Packer, unpack};
use queue::{HostQueue, MemoryRow, Place, ROW_ENTRIES};

/// The name under which the number of the last durable batch is kept.
const BATCH: &str = "batch";

/// The prefix of the offsets of logs.
const OFFSET: &str = "offset.";

/// A row of which not every entry is settled.
#[derive(Debug)]
struct Row {
    host: HostId,
    place: Place,
    settled: Vec<u8>,
    remaining: u32,
    changed: bool,
    /// It is in a batch that was sealed, so it is or will be on disk.
    sealed: bool,
}

impl Row {
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
    seen: KeySet<Key>,
    rows: Vec<(u64, Packer)>,
    open_rows: KeyMap<HostId, Vec<usize>>,
    changed_rows: Vec<u64>,
    lanes: KeyMap<HostId, LaneRow>,
    robots: Vec<(Vec<u8>, Vec<u8>)>,
    entries: usize,
}

/// What is sealed and not durable yet.
#[derive(Debug)]
struct Waits {
    seen: KeySet<Key>,
    rows: Vec<(HostId, Place)>,
    lanes: KeyMap<HostId, LaneRow>,
    robots: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The store on disk.
pub(crate) struct DiskStore {
    database: Arc<Database>,
    keyer: Keyer,
    hot: HotKeys,
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
pub(crate) struct SealedBatch {
    database: Arc<Database>,
    changes: Vec<Change>,
}

impl Sealed for SealedBatch {
    type Error = StoreError;

    fn commit(&mut self, offsets: &[(&'static str, u64)]) -> Result<(), StoreError> {
        let own = self.changes.len();
        for (name, offset) in offsets {
            self.changes.push(Change {
                space: Space::Meta,
                key: format!("{OFFSET}{name}").into_bytes(),
                value: Some(offset.to_be_bytes().to_vec()),
            });
        }
        let written = self.database.write(&self.changes);
        self.changes.truncate(own);
        written
    }
}

impl DiskStore {
    /// Opens the state in a folder, or makes it.
    pub(crate) fn open(path: &Path, keyer: Keyer, plan: MemoryPlan) -> Result<Self, StoreError> {
        let database = Arc::new(Database::open(path, plan)?);
        let batch = match database.get(Space::Meta, BATCH.as_bytes())? {
            Some(bytes) => number(&bytes)?,
            None => 0,
        };
        Ok(Self {
            database,
            keyer,
            hot: HotKeys::new(plan.cache / 8),
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

    /// Begins a row of the open batch.
    fn begin_row(&mut self, host: HostId, depth: u32) -> usize {
        let part = self.open.rows.len() as u32;
        let place = Place {
            depth,
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
        queue.memory.insert(
            place,
            MemoryRow {
                row: number,
                entries: Vec::new(),
            },
        );
        index
    }

    /// A row of the open batch that has room and that nobody has taken.
    fn row_with_room(&mut self, host: HostId, depth: u32) -> usize {
        let candidates = self
            .open
            .open_rows
            .get(&host)
            .map_or(&[][..], Vec::as_slice);
        let found = candidates.iter().rev().copied().find(|index| {
            let (row, packer) = &self.open.rows[*index];
            let place = self.rows.get(row).map(|row| row.place);
            let untaken = place.is_some_and(|place| {
                self.queues
                    .get(&host)
                    .is_some_and(|queue| queue.memory.contains_key(&place))
            });
            untaken
                && packer.count() < ROW_ENTRIES
                && place.is_some_and(|place| place.depth == depth)
        });
        found.unwrap_or_else(|| self.begin_row(host, depth))
    }

    /// Reads a row from disk, without the entries that are settled.
    fn load(&mut self, host: HostId, place: Place) -> Result<Vec<Entry>, StoreError> {
        let key = place.key(host);
        let bytes = self.database.get(Space::Queue, &key)?;
        let bytes = bytes.ok_or(StoreError::Damaged("a row of the queue is missing"))?;
        let settled = self
            .database
            .get(Space::Progress, &key)?
            .unwrap_or_default();
        self.next_row += 1;
        let entries = unpack(&bytes, self.next_row, place.depth, &self.keyer)?;
        let mut row = Row {
            host,
            place,
            settled,
            remaining: 0,
            changed: false,
            sealed: true,
        };
        let open: Vec<Entry> = entries
            .into_iter()
            .filter(|entry| !row.is_settled(entry.ticket.place))
            .collect();
        row.remaining = open.len() as u32;
        self.rows.insert(self.next_row, row);
        Ok(open)
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

    fn first_row(&mut self, host: HostId) -> Result<Option<Place>, StoreError> {
        let database = Arc::clone(&self.database);
        self.queue(host).first(host, &database)
    }

    /// The changes of rows: new ones are written, finished ones removed, others marked.
    fn seal_rows(&mut self, changes: &mut Vec<Change>) -> Vec<(HostId, Place)> {
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
                changes.push(Change {
                    space: Space::Progress,
                    key: key.clone(),
                    value,
                });
            }
            state.changed = false;
            state.sealed = true;
            written.push((state.host, state.place));
            changes.push(Change {
                space: Space::Queue,
                key,
                value: Some(packer.bytes().to_vec()),
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
                changes.push(Change {
                    space: Space::Queue,
                    key: key.clone(),
                    value: None,
                });
                changes.push(Change {
                    space: Space::Progress,
                    key,
                    value: None,
                });
                self.rows.remove(&row);
            } else {
                let value = Some(state.settled.clone());
                changes.push(Change {
                    space: Space::Progress,
                    key,
                    value,
                });
            }
        }
        written
    }
}

fn number(bytes: &[u8]) -> Result<u64, StoreError> {
    let bytes = bytes
        .try_into()
        .map_err(|_| StoreError::Damaged("a number"))?;
    Ok(u64::from_be_bytes(bytes))
}

fn robots_key(host: HostId, origin: Origin) -> Vec<u8> {
    let mut key = host.0.to_be_bytes().to_vec();
    key.push(u8::from(origin.scheme == Scheme::Https));
    key.extend_from_slice(&origin.port.to_be_bytes());
    key
}

impl Store for DiskStore {
    type Error = StoreError;
    type Sealed = SealedBatch;

    fn contains(&mut self, key: Key) -> Result<bool, StoreError> {
        if self.hot.contains(key)
            || self.open.seen.contains(&key)
            || self.waits.iter().any(|batch| batch.seen.contains(&key))
        {
            return Ok(true);
        }
        let known = self.database.contains(Space::Seen, key.as_bytes())?;
        if known {
            self.hot.add(key);
        }
        Ok(known)
    }

    fn add(&mut self, key: Key) -> Result<(), StoreError> {
        self.open.seen.insert(key);
        self.hot.add(key);
        Ok(())
    }

    fn push(&mut self, mut entry: Entry) -> Result<(), StoreError> {
        let host = entry.key.host();
        let index = self.row_with_room(host, entry.depth);
        let (row, packer) = &mut self.open.rows[index];
        entry.ticket = Ticket {
            row: *row,
            place: packer.count(),
        };
        packer.push(&entry);
        let state = self
            .rows
            .get_mut(row)
            .expect("a row of the open batch is known");
        state.remaining += 1;
        let place = state.place;
        self.open.entries += 1;
        if let Some(row) = self.queue(host).memory.get_mut(&place) {
            row.entries.push(entry);
        }
        Ok(())
    }

    fn take(
        &mut self,
        host: HostId,
        deepest: u32,
        most: usize,
        into: &mut VecDeque<Entry>,
    ) -> Result<(), StoreError> {
        let enough = into.len() + most;
        while into.len() < enough
            && let Some(place) = self.first_row(host)?
            && place.depth <= deepest
        {
            let entries = match self.queue(host).take(place) {
                Some(row) => row.entries,
                None => self.load(host, place)?,
            };
            into.extend(entries);
        }
        Ok(())
    }

    fn waiting(&mut self, host: HostId, deepest: u32) -> Result<Waiting, StoreError> {
        Ok(match self.first_row(host)? {
            Some(place) if place.depth <= deepest => Waiting::Ready,
            Some(_) => Waiting::Deeper,
            None => Waiting::Nothing,
        })
    }

    fn settle(&mut self, entry: &Entry) -> Result<(), StoreError> {
        if let Some(row) = self.rows.get_mut(&entry.ticket.row) {
            let first_change = !row.changed;
            row.settle(entry.ticket.place);
            if first_change && row.changed && row.sealed {
                self.open.changed_rows.push(entry.ticket.row);
            }
        }
        Ok(())
    }

    fn next_host(
        &mut self,
        deepest: u32,
        is_active: &dyn Fn(HostId) -> bool,
    ) -> Result<Option<HostId>, StoreError> {
        let end = vec![0xff; 25];
        let (start, mut wrapped) = (self.cursor, false);
        loop {
            let from = Place::FIRST.key(HostId(self.cursor));
            let key = self.database.first(Space::Queue, &from, &end)?;
            let Some((host, place)) = key.as_deref().and_then(Place::read) else {
                self.cursor = 0;
                if std::mem::replace(&mut wrapped, true) {
                    break;
                }
                continue;
            };
            if wrapped && host.0 >= start {
                break;
            }
            self.cursor = host.0.saturating_add(1);
            if place.depth <= deepest && !is_active(host) {
                return Ok(Some(host));
            }
        }
        let in_memory = self.queues.iter().find(|(host, queue)| {
            let first = queue.memory.keys().next();
            first.is_some_and(|place| place.depth <= deepest) && !is_active(**host)
        });
        Ok(in_memory.map(|(host, _)| *host))
    }

    fn rest(&mut self, host: HostId) {
        if let Some(queue) = self.queues.get_mut(&host) {
            queue.rest(self.batch);
            self.resting.push_back((self.batch, host));
        }
    }

    fn load_lane(&self, host: HostId) -> Result<Option<LaneRow>, StoreError> {
        let waiting = self.waits.iter().rev().map(|batch| &batch.lanes);
        let recent = std::iter::once(&self.open.lanes)
            .chain(waiting)
            .find_map(|lanes| lanes.get(&host));
        if let Some(row) = recent {
            return Ok(Some(row.clone()));
        }
        let bytes = self.database.get(Space::Lanes, &host.0.to_be_bytes())?;
        let damaged = |_| StoreError::Damaged("a row of a host");
        bytes
            .map(|bytes| serde_json::from_slice(&bytes).map_err(damaged))
            .transpose()
    }

    fn save_lane(&mut self, host: HostId, row: LaneRow) -> Result<(), StoreError> {
        self.open.lanes.insert(host, row);
        Ok(())
    }

    fn load_robots(
        &self,
        host: HostId,
        origin: Origin,
    ) -> Result<Option<(Robots, u64)>, StoreError> {
        let key = robots_key(host, origin);
        let waiting = self.waits.iter().rev().map(|batch| &batch.robots);
        let recent = std::iter::once(&self.open.robots)
            .chain(waiting)
            .flat_map(|robots| robots.iter().rev())
            .find(|(known, _)| *known == key);
        let bytes = match recent {
            Some((_, bytes)) => Some(bytes.clone()),
            None => self.database.get(Space::Robots, &key)?,
        };
        let damaged = |_| StoreError::Damaged("a robots.txt");
        bytes
            .map(|bytes| serde_json::from_slice(&bytes).map_err(damaged))
            .transpose()
    }

    fn save_robots(
        &mut self,
        host: HostId,
        origin: Origin,
        robots: &Robots,
        until: u64,
    ) -> Result<(), StoreError> {
        let damaged = |_| StoreError::Damaged("a robots.txt");
        let bytes = serde_json::to_vec(&(robots, until)).map_err(damaged)?;
        self.open.robots.push((robots_key(host, origin), bytes));
        Ok(())
    }

    fn seal(&mut self, notes: Vec<(&'static str, Vec<u8>)>) -> SealedBatch {
        let mut changes = Vec::new();
        let rows = self.seal_rows(&mut changes);
        let open = std::mem::take(&mut self.open);
        let mut put = |space, key: Vec<u8>, value: Vec<u8>| {
            changes.push(Change {
                space,
                key,
                value: Some(value),
            });
        };
        for key in &open.seen {
            put(Space::Seen, key.as_bytes().to_vec(), Vec::new());
        }
        for (host, row) in &open.lanes {
            let json = serde_json::to_vec(row).unwrap_or_default();
            put(Space::Lanes, host.0.to_be_bytes().to_vec(), json);
        }
        for (key, bytes) in &open.robots {
            put(Space::Robots, key.clone(), bytes.clone());
        }
        for (name, bytes) in notes {
            put(Space::Meta, name.as_bytes().to_vec(), bytes);
        }
        put(
            Space::Meta,
            BATCH.as_bytes().to_vec(),
            self.batch.to_be_bytes().to_vec(),
        );
        let OpenBatch {
            seen,
            lanes,
            robots,
            ..
        } = open;
        self.waits.push_back(Waits {
            seen,
            rows,
            lanes,
            robots,
        });
        self.batch += 1;
        SealedBatch {
            database: Arc::clone(&self.database),
            changes,
        }
    }

    fn committed(&mut self) {
        let Some(batch) = self.waits.pop_front() else {
            return;
        };
        self.durable += 1;
        for (host, place) in batch.rows {
            let Some(queue) = self.queues.get_mut(&host) else {
                continue;
            };
            if let Some(row) = queue.let_go(place) {
                self.rows.remove(&row.row);
            }
            self.forget_idle(host);
        }
        while self
            .resting
            .front()
            .is_some_and(|(batch, _)| *batch <= self.durable)
        {
            if let Some((_, host)) = self.resting.pop_front() {
                self.forget_idle(host);
            }
        }
    }

    fn open_size(&self) -> usize {
        self.open.entries + self.open.seen.len()
    }
}
