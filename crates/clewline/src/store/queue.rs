//! The queues of hosts: rows in memory until they are durable, rows on disk after that.
//!
//! Owns where the next entry of a host is. A row is taken in parts, so that a host in memory
//! holds a few entries and not a row of them; it stays on disk until all its entries are
//! settled, and how far it got is kept beside it.

use std::collections::{BTreeMap, VecDeque};

use clewline_core::frontier::{Class, QueueEntry};
use clewline_core::key::HostId;

use super::database::{Database, Space, StoreError};

/// Entries in a row at the most.
pub(super) const ROW_ENTRIES: u32 = 256;

/// A class and a depth as one number that sorts by them. What is normal has the number of its
/// depth alone, as it had before there were classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Rank(u32);

impl Rank {
    const DEPTH_BITS: u32 = 29;
    const DEEPEST: u32 = (1 << Self::DEPTH_BITS) - 1;

    #[cfg(test)]
    pub(super) const fn normal(depth: u32) -> Self {
        Self(depth)
    }

    pub(crate) fn new(class: Class, depth: u32) -> Self {
        Self((class as u32) << Self::DEPTH_BITS | depth.min(Self::DEEPEST))
    }

    /// The number by which it sorts.
    pub(crate) const fn number(self) -> u32 {
        self.0
    }

    /// The rank with this number.
    pub(crate) const fn from_number(number: u32) -> Self {
        Self(number)
    }

    pub(super) fn class(self) -> Class {
        match self.0 >> Self::DEPTH_BITS {
            0 => Class::Normal,
            1 => Class::Suspect,
            2 => Class::Repeat,
            _ => Class::Withheld,
        }
    }

    pub(super) const fn depth(self) -> u32 {
        self.0 & Self::DEEPEST
    }
}

/// The place of a row among its host's rows: rank, batch, number within the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RowPosition {
    pub(super) rank: Rank,
    pub(super) batch: u64,
    pub(super) part: u32,
}

impl RowPosition {
    pub(super) const FIRST: Self = Self {
        rank: Rank(0),
        batch: 0,
        part: 0,
    };

    /// Before all rows of a class.
    fn first_of(class: Class) -> Self {
        Self {
            rank: Rank::new(class, 0),
            ..Self::FIRST
        }
    }

    /// Behind all rows of a class.
    fn behind(class: Class) -> Self {
        Self {
            rank: Rank((class as u32 + 1) << Rank::DEPTH_BITS),
            ..Self::FIRST
        }
    }

    /// The key of this row in the database: sorts by host, then as places do.
    pub(super) fn key(self, host: HostId) -> Vec<u8> {
        let mut key = Vec::with_capacity(24);
        key.extend_from_slice(&host.0.to_be_bytes());
        key.extend_from_slice(&self.rank.0.to_be_bytes());
        key.extend_from_slice(&self.batch.to_be_bytes());
        key.extend_from_slice(&self.part.to_be_bytes());
        key
    }

    /// The host and the place that a key names.
    pub(super) fn read(key: &[u8]) -> Option<(HostId, Self)> {
        let key: &[u8; 24] = key.try_into().ok()?;
        let (host, place) = key.split_at(8);
        let rank = Rank(u32::from_be_bytes(place[..4].try_into().ok()?));
        let batch = u64::from_be_bytes(place[4..12].try_into().ok()?);
        let part = u32::from_be_bytes(place[12..].try_into().ok()?);
        Some((
            HostId(u64::from_be_bytes(host.try_into().ok()?)),
            Self { rank, batch, part },
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
    Next(RowPosition),
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
    Here(VecDeque<QueueEntry>),
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
    pub(super) known: BTreeMap<RowPosition, KnownRow>,
    /// For each class.
    on_disk: [OnDisk; Class::ALL.len()],
    /// Up to where the rows of each rank were taken; what is settled behind it is not read
    /// over again.
    taken: BTreeMap<Rank, RowPosition>,
    /// The host has nothing to do since this batch was open.
    rests_since: Option<u64>,
}

impl HostQueue {
    pub(super) const fn new() -> Self {
        Self {
            known: BTreeMap::new(),
            on_disk: [OnDisk::Unknown; Class::ALL.len()],
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

    /// Rows on disk came or went.
    pub(super) const fn look_again(&mut self) {
        self.on_disk = [OnDisk::Unknown; Class::ALL.len()];
    }

    /// The first row of a class, wherever it is.
    pub(super) fn first(
        &mut self,
        (host, class): (HostId, Class),
        database: &Database,
    ) -> Result<Option<RowPosition>, StoreError> {
        let at = class as usize;
        if self.on_disk[at] == OnDisk::Unknown {
            self.on_disk[at] = match self.look(host, class, database)? {
                Some(place) => OnDisk::Next(place),
                None => OnDisk::Nothing,
            };
        }
        let of_class = RowPosition::first_of(class)..RowPosition::behind(class);
        let known = self.known.range(of_class).next().map(|(place, _)| *place);
        Ok(match (known, self.on_disk[at]) {
            (Some(place), OnDisk::Next(other)) => Some(place.min(other)),
            (None, OnDisk::Next(place)) | (Some(place), _) => Some(place),
            (None, _) => None,
        })
    }

    /// Looks for the first row of a class on disk that was not taken.
    fn look(
        &self,
        host: HostId,
        class: Class,
        database: &Database,
    ) -> Result<Option<RowPosition>, StoreError> {
        let end = RowPosition::behind(class).key(host);
        let mut from = RowPosition::first_of(class);
        loop {
            if let Some(taken) = self.taken.get(&from.rank) {
                from = from.max(taken.after());
            }
            let Some(key) = database.first(Space::Queue, &from.key(host), &end)? else {
                return Ok(None);
            };
            let (_, place) =
                RowPosition::read(&key).ok_or(StoreError::damaged("a key of the queue"))?;
            let is_taken = self
                .taken
                .get(&place.rank)
                .is_some_and(|taken| place <= *taken);
            // Rows that are known will be taken from there.
            if !is_taken && !self.known.contains_key(&place) {
                return Ok(Some(place));
            }
            from = if is_taken {
                RowPosition {
                    rank: place.rank,
                    ..RowPosition::FIRST
                }
            } else {
                place.after()
            };
        }
    }

    /// Takes up to `most` entries of a row into `into`, or says what must be read for that.
    pub(super) fn take(
        &mut self,
        place: RowPosition,
        most: usize,
        into: &mut VecDeque<QueueEntry>,
    ) -> Option<ToRead> {
        let last = self.taken.entry(place.rank).or_insert(place);
        *last = (*last).max(place);
        let on_disk = &mut self.on_disk[place.rank.class() as usize];
        if *on_disk == OnDisk::Next(place) {
            *on_disk = OnDisk::Unknown;
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
    pub(super) fn keep_rest(&mut self, place: RowPosition, row: u64, from: Option<u32>) {
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
    pub(super) fn release(&mut self, place: RowPosition) -> Option<u64> {
        let known = self.known.get_mut(&place)?;
        let is_begun = self
            .taken
            .get(&place.rank)
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
        let on_disk = &mut self.on_disk[place.rank.class() as usize];
        match *on_disk {
            OnDisk::Next(other) => *on_disk = OnDisk::Next(other.min(place)),
            OnDisk::Nothing => *on_disk = OnDisk::Next(place),
            OnDisk::Unknown => {}
        }
        Some(row)
    }
}
