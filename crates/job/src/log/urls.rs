//! `urls.jsonl`: one JSON line per settled URL.
//!
//! Owns how a record becomes a line and a line a record. It refuses to know why a record was
//! made. Invariant: a line holds no character that steers a terminal, and ends with the only
//! newline in it, so any tool that reads lines can read the log.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use clewline_core::key::Key;
use serde::Deserialize;

use super::Offset;
use super::appender::{Appender, damage, named, torn};
use crate::escape;
use crate::record::{FORMAT, OutcomeKind, Record};

/// The log's name in a job folder.
pub const FILE: &str = "urls.jsonl";

/// The name under which the store keeps the log's offset.
pub const NAME: &str = "urls";

/// No line is longer; a longer one is damage, and is not read into memory.
pub const LONGEST_LINE: u64 = 8 * 1024 * 1024;

/// Writes `urls.jsonl`.
#[derive(Debug)]
pub struct UrlsLog {
    appender: Appender,
    line: Vec<u8>,
}

impl UrlsLog {
    /// Opens or creates the log in a job folder, to go on at its end.
    pub fn open(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            appender: Appender::open(folder.join(FILE))?,
            line: Vec::new(),
        })
    }

    /// Appends a record; answers its line. Nothing counts before [`UrlsLog::sync`] returned.
    pub fn add(&mut self, record: &Record) -> io::Result<&[u8]> {
        self.line.clear();
        write_line(record, &mut self.line)?;
        self.appender.write(&self.line)?;
        Ok(&self.line)
    }

    /// Makes everything appended so far durable and says where the log ends.
    pub fn sync(&mut self) -> io::Result<Offset> {
        self.appender.sync()
    }

    /// Takes back everything after an offset that [`UrlsLog::sync`] once returned.
    pub fn cut(&mut self, offset: Offset) -> io::Result<()> {
        self.appender.cut(offset)
    }
}

/// Appends the line of a record, its newline included.
pub fn write_line(record: &Record, line: &mut Vec<u8>) -> io::Result<()> {
    let start = line.len();
    serde_json::to_writer(&mut *line, record)?;
    escape::json_tail(line, start);
    line.push(b'\n');
    Ok(())
}

/// Reads a `urls.jsonl` record by record.
///
/// Damage is an error that names the line; a last line without its newline is of the kind
/// [`io::ErrorKind::UnexpectedEof`], since a crash may leave one behind the committed offset.
/// The iterator ends after its first error.
pub fn records(path: &Path) -> io::Result<Records> {
    records_from(path, Offset(0))
}

/// As [`records`], from an offset that the log once had.
pub fn records_from(path: &Path, offset: Offset) -> io::Result<Records> {
    let mut file = File::open(path).map_err(|error| named(path, &error))?;
    file.seek(SeekFrom::Start(offset.0))
        .map_err(|error| named(path, &error))?;
    Ok(Records {
        lines: BufReader::with_capacity(256 * 1024, file),
        path: path.to_owned(),
        number: 0,
        line: Vec::new(),
        at: offset,
        end: Offset(u64::MAX),
        ended: false,
    })
}

/// The iterator behind [`records`].
#[derive(Debug)]
pub struct Records {
    lines: BufReader<File>,
    path: PathBuf,
    number: u64,
    line: Vec<u8>,
    at: Offset,
    end: Offset,
    ended: bool,
}

/// What a line says at first sight, without its texts.
#[derive(Debug, Deserialize)]
pub struct Glance {
    v: u32,
    /// What happened.
    pub outcome: OutcomeKind,
    /// HTTP status, if there was an answer.
    #[serde(default)]
    pub status: Option<u16>,
}

impl Records {
    /// Reads no further than an offset that the log once had.
    #[must_use]
    pub const fn until(mut self, end: Offset) -> Self {
        self.end = end;
        self
    }

    /// Where the next record begins.
    pub const fn offset(&self) -> Offset {
        self.at
    }

    /// Only the records that are wanted by what their lines say at first sight. To read a line
    /// whole costs several times as much, most of it for the parsing of its URLs.
    pub fn wanted(
        mut self,
        is_wanted: impl Fn(&Glance) -> bool,
    ) -> impl Iterator<Item = io::Result<Record>> {
        std::iter::from_fn(move || self.step(|records| records.read_wanted(&is_wanted)))
    }

    /// Only the records of wanted keys. Lines in which the key stands where this program writes
    /// it are not looked at any further, so damage in what is not wanted is not found.
    pub fn of_keys(
        mut self,
        is_wanted: impl Fn(Key) -> bool,
    ) -> impl Iterator<Item = io::Result<Record>> {
        std::iter::from_fn(move || self.step(|records| records.read_of_keys(&is_wanted)))
    }

    /// One record as it is read so; nothing after the end and after an error.
    fn step(
        &mut self,
        read: impl FnOnce(&mut Self) -> io::Result<Option<Record>>,
    ) -> Option<io::Result<Record>> {
        if self.ended {
            return None;
        }
        let item = read(self).transpose();
        self.ended = !matches!(item, Some(Ok(_)));
        item
    }

    fn read_of_keys(&mut self, is_wanted: impl Fn(Key) -> bool) -> io::Result<Option<Record>> {
        while self.read_line()? {
            if key_at_sight(&self.line).is_some_and(|key| !is_wanted(key)) {
                continue;
            }
            let record: Record = self.parsed()?;
            self.check_format(record.v)?;
            if is_wanted(record.key) {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn read_wanted(&mut self, is_wanted: impl Fn(&Glance) -> bool) -> io::Result<Option<Record>> {
        while self.read_line()? {
            let glance: Glance = self.parsed()?;
            self.check_format(glance.v)?;
            if is_wanted(&glance) {
                return self.parsed().map(Some);
            }
        }
        Ok(None)
    }

    fn read(&mut self) -> io::Result<Option<Record>> {
        if !self.read_line()? {
            return Ok(None);
        }
        let record: Record = self.parsed()?;
        self.check_format(record.v)?;
        Ok(Some(record))
    }

    /// Reads the next line; false at the end of the file.
    fn read_line(&mut self) -> io::Result<bool> {
        if self.at >= self.end {
            return Ok(false);
        }
        self.line.clear();
        self.number += 1;
        let number = self.number;
        (&mut self.lines)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut self.line)
            .map_err(|error| named(&self.path, &error))?;
        if self.line.is_empty() {
            return Ok(false);
        }
        if self.line.last() != Some(&b'\n') {
            return Err(if self.line.len() as u64 == LONGEST_LINE {
                damage(&self.path, &format!("line {number} is too long"))
            } else {
                torn(&self.path, &format!("line {number} ends in the middle"))
            });
        }
        self.at.0 += self.line.len() as u64;
        Ok(true)
    }

    fn parsed<'a, T: Deserialize<'a>>(&'a self) -> io::Result<T> {
        let number = self.number;
        serde_json::from_slice(&self.line)
            .map_err(|error| damage(&self.path, &format!("line {number}: {error}")))
    }

    fn check_format(&self, version: u32) -> io::Result<()> {
        if version > FORMAT {
            let number = self.number;
            let newer = format!("line {number} has the newer format {version}");
            return Err(damage(&self.path, &newer));
        }
        Ok(())
    }
}

/// The key in a line.
pub fn key_of(line: &[u8]) -> io::Result<Key> {
    #[derive(Deserialize)]
    struct KeyAlone {
        key: Key,
    }
    match key_at_sight(line) {
        Some(key) => Ok(key),
        None => Ok(serde_json::from_slice::<KeyAlone>(line)?.key),
    }
}

/// The key of a line that begins as this program writes it. In a URL there is no quote.
fn key_at_sight(line: &[u8]) -> Option<Key> {
    let after = line.strip_prefix(br#"{"v":1,"url":""#)?;
    let after = &after[memchr::memchr(b'"', after)?..];
    let digits = after.strip_prefix(br#"","key":""#)?.get(..32)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

impl Iterator for Records {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step(Self::read)
    }
}
