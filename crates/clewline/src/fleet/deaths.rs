//! Deaths of members: a page that kills each worker that reads it must not kill all of them.
//!
//! Owns how a death is found, told and counted. Each member has a board of the pages in its hand
//! ([`LeaseBoard`](crate::leases::LeaseBoard)). Whoever starts on the same machine reads the boards of
//! members that died there and tells all others, by an order. It refuses to know what becomes of a page
//! under suspicion. Invariants: a death counts once, however often it is told; the board of a member
//! that lives is left alone. It is a help, not the truth: the deaths of a machine on which nobody starts
//! again are not counted.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use clewline_core::frontier::{Frontier, Store};
use clewline_core::key::Key;
use clewline_job::folder::{STATE, is_in_use};
use clewline_job::merge::{FLEET_FILE, FleetFile};
use serde::{Deserialize, Serialize};

use crate::leases::{self, CrashCount, PageStage};

/// Pages of one death that are told; those that were being read come first.
const MOST_TOLD: usize = 1024;
/// Pages that are counted; later ones are not.
const MOST_COUNTED: usize = 65_536;
/// Deaths that are told apart; later ones are not counted.
const MOST_DEATHS: usize = 65_536;

/// What a member had in hand when it died.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MemberDeath {
    worker: u64,
    /// Pages whose answer had begun to arrive.
    reading: Vec<Key>,
    /// Pages that were only asked for.
    asked: Vec<Key>,
}

impl MemberDeath {
    fn new(worker: u64, mut left: Vec<(Key, PageStage)>) -> Self {
        left.sort_unstable_by_key(|(key, progress)| (*progress, *key));
        left.truncate(MOST_TOLD);
        let of = |wanted| {
            let pages = left.iter().filter(|(_, progress)| *progress == wanted);
            pages.map(|(key, _)| *key).collect()
        };
        Self {
            worker,
            reading: of(PageStage::Reading),
            asked: of(PageStage::Asked),
        }
    }
}

/// A death that was found, and the board that shows it.
#[derive(Debug)]
pub(crate) struct FoundDeath {
    pub(crate) death: MemberDeath,
    board: PathBuf,
}

impl FoundDeath {
    /// Everybody knows: it need not be told again.
    pub(crate) fn mark_told(&self) {
        fs::remove_file(&self.board).ok();
    }
}

/// The deaths among the members with folders in this one that had a page in hand and that nobody
/// told. What cannot be read counts for nothing.
pub(crate) fn found_in(workers: &Path, seed: u64) -> Vec<FoundDeath> {
    let entries = fs::read_dir(workers).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| found_at(&entry.path(), seed))
        .collect()
}

fn found_at(folder: &Path, seed: u64) -> Option<FoundDeath> {
    let state = folder.join(STATE);
    let board = state.join(leases::FILE);
    if !board.exists() || is_in_use(folder) {
        return None;
    }
    let file: FleetFile = serde_json::from_slice(&fs::read(folder.join(FLEET_FILE)).ok()?).ok()?;
    let left = leases::left_in_hand(&state).ok()?;
    (file.seed == seed && !left.is_empty()).then(|| FoundDeath {
        death: MemberDeath::new(file.worker, left),
        board,
    })
}

/// How often each page was in hand when a member died.
#[derive(Debug, Default)]
pub(crate) struct DeathCounts {
    heard: HashSet<u64>,
    pages: HashMap<Key, CrashCount>,
}

impl DeathCounts {
    /// Hears of a death.
    pub(crate) fn hear(&mut self, death: &MemberDeath) {
        if self.heard.len() >= MOST_DEATHS || !self.heard.insert(death.worker) {
            return;
        }
        let reading = death.reading.iter().map(|key| (key, PageStage::Reading));
        let asked = death.asked.iter().map(|key| (key, PageStage::Asked));
        for (key, progress) in reading.chain(asked).take(MOST_TOLD) {
            if self.pages.len() < MOST_COUNTED || self.pages.contains_key(key) {
                self.pages.entry(*key).or_default().add(progress);
            }
        }
    }

    /// Tells a frontier which pages are under suspicion; those of hosts of others do no harm.
    pub(crate) fn suspect_in<S: Store>(&self, frontier: &mut Frontier<S>) {
        for (key, count) in &self.pages {
            if let Some(suspicion) = count.suspicion() {
                frontier.suspect(*key, suspicion);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clewline_core::frontier::{JobId, Suspicion};
    use clewline_job::folder::take_lock;

    use super::*;
    use crate::leases::LeaseBoard;

    fn key(number: u8) -> Key {
        Key::from_bytes([number; 16])
    }

    /// A member that reads page 1 and asks for page 2.
    fn member(workers: &Path, worker: u64) -> LeaseBoard {
        let folder = workers.join(format!("{worker:016x}"));
        let state = folder.join(STATE);
        fs::create_dir_all(&state).unwrap();
        fs::write(state.join("lock"), "").unwrap();
        let file = serde_json::json!({
            "job": "test", "worker": worker, "seed": 7, "bits": 4, "format": 1,
        });
        fs::write(folder.join(FLEET_FILE), file.to_string()).unwrap();
        let mut board = LeaseBoard::open(&state).unwrap();
        let read = board.lend(JobId(1), key(1));
        board.lend(JobId(2), key(2));
        board.write();
        read.reading();
        board
    }

    fn workers_in(found: &[FoundDeath]) -> Vec<u64> {
        let mut workers: Vec<u64> = found.iter().map(|one| one.death.worker).collect();
        workers.sort_unstable();
        workers
    }

    #[test]
    fn only_members_of_the_job_that_died_with_a_page_in_hand_are_found_and_once() {
        let place = tempfile::tempdir().unwrap();
        let workers = place.path();
        let dead = [1, 2].map(|worker| member(workers, worker));
        member(workers, 3).close();
        let alive = member(workers, 4);
        let lock = take_lock(&workers.join(format!("{:016x}", 4))).unwrap();
        fs::create_dir(workers.join("empty")).unwrap();
        let found = found_in(workers, 7);
        assert_eq!(workers_in(&found), [1, 2]);
        assert_eq!(found[0].death.reading, [key(1)]);
        assert_eq!(found[0].death.asked, [key(2)]);
        assert!(found_in(workers, 8).is_empty(), "of another job");
        found.iter().for_each(FoundDeath::mark_told);
        assert!(found_in(workers, 7).is_empty(), "they were told");
        drop((dead, alive, lock));
        assert_eq!(workers_in(&found_in(workers, 7)), [4]);
    }

    #[test]
    fn a_death_counts_once_however_often_it_is_heard_of() {
        let mut counts = DeathCounts::default();
        let suspicion =
            |counts: &DeathCounts, page| counts.pages.get(&key(page)).unwrap().suspicion();
        let death = |worker| {
            let left = vec![(key(2), PageStage::Asked), (key(1), PageStage::Reading)];
            MemberDeath::new(worker, left)
        };
        for _ in 0..9 {
            counts.hear(&death(1));
        }
        assert_eq!(suspicion(&counts, 1), None);
        counts.hear(&death(2));
        assert_eq!(suspicion(&counts, 1), Some(Suspicion::Watched));
        counts.hear(&death(3));
        assert_eq!(suspicion(&counts, 1), Some(Suspicion::Guilty));
        assert_eq!(suspicion(&counts, 2), None, "it was only asked for");
    }

    #[test]
    fn of_a_death_the_pages_that_were_read_are_told_first_and_not_all_of_them() {
        let page = |number: u32| Key::from_number(u128::from(number));
        let asked = (0..5000).map(|number| (page(number), PageStage::Asked));
        let left: Vec<_> = asked.chain([(page(9000), PageStage::Reading)]).collect();
        let death = MemberDeath::new(1, left);
        assert_eq!(death.reading, [page(9000)]);
        assert_eq!(death.asked.len(), MOST_TOLD - 1);
    }
}
