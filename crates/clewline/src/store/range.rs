//! A range of hosts that moves from one store to another: a shard of a fleet that comes or goes.
//!
//! Owns what of a store belongs to a range: known keys, rows of queues with how far they got, lanes
//! and robots.txt files. It refuses to know why they move and how they travel. Invariants: what is
//! imported or forgotten becomes durable with the batch that is sealed next, all of it or nothing;
//! an imported row gets a place of this store, so that no row that is written later takes it.
#![cfg_attr(
    not(test),
    expect(
        dead_code,
        reason = "members import what is in the logs of shards, so only tests export; an import \
                  is tested against what another store held"
    )
)]

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use clewline_core::frontier::{LaneRow, QueueEntry};
use clewline_core::key::{HostId, Key};
use clewline_keyset::{ExportedKeys, KeysError};

use super::DiskStore;
use super::database::{Space, StoreError};
use super::packing::Packer;
use super::queue::{ROW_ENTRIES, Rank, RowPosition};

#[cfg(test)]
mod tests;

/// The first number, within a batch, of rows that were imported. The store's own begin at zero.
const FIRST_IMPORTED: u32 = 1 << 31;

/// What is kept of a host and can move to another store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MovedRow {
    /// A row of a queue.
    Queue {
        /// Whose.
        host: HostId,
        /// Class and depth of its entries, as one number.
        rank: u32,
        /// The entries.
        packed: Vec<u8>,
        /// Which of them are settled, if any is.
        settled: Option<Vec<u8>>,
    },
    /// What is kept of a lane, or of a site.
    Lane(HostId, Vec<u8>),
    /// The robots.txt of an origin, under its name.
    Robots(Vec<u8>, Vec<u8>),
}

impl MovedRow {
    /// Its host, if it has one.
    fn host(&self) -> Option<HostId> {
        match self {
            Self::Queue { host, .. } | Self::Lane(host, _) => Some(*host),
            Self::Robots(name, _) => host_of(name),
        }
    }
}

/// Where something lies in the database.
type At = (Space, Vec<u8>);

/// What moves with the batch that is open.
#[derive(Debug, Default)]
pub(super) struct MovedRanges {
    /// By where they lie; nothing for what is removed.
    pub(super) changes: BTreeMap<At, Option<Vec<u8>>>,
    /// What was believed of queues in them is not so any more when the batch is durable.
    pub(super) ranges: Vec<RangeInclusive<HostId>>,
    /// Rows of queues that were imported.
    rows: u32,
}

impl DiskStore {
    /// All keys of a range, sorted. Nothing may have changed since the last commit.
    pub(crate) fn export_keys(
        &self,
        range: &RangeInclusive<HostId>,
    ) -> Result<ExportedKeys, StoreError> {
        self.require_all_durable()?;
        Ok(self.keys.export(&keys_of(range))?)
    }

    /// All rows of a range, those of a queue in their order. Nothing may have changed since the
    /// last commit.
    pub(crate) fn export_rows(
        &self,
        range: &RangeInclusive<HostId>,
        mut each: impl FnMut(MovedRow),
    ) -> Result<(), StoreError> {
        self.require_all_durable()?;
        let mut settled = BTreeMap::new();
        self.scan_range(Space::Progress, range, |key, value| {
            settled.insert(key.to_vec(), value.to_vec());
            Ok(())
        })?;
        self.scan_range(Space::Queue, range, |key, value| {
            let place = RowPosition::read(key).ok_or(StoreError::damaged("a key of the queue"))?;
            each(MovedRow::Queue {
                host: place.0,
                rank: place.1.rank.number(),
                packed: value.to_vec(),
                settled: settled.remove(key),
            });
            Ok(())
        })?;
        self.scan_range(Space::Lanes, range, |key, value| {
            let host = host_of(key).ok_or(StoreError::damaged("a key of a host"))?;
            each(MovedRow::Lane(host, value.to_vec()));
            Ok(())
        })?;
        self.scan_range(Space::Robots, range, |key, value| {
            each(MovedRow::Robots(key.to_vec(), value.to_vec()));
            Ok(())
        })
    }

    /// Takes in a range of which nothing is here, or a part of it: sorted keys, about so many, and
    /// rows. Nobody may ask for it before the batch that is sealed next is durable.
    pub(crate) fn import_range(
        &mut self,
        range: &RangeInclusive<HostId>,
        (keys, about): (impl Iterator<Item = Result<Key, KeysError>>, u64),
        rows: impl Iterator<Item = Result<MovedRow, StoreError>>,
    ) -> Result<(), StoreError> {
        self.require_no_commit()?;
        let mut changes = Vec::new();
        let mut number = self.open.moved.rows;
        for row in rows {
            let row = row?;
            if row.host().is_none_or(|host| !range.contains(&host)) {
                return Err(StoreError::damaged("a row is of another range"));
            }
            changes.extend(self.changes_of(row, &mut number));
        }
        let keys = keys.map(|key| match key {
            Ok(key) if !range.contains(&key.host()) => Err(KeysError::Damaged {
                what: "a key is of another range",
                path: None,
            }),
            other => other,
        });
        self.keys.import(keys, about)?;
        self.open.moved.rows = number;
        self.open.moved.changes.extend(changes);
        self.open.moved.ranges.push(range.clone());
        Ok(())
    }

    /// The changes by which a row comes here.
    fn changes_of(&self, row: MovedRow, number: &mut u32) -> Vec<(At, Option<Vec<u8>>)> {
        match row {
            MovedRow::Queue {
                host,
                rank,
                packed,
                settled,
            } => {
                let place = RowPosition {
                    rank: Rank::from_number(rank),
                    batch: self.batch,
                    part: FIRST_IMPORTED + *number,
                };
                *number += 1;
                let key = place.key(host);
                let progress =
                    settled.map(|settled| ((Space::Progress, key.clone()), Some(settled)));
                let mut changes = vec![((Space::Queue, key), Some(packed))];
                changes.extend(progress);
                changes
            }
            MovedRow::Lane(host, row) => {
                vec![((Space::Lanes, host.0.to_be_bytes().to_vec()), Some(row))]
            }
            MovedRow::Robots(name, text) => vec![((Space::Robots, name), Some(text))],
        }
    }

    /// Forgets a range: what of it is not durable at once, the rest with the batch that is sealed
    /// next. Nobody may ask for it from here on, and nobody import it before that.
    pub(crate) fn forget_range(
        &mut self,
        range: &RangeInclusive<HostId>,
    ) -> Result<(), StoreError> {
        self.require_no_commit()?;
        let mut gone = Vec::new();
        for space in [Space::Queue, Space::Progress, Space::Lanes, Space::Robots] {
            self.scan_range(space, range, |key, _| {
                gone.push(((space, key.to_vec()), None));
                Ok(())
            })?;
        }
        self.keys.forget(&keys_of(range))?;
        let is_gone = |host: &HostId| range.contains(host);
        let rows = &self.rows;
        let open_rows = self.open.rows.iter();
        let open_rows =
            open_rows.filter(|(row, _)| rows.get(row).is_some_and(|row| is_gone(&row.host)));
        let entries: usize = open_rows.map(|(_, packer)| packer.count() as usize).sum();
        self.open.entries -= entries;
        // A row of the open batch that nobody knows any more is not sealed.
        self.rows.retain(|_, row| !is_gone(&row.host));
        self.queues.retain(|host, _| !is_gone(host));
        self.open.open_rows.retain(|host, _| !is_gone(host));
        self.open.lanes.retain(|host, _| !is_gone(host));
        let robots = &mut self.open.robots;
        robots.retain(|(name, _)| !host_of(name).is_some_and(|host| is_gone(&host)));
        self.open.moved.changes.extend(gone);
        self.open.moved.ranges.push(range.clone());
        Ok(())
    }

    /// The ranges that moved with a batch are as it says from here on.
    pub(super) fn look_again(&mut self, ranges: &[RangeInclusive<HostId>]) {
        if ranges.is_empty() {
            return;
        }
        for (host, queue) in &mut self.queues {
            if ranges.iter().any(|range| range.contains(host)) {
                queue.look_again();
            }
        }
    }

    fn scan_range(
        &self,
        space: Space,
        range: &RangeInclusive<HostId>,
        mut each: impl FnMut(&[u8], &[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let from = range.start().0.to_be_bytes();
        // Hosts have numbers below that of the stamp, which is no host's.
        let to = range.end().0.saturating_add(1).to_be_bytes();
        let mut result = Ok(());
        self.database
            .scan_between(space, &from, &to, |key, value| {
                result = each(key, value);
                result.is_ok()
            })?;
        result
    }

    fn require_no_commit(&self) -> Result<(), StoreError> {
        let is_quiet = self.waits.is_empty();
        is_quiet.then_some(()).ok_or(KeysError::Busy.into())
    }

    fn require_all_durable(&self) -> Result<(), StoreError> {
        let open = &self.open;
        let has_no_rows = open.rows.is_empty() && open.changed_rows.is_empty();
        let has_no_hosts = open.lanes.is_empty() && open.robots.is_empty();
        let is_empty = has_no_rows && has_no_hosts && open.moved.ranges.is_empty();
        if !is_empty || self.keys.open_len() > 0 {
            return Err(KeysError::Busy.into());
        }
        self.require_no_commit()
    }
}

/// The rows in which URLs wait, in their order, and those of hosts.
pub(crate) fn moved_rows<'a>(
    queued: &'a [QueueEntry],
    lanes: &'a BTreeMap<HostId, LaneRow>,
) -> impl Iterator<Item = MovedRow> + 'a {
    let mut hosts: BTreeMap<(HostId, Rank), Vec<&QueueEntry>> = BTreeMap::new();
    for entry in queued {
        let rank = Rank::new(entry.class, entry.depth);
        hosts
            .entry((entry.key.host(), rank))
            .or_default()
            .push(entry);
    }
    let waiting = hosts.into_iter().flat_map(|((host, rank), entries)| {
        let rows = entries.chunks(ROW_ENTRIES as usize).map(|entries| {
            let mut packer = Packer::default();
            for entry in entries {
                packer.push(entry);
            }
            packer.into_bytes()
        });
        let rows = rows.map(|packed| MovedRow::Queue {
            host,
            rank: rank.number(),
            packed,
            settled: None,
        });
        rows.collect::<Vec<_>>()
    });
    let lanes = lanes.iter().map(|(host, row)| {
        let row = serde_json::to_vec(row).unwrap_or_default();
        MovedRow::Lane(*host, row)
    });
    waiting.chain(lanes)
}

/// The keys of a range of hosts.
fn keys_of(range: &RangeInclusive<HostId>) -> RangeInclusive<Key> {
    let first = u128::from(range.start().0) << 64;
    let last = u128::from(range.end().0) << 64 | u128::from(u64::MAX);
    Key::from_number(first)..=Key::from_number(last)
}

/// The host with which a key of the database begins.
fn host_of(key: &[u8]) -> Option<HostId> {
    let (host, _) = key.split_first_chunk()?;
    Some(HostId(u64::from_be_bytes(*host)))
}
