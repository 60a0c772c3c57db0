//! Where the logs speak of a key, so that nobody reads them whole for one URL.
//!
//! Owns `state/lookup`, which is a cache and nothing else: it is made from the logs, in parts
//! that each cover a stretch of them, when somebody asks about a URL, and it goes on from where it
//! ended. It may be missing, old, damaged or not writable at any time. Invariant: a part is used
//! only if it follows the part before it and the logs still end as they did when it was made; what
//! lies behind the last part is left to a pass over the logs.

mod finished;
mod gather;
mod part;
mod search;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clewline_core::key::{Key, Keyer};
use xxhash_rust::xxh3::xxh3_64;

pub use self::finished::{FinishedState, MOST_COPIED};
use self::gather::{ending, gather};
use self::part::{Head, LookupPart, Stretch, write_part};
pub use self::part::{LogPlaces, LookupRow};
pub use self::search::{FoundRecord, Logs, Sources, log_ends};
use crate::folder::STATE;

/// The folder of the parts, within the state.
const FOLDER: &str = "lookup";

/// Lines or blocks that a row names; more are only counted.
pub const MOST_PLACES: usize = 10;

/// When parts are made, and how large they are.
#[derive(Debug, Clone, Copy)]
pub struct LookupPlan {
    /// A pass over so many bytes of a log is quick enough.
    pub tail: u64,
    /// Facts of a part, about 32 bytes of memory each.
    pub facts: usize,
}

impl Default for LookupPlan {
    fn default() -> Self {
        Self {
            tail: 2 * 1024 * 1024,
            facts: 1024 * 1024,
        }
    }
}

/// What is known of the logs of a job, up to a place.
#[derive(Debug, Default)]
pub struct Lookup {
    parts: Vec<LookupPart>,
    end: LogPlaces,
}

impl Lookup {
    /// Opens what there is, and makes parts for what is new, if it is much. At the worst nothing
    /// is known: whatever goes wrong here, the logs can be asked themselves.
    pub fn open(job: &Path, keyer: &Keyer, ends: LogPlaces, plan: LookupPlan) -> Self {
        let mut lookup = Self::default();
        let keys = xxh3_64(format!("{keyer:?}").as_bytes());
        while lookup.add_part(job, keys, ends) {}
        while is_much(lookup.end, ends, plan) {
            let made = lookup.make_part(job, (keyer, keys), ends, plan);
            if made.is_err() || !lookup.add_part(job, keys, ends) {
                break;
            }
        }
        lookup
    }

    /// Forgets everything.
    pub fn remove(job: &Path) {
        // Where it cannot be removed, it cannot be mended either, and is not needed.
        fs::remove_dir_all(folder(job)).ok();
    }

    /// The place up to which everything is known.
    pub const fn end(&self) -> LogPlaces {
        self.end
    }

    /// What is known of a key.
    pub fn find(&self, key: Key) -> io::Result<LookupRow> {
        let mut found = LookupRow::default();
        for part in &self.parts {
            if let Some(row) = part.find(key.number())? {
                found.join(&row);
            }
        }
        Ok(found)
    }

    /// Opens the part that follows; false if there is none that can be believed.
    fn add_part(&mut self, job: &Path, keys: u64, ends: LogPlaces) -> bool {
        let Ok(part) = LookupPart::open(&file(job, self.end)) else {
            return false;
        };
        let head = part.head();
        let Stretch { from, to } = head.stretch;
        let follows = from == self.end
            && (to.urls >= from.urls && to.links >= from.links && to != from)
            && (to.urls <= ends.urls && to.links <= ends.links);
        let fits = head.keys == keys && ending(job, to).is_ok_and(|sum| sum == head.ending);
        if follows && fits {
            self.end = to;
            self.parts.push(part);
        }
        follows && fits
    }

    fn make_part(
        &self,
        job: &Path,
        (keyer, keys): (&Keyer, u64),
        ends: LogPlaces,
        plan: LookupPlan,
    ) -> io::Result<()> {
        make_folder(job)?;
        let mut facts = Vec::new();
        let mut stretch = Stretch {
            from: self.end,
            to: ends,
        };
        stretch.to = gather(job, keyer, stretch, plan.facts, &mut facts)?;
        let head = Head {
            keys,
            stretch,
            ending: ending(job, stretch.to)?,
        };
        write_part(&file(job, self.end), &head, &mut facts)
    }
}

fn is_much(from: LogPlaces, to: LogPlaces, plan: LookupPlan) -> bool {
    let is_more = |from: u64, to: u64| to.saturating_sub(from) > plan.tail;
    is_more(from.urls, to.urls) || is_more(from.links, to.links)
}

fn folder(job: &Path) -> PathBuf {
    job.join(STATE).join(FOLDER)
}

fn make_folder(job: &Path) -> io::Result<()> {
    let folder = folder(job);
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir(folder)
}

/// A part is named by where it begins, so that the one that follows another is found.
fn file(job: &Path, from: LogPlaces) -> PathBuf {
    folder(job).join(format!("{}-{}", from.urls, from.links))
}
