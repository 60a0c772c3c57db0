//! The job folder that a crawl owns: begun, taken up, marked with how the crawl ended.
//!
//! Owns what is written into `job.toml` and when a folder may be emptied. Its layout belongs to
//! `clewline-job`. It never deletes a folder that does not carry the marker.

#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use clewline_job::JobFile;
use clewline_job::folder::{FORMAT, Marker, check_line, read_marker};
pub(crate) use clewline_job::folder::{FolderError, Remedy};
pub(crate) use clewline_job::folder::{MARKER, STATE, TAILS, io_at, take_lock};

use crate::config::Config;
use crate::durable;
use crate::failpoint::{Point, pass};
use crate::witness::Witness;

/// How a crawl stands that owns a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderState {
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
    /// Makes the folder of a member of a fleet, whose keys are seeded as those of all others.
    pub(crate) fn create_seeded(
        path: &Path,
        config: &Config,
        seed: u64,
    ) -> Result<Self, FolderError> {
        if path.exists() {
            return Err(FolderError::Foreign(path.into()));
        }
        durable::make_folder(path).map_err(|source| io_at(path, source))?;
        make_private(&path.join(STATE))?;
        let lock = take_lock(path)?;
        Self::begin((path, seed), config, lock, true)
    }

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
            Some(marker) => return Self::resume(path, config, &marker, lock),
            None => {}
        }
        Self::begin((path, seed_for(config)), config, lock, is_new)
    }

    fn begin(
        (path, seed): (&Path, u64),
        config: &Config,
        lock: File,
        is_new: bool,
    ) -> Result<Self, FolderError> {
        let folder = Self {
            path: path.into(),
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
    fn resume(
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
        self.write_marker(config, FolderState::Open, None, self.reached)
    }

    /// Marks how the crawl ended; one that fetched no page makes way for the next.
    pub(crate) fn close(
        &self,
        config: &Config,
        standing: FolderState,
        why: &str,
    ) -> Result<(), FolderError> {
        let log = fs::metadata(self.path.join(crate::log::urls::FILE));
        let reached = log.map_or(0, |log| log.len());
        self.write_marker(config, standing, Some(why.to_owned()), reached)?;
        // What was cut off has been fetched again.
        if standing == FolderState::Finished {
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
        standing: FolderState,
        ended: Option<String>,
        reached: u64,
    ) -> Result<(), FolderError> {
        let marker = Marker {
            format: FORMAT,
            finished: matches!(standing, FolderState::Finished | FolderState::Withholding),
            withholds: standing == FolderState::Withholding,
            unreached: standing == FolderState::Unreached,
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

/// Makes a folder that only its owner can look into: the state holds cookies.
pub(crate) fn make_private(folder: &Path) -> Result<(), FolderError> {
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

/// The seed of a new job. One that brings an earlier crawl up to date has the keys of that, so that
/// what was made of its pages can be found again.
fn seed_for(config: &Config) -> u64 {
    let earlier = config.output.archive.update_from.as_deref();
    let earlier = earlier.and_then(|folder| JobFile::read(folder).ok());
    earlier.map_or_else(new_seed, |job| job.seed)
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
