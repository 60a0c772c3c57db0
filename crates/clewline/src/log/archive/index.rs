//! `index.cdxj`: where each capture lies. A view, not a log.
//!
//! Owns the lines of captures that are durable: gathered in `index.cdxj.open` in the order of
//! the archive, sorted into `index.cdxj` when a run ends. Refuses to hold anything that is not
//! in the WARC files: what is missing is read from there when a crawl goes on, and all of it if
//! both files are gone. Invariant: no line stands for a record that can still be cut away.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use clewline_job::archive::{
    FileRecords, Position, SORTED, WarcName, is_indexed, write_index_line,
};
use clewline_warc::cdxj::{self, Capture};
use clewline_warc::{Digest, Moment};

use super::files::list;
use super::group::{Group, payload_digest};
use super::seen::{Holder, MOST, Seen, is_holder};
use crate::failpoint::{Point, pass};
use crate::log::Offset;
use crate::log::appender::{Appender, damage, named};

/// The lines that are not sorted yet.
pub(super) const UNSORTED: &str = "index.cdxj.open";
/// The sorted lines while they are written.
pub(super) const NEW: &str = "index.cdxj.new";
/// How the first unsorted line begins: the place in the archive that the lines follow, and the
/// length of the sorted index that they add to.
const FROM: &str = "!from ";
/// A line and the end of another lie within this many bytes: a URL has 8 KiB at most.
const TAIL: u64 = 256 * 1024;
/// How much of the end of an index is read for the payloads in it.
const LOOK_BACK: u64 = MOST as u64 * 300;
/// Memory for sorting.
pub(super) const SORTING: usize = 16 << 20;

#[derive(Debug)]
pub(super) struct CaptureIndex {
    folder: PathBuf,
    lines: Appender,
    /// Lines of the batch that is not durable yet.
    pending: Vec<u8>,
}

impl CaptureIndex {
    /// Opens the index of an archive that ends here, and brings it up to date.
    pub(super) fn open(folder: &Path, end: Position) -> io::Result<Self> {
        let (from, length) = standing(folder, end)?;
        let mut lines = Appender::open(folder.join(UNSORTED))?;
        lines.cut(Offset(length))?;
        if length == 0 {
            let sorted = length_of(&folder.join(SORTED))?.unwrap_or(0);
            lines.write(format!("{FROM}{} {sorted}\n", from.offset().0).as_bytes())?;
        }
        let mut index = Self {
            folder: folder.to_path_buf(),
            lines,
            pending: Vec::new(),
        };
        index.catch_up(from, end)?;
        index.lines.sync()?;
        Ok(index)
    }

    /// Reads the captures that lie between two places of the archive.
    fn catch_up(&mut self, from: Position, end: Position) -> io::Result<()> {
        for file in list(&self.folder)? {
            if (from.serial..=end.serial).contains(&file.serial) {
                let start = if file.serial == from.serial {
                    from.offset
                } else {
                    0
                };
                self.read_file(&file.name, start)?;
            }
        }
        Ok(())
    }

    fn read_file(&mut self, name: &str, start: u64) -> io::Result<()> {
        let path = self.folder.join(name);
        let at = |error| named(&path, &error);
        let input = BufReader::new(File::open(&path).map_err(at)?);
        let mut records = FileRecords::between(input, start, u64::MAX).map_err(at)?;
        while let Some(read) = records.next_capture(name, is_indexed).map_err(at)? {
            let capture = read.map_err(|error| damage(&path, &error.to_string()))?;
            if let Some(capture) = capture {
                let mut line = Vec::new();
                write_index_line(&capture, &mut line);
                self.lines.write(&line)?;
            }
        }
        Ok(())
    }

    /// A capture was written; its batch is not durable yet.
    pub(super) fn note(&mut self, group: &Group<'_>, file: &str, offset: u64, length: u64) {
        let Some(exchange) = group.exchange else {
            return;
        };
        let original = group.revisited().map(|(_, original)| original);
        let named = exchange
            .media_type
            .as_deref()
            .filter(|kind| !kind.is_empty());
        let capture = Capture {
            timestamp: Moment::from(exchange.started_at).timestamp(),
            url: exchange.url.to_string(),
            mime: match original {
                Some(_) => "warc/revisit",
                None => named.unwrap_or("unk"),
            }
            .to_owned(),
            status: exchange.status.to_string(),
            digest: payload_digest(exchange)
                .map(|digest| digest.to_string())
                .unwrap_or_default(),
            codings: match original {
                Some(_) => String::new(),
                None => exchange.codings.clone(),
            },
            length,
            offset,
            filename: file.to_owned(),
            refers_to_url: original.map(|it| it.target.to_owned()).unwrap_or_default(),
            refers_to_date: original.map(|it| it.date.timestamp()).unwrap_or_default(),
        };
        write_index_line(&capture, &mut self.pending);
    }

    /// The payloads of the captures that were written last.
    pub(super) fn seen(&self) -> io::Result<Seen> {
        let mut seen = Seen::default();
        for name in [SORTED, UNSORTED] {
            recall(&self.folder.join(name), &mut seen)?;
        }
        Ok(seen)
    }

    /// The batch is durable.
    pub(super) fn settle(&mut self) -> io::Result<()> {
        let written = self.lines.write(&self.pending);
        // What could not be written waits in the appender.
        self.pending.clear();
        written
    }

    /// The batch is taken back.
    pub(super) fn take_back(&mut self) {
        self.pending.clear();
    }

    /// Sorts everything into one file. Whoever is interrupted finds either the old index and the
    /// lines that add to it, or the new one, whose length tells that they are in it.
    pub(super) fn close(&mut self) -> io::Result<()> {
        self.lines.sync()?;
        let (sorted, new) = (self.folder.join(SORTED), self.folder.join(NEW));
        let before = match File::open(&sorted) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            other => Some(other.map_err(|error| named(&sorted, &error))?),
        };
        let mut unsorted = BufReader::new(File::open(self.lines.path())?);
        unsorted.read_until(b'\n', &mut Vec::new())?;
        let mut out = BufWriter::new(File::create(&new).map_err(|error| named(&new, &error))?);
        match before {
            None => cdxj::sort(unsorted, &mut out, SORTING, &self.folder)?,
            Some(before) => {
                let both = BufReader::new(before).chain(unsorted);
                cdxj::sort(both, &mut out, SORTING, &self.folder)?;
            }
        }
        let out = out.into_inner().map_err(io::IntoInnerError::into_error)?;
        out.sync_all()?;
        pass(Point::IndexBeforeRename);
        fs::rename(&new, &sorted).map_err(|error| named(&sorted, &error))?;
        pass(Point::IndexAfterRename);
        fs::remove_file(self.lines.path()).map_err(|error| named(self.lines.path(), &error))
    }
}

/// How far the index reaches into the archive, and how much of the unsorted lines is sound.
fn standing(folder: &Path, end: Position) -> io::Result<(Position, u64)> {
    let sorted = length_of(&folder.join(SORTED))?;
    match (Unsorted::read(&folder.join(UNSORTED))?, sorted) {
        // A run that ended in order sorted all it had.
        (None, Some(_)) => Ok((end, 0)),
        (Some(lines), _) if lines.reach > end => {
            if sorted.is_some() {
                fs::remove_file(folder.join(SORTED))?;
            }
            Ok((Position::default(), 0))
        }
        (Some(lines), _) if sorted.unwrap_or(0) == lines.adds_to => Ok((lines.reach, lines.length)),
        // They were sorted, and only their removal is missing.
        (Some(lines), Some(_)) => Ok((lines.reach, 0)),
        // Somebody wants it made anew.
        (_, None) => Ok((Position::default(), 0)),
    }
}

/// What the unsorted lines say.
struct Unsorted {
    adds_to: u64,
    reach: Position,
    length: u64,
}

impl Unsorted {
    /// Nothing if the file is not there, or not even its first line is sound.
    fn read(path: &Path) -> io::Result<Option<Self>> {
        let Some(length) = length_of(path)? else {
            return Ok(None);
        };
        let at = |error: io::Error| named(path, &error);
        let mut file = File::open(path).map_err(at)?;
        let mut first = String::new();
        let beginning = BufReader::new(&file).take(TAIL).read_line(&mut first);
        let numbers = first
            .strip_suffix('\n')
            .and_then(|line| line.strip_prefix(FROM));
        let numbers = numbers.and_then(|numbers| numbers.split_once(' '));
        let parsed =
            numbers.and_then(|(from, adds)| Some((from.parse().ok()?, adds.parse().ok()?)));
        let (Ok(header), Some((from, adds_to))) = (beginning, parsed) else {
            return Ok(None);
        };
        let start = length.saturating_sub(TAIL).max(header as u64);
        let mut tail = Vec::new();
        file.seek(SeekFrom::Start(start)).map_err(at)?;
        file.take(TAIL).read_to_end(&mut tail).map_err(at)?;
        let whole = memchr::memrchr(b'\n', &tail).map_or(0, |last| last + 1);
        let last = tail[..whole].trim_ascii_end();
        let last = &last[memchr::memrchr(b'\n', last).map_or(0, |before| before + 1)..];
        let reach = std::str::from_utf8(last).ok().and_then(Capture::parse);
        let reach = reach.and_then(|capture| {
            Some(Position {
                serial: WarcName::parse(&capture.filename)?.serial,
                offset: capture.offset + capture.length,
            })
        });
        Ok(Some(Self {
            adds_to,
            reach: reach.unwrap_or_else(|| Position::new(Offset(from))),
            length: start + whole as u64,
        }))
    }
}

fn length_of(path: &Path) -> io::Result<Option<u64>> {
    match fs::metadata(path) {
        Ok(facts) => Ok(Some(facts.len())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(named(path, &error)),
    }
}

/// Remembers the payloads of the last lines of an index; a file that is not there has none.
fn recall(path: &Path, seen: &mut Seen) -> io::Result<()> {
    let Some(length) = length_of(path)? else {
        return Ok(());
    };
    let at = |error: io::Error| named(path, &error);
    let mut file = File::open(path).map_err(at)?;
    let start = length.saturating_sub(LOOK_BACK);
    file.seek(SeekFrom::Start(start)).map_err(at)?;
    let mut lines = BufReader::new(file.take(LOOK_BACK));
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).map_err(at)? > 0 {
        // The first line may have lost its beginning, and is none then.
        let capture = std::str::from_utf8(&line).ok().and_then(Capture::parse);
        if let Some(capture) = capture.filter(is_holder)
            && let Some(digest) = Digest::parse(&capture.digest)
            && let Some(date) = Moment::from_timestamp(&capture.timestamp)
        {
            let holder = Holder {
                target: capture.url.into(),
                date,
                codings: capture.codings.into(),
            };
            seen.add(digest, holder);
        }
        line.clear();
    }
    Ok(())
}
