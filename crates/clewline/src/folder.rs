//! The job folder: where a crawl's results live.
//!
//! Owns the marker, the format version and the state of a folder. It never deletes a folder
//! that does not carry the marker.

mod check_line;
mod lock;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub(crate) use self::lock::take_lock;
use crate::config::Config;
use crate::durable;
use crate::failpoint::{Point, pass};
use crate::witness::Witness;

/// The version of the folder's layout.
const FORMAT: u32 = 1;

/// The file that makes a folder ours, and holds the configuration.
pub(crate) const MARKER: &str = "job.toml";

/// Within the state: bytes that no commit knew, kept until the crawl is finished.
pub(crate) const TAILS: &str = "tails";

/// The folder of everything that is not a result.
pub(crate) const STATE: &str = "state";

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
    pub(crate) fn of_reading(path: &Path, source: io::Error) -> Self {
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
    pub(crate) fn with(self, remedy: Remedy) -> Self {
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
pub(crate) struct Marker {
    format: u32,
    pub(crate) finished: bool,
    /// No page could be fetched: there is nothing to keep.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unreached: bool,
    /// It came to its end with URLs that are withheld as parts of traps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) withholds: bool,
    /// The state lives on disk, so the crawl can be resumed.
    #[serde(default)]
    pub(crate) durable: bool,
    /// What the keys of this job are seeded with, in hexadecimal. It is the identity of the job,
    /// too: the state and the archive repeat it.
    #[serde(default)]
    seed: String,
    /// How long `urls.jsonl` was when a run ended in order; a state that knows less is older.
    #[serde(default)]
    reached: u64,
    /// How the last run ended; none while it runs, and after one that was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<String>,
}

impl Marker {
    /// What keys are seeded with.
    pub(crate) fn seed(&self, path: &Path) -> Result<u64, FolderError> {
        u64::from_str_radix(&self.seed, 16).map_err(|_| FolderError::Damaged {
            path: path.join(MARKER),
            what: "the seed is missing".into(),
            remedy: Remedy::StartAfresh,
        })
    }

    /// Stands for one that cannot be read.
    const SPOILT: Self = Self {
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

/// How a crawl stands that owns a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    Open,
    Finished,
    /// Finished, but for URLs that are withheld as parts of traps.
    Withholding,
    Unreached,
}

/// Whether a folder begins a crawl or goes on with one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beginning {
    Afresh,
    Again,
}

/// A job folder that this crawl owns, and nobody else as long as it does.
#[derive(Debug)]
pub(crate) struct JobFolder {
    path: PathBuf,
    seed: u64,
    reached: u64,
    beginning: Beginning,
    is_new: bool,
    _lock: File,
}

impl JobFolder {
    /// Makes the folder of a new crawl, or takes up the crawl that is in it.
    pub(crate) fn open(path: &Path, config: &Config) -> Result<Self, FolderError> {
        let marker = match read_marker(path) {
            // What is damaged may be replaced like anything else of ours.
            Err(FolderError::Damaged { .. }) if config.output.overwrite => Some(Marker::SPOILT),
            other => other?,
        };
        let foreign = path.exists() && marker.is_none() && !has_hardly_begun(path);
        if foreign {
            return Err(FolderError::Foreign(path.into()));
        }
        let is_new = !path.exists();
        durable::make_folder(path).map_err(|source| io_at(path, source))?;
        make_private(&path.join(STATE))?;
        let lock = take_lock(path)?;
        match marker {
            // Whoever mistyped a name or started the server late just tries again.
            Some(marker) if config.output.overwrite || marker.unreached => empty(path)?,
            Some(marker) if marker.finished && (config.scope.traps || !marker.withholds) => {
                return Err(FolderError::Finished(path.into()));
            }
            Some(marker) if !marker.durable || config.output.in_memory => {
                return Err(FolderError::Unfinished(path.into()));
            }
            Some(marker) => return Self::take_up(path, config, &marker, lock),
            None => {}
        }
        let (path, seed) = (path.into(), new_seed());
        let folder = Self {
            path,
            seed,
            reached: 0,
            beginning: Beginning::Afresh,
            is_new,
            _lock: lock,
        };
        let state = folder.state_path();
        Witness::create(&state).map_err(|source| io_at(&state, source))?;
        pass(Point::NewFolder);
        folder.keep(config)?;
        pass(Point::NewMarker);
        Ok(folder)
    }

    /// Goes on with an unfinished crawl, unless its scope became another one.
    fn take_up(
        path: &Path,
        config: &Config,
        marker: &Marker,
        lock: File,
    ) -> Result<Self, FolderError> {
        let seed = marker.seed(path)?;
        let differences = rescoped(path, config)?;
        if !differences.is_empty() && !config.output.rescope {
            return Err(FolderError::Rescoped {
                path: path.into(),
                differences,
            });
        }
        let folder = Self {
            path: path.into(),
            seed,
            // A repair may go back.
            reached: if config.output.repair {
                0
            } else {
                marker.reached
            },
            beginning: Beginning::Again,
            is_new: false,
            _lock: lock,
        };
        folder.keep(config)?;
        pass(Point::RecoveryBegins);
        Ok(folder)
    }

    /// Whether the crawl begins or goes on.
    pub(crate) const fn beginning(&self) -> Beginning {
        self.beginning
    }

    /// The folder as one that may be removed, if this run made it.
    pub(crate) fn as_empty(&self) -> Option<EmptyFolder> {
        self.is_new.then(|| EmptyFolder(self.path.clone()))
    }

    /// What keys are seeded with.
    pub(crate) const fn seed(&self) -> u64 {
        self.seed
    }

    /// The identity of the job, as state and marker write it.
    pub(crate) fn id(&self) -> String {
        format!("{:016x}", self.seed)
    }

    /// How long `urls.jsonl` was when a run ended in order.
    pub(crate) const fn reached(&self) -> u64 {
        self.reached
    }

    /// Where everything is that is not a result.
    pub(crate) fn state_path(&self) -> PathBuf {
        self.path.join(STATE)
    }

    /// Where the store keeps its state.
    pub(crate) fn store_path(&self) -> PathBuf {
        self.state_path().join("store")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the configuration of a crawl that runs.
    pub(crate) fn keep(&self, config: &Config) -> Result<(), FolderError> {
        self.write_marker(config, Standing::Open, None, self.reached)
    }

    /// Marks how the crawl ended; one that fetched no page makes way for the next.
    pub(crate) fn close(
        &self,
        config: &Config,
        standing: Standing,
        why: &str,
    ) -> Result<(), FolderError> {
        let log = fs::metadata(self.path.join(crate::log::urls::FILE));
        let reached = log.map_or(0, |log| log.len());
        self.write_marker(config, standing, Some(why.to_owned()), reached)?;
        // What was cut off has been fetched again.
        if standing == Standing::Finished {
            fs::remove_dir_all(self.state_path().join(TAILS)).ok();
        }
        Ok(())
    }

    /// Writes a file whole or not at all.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<(), FolderError> {
        let target = self.path.join(name);
        durable::write(&target, content).map_err(|source| io_at(&target, source))
    }

    fn write_marker(
        &self,
        config: &Config,
        standing: Standing,
        ended: Option<String>,
        reached: u64,
    ) -> Result<(), FolderError> {
        let marker = Marker {
            format: FORMAT,
            finished: matches!(standing, Standing::Finished | Standing::Withholding),
            withholds: standing == Standing::Withholding,
            unreached: standing == Standing::Unreached,
            durable: !config.output.in_memory,
            seed: self.id(),
            reached,
            ended,
        };
        let head =
            toml::to_string(&marker).map_err(|error| io_at(&self.path, io::Error::other(error)))?;
        let body =
            toml::to_string(config).map_err(|error| io_at(&self.path, io::Error::other(error)))?;
        let text = check_line::add(&format!("{head}\n{body}"));
        self.write(MARKER, text.as_bytes())
    }
}

/// The folder of a crawl in which nobody answered.
#[derive(Debug)]
pub struct EmptyFolder(PathBuf);

impl EmptyFolder {
    /// Removes it, unless another crawl began in it meanwhile.
    pub fn remove(self) -> Result<(), FolderError> {
        let _lock = take_lock(&self.0)?;
        if read_marker(&self.0)?.is_none_or(|marker| !marker.unreached) {
            return Ok(());
        }
        // Killed in between, it leaves what the next crawl takes for its own.
        empty(&self.0)?;
        fs::remove_dir_all(&self.0).map_err(|source| io_at(&self.0, source))
    }
}

pub(crate) fn read_marker(path: &Path) -> Result<Option<Marker>, FolderError> {
    let file = path.join(MARKER);
    let text = match fs::read_to_string(&file) {
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

/// Makes a folder that only its owner can look into: the state holds cookies.
fn make_private(folder: &Path) -> Result<(), FolderError> {
    durable::make_folder(folder).map_err(|source| io_at(folder, source))?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let private = fs::Permissions::from_mode(0o700);
        fs::set_permissions(folder, private).map_err(|source| io_at(folder, source))?;
    }
    Ok(())
}

/// Removes everything of an earlier crawl but the lock that is held.
fn empty(path: &Path) -> Result<(), FolderError> {
    let remove = |path: &Path| {
        let removed = if path.is_dir() {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        };
        removed.map_err(|source| io_at(path, source))
    };
    for folder in [path.join(STATE), path.to_path_buf()] {
        for entry in fs::read_dir(&folder).map_err(|source| io_at(&folder, source))? {
            let entry = entry.map_err(|source| io_at(&folder, source))?.path();
            let stays = ["lock", STATE, MARKER]
                .iter()
                .any(|name| entry.ends_with(name));
            if !stays {
                remove(&entry)?;
            }
        }
    }
    // The marker goes last: without it, what is left would be a stranger's.
    match fs::remove_file(path.join(MARKER)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_at(path, error)),
        _ => Ok(()),
    }
}

/// Keys are seeded per job, so that no site can aim at collisions.
pub(crate) fn new_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}

/// How the scope of a configuration differs from the one in the folder.
fn rescoped(path: &Path, config: &Config) -> Result<Vec<String>, FolderError> {
    let file = path.join(MARKER);
    let damaged = |error: &dyn std::fmt::Display| FolderError::Damaged {
        path: file.clone(),
        what: error.to_string(),
        remedy: Remedy::StartAfresh,
    };
    let text = fs::read_to_string(&file).map_err(|source| io_at(&file, source))?;
    let old: toml::Table = toml::from_str(&text).map_err(|error| damaged(&error.message()))?;
    let new = toml::Table::try_from(config).map_err(|error| damaged(&error))?;
    let mut differences = Vec::new();
    if old.get("roots") != new.get("roots") {
        differences.push(format!(
            "roots: {} → {}",
            shown(&old, "roots"),
            shown(&new, "roots")
        ));
    }
    let scope = |table: &toml::Table| {
        table
            .get("scope")
            .and_then(|scope| scope.as_table().cloned())
    };
    let (old, new) = (
        scope(&old).unwrap_or_default(),
        scope(&new).unwrap_or_default(),
    );
    // Whether traps are looked for is no question of scope.
    for key in new.keys().filter(|key| *key != "traps") {
        if old.get(key) != new.get(key) {
            differences.push(format!(
                "{key}: {} → {}",
                shown(&old, key),
                shown(&new, key)
            ));
        }
    }
    Ok(differences)
}

fn shown(table: &toml::Table, key: &str) -> String {
    table
        .get(key)
        .map_or_else(|| "nothing".into(), ToString::to_string)
}

/// Whether a folder holds nothing, or only what comes before the marker: a crawl that was
/// killed in its first moment.
fn has_hardly_begun(path: &Path) -> bool {
    let holds_only = |folder: &Path, names: &[&str]| {
        fs::read_dir(folder).is_ok_and(|mut entries| {
            entries.all(|entry| {
                entry.is_ok_and(|entry| names.iter().any(|name| entry.file_name() == *name))
            })
        })
    };
    let state = path.join(STATE);
    holds_only(path, &[STATE, ".job.toml.new"])
        && (!state.exists() || holds_only(&state, &["lock", "witness", ".witness.new"]))
}

pub(crate) fn io_at(path: &Path, source: io::Error) -> FolderError {
    FolderError::Io {
        path: path.into(),
        source,
    }
}
