//! A batch of a member: what it changed in each shard, and what it sends.
//!
//! Owns what becomes of a batch when a shard of it is lost before it counts: its part is dropped,
//! and what pages of other shards added to it becomes mail for its owner. It refuses to know how a
//! batch is committed. Invariant: a link is in the same commit as the page that it was found on, or
//! in none.

use std::collections::{BTreeMap, HashSet};

use clewline_core::fleet::{
    CommitPart, Fence, FleetCommit, JobPhase, Mail, MailId, ShardId, Shards,
};
use clewline_core::frontier::{QueueEntry, ShardCounts};
use clewline_core::key::{Key, Keyer};

use super::messages::{Delta, pack_mail};

/// Which shard a URL belongs to.
#[derive(Debug, Clone)]
pub(crate) struct ShardMap {
    pub(crate) cut: Shards,
    pub(crate) keyer: Keyer,
}

impl ShardMap {
    /// The shard of a key.
    pub(crate) fn shard_of(&self, key: Key) -> ShardId {
        self.cut.of(key.host())
    }

    /// The shard of the page on which a URL was found.
    pub(crate) fn source(&self, entry: &QueueEntry) -> Option<ShardId> {
        let page = entry.found_on.as_ref()?;
        Some(self.shard_of(self.keyer.key(page)))
    }
}

/// What a batch says of a shard beside its delta.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ShardFacts {
    /// In which of its tenures here.
    pub(crate) tenure: u64,
    /// How many deltas its log had.
    pub(crate) head: u64,
    pub(crate) counts: ShardCounts,
    pub(crate) pages: u64,
    pub(crate) bytes: u64,
    pub(crate) returns: u64,
    pub(crate) wants: bool,
    pub(crate) idle_in: Option<JobPhase>,
}

/// Everything between two seals.
#[derive(Debug, Default)]
pub(crate) struct FleetBatch {
    pub(crate) number: u64,
    pub(crate) deltas: BTreeMap<ShardId, Delta>,
    /// Mail, and the shard whose page it came from, if it came from one.
    pub(crate) mail: Vec<(Option<ShardId>, Mail)>,
    pub(crate) facts: BTreeMap<ShardId, ShardFacts>,
    pub(crate) imported: Vec<MailId>,
    pub(crate) joined: Vec<String>,
    /// What it sends, by the shard that it comes from.
    sending: HashSet<(Option<ShardId>, Key)>,
    /// Shards that it was to change and that were lost, each in the tenure of the batch.
    pub(crate) lost: BTreeMap<ShardId, u64>,
}

impl FleetBatch {
    /// What it changes in a shard.
    pub(crate) fn delta(&mut self, shard: ShardId) -> &mut Delta {
        self.deltas.entry(shard).or_default()
    }

    /// Whether nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.deltas.is_empty() && self.mail.is_empty()
    }

    /// Adds mail; what the same shard sends twice goes out once, but for a URL that its chain asks
    /// for again.
    pub(crate) fn send(&mut self, mail: Mail, map: &ShardMap) {
        let from = match &mail {
            Mail::Url(entry) => {
                let from = map.source(entry);
                let again = entry.chain.as_ref().is_some_and(|chain| chain.revisited);
                if !self.sending.insert((from, entry.key)) && !again {
                    return;
                }
                from
            }
            Mail::RobotsFetch(_) | Mail::RobotsAnswer { .. } => None,
        };
        self.mail.push((from, mail));
    }

    /// A shard is lost, and its part of the batch with it. What pages of other shards added to it
    /// would be lost as well, so that goes to its owner by mail.
    pub(crate) fn lose(&mut self, shard: ShardId, map: &ShardMap) {
        self.mail.retain(|(from, _)| *from != Some(shard));
        // Whoever wins it again in this batch sends it anew.
        self.sending.retain(|(from, _)| *from != Some(shard));
        let facts = self.facts.remove(&shard).unwrap_or_default();
        self.imported.retain(|id| id.shard != shard);
        let Some(delta) = self.deltas.remove(&shard) else {
            return;
        };
        self.lost.insert(shard, facts.tenure);
        for entry in delta.queued {
            let from = map.source(&entry);
            if from.is_some_and(|from| from != shard) {
                self.mail.push((from, Mail::Url(Box::new(entry))));
            }
        }
    }

    /// Whether anything of it is about a shard, or may be: mail of which nobody knows on whose behalf
    /// it is sent.
    pub(crate) fn has_part_of(&self, shard: ShardId) -> bool {
        let mut mail = self.mail.iter();
        self.deltas.contains_key(&shard)
            || mail.any(|(from, _)| from.is_none_or(|from| from == shard))
    }

    /// The keys of URLs that it sends.
    pub(crate) fn sent_keys(&self) -> Vec<Key> {
        let urls = self.mail.iter().filter_map(|(_, mail)| match mail {
            Mail::Url(entry) => Some(entry.key),
            Mail::RobotsFetch(_) | Mail::RobotsAnswer { .. } => None,
        });
        urls.collect()
    }

    /// How much it holds: changes and mail.
    pub(crate) fn size(&self) -> usize {
        let deltas = self.deltas.values();
        let changes = deltas.map(|delta| delta.queued.len() + delta.settled.len());
        changes.sum::<usize>() + self.mail.len()
    }

    /// The commit of it by a worker, with the epochs in which it holds the shards now.
    pub(crate) fn commit(
        &self,
        worker: u64,
        epochs: &BTreeMap<ShardId, u64>,
        map: &ShardMap,
    ) -> FleetCommit {
        let parts = self.deltas.iter().map(|(shard, delta)| {
            let facts = self.facts.get(shard).copied().unwrap_or_default();
            CommitPart {
                shard: *shard,
                fence: Fence {
                    epoch: epochs.get(shard).copied().unwrap_or_default(),
                    head: facts.head,
                },
                delta: delta.pack(),
                counts: facts.counts,
                pages: facts.pages,
                bytes: facts.bytes,
                returns: facts.returns,
                wants: facts.wants,
                idle_in: facts.idle_in,
            }
        });
        let mut mail: BTreeMap<ShardId, Vec<&Mail>> = BTreeMap::new();
        for (_, one) in &self.mail {
            let shard = map.cut.of(one.host(&map.keyer));
            mail.entry(shard).or_default().push(one);
        }
        let mail = mail.into_iter();
        FleetCommit {
            worker,
            batch: self.number,
            parts: parts.collect(),
            mail: mail
                .map(|(shard, mail)| (shard, pack_mail(mail.into_iter())))
                .collect(),
            imported: self.imported.clone(),
            joined: self.joined.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use clewline_core::frontier::{Origin, RobotsFetch};
    use clewline_core::url::CrawlUrl;

    use super::*;
    use crate::store::tests::plain_entry;

    fn map() -> ShardMap {
        ShardMap {
            cut: Shards::new(6),
            keyer: Keyer::new(3, &[]),
        }
    }

    fn url(text: &str) -> CrawlUrl {
        CrawlUrl::parse(text).unwrap()
    }

    #[test]
    fn a_batch_is_about_the_shards_that_it_changes_and_on_whose_behalf_it_sends() {
        let map = map();
        let key = |text: &str| map.keyer.key(&url(text));
        let (mine, other) = ("http://a.test/", "http://b.test/");
        let shards = [mine, other].map(|text| map.shard_of(key(text)));
        assert_ne!(shards[0], shards[1]);
        let parts = |batch: &FleetBatch| shards.map(|shard| batch.has_part_of(shard));
        let mut batch = FleetBatch::default();
        batch.delta(shards[0]).known.push(key(mine));
        assert_eq!(parts(&batch), [true, false]);
        let mut batch = FleetBatch::default();
        let link = QueueEntry {
            found_on: Some(Arc::new(url(other))),
            ..plain_entry(&map.keyer, url("http://c.test/"), 1)
        };
        batch.send(Mail::Url(Box::new(link)), &map);
        assert_eq!(parts(&batch), [false, true]);
        let asker = (key(mine).host(), Origin::from_url(&url(mine)));
        let fetch = RobotsFetch::new(url(other), asker, 5);
        batch.send(Mail::RobotsFetch(Box::new(fetch)), &map);
        assert_eq!(parts(&batch), [true, true], "nobody knows on whose behalf");
    }

    #[test]
    fn mail_of_a_shard_that_was_lost_is_sent_again_when_it_is_won_again() {
        let map = map();
        let page = "http://b.test/";
        let from = map.shard_of(map.keyer.key(&url(page)));
        let send = |batch: &mut FleetBatch| {
            let link = QueueEntry {
                found_on: Some(Arc::new(url(page))),
                ..plain_entry(&map.keyer, url("http://c.test/"), 1)
            };
            batch.send(Mail::Url(Box::new(link)), &map);
            batch.mail.len()
        };
        let mut batch = FleetBatch::default();
        assert_eq!((send(&mut batch), send(&mut batch)), (1, 1));
        batch.lose(from, &map);
        assert_eq!(batch.mail.len(), 0);
        assert_eq!(send(&mut batch), 1);
    }
}
