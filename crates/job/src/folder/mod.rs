//! The layout of a job folder: its marker, its lock and the names in it.
//!
//! Owns `job.toml` as far as every version understands it, the lock that one process holds, and
//! what can be wrong with a folder. It refuses to know what a crawl is configured with, and never
//! writes: whoever owns the folder does.

pub mod check_line;
pub mod lock;

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use self::lock::{is_in_use, take_lock};
use crate::witness::Witness;

/// The version of the folder's layout.
pub const FORMAT: u32 = 1;

/// The file that makes a folder ours, and holds the configuration.
pub const MARKER: &str = "job.toml";

/// Within the state: bytes that no commit knew, kept until the crawl is finished.
pub const TAILS: &str = "tails";

/// The folder of everything that is not a result.
pub const STATE: &str = "state";

/// Why a folder cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FolderError {
    /// It holds a crawl that came to its end.
    #[error("{0} already holds a finished crawl")]
    Finished(PathBuf),
    /// It holds a crawl that was stopped.
    #[error("{0} holds a crawl that was not finished")]
    Unfinished(PathBuf),
    /// There is something else of that name.
    #[error("{0} is there already and is not a job folder")]
    Foreign(PathBuf),
    /// It was made by a newer version.
    #[error("{path} was made by a newer version of clewline (format {format}, this is {FORMAT})")]
    Newer {
        /// The folder.
        path: PathBuf,
        /// Its format.
        format: u32,
    },
    /// Another process works in it.
    #[error("{path} is in use by {owner}")]
    InUse {
        /// The folder.
        path: PathBuf,
        /// Who works in it.
        owner: String,
    },
    /// It holds an unfinished crawl of another scope.
    #[error("{path} holds an unfinished crawl of another scope:\n  {}", differences.join("\n  "))]
    Rescoped {
        /// The folder.
        path: PathBuf,
        /// What differs.
        differences: Vec<String>,
    },
    /// A file in it is damaged.
    #[error("{path} is damaged: {what}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
        /// What helps.
        remedy: Remedy,
    },
    /// It could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// What could not be read or written.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl FolderError {
    /// What a reader of a log says: it cannot be read, or what is in it makes no sense.
    pub fn from_reading(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
                let text = source.to_string();
                let known = format!("{}: ", path.display());
                Self::Damaged {
                    path: path.into(),
                    what: text.strip_prefix(&known).unwrap_or(&text).to_owned(),
                    remedy: Remedy::StartAfresh,
                }
            }
            _ => io_at(path, source),
        }
    }

    /// The same damage, with something else that helps.
    #[must_use]
    pub fn with(self, remedy: Remedy) -> Self {
        match self {
            Self::Damaged { path, what, .. } => Self::Damaged { path, what, remedy },
            other => other,
        }
    }
}

/// What helps against damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Nothing but to crawl again.
    StartAfresh,
    /// To go back to the last commit that is left.
    GoBack,
    /// To take the marker as it is, by removing its first line.
    RemoveCheckLine,
    /// To put the missing file back, or to go on without it and with the loss recorded.
    GoWithout,
    /// To make the file again from the archive.
    MakeAgain,
    /// To make the whole state again from the archive.
    RemakeState,
    /// To put the folder's own file back.
    PutBack,
}

/// The part of `job.toml` that every version understands.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a line of the file that stands for itself"
)]
pub struct Marker {
    /// The version of the folder's layout.
    pub format: u32,
    /// The crawl came to its end.
    pub finished: bool,
    /// No page could be fetched: there is nothing to keep.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreached: bool,
    /// It came to its end with URLs that are withheld as parts of traps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withholds: bool,
    /// The state lives on disk, so the crawl can be resumed.
    #[serde(default)]
    pub durable: bool,
    /// What the keys of this job are seeded with, in hexadecimal. It is the identity of the job,
    /// too: the state and the archive repeat it.
    #[serde(default)]
    pub seed: String,
    /// How long `urls.jsonl` was when a run ended in order; a state that knows less is older.
    #[serde(default)]
    pub reached: u64,
    /// How the last run ended; none while it runs, and after one that was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

impl Marker {
    /// What keys are seeded with.
    pub fn seed(&self, path: &Path) -> Result<u64, FolderError> {
        u64::from_str_radix(&self.seed, 16).map_err(|_| FolderError::Damaged {
            path: path.join(MARKER),
            what: "the seed is missing".into(),
            remedy: Remedy::StartAfresh,
        })
    }

    /// Stands for one that cannot be read.
    pub const SPOILT: Self = Self {
        format: FORMAT,
        finished: false,
        unreached: false,
        withholds: false,
        durable: false,
        seed: String::new(),
        reached: 0,
        ended: None,
    };
}

/// The marker of a folder; nothing if the folder is not ours.
pub fn read_marker(path: &Path) -> Result<Option<Marker>, FolderError> {
    let file = path.join(MARKER);
    let text = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(source) => return Err(io_at(&file, source)),
    };
    // Something else may be called so, too; but not beside a witness.
    let is_ours = Witness::path(&path.join(STATE)).exists();
    let damaged = |what: &str, remedy| FolderError::Damaged {
        path: file.clone(),
        what: what.into(),
        remedy,
    };
    match toml::from_str::<Marker>(&text) {
        Ok(marker) if marker.format > FORMAT => Err(FolderError::Newer {
            path: path.into(),
            format: marker.format,
        }),
        Ok(_) if !check_line::holds(&text) => Err(damaged(
            "it is not as it was written",
            Remedy::RemoveCheckLine,
        )),
        Ok(marker) => Ok(Some(marker)),
        Err(error) if is_ours => Err(damaged(error.message(), Remedy::StartAfresh)),
        Err(_) => Ok(None),
    }
}

/// An error of the system at a path.
pub fn io_at(path: &Path, source: io::Error) -> FolderError {
    FolderError::Io {
        path: path.into(),
        source,
    }
}
