//! `--repair`: a job goes on with what is left of it.
//!
//! Owns the order of the repair. The archive comes first: what is lost of it is recorded, and
//! everything else follows from it. A log that is damaged or too short is made again from the
//! archive, which holds every line and every link. At last the state learns where the logs end
//! now. Whoever is interrupted repairs again.

use std::fs;
use std::path::Path;

use crate::config::Config;
use crate::crawl::CrawlError;
use crate::engine::TALLY_NOTE;
use crate::folder::{FolderError, JobFolder, TAILS};
use crate::log::archive::{self, Position, Repaired, Tails};
use crate::log::{Offset, links, urls};
use crate::rebuild;
use crate::store::DiskStore;
use clewline_job::log::LinksReader;

use super::io_at;
use super::tail::LogEnd;

/// Repairs the logs; says in words what was done.
pub(super) fn logs(
    folder: &JobFolder,
    store: &DiskStore,
    config: &Config,
) -> Result<Vec<String>, CrawlError> {
    let path = folder.path();
    let warcs = path.join(archive::FOLDER);
    let tails = folder.state_path().join(TAILS);
    let committed = Position::new(Offset(store.offset(archive::NAME)?.unwrap_or(0)));
    let at = |source| FolderError::from_reading(&warcs, source);
    let repaired = if committed == Position::default() {
        Repaired::default()
    } else {
        archive::repair(&warcs, committed, Tails::Kept(&tails)).map_err(at)?
    };
    archive::take_back(&warcs, repaired.end, Tails::Kept(&tails)).map_err(at)?;
    let mut told = Vec::new();
    if repaired.files > 0 {
        let record = warcs.join(archive::MISSING);
        told.push(format!(
            "{} of the archive are lost or damaged, and {} with them; {} lists them",
            counted(repaired.files, "file"),
            counted(repaired.captures, "capture"),
            record.display(),
        ));
    }
    let mut offsets = vec![(archive::NAME, repaired.end.offset().0)];
    let damage = cut_whole(folder, store)?;
    if let Some(damage) = damage {
        if !config.output.archive.write || repaired.end == Position::default() {
            return Err(damage.into());
        }
        let made = rebuild::logs(path, folder.seed())?;
        told.push(format!(
            "{} was made again from the archive: {}",
            path.join(urls::FILE).display(),
            counted(made, "line"),
        ));
    }
    for (name, file) in [(urls::NAME, urls::FILE), (links::NAME, links::FILE)] {
        let length = length_of(&path.join(file))?;
        offsets.push((name, length));
    }
    let mut is_moved = false;
    for (name, offset) in &offsets {
        is_moved |= store.offset(name)?.unwrap_or(0) != *offset;
    }
    if is_moved {
        store.mend(&offsets, TALLY_NOTE)?;
    }
    Ok(told)
}

/// Cuts both logs back to the last commit, if each is whole up to there; answers what is wrong.
fn cut_whole(folder: &JobFolder, store: &DiskStore) -> Result<Option<FolderError>, CrawlError> {
    let path = folder.path();
    for (name, file) in [(urls::NAME, urls::FILE), (links::NAME, links::FILE)] {
        let end = LogEnd {
            path: path.join(file),
            committed: store.offset(name)?.unwrap_or(0),
        };
        match end.tail() {
            Ok(0) => {}
            Ok(tail) => end.cut(tail, &folder.state_path())?,
            Err(error @ FolderError::Damaged { .. }) => return Ok(Some(error)),
            Err(error) => return Err(error.into()),
        }
    }
    let lines = path.join(urls::FILE);
    if lines.exists() {
        let read =
            urls::records(&lines).and_then(|mut lines| lines.try_for_each(|one| one.map(drop)));
        if let Err(error) = read {
            return Ok(Some(FolderError::from_reading(&lines, error)));
        }
    }
    let blocks = path.join(links::FILE);
    // A log that was cut to its beginning has no header; it gets one when it is opened.
    if length_of(&blocks)? > 0 {
        let read =
            LinksReader::open(path).and_then(|mut links| links.try_for_each(|one| one.map(drop)));
        if let Err(error) = read {
            return Ok(Some(FolderError::from_reading(&blocks, error)));
        }
    }
    Ok(None)
}

pub(super) fn length_of(path: &Path) -> Result<u64, FolderError> {
    match fs::metadata(path) {
        Ok(file) => Ok(file.len()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(source) => Err(io_at(path, source)),
    }
}

pub(super) fn counted(count: usize, what: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {what}{ending}")
}
