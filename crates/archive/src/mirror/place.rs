//! Where a mirror is written, and how it gets to its place.
//!
//! Owns the hidden folder in which a mirror grows, and the move of what is in it. Refuses to know
//! what the files are. Invariants: a mirror has its name only when it is whole; no symbolic link
//! in the folder leads a file anywhere else.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::list::{self, FileList};

/// The folder, within the mirror's own, in which it grows; no host's folder begins with a dot.
const PART: &str = ".clewline-part";

/// A mirror that is not whole yet. It goes with its owner, unless it is put into its place; one
/// that was killed is removed by the next.
pub(super) struct PartialMirror<'a> {
    folder: &'a Path,
    path: PathBuf,
}

impl<'a> PartialMirror<'a> {
    /// Begins a mirror in a folder that is there.
    pub(super) fn begin(folder: &'a Path) -> io::Result<Self> {
        let path = folder.join(PART);
        remove(&path)?;
        fs::create_dir(&path)?;
        Ok(Self { folder, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes away what an earlier mirror wrote, and moves everything to its place, the entry at
    /// last.
    pub(super) fn install(self) -> io::Result<()> {
        let names = list::read(&self.path.join(list::LIST))?;
        let mut list = FileList::begin(self.folder)?;
        for name in &names {
            // What could not be written stays away.
            let from = self.path.join(name);
            if fs::symlink_metadata(&from).is_err() {
                continue;
            }
            list.add(name)?;
            make_folders(self.folder, name)?;
            let to = self.folder.join(name);
            match fs::remove_file(&to) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            fs::rename(from, to)?;
        }
        Ok(())
    }
}

impl Drop for PartialMirror<'_> {
    fn drop(&mut self) {
        // What stays is removed by the next mirror.
        remove(&self.path).ok();
    }
}

/// Whether a folder holds nothing but what is left of a mirror that was killed.
pub(super) fn is_empty(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        if entry?.file_name() != PART {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Removes a folder, or a link of its name and not what that leads to.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(facts) if facts.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Makes the folders above a file; each must be a folder itself and no link to one.
pub(super) fn make_folders(folder: &Path, name: &str) -> io::Result<()> {
    let mut path = folder.to_path_buf();
    let Some((above, _)) = name.rsplit_once('/') else {
        return Ok(());
    };
    for part in above.split('/') {
        path.push(part);
        match fs::symlink_metadata(&path) {
            Ok(facts) if facts.is_dir() => {}
            Ok(facts) => {
                let what = if facts.is_symlink() {
                    "a symbolic link"
                } else {
                    "a file"
                };
                let shown = path.display();
                let text = format!("{what} stands where a folder must be: {shown}; remove it");
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(&path)?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
