//! Outputs on their way to their names.
//!
//! Owns temporary names, renaming, and what may be replaced. It refuses to know what is
//! written. Invariants: at the place of an output there is the old one or the whole new one;
//! what is left half done is removed; a folder that no export made is never removed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clewline_platform::process::may_run;

use crate::ExistingOutput;
use crate::error::ExportError;

/// The file that marks a folder as made by an export, and says what of.
pub(crate) const MARKER: &str = "export.json";

/// A file or folder that has no name yet.
#[derive(Debug)]
pub(crate) struct Draft {
    path: PathBuf,
    part: PathBuf,
    is_done: bool,
}

impl Draft {
    /// Begins a file.
    pub(crate) fn file(
        path: &Path,
        existing: ExistingOutput,
    ) -> Result<(Self, DraftFile), ExportError> {
        let is_there = path.symlink_metadata().is_ok();
        // A folder or a device is nothing to put a file in the place of.
        let is_other = path.metadata().is_ok_and(|facts| !facts.is_file());
        if is_other || (is_there && existing == ExistingOutput::Keep) {
            return Err(ExportError::Occupied(path.to_owned()));
        }
        let draft = Self::new(path)?;
        let file = DraftFile::create(&draft.part)?;
        Ok((draft, file))
    }

    /// Begins a folder.
    pub(crate) fn folder(path: &Path, existing: ExistingOutput) -> Result<Self, ExportError> {
        check_folder(path, existing)?;
        let draft = Self::new(path)?;
        fs::create_dir(&draft.part).map_err(ExportError::output(&draft.part))?;
        Ok(draft)
    }

    fn new(path: &Path) -> Result<Self, ExportError> {
        let parent = path.parent().filter(|parent| *parent != Path::new(""));
        if let Some(parent) = parent {
            fs::create_dir_all(parent).map_err(ExportError::output(parent))?;
        }
        let draft = Self {
            path: path.to_owned(),
            part: beside(path, "part"),
            is_done: false,
        };
        // Left by a process of the same number that was killed, and by others.
        draft.discard();
        clear_stale(path);
        Ok(draft)
    }

    /// Where a folder is written for now.
    pub(crate) fn place(&self) -> &Path {
        &self.part
    }

    /// Gives it its name.
    pub(crate) fn finish(mut self) -> Result<(), ExportError> {
        let failed = ExportError::output(&self.path);
        let old = beside(&self.path, "old");
        let is_replaced = self.path.is_dir();
        if is_replaced {
            fs::rename(&self.path, &old).map_err(&failed)?;
        }
        fs::rename(&self.part, &self.path).map_err(&failed)?;
        self.is_done = true;
        if is_replaced {
            fs::remove_dir_all(&old).map_err(&failed)?;
        }
        Ok(())
    }

    fn discard(&self) {
        // What was never made cannot be removed, and nobody waits for an answer.
        let _ = fs::remove_file(&self.part);
        let _ = fs::remove_dir_all(&self.part);
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_done {
            self.discard();
        }
    }
}

/// A folder may be written if it is empty or not there, and replaced if an export made it.
fn check_folder(path: &Path, existing: ExistingOutput) -> Result<(), ExportError> {
    let mut entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(ExportError::Occupied(path.to_owned()));
        }
        Err(error) => return Err(ExportError::output(path)(error)),
    };
    if entries.next().is_none() {
        return Ok(());
    }
    match existing {
        ExistingOutput::Keep => Err(ExportError::Occupied(path.to_owned())),
        ExistingOutput::Replace if !path.join(MARKER).is_file() => {
            Err(ExportError::Foreign(path.to_owned()))
        }
        ExistingOutput::Replace => Ok(()),
    }
}

/// A hidden name in the same folder, so that renaming is one step.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.{ending}", std::process::id()));
    path.with_file_name(name)
}

/// Removes what exports to the same place left behind that were killed. As long as a process
/// with their number runs, they may be at work.
fn clear_stale(path: &Path) {
    let (Some(name), Some(entries)) = (
        path.file_name().and_then(|name| name.to_str()),
        beside(path, "").parent().and_then(|folder| {
            let here = folder == Path::new("");
            fs::read_dir(if here { Path::new(".") } else { folder }).ok()
        }),
    ) else {
        return;
    };
    for entry in entries.flatten() {
        let found = entry.file_name();
        let owner = found.to_str().and_then(|found| {
            let rest = found
                .strip_prefix('.')?
                .strip_prefix(name)?
                .strip_prefix('.')?;
            let (owner, ending) = rest.split_once('.')?;
            // What was to be replaced may be all that is left of it.
            let is_draft = ending == "part" || (ending == "old" && path.exists());
            is_draft.then_some(owner)?.parse::<u32>().ok()
        });
        if owner.is_some_and(|owner| !may_run(owner)) {
            let _ = fs::remove_file(entry.path());
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A file that is written, and says its name when that fails.
#[derive(Debug)]
pub(crate) struct DraftFile {
    path: PathBuf,
    out: BufWriter<File>,
}

impl DraftFile {
    /// Creates a file, and the folders around it.
    pub(crate) fn create(path: &Path) -> Result<Self, ExportError> {
        let failed = ExportError::output(path);
        if let Some(parent) = path.parent().filter(|parent| *parent != Path::new("")) {
            fs::create_dir_all(parent).map_err(&failed)?;
        }
        let file = File::create_new(path).map_err(&failed)?;
        Ok(Self {
            path: path.to_owned(),
            out: BufWriter::with_capacity(256 * 1024, file),
        })
    }

    /// Writes text.
    pub(crate) fn put(&mut self, text: &str) -> Result<(), ExportError> {
        let written = self.out.write_all(text.as_bytes());
        written.map_err(ExportError::output(&self.path))
    }

    /// Writes what is held back.
    pub(crate) fn close(mut self) -> Result<(), ExportError> {
        self.out.flush().map_err(ExportError::output(&self.path))
    }
}

impl Write for DraftFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_whole_or_not_there() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a/out.csv");
        let (draft, mut file) = Draft::file(&path, ExistingOutput::Keep).unwrap();
        file.write_all(b"half").unwrap();
        drop(draft);
        assert!(names(path.parent().unwrap()).is_empty(), "nothing is left");
        let write = |text: &str, existing| {
            let (draft, mut file) = Draft::file(&path, existing)?;
            file.write_all(text.as_bytes()).unwrap();
            file.close()?;
            draft.finish()
        };
        write("one", ExistingOutput::Keep).unwrap();
        assert!(matches!(
            write("two", ExistingOutput::Keep),
            Err(ExportError::Occupied(_))
        ));
        assert_eq!(fs::read(&path).unwrap(), b"one");
        write("two", ExistingOutput::Replace).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(names(path.parent().unwrap()), ["out.csv"]);
        assert!(matches!(
            Draft::file(path.parent().unwrap(), ExistingOutput::Replace),
            Err(ExportError::Occupied(_))
        ));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_killed_exports_left_is_cleared() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("out.csv");
        // No process has so large a number, and process 1 always runs.
        for name in [
            ".out.csv.4194999.part",
            ".out.csv.1.part",
            ".out.csv.x.part",
            ".other.csv.4194999.part",
        ] {
            fs::write(place.path().join(name), b"half").unwrap();
        }
        fs::create_dir_all(place.path().join(".out.csv.4194998.old/a")).unwrap();
        drop(Draft::file(&path, ExistingOutput::Keep).unwrap());
        assert!(names(place.path()).contains(&".out.csv.4194998.old".to_owned()));
        fs::write(&path, b"before").unwrap();
        let (draft, file) = Draft::file(&path, ExistingOutput::Replace).unwrap();
        file.close().unwrap();
        draft.finish().unwrap();
        let expected = [
            ".other.csv.4194999.part",
            ".out.csv.1.part",
            ".out.csv.x.part",
            "out.csv",
        ];
        assert_eq!(names(place.path()), expected);
    }

    #[test]
    fn only_folders_of_exports_are_replaced() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("out");
        let write = |name: &str, existing| {
            let draft = Draft::folder(&path, existing)?;
            fs::write(draft.place().join(name), b"x").unwrap();
            draft.finish()
        };
        write("mine.txt", ExistingOutput::Keep).unwrap();
        assert!(matches!(
            write(MARKER, ExistingOutput::Keep),
            Err(ExportError::Occupied(_))
        ));
        assert!(matches!(
            write(MARKER, ExistingOutput::Replace),
            Err(ExportError::Foreign(_))
        ));
        assert_eq!(names(&path), ["mine.txt"]);
        fs::remove_file(path.join("mine.txt")).unwrap();
        write(MARKER, ExistingOutput::Keep).unwrap();
        write("b.txt", ExistingOutput::Replace).unwrap();
        assert_eq!(names(&path), ["b.txt"]);
        assert_eq!(names(place.path()), ["out"]);
    }
}
