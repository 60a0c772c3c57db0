//! A set of WARC files and where their captures lie.
//!
//! Owns which files a path stands for, which index is trusted and how one is made in bounded
//! memory. Refuses to know what is in a capture. Invariant: a capture that is handed out lies in
//! one of the files that were opened, whatever an index says.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clewline_warc::cdxj::{self, Capture, CdxjIndex, INDEX};
use clewline_warc::{Moment, surt};

use super::content::is_indexed;
use super::package::{self, PackageError};
use super::records::FileRecords;
use super::section::Section;
use super::{FOLDER, OPEN};

/// Memory for sorting an index.
const SORTING: usize = 16 << 20;
/// Captures of one URL that are listed.
const MOST_CAPTURES: usize = 10_000;

/// What the folder of a crawl ends with.
const CRAWL: &str = "crawl";

/// Why an archive cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// A file or folder cannot be read.
    #[error("cannot read {path}: {source}")]
    Input {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A folder without archives.
    #[error("there are no WARC files in {path}; name a crawl's folder, WARC or WACZ files")]
    Empty {
        /// Which.
        path: PathBuf,
    },
    /// A package that is none.
    #[error("{path} is no WACZ file that can be read: {source}")]
    Package {
        /// Which.
        path: PathBuf,
        /// Why.
        source: PackageError,
    },
    /// An index cannot be made or kept.
    #[error("cannot make an index: {0}")]
    Index(io::Error),
}

/// Where a WARC file lies.
#[derive(Debug, Clone)]
pub struct WarcLocation {
    /// Its name, without folder and without `.open`.
    pub name: String,
    /// The file that it is, or that holds it.
    pub path: PathBuf,
    /// Where it begins: not at 0 within a package.
    pub base: u64,
    /// How long it is.
    pub length: u64,
}

impl WarcLocation {
    pub(crate) fn from_file(path: PathBuf) -> io::Result<Self> {
        let length = fs::metadata(&path)?.len();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = name.strip_suffix(OPEN).unwrap_or(&name).to_owned();
        Ok(Self {
            name,
            path,
            base: 0,
            length,
        })
    }

    /// Whether a file is a package of WARC files, by its name.
    pub(crate) fn is_package(path: &Path) -> bool {
        let is_wacz = |ending: &OsStr| ending.eq_ignore_ascii_case("wacz");
        path.extension().is_some_and(is_wacz)
    }

    /// The WARC files that a file holds: those of a package, else itself.
    pub(crate) fn in_file(path: &Path) -> Result<Vec<Self>, OpenError> {
        if Self::is_package(path) {
            return package::warcs_of(path).map_err(|source| OpenError::Package {
                path: path.to_owned(),
                source,
            });
        }
        let found = Self::from_file(path.to_owned()).map_err(|source| OpenError::Input {
            path: path.to_owned(),
            source,
        })?;
        Ok(vec![found])
    }

    /// Opens the file, as if nothing were around it.
    pub fn open(&self) -> io::Result<Section> {
        Section::new(File::open(&self.path)?, self.base, self.length)
    }
}

/// An index and the files that it names.
#[derive(Debug)]
struct Source {
    index: Mutex<CdxjIndex>,
    /// The same index, for reading all of it while it is looked up in.
    scan: Mutex<CdxjIndex>,
    /// Numbers of places by the name that the index has for them.
    names: HashMap<String, usize>,
}

/// A capture in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchivedCapture {
    /// What the index says.
    pub capture: Capture,
    /// The number of its file among [`Archive::places`].
    pub place: usize,
}

/// WARC files and an index of their captures.
#[derive(Debug)]
pub struct Archive {
    places: Vec<WarcLocation>,
    sources: Vec<Source>,
    complaints: Vec<String>,
}

impl Archive {
    /// Opens what paths stand for: folders of crawls, folders of WARC files, WARC and WACZ files.
    pub fn open(paths: &[PathBuf]) -> Result<Self, OpenError> {
        let mut archive = Self {
            places: Vec::new(),
            sources: Vec::new(),
            complaints: Vec::new(),
        };
        let (mut unindexed, mut before) = (Vec::new(), 0);
        for path in paths {
            let first = archive.places.len();
            let index = archive.add(path)?;
            let added = first..archive.places.len();
            if let Some(indexes) = index {
                let name = |number: usize| (archive.places[number].name.clone(), number);
                let source = Source::new(indexes, added.map(name).collect());
                archive.sources.push(source);
                continue;
            }
            if unindexed.is_empty() {
                before = archive.sources.len();
            }
            unindexed.extend(added);
        }
        if !unindexed.is_empty() {
            let source = archive.indexed(unindexed)?;
            // Of captures of the same second those of the path that was named first count.
            archive.sources.insert(before, source);
        }
        Ok(archive)
    }

    /// What was wrong with the files, one line each.
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }

    /// How many files there are.
    pub fn file_count(&self) -> usize {
        self.places.len()
    }

    /// Where the files lie.
    pub fn places(&self) -> &[WarcLocation] {
        &self.places
    }

    /// Adds the files of a path; answers their index if it can be trusted.
    fn add(&mut self, path: &Path) -> Result<Option<[CdxjIndex; 2]>, OpenError> {
        let failed = |source| OpenError::Input {
            path: path.to_owned(),
            source,
        };
        if !path.is_dir() {
            self.places.extend(WarcLocation::in_file(path)?);
            return Ok(None);
        }
        let folder = archive_in(path).map_err(failed)?;
        let found = warcs_in(&folder).map_err(failed)?;
        if found.is_empty() {
            return Err(OpenError::Empty { path: folder });
        }
        let is_open = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "open");
        let is_growing =
            folder.join(format!("{INDEX}{OPEN}")).exists() || found.iter().any(is_open);
        let index = folder.join(INDEX);
        let is_trusted = !is_growing && is_newest(&index, &found);
        for file in found {
            self.places
                .push(WarcLocation::from_file(file).map_err(failed)?);
        }
        if is_trusted {
            let open = || CdxjIndex::open(&index).map_err(failed);
            return Ok(Some([open()?, open()?]));
        }
        Ok(None)
    }

    /// Reads the files and sorts what is found. They are named by their number, so that two files
    /// of the same name are two.
    fn indexed(&mut self, numbers: Vec<usize>) -> Result<Source, OpenError> {
        let mut lines = BufWriter::new(tempfile::tempfile().map_err(OpenError::Index)?);
        for &number in &numbers {
            let place = self.places[number].clone();
            let failed = |source| OpenError::Input {
                path: place.path.clone(),
                source,
            };
            let input = BufReader::new(place.open().map_err(failed)?);
            self.read_file(&place, input, |mut capture| {
                capture.filename = number.to_string();
                writeln!(lines, "{}", capture.line()).map_err(OpenError::Index)
            })?;
        }
        let mut lines = lines
            .into_inner()
            .map_err(|error| OpenError::Index(error.into_error()))?;
        lines.rewind().map_err(OpenError::Index)?;
        let indexes = sorted(lines).map_err(OpenError::Index)?;
        let names = numbers.into_iter();
        let names = names.map(|number| (number.to_string(), number)).collect();
        Ok(Source::new(indexes, names))
    }

    /// Reads up to the last whole record; damage is told and passed over.
    fn read_file(
        &mut self,
        place: &WarcLocation,
        input: BufReader<Section>,
        mut take: impl FnMut(Capture) -> Result<(), OpenError>,
    ) -> Result<(), OpenError> {
        let failed = |source| OpenError::Input {
            path: place.path.clone(),
            source,
        };
        let mut records = FileRecords::whole(input);
        while let Some(read) = records.next_capture("", is_indexed).map_err(failed)? {
            match read {
                Ok(None) => {}
                Ok(Some(capture)) => take(capture)?,
                Err(error) => self.complain(format!("{}: {error}", place.path.display())),
            }
        }
        Ok(())
    }

    fn complain(&mut self, complaint: String) {
        /// More than this tell no more.
        const MOST: usize = 100;
        if self.complaints.len() < MOST {
            self.complaints.push(complaint);
        }
    }

    /// The captures of a URL, oldest first; those of another spelling of it, too.
    pub fn captures(&self, url: &str) -> io::Result<Vec<ArchivedCapture>> {
        let mut found = Vec::new();
        for source in &self.sources {
            source.open().each(url, |capture| {
                found.extend(source.held(capture));
                found.len() < MOST_CAPTURES
            })?;
        }
        found.sort_by(|a, b| a.capture.timestamp.cmp(&b.capture.timestamp));
        Ok(found)
    }

    /// The capture of a URL that is closest to a time, the latest without one. One of the same
    /// spelling is preferred: many a server answers differently with another scheme or case.
    pub fn closest(&self, url: &str, at: Option<Moment>) -> io::Result<Option<ArchivedCapture>> {
        self.best(url, at, |_| true)
    }

    /// The same among captures that fit.
    pub fn best(
        &self,
        url: &str,
        at: Option<Moment>,
        fits: impl Fn(&Capture) -> bool,
    ) -> io::Result<Option<ArchivedCapture>> {
        let url = url.split('#').next().unwrap_or_default();
        let distance = |capture: &Capture| {
            let time = Moment::from_timestamp(&capture.timestamp).map_or(0, Moment::seconds);
            let away = time.abs_diff(at.map_or(i64::MAX, Moment::seconds));
            (capture.url != url, away)
        };
        let mut best: Option<ArchivedCapture> = None;
        for source in &self.sources {
            source.open().each(url, |capture| {
                let least = best.as_ref().map(|best| distance(&best.capture));
                let is_better = least.is_none_or(|least| distance(&capture) < least);
                if is_better && fits(&capture) {
                    best = source.held(capture).or(best.take());
                }
                true
            })?;
        }
        Ok(best)
    }

    /// Captures with their keys, in order, from a line of the index on: at most so many, and as
    /// long as the key begins so.
    pub fn list(
        &self,
        from: &str,
        prefix: &str,
        most: usize,
    ) -> io::Result<Vec<(String, ArchivedCapture)>> {
        let mut found = Vec::new();
        for source in &self.sources {
            let mut count = 0;
            source.open().each_from(from.max(prefix), |key, capture| {
                if !key.starts_with(prefix) {
                    return false;
                }
                if let Some(held) = source.held(capture) {
                    found.push((key.to_owned(), held));
                    count += 1;
                }
                count < most
            })?;
        }
        found.sort_by(|(a, x), (b, y)| {
            (a, &x.capture.timestamp, x.place).cmp(&(b, &y.capture.timestamp, y.place))
        });
        found.truncate(most);
        Ok(found)
    }

    /// Calls with every capture and its key, source by source, each in order; stops at the first
    /// error. Looking up meanwhile is fine, as every source is read through a file of its own.
    pub fn each<E: From<io::Error>>(
        &self,
        mut take: impl FnMut(&str, ArchivedCapture) -> Result<(), E>,
    ) -> Result<(), E> {
        for source in &self.sources {
            let mut result = Ok(());
            let mut scan = source.scan.lock().unwrap_or_else(PoisonError::into_inner);
            scan.each_from("", |key, capture| {
                if let Some(held) = source.held(capture) {
                    result = take(key, held);
                }
                result.is_ok()
            })?;
            result?;
        }
        Ok(())
    }

    /// The key that URLs beginning so have in common.
    pub fn key_prefix(url: &str) -> String {
        let url = url.trim();
        if url.is_empty() {
            return String::new();
        }
        surt(url)
    }
}

impl Source {
    fn new([index, scan]: [CdxjIndex; 2], names: HashMap<String, usize>) -> Self {
        Self {
            index: Mutex::new(index),
            scan: Mutex::new(scan),
            names,
        }
    }

    fn open(&self) -> std::sync::MutexGuard<'_, CdxjIndex> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn held(&self, capture: Capture) -> Option<ArchivedCapture> {
        let place = *self.names.get(&capture.filename)?;
        Some(ArchivedCapture { capture, place })
    }
}

/// The lines sorted, in a file that is open twice and has no name any more.
fn sorted(lines: File) -> io::Result<[CdxjIndex; 2]> {
    let mut out = tempfile::NamedTempFile::new()?;
    cdxj::sort(
        BufReader::new(lines),
        &mut out,
        SORTING,
        &std::env::temp_dir(),
    )?;
    out.flush()?;
    Ok([
        CdxjIndex::from_file(out.reopen()?)?,
        CdxjIndex::from_file(out.reopen()?)?,
    ])
}

/// Where the files of a folder are: in its archive, in itself, or, where there are none, in the
/// archive of the only crawl in it.
pub fn archive_in(folder: &Path) -> io::Result<PathBuf> {
    let inner = folder.join(FOLDER);
    if inner.is_dir() {
        return Ok(inner);
    }
    if !warcs_in(folder)?.is_empty() {
        return Ok(folder.to_owned());
    }
    let mut crawls = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?.path();
        let archive = entry.join(FOLDER);
        if entry.extension().is_some_and(|ending| ending == CRAWL) && archive.is_dir() {
            crawls.push(archive);
        }
    }
    Ok(match crawls.as_slice() {
        [only] => only.clone(),
        _ => folder.to_owned(),
    })
}

/// Whether there are WARC files in a folder, or in the archive of the crawl in it.
pub fn is_archive(folder: &Path) -> bool {
    let found = archive_in(folder).and_then(|folder| warcs_in(&folder));
    found.is_ok_and(|found| !found.is_empty())
}

/// The WARC files of a folder, by name, those in progress among them.
pub fn warcs_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?.path();
        if is_warc(&entry) {
            found.push(entry);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Files in progress end with `.open`.
fn is_warc(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(OPEN).unwrap_or(&name);
    let endings = [".warc", ".warc.gz", ".warc.zst"];
    endings.iter().any(|ending| name.ends_with(ending))
}

/// Whether the index was written after all of the files.
fn is_newest(index: &Path, files: &[PathBuf]) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|facts| facts.modified()).ok();
    let Some(made) = time(index) else {
        return false;
    };
    files
        .iter()
        .all(|file| time(file).is_some_and(|changed| changed <= made))
}

#[cfg(test)]
pub(crate) mod tests;
