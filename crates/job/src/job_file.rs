//! A job folder as it lies there, for whoever only looks.
//!
//! Owns the reading of `job.toml` and the question whether somebody works in the folder. Of the
//! configuration it knows what the folder cannot be read without: the roots, what makes keys, and
//! the earlier crawls that hold bodies of this one. It changes nothing. Invariant: the folder's
//! lock is the truth about a running crawl; a socket or a process number that was left behind means
//! nothing.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use clewline_core::key::Keyer;
use clewline_core::url::CrawlUrl;
use serde::Deserialize;
use thiserror::Error;

use crate::folder::{FolderError, MARKER, Remedy, STATE, io_at, read_marker};
use crate::log::Offset;
use crate::witness::Testimony;

/// Earlier crawls that are followed back from one.
const MOST_EARLIER: usize = 16;

/// Why a job folder cannot be read.
#[derive(Debug, Error)]
pub enum JobFileError {
    /// There is no job folder of that name.
    #[error("{} is not a job folder", .0.display())]
    NoJob(PathBuf),
    /// The folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobStanding {
    /// URLs are left, or may be.
    Unfinished,
    /// It came to its end.
    Finished,
    /// No page could be fetched, beginning with its roots.
    Unreached,
}

/// The settings of a crawl that its results cannot be read without.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct KeptSettings {
    roots: Vec<KeptRoot>,
    scope: KeptScope,
    output: KeptOutput,
}

#[derive(Debug, Clone, Deserialize)]
struct KeptRoot {
    url: CrawlUrl,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct KeptScope {
    drop_params: Vec<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct KeptOutput {
    archive: KeptArchive,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct KeptArchive {
    update_from: Option<PathBuf>,
    dedup_from: Vec<PathBuf>,
}

impl KeptSettings {
    /// Where the crawl began.
    pub fn roots(&self) -> impl Iterator<Item = &CrawlUrl> {
        self.roots.iter().map(|root| &root.url)
    }

    /// What makes the keys of the crawl, with this seed.
    pub fn keyer(&self, seed: u64) -> Keyer {
        Keyer::new(seed, &self.scope.drop_params)
    }

    /// Folders of earlier crawls whose archives hold bodies of this one.
    fn earlier(self) -> impl Iterator<Item = PathBuf> {
        let archive = self.output.archive;
        archive.update_from.into_iter().chain(archive.dedup_from)
    }
}

/// What `job.toml` says.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct JobFile {
    /// The folder.
    pub path: PathBuf,
    /// How far it is.
    pub standing: JobStanding,
    /// URLs are withheld as parts of traps.
    pub withholds: bool,
    /// Its state lives on disk, so that it can be resumed.
    pub durable: bool,
    /// How the last run ended; none while one runs, and after one that was killed.
    pub ended: Option<String>,
    /// What its keys are seeded with.
    pub seed: u64,
    /// What is needed of its configuration.
    pub settings: KeptSettings,
    /// The text of `job.toml`, for whoever knows the whole configuration.
    pub text: String,
}

impl JobFile {
    /// Reads the file of a job folder.
    pub fn read(path: &Path) -> Result<Self, JobFileError> {
        let marker = read_marker(path)?.ok_or_else(|| JobFileError::NoJob(path.into()))?;
        let file = path.join(MARKER);
        let text = fs::read_to_string(&file).map_err(|source| io_at(&file, source))?;
        let settings = toml::from_str(&text).map_err(|error| FolderError::Damaged {
            path: file,
            what: error.message().to_owned(),
            remedy: Remedy::StartAfresh,
        })?;
        Ok(Self {
            path: path.into(),
            standing: match (marker.finished, marker.unreached) {
                (true, _) => JobStanding::Finished,
                (_, true) => JobStanding::Unreached,
                _ => JobStanding::Unfinished,
            },
            withholds: marker.withholds,
            durable: marker.durable,
            ended: marker.ended.clone(),
            seed: marker.seed(path)?,
            settings,
            text,
        })
    }

    /// Where a log ended at the last commit that was witnessed, for views that are made from
    /// committed records only; nothing if no commit was.
    pub fn committed(&self, log: &str) -> Result<Option<Offset>, JobFileError> {
        let state = self.path.join(STATE);
        let told = Testimony::read(&state).map_err(|source| io_at(&state, source))?;
        let told = told.filter(|told| !told.is_empty());
        Ok(told.map(|told| Offset(told.offset(log))))
    }

    /// Folders of earlier crawls whose archives hold bodies that this one refers to, and of those
    /// that these refer to, as far as they are there.
    pub fn earlier(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut waiting = vec![self.settings.clone()];
        while let Some(settings) = waiting.pop() {
            for folder in settings.earlier() {
                let is_new = folder != self.path && !found.contains(&folder);
                if !is_new || found.len() == MOST_EARLIER || !folder.is_dir() {
                    continue;
                }
                waiting.extend(Self::read(&folder).ok().map(|job| job.settings));
                found.push(folder);
            }
        }
        found
    }

    /// The crawl that this one brings up to date, if it is still there.
    pub fn updated_from(&self) -> Option<PathBuf> {
        let folder = self.settings.output.archive.update_from.clone()?;
        folder.is_dir().then_some(folder)
    }

    /// Makes the keys of this job's logs.
    pub fn keyer(&self) -> Keyer {
        self.settings.keyer(self.seed)
    }

    /// Who works in the folder now, if somebody does.
    pub fn owner(&self) -> Result<Option<String>, JobFileError> {
        let file = self.path.join(STATE).join("lock");
        let lock = match File::open(&file) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(io_at(&file, source).into()),
        };
        match lock.try_lock_shared() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => {
                let owner = fs::read_to_string(&file).unwrap_or_default();
                let known = !owner.trim().is_empty();
                Ok(Some(if known { owner } else { "a process".to_owned() }))
            }
            Err(TryLockError::Error(source)) => Err(io_at(&file, source).into()),
        }
    }
}
