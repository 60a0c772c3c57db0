//! A crawl's logs and views, made again from WARC files alone.
//!
//! Owns `urls.jsonl`, `links/`, `index.cdxj` and `report.html` of an archive. The files of a
//! crawl of ours hold the lines themselves, so `urls.jsonl` comes out as it was, byte for byte;
//! of other files only what their answers tell is known ([`ReadAnswer`]). It refuses to touch the
//! archive and anything that is there unless it is told to. Invariant: what is made gets its
//! name when it is whole.

mod making;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};

use clewline_core::key::Keyer;
use clewline_core::link::Link;
use clewline_warc::RecordKind;
use clewline_warc::read::Header;
use thiserror::Error;

use crate::archive::{FOLDER, FileRecords, serial_of};
use crate::metadata::{self, Noted};
use crate::record::Record;
use crate::{JobFile, JobFileError, JobStanding};
use making::Making;

/// Faults that are told in words; all are counted.
const MOST_TOLD: usize = 20;

/// What becomes of files that are there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// They stay, and nothing is made.
    Kept,
    /// They are replaced.
    Replaced,
}

/// What was made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rebuilt {
    /// Lines that the archive held, as they were written.
    pub lines: u64,
    /// Lines that were made from answers, because their files held none.
    pub derived: u64,
    /// Captures in the index.
    pub captures: u64,
    /// Records that could not be read.
    pub faults: u64,
    /// The first of these faults, in words.
    pub told: Vec<String>,
}

impl Rebuilt {
    fn fault(&mut self, path: &Path, error: &dyn std::fmt::Display) {
        self.faults += 1;
        if self.told.len() < MOST_TOLD {
            self.told.push(format!("{}: {error}", path.display()));
        }
    }
}

/// Why nothing was made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RebuildError {
    /// It would replace what is there.
    #[error("{} is there already", .0.display())]
    Exists(PathBuf),
    /// A crawl that goes on knows its logs better than its archive does.
    #[error("the crawl in {} is not finished", .0.display())]
    Unfinished(PathBuf),
    /// The folder.
    #[error(transparent)]
    Job(#[from] JobFileError),
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// An error of the system at a path.
fn at(path: &Path) -> impl Fn(io::Error) -> RebuildError {
    move |source| RebuildError::Io {
        path: path.into(),
        source,
    }
}

/// Whether the block of a warcinfo record says that a crawl of ours wrote what follows it: then
/// every URL that was settled has a line there, and answers without one are not pages.
pub fn is_ours(info: &str) -> bool {
    let software = info.lines().find_map(|line| line.strip_prefix("software:"));
    software.is_some_and(|name| name.trim_start().starts_with("clewline/"))
}

/// The links that the block of a metadata record names; none if no crawl of ours wrote it.
pub fn outlinks(block: impl BufRead) -> io::Result<Vec<Link>> {
    Ok(metadata::metadata(block)?.map_or(Vec::new(), |noted| noted.links))
}

/// What an answer says of a URL that no line of a crawl speaks of.
#[derive(Debug)]
pub struct Derived {
    /// The line that it makes.
    pub record: Record,
    /// The links of its page.
    pub links: Vec<Link>,
}

/// Reads an answer that somebody else archived, with these keys. Nothing if the block holds none,
/// or not of a URL that can be crawled. To read pages for links is not the business of this crate.
pub type ReadAnswer<'a> = dyn Fn(&Keyer, &Header, &mut dyn BufRead) -> Option<Derived> + 'a;

/// Makes everything again from these files, into a folder. `tell` hears how many more bytes of
/// the files were read; files that no crawl of ours made are read twice, and told once.
pub fn rebuild(
    files: &[PathBuf],
    folder: &Path,
    existing: Existing,
    answers: &ReadAnswer<'_>,
    tell: &mut dyn FnMut(u64),
) -> Result<Rebuilt, RebuildError> {
    let seed = seed_of(folder)?;
    let mut making = Making::begin(folder, existing, seed, answers)?;
    for file in in_order(files) {
        making.read(file, tell)?;
    }
    making.finish()
}

/// Makes `urls.jsonl` and `links/` of a job again from its archive, which ends where the job's
/// last commit ends; says how many lines there are.
pub fn logs(folder: &Path, seed: u64, answers: &ReadAnswer<'_>) -> Result<usize, RebuildError> {
    let files = files_of(folder)?;
    let mut making = Making::begin(folder, Existing::Replaced, Some(seed), answers)?;
    for file in in_order(&files) {
        making.read(file, &mut |_| {})?;
    }
    making.finish_logs()
}

/// Hands on every line that a job's archive holds, with the links of its page, in the order of
/// the crawl. What can't be read is passed over.
pub fn each_line<E: From<RebuildError>>(
    folder: &Path,
    mut each: impl FnMut(Noted) -> Result<(), E>,
) -> Result<(), E> {
    let files = files_of(folder)?;
    for file in in_order(&files) {
        let failed = at(file);
        let mut records = FileRecords::whole(File::open(file).map_err(&failed)?);
        loop {
            match records.next_record().map_err(&failed)? {
                Ok(None) => break,
                Ok(Some(header)) if header.kind() == RecordKind::Metadata => {
                    if let Ok(Some(noted)) = metadata::metadata(records.block()) {
                        each(noted)?;
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// The files of a job's archive.
fn files_of(folder: &Path) -> Result<Vec<PathBuf>, RebuildError> {
    let archive = folder.join(FOLDER);
    let entries = std::fs::read_dir(&archive).map_err(at(&archive))?;
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    Ok(paths.filter(|path| serial_of(path).is_some()).collect())
}

/// What the keys of the job in a folder are seeded with, if there is a job. Only one that came to
/// its end may be touched: a restart would cut what it does not know.
fn seed_of(folder: &Path) -> Result<Option<u64>, RebuildError> {
    match JobFile::read(folder) {
        Ok(job) if job.standing == JobStanding::Unfinished => {
            Err(RebuildError::Unfinished(folder.into()))
        }
        Ok(job) => Ok(Some(job.seed)),
        Err(JobFileError::NoJob(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The files of a crawl are written in the order of their serial numbers, whatever the clock
/// said meanwhile; others come as they are named.
fn in_order(files: &[PathBuf]) -> Vec<&PathBuf> {
    let mut ordered: Vec<&PathBuf> = files.iter().collect();
    let serials: Option<Vec<(u64, Option<&Path>)>> = files
        .iter()
        .map(|file| Some((serial_of(file)?, file.parent())))
        .collect();
    if let Some(mut serials) = serials {
        let together = serials.windows(2).all(|pair| pair[0].1 == pair[1].1);
        let count = serials.len();
        serials.sort_unstable();
        serials.dedup();
        if together && serials.len() == count {
            ordered.sort_by_key(|file| serial_of(file));
        }
    }
    ordered
}
