//! The store as the frontier sees it.
//!
//! Owns the answers to the frontier's questions: what is known, what waits, what was kept. What
//! is not durable yet is answered from memory, everything else from the database.

use std::collections::VecDeque;
use std::sync::Arc;

use clewline_core::frontier::{Class, LaneRow, Origin, QueueEntry, Span, Store, Ticket, Waiting};
use clewline_core::key::{HostId, Key};
use clewline_core::robots::Robots;
use clewline_core::url::CrawlUrl;

use super::database::{Space, StoreChange, StoreError};
use super::queue::{Rank, Rest, RowPosition};
use super::{BATCH, DiskStore, OpenBatch, SealedBatch, Waits, read_robots, robots_key};

/// What a row of the open batch takes in memory beside its entries, in entries: where every link
/// is on another host, it is most of what a batch takes.
const ROW_WEIGHT: usize = 4;

impl Store for DiskStore {
    type Error = StoreError;
    type Sealed = SealedBatch;

    fn contains(&mut self, key: Key) -> Result<bool, StoreError> {
        Ok(self.keys.contains(key)?)
    }

    fn look_ahead(&mut self, keys: impl Iterator<Item = Key>) -> Result<(), StoreError> {
        Ok(self.keys.look_ahead(keys)?)
    }

    fn add(&mut self, key: Key) -> Result<(), StoreError> {
        self.keys.add(key);
        Ok(())
    }

    fn push(&mut self, mut entry: QueueEntry) -> Result<(), StoreError> {
        let host = entry.key.host();
        let index = self.row_with_room(host, Rank::new(entry.class, entry.depth));
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
        if let Some(row) = self.queue(host).known.get_mut(&place)
            && let Rest::Here(entries) = &mut row.rest
        {
            entries.push_back(entry);
        }
        Ok(())
    }

    fn take(
        &mut self,
        host: HostId,
        span: Span,
        most: usize,
        into: &mut VecDeque<QueueEntry>,
    ) -> Result<(), StoreError> {
        let enough = into.len() + most;
        while into.len() < enough
            && let Some(place) = self.first_row(host, span.class)?
            && place.rank.depth() <= span.deepest
        {
            let room = enough - into.len();
            if let Some(what) = self.queue(host).take(place, room, into) {
                self.read((host, place), what, room, into)?;
            }
        }
        Ok(())
    }

    fn waiting(&mut self, host: HostId, span: Span) -> Result<Waiting, StoreError> {
        let mut waiting = Waiting::Nothing;
        let classes = Class::ALL.into_iter();
        for class in classes.take_while(|class| *class <= span.class) {
            match self.first_row(host, class)? {
                Some(place) if place.rank.depth() <= span.deepest => return Ok(Waiting::Ready),
                Some(_) => waiting = Waiting::Deeper,
                None => {}
            }
        }
        Ok(waiting)
    }

    fn settle(&mut self, entry: &QueueEntry) -> Result<(), StoreError> {
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
        span: Span,
        is_active: &dyn Fn(HostId) -> bool,
    ) -> Result<Option<HostId>, StoreError> {
        let end = vec![0xff; 25];
        let is_meant = |place: &RowPosition| {
            place.rank.class() <= span.class && place.rank.depth() <= span.deepest
        };
        let (start, mut wrapped) = (self.cursor, false);
        loop {
            let from = RowPosition::FIRST.key(HostId(self.cursor));
            let key = self.database.first(Space::Queue, &from, &end)?;
            let Some((host, place)) = key.as_deref().and_then(RowPosition::read) else {
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
            if is_meant(&place) && !is_active(host) {
                return Ok(Some(host));
            }
        }
        let in_memory = self
            .queues
            .iter()
            .find(|(host, queue)| queue.known.keys().any(is_meant) && !is_active(**host));
        Ok(in_memory.map(|(host, _)| *host))
    }

    fn look_through(
        &self,
        most: usize,
        see: &mut dyn FnMut(&CrawlUrl),
    ) -> Result<bool, StoreError> {
        self.look_through_rows(most, see)
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
        let damaged = |_| StoreError::damaged("a row of a host");
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
        bytes.map(|bytes| read_robots(&bytes)).transpose()
    }

    fn save_robots(
        &mut self,
        host: HostId,
        origin: Origin,
        robots: &Robots,
        until: u64,
    ) -> Result<(), StoreError> {
        let damaged = |_| StoreError::damaged("a robots.txt");
        let bytes = serde_json::to_vec(&(robots, until)).map_err(damaged)?;
        self.open.robots.push((robots_key(host, origin), bytes));
        Ok(())
    }

    fn seal(&mut self, notes: Vec<(&'static str, Vec<u8>)>) -> Result<SealedBatch, StoreError> {
        // Nothing may come into a log before there is a state that says where it ends.
        self.database.finish_making()?;
        let mut changes = Vec::new();
        let rows = self.seal_rows(&mut changes);
        let (keys, key_rows) = self.keys.seal(self.batch);
        changes.extend(key_rows.into_iter().map(StoreChange::from));
        let OpenBatch {
            lanes,
            robots,
            moved,
            ..
        } = std::mem::take(&mut self.open);
        let came_or_went = moved.changes.into_iter();
        changes.extend(came_or_went.map(|((space, key), value)| StoreChange { space, key, value }));
        let mut put = |space, key: Vec<u8>, value: Vec<u8>| {
            changes.push(StoreChange {
                space,
                key,
                value: Some(value),
            });
        };
        for (host, row) in &lanes {
            let json = serde_json::to_vec(row).unwrap_or_default();
            put(Space::Lanes, host.0.to_be_bytes().to_vec(), json);
        }
        for (key, bytes) in &robots {
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
        self.waits.push_back(Waits {
            rows,
            lanes,
            robots,
            moved: moved.ranges,
        });
        self.batch += 1;
        Ok(SealedBatch {
            database: Arc::clone(&self.database),
            changes,
            keys,
        })
    }

    fn committed(&mut self) {
        let Some(batch) = self.waits.pop_front() else {
            return;
        };
        self.durable += 1;
        self.keys.committed();
        self.look_again(&batch.moved);
        for (host, place) in batch.rows {
            let Some(queue) = self.queues.get_mut(&host) else {
                continue;
            };
            if let Some(row) = queue.release(place) {
                self.rows.remove(&row);
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
        let rows = self.open.rows.len() * ROW_WEIGHT;
        self.open.entries + self.keys.open_len() + rows
    }
}
