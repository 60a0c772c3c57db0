//! Files and names that outlive a loss of power.
//!
//! Owns the order of write, sync and rename. It refuses to know what is written. Invariant: a
//! file has its name only with its whole content, and both are on the disk when a call returns.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::failpoint::{Point, pass};

/// Writes a file whole or not at all.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = beside(path);
    let mut file = File::create(&temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    pass(Point::BeforeRename);
    fs::rename(&temporary, path)?;
    sync_folder(parent(path))
}

/// Makes a folder and those above it, with their names.
pub fn make_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let above = parent(path);
    make_folder(above)?;
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        other => other?,
    }
    sync_folder(above)
}

/// The names in a folder are only durable once the folder is.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    // Elsewhere folders cannot be opened, and their names need no such care.
    if cfg!(unix) {
        File::open(path)?.sync_all()?;
    }
    Ok(())
}

/// The folder that a path names something in.
pub fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.new"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a/b/c.toml");
        make_folder(parent(&path)).unwrap();
        make_folder(parent(&path)).unwrap();
        for content in ["long enough", "short"] {
            write(&path, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(fs::read_dir(parent(&path)).unwrap().count(), 1);
        assert_eq!(parent(Path::new("a")), Path::new("."));
    }
}
