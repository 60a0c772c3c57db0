//! The jobs of a place.
//!
//! Owns how a name in a request becomes a job folder, and how jobs stand, kept for a moment so that
//! many viewers cost a crawl no more than one. Refuses to know how requests look. Invariants: a name
//! is looked up among folders that are there, so that no name leads out of the place; the state of a
//! job that does not run is opened once for each change of its files.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use clewline::{JobError, StoredJob};
use clewline_job::folder::MARKER;
use clewline_job::report::Tally;
use clewline_job::status::{State, Status};

/// Jobs that are listed.
pub(super) const MOST_JOBS: usize = 10_000;
/// The longest name of a job.
const LONGEST_NAME: usize = 64;
/// How long an answer of a running crawl is kept.
const KEPT: Duration = Duration::from_millis(250);

/// Where jobs are.
#[derive(Debug)]
enum Place {
    /// These, by the names of their folders.
    Named(Vec<(String, PathBuf)>),
    /// All that lie in a folder, now or later.
    Folder(PathBuf),
}

/// The jobs of a place.
#[derive(Debug)]
pub(crate) struct JobPlaces {
    place: Place,
    kept: Mutex<HashMap<PathBuf, Kept>>,
    /// Whoever looks into a job holds its gate: the state of a job that does not run is opened for
    /// that, and can be opened once only.
    gates: Mutex<HashMap<PathBuf, Arc<Mutex<()>>>>,
}

/// The files of a job when its state was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp(Option<SystemTime>, u64);

#[derive(Debug, Clone)]
struct Kept {
    stamp: FileStamp,
    at: Instant,
    status: Arc<Status>,
    tally: Option<Arc<Tally>>,
    /// What was counted when that was asked last.
    last_tally: Option<Arc<Tally>>,
    /// Somebody changed the job since.
    is_stale: bool,
}

/// Whether a text can be the name of a job that lies in a served folder.
pub(super) fn is_name(name: &str) -> bool {
    let is_known = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-');
    (1..=LONGEST_NAME).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(is_known)
}

/// Whether a crawl runs.
pub(super) const fn is_running(state: State) -> bool {
    matches!(state, State::Running | State::Paused | State::Stopping)
}

fn is_job(path: &Path) -> bool {
    path.join(MARKER).is_file()
}

impl JobPlaces {
    /// The jobs that paths stand for. A single folder that is no job itself and holds jobs, or
    /// nothing at all, is a place where jobs come and go.
    pub(crate) fn from_paths(paths: &[PathBuf]) -> Self {
        let place = match paths {
            [only] if only.is_dir() && !is_job(only) && is_place(only) => {
                Place::Folder(only.clone())
            }
            _ => Place::Named(named(paths)),
        };
        Self {
            place,
            kept: Mutex::default(),
            gates: Mutex::default(),
        }
    }

    /// One job, which may not be there yet.
    pub(crate) fn from_job(path: &Path) -> Self {
        Self {
            place: Place::Named(vec![(name_of(path), path.to_owned())]),
            kept: Mutex::default(),
            gates: Mutex::default(),
        }
    }

    /// Whether jobs come and go here.
    pub(crate) const fn is_folder(&self) -> bool {
        matches!(self.place, Place::Folder(_))
    }

    /// The folder in which new jobs are made.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &self.place {
            Place::Named(_) => None,
            Place::Folder(folder) => Some(folder),
        }
    }

    /// All jobs, by name.
    pub(crate) fn all(&self) -> Vec<(String, PathBuf)> {
        let folder = match &self.place {
            Place::Named(jobs) => return jobs.clone(),
            Place::Folder(folder) => folder,
        };
        let mut found: Vec<_> = folders_in(folder).take(MOST_JOBS).collect();
        found.sort();
        found
    }

    /// The job of that name.
    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        match &self.place {
            Place::Named(jobs) => {
                let found = jobs.iter().find(|(known, _)| known == name);
                found.map(|(_, path)| path.clone())
            }
            Place::Folder(folder) if is_name(name) => {
                let path = folder.join(name);
                let is_folder = fs::symlink_metadata(&path).is_ok_and(|facts| facts.is_dir());
                (is_folder && is_job(&path)).then_some(path)
            }
            Place::Folder(_) => None,
        }
    }

    /// How a job stands.
    pub(crate) fn status(&self, path: &Path) -> Result<Arc<Status>, JobError> {
        if let Some(kept) = self.kept(path) {
            return Ok(kept.status);
        }
        self.at_gate(path, || {
            // Somebody else may have looked meanwhile.
            if let Some(kept) = self.kept(path) {
                return Ok(kept.status);
            }
            let stamp = stamp(path);
            let status = match StoredJob::read(path)?.status() {
                // A crawl that is about to end answers nobody; it stands as it stood a moment ago.
                Err(error @ JobError::Ending(_)) => return self.ending(path).ok_or(error),
                status => Arc::new(status?),
            };
            self.keep(path, stamp, Arc::clone(&status), None);
            Ok(status)
        })
    }

    /// How a job stood last, if that is known, as one that ends.
    fn ending(&self, path: &Path) -> Option<Arc<Status>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let last = &kept.get(path)?.status;
        Some(Arc::new(Status {
            state: State::Stopping,
            ..Status::clone(last)
        }))
    }

    /// What is counted of a job.
    pub(crate) fn tally(&self, path: &Path) -> Result<Arc<Tally>, JobError> {
        let status = self.status(path)?;
        let counted = || self.kept(path).and_then(|kept| kept.tally);
        if let Some(tally) = counted() {
            return Ok(tally);
        }
        self.at_gate(path, || {
            if let Some(tally) = counted() {
                return Ok(tally);
            }
            let stamp = stamp(path);
            let tally = match StoredJob::read(path)?.tally() {
                Err(error @ JobError::Ending(_)) => return self.last_tally(path).ok_or(error),
                tally => Arc::new(tally?.without_hosts()),
            };
            self.keep(path, stamp, status, Some(Arc::clone(&tally)));
            Ok(tally)
        })
    }

    /// What was counted last of a job, if that is known, as one that ends.
    fn last_tally(&self, path: &Path) -> Option<Arc<Tally>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(path)?.last_tally.clone()
    }

    /// Asks a job something else.
    pub(crate) fn ask<T>(
        &self,
        path: &Path,
        question: impl FnOnce(&StoredJob) -> Result<T, JobError>,
    ) -> Result<T, JobError> {
        self.at_gate(path, || question(&StoredJob::read(path)?))
    }

    /// Does something while nobody else of this server looks into a job.
    pub(crate) fn at_gate<T>(&self, path: &Path, look: impl FnOnce() -> T) -> T {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        if gates.len() >= MOST_JOBS {
            gates.retain(|_, gate| Arc::strong_count(gate) > 1);
        }
        let gate = Arc::clone(gates.entry(path.to_owned()).or_default());
        drop(gates);
        let _turn = gate.lock().unwrap_or_else(PoisonError::into_inner);
        look()
    }

    fn kept(&self, path: &Path) -> Option<Kept> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = kept.get(path).filter(|kept| !kept.is_stale)?;
        let is_fresh = kept.at.elapsed() < KEPT;
        let is_as_it_was = || !is_running(kept.status.state) && kept.stamp == stamp(path);
        let may_run = || {
            let job = clewline_job::JobFile::read(path);
            job.and_then(|job| job.owner())
                .map_or(true, |owner| owner.is_some())
        };
        (is_fresh || is_as_it_was() && !may_run()).then(|| kept.clone())
    }

    fn keep(&self, path: &Path, stamp: FileStamp, status: Arc<Status>, tally: Option<Arc<Tally>>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MOST_JOBS {
            kept.clear();
        }
        let earlier = kept.remove(path).and_then(|earlier| earlier.last_tally);
        let at = Instant::now();
        let one = Kept {
            stamp,
            at,
            status,
            last_tally: tally.clone().or(earlier),
            tally,
            is_stale: false,
        };
        kept.insert(path.to_owned(), one);
    }

    /// Asks a job anew how it stands, since somebody just changed that. How it stood stays known: a
    /// crawl that is about to end answers nobody.
    pub(crate) fn look_again(&self, path: &Path) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = kept.get_mut(path) {
            kept.is_stale = true;
        }
    }
}

/// When the records of a job changed last.
pub(super) fn last_change(path: &Path) -> Option<SystemTime> {
    let records = fs::metadata(path.join(clewline_job::log::urls::FILE)).ok()?;
    records.modified().ok()
}

fn stamp(path: &Path) -> FileStamp {
    let marker = fs::metadata(path.join(MARKER)).and_then(|facts| facts.modified());
    let records = fs::metadata(path.join(clewline_job::log::urls::FILE));
    FileStamp(marker.ok(), records.map_or(0, |facts| facts.len()))
}

/// Folders whose names are those of jobs and that are jobs.
fn folders_in(folder: &Path) -> impl Iterator<Item = (String, PathBuf)> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        // A link may lead anywhere.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_found = is_folder && is_name(&name) && is_job(&entry.path());
        is_found.then(|| (name, entry.path()))
    })
}

/// Whether jobs are to be looked for in a folder: some are there, or nothing that is an archive.
fn is_place(folder: &Path) -> bool {
    folders_in(folder).next().is_some() || !clewline_job::archive::is_archive(folder)
}

fn named(paths: &[PathBuf]) -> Vec<(String, PathBuf)> {
    let mut jobs: Vec<(String, PathBuf)> = Vec::new();
    for path in paths.iter().filter(|path| is_job(path)) {
        let name = name_of(path);
        let is_taken = |name: &str| jobs.iter().any(|(taken, _)| taken == name);
        let mut numbered = name.clone();
        let mut number = 1;
        while is_taken(&numbered) {
            number += 1;
            numbered = format!("{name}-{number}");
        }
        jobs.push((numbered, path.clone()));
    }
    jobs.sort();
    jobs
}

/// The name of a job folder in requests.
pub(super) fn name_of(path: &Path) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let last = whole
        .file_name()
        .map(|name| name.to_string_lossy().to_lowercase());
    let last = last.unwrap_or_default();
    let known = last.trim_start_matches('.').chars().map(|c| match c {
        'a'..='z' | '0'..='9' | '.' => c,
        _ => '-',
    });
    // There is room for a number.
    let name: String = known.take(LONGEST_NAME - 6).collect();
    if name.is_empty() {
        return "job".to_owned();
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join(MARKER), "format = 1\n").unwrap();
        path
    }

    #[test]
    fn only_jobs_of_the_place_are_found() {
        let place = tempfile::tempdir().unwrap();
        let served = place.path().join("served");
        job(&served, "a.test.crawl");
        job(&served, "Upper");
        job(&served, ".hidden");
        job(place.path(), "outside");
        #[cfg(unix)]
        std::os::unix::fs::symlink(place.path().join("outside"), served.join("link")).unwrap();
        fs::create_dir(served.join("empty")).unwrap();
        let jobs = JobPlaces::from_paths(std::slice::from_ref(&served));
        let names: Vec<String> = jobs.all().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["a.test.crawl"]);
        assert!(jobs.find("a.test.crawl").is_some());
        let long = "a".repeat(65);
        for name in [
            "..",
            ".",
            "",
            "../outside",
            "link",
            "Upper",
            ".hidden",
            "empty",
            &long,
        ] {
            assert_eq!(jobs.find(name), None, "{name}");
        }
    }

    #[test]
    fn named_jobs_have_names_of_their_own() {
        let place = tempfile::tempdir().unwrap();
        let one = job(place.path(), "x/A_b.crawl");
        let two = job(place.path(), "y/a-b.crawl");
        let jobs = JobPlaces::from_paths(&[one.clone(), two.clone()]);
        assert_eq!(jobs.find("a-b.crawl"), Some(one));
        assert_eq!(jobs.find("a-b.crawl-2"), Some(two));
        assert!(!jobs.is_folder());
    }
}
