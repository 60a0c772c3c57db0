//! The witness of the last commit: how far the logs were when the store said so.
//!
//! Owns a small file beside the store. The store repairs a damaged journal by cutting it, so
//! after a flipped bit it may stand at a commit of long ago and not know it; the witness does.
//! Invariant: what it says was durable before it was said. It is not synced itself, so it may
//! be behind the store, never ahead of it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::thread;

use xxhash_rust::xxh3::xxh3_64;

use crate::durable;

/// The file's name in the folder of the state.
const FILE: &str = "witness";

/// The line behind the last offset; what follows is left from longer times.
const END: &str = "end\n";

/// Looks at what is written at this moment.
const LOOKS: usize = 20;

/// A line for each log is far less.
const LARGEST: u64 = 64 * 1024;

/// Writes down where the logs were at each commit.
#[derive(Debug)]
pub(crate) struct Witness {
    file: File,
}

/// What a witness said, log by log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Testimony(Vec<(String, u64)>);

impl Witness {
    /// Where the witness of a state folder is.
    pub(crate) fn path(state: &Path) -> PathBuf {
        state.join(FILE)
    }

    /// Begins a witness that has seen nothing.
    pub(crate) fn create(state: &Path) -> io::Result<()> {
        durable::write(&Self::path(state), statement(&[]).as_bytes())
    }

    /// Takes up the witness of a state folder.
    pub(crate) fn open(state: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).open(Self::path(state))?;
        Ok(Self { file })
    }

    /// A batch is durable, and the logs end there. One that cannot be written is only older.
    pub(crate) fn saw(&mut self, offsets: &[(&'static str, u64)]) {
        let statement = statement(offsets);
        self.file
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.file.write_all(statement.as_bytes()))
            .ok();
    }
}

impl Testimony {
    /// What the witness of a state folder says; nothing if it is damaged or missing.
    pub(crate) fn read(state: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(Witness::path(state)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(LARGEST).read_to_end(&mut bytes)?;
        Ok(parse(&bytes))
    }

    /// The same while a crawl runs, which writes it again and again: what is read in the middle
    /// of that is no testimony, and read once more.
    pub(crate) fn overheard(state: &Path) -> io::Result<Option<Self>> {
        for _ in 0..LOOKS {
            if let Some(told) = Self::read(state)? {
                return Ok(Some(told));
            }
            thread::yield_now();
        }
        Self::read(state)
    }

    /// Where a log ended at the last commit that was seen.
    pub(crate) fn offset(&self, log: &str) -> u64 {
        let found = self.0.iter().find(|(name, _)| name == log);
        found.map_or(0, |(_, offset)| *offset)
    }

    /// Whether any commit was seen.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
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
            witness.saw(offsets);
            let told = Testimony::read(place.path()).unwrap().unwrap();
            for (log, offset) in offsets {
                assert_eq!(told.offset(log), *offset);
            }
            assert_eq!(told.offset("other"), 0);
        }
    }

    #[test]
    fn a_witness_is_understood_while_it_speaks() {
        let place = tempfile::tempdir().unwrap();
        Witness::create(place.path()).unwrap();
        let mut witness = Witness::open(place.path()).unwrap();
        let speaking = thread::spawn(move || {
            for offset in 0..20_000 {
                witness.saw(&[("urls", offset << (offset % 40)), ("links", offset)]);
            }
        });
        while !speaking.is_finished() {
            assert!(Testimony::overheard(place.path()).unwrap().is_some());
        }
        speaking.join().unwrap();
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
