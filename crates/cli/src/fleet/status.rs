//! `status` for a whole fleet, and the same words for its page.
//!
//! Owns the words and the table of workers. It decides nothing.

use std::fmt::Write as _;
use std::time::Duration;

use clewline_core::fleet::JobPhase;
use clewline_job::report::figures;
use clewline_job::status::State;
use clewline_postgres::{FleetStatus, MemberStatus};
use clewline_serve::pages::FleetWorker;
use clewline_serve::{FleetCounts, FleetStanding};
use serde_json::{Map, Value};

use super::{connect, manage, named, stuck};
use crate::exit::ExitStatus;
use crate::flags::StatusArguments;
use crate::message::shown;
use crate::progress::render::{amount, clock, decimal};
use crate::{Failure, write_out};

/// Mail that is older than this is told of.
const OLD_MAIL: Duration = Duration::from_secs(10);
/// Transactions that are older keep the database from clearing up.
const OLD_TRANSACTION: Duration = Duration::from_mins(5);

/// Prints how a job stands.
pub(crate) fn status(address: &str, arguments: &StatusArguments) -> Result<ExitStatus, Failure> {
    let name = named(arguments.job.as_deref())?;
    let status = connect(address)?.status(name).map_err(stuck)?;
    if arguments.wants_json() {
        return write_out(&(serde_json::to_string(&status)? + "\n"));
    }
    write_out(&text(&status))
}

fn text(status: &FleetStatus) -> String {
    let standing = standing(status);
    let mut text = format!("{}: {}\n", shown(&status.job.name), standing.told);
    let lines = [
        &standing.done,
        &standing.pace,
        &standing.budget,
        &standing.shares,
    ];
    for line in lines.into_iter().filter(|line| !line.is_empty()) {
        let _ = writeln!(text, "{line}");
    }
    for wait in &standing.waits {
        let _ = writeln!(text, "waiting: {wait}");
    }
    for worker in &standing.workers {
        let _ = writeln!(text, "{}", line(worker));
    }
    text
}

/// How a job stands, in words and figures.
pub(crate) fn standing(status: &FleetStatus) -> FleetStanding {
    let shards = &status.shards;
    let counts = counts(status);
    FleetStanding {
        state: state(status),
        told: manage::state(status.phase, status.ended.as_deref(), status.paused),
        done: done(status),
        pace: pace(&counts),
        budget: budget(status),
        shares: format!(
            "{} of {} have an owner, {} have nothing to do; unread mail: {}",
            shards.owned,
            figures::plural(shards.all, "shard"),
            shards.idle,
            figures::count(status.totals.mail),
        ),
        waits: waits(status),
        workers: status.members.iter().map(worker).collect(),
        counts,
        json: public(status),
    }
}

const fn state(status: &FleetStatus) -> State {
    match (status.phase, status.ended.is_some(), status.paused) {
        (JobPhase::Done, true, _) => State::Unfinished,
        (JobPhase::Done, false, _) => State::Finished,
        (_, _, true) => State::Paused,
        _ => State::Running,
    }
}

fn counts(status: &FleetStatus) -> FleetCounts {
    let totals = &status.totals;
    let left = totals.admitted - totals.settled;
    let rate = status.pages_per_second.filter(|rate| *rate > 0.0);
    FleetCounts {
        pages: totals.pages,
        queued: left.saturating_sub(totals.withheld),
        known: totals.admitted,
        bytes: totals.bytes,
        mail: totals.mail,
        shards: status.shards.all,
        owned: status.shards.owned,
        idle: status.shards.idle,
        pages_per_second: rate,
        left: rate.map(|rate| Duration::try_from_secs_f64(left as f64 / rate).unwrap_or_default()),
    }
}

fn done(status: &FleetStatus) -> String {
    let totals = &status.totals;
    format!(
        "{} done, {} queued; {}, {} read, {} spent",
        figures::count(totals.settled),
        figures::count(counts(status).queued),
        figures::plural(totals.pages, "page"),
        amount(totals.bytes as f64),
        clock(status.elapsed),
    )
}

fn pace(counts: &FleetCounts) -> String {
    let told = counts.pages_per_second.zip(counts.left);
    told.map(|(rate, left)| format!("{} pages/s, about {} left", decimal(rate), clock(left)))
        .unwrap_or_default()
}

fn budget(status: &FleetStatus) -> String {
    let Some(left) = status.pages_left else {
        return String::new();
    };
    let granted = status.pages_granted;
    format!(
        "{} of --max-pages not fetched yet, {} of them dealt out",
        figures::plural(left + granted, "page"),
        figures::count(granted)
    )
}

/// Everything but how the job is configured and seeded, which concerns only its workers.
fn public(status: &FleetStatus) -> Map<String, Value> {
    let Ok(Value::Object(mut all)) = serde_json::to_value(status) else {
        return Map::new();
    };
    if let Some(Value::Object(job)) = all.get_mut("job") {
        job.remove("spec");
        job.remove("seed");
    }
    all
}

/// What the fleet waits for, as far as the database can tell.
fn waits(status: &FleetStatus) -> Vec<String> {
    let mut waits = Vec::new();
    let has_live = status.members.iter().any(|member| member.live);
    let is_over = status.phase == JobPhase::Done;
    if !has_live && !is_over {
        waits.push("no worker is at work; `clewline fleet join` starts one".to_owned());
    }
    if !status.quiet.is_zero() {
        let left = clock(status.quiet);
        waits.push(format!(
            "the database was restarted or failed over: free shards can be claimed in {left}"
        ));
    }
    if status.shards.free > 0 && has_live && !is_over {
        waits.push(format!(
            "{} for an owner",
            figures::plural(status.shards.free, "shard")
        ));
    }
    if let Some(age) = status.oldest_mail.filter(|age| *age > OLD_MAIL) {
        waits.push(format!("links for {} to be read", clock(age)));
    }
    if let Some(age) = status
        .oldest_transaction
        .filter(|age| *age > OLD_TRANSACTION)
    {
        waits.push(format!(
            "a transaction is {} old and keeps the database from clearing {} dead rows",
            clock(age),
            figures::count(status.dead_rows)
        ));
    }
    waits
}

fn worker(member: &MemberStatus) -> FleetWorker {
    let figure = |name: &str| member.info.get(name).and_then(Value::as_u64);
    let folder = member.info.get("folder").and_then(|folder| folder.as_str());
    FleetWorker {
        name: format!("{:016x}", member.worker),
        live: member.live,
        heard: if member.live {
            format!("seen {} ago", clock(member.age))
        } else {
            format!("silent for {}", clock(member.age))
        },
        shards: member.shards,
        in_flight: figure("in_flight").unwrap_or_default(),
        pages: figure("pages").unwrap_or_default(),
        folder: folder.unwrap_or_default().to_owned(),
    }
}

fn line(worker: &FleetWorker) -> String {
    format!(
        "  {}  {}  {}  {} in flight  {}  {}",
        worker.name,
        worker.heard,
        figures::plural(worker.shards, "shard"),
        worker.in_flight,
        figures::plural(worker.pages, "page"),
        shown(&worker.folder),
    )
}
