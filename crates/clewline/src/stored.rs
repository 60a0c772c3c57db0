//! A job folder as it lies there, for whoever goes on with it or only looks.
//!
//! Owns the reading of `job.toml` and the question whether somebody works in the folder. It
//! changes nothing. Invariant: the folder's lock is the truth about a running crawl; a socket
//! or a process number that was left behind means nothing.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use clewline_core::key::Keyer;
use thiserror::Error;

use crate::config::Config;
use crate::folder::{FolderError, MARKER, Remedy, STATE, io_at, read_marker};
use crate::log::Offset;
use crate::store::StoreError;
use crate::witness::Testimony;

/// Earlier crawls that are followed back from one.
const MOST_EARLIER: usize = 16;

/// Why a job could not be looked at or spoken to.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum JobError {
    /// There is no job folder of that name.
    #[error("{} is not a job folder", .0.display())]
    NoJob(PathBuf),
    /// The folder.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The state of the crawl.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No crawl runs in it.
    #[error("no crawl runs in {}", .0.display())]
    NotRunning(PathBuf),
    /// A crawl runs, but does not answer.
    #[error("{owner} works in {} but does not answer: {source}", path.display())]
    Silent {
        /// The folder.
        path: PathBuf,
        /// Who works in it.
        owner: String,
        /// What happened instead.
        source: io::Error,
    },
    /// The crawl ends at this moment.
    #[error("the crawl in {} is about to end", .0.display())]
    Ending(PathBuf),
    /// The crawl refused, and says why.
    #[error("{0}")]
    Refused(String),
}

impl JobError {
    /// Whether the folder can be read and not written, as on a read-only file system.
    pub(crate) fn is_read_only(&self) -> bool {
        let Self::Folder(FolderError::Io { source, .. }) = self else {
            return false;
        };
        matches!(
            source.kind(),
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied
        )
    }
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

/// What `job.toml` says.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StoredJob {
    /// The folder.
    pub path: PathBuf,
    /// The configuration; its secrets are withheld.
    pub config: Config,
    /// How far it is.
    pub standing: JobStanding,
    /// URLs are withheld as parts of traps.
    pub withholds: bool,
    /// Its state lives on disk, so that it can be resumed.
    pub durable: bool,
    /// How the last run ended; none while one runs, and after one that was killed.
    pub ended: Option<String>,
    pub(crate) seed: u64,
}

impl StoredJob {
    /// Reads the configuration of a job folder.
    pub fn read(path: &Path) -> Result<Self, JobError> {
        let marker = read_marker(path)?.ok_or_else(|| JobError::NoJob(path.into()))?;
        let file = path.join(MARKER);
        let text = fs::read_to_string(&file).map_err(|source| io_at(&file, source))?;
        let mut config: Config = toml::from_str(&text).map_err(|error| FolderError::Damaged {
            path: file,
            what: error.message().to_owned(),
            remedy: Remedy::StartAfresh,
        })?;
        config.output.folder = Some(path.into());
        // Those two belong to a command, not to a job.
        config.output.overwrite = false;
        config.output.rescope = false;
        Ok(Self {
            path: path.into(),
            config,
            standing: match (marker.finished, marker.unreached) {
                (true, _) => JobStanding::Finished,
                (_, true) => JobStanding::Unreached,
                _ => JobStanding::Unfinished,
            },
            withholds: marker.withholds,
            durable: marker.durable,
            ended: marker.ended.clone(),
            seed: marker.seed(path)?,
        })
    }

    /// Whether a run with this configuration goes on with it, or finds nothing left to do.
    pub fn has_work_for(&self, config: &Config) -> bool {
        match self.standing {
            JobStanding::Unfinished => true,
            JobStanding::Finished => self.withholds && !config.scope.traps,
            JobStanding::Unreached => false,
        }
    }

    /// Where a log ended at the last commit that was witnessed, for views that are made from
    /// committed records only; nothing if no commit was.
    pub fn committed(&self, log: &str) -> Result<Option<Offset>, JobError> {
        let state = self.path.join(STATE);
        let told = Testimony::read(&state).map_err(|source| io_at(&state, source))?;
        let told = told.filter(|told| !told.is_empty());
        Ok(told.map(|told| Offset(told.offset(log))))
    }

    /// Folders of earlier crawls whose archives hold bodies that this one refers to, and of those
    /// that these refer to, as far as they are there.
    pub fn earlier(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut configs = vec![self.config.clone()];
        while let Some(config) = configs.pop() {
            let archive = config.output.archive;
            for folder in archive.update_from.into_iter().chain(archive.dedup_from) {
                let is_new = folder != self.path && !found.contains(&folder);
                if !is_new || found.len() == MOST_EARLIER || !folder.is_dir() {
                    continue;
                }
                configs.extend(Self::read(&folder).ok().map(|job| job.config));
                found.push(folder);
            }
        }
        found
    }

    /// Makes the keys of this job's logs.
    pub fn keyer(&self) -> Keyer {
        self.config.keyer(self.seed)
    }

    /// Who works in the folder now, if somebody does.
    pub fn owner(&self) -> Result<Option<String>, JobError> {
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
