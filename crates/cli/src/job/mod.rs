//! The verbs about a job that is there: `resume`, `status`, `why`, `ctl`.
//!
//! Owns how a job folder is found where none is named, and what is said when a job cannot be
//! looked at or spoken to.

pub(crate) mod ctl;
pub(crate) mod resume;
pub(crate) mod status;
pub(crate) mod why;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clewline::{JobError, StoredJob};
use clewline_job::JobStanding;
use clewline_job::folder::MARKER;

use crate::Failure;
use crate::exit::ExitStatus;
use crate::message::{Colour, Speaker};
use crate::settings::problem::Problem;

/// How the names of job folders end.
pub(crate) const ENDING: &str = ".crawl";
/// The file that grows while a job runs.
const RECORDS: &str = "urls.jsonl";

/// The job folder that was named, or the newest one here.
pub(crate) fn folder(named: Option<PathBuf>) -> Result<PathBuf, Failure> {
    match named {
        Some(path) => Ok(path),
        None => newest(jobs_in(Path::new("."))?),
    }
}

/// The newest of several folders; whoever has more than one is told which it is.
fn newest(mut found: Vec<PathBuf>) -> Result<PathBuf, Failure> {
    // The name decides between those that are equally old.
    found.sort_by_cached_key(|path| (last_written(path), path.clone()));
    let Some(newest) = found.pop() else {
        let message = format!("is missing, and there is no *{ENDING} folder here");
        let problem = Problem::new("DIR", message).with_hint("name the job folder");
        return Err(Failure::Usage(vec![problem]));
    };
    if !found.is_empty() {
        let (name, number) = (newest.to_string_lossy(), found.len() + 1);
        Speaker::new(Colour::Auto).note(&format!(
            "taking {name}, the newest of the {number} crawls here; name the folder to take another"
        ));
    }
    Ok(newest)
}

/// When a job was last written to: its records while it runs, its marker when it ended.
fn last_written(folder: &Path) -> Option<SystemTime> {
    let written = |name| fs::metadata(folder.join(name)).and_then(|file| file.modified());
    [MARKER, RECORDS]
        .into_iter()
        .filter_map(|name| written(name).ok())
        .max()
}

fn jobs_in(here: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(here)? {
        let name = PathBuf::from(entry?.file_name());
        let is_named_so = name.to_string_lossy().ends_with(ENDING);
        if is_named_so && here.join(&name).join(MARKER).is_file() {
            found.push(name);
        }
    }
    Ok(found)
}

/// A job that `resume` goes on with: the one that was named, or the newest that is unfinished.
fn unfinished(named: Option<PathBuf>) -> Result<StoredJob, Failure> {
    if named.is_some() {
        return open(named);
    }
    let mut found = jobs_in(Path::new("."))?;
    let is_unfinished =
        |path: &Path| StoredJob::read(path).is_ok_and(|job| job.standing != JobStanding::Finished);
    if found.iter().any(|path| is_unfinished(path)) {
        found.retain(|path| is_unfinished(path));
    }
    open(Some(newest(found)?))
}

/// Reads what a folder says of its job.
fn open(named: Option<PathBuf>) -> Result<StoredJob, Failure> {
    let path = folder(named)?;
    StoredJob::read(&path).map_err(Failure::Job)
}

/// Says why a job could not be looked at or spoken to.
pub(crate) fn tell(error: JobError, colour: Colour) -> ExitStatus {
    let (status, hint) = help_with(&error);
    Speaker::new(colour).error(&anyhow::Error::new(error), &[hint.to_owned()]);
    status
}

/// How the command ends after such an error, and what helps.
pub(crate) const fn help_with(error: &JobError) -> (ExitStatus, &'static str) {
    match error {
        JobError::NoJob(_) => (ExitStatus::Usage, "a crawl makes one: clewline URL"),
        JobError::NotRunning(_) => (
            ExitStatus::Stuck,
            "clewline resume continues it, with new limits if you give flags",
        ),
        JobError::Ending(_) => (ExitStatus::Stuck, "ask again in a moment"),
        JobError::Refused(_) => (ExitStatus::Usage, "clewline ctl --help has examples"),
        JobError::Silent { .. } => (
            ExitStatus::Stuck,
            "it may be stopped, or of another version; Ctrl-C or SIGTERM end it politely",
        ),
        _ => (
            ExitStatus::Stuck,
            "the results in the folder can still be read",
        ),
    }
}
