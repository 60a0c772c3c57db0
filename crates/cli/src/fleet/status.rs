//! `status` for a whole fleet.
//!
//! Owns the words and the table of workers. It decides nothing.

use std::fmt::Write as _;
use std::time::Duration;

use clewline_job::report::figures;
use clewline_postgres::{FleetStatus, MemberStatus};

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
    let state = manage::state(status.phase, status.ended.as_deref(), status.paused);
    let totals = &status.totals;
    let queued = totals.admitted - totals.settled;
    let mut text = format!("{}: {state}\n", shown(&status.job.name));
    let _ = writeln!(
        text,
        "{} done, {} queued; {}, {} read, {} spent",
        figures::count(totals.settled),
        figures::count(queued.saturating_sub(totals.withheld)),
        figures::plural(totals.pages, "page"),
        amount(totals.bytes as f64),
        clock(status.elapsed),
    );
    if let Some(rate) = status.pages_per_second.filter(|rate| *rate > 0.0) {
        let left = Duration::try_from_secs_f64(queued as f64 / rate).unwrap_or_default();
        let _ = writeln!(
            text,
            "{} pages/s, about {} left",
            decimal(rate),
            clock(left)
        );
    }
    if let Some(left) = status.pages_left {
        let granted = status.pages_granted;
        let _ = writeln!(
            text,
            "{} of --max-pages not fetched yet, {} of them dealt out",
            figures::plural(left + granted, "page"),
            figures::count(granted)
        );
    }
    let shards = &status.shards;
    let _ = writeln!(
        text,
        "{} of {} have an owner, {} have nothing to do; unread mail: {}",
        shards.owned,
        figures::plural(shards.all, "shard"),
        shards.idle,
        figures::count(totals.mail),
    );
    for wait in waits(status) {
        let _ = writeln!(text, "waiting: {wait}");
    }
    for member in &status.members {
        let _ = writeln!(text, "{}", worker(member));
    }
    text
}

/// What the fleet waits for, as far as the database can tell.
fn waits(status: &FleetStatus) -> Vec<String> {
    let mut waits = Vec::new();
    let has_live = status.members.iter().any(|member| member.live);
    let is_over = status.phase == clewline_core::fleet::JobPhase::Done;
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

fn worker(member: &MemberStatus) -> String {
    let figure = |name: &str| member.info.get(name).and_then(serde_json::Value::as_u64);
    let folder = member.info.get("folder").and_then(|folder| folder.as_str());
    let state = if member.live {
        format!("seen {} ago", clock(member.age))
    } else {
        format!("silent for {}", clock(member.age))
    };
    format!(
        "  {:016x}  {state}  {}  {} in flight  {}  {}",
        member.worker,
        figures::plural(member.shards, "shard"),
        figure("in_flight").unwrap_or_default(),
        figures::plural(figure("pages").unwrap_or_default(), "page"),
        shown(folder.unwrap_or_default()),
    )
}
