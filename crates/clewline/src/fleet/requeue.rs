//! URLs of a shard that are queued again, because what a worker wrote of them is lost.
//!
//! Owns the way from the history of a shard to what queues them. It refuses to know why they are
//! lost and who writes it down. Invariants: only a URL that reached its end and does not wait is
//! queued, once; a host may fetch as many pages again as are lost of it.

use std::collections::BTreeMap;

use clewline_core::fleet::{ShardHistory, ShardRequeue};
use clewline_core::frontier::{Class, QueueEntry};
use clewline_core::key::{Key, Keyer};
use clewline_job::merge::LostUrls;

use super::messages::{BadMessage, Delta};
use super::shard_log::ShardLog;

/// Everything in a shard that reached its end, and the rest of its log.
fn settled(
    history: &ShardHistory,
    keyer: &Keyer,
) -> Result<(BTreeMap<Key, QueueEntry>, ShardLog), BadMessage> {
    let mut log = ShardLog::read(&history.log, keyer)?;
    let mut settled = BTreeMap::new();
    for body in &history.past {
        let past = Delta::read(body, keyer)?.queued;
        settled.extend(past.into_iter().map(|entry| (entry.key, entry)));
    }
    let since = std::mem::take(&mut log.settled).into_iter();
    settled.extend(since.map(|entry| (entry.key, entry)));
    // What was queued again before still waits.
    for entry in &log.queued {
        settled.remove(&entry.key);
    }
    Ok((settled, log))
}

/// The keys of everything in a shard that reached its end.
pub(crate) fn settled_keys(history: &ShardHistory, keyer: &Keyer) -> Result<Vec<Key>, BadMessage> {
    let (settled, _) = settled(history, keyer)?;
    Ok(settled.into_keys().collect())
}

/// Queues what is lost of a shard.
pub(crate) fn requeue(
    history: &ShardHistory,
    lost: &LostUrls,
    keyer: &Keyer,
) -> Result<ShardRequeue, BadMessage> {
    let (settled, log) = settled(history, keyer)?;
    let mut counts = history.row.counts;
    let mut delta = Delta::default();
    for (key, mut entry) in settled {
        if !lost.keys.contains(&key) {
            continue;
        }
        // It had been asked in the end.
        if entry.class == Class::Withheld {
            entry.class = Class::Normal;
        }
        if let Some(lane) = log.lanes.get(&key.host()) {
            let lane = delta.lanes.entry(key.host()).or_insert(lane.clone());
            lane.pages = lost.pages.get(&key.host()).copied().unwrap_or_default();
        }
        counts.requeue(&entry);
        delta.queued.push(entry);
    }
    Ok(ShardRequeue {
        shard: history.row.shard,
        fence: history.row.fence,
        delta: delta.pack(),
        counts,
        urls: delta.queued.len() as u64,
    })
}
