//! A job folder with its configuration, for whoever goes on with it or asks its crawl.
//!
//! Owns what is added to `job.toml` as `clewline-job` reads it: the whole configuration, and what
//! can go wrong with the state and with a crawl that is spoken to. It changes nothing.

use std::io;
use std::path::{Path, PathBuf};

pub(crate) use clewline_job::JobStanding;
use clewline_job::{JobFile, JobFileError};
use thiserror::Error;

use crate::config::Config;
use crate::folder::{FolderError, MARKER, Remedy};
use crate::store::StoreError;

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
    Store(Box<dyn std::error::Error + Send + Sync>),
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

impl From<StoreError> for JobError {
    fn from(error: StoreError) -> Self {
        Self::Store(error.into())
    }
}

impl From<JobFileError> for JobError {
    fn from(error: JobFileError) -> Self {
        match error {
            JobFileError::NoJob(path) => Self::NoJob(path),
            JobFileError::Folder(error) => error.into(),
        }
    }
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
    file: JobFile,
}

impl StoredJob {
    /// Reads the configuration of a job folder.
    pub fn read(path: &Path) -> Result<Self, JobError> {
        let file = JobFile::read(path)?;
        let mut config: Config =
            toml::from_str(&file.text).map_err(|error| FolderError::Damaged {
                path: path.join(MARKER),
                what: error.message().to_owned(),
                remedy: Remedy::StartAfresh,
            })?;
        config.output.folder = Some(path.into());
        // Those two belong to a command, not to a job.
        config.output.overwrite = false;
        config.output.rescope = false;
        Ok(Self {
            path: file.path.clone(),
            config,
            standing: file.standing,
            withholds: file.withholds,
            durable: file.durable,
            ended: file.ended.clone(),
            seed: file.seed,
            file,
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

    /// Who works in the folder now, if somebody does.
    pub fn owner(&self) -> Result<Option<String>, JobError> {
        Ok(self.file.owner()?)
    }

    /// What `job.toml` says without its configuration.
    pub const fn file(&self) -> &JobFile {
        &self.file
    }
}
