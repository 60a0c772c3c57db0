//! Which files of a folder are a mirror's.
//!
//! Owns the list that a mirror keeps of what it writes, and taking all of that away when another
//! mirror takes its place. Invariants: a file is listed before it is written, so that one that
//! was cut off goes, too; nothing goes that is not listed or lies outside the folder, wherever
//! links lead.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

/// The list's name; no host's folder begins with a dot.
pub(super) const LIST: &str = ".clewline-mirror";
/// The longest line that is read; names are far shorter.
const LONGEST: u64 = 4096;

/// The list of a mirror that is being written.
pub(super) struct FileList(File);

impl FileList {
    /// Takes away what an earlier mirror wrote into a folder, and begins a list.
    pub(super) fn begin(folder: &Path) -> io::Result<Self> {
        let path = folder.join(LIST);
        match File::open(&path) {
            Ok(list) => {
                clear(folder, list)?;
                fs::remove_file(&path)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        File::create_new(&path).map(Self)
    }

    /// Lists a file that is about to be written.
    pub(super) fn add(&mut self, name: &str) -> io::Result<()> {
        self.0.write_all(format!("{name}\n").as_bytes())
    }
}

/// The names on a list, in the order of writing.
pub(super) fn read(path: &Path) -> io::Result<Vec<String>> {
    let text = fs::read_to_string(path)?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Removes the files of a list, and the folders that are left empty by that.
fn clear(folder: &Path, list: File) -> io::Result<()> {
    let whole = folder.canonicalize()?;
    let mut lines = BufReader::new(list);
    let mut line = Vec::new();
    loop {
        line.clear();
        if lines.by_ref().take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let name = str::from_utf8(&line)
            .ok()
            .map(|line| Path::new(line.trim_end()));
        let place = name.and_then(|name| place_of(name, &whole));
        // A folder or something else of that name is somebody else's.
        let is_file = |path: &PathBuf| {
            let facts = fs::symlink_metadata(path);
            facts.is_ok_and(|facts| facts.is_file() || facts.is_symlink())
        };
        let Some(place) = place.filter(is_file) else {
            continue;
        };
        fs::remove_file(&place)?;
        let folders = place.ancestors().skip(1);
        let inner = folders.take_while(|folder| *folder != whole);
        // The first that is not empty ends it.
        for emptied in inner {
            if fs::remove_dir(emptied).is_err() {
                break;
            }
        }
    }
}

/// Where a listed file lies, if that is within the folder and its own folder is still there.
fn place_of(name: &Path, whole: &Path) -> Option<PathBuf> {
    let is_plain = name != Path::new(LIST)
        && name
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
    let parent = whole.join(name).parent()?.canonicalize().ok()?;
    let is_within = is_plain && parent.starts_with(whole);
    name.file_name()
        .filter(|_| is_within)
        .map(|file| parent.join(file))
}
