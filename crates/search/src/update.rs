//! Bringing an index up to date with its job.
//!
//! Owns when an index goes on and when it is begun anew, and how often it commits. The ranks
//! are made after the pages: without them every page weighs the same, so a crash between both
//! leaves a sound index.

use std::path::Path;

use clewline::log::Offset;
use clewline::log::archive::Position;

use crate::FOLDER;
use crate::error::SearchError;
use crate::rank::Ranks;
use crate::source::{Archive, Change, Source, Step};
use crate::writer::{Standing, Writer};

/// Settled URLs before the first commit. Each further one waits for as many as there were before
/// it, so that a crash costs half of the work at most …
const FIRST_COMMIT: u64 = 250;
/// … and for no more than these.
const COMMIT_EVERY: u64 = 20_000;
/// Settled URLs between two words about the progress.
const TELL_EVERY: u64 = 100;

/// How far the making of an index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
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
pub fn update(job: &Path, tell: &mut dyn FnMut(Progress)) -> Result<Updated, SearchError> {
    let archive = Archive::of_job(job)?;
    let folder = job.join(FOLDER);
    let standing = Standing::read(&folder)
        .filter(|standing| archive.holds(&standing.file, Position::of(Offset(standing.position))));
    let mut updated = match &standing {
        Some(standing) if standing.position == archive.end().offset().0 => Updated::default(),
        Some(standing) => go_on(&archive, Writer::open(&folder)?, standing, tell)?,
        None => {
            let start = Standing::new(String::new(), 0);
            go_on(&archive, Writer::begin(&folder)?, &start, tell)?
        }
    };
    updated.is_new = standing.is_none();
    if Ranks::load(&folder).is_behind(job, archive.growth) {
        Ranks::of_job(job)?
            .save(&folder)
            .map_err(|source| SearchError::Io {
                path: folder,
                source,
            })?;
    }
    Ok(updated)
}

/// Makes the index of a job folder anew.
pub fn rebuild(job: &Path, tell: &mut dyn FnMut(Progress)) -> Result<Updated, SearchError> {
    Archive::of_job(job)?;
    Writer::begin(&job.join(FOLDER))?.close()?;
    update(job, tell)
}

fn go_on(
    archive: &Archive,
    mut writer: Writer,
    from: &Standing,
    tell: &mut dyn FnMut(Progress),
) -> Result<Updated, SearchError> {
    let mut done = Updated::default();
    let known = writer.finder();
    let mut source = Source::new(archive, Position::of(Offset(from.position)), &known);
    let mut standing = from.clone();
    let mut due = FIRST_COMMIT;
    while let Some(step) = source.next() {
        let Step { change, position } = step?;
        apply(&mut writer, change, &mut done)?;
        standing = Standing::new(source.file_name(), position);
        if done.seen.is_multiple_of(TELL_EVERY) {
            let (seen, pages) = (done.seen, done.pages);
            tell(Progress { seen, pages });
        }
        if done.seen == due {
            writer.commit(&standing)?;
            due += due.min(COMMIT_EVERY);
        }
    }
    // What follows the last step, such as a torn end, holds nothing.
    let end = archive.end();
    if end.offset().0 > standing.position {
        standing = Standing::new(source.file_name(), end.offset().0);
    }
    writer.commit(&standing)?;
    done.damaged = source.damaged();
    writer.close()?;
    Ok(done)
}

fn apply(writer: &mut Writer, change: Change, done: &mut Updated) -> Result<(), SearchError> {
    done.seen += 1;
    match change {
        Change::Put(document) => {
            done.pages += 1;
            writer.put(*document)?;
        }
        Change::Remove { url, is_asked } => {
            done.left_out += u64::from(is_asked);
            writer.remove(&url);
        }
        Change::Keep => {}
    }
    Ok(())
}
