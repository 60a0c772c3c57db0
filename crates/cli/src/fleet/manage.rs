//! Jobs of fleets in a database: listed and dropped.

use std::fmt::Write as _;

use clewline_core::fleet::JobPhase;
use clewline_job::report::figures;
use clewline_postgres::{DropMode, FleetListing};

use super::{connect, stuck};
use crate::exit::ExitStatus;
use crate::message::shown;
use crate::{Failure, write_out};

/// Lists the jobs of a database.
pub(super) fn list(address: &str, json: bool) -> Result<ExitStatus, Failure> {
    let jobs = connect(address)?.list().map_err(stuck)?;
    if json {
        return write_out(&(serde_json::to_string(&jobs)? + "\n"));
    }
    let mut text = String::new();
    for job in &jobs {
        let _ = writeln!(text, "{}", line(job));
    }
    if jobs.is_empty() {
        text.push_str("no jobs\n");
    }
    write_out(&text)
}

fn line(listing: &FleetListing) -> String {
    let workers = figures::plural(listing.members, "worker");
    let name = shown(&listing.job.name);
    let state = state(listing.phase, listing.ended.as_deref(), listing.paused);
    format!("{name}: {state}, {workers}")
}

/// How a job stands, in words.
pub(super) fn state(phase: JobPhase, ended: Option<&str>, is_paused: bool) -> String {
    match (phase, ended) {
        (JobPhase::Done, Some(why)) => format!("ended early: {}", shown(why)),
        (JobPhase::Done, None) => "done".into(),
        _ if is_paused => "paused".into(),
        (JobPhase::Roots, _) => "running: its roots come first".into(),
        (JobPhase::Run, _) => "running".into(),
        (JobPhase::LastCall, _) => "nearly done".into(),
    }
}

/// Removes a job.
pub(super) fn drop_job(address: &str, job: &str, force: bool) -> Result<ExitStatus, Failure> {
    let mode = if force {
        DropMode::Forced
    } else {
        DropMode::Unused
    };
    connect(address)?.drop_job(job, mode).map_err(stuck)?;
    write_out(&format!("the job {} is removed\n", shown(job)))
}
