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

use clewline::{JobError, StoredJob};

use crate::Failure;
use crate::exit::ExitStatus;
use crate::message::{Colour, Speaker, shown};
use crate::settings::problem::Problem;

/// How the names of job folders end.
const ENDING: &str = ".crawl";
/// The file that makes a folder a job.
const MARKER: &str = "job.toml";
/// More folders than this are only counted.
const MOST_LISTED: usize = 20;

/// The job folder that was named, or the only one here.
pub(crate) fn folder(named: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let found = match named {
        Some(path) => return Ok(path),
        None => jobs_in(Path::new("."))?,
    };
    let message = match found.as_slice() {
        [only] => return Ok(only.clone()),
        [] => format!("is missing, and there is no *{ENDING} folder here"),
        several => {
            let listed = several.iter().take(MOST_LISTED);
            let listed: Vec<String> = listed.map(|path| name_of(path)).collect();
            let more = several.len().saturating_sub(MOST_LISTED);
            let rest = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            format!(
                "is missing, and several are here: {}{rest}",
                listed.join(", ")
            )
        }
    };
    let problem = Problem::new("DIR", message).with_hint("name the job folder");
    Err(Failure::Usage(vec![problem]))
}

fn name_of(path: &Path) -> String {
    shown(&path.to_string_lossy()).into_owned()
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
    found.sort();
    Ok(found)
}

/// Reads what a folder says of its job.
fn open(named: Option<PathBuf>) -> Result<StoredJob, Failure> {
    let path = folder(named)?;
    StoredJob::read(&path).map_err(Failure::Job)
}

/// Says why a job could not be looked at or spoken to.
pub(crate) fn tell(error: JobError, colour: Colour) -> ExitStatus {
    let (status, hint) = match &error {
        JobError::NoJob(_) => (ExitStatus::Usage, "a crawl makes one: clewline URL"),
        JobError::NotRunning(_) => (
            ExitStatus::Stuck,
            "clewline resume goes on with it, with other figures if flags give them",
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
    };
    Speaker::new(colour).error(&anyhow::Error::new(error), &[hint.to_owned()]);
    status
}
