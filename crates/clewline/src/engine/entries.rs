//! The record of a URL that reached its end.
//!
//! Owns the way from what the frontier decided and what the last job brought back to a line of
//! `urls.jsonl`. Refuses to know how it came about.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::time::Duration;

use clewline_core::frontier::{Finished, Try};
use clewline_core::outcome::Outcome;

use super::runner::JobResult;
use crate::clock::{millis, rfc3339, timestamp};
use crate::entry::Entry;
use crate::fetch::Timings;
use crate::record::{EarlierTry, FORMAT, OutcomeKind, PhaseMillis, Record};

/// Phases in milliseconds; `total` runs from hand-out to the last byte.
fn phases(timings: &Timings, total: Option<Duration>) -> PhaseMillis {
    PhaseMillis {
        connect: timings.connect.map(millis),
        tls: timings.tls.map(millis),
        first_byte: timings.first_byte.map(millis),
        total: total.map(millis),
    }
}

fn earlier_try(one: &Try) -> EarlierTry {
    EarlierTry {
        at: rfc3339(Duration::from_millis(one.at)),
        status: one.status,
        failure: one.failure,
    }
}

/// The record of a URL that reached its end without a job.
pub(super) fn unasked(finished: Finished) -> Entry {
    let Finished {
        entry,
        outcome,
        new_links,
        error,
    } = finished;
    let (outcome, redirect_to, reason, failure) = match outcome {
        Outcome::Fetched => (OutcomeKind::Fetched, None, None, None),
        Outcome::Redirected(to) => (OutcomeKind::Redirected, Some(to.to_string()), None, None),
        Outcome::Unmodified => (OutcomeKind::Unmodified, None, None, None),
        Outcome::Skipped(reason) => (OutcomeKind::Skipped, None, Some(reason), None),
        Outcome::Failed(class) => (OutcomeKind::Failed, None, None, Some(class)),
    };
    let record = Record {
        v: FORMAT,
        url: entry.url,
        key: entry.key,
        outcome,
        status: None,
        redirect_to,
        reason,
        failure,
        error: error.map(String::from),
        wire_bytes: entry.wire,
        body_bytes: 0,
        truncated: false,
        content_type: None,
        charset: None,
        links: 0,
        new_links,
        depth: entry.depth,
        kind: entry.kind,
        found_on: entry.found_on.map(|url| (*url).clone()),
        tries: entry.tries,
        earlier: entry.earlier.iter().map(earlier_try).collect(),
        timings: PhaseMillis::default(),
        address: None,
        title: None,
        canonical: None,
        lastmod: entry.lastmod.map(String::from),
        digest: None,
        noindex: false,
        shell: false,
        rendered: None,
        protocol: None,
        fetched_at: timestamp(),
    };
    Entry {
        record,
        links: Vec::new(),
        exchange: None,
        outlinks: Vec::new(),
        views: Vec::new(),
        line: OnceLock::new(),
    }
}

/// The record of a URL that reached its end by this job.
pub(super) fn entry(finished: Finished, result: JobResult) -> Entry {
    let entry = unasked(finished);
    let known = entry.record;
    let record = Record {
        status: result.answer().map(|answer| answer.status),
        redirect_to: known.redirect_to.or(result.redirect_to),
        error: known.error.or(result.problem),
        body_bytes: result.decoded,
        truncated: result.truncated,
        content_type: result.content_type,
        charset: result.charset.map(Cow::into_owned),
        links: result.links.len() as u32,
        timings: phases(&result.timings, result.total),
        address: result.address,
        title: result.title,
        canonical: result.canonical,
        lastmod: known.lastmod.or(result.last_modified),
        digest: result.digest,
        noindex: result.noindex,
        shell: result.is_shell,
        rendered: result.rendered,
        protocol: result.protocols.first().map(ToString::to_string),
        ..known
    };
    Entry {
        record,
        links: result.links,
        exchange: result.exchange,
        outlinks: result.outlinks.unwrap_or_default(),
        views: result.views,
        ..entry
    }
}
