//! Keys that are durable and lie in no run yet.
//!
//! Owns them in memory, and the names of the rows that hold them on disk until they are put into
//! a run, very many at once. Invariant: a durable key is in a row here, or in a run that the same
//! commit names which removes the row.

use std::ops::RangeInclusive;
use std::sync::Arc;

use clewline_core::frontier::KeySet;
use clewline_core::key::Key;

use crate::rows::{SavedKeys, fresh_names};

/// Keys on their way into a run.
#[derive(Debug)]
struct Leaving {
    keys: Arc<KeySet<Key>>,
    /// They are in a run when this batch is durable.
    batch: u64,
}

/// Keys that are to be put into a run, and the rows that are not needed after that.
pub(crate) struct Departure {
    pub(crate) keys: Arc<KeySet<Key>>,
    pub(crate) rows: Vec<Vec<u8>>,
}

/// Durable keys that lie in no run.
#[derive(Debug)]
pub(crate) struct FreshKeys {
    keys: KeySet<Key>,
    rows: Vec<Vec<u8>>,
    leaving: Option<Leaving>,
    most: usize,
    /// The rows hold keys that were forgotten, so they go with the next batch.
    must_depart: bool,
}

impl FreshKeys {
    /// What a start found; a run is made of so many keys.
    pub(crate) fn new(saved: SavedKeys, most: usize) -> Self {
        Self {
            keys: saved.fresh,
            rows: saved.fresh_rows,
            leaving: None,
            most,
            must_depart: false,
        }
    }

    pub(crate) fn contains(&self, key: &Key) -> bool {
        let is_leaving = || {
            self.leaving
                .as_ref()
                .is_some_and(|it| it.keys.contains(key))
        };
        self.keys.contains(key) || is_leaving()
    }

    /// All keys, those on their way into a run included.
    pub(crate) fn keys(&self) -> impl Iterator<Item = Key> {
        let leaving = self.leaving.iter().flat_map(|leaving| leaving.keys.iter());
        self.keys.iter().chain(leaving).copied()
    }

    /// The keys of a batch became durable.
    pub(crate) fn add(&mut self, batch: u64, keys: KeySet<Key>) {
        self.rows.extend(fresh_names(batch, keys.len()));
        if self.keys.is_empty() {
            self.keys = keys;
        } else {
            self.keys.extend(keys);
        }
    }

    /// Forgets the keys of a range. None may be on its way into a run.
    pub(crate) fn forget(&mut self, range: &RangeInclusive<Key>) {
        debug_assert!(self.leaving.is_none(), "no batch waits for its commit");
        let before = self.keys.len();
        self.keys.retain(|key| !range.contains(key));
        self.must_depart |= self.keys.len() < before;
    }

    /// What goes into a run together with this batch: everything, when it is enough.
    pub(crate) fn depart(&mut self, batch: u64) -> Option<Departure> {
        let is_enough = self.keys.len() >= self.most || self.must_depart;
        if !is_enough || self.leaving.is_some() {
            return None;
        }
        self.must_depart = false;
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
    pub(crate) fn arrived(&mut self, batch: u64) {
        self.leaving.take_if(|leaving| leaving.batch <= batch);
    }
}
