//! One job folder of what the workers of a fleet wrote, and the way of results to a place that
//! outlives their machines.
//!
//! Owns where the folders of workers are taken from: this machine, a shared folder or an object
//! store. Who held which shard is asked of the database where one is named; otherwise a worker that
//! saw the end of the job wrote it down.

use std::fmt::Write as _;
use std::num::ParseIntError;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clewline::StoredJob;
use clewline_core::fleet::{FleetJob, JobPhase, Upload};
use clewline_job::merge::{BatchLine, MergePlan, MergeSummary, MissingPages};
use clewline_job::report::{StoppedBy, figures};
use clewline_postgres::FleetServer;
use clewline_upload::{UploadError, Uploader, download, is_store};

use super::flags::MergeArguments;
use super::requeue::requeue;
use super::{connect, is_address, named, stuck};
use crate::exit::ExitStatus;
use crate::message::shown;
use crate::settings::problem::Problem;
use crate::{Failure, write_out};

/// How long an object store may be away before a worker gives up.
const LONGEST_OUTAGE: Duration = Duration::from_mins(10);
/// How often it is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// Merges.
pub(super) fn merge(arguments: &MergeArguments) -> Result<ExitStatus, Failure> {
    let (addresses, places): (Vec<&String>, Vec<&String>) =
        arguments.from.iter().partition(|from| is_address(from));
    if places.is_empty() {
        let problem = Problem::new(
            "WORKER-FOLDER",
            "is missing: what the workers were given as -o",
        );
        return Err(Failure::Usage(vec![problem]));
    }
    let mut fleet = match addresses.first() {
        Some(address) => Some((connect(address)?, named(arguments.job.as_deref())?)),
        None if arguments.requeue_missing => {
            let problem = Problem::new("--requeue-missing", "needs the address of the database");
            return Err(Failure::Usage(vec![problem]));
        }
        None => None,
    };
    let (early, tenures) = match &mut fleet {
        Some((server, job)) => (
            early_end(server, job)?,
            Some(server.tenures(job).map_err(stuck)?),
        ),
        None => (None, None),
    };
    let downloads = tempfile::tempdir()?;
    let plan = MergePlan {
        folders: fetched(&places, downloads.path())?,
        tenures,
        early,
        output: arguments.output.clone(),
        missing: if arguments.allow_missing {
            MissingPages::Allowed
        } else {
            MissingPages::Refused
        },
    };
    if arguments.requeue_missing
        && let Some((server, job)) = &mut fleet
        && let Some(text) = requeue(server, job, &plan)?
    {
        write_out(&text)?;
        return Ok(ExitStatus::Stuck);
    }
    let merged = StoredJob::merge(&plan).map_err(|error| Failure::Stuck(error.into()))?;
    write_out(&text(&merged, &arguments.output))
}

/// Why a job ended early, or that it did not end.
fn early_end(server: &mut FleetServer, job: &str) -> Result<Option<String>, Failure> {
    let status = server.status(job).map_err(stuck)?;
    Ok(match status.phase {
        JobPhase::Done => status.ended,
        _ => Some("merged before its end".to_owned()),
    })
}

/// The folders, those in object stores brought here.
fn fetched(places: &[&String], downloads: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut folders = Vec::new();
    for (number, place) in places.iter().enumerate() {
        if !is_store(place) {
            folders.push(PathBuf::from(place));
            continue;
        }
        let into = downloads.join(number.to_string());
        let found = download(place, &into).map_err(|error| Failure::Stuck(error.into()))?;
        folders.extend(found.folders);
    }
    Ok(folders)
}

fn text(merged: &MergeSummary, output: &Path) -> String {
    let mut text = format!(
        "{} from {}: {}, {}; {} did not count and were left out\n",
        figures::plural(merged.records, "URL"),
        figures::plural(merged.workers as u64, "worker"),
        figures::plural(merged.pages, "page"),
        figures::plural(merged.files, "archive file"),
        figures::plural(merged.dropped, "record"),
    );
    for missing in &merged.missing {
        let _ = writeln!(text, "missing: {missing}");
    }
    let folder = shown(&output.to_string_lossy()).into_owned();
    let kind = match &merged.stopped_by {
        StoppedBy::Finished => "a finished crawl".to_owned(),
        StoppedBy::Budget(flag) => format!("a crawl that {} ended early", shown(flag)),
        _ => "a crawl that was stopped before its end".to_owned(),
    };
    let _ = writeln!(text, "{folder} is {kind}: clewline search {folder} WORDS");
    text
}

/// Uploads what a worker writes, before it counts.
pub(super) fn upload(address: String, job: &FleetJob) -> Upload {
    let job = job.name.clone();
    let mut uploader: Option<Uploader> = None;
    Box::new(move |folder, batch, offsets| {
        let uploader = if let Some(uploader) = &mut uploader {
            uploader
        } else {
            let mut opened = Uploader::open(&address, &job, worker_of(folder)?)?;
            insist(|| opened.describe(folder))?;
            uploader.insert(opened)
        };
        let line = BatchLine::new(batch, offsets);
        // What is half uploaded must not be written anew, so it is tried again for long.
        insist(|| uploader.upload(folder, &line))?;
        Ok(())
    })
}

/// Uploads what a worker wrote down at the end of the job, so that whoever merges needs no database.
pub(super) fn upload_end(address: &str, job: &FleetJob, folder: &Path) -> anyhow::Result<()> {
    let mut uploader = Uploader::open(address, &job.name, worker_of(folder)?)?;
    insist(|| uploader.describe(folder))?;
    Ok(())
}

/// The number of the worker whose folder it is.
fn worker_of(folder: &Path) -> Result<u64, ParseIntError> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    u64::from_str_radix(&name, 16)
}

/// Tries until the store answers, for a while.
fn insist<T>(mut upload: impl FnMut() -> Result<T, UploadError>) -> Result<T, UploadError> {
    let begun = Instant::now();
    loop {
        match upload() {
            Err(UploadError::Away(_)) if begun.elapsed() < LONGEST_OUTAGE => {
                std::thread::sleep(AGAIN);
            }
            other => return other,
        }
    }
}
