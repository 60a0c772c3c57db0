//! The queues and the robots.txt files of a crawl that does not run.
//!
//! Owns the passes over all rows of them, for whoever looks at a job from outside. It reads
//! and changes nothing; the pass is bounded in rows, and says whether it saw all of them.

use clewline_core::frontier::{Class, KeyMap, QueueEntry};
use clewline_core::key::HostId;
use clewline_core::url::CrawlUrl;

use super::database::{Space, StoreError};
use super::packing::{PackedRow, unpack};
use super::queue::RowPosition;
use super::{DiskStore, Row};

/// Rows that are looked at; each has up to 256 URLs.
const MOST_ROWS: usize = 200_000;

/// Rows as the database has them: keys and values.
pub(crate) type RawRows = Vec<(Vec<u8>, Vec<u8>)>;

impl DiskStore {
    /// The rows of all robots.txt files; nothing if they have more bytes than this.
    pub(crate) fn robots_rows(&self, most: usize) -> Result<Option<RawRows>, StoreError> {
        let (mut rows, mut bytes) = (Vec::new(), 0);
        self.database.scan(Space::Robots, |key, value| {
            bytes += key.len() + value.len();
            rows.push((key.to_vec(), value.to_vec()));
            bytes <= most
        })?;
        Ok((bytes <= most).then_some(rows))
    }

    /// The hosts with the longest queues: a URL of each and how many wait.
    pub(crate) fn survey(&self, most: usize) -> Result<Vec<(CrawlUrl, u64)>, StoreError> {
        let mut queues: KeyMap<HostId, (CrawlUrl, u64)> = KeyMap::default();
        let (mut rows, mut failure) = (0, None);
        self.database.scan(Space::Queue, |key, bytes| {
            rows += 1;
            match self.open_entries(key, bytes) {
                Ok(Some((host, url, open))) => {
                    queues.entry(host).or_insert((url, 0)).1 += open;
                }
                Ok(None) => {}
                Err(error) => failure = Some(error),
            }
            failure.is_none() && rows < MOST_ROWS
        })?;
        if let Some(error) = failure {
            return Err(error);
        }
        let mut longest: Vec<(CrawlUrl, u64)> = queues.into_values().collect();
        longest.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        longest.truncate(most);
        Ok(longest)
    }

    /// Shows queued URLs of durable rows, at most so many; whether those were all.
    pub(super) fn look_through_rows(
        &self,
        most: usize,
        see: &mut dyn FnMut(&CrawlUrl),
    ) -> Result<bool, StoreError> {
        let (mut seen, mut failure) = (0, None);
        self.database.scan(Space::Queue, |key, bytes| {
            match self.unsettled(key, bytes) {
                Ok(found) => {
                    let entries = found.map(|(_, entries)| entries).unwrap_or_default();
                    for entry in entries.iter().take(most - seen) {
                        see(&entry.url);
                    }
                    seen += entries.len().min(most - seen);
                }
                Err(error) => failure = Some(error),
            }
            failure.is_none() && seen < most
        })?;
        match failure {
            Some(error) => Err(error),
            None => Ok(seen < most && self.open.entries == 0),
        }
    }

    /// How many entries of a row are not settled, and the first of them. What is withheld does not
    /// wait.
    fn open_entries(
        &self,
        key: &[u8],
        bytes: &[u8],
    ) -> Result<Option<(HostId, CrawlUrl, u64)>, StoreError> {
        let Some((host, entries)) = self.unsettled(key, bytes)? else {
            return Ok(None);
        };
        let count = entries.len() as u64;
        let first = entries.into_iter().next();
        Ok(first.map(|entry| (host, entry.url, count)))
    }

    /// The entries of a row that are not settled; nothing if they are withheld.
    fn unsettled(
        &self,
        key: &[u8],
        bytes: &[u8],
    ) -> Result<Option<(HostId, Vec<QueueEntry>)>, StoreError> {
        let damaged = StoreError::damaged("a key of the queue");
        let (host, place) = RowPosition::read(key).ok_or(damaged)?;
        if place.rank.class() == Class::Withheld {
            return Ok(None);
        }
        let settled = self.database.get(Space::Progress, key)?;
        let row = Row::on_disk(host, place, settled);
        let packed = PackedRow {
            row: 0,
            rank: place.rank,
        };
        let entries = unpack(bytes, packed, &self.keyer, |place| !row.is_settled(place))?;
        Ok(Some((host, entries)))
    }
}
