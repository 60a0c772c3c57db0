//! The lease board: which pages were in hand when the crawler died.
//!
//! Owns a small file beside the store. A page that is handed out is written on it before anybody
//! begins with it, and marked when its answer begins to arrive; both are positioned writes
//! without a sync, which survive the process, though not the machine. What comes and goes
//! between two writes is written together, so that many pages cost few system calls. What an unclean end leaves on the board gets a strike,
//! and strikes are made durable before anything is handed out again. It refuses to know what
//! becomes of a page under suspicion. It is a help, not the truth: a write that fails costs a
//! strike and nothing else.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clewline_core::frontier::{JobId, KeyMap, Suspicion};
use clewline_core::key::Key;
use clewline_platform::file::write_all_at;
use xxhash_rust::xxh3::xxh3_64;

/// The file in the folder of the state.
pub(crate) const FILE: &str = "leases";

/// How the file begins, with the version of its layout.
const MAGIC: &[u8; 8] = b"leases01";
/// Magic, number of strikes, their check.
const HEAD: usize = 24;
/// A key and two counts.
const STRUCK: usize = 18;
/// A key, its check, and whether the answer had begun.
const SLOT: usize = 32;
/// Where in a slot that is.
const READING: u64 = 24;
/// Pages with strikes that are kept; those with the fewest go first.
const MOST_STRUCK: usize = 65_536;
/// A larger board is not one of ours.
const LARGEST: u64 = 64 * 1024 * 1024;

/// How often a page was in hand at an unclean end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CrashCount {
    /// Its answer had begun to arrive.
    reading: u8,
    /// It was only asked for.
    asked: u8,
}

impl CrashCount {
    /// One more, at which the page was in hand like this.
    pub(crate) const fn add(&mut self, progress: PageStage) {
        let count = match progress {
            PageStage::Asked => &mut self.asked,
            PageStage::Reading => &mut self.reading,
        };
        *count = count.saturating_add(1);
    }

    /// Three deaths while a page was read make it guilty, and the third happened while it was
    /// alone. That it was merely asked for weighs less: a request that waits does nothing that
    /// could kill, and many wait at any time.
    pub(crate) const fn suspicion(self) -> Option<Suspicion> {
        match (self.reading, self.reading.saturating_add(self.asked)) {
            (3.., _) | (_, 10..) => Some(Suspicion::Guilty),
            (2, _) | (_, 5..) => Some(Suspicion::Watched),
            _ => None,
        }
    }
}

/// How far a page had come that was in hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PageStage {
    /// Its answer had begun to arrive.
    Reading,
    /// It was only asked for.
    Asked,
}

/// The board of a run.
#[derive(Debug)]
pub(crate) struct LeaseBoard {
    path: PathBuf,
    file: Arc<File>,
    struck: HashMap<Key, CrashCount>,
    slots_at: u64,
    lent: KeyMap<u64, u32>,
    free: Vec<u32>,
    slots: u32,
    /// What the places hold that are not written yet.
    changed: BTreeMap<u32, Option<Key>>,
}

/// A page's place on the board, for the task that reads it.
#[derive(Debug, Clone)]
pub(crate) struct Lease {
    file: Arc<File>,
    at: u64,
}

impl Lease {
    /// The answer begins to arrive.
    pub(crate) fn reading(&self) {
        write_all_at(&self.file, &[1], self.at + READING).ok();
    }
}

impl LeaseBoard {
    /// Takes over the board of the last run; what stood on it gets a strike.
    pub(crate) fn open(state: &Path) -> io::Result<Self> {
        let path = state.join(FILE);
        let struck = match fs::metadata(&path) {
            Ok(metadata) if metadata.len() <= LARGEST => strike(&fs::read(&path)?),
            Ok(_) => HashMap::new(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => HashMap::new(),
            Err(error) => return Err(error),
        };
        let (file, slots_at) = write_afresh(&path, &struck)?;
        Ok(Self {
            path,
            file: Arc::new(file),
            struck,
            slots_at,
            lent: KeyMap::default(),
            free: Vec::new(),
            slots: 0,
            changed: BTreeMap::new(),
        })
    }

    /// The pages under suspicion.
    pub(crate) fn suspicions(&self) -> impl Iterator<Item = (Key, Suspicion)> {
        self.struck
            .iter()
            .filter_map(|(key, strikes)| Some((*key, strikes.suspicion()?)))
    }

    /// Gives a page a place; it stands there after the next [`LeaseBoard::write`], and whoever works
    /// on the page begins after that.
    pub(crate) fn lend(&mut self, job: JobId, key: Key) -> Lease {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots += 1;
            self.slots - 1
        });
        self.lent.insert(job.0, slot);
        self.changed.insert(slot, Some(key));
        Lease {
            file: Arc::clone(&self.file),
            at: self.place(slot),
        }
    }

    /// Takes a page off the board: what it could do to the crawler, it has not done.
    pub(crate) fn give_back(&mut self, job: JobId) {
        if let Some(slot) = self.lent.remove(&job.0) {
            self.changed.insert(slot, None);
            self.free.push(slot);
        }
    }

    /// Writes what changed, neighbours together. A place that did not change is left alone: it
    /// may have been marked meanwhile.
    pub(crate) fn write(&mut self) {
        let mut run = Vec::new();
        let mut end = 0;
        for (slot, key) in std::mem::take(&mut self.changed) {
            if slot != end {
                self.write_before(end, &run);
                run.clear();
            }
            run.extend_from_slice(&slot_bytes(key));
            end = slot + 1;
        }
        self.write_before(end, &run);
    }

    /// Writes the places before `end`.
    fn write_before(&self, end: u32, run: &[u8]) {
        if !run.is_empty() {
            let at = self.place(end) - run.len() as u64;
            write_all_at(&self.file, run, at).ok();
        }
    }

    /// The run ends as it should: nothing is in hand.
    pub(crate) fn close(self) {
        write_afresh(&self.path, &self.struck).ok();
    }

    fn place(&self, slot: u32) -> u64 {
        self.slots_at + u64::from(slot) * SLOT as u64
    }
}

/// What stands in a place with a page, or in an empty one.
fn slot_bytes(key: Option<Key>) -> [u8; SLOT] {
    let mut bytes = [0; SLOT];
    if let Some(key) = key {
        bytes[..16].copy_from_slice(key.as_bytes());
        bytes[16..24].copy_from_slice(&xxh3_64(key.as_bytes()).to_le_bytes());
    }
    bytes
}

/// The strikes of earlier runs, and one more for everything that stands on the board. What
/// cannot be read is left out.
fn strike(bytes: &[u8]) -> HashMap<Key, CrashCount> {
    let mut struck = HashMap::new();
    let Some((rows, slots)) = parts(bytes) else {
        return struck;
    };
    for row in rows.chunks_exact(STRUCK) {
        let strikes = CrashCount {
            reading: row[16],
            asked: row[17],
        };
        struck.insert(key_of(row), strikes);
    }
    for (key, progress) in pages_in(slots) {
        struck.entry(key).or_default().add(progress);
    }
    struck
}

/// The pages that stand on the board of a process that died, and how far they had come.
pub(crate) fn left_in_hand(state: &Path) -> io::Result<Vec<(Key, PageStage)>> {
    let path = state.join(FILE);
    if fs::metadata(&path)?.len() > LARGEST {
        return Ok(Vec::new());
    }
    let bytes = fs::read(&path)?;
    Ok(parts(&bytes).map_or_else(Vec::new, |(_, slots)| pages_in(slots).collect()))
}

/// What stands in places; what cannot be read is left out.
fn pages_in(slots: &[u8]) -> impl Iterator<Item = (Key, PageStage)> {
    let slots = slots.chunks_exact(SLOT);
    let whole = slots.filter(|slot| slot[16..24] == xxh3_64(&slot[..16]).to_le_bytes());
    whole.map(|slot| {
        let progress = match slot[READING as usize] {
            1 => PageStage::Reading,
            _ => PageStage::Asked,
        };
        (key_of(slot), progress)
    })
}

/// The rows of strikes and the slots behind them.
fn parts(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (head, rest) = bytes.split_at_checked(HEAD)?;
    let number = |range: std::ops::Range<usize>| {
        let bytes = head.get(range)?.try_into().ok()?;
        Some(u64::from_le_bytes(bytes))
    };
    let length = usize::try_from(number(8..16)?).ok()?.checked_mul(STRUCK)?;
    let (rows, slots) = rest.split_at_checked(length)?;
    (head.starts_with(MAGIC) && number(16..24)? == xxh3_64(rows)).then_some((rows, slots))
}

fn key_of(bytes: &[u8]) -> Key {
    let mut key = [0; 16];
    key.copy_from_slice(&bytes[..16]);
    Key::from_bytes(key)
}

/// Writes a board with strikes and nothing in hand, whole or not at all; answers where its
/// slots begin.
fn write_afresh(path: &Path, struck: &HashMap<Key, CrashCount>) -> io::Result<(File, u64)> {
    let mut worst: Vec<_> = struck.iter().collect();
    worst.sort_unstable_by_key(|(key, strikes)| {
        (
            std::cmp::Reverse((strikes.reading, strikes.asked)),
            *key.as_bytes(),
        )
    });
    worst.truncate(MOST_STRUCK);
    let mut rows = Vec::with_capacity(worst.len() * STRUCK);
    for (key, strikes) in &worst {
        rows.extend_from_slice(key.as_bytes());
        rows.extend_from_slice(&[strikes.reading, strikes.asked]);
    }
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(worst.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&xxh3_64(&rows).to_le_bytes());
    bytes.extend_from_slice(&rows);
    let fresh = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&fresh)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    fs::rename(&fresh, path)?;
    Ok((file, bytes.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u8) -> Key {
        Key::from_bytes([number; 16])
    }

    fn suspicions(board: &LeaseBoard) -> Vec<(Key, Suspicion)> {
        let mut all: Vec<_> = board.suspicions().collect();
        all.sort_unstable_by_key(|(key, _)| *key.as_bytes());
        all
    }

    /// A run that dies with page 1 being read, page 2 asked for and page 3 settled.
    fn die(state: &Path) -> Vec<(Key, Suspicion)> {
        let mut board = LeaseBoard::open(state).unwrap();
        let found = suspicions(&board);
        let leases = [(7, 1), (8, 3)].map(|(job, page)| board.lend(JobId(job), key(page)));
        board.write();
        leases.iter().for_each(Lease::reading);
        board.give_back(JobId(8));
        board.lend(JobId(9), key(2));
        board.lend(JobId(10), key(4));
        board.write();
        board.give_back(JobId(10));
        board.write();
        found
    }

    #[test]
    fn three_deaths_while_it_was_read_make_a_page_guilty() {
        let place = tempfile::tempdir().unwrap();
        let mut watched_after = Vec::new();
        for _ in 0..10 {
            watched_after.push(die(place.path()));
        }
        assert_eq!(watched_after[1], []);
        assert_eq!(watched_after[2], [(key(1), Suspicion::Watched)]);
        assert_eq!(watched_after[3], [(key(1), Suspicion::Guilty)]);
        let both = [(key(1), Suspicion::Guilty), (key(2), Suspicion::Watched)];
        assert_eq!(watched_after[5], both);
        assert_eq!(watched_after[9], both);
        let all = [(key(1), Suspicion::Guilty), (key(2), Suspicion::Guilty)];
        assert_eq!(suspicions(&LeaseBoard::open(place.path()).unwrap()), all);
    }

    #[test]
    fn a_polite_end_strikes_nobody_and_forgets_nothing() {
        let place = tempfile::tempdir().unwrap();
        for _ in 0..3 {
            die(place.path());
        }
        for _ in 0..5 {
            let mut board = LeaseBoard::open(place.path()).unwrap();
            let lease = board.lend(JobId(1), key(5));
            board.write();
            lease.reading();
            board.close();
            // A task that was left behind does no harm.
            lease.reading();
        }
        let board = LeaseBoard::open(place.path()).unwrap();
        assert_eq!(suspicions(&board), [(key(1), Suspicion::Guilty)]);
    }

    #[test]
    fn what_a_process_had_in_hand_can_be_read_after_its_death() {
        let place = tempfile::tempdir().unwrap();
        die(place.path());
        let mut left = left_in_hand(place.path()).unwrap();
        left.sort_unstable_by_key(|(key, _)| *key.as_bytes());
        assert_eq!(
            left,
            [(key(1), PageStage::Reading), (key(2), PageStage::Asked)]
        );
        LeaseBoard::open(place.path()).unwrap().close();
        assert_eq!(left_in_hand(place.path()).unwrap(), []);
    }

    #[test]
    fn damage_costs_strikes_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        for _ in 0..3 {
            die(place.path());
        }
        let whole = fs::read(place.path().join(FILE)).unwrap();
        for length in 0..whole.len() {
            strike(&whole[..length]);
            let mut flipped = whole.clone();
            flipped[length] ^= 0x55;
            strike(&flipped);
        }
        fs::write(place.path().join(FILE), b"leases01 and then nonsense").unwrap();
        let board = LeaseBoard::open(place.path()).unwrap();
        assert_eq!(suspicions(&board), []);
    }
}
