//! Which batches count.
//!
//! Owns the table of tenures as the merge asks it: does what this worker wrote in this batch for
//! this shard count, and in which tenure? It refuses to know files. Invariant: a batch counts in a
//! shard only from the first to the last batch of a tenure, so one that was refused before the same
//! worker claimed the shard again counts nowhere.

use std::collections::{BTreeMap, HashMap, HashSet};

use clewline_core::fleet::{CutTenure, ShardId, Shards, Tenure};
use clewline_core::key::Key;

use super::worker_folder::name_of;

/// A worker whose pages are not all there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingWorker {
    /// Which one.
    pub worker: u64,
    /// Pages that counted and are not there.
    pub pages: u64,
    /// The tenures they belong to.
    pub tenures: Vec<Tenure>,
}

impl std::fmt::Display for MissingWorker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let pages = if self.pages == 1 { "page" } else { "pages" };
        write!(
            formatter,
            "{} ({} {pages})",
            name_of(self.worker),
            self.pages
        )
    }
}

/// A tenure in which more pages were found than it brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Surplus {
    pub(super) tenure: Tenure,
    pub(super) found: u64,
}

/// The table of tenures, and the pages that were found of each.
#[derive(Debug)]
pub(super) struct Counting {
    shards: Shards,
    tenures: Vec<Tenure>,
    /// Tenures of a worker and a shard that count at all, by their numbers in the table.
    held: HashMap<(u64, ShardId), Vec<usize>>,
    found: Vec<u64>,
}

impl Counting {
    pub(super) fn new(bits: u32, tenures: Vec<Tenure>) -> Self {
        let mut held: HashMap<_, Vec<usize>> = HashMap::new();
        for (number, tenure) in tenures.iter().enumerate() {
            if tenure.batches.is_some() {
                let place = held.entry((tenure.worker, tenure.shard)).or_default();
                place.push(number);
            }
        }
        Self {
            shards: Shards::new(bits),
            found: vec![0; tenures.len()],
            tenures,
            held,
        }
    }

    /// The tenure in which a batch of a worker counts for a key, by its number.
    pub(super) fn tenure(&self, worker: u64, batch: u64, key: Key) -> Option<usize> {
        let held = self.held.get(&(worker, self.shards.of(key.host())))?;
        let counts = |number: &&usize| {
            let batches = self.tenures[**number].batches;
            batches.is_some_and(|(first, last)| (first..=last).contains(&batch))
        };
        held.iter().find(counts).copied()
    }

    /// A page was found of a tenure.
    pub(super) fn found_page(&mut self, tenure: usize) {
        self.found[tenure] += 1;
    }

    /// Workers that held something and left no folder.
    pub(super) fn absent(&self, there: &HashSet<u64>) -> Vec<MissingWorker> {
        let is_absent = |tenure: &Tenure| !there.contains(&tenure.worker);
        gathered(
            self.counted().filter(|(tenure, _)| is_absent(tenure)),
            |tenure, _| tenure.pages,
        )
    }

    /// Workers of which fewer pages were found than counted.
    pub(super) fn short(&self) -> Vec<MissingWorker> {
        let is_short = |(tenure, found): &(&Tenure, u64)| *found < tenure.pages;
        gathered(self.counted().filter(is_short), |tenure, found| {
            tenure.pages - found
        })
    }

    /// Tenures of which something is lost, as far as they are there: `reached` is the last batch of
    /// a worker that its folder speaks of. What is behind that never counts again, even if a whole
    /// folder turns up later.
    pub(super) fn cut(&self, reached: &HashMap<u64, u64>) -> Vec<CutTenure> {
        let cut = self.counted().filter_map(|(tenure, found)| {
            let end = reached.get(&tenure.worker).copied().unwrap_or_default();
            let (first, last) = tenure.batches?;
            let kept = Tenure {
                batches: (first <= end).then_some((first, last.min(end))),
                pages: found.min(tenure.pages),
                ..*tenure
            };
            (kept != *tenure).then_some(CutTenure { was: *tenure, kept })
        });
        cut.collect()
    }

    /// The first tenure of which more pages were found than counted: a defect.
    pub(super) fn surplus(&self) -> Option<Surplus> {
        let mut counted = self.counted();
        let (tenure, found) = counted.find(|(tenure, found)| *found > tenure.pages)?;
        Some(Surplus {
            tenure: *tenure,
            found,
        })
    }

    fn counted(&self) -> impl Iterator<Item = (&Tenure, u64)> {
        let all = self.tenures.iter().zip(self.found.iter().copied());
        all.filter(|(tenure, _)| tenure.batches.is_some())
    }
}

/// Workers with their tenures, in the order of their names.
fn gathered<'a>(
    tenures: impl Iterator<Item = (&'a Tenure, u64)>,
    lacking: impl Fn(&Tenure, u64) -> u64,
) -> Vec<MissingWorker> {
    let mut workers: BTreeMap<u64, MissingWorker> = BTreeMap::new();
    for (tenure, found) in tenures {
        let missing = workers.entry(tenure.worker).or_insert(MissingWorker {
            worker: tenure.worker,
            pages: 0,
            tenures: Vec::new(),
        });
        missing.pages += lacking(tenure, found);
        missing.tenures.push(*tenure);
    }
    workers.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_counts_only_within_a_tenure_of_its_worker_and_shard() {
        let tenure = |epoch, worker, batches| Tenure {
            shard: ShardId(1),
            epoch,
            worker,
            batches,
            pages: 1,
        };
        let tenures = vec![
            tenure(1, 7, Some((2, 4))),
            tenure(2, 8, Some((1, 9))),
            tenure(3, 7, Some((6, 6))),
            tenure(4, 8, None),
        ];
        let mut counting = Counting::new(1, tenures);
        // In the last of 4,096 partitions.
        let here = Key::from_number(0x0fff << 112);
        let elsewhere = Key::from_number(0);
        let of = |worker, batch, key| counting.tenure(worker, batch, key);
        let seen: Vec<_> = (1..8).map(|batch| of(7, batch, here)).collect();
        let expected = [None, Some(0), Some(0), Some(0), None, Some(2), None];
        assert_eq!(seen, expected);
        assert_eq!(
            (of(8, 5, here), of(9, 5, here), of(7, 3, elsewhere)),
            (Some(1), None, None)
        );

        counting.found_page(0);
        let absent = counting.absent(&HashSet::from([7]));
        assert_eq!(absent.len(), 1);
        assert_eq!((absent[0].worker, absent[0].pages), (8, 1));
        let short: Vec<_> = counting
            .short()
            .iter()
            .map(|it| (it.worker, it.pages))
            .collect();
        assert_eq!(short, [(7, 1), (8, 1)]);
        assert_eq!(counting.surplus(), None);
        counting.found_page(0);
        assert_eq!(counting.surplus().unwrap().found, 2);
    }
}
