//! The job folder: where a crawl's results live.
//!
//! Owns the marker, the format version and the state of a folder. It never deletes a folder
//! that does not carry the marker.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::config::Config;

/// The version of the folder's layout.
const FORMAT: u32 = 1;

/// The file that makes a folder ours, and holds the configuration.
const MARKER: &str = "job.toml";

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
    /// It could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// What could not be read or written.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

/// The part of `job.toml` that every version understands.
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    format: u32,
    finished: bool,
    /// None of the roots could be reached: there is nothing to keep.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unreached: bool,
}

/// How a crawl stands that owns a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Open,
    Finished,
    Unreached,
}

/// A job folder that this crawl owns.
#[derive(Debug, Clone)]
pub(crate) struct JobFolder {
    path: PathBuf,
}

impl JobFolder {
    /// Makes the folder of a new crawl.
    pub(crate) fn create(path: &Path, config: &Config) -> Result<Self, FolderError> {
        if path.exists() {
            let replace = config.output.overwrite;
            match read_marker(path)? {
                // Whoever mistyped a name or started the server late just tries again.
                Some(marker) if replace || marker.unreached => {
                    fs::remove_dir_all(path).map_err(|source| io_at(path, source))?;
                }
                Some(marker) if marker.finished => return Err(FolderError::Finished(path.into())),
                Some(_) => return Err(FolderError::Unfinished(path.into())),
                None if is_empty(path) => {}
                None => return Err(FolderError::Foreign(path.into())),
            }
        }
        fs::create_dir_all(path).map_err(|source| io_at(path, source))?;
        let folder = Self { path: path.into() };
        folder.write_marker(config, Standing::Open)?;
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Marks the crawl as finished.
    pub(crate) fn finish(&self, config: &Config) -> Result<(), FolderError> {
        self.write_marker(config, Standing::Finished)
    }

    /// Marks the crawl as one that reached none of its roots; the next may take its place.
    pub(crate) fn give_up(&self, config: &Config) -> Result<(), FolderError> {
        self.write_marker(config, Standing::Unreached)
    }

    /// Writes a file whole or not at all.
    pub(crate) fn write(&self, name: &str, content: &[u8]) -> Result<(), FolderError> {
        let target = self.path.join(name);
        let temporary = self.path.join(format!(".{name}.new"));
        fs::write(&temporary, content)
            .and_then(|()| fs::rename(&temporary, &target))
            .map_err(|source| io_at(&target, source))
    }

    fn write_marker(&self, config: &Config, standing: Standing) -> Result<(), FolderError> {
        let marker = Marker {
            format: FORMAT,
            finished: standing == Standing::Finished,
            unreached: standing == Standing::Unreached,
        };
        let head =
            toml::to_string(&marker).map_err(|error| io_at(&self.path, io::Error::other(error)))?;
        let body =
            toml::to_string(config).map_err(|error| io_at(&self.path, io::Error::other(error)))?;
        self.write(MARKER, format!("{head}\n{body}").as_bytes())
    }
}

fn read_marker(path: &Path) -> Result<Option<Marker>, FolderError> {
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
    match toml::from_str::<Marker>(&text) {
        Ok(marker) if marker.format > FORMAT => Err(FolderError::Newer {
            path: path.into(),
            format: marker.format,
        }),
        Ok(marker) => Ok(Some(marker)),
        Err(_) => Ok(None),
    }
}

fn is_empty(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

fn io_at(path: &Path, source: io::Error) -> FolderError {
    FolderError::Io {
        path: path.into(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(overwrite: bool) -> Config {
        let mut config = Config::default();
        config.output.overwrite = overwrite;
        config
    }

    #[test]
    fn folders_are_refused_or_replaced_by_their_marker() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.crawl");
        let folder = JobFolder::create(&path, &config(false)).unwrap();
        let again = |overwrite| JobFolder::create(&path, &config(overwrite));
        assert!(matches!(again(false), Err(FolderError::Unfinished(_))));
        folder.finish(&config(false)).unwrap();
        assert!(matches!(again(false), Err(FolderError::Finished(_))));
        fs::write(path.join("urls.jsonl"), "old").unwrap();
        again(true).unwrap();
        assert!(!path.join("urls.jsonl").exists());
    }

    #[test]
    fn a_crawl_that_reached_nothing_is_in_nobodys_way() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.crawl");
        let folder = JobFolder::create(&path, &config(false)).unwrap();
        folder.give_up(&config(false)).unwrap();
        fs::write(path.join("urls.jsonl"), "old").unwrap();
        JobFolder::create(&path, &config(false)).unwrap();
        assert!(!path.join("urls.jsonl").exists());
    }

    #[test]
    fn foreign_folders_are_never_touched() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("thesis.tex"), "years of work").unwrap();
        let refused = JobFolder::create(place.path(), &config(true));
        assert!(matches!(refused, Err(FolderError::Foreign(_))));
        assert!(place.path().join("thesis.tex").exists());
        let empty = place.path().join("empty");
        fs::create_dir(&empty).unwrap();
        JobFolder::create(&empty, &config(false)).unwrap();
    }

    #[test]
    fn a_newer_format_is_refused() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join(MARKER), "format = 99\nfinished = true\n").unwrap();
        let refused = JobFolder::create(place.path(), &config(true));
        assert!(matches!(
            refused,
            Err(FolderError::Newer { format: 99, .. })
        ));
    }

    #[test]
    fn no_secret_reaches_the_folder() {
        use crate::config::Secret;
        let place = tempfile::tempdir().unwrap();
        let mut config = config(false);
        config.fetch.user = Some(Secret::new("me:hunter2"));
        config.fetch.proxy = Some(Secret::new("http://x:hunter2@proxy.test"));
        config.fetch.headers = vec![("X-Key".into(), Secret::new("hunter2"))];
        let path = place.path().join("a.crawl");
        JobFolder::create(&path, &config).unwrap();
        let text = fs::read_to_string(path.join(MARKER)).unwrap();
        assert!(
            text.contains("X-Key") && !text.contains("hunter2"),
            "{text}"
        );
    }
}
