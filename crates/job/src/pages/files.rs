//! The files of an archive, and how far each is committed.
//!
//! Owns their order and their ends. A file in progress ends with `.open`; without a witnessed
//! commit nothing of it counts. A folder of WARC files without a job is an archive, too, and so is a
//! single WARC file or a package of them (WACZ).

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::PagesError;
use super::earlier::EarlierArchives;
use crate::archive::{FOLDER, NAME, OPEN, Position, Section, WarcLocation};
use crate::{JobFile, JobFileError, JobStanding};

/// Looks at a folder in which a file is missing.
const LOOKS: usize = 3;

/// How the names of WARC files end.
const ENDINGS: [&str; 3] = [".warc", ".warc.gz", ".warc.zst"];

/// A job's archive, as far as it is committed.
#[derive(Debug)]
pub struct CommittedArchive {
    /// By serial number.
    pub files: Vec<ArchiveFile>,
    /// How far its job is; finished where there is no job.
    pub standing: JobStanding,
    /// The archives that this one refers to, itself among them when it has an index.
    pub(super) earlier: EarlierArchives,
}

/// A file of the archive.
#[derive(Debug)]
pub struct ArchiveFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its name when it is closed.
    pub name: String,
    /// Which one it is.
    pub serial: u64,
    /// Bytes that are committed.
    pub end: u64,
    /// Where it begins: not at 0 within a package.
    base: u64,
}

impl CommittedArchive {
    /// Looks which files there are, and how much of them counts.
    pub fn open(job: &Path) -> Result<Self, PagesError> {
        let stored = match JobFile::read(job) {
            Err(JobFileError::NoJob(_)) => return Self::bare(job),
            read => read?,
        };
        let folder = job.join(FOLDER);
        let committed = stored.committed(NAME)?.map(Position::new);
        let failed = |source| PagesError::Io {
            path: folder.clone(),
            source,
        };
        if !folder.is_dir() {
            return Err(PagesError::NoArchive(job.to_owned()));
        }
        let mut files = listed(&folder).map_err(failed)?;
        // A file that gets its name meanwhile may escape a look at the folder; the one that the
        // commit names is there.
        for _ in 0..LOOKS {
            let serial = committed.map_or(0, |at| at.serial);
            if serial == 0 || files.iter().any(|file| file.serial == serial) {
                break;
            }
            files = listed(&folder).map_err(failed)?;
        }
        for file in &mut files {
            file.cut(committed, stored.standing);
        }
        files.retain(|file| file.end > 0);
        let standing = stored.standing;
        let mut indexed = stored.earlier();
        if standing == JobStanding::Finished {
            indexed.insert(0, job.to_owned());
        }
        Ok(Self {
            files,
            standing,
            earlier: EarlierArchives::new(&indexed),
        })
    }

    /// A folder of WARC files without a job, whoever wrote them; they are whole. Without serial
    /// numbers that tell them apart they are counted in the order of their names.
    fn bare(job: &Path) -> Result<Self, PagesError> {
        let inner = job.join(FOLDER);
        let folder = if inner.is_dir() { &inner } else { job };
        let failed = |source| PagesError::Io {
            path: folder.to_owned(),
            source,
        };
        let mut paths = Vec::new();
        if folder.is_dir() {
            for entry in fs::read_dir(folder).map_err(failed)? {
                let path = entry.map_err(failed)?.path();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                if ENDINGS.iter().any(|ending| name.ends_with(ending)) {
                    paths.push(path);
                }
            }
        }
        if paths.is_empty() {
            return Err(JobFileError::NoJob(job.to_owned()).into());
        }
        paths.sort_unstable();
        let found = paths.into_iter().map(WarcLocation::from_file);
        Ok(Self::whole(
            found.collect::<io::Result<_>>().map_err(failed)?,
        ))
    }

    /// A WARC file, or those of a package, whoever wrote them; they are whole.
    pub fn from_file(path: &Path) -> Result<Self, PagesError> {
        Ok(Self::whole(WarcLocation::in_file(path)?))
    }

    fn whole(found: Vec<WarcLocation>) -> Self {
        let serial_of = |file: &WarcLocation| ArchiveFile::serial_in(Path::new(&file.name));
        let serials = found.iter().filter_map(serial_of);
        let are_numbered = serials.collect::<BTreeSet<_>>().len() == found.len();
        let mut files = Vec::new();
        for (number, file) in (1..).zip(found) {
            let serial = serial_of(&file).filter(|_| are_numbered);
            files.push(ArchiveFile {
                name: file.name,
                serial: serial.unwrap_or(number),
                end: file.length,
                path: file.path,
                base: file.base,
            });
        }
        files.sort_unstable_by_key(|file| file.serial);
        Self {
            files,
            standing: JobStanding::Finished,
            earlier: EarlierArchives::default(),
        }
    }

    /// Where the archive ends.
    pub fn end(&self) -> Position {
        self.files
            .last()
            .map_or(Position::default(), |file| Position {
                serial: file.serial,
                offset: file.end,
            })
    }

    /// Whether a view that stands there still belongs to this archive.
    pub fn holds(&self, name: &str, at: Position) -> bool {
        at.serial == 0
            || self
                .files
                .iter()
                .any(|file| file.serial == at.serial && file.name == name && at.offset <= file.end)
    }
}

/// The files of an archive by their serial numbers, each once.
fn listed(folder: &Path) -> io::Result<Vec<ArchiveFile>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let Some(mut file) = ArchiveFile::new(entry?.path(), 0) else {
            continue;
        };
        file.end = file.file()?.metadata()?.len();
        files.push(file);
    }
    // Without `.open` a name is shorter, and newer.
    files.sort_unstable_by_key(|file: &ArchiveFile| (file.serial, file.path.as_os_str().len()));
    files.dedup_by_key(|file| file.serial);
    Ok(files)
}

impl ArchiveFile {
    /// Opens it, as if nothing were around it. One of its own is read as far as it goes: it may
    /// grow.
    pub fn open(&self) -> io::Result<Section> {
        let length = if self.base == 0 { u64::MAX } else { self.end };
        Section::new(self.file()?, self.base, length)
    }

    /// Opens the file that it is or lies in, also if it got its name meanwhile.
    fn file(&self) -> io::Result<File> {
        match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                File::open(self.path.with_file_name(&self.name))
            }
            opened => opened,
        }
    }

    /// A file of the name `NAME-TIME-SERIAL.warc.gz`, with or without `.open`.
    fn new(path: PathBuf, length: u64) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let name = name.strip_suffix(OPEN).unwrap_or(name).to_owned();
        Some(Self {
            serial: Self::serial_in(&path)?,
            path,
            name,
            end: length,
            base: 0,
        })
    }

    fn serial_in(path: &Path) -> Option<u64> {
        let (stem, _) = path.file_name()?.to_str()?.split_once(".warc")?;
        let serial = stem.rsplit('-').next()?.parse().ok()?;
        (1..=Position::MOST_FILES)
            .contains(&serial)
            .then_some(serial)
    }

    /// A closed file of a finished crawl is whole; otherwise the commit says what counts.
    fn cut(&mut self, committed: Option<Position>, standing: JobStanding) {
        let is_open = self.path.extension().is_some_and(|end| end == "open");
        if !is_open && standing == JobStanding::Finished {
            return;
        }
        self.end = match committed {
            Some(at) if self.serial < at.serial => self.end,
            Some(at) if self.serial == at.serial => self.end.min(at.offset),
            Some(_) => 0,
            None if is_open => 0,
            None => self.end,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_one_file_before_and_after_it_gets_its_name() {
        let place = tempfile::tempdir().unwrap();
        let open = place.path().join("a-1-00001.warc.gz.open");
        fs::write(&open, b"four").unwrap();
        let before = listed(place.path()).unwrap();
        let closed = place.path().join("a-1-00001.warc.gz");
        fs::rename(&open, &closed).unwrap();
        assert_eq!(before[0].file().unwrap().metadata().unwrap().len(), 4);
        // Looked at while it was renamed, a folder may show both.
        fs::write(&open, b"").unwrap();
        let both = listed(place.path()).unwrap();
        assert_eq!((both.len(), &both[0].path, both[0].end), (1, &closed, 4));
    }

    #[test]
    fn only_what_is_committed_counts() {
        let at = |serial, offset| Some(Position { serial, offset });
        let (done, open) = ("a-1-00002.warc.gz", "a-1-00002.warc.gz.open");
        for (name, committed, standing, end) in [
            (done, at(2, 70), JobStanding::Unfinished, 70),
            (done, at(3, 70), JobStanding::Unfinished, 100),
            (done, at(1, 70), JobStanding::Unfinished, 0),
            (done, at(2, 70), JobStanding::Finished, 100),
            (open, at(2, 70), JobStanding::Unfinished, 70),
            (open, None, JobStanding::Unfinished, 0),
            (done, None, JobStanding::Unfinished, 100),
        ] {
            let mut file = ArchiveFile::new(PathBuf::from(name), 100).unwrap();
            assert_eq!((file.serial, file.name.as_str()), (2, done));
            file.cut(committed, standing);
            assert_eq!(file.end, end, "{name} {committed:?}");
        }
        assert!(ArchiveFile::new(PathBuf::from("index.cdxj"), 1).is_none());
    }
}
