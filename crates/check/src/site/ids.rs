//! The ids of pages that were asked for lately.
//!
//! Owns how many of them stay in memory. It refuses to know where they are read from. Invariant: what
//! is kept takes at most [`MOST_CACHED`] bytes, in two halves: when the newer is full the older goes.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use clewline_core::key::Key;

/// Bytes of ids that are kept in memory.
pub const MOST_CACHED: usize = 64 << 20;

/// What an entry costs beside its ids.
const ENTRY: usize = 64;

#[derive(Debug, Default)]
pub(super) struct IdCache(Mutex<Halves>);

#[derive(Debug, Default)]
struct Halves {
    newer: HashMap<Key, Arc<[u64]>>,
    older: HashMap<Key, Arc<[u64]>>,
    /// Bytes of the newer half.
    held: usize,
}

impl IdCache {
    /// The ids of a page, read if they are not held.
    pub(super) fn ids(
        &self,
        key: Key,
        read: impl FnOnce() -> io::Result<Vec<u64>>,
    ) -> io::Result<Arc<[u64]>> {
        if let Some(held) = self.lock().find(key) {
            return Ok(held);
        }
        let ids: Arc<[u64]> = read()?.into();
        self.lock().keep(key, &ids);
        Ok(ids)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Halves> {
        // A panic elsewhere leaves the maps whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Halves {
    fn find(&mut self, key: Key) -> Option<Arc<[u64]>> {
        if let Some(ids) = self.newer.get(&key) {
            return Some(Arc::clone(ids));
        }
        let ids = self.older.remove(&key)?;
        self.keep(key, &ids);
        Some(ids)
    }

    fn keep(&mut self, key: Key, ids: &Arc<[u64]>) {
        let cost = size_of_val::<[u64]>(ids) + ENTRY;
        if self.held + cost > MOST_CACHED / 2 {
            self.older = std::mem::take(&mut self.newer);
            self.held = 0;
        }
        self.held += cost;
        self.newer.insert(key, Arc::clone(ids));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_lately_is_held_within_the_bound() {
        let cache = IdCache::default();
        let ids = vec![7; MOST_CACHED / 2 / 8 / 4];
        for number in 0..20 {
            let key = Key::from_number(number);
            cache.ids(key, || Ok(ids.clone())).unwrap();
            let held = cache.ids(key, || Err(io::Error::other("read again")));
            assert_eq!(held.unwrap().len(), ids.len(), "{number}");
            let halves = cache.lock();
            let count = halves.newer.len() + halves.older.len();
            assert!(count * ids.len() * 8 <= MOST_CACHED, "{count}");
        }
        let first = Key::from_number(0);
        assert!(cache.ids(first, || Err(io::Error::other("gone"))).is_err());
    }
}
