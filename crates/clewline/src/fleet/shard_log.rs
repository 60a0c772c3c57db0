//! What the log of a shard amounts to.
//!
//! Owns the way from the deltas of a shard to what is known of it now, and back to a checkpoint:
//! the same for whoever takes a shard over and for whoever shortens its log. It refuses to know
//! where the log lies. Invariants: a URL that was settled is not queued, unless it was queued again
//! after that; a checkpoint amounts to the same as what it stands for, and what was settled is in the
//! past of one checkpoint with its text, so that it can be queued again if its record is lost.

use std::collections::{BTreeMap, HashMap};

use clewline_core::cookies::CookieJar;
use clewline_core::fleet::{LogPart, ShardCheckpoint};
use clewline_core::frontier::{LaneRow, QueueEntry};
use clewline_core::key::{HostId, Key, Keyer};

use super::messages::{BadMessage, Delta};

#[cfg(test)]
mod tests;

/// Keys and URLs in one part of a checkpoint, about a megabyte of them.
const PART_KEYS: usize = 100_000;
const PART_URLS: usize = 8_000;

/// All that is known of a shard.
#[derive(Debug, Default)]
pub(crate) struct ShardLog {
    /// What waits, in the order in which it was queued.
    pub(crate) queued: Vec<QueueEntry>,
    /// What reached its end since the checkpoint, in the order in which it was queued.
    pub(crate) settled: Vec<QueueEntry>,
    /// What is known, sorted.
    pub(crate) known: Vec<Key>,
    pub(crate) lanes: BTreeMap<HostId, LaneRow>,
    pub(crate) cookies: BTreeMap<String, CookieJar>,
}

impl ShardLog {
    /// Reads a log, from its checkpoint on.
    pub(crate) fn read(parts: &[LogPart], keyer: &Keyer) -> Result<Self, BadMessage> {
        let mut log = Self::default();
        // How often a URL was settled: that many times it does not wait, the first ones.
        let mut settled: HashMap<Key, u32> = HashMap::new();
        let mut renamed: Vec<Key> = Vec::new();
        for part in parts {
            let delta = Delta::read(&part.body, keyer)?;
            for key in delta
                .settled
                .into_iter()
                .chain(delta.renamed.iter().copied())
            {
                *settled.entry(key).or_default() += 1;
            }
            renamed.extend(delta.renamed);
            log.known.extend(delta.known);
            log.known.extend(delta.queued.iter().map(|entry| entry.key));
            log.queued.extend(delta.queued);
            log.lanes.extend(delta.lanes);
            log.cookies.extend(delta.cookies);
        }
        let is_over = |entry: &mut QueueEntry| match settled.get_mut(&entry.key) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        };
        let over: Vec<QueueEntry> = log.queued.extract_if(.., is_over).collect();
        log.settled = ended(over, &log.queued, &renamed);
        log.known.sort_unstable();
        log.known.dedup();
        Ok(log)
    }

    /// A checkpoint that stands for everything up to a delta.
    pub(crate) fn checkpoint(&self, seq: u64) -> ShardCheckpoint {
        let mut deltas = vec![Delta {
            lanes: self.lanes.clone(),
            cookies: self.cookies.clone(),
            ..Delta::default()
        }];
        deltas.extend(self.known.chunks(PART_KEYS).map(|keys| Delta {
            known: keys.to_vec(),
            ..Delta::default()
        }));
        deltas.extend(urls(&self.queued));
        let parts = (0..).zip(&deltas);
        let parts = parts.map(|(number, delta)| LogPart {
            seq,
            part: Some(number),
            body: delta.pack(),
        });
        ShardCheckpoint {
            seq,
            parts: parts.collect(),
            past: urls(&self.settled).map(|delta| delta.pack()).collect(),
        }
    }
}

/// Deltas that queue URLs.
fn urls(entries: &[QueueEntry]) -> impl Iterator<Item = Delta> {
    entries.chunks(PART_URLS).map(|entries| Delta {
        queued: entries.to_vec(),
        ..Delta::default()
    })
}

/// What reached its end, each URL once: a URL may have been queued elsewhere before that, and one
/// that waits again or goes on under another key did not.
fn ended(over: Vec<QueueEntry>, queued: &[QueueEntry], renamed: &[Key]) -> Vec<QueueEntry> {
    let places = over.iter().enumerate();
    let mut last: HashMap<Key, usize> = places.map(|(at, entry)| (entry.key, at)).collect();
    for key in queued.iter().map(|entry| &entry.key).chain(renamed) {
        last.remove(key);
    }
    let over = over.into_iter().enumerate();
    over.filter(|(at, entry)| last.get(&entry.key) == Some(at))
        .map(|(_, entry)| entry)
        .collect()
}
