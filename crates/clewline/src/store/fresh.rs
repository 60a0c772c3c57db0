//! Keys that are durable and lie in no run yet.
//!
//! Owns them in memory, and the rows that hold them on disk until they are put into a run, very
//! many at once. Invariant: a durable key is in a row here, or in a run that the same commit
//! names which removes the row.

use std::sync::Arc;

use clewline_core::frontier::KeySet;
use clewline_core::key::Key;

use super::database::{Database, Space, StoreError, Weight, write_buffer};
use crate::failpoint::small_tables;
use crate::memory::MemoryPlan;

/// Rows of keys are called so, and then by batch and part.
const NAME: &[u8] = b"fresh.";
/// Behind all of them.
const BEHIND: &[u8] = b"fresh/";

/// Keys of a row at the most.
const ROW_KEYS: usize = 4096;
/// Bytes of a key.
const KEY_BYTES: usize = 16;
/// What a key takes in memory, on its way into a run included.
const KEY_ROOM: u64 = 40;
/// Keys that gather however little memory there is: each run is one more to look into. A test
/// that wants many runs has them of fewer.
const FEWEST: usize = 1 << 16;
const FEWEST_IF_SMALL: usize = 16;

/// Keys on their way into a run.
#[derive(Debug)]
struct Leaving {
    keys: Arc<KeySet<Key>>,
    /// They are in a run when this batch is durable.
    batch: u64,
}

/// Keys that are to be put into a run, and the rows that are not needed after that.
pub(super) struct Departure {
    pub(super) keys: Arc<KeySet<Key>>,
    pub(super) rows: Vec<Vec<u8>>,
}

/// Durable keys that lie in no run.
#[derive(Debug)]
pub(super) struct FreshKeys {
    keys: KeySet<Key>,
    rows: Vec<Vec<u8>>,
    leaving: Option<Leaving>,
    pub(super) most: usize,
}

impl FreshKeys {
    /// Finds what is on disk.
    pub(super) fn read(database: &Database, plan: MemoryPlan) -> Result<Self, StoreError> {
        let mut fresh = Self {
            keys: KeySet::default(),
            rows: Vec::new(),
            leaving: None,
            most: most(plan),
        };
        let mut is_sound = true;
        database.scan_between(Space::Meta, NAME, BEHIND, |name, row| {
            let (keys, rest) = row.as_chunks::<KEY_BYTES>();
            is_sound &= rest.is_empty();
            fresh.keys.extend(keys.iter().copied().map(Key::from_bytes));
            fresh.rows.push(name.to_vec());
            is_sound
        })?;
        if is_sound {
            Ok(fresh)
        } else {
            Err(StoreError::damaged("a row of keys"))
        }
    }

    pub(super) fn contains(&self, key: &Key) -> bool {
        let is_leaving = || {
            self.leaving
                .as_ref()
                .is_some_and(|it| it.keys.contains(key))
        };
        self.keys.contains(key) || is_leaving()
    }

    /// The keys of a batch became durable.
    pub(super) fn add(&mut self, batch: u64, keys: KeySet<Key>) {
        self.rows.extend(names(batch, keys.len()));
        if self.keys.is_empty() {
            self.keys = keys;
        } else {
            self.keys.extend(keys);
        }
    }

    /// What goes into a run together with this batch: everything, when it is enough.
    pub(super) fn depart(&mut self, batch: u64) -> Option<Departure> {
        if self.keys.len() < self.most || self.leaving.is_some() {
            return None;
        }
        let keys = Arc::new(std::mem::take(&mut self.keys));
        let rows = std::mem::take(&mut self.rows);
        let leaving = Arc::clone(&keys);
        self.leaving = Some(Leaving {
            keys: leaving,
            batch,
        });
        Some(Departure { keys, rows })
    }

    /// A batch is durable: what went with it is in a run.
    pub(super) fn arrived(&mut self, batch: u64) {
        self.leaving.take_if(|leaving| leaving.batch <= batch);
    }
}

/// How many keys gather before a run is made of them.
fn most(plan: MemoryPlan) -> usize {
    let keys = (write_buffer(plan, Weight::Large) / KEY_ROOM) as usize;
    small_tables().map_or(keys.max(FEWEST), |_| FEWEST_IF_SMALL)
}

/// The names of the rows that so many keys of a batch make.
fn names(batch: u64, keys: usize) -> impl Iterator<Item = Vec<u8>> {
    let parts = keys.div_ceil(ROW_KEYS) as u32;
    (0..parts).map(move |part| [NAME, &batch.to_be_bytes(), &part.to_be_bytes()].concat())
}

/// The keys of a batch as rows: their names and values.
pub(super) fn rows(batch: u64, keys: &KeySet<Key>) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
    let mut rest = keys.iter();
    names(batch, keys.len()).map(move |name| {
        let row = rest.by_ref().take(ROW_KEYS);
        (name, row.flat_map(Key::as_bytes).copied().collect())
    })
}
