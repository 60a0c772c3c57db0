//! The queues of hosts: rows in memory until they are durable, rows on disk after that.
//!
//! Owns where the next entry of a host is. A row is taken in parts, so that a host in memory
//! holds a few entries and not a row of them; it stays on disk until all its entries are
//! settled, and how far it got is kept beside it.

use std::collections::{BTreeMap, VecDeque};

use clewline_core::frontier::Entry;
use clewline_core::key::HostId;

use super::database::{Database, Space, StoreError};

/// Entries in a row at the most.
pub(super) const ROW_ENTRIES: u32 = 256;

/// The place of a row among its host's rows: depth, batch, number within the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    pub(super) depth: u32,
    pub(super) batch: u64,
    pub(super) part: u32,
}

impl Place {
    pub(super) const FIRST: Self = Self {
        depth: 0,
        batch: 0,
        part: 0,
    };

    /// The key of this row in the database: sorts by host, then as places do.
    pub(super) fn key(self, host: HostId) -> Vec<u8> {
        let mut key = Vec::with_capacity(24);
        key.extend_from_slice(&host.0.to_be_bytes());
        key.extend_from_slice(&self.depth.to_be_bytes());
        key.extend_from_slice(&self.batch.to_be_bytes());
        key.extend_from_slice(&self.part.to_be_bytes());
        key
    }

    /// The host and the place that a key names.
    pub(super) fn read(key: &[u8]) -> Option<(HostId, Self)> {
        let key: &[u8; 24] = key.try_into().ok()?;
        let (host, place) = key.split_at(8);
        let depth = u32::from_be_bytes(place[..4].try_into().ok()?);
        let batch = u64::from_be_bytes(place[4..12].try_into().ok()?);
        let part = u32::from_be_bytes(place[12..].try_into().ok()?);
        Some((
            HostId(u64::from_be_bytes(host.try_into().ok()?)),
            Self { depth, batch, part },
        ))
    }

    const fn after(self) -> Self {
        Self {
            part: self.part + 1,
            ..self
        }
    }
}

/// What is known of a host's rows on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnDisk {
    Unknown,
    Next(Place),
    Nothing,
}

/// A row of which something waits, and of which more is known than that it is on disk.
#[derive(Debug)]
pub(super) struct KnownRow {
    pub(super) row: u64,
    pub(super) rest: Rest,
}

/// What of a row waits.
#[derive(Debug)]
pub(super) enum Rest {
    /// These entries: it is not durable yet.
    Here(VecDeque<Entry>),
    /// What is on disk at this place of the row and behind it: a part was taken.
    From(u32),
}

/// A row, or the rest of one, that must be read from disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToRead {
    Whole,
    Rest { row: u64, from: u32 },
}

/// The rows of one host of which something waits.
#[derive(Debug)]
pub(super) struct HostQueue {
    pub(super) known: BTreeMap<Place, KnownRow>,
    on_disk: OnDisk,
    /// Up to where the rows of each depth were taken; what is settled behind it is not read
    /// over again.
    taken: BTreeMap<u32, Place>,
    /// The host has nothing to do since this batch was open.
    rests_since: Option<u64>,
}

impl HostQueue {
    pub(super) const fn new() -> Self {
        Self {
            known: BTreeMap::new(),
            on_disk: OnDisk::Unknown,
            taken: BTreeMap::new(),
            rests_since: None,
        }
    }

    /// The host has nothing to do; what it did last is in this batch.
    pub(super) const fn rest(&mut self, batch: u64) {
        self.rests_since = Some(batch);
    }

    /// The host has something to do.
    pub(super) const fn wake(&mut self) {
        self.rests_since = None;
    }

    /// Whether nothing is lost with this queue, once all batches up to this one are durable:
    /// nothing was ever taken from it, or everything taken is settled on disk too.
    pub(super) fn can_go(&self, durable: u64) -> bool {
        let rested = self.rests_since.is_some_and(|since| since <= durable);
        self.known.is_empty() && (self.taken.is_empty() || rested)
    }

    /// The first row, wherever it is.
    pub(super) fn first(
        &mut self,
        host: HostId,
        database: &Database,
    ) -> Result<Option<Place>, StoreError> {
        if self.on_disk == OnDisk::Unknown {
            self.on_disk = match self.look(host, database)? {
                Some(place) => OnDisk::Next(place),
                None => OnDisk::Nothing,
            };
        }
        let known = self.known.keys().next().copied();
        Ok(match (known, self.on_disk) {
            (Some(place), OnDisk::Next(other)) => Some(place.min(other)),
            (None, OnDisk::Next(place)) | (Some(place), _) => Some(place),
            (None, _) => None,
        })
    }

    /// Looks for the first row on disk that was not taken.
    fn look(&self, host: HostId, database: &Database) -> Result<Option<Place>, StoreError> {
        let end = match host.0.checked_add(1) {
            Some(next) => Place::FIRST.key(HostId(next)),
            None => vec![0xff; 25],
        };
        let mut from = Place::FIRST;
        loop {
            if let Some(taken) = self.taken.get(&from.depth) {
                from = from.max(taken.after());
            }
            let Some(key) = database.first(Space::Queue, &from.key(host), &end)? else {
                return Ok(None);
            };
            let (_, place) = Place::read(&key).ok_or(StoreError::Damaged("a key of the queue"))?;
            let is_taken = self
                .taken
                .get(&place.depth)
                .is_some_and(|taken| place <= *taken);
            // Rows that are known will be taken from there.
            if !is_taken && !self.known.contains_key(&place) {
                return Ok(Some(place));
            }
            from = if is_taken {
                Place {
                    depth: place.depth,
                    ..Place::FIRST
                }
            } else {
                place.after()
            };
        }
    }

    /// Takes up to `most` entries of a row into `into`, or says what must be read for that.
    pub(super) fn take(
        &mut self,
        place: Place,
        most: usize,
        into: &mut VecDeque<Entry>,
    ) -> Option<ToRead> {
        let last = self.taken.entry(place.depth).or_insert(place);
        *last = (*last).max(place);
        if self.on_disk == OnDisk::Next(place) {
            self.on_disk = OnDisk::Unknown;
        }
        let Some(known) = self.known.get_mut(&place) else {
            return Some(ToRead::Whole);
        };
        match &mut known.rest {
            Rest::From(from) => Some(ToRead::Rest {
                row: known.row,
                from: *from,
            }),
            Rest::Here(entries) => {
                into.extend(entries.drain(..most.min(entries.len())));
                if entries.is_empty() {
                    self.known.remove(&place);
                }
                None
            }
        }
    }

    /// A row was read, and this is what of it still waits.
    pub(super) fn keep_rest(&mut self, place: Place, row: u64, from: Option<u32>) {
        match from {
            Some(from) => {
                let rest = Rest::From(from);
                self.known.insert(place, KnownRow { row, rest });
            }
            None => {
                self.known.remove(&place);
            }
        }
    }

    /// A row became durable: its entries need not be kept in memory. Answers the row if nobody
    /// has taken of it, so that nothing about it need be kept at all.
    pub(super) fn let_go(&mut self, place: Place) -> Option<u64> {
        let known = self.known.get_mut(&place)?;
        let is_begun = self
            .taken
            .get(&place.depth)
            .is_some_and(|taken| place <= *taken);
        if is_begun {
            if let Rest::Here(entries) = &known.rest
                && let Some(next) = entries.front()
            {
                known.rest = Rest::From(next.ticket.place);
            }
            return None;
        }
        let row = self.known.remove(&place)?.row;
        match self.on_disk {
            OnDisk::Next(other) => self.on_disk = OnDisk::Next(other.min(place)),
            OnDisk::Nothing => self.on_disk = OnDisk::Next(place),
            OnDisk::Unknown => {}
        }
        Some(row)
    }
}
