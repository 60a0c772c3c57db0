//! The verb `why`: the trail of one URL through a crawl.
//!
//! Owns the words. It decides nothing; the library tells.

use std::fmt::Write as _;
use std::path::PathBuf;

use clewline::StoredJob;
use clewline_core::url::CrawlUrl;
use clewline_job::config::Root;
use clewline_job::record::{OutcomeKind, Record};
use clewline_job::report::figures::plural;
use clewline_job::why::{Fate, RedirectHop, Why};

use crate::exit::ExitStatus;
use crate::flags::WhyArguments;
use crate::job::status::gap;
use crate::message::shown;
use crate::settings::problem::Problem;
use crate::{Failure, write_out};

/// Prints the trail.
pub(crate) fn why(arguments: &WhyArguments) -> Result<ExitStatus, Failure> {
    let (named, text) = match arguments.words.as_slice() {
        [url] => (None, url),
        [folder, url] => (Some(PathBuf::from(folder)), url),
        _ => return Err(usage("URL", "is missing: which URL is it about?")),
    };
    let root =
        Root::parse(text).map_err(|error| usage("URL", &format!("`{}` {error}", shown(text))))?;
    let job = super::open(named)?;
    let why = best(&job, &root)?;
    if arguments.json {
        return write_out(&(serde_json::to_string(&why)? + "\n"));
    }
    write_out(&text_of(&why))
}

fn usage(place: &str, message: &str) -> Failure {
    Failure::Usage(vec![Problem::new(place, message)])
}

/// Whoever leaves the scheme out means the one that the crawl knows.
fn best(job: &StoredJob, root: &Root) -> Result<Why, Failure> {
    let asked = |url: &CrawlUrl| job.why(url).map_err(Failure::Job);
    let first = asked(&root.url)?;
    if root.guessed_scheme && matches!(first.fate, Fate::Unknown | Fate::Refused) {
        let other = asked(&root.url.over_http())?;
        if matches!(other.fate, Fate::Recorded | Fate::Queued) {
            return Ok(other);
        }
    }
    Ok(first)
}

fn text_of(why: &Why) -> String {
    let mut text = format!("{}\n", shown(why.url.as_str()));
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(text, "  {name:<12} {}", shown(value));
    };
    row("verdict", &verdict(why));
    if why.normalised != why.url.as_str() {
        row("known as", &why.normalised);
    }
    if !why.dropped.is_empty() {
        row(
            "dropped",
            &format!("{} (--drop-params)", why.dropped.join(", ")),
        );
    }
    if let Some(record) = &why.record {
        if record.url != why.url {
            row("asked as", record.url.as_str());
        }
        row("found", &found(record));
    }
    for referrer in &why.referrers {
        row(
            "linked from",
            &format!("{} ({})", referrer.url, referrer.kind.name()),
        );
    }
    if let Some(more) = why.referrer_count.checked_sub(why.referrers.len() as u64) {
        match (more, why.referrer_count) {
            (_, 0) if why.fate == Fate::Unknown || why.fate == Fate::Refused => {
                row("linked from", "no page of this crawl links to it");
            }
            (0, _) => {}
            _ => row("linked from", &format!("… and {more} more")),
        }
    }
    if let Some(at) = &why.queued_at
        && matches!(why.fate, Fate::Recorded | Fate::Queued | Fate::Withheld)
    {
        row("queued", at);
    }
    if let Some(host) = &why.host
        && why.fate == Fate::Queued
    {
        row(
            "its host",
            &format!(
                "{}: {} queued, every {}",
                host.host,
                host.queued,
                gap(host.interval)
            ),
        );
    }
    if let Some(record) = &why.record {
        tries(record, &mut row);
    }
    chain("redirected by", &why.before, &mut row);
    chain("redirects to", &why.after, &mut row);
    let others = why
        .redirected_from_count
        .saturating_sub(why.before.len() as u64);
    if others > 0 {
        let named: Vec<&str> = why.redirected_from.iter().map(CrawlUrl::as_str).collect();
        let number = why.redirected_from_count;
        row(
            "pointed to",
            &format!("by {}: {}", plural(number, "redirect"), named.join(", ")),
        );
    }
    if let Some(robots) = &why.robots {
        row("robots.txt", &robots_words(robots));
    }
    if let Some(record) = &why.record {
        page(record, &mut row);
    }
    row("key", &why.key.to_string());
    text
}

fn verdict(why: &Why) -> String {
    let rule = why
        .rule
        .as_ref()
        .map(|rule| format!(": {rule}"))
        .unwrap_or_default();
    match (why.fate, &why.record) {
        (Fate::Recorded, Some(record)) => match record.outcome {
            OutcomeKind::Skipped => {
                let reason = record.reason.map_or("", |reason| reason.about());
                format!("skipped, {reason}{rule}")
            }
            OutcomeKind::Failed => {
                let class = record.failure.map_or("", |class| class.about());
                format!("failed, {class}{rule}")
            }
            OutcomeKind::Redirected => format!("redirected{rule}"),
            OutcomeKind::Unmodified => "unmodified".into(),
            OutcomeKind::Fetched => "fetched".into(),
        },
        (Fate::Queued, _) => format!("queued, not settled yet{rule}"),
        (Fate::Withheld, _) => format!("withheld{rule}; `resume --no-trap-detection` fetches it"),
        (Fate::Refused, _) => {
            let reason = why.reason.map_or("", |reason| reason.about());
            let linked = why.referrer_count > 0;
            format!(
                "{}, {reason}{rule}",
                if linked {
                    "refused"
                } else {
                    "would be refused"
                }
            )
        }
        _ => "unknown: nothing speaks against it, but it was never met".into(),
    }
}

fn found(record: &Record) -> String {
    match &record.found_on {
        Some(page) => format!("on {page} ({}), depth {}", record.kind.name(), record.depth),
        None => format!("as {}, depth {}", record.kind.name(), record.depth),
    }
}

fn tries(record: &Record, row: &mut impl FnMut(&str, &str)) {
    for (number, one) in record.earlier.iter().enumerate() {
        let status = one.status.map(|status| format!("status {status}"));
        let failure = one.failure.map(|class| class.name().to_owned());
        let what = status.or(failure).unwrap_or_default();
        row(
            &format!("try {}", number + 1),
            &format!("{} {what}", one.at),
        );
    }
    if record.tries == 0 {
        row("decided", &record.fetched_at);
        return;
    }
    let total = record
        .timings
        .total
        .map(|millis| format!(", {millis:.0} ms"));
    let status = record.status.map(|status| format!("status {status}"));
    let failure = record.failure.map(|class| class.name().to_owned());
    let what = status.or(failure).unwrap_or_default();
    let address = record.address.map(|address| format!(", from {address}"));
    row(
        &format!("try {}", record.tries),
        &format!(
            "{} {what}{}{}",
            record.fetched_at,
            total.unwrap_or_default(),
            address.unwrap_or_default()
        ),
    );
}

fn chain(name: &str, hops: &[RedirectHop], row: &mut impl FnMut(&str, &str)) {
    for hop in hops {
        let status = hop.status.map(|status| format!(" ({status})"));
        row(name, &format!("{}{}", hop.url, status.unwrap_or_default()));
    }
}

fn robots_words(robots: &clewline_job::why::RobotsSaying) -> String {
    let verdict = if robots.allowed {
        "allowed"
    } else {
        "disallowed"
    };
    match (robots.line, &robots.text) {
        (Some(line), Some(text)) => format!("{verdict} by line {line}: {text}"),
        _ => format!("{verdict}, no line speaks of it"),
    }
}

fn page(record: &Record, row: &mut impl FnMut(&str, &str)) {
    if let Some(kind) = &record.content_type {
        row("type", kind);
    }
    if record.tries > 0 {
        let sizes = format!(
            "{}, {} on the wire",
            plural(record.body_bytes, "byte"),
            record.wire_bytes
        );
        row("size", &sizes);
    }
    if matches!(
        record.outcome,
        OutcomeKind::Fetched | OutcomeKind::Unmodified
    ) {
        let links = format!("{}, {} of them new", record.links, record.new_links);
        row("links", &links);
    }
    if let Some(digest) = &record.digest {
        row("digest", digest);
    }
}
