//! The witness of the last commit: how far the logs were when the store said so.
//!
//! Owns a small file beside the store. The store repairs a damaged journal by cutting it, so
//! after a flipped bit it may stand at a commit of long ago and not know it; the witness does.
//! It has two places and writes to them in turn, so that whoever reads while a crawl runs finds
//! one of them whole; logs only grow, so the further of two statements is the later one.
//! Invariant: what it says was durable before it was said. It is not synced itself, so it may
//! be behind the store, never ahead of it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use crate::durable;

/// The file's name in the folder of the state.
const FILE: &str = "witness";

/// The line behind the last offset; what follows is left from longer times.
const END: &str = "end\n";

/// Room for one statement: a line for each log is far less.
const PLACE: usize = 512;

/// Looks of a reader. Only one that was held up for two commits in the middle of reading needs
/// another.
const LOOKS: usize = 4;

/// Writes down where the logs were at each commit.
#[derive(Debug)]
pub struct Witness {
    file: File,
    /// Where the next statement goes.
    place: usize,
}

/// What a witness said, log by log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Testimony(Vec<(String, u64)>);

impl Witness {
    /// Where the witness of a state folder is.
    pub fn path(state: &Path) -> PathBuf {
        state.join(FILE)
    }

    /// Begins a witness that has seen nothing.
    pub fn create(state: &Path) -> io::Result<()> {
        durable::write(&Self::path(state), statement(&[]).as_bytes())
    }

    /// Takes up the witness of a state folder.
    pub fn open(state: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).open(Self::path(state))?;
        Ok(Self { file, place: PLACE })
    }

    /// A batch is durable, and the logs end there. One that cannot be written is only older.
    pub fn record(&mut self, offsets: &[(&'static str, u64)]) {
        let statement = statement(offsets);
        debug_assert!(statement.len() <= PLACE, "too long for its place");
        self.file
            .seek(SeekFrom::Start(self.place as u64))
            .and_then(|_| self.file.write_all(statement.as_bytes()))
            .ok();
        self.place = PLACE - self.place;
    }
}

impl Testimony {
    /// What the witness of a state folder said last; nothing if it is damaged or missing.
    pub fn read(state: &Path) -> io::Result<Option<Self>> {
        let path = Witness::path(state);
        for _ in 0..LOOKS {
            let bytes = match look(&path) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(error),
            };
            if let Some(told) = last(&bytes) {
                return Ok(Some(told));
            }
        }
        Ok(None)
    }

    /// Where a log ended at the last commit that was seen.
    pub fn offset(&self, log: &str) -> u64 {
        let found = self.0.iter().find(|(name, _)| name == log);
        found.map_or(0, |(_, offset)| *offset)
    }

    /// Whether any commit was seen.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How far all logs were, together.
    fn reach(&self) -> u64 {
        let offsets = self.0.iter().map(|(_, offset)| *offset);
        offsets.fold(0, u64::saturating_add)
    }
}

/// Both places, in one read.
fn look(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(2 * PLACE);
    let most = 2 * PLACE as u64;
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The later of the statements that are whole.
fn last(bytes: &[u8]) -> Option<Testimony> {
    let told = bytes.chunks(PLACE).filter_map(parse);
    told.max_by_key(|told| (!told.is_empty(), told.reach()))
}

fn statement(offsets: &[(&'static str, u64)]) -> String {
    let lines: Vec<String> = offsets
        .iter()
        .map(|(name, offset)| format!("{name} {offset}\n"))
        .collect();
    let body = lines.concat();
    format!("{:016x}\n{body}{END}", xxh3_64(body.as_bytes()))
}

fn parse(bytes: &[u8]) -> Option<Testimony> {
    let text = String::from_utf8_lossy(bytes);
    let (sum, rest) = text.split_once('\n')?;
    let body = if rest.starts_with(END) {
        ""
    } else {
        &rest[..=rest.find(&format!("\n{END}"))?]
    };
    let sound = u64::from_str_radix(sum, 16).ok()? == xxh3_64(body.as_bytes());
    let line = |line: &str| {
        let (name, offset) = line.rsplit_once(' ')?;
        Some((name.to_owned(), offset.parse().ok()?))
    };
    let offsets: Option<Vec<_>> = body.lines().map(line).collect();
    offsets.filter(|_| sound).map(Testimony)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_last_is_told() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(Testimony::read(place.path()).unwrap(), None);
        Witness::create(place.path()).unwrap();
        assert!(Testimony::read(place.path()).unwrap().unwrap().is_empty());
        let mut witness = Witness::open(place.path()).unwrap();
        for offsets in [&[("urls", 1_000), ("links", 20)][..], &[("urls", 1_200)]] {
            witness.record(offsets);
            let told = Testimony::read(place.path()).unwrap().unwrap();
            for (log, offset) in offsets {
                assert_eq!(told.offset(log), *offset);
            }
            assert_eq!(told.offset("other"), 0);
        }
    }

    #[test]
    fn a_half_written_statement_hides_none() {
        let commits: Vec<_> = (1..6_u64)
            .map(|n| [("urls", 97_u64.pow(n as u32)), ("links", n)])
            .collect();
        let place = tempfile::tempdir().unwrap();
        Witness::create(place.path()).unwrap();
        let mut witness = Witness::open(place.path()).unwrap();
        let path = Witness::path(place.path());
        let mut told_before = Testimony::default();
        for offsets in &commits {
            let before = look(&path).unwrap();
            witness.record(offsets);
            let after = look(&path).unwrap();
            let told_after = last(&after).unwrap();
            assert_eq!(told_after.offset("urls"), offsets[0].1);
            // However far the writing came: bytes behind that are still the old ones.
            for written in 0..after.len() {
                let tail = before.get(written..).unwrap_or_default();
                let told = last(&[&after[..written], tail].concat()).unwrap();
                assert!(told == told_before || told == told_after, "{written}");
            }
            told_before = told_after;
        }
    }

    #[test]
    fn the_farthest_statement_has_room() {
        let farthest = [
            ("urls", u64::MAX),
            ("links", u64::MAX),
            ("archive", u64::MAX),
        ];
        assert!(statement(&farthest).len() <= PLACE);
    }

    #[test]
    fn no_flipped_bit_changes_a_testimony() {
        let sound = statement(&[("urls", 123_456), ("links", 99)]).into_bytes();
        let told = parse(&sound).unwrap();
        for bit in 0..sound.len() * 8 {
            let mut flipped = sound.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Some(other) = parse(&flipped) {
                assert_eq!(other, told, "bit {bit}");
            }
        }
        for length in 0..sound.len() {
            assert_eq!(parse(&sound[..length]), None);
        }
    }
}
