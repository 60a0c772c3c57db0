//! The files of an archive, one after the other.
//!
//! Owns their names, which one is written, when it is closed, and how the archive is taken back
//! to an earlier end. Refuses to know records. Invariants: a file whose name does not end in
//! `.open` is whole, a commit knows all of it, and nothing changes it any more; the serial
//! numbers of files only grow; a file belongs to one run.
//!
//! A crash at any step leaves one of: a tail behind the committed end, files with a later serial
//! number, all of them called `.open`, and files that are complete and still called so.
//! [`take_back`] mends all of them, and may be interrupted and repeated itself.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clewline_job::archive::{OPEN, Position, WarcName};
use clewline_warc::{Block, Dictionary, Effort, Encoder, Moment, RecordDraft};

use super::ArchivePlan;
use super::group::Numbers;
use super::loss::note_size;
use crate::durable;
use crate::failpoint::{Point, pass};
use crate::log::appender::{Appender, damage, named};

/// Letters of a name that the plan decides.
const LONGEST_NAME: usize = 100;

/// What becomes of bytes that are taken back.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tails<'a> {
    /// They are kept in this folder.
    Kept(&'a Path),
    /// They are written again, so nobody needs them.
    Dropped,
}

/// The files, and the one in progress.
#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    current: Option<Current>,
    /// Names of files that are full and synced, and keep `.open` until a commit knows of it.
    complete: Vec<String>,
    /// Where the archive ends if no file is in progress.
    end: Position,
    /// What the next file begins with.
    dictionary: Option<Dictionary>,
}

#[derive(Debug)]
struct Current {
    appender: Appender,
    serial: u64,
    /// The name that the file will have.
    name: String,
}

impl Files {
    pub(super) const fn new(folder: PathBuf, end: Position) -> Self {
        Self {
            folder,
            current: None,
            complete: Vec::new(),
            end,
            dictionary: None,
        }
    }

    /// Has all later files begin with a dictionary.
    pub(super) fn use_dictionary(&mut self, dictionary: Dictionary) {
        self.dictionary = Some(dictionary);
    }

    /// Ends a file that is full, and begins the next one if none is in progress.
    pub(super) fn make_room(
        &mut self,
        plan: &ArchivePlan,
        numbers: &mut Numbers,
    ) -> io::Result<()> {
        let current = self.current.as_ref();
        if current.is_some_and(|current| current.appender.end() >= plan.file_size) {
            self.end()?;
        }
        if self.current.is_none() {
            self.begin(plan, numbers)?;
        }
        Ok(())
    }

    fn begin(&mut self, plan: &ArchivePlan, numbers: &mut Numbers) -> io::Result<()> {
        let serial = self.end.serial + 1;
        let date = Moment::from(SystemTime::now());
        let name = file_name(plan, date, serial);
        let mut appender = Appender::open(self.folder.join(format!("{name}{OPEN}")))?;
        let block = Block::plain(&plan.info);
        let draft = RecordDraft::warcinfo(numbers.one(), date, &name, block);
        let (mut encoder, mut bytes) = match &self.dictionary {
            Some(found) => (Encoder::with_dictionary(found.clone()), found.frame()),
            None => (Encoder::new(plan.coding), Vec::new()),
        };
        encoder
            .encode(&draft, Effort::Usual, &mut bytes)
            .map_err(io::Error::other)?;
        appender.write(&bytes)?;
        self.current = Some(Current {
            appender,
            serial,
            name,
        });
        Ok(())
    }

    /// Where the archive ends, written or not.
    pub(super) fn position(&self) -> Position {
        self.current.as_ref().map_or(self.end, |current| Position {
            serial: current.serial,
            offset: current.appender.end(),
        })
    }

    /// The name that the file in progress will have.
    pub(super) fn name(&self) -> &str {
        self.current.as_ref().map_or("", |current| &current.name)
    }

    pub(super) fn sync(&mut self) -> io::Result<Position> {
        if let Some(current) = &mut self.current {
            current.appender.sync()?;
        }
        Ok(self.position())
    }

    /// Nothing more comes into the file in progress.
    pub(super) fn end(&mut self) -> io::Result<()> {
        let end = self.sync()?;
        if let Some(current) = self.current.take() {
            self.end = end;
            self.complete.push(current.name);
        }
        Ok(())
    }

    /// Everything so far is committed: files that are complete get their names.
    pub(super) fn settle(&mut self) -> io::Result<()> {
        while let Some(name) = self.complete.first() {
            finish(&self.folder, name)?;
            self.complete.remove(0);
        }
        Ok(())
    }

    /// The crawl ends, and everything is committed.
    pub(super) fn close(&mut self) -> io::Result<()> {
        self.end()?;
        self.settle()
    }

    /// Takes everything after `end` back.
    pub(super) fn cut(&mut self, end: Position) -> io::Result<()> {
        // What is still in the buffer goes with it. What stays gets its name here.
        self.current = None;
        self.complete.clear();
        take_back(&self.folder, end, Tails::Dropped)?;
        self.end = end;
        Ok(())
    }
}

impl Write for Files {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.current {
            Some(current) => current.appender.write(bytes).map(|()| bytes.len()),
            None => Err(io::Error::other("no file of the archive is in progress")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `example.com-20261115123000-00001.warc.gz`.
fn file_name(plan: &ArchivePlan, date: Moment, serial: u64) -> String {
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || ".-_".contains(*letter);
    let name: String = plan
        .name
        .chars()
        .filter(is_plain)
        .take(LONGEST_NAME)
        .collect();
    let name = if name.is_empty() { "crawl" } else { &name };
    let suffix = plan.coding.suffix();
    format!("{name}-{}-{serial:05}{suffix}", date.timestamp())
}

/// The files of an archive in their order; a folder that is not there has none.
pub(super) fn list(folder: &Path) -> io::Result<Vec<WarcName>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(|error| named(folder, &error))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let name = entry.map_err(|error| named(folder, &error))?.file_name();
        found.extend(name.to_str().and_then(WarcName::parse));
    }
    found.sort_unstable();
    Ok(found)
}

/// Where an archive ends, as far as its files tell: behind the last one that holds something.
pub(crate) fn last_end(folder: &Path) -> io::Result<Position> {
    for file in list(folder)?.iter().rev() {
        let offset = fs::metadata(file.path(folder))?.len();
        if offset > 0 {
            let serial = file.serial;
            return Ok(Position { serial, offset });
        }
    }
    Ok(Position::default())
}

/// Takes an archive back to an end that it once had. Later files go first, so that whoever is
/// interrupted here finds the same work again.
pub(crate) fn take_back(folder: &Path, end: Position, tails: Tails<'_>) -> io::Result<()> {
    let files = list(folder)?;
    remove_later(folder, &files, end, tails)?;
    let last = files.iter().filter(|file| file.serial <= end.serial);
    if end.offset > 0 && !last.clone().any(|file| file.serial == end.serial) {
        let what = format!("the file with the number {:05} is gone", end.serial);
        return Err(damage(folder, &what));
    }
    for file in last {
        if file.serial == end.serial {
            shorten(&file.path(folder), end.offset, tails)?;
        }
        if file.is_open {
            finish(folder, &file.name)?;
        }
    }
    Ok(())
}

/// Removes the files that begin behind an end of the archive.
pub(super) fn remove_later(
    folder: &Path,
    files: &[WarcName],
    end: Position,
    tails: Tails<'_>,
) -> io::Result<()> {
    let mut later = files.iter().filter(|file| file.serial > end.serial);
    later.try_for_each(|file| remove(&file.path(folder), tails))
}

/// How many bytes stand behind an end of the archive.
pub(crate) fn tail_after(folder: &Path, end: Position) -> io::Result<u64> {
    let mut tail = 0;
    for file in list(folder)?
        .iter()
        .filter(|file| file.serial >= end.serial)
    {
        let path = file.path(folder);
        let length = fs::metadata(&path)
            .map_err(|error| named(&path, &error))?
            .len();
        let before = if file.serial == end.serial {
            end.offset
        } else {
            0
        };
        tail += length.saturating_sub(before);
    }
    Ok(tail)
}

/// Gives a file its final name. Only a whole file may have it.
fn finish(folder: &Path, name: &str) -> io::Result<()> {
    let target = folder.join(name);
    pass(Point::ArchiveBeforeRename);
    fs::rename(folder.join(format!("{name}{OPEN}")), &target)
        .and_then(|()| {
            pass(Point::ArchiveAfterRename);
            durable::sync_folder(folder)
        })
        .map_err(|error| named(&target, &error))?;
    note_size(folder, name);
    Ok(())
}

fn remove(path: &Path, tails: Tails<'_>) -> io::Result<()> {
    let removed = match tails {
        Tails::Dropped => fs::remove_file(path),
        Tails::Kept(kept) => {
            let name = path.file_name().unwrap_or_default();
            durable::make_folder(kept)
                .and_then(|()| fs::rename(path, kept.join(name)))
                .and_then(|()| durable::sync_folder(kept))
        }
    };
    removed.map_err(|error| named(path, &error))
}

pub(super) fn shorten(path: &Path, length: u64, tails: Tails<'_>) -> io::Result<()> {
    let at = |error: io::Error| named(path, &error);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .map_err(at)?;
    let found = file.metadata().map_err(at)?.len();
    if found < length {
        let what = format!("it has {found} bytes where the last commit saw {length}");
        return Err(damage(path, &what));
    }
    if found == length {
        return Ok(());
    }
    if let Tails::Kept(kept) = tails {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        durable::make_folder(kept).map_err(at)?;
        let mut tail = File::create(kept.join(format!("{name}.{length}"))).map_err(at)?;
        file.seek(SeekFrom::Start(length)).map_err(at)?;
        io::copy(&mut file, &mut tail).map_err(at)?;
        tail.sync_all()
            .and_then(|()| durable::sync_folder(kept))
            .map_err(at)?;
        pass(Point::BeforeCut);
    }
    file.set_len(length).map_err(at)?;
    file.sync_all().map_err(at)
}
