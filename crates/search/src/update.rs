//! Bringing an index up to date with its job.
//!
//! Owns when an index goes on and when it is begun anew, and how often it commits. The ranks
//! are made after the pages: without them every page weighs the same, so a crash between both
//! leaves a sound index.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use clewline::AnswerReader;
use clewline_job::JobStanding;
use clewline_job::archive::Position;
use clewline_job::log::Offset;
use clewline_job::pages::CommittedArchive;
use tempfile::TempDir;

use crate::FOLDER;
use crate::error::SearchError;
use crate::index::Index;
use crate::rank::{Growth, Ranks};
use crate::source::{IndexChange, PageSource, SourceStep};
use crate::writer::{IndexCheckpoint, Writer, WriterLock, WriterResources};

/// Settled URLs before the first commit. Each further one waits for as many as there were before
/// it, so that a crash costs half of the work at most …
const FIRST_COMMIT: u64 = 250;
/// … and for no more than these.
const COMMIT_EVERY: u64 = 20_000;
/// How long the first pages of another process are waited for, …
const PATIENCE: Duration = Duration::from_mins(1);
/// files that are gone for this long after somebody was last seen writing, …
const SHORT_PATIENCE: Duration = Duration::from_secs(2);
/// … and how long it is between two looks.
const PAUSE: Duration = Duration::from_millis(20);
/// Settled URLs between two words about the progress.
const TELL_EVERY: u64 = 100;

/// How far the making of an index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexProgress {
    /// Settled URLs that were looked at.
    pub seen: u64,
    /// Pages that were put in.
    pub pages: u64,
}

/// What was done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Updated {
    /// Settled URLs that were looked at.
    pub seen: u64,
    /// Pages that were put in.
    pub pages: u64,
    /// Pages that ask not to be indexed.
    pub left_out: u64,
    /// Damaged places of the archive that were passed.
    pub damaged: u64,
    /// The index was begun anew: there was none, or it belonged to something else.
    pub is_new: bool,
}

/// Brings the index of a job folder up to date, or makes it.
pub fn update(job: &Path, tell: &mut dyn FnMut(IndexProgress)) -> Result<Updated, SearchError> {
    let archive = CommittedArchive::open(job)?;
    let folder = job.join(FOLDER);
    let updated = catch_up(&archive, &folder, WriterResources::ALONE, &mut |progress| {
        if progress.seen.is_multiple_of(TELL_EVERY) {
            tell(progress);
        }
        ControlFlow::Continue(())
    })?;
    if Ranks::load(&folder).is_behind(job, growth(&archive)) {
        match Ranks::from_job(job)?.save(&folder) {
            // Another process has begun the index anew, and makes its ranks when that is done.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            saved => saved.map_err(|source| SearchError::Io {
                path: folder,
                source,
            })?,
        }
    }
    Ok(updated)
}

/// Whether more links may come.
fn growth(archive: &CommittedArchive) -> Growth {
    match archive.standing {
        JobStanding::Finished => Growth::Over,
        _ => Growth::GoesOn,
    }
}

/// How current an index is that was opened to be searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// It was brought up to date.
    Current,
    /// Another process is at that; it was opened as it stands.
    Behind,
}

/// Brings the index of a job folder up to date and opens it. While another process writes to it,
/// what is there is opened; if there is nothing yet, it is waited for.
pub fn open_updated(
    job: &Path,
    tell: &mut dyn FnMut(IndexProgress),
) -> Result<(Index, Freshness), SearchError> {
    let began = Instant::now();
    let mut quiet_since = began;
    loop {
        let freshness = match update(job, tell) {
            Ok(_) => Freshness::Current,
            Err(SearchError::Busy(_)) => {
                quiet_since = Instant::now();
                Freshness::Behind
            }
            Err(error) => return Err(error),
        };
        match Index::open(job) {
            Err(error) if may_pass(&error, began, quiet_since) => thread::sleep(PAUSE),
            opened => return opened.map(|index| (index, freshness)),
        }
    }
}

/// Whether an error may be due to another process. One that begins the index anew while its files
/// are opened looks like damage, so it counts as damage only when nobody has written for a while.
fn may_pass(error: &SearchError, began: Instant, quiet_since: Instant) -> bool {
    let is_early = began.elapsed() < PATIENCE;
    match error {
        // It has not committed yet.
        SearchError::NoIndex(_) | SearchError::Busy(_) => is_early,
        SearchError::Engine { .. } => is_early && quiet_since.elapsed() < SHORT_PATIENCE,
        _ => false,
    }
}

/// An index of a job whose folder cannot be written, in a folder of its own that goes with it.
#[derive(Debug)]
pub struct Borrowed {
    folder: TempDir,
}

impl Borrowed {
    /// Makes an index elsewhere, from the one in the job folder if there is one.
    pub fn make(job: &Path, tell: &mut dyn FnMut(IndexProgress)) -> Result<Self, SearchError> {
        let own = job.join(FOLDER);
        let failed = |source| SearchError::Io {
            path: own.clone(),
            source,
        };
        let folder = tempfile::Builder::new().prefix("clewline-index-").tempdir();
        let folder = folder.map_err(failed)?;
        if own.is_dir() {
            link_files(&own, folder.path()).map_err(failed)?;
        }
        let archive = CommittedArchive::open(job)?;
        catch_up(
            &archive,
            folder.path(),
            WriterResources::ALONE,
            &mut |progress| {
                tell(progress);
                ControlFlow::Continue(())
            },
        )?;
        Ok(Self { folder })
    }

    /// Opens it.
    pub fn open(&self) -> Result<Index, SearchError> {
        let folder = self.folder.path();
        Index::in_folder(folder)?.ok_or_else(|| SearchError::NoIndex(folder.to_owned()))
    }
}

/// Names the files of a folder in another one. Files of an index are never changed, only replaced
/// and removed, so that what happens to the names does not reach them.
fn link_files(from: &Path, to: &Path) -> io::Result<()> {
    let from = from.canonicalize()?;
    for entry in fs::read_dir(&from)? {
        let name = entry?.file_name();
        // Locks are taken by writing to them.
        if name.to_string_lossy().ends_with(".lock") {
            continue;
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(from.join(&name), to.join(&name))?;
        #[cfg(not(unix))]
        fs::copy(from.join(&name), to.join(&name))?;
    }
    Ok(())
}

/// Brings the index of a job folder up to date beside the crawl that fills it: on one thread,
/// with little memory, and until it is told to stop. Ranks are left to [`update`]: they take the
/// whole link log, and memory with it.
pub fn feed(job: &Path, is_over: &AtomicBool) -> Result<Updated, SearchError> {
    let archive = CommittedArchive::open(job)?;
    catch_up(
        &archive,
        &job.join(FOLDER),
        WriterResources::BESIDE,
        &mut |_| {
            if is_over.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        },
    )
}

/// Makes the index of a job folder anew.
pub fn rebuild(job: &Path, tell: &mut dyn FnMut(IndexProgress)) -> Result<Updated, SearchError> {
    CommittedArchive::open(job)?;
    let lock = WriterLock::take(&job.join(FOLDER))?;
    Writer::begin(lock, WriterResources::ALONE)?.close()?;
    update(job, tell)
}

/// Goes on from where the index stands, or begins it. `tell` hears of every step; if it breaks off,
/// what is done is committed, and the rest is left for another time.
fn catch_up(
    archive: &CommittedArchive,
    folder: &Path,
    room: WriterResources,
    tell: &mut dyn FnMut(IndexProgress) -> ControlFlow<()>,
) -> Result<Updated, SearchError> {
    let fits = |standing: &IndexCheckpoint| {
        archive.holds(&standing.file, Position::new(Offset(standing.position)))
    };
    let is_done = |standing: &IndexCheckpoint| standing.position == archive.end().offset().0;
    if IndexCheckpoint::read(folder).is_some_and(|standing| fits(&standing) && is_done(&standing)) {
        return Ok(Updated::default());
    }
    let lock = WriterLock::take(folder)?;
    // Another process may have written until now.
    let standing = IndexCheckpoint::read(folder).filter(fits);
    let mut updated = match &standing {
        Some(standing) if is_done(standing) => Updated::default(),
        Some(standing) => go_on(archive, Writer::open(lock, room)?, standing, tell)?,
        None => {
            let start = IndexCheckpoint::new(String::new(), 0);
            go_on(archive, Writer::begin(lock, room)?, &start, tell)?
        }
    };
    updated.is_new = standing.is_none();
    Ok(updated)
}

fn go_on(
    archive: &CommittedArchive,
    mut writer: Writer,
    from: &IndexCheckpoint,
    tell: &mut dyn FnMut(IndexProgress) -> ControlFlow<()>,
) -> Result<Updated, SearchError> {
    let mut done = Updated::default();
    let known = writer.finder();
    let reader = AnswerReader::default();
    let answers = reader.reader();
    let from_place = Position::new(Offset(from.position));
    let mut source = PageSource::new(archive, from_place, &known, &answers);
    let mut standing = from.clone();
    let mut due = FIRST_COMMIT;
    let mut flow = ControlFlow::Continue(());
    while flow.is_continue() {
        let Some(step) = source.next() else {
            // What follows the last step, such as a torn end, holds nothing.
            let end = archive.end().offset().0.max(standing.position);
            standing = IndexCheckpoint::new(source.file_name(), end);
            break;
        };
        let SourceStep { change, position } = step?;
        apply(&mut writer, change, &mut done)?;
        standing = IndexCheckpoint::new(source.file_name(), position);
        let (seen, pages) = (done.seen, done.pages);
        flow = tell(IndexProgress { seen, pages });
        if done.seen == due {
            writer.commit(&standing)?;
            due += due.min(COMMIT_EVERY);
        }
    }
    writer.commit(&standing)?;
    done.damaged = source.damaged();
    writer.close()?;
    Ok(done)
}

fn apply(writer: &mut Writer, change: IndexChange, done: &mut Updated) -> Result<(), SearchError> {
    done.seen += 1;
    match change {
        IndexChange::Put(document) => {
            done.pages += 1;
            writer.put(*document)?;
        }
        IndexChange::Remove { url, is_asked } => {
            done.left_out += u64::from(is_asked);
            writer.remove(&url);
        }
        IndexChange::Keep => {}
    }
    Ok(())
}
