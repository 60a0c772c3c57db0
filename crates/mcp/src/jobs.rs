//! The jobs behind the door.
//!
//! Owns which folders are jobs and by which name a call finds them. Invariant: a name leads to a job
//! that lies in the folder the door was opened for, or to none; it is compared, never joined to a path.

use std::fs;
use std::path::{Path, PathBuf};

use clewline_job::folder::MARKER;

use crate::answer::ToolAnswer;

/// Jobs that are listed.
const MOST_JOBS: usize = 500;
/// Names that an error tells.
const MOST_NAMED: usize = 20;

/// A job, by the name of its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedJob {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

/// A folder that is a job, or holds some.
#[derive(Debug, Clone)]
pub(crate) struct JobShelf {
    place: PathBuf,
}

impl JobShelf {
    pub(crate) const fn new(place: PathBuf) -> Self {
        Self { place }
    }

    /// The folder in which jobs begin; none if the door shows one job only.
    pub(crate) fn folder(&self) -> Option<&Path> {
        (!is_job(&self.place)).then_some(&self.place)
    }

    /// All jobs, by name.
    pub(crate) fn jobs(&self) -> Vec<NamedJob> {
        if is_job(&self.place) {
            let whole = fs::canonicalize(&self.place).unwrap_or_else(|_| self.place.clone());
            let name = whole.file_name().unwrap_or_default().to_string_lossy();
            let name = name.into_owned();
            return vec![NamedJob { name, path: whole }];
        }
        let entries = fs::read_dir(&self.place).into_iter().flatten();
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut jobs: Vec<_> = paths
            .filter(|path| is_job(path))
            .map(|path| NamedJob {
                name: path
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
                path,
            })
            .collect();
        jobs.sort_by(|a, b| a.name.cmp(&b.name));
        jobs.truncate(MOST_JOBS);
        jobs
    }

    /// The jobs that a call means: the one that it names, or all.
    pub(crate) fn meant(&self, name: Option<&str>) -> Result<Vec<NamedJob>, ToolAnswer> {
        let mut jobs = self.jobs();
        if let Some(name) = name {
            let names: Vec<_> = jobs
                .iter()
                .map(|job| job.name.clone())
                .take(MOST_NAMED)
                .collect();
            jobs.retain(|job| job.name == name);
            if jobs.is_empty() {
                let error = format!("there is no job {name:?}; there are {names:?}");
                return Err(ToolAnswer::refused(
                    error,
                    "name one of these, as `status` lists them",
                ));
            }
        }
        if jobs.is_empty() {
            let hint = "`crawl` starts one, and `status` says how it stands";
            return Err(ToolAnswer::refused("nothing was crawled here yet", hint));
        }
        Ok(jobs)
    }

    /// The one job that a call means: the one that it names, or the only one.
    pub(crate) fn only(&self, name: Option<&str>) -> Result<NamedJob, ToolAnswer> {
        let mut jobs = self.meant(name)?;
        match (jobs.pop(), jobs.is_empty()) {
            (Some(job), true) => Ok(job),
            _ => Err(ToolAnswer::refused(
                "there are several jobs",
                "name one; `status` lists them",
            )),
        }
    }
}

fn is_job(folder: &Path) -> bool {
    folder.join(MARKER).is_file()
}
