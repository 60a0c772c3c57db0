//! What is missing of an archive, and how a crawl goes on without it.
//!
//! Owns the list of sizes, by which loss is noticed, and `missing.txt`, in which it is recorded.
//! Refuses to know why something is lost, and never asks anything again. Invariant: after a
//! repair the index names nothing but what can be read, and what it named before and cannot be
//! read any more stands in `missing.txt`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, BufWriter, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use clewline_job::archive::{
    FileRecords, Position, SORTED, WarcName, is_indexed, write_index_line,
};
use clewline_warc::cdxj::{self, Capture};

use super::files::{Tails, list, remove_later, shorten};
use super::index::{NEW, SORTING, UNSORTED};
use crate::durable;
use crate::log::appender::named;

/// What was lost: a comment for each file, and the URLs of its captures, as `--input-file` reads
/// them.
pub(crate) const MISSING: &str = "missing.txt";

/// The size of each file that is closed. It is a help and not synced: what is not in it is not
/// compared.
const SIZES: &str = "sizes.txt";

/// A file that is not as the last commit saw it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ArchiveFault {
    pub(crate) path: PathBuf,
    pub(crate) what: String,
}

/// What a repair came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Repaired {
    /// Where the archive ends now.
    pub(crate) end: Position,
    /// Files that are missing, cut or damaged inside.
    pub(crate) files: usize,
    /// Captures that are recorded as missing.
    pub(crate) captures: usize,
}

/// The first file of an archive that is missing, or shorter than it was.
pub(crate) fn fault(folder: &Path, end: Position) -> io::Result<Option<ArchiveFault>> {
    let files = list(folder)?;
    let (sizes, known) = (Sizes::read(folder)?, known_missing(folder)?);
    for serial in 1..=end.serial {
        let Some(file) = files.iter().find(|file| file.serial == serial) else {
            if known.contains(&serial) {
                continue;
            }
            let name = sizes.name_of(serial);
            return Ok(Some(ArchiveFault {
                path: folder.join(name.unwrap_or_else(|| format!("…-{serial:05}.warc.gz"))),
                what: "the file is gone".to_owned(),
            }));
        };
        let path = file.path(folder);
        let found = length(&path)?;
        let expected = match sizes.0.get(&file.name) {
            _ if serial == end.serial => end.offset,
            Some(size) => *size,
            None => continue,
        };
        if found < expected && !known.contains(&serial) {
            let what = format!("it has {found} bytes where the last commit saw {expected}");
            return Ok(Some(ArchiveFault { path, what }));
        }
    }
    Ok(None)
}

/// A closed file of which the last commit does not know, or not everything: the commit is older
/// than the archive.
pub(crate) fn beyond(folder: &Path, end: Position) -> io::Result<Option<PathBuf>> {
    for file in list(folder)?.iter().filter(|file| !file.is_open) {
        let path = file.path(folder);
        let is_beyond = match file.serial.cmp(&end.serial) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => length(&path)? > end.offset,
            std::cmp::Ordering::Greater => true,
        };
        if is_beyond {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// Notes the size of a file that was closed.
pub(super) fn note_size(folder: &Path, name: &str) {
    let noted = length(&folder.join(name)).and_then(|size| {
        let path = folder.join(SIZES);
        let mut sizes = File::options().create(true).append(true).open(path)?;
        sizes.write_all(format!("{size} {name}\n").as_bytes())
    });
    // Without it a loss is noticed later.
    noted.ok();
}

/// Reads everything up to an end, records what is lost, makes the index anew, and cuts what is
/// torn or behind the end.
pub(crate) fn repair(folder: &Path, end: Position, tails: Tails<'_>) -> io::Result<Repaired> {
    let files = list(folder)?;
    remove_later(folder, &files, end, tails)?;
    let mut survey = Survey::begin(folder)?;
    let mut lost: Vec<(u64, String, &str)> = Vec::new();
    let known = known_missing(folder)?;
    let sizes = Sizes::read(folder)?;
    let mut reached = Position::default();
    for serial in 1..=end.serial {
        let Some(file) = files.iter().find(|file| file.serial == serial) else {
            if !known.contains(&serial) {
                let name = sizes.name_of(serial);
                let name = name.unwrap_or_else(|| format!("number {serial:05}"));
                lost.push((serial, name, "is gone"));
            }
            reached = Position { serial, offset: 0 };
            continue;
        };
        let limit = if serial == end.serial {
            end.offset
        } else {
            u64::MAX
        };
        let read = survey.read(folder, file, limit)?;
        let is_short = sizes.0.get(&file.name).is_some_and(|size| read.end < *size)
            || (serial == end.serial && read.end < end.offset);
        shorten(&file.path(folder), read.end, tails)?;
        if is_short && !known.contains(&serial) {
            lost.push((serial, file.name.clone(), "lost its end"));
        } else if read.is_damaged {
            lost.push((serial, file.name.clone(), "is damaged inside"));
        }
        reached = Position {
            serial,
            offset: read.end,
        };
    }
    let captures = survey.record(folder, &lost)?;
    survey.write_index(folder)?;
    write_sizes(folder)?;
    Ok(Repaired {
        end: reached,
        files: lost.len(),
        captures,
    })
}

/// Serial numbers of files whose loss is recorded.
fn known_missing(folder: &Path) -> io::Result<BTreeSet<u64>> {
    let text = text_of(&folder.join(MISSING))?;
    let number = |line: &str| line.strip_prefix("# ")?.split(' ').next()?.parse().ok();
    Ok(text.lines().filter_map(number).collect())
}

/// The size that each closed file had.
struct Sizes(HashMap<String, u64>);

impl Sizes {
    fn read(folder: &Path) -> io::Result<Self> {
        let text = text_of(&folder.join(SIZES))?;
        let entry = |line: &str| {
            let (size, name) = line.split_once(' ')?;
            Some((name.to_owned(), size.parse().ok()?))
        };
        Ok(Self(text.lines().filter_map(entry).collect()))
    }

    fn name_of(&self, serial: u64) -> Option<String> {
        let is_it =
            |name: &&String| WarcName::parse(name).is_some_and(|file| file.serial == serial);
        self.0.keys().find(is_it).cloned()
    }
}

fn write_sizes(folder: &Path) -> io::Result<()> {
    let mut text = String::new();
    for file in list(folder)?.iter().filter(|file| !file.is_open) {
        let size = length(&file.path(folder))?;
        let _ = writeln!(text, "{size} {}", file.name);
    }
    durable::write(&folder.join(SIZES), text.as_bytes())
}

/// How far a file could be read.
struct Extent {
    /// Behind the last record that is sound.
    end: u64,
    /// Something in it can't be read.
    is_damaged: bool,
}

/// What can be read of an archive.
struct Survey {
    lines: BufWriter<File>,
    /// Where captures begin, by file.
    sound: HashMap<String, HashSet<u64>>,
}

impl Survey {
    fn begin(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            lines: BufWriter::new(tempfile::tempfile_in(folder)?),
            sound: HashMap::new(),
        })
    }

    fn read(&mut self, folder: &Path, file: &WarcName, limit: u64) -> io::Result<Extent> {
        let path = file.path(folder);
        let at = |error| named(&path, &error);
        let input = BufReader::new(File::open(&path).map_err(at)?);
        let mut records = FileRecords::between(input, 0, limit).map_err(at)?;
        let sound = self.sound.entry(file.name.clone()).or_default();
        let (mut is_damaged, mut trailing) = (false, None);
        while let Some(read) = records.next_capture(&file.name, is_indexed).map_err(at)? {
            match read {
                Ok(Some(capture)) => {
                    let mut line = Vec::new();
                    write_index_line(&capture, &mut line);
                    self.lines.write_all(&line)?;
                    sound.insert(capture.offset);
                    trailing = None;
                }
                Ok(None) => trailing = None,
                Err(error) => {
                    is_damaged = true;
                    trailing.get_or_insert(error.offset());
                }
            }
        }
        // What can't be read at the end of a file is torn off.
        let end = trailing.map_or_else(|| length(&path), Ok)?;
        Ok(Extent {
            end: end.min(limit),
            is_damaged,
        })
    }

    /// Adds to the record of what is missing: files, and the captures that the index so far knew.
    fn record(&self, folder: &Path, lost: &[(u64, String, &str)]) -> io::Result<usize> {
        let mut urls: HashMap<String, BTreeSet<String>> = HashMap::new();
        let mut captures = 0;
        for name in [SORTED, UNSORTED] {
            let path = folder.join(name);
            let file = match File::open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other.map_err(|error| named(&path, &error))?,
            };
            for line in BufReader::new(file).split(b'\n') {
                let line = line.map_err(|error| named(&path, &error))?;
                let capture = Capture::parse(&String::from_utf8_lossy(&line));
                let Some(capture) = capture else { continue };
                let offsets = self.sound.get(&capture.filename);
                if !offsets.is_some_and(|offsets| offsets.contains(&capture.offset)) {
                    let of_file = urls.entry(capture.filename).or_default();
                    captures += usize::from(of_file.insert(capture.url));
                }
            }
        }
        let mut text = text_of(&folder.join(MISSING))?;
        for (serial, name, what) in lost {
            let _ = writeln!(text, "# {serial:05} {name} {what}");
        }
        for (name, urls) in urls {
            let serial = WarcName::parse(&name).map_or(0, |file| file.serial);
            let _ = writeln!(text, "# {serial:05} {name}: these captures are lost");
            for url in urls {
                let _ = writeln!(text, "{url}");
            }
        }
        if !text.is_empty() {
            durable::write(&folder.join(MISSING), text.as_bytes())?;
        }
        Ok(captures)
    }

    /// Replaces both parts of the index.
    fn write_index(self, folder: &Path) -> io::Result<()> {
        let mut lines = self
            .lines
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        lines.rewind()?;
        let new = folder.join(NEW);
        let mut sorted = BufWriter::new(File::create(&new).map_err(|error| named(&new, &error))?);
        cdxj::sort(BufReader::new(lines), &mut sorted, SORTING, folder)?;
        let sorted = sorted
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        sorted.sync_all()?;
        fs::rename(&new, folder.join(SORTED))?;
        durable::sync_folder(folder)?;
        match fs::remove_file(folder.join(UNSORTED)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

fn text_of(path: &Path) -> io::Result<String> {
    match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        other => other
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .map_err(|error| named(path, &error)),
    }
}

fn length(path: &Path) -> io::Result<u64> {
    fs::metadata(path)
        .map(|file| file.len())
        .map_err(|error| named(path, &error))
}
