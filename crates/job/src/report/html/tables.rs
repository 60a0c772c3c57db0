//! The tables of the HTML report.
//!
//! Owns rows and their bounds: a page that a browser opens at once holds a thousand rows, not
//! a million; what is left out is counted, and stands in the logs.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use clewline_core::link::LinkKind;
use clewline_core::outcome::{FailureClass, SkipReason};
use clewline_core::url::CrawlUrl;

use super::super::{Broken, Report, Update, figures};
use super::link;
use crate::escape;

/// Media types by name.
const MOST_TYPES: usize = 50;

/// Broken targets, and referrers for each.
const MOST_BROKEN: usize = 1_000;
const MOST_REFERRERS: usize = 10;

/// URLs that are new, changed, unchanged or gone, of each.
const MOST_LISTED: usize = 500;

/// Hosts.
const MOST_HOSTS: usize = 500;

/// Outcomes, statuses, types and depths as bars.
pub(super) fn shares(report: &Report, out: &mut String) -> fmt::Result {
    let tally = &report.tally;
    let outcomes = tally
        .outcomes
        .rows()
        .into_iter()
        .filter(|(_, count)| *count > 0);
    let outcomes = outcomes.map(|(name, count)| {
        let class = match name {
            "fetched" | "unmodified" => "good",
            "skipped" => "warn",
            "failed" => "bad",
            _ => "",
        };
        (name.to_owned(), class, count)
    });
    let mut statuses: Vec<_> = tally.statuses.iter().collect();
    statuses.sort_by_key(|(_, count)| Reverse(**count));
    let statuses = statuses
        .into_iter()
        .take(MOST_TYPES)
        .map(|(status, count)| {
            let class = match status {
                200..=299 => "good",
                400..=499 => "warn",
                500.. => "bad",
                _ => "",
            };
            (status.to_string(), class, *count)
        });
    let depths = tally.depths.iter().enumerate();
    let depths = depths.map(|(depth, count)| (depth.to_string(), "", *count));
    out.push_str("<div class=pair>");
    bars(
        "Outcomes",
        "what became of each URL",
        &outcomes.collect::<Vec<_>>(),
        out,
    )?;
    bars(
        "Status",
        "answers by HTTP status",
        &statuses.collect::<Vec<_>>(),
        out,
    )?;
    bars("Types", "bodies by media type", &types(report), out)?;
    bars(
        "Depth",
        "URLs by links away from a root",
        &depths.collect::<Vec<_>>(),
        out,
    )?;
    out.push_str("</div>");
    Ok(())
}

fn types(report: &Report) -> Vec<(String, &'static str, u64)> {
    let mut types: Vec<_> = report.tally.types.iter().collect();
    types.sort_by_key(|(_, count)| Reverse(**count));
    let rest: u64 = types
        .iter()
        .skip(MOST_TYPES)
        .map(|(_, count)| **count)
        .sum();
    let shown = types.into_iter().take(MOST_TYPES);
    let mut rows: Vec<_> = shown
        .map(|(name, count)| (name.clone(), "", *count))
        .collect();
    let other = rest + report.tally.other_types;
    if other > 0 {
        rows.push(("other".to_owned(), "", other));
    }
    rows
}

fn bars(title: &str, about: &str, rows: &[(String, &str, u64)], out: &mut String) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    let whole: u64 = rows.iter().map(|(_, _, count)| count).sum();
    write!(
        out,
        "<section><h2>{title}</h2><p>{about}</p><table class=bars><tbody>"
    )?;
    for (name, class, count) in rows {
        let name = escape::html(name);
        let percent = 100.0 * *count as f64 / whole.max(1) as f64;
        write!(
            out,
            "<tr><th class=name scope=row title=\"{name}\">{name}</th><td class=n>{}</td>\
             <td class=track><svg aria-hidden=true><rect class=\"{class}\" \
             width=\"{percent:.2}%\" height=8 rx=4 /></svg></td><td class=\"n soft\">{}</td></tr>",
            figures::count(*count),
            escape::html(&figures::share(*count, whole)),
        )?;
    }
    out.push_str("</tbody></table></section>");
    Ok(())
}

/// What is new, changed, unchanged and gone since an earlier crawl.
pub(super) fn update(report: &Report, out: &mut String) -> fmt::Result {
    for (name, list, about) in report.update.iter().flat_map(Update::rows) {
        write!(
            out,
            "<section><h2>{} {name}</h2><p>{about}</p>",
            figures::count(list.count)
        )?;
        if !list.urls.is_empty() {
            out.push_str("<div class=\"scroll tall\"><ul class=plain>");
            for url in list.urls.iter().take(MOST_LISTED) {
                out.push_str("<li>");
                shown(url, out)?;
                out.push_str("</li>");
            }
            let left = list.count.saturating_sub(MOST_LISTED as u64);
            if left > 0 {
                write!(out, "<li>and {} more</li>", figures::count(left))?;
            }
            out.push_str("</ul></div>");
        }
        out.push_str("</section>");
    }
    Ok(())
}

/// A URL from an index, which may be anything; only what is one becomes a link.
fn shown(url: &str, out: &mut String) -> fmt::Result {
    match CrawlUrl::parse(url) {
        Ok(url) => link(url.as_str(), out),
        Err(_) => write!(out, "<span>{}</span>", escape::html(url)),
    }
}

/// Broken targets with the pages that link to them.
pub(super) fn broken(report: &Report, out: &mut String) -> fmt::Result {
    out.push_str("<section id=broken><h2>Broken URLs</h2>");
    if report.tally.broken == 0 {
        out.push_str("<p class=empty>None. Every URL that was asked for answered well.</p>");
        out.push_str("</section>");
        return Ok(());
    }
    out.push_str(
        "<p>URLs that answered with 400 or above, or not at all, and the pages that link to \
         them</p><div class=\"scroll tall\"><table class=sort><thead><tr>\
         <th>Problem</th><th>URL</th>\
         <th class=n>Pages</th><th>Linked from</th></tr></thead><tbody>",
    );
    for broken in report.broken.iter().take(MOST_BROKEN) {
        broken_row(broken, out)?;
    }
    out.push_str("</tbody></table></div>");
    let shown = report.broken.len().min(MOST_BROKEN) as u64;
    let place = report
        .facts
        .folder
        .as_ref()
        .map_or("", |_| "; see urls.jsonl");
    left_out(report.tally.broken.saturating_sub(shown), place, out)?;
    out.push_str("</section>");
    Ok(())
}

fn broken_row(broken: &Broken, out: &mut String) -> fmt::Result {
    let about = broken.failure.map_or("", FailureClass::about);
    let what = broken.what();
    write!(
        out,
        "<tr><td><span class=tag title=\"{about}\">{what}</span></td><td class=wide>"
    )?;
    link(broken.url.as_str(), out)?;
    let count = broken.referrer_count;
    write!(
        out,
        "</td><td class=n data-v={count}>{}</td><td class=wide>",
        figures::count(count)
    )?;
    let shown = &broken.referrers[..broken.referrers.len().min(MOST_REFERRERS)];
    match shown {
        [] => out.push_str("<span class=soft>no page</span>"),
        [first, rest @ ..] => {
            referrer(first, out)?;
            more_referrers(rest, count.saturating_sub(1), out)?;
        }
    }
    out.push_str("</td></tr>");
    Ok(())
}

fn more_referrers(rest: &[(CrawlUrl, LinkKind)], count: u64, out: &mut String) -> fmt::Result {
    if count == 0 {
        return Ok(());
    }
    write!(
        out,
        "<details><summary>and {} more</summary><ul>",
        figures::count(count)
    )?;
    for page in rest {
        out.push_str("<li>");
        referrer(page, out)?;
        out.push_str("</li>");
    }
    let left = count.saturating_sub(rest.len() as u64);
    if left > 0 {
        write!(
            out,
            "<li class=soft>{} not shown</li>",
            figures::count(left)
        )?;
    }
    out.push_str("</ul></details>");
    Ok(())
}

fn referrer((page, kind): &(CrawlUrl, LinkKind), out: &mut String) -> fmt::Result {
    link(page.as_str(), out)?;
    write!(out, " <span class=kind>{}</span>", kind.name())
}

/// Failures, skipped URLs and refused links, each with its explanation.
pub(super) fn reasons(report: &Report, out: &mut String) -> fmt::Result {
    let tally = &report.tally;
    let failures = ranked(&tally.failures, FailureClass::name, FailureClass::about);
    let skipped = ranked(&tally.skipped, SkipReason::name, SkipReason::about);
    let refused = ranked(&tally.refused, SkipReason::name, SkipReason::about);
    let tables = [
        ("Failures", "URLs that could not be fetched", failures),
        ("Skipped", "URLs that were not fetched, on purpose", skipped),
        (
            "Not queued",
            "links that never became URLs of this crawl",
            refused,
        ),
    ];
    for (title, about, rows) in tables {
        reason_table(title, about, &rows, out)?;
    }
    Ok(())
}

type Reason = (&'static str, &'static str, u64);

fn ranked<R: Copy + Ord>(
    counts: &BTreeMap<R, u64>,
    name: fn(R) -> &'static str,
    about: fn(R) -> &'static str,
) -> Vec<Reason> {
    let rows = counts
        .iter()
        .map(|(reason, count)| (name(*reason), about(*reason), *count));
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|(_, _, count)| Reverse(*count));
    rows
}

fn reason_table(title: &str, about: &str, rows: &[Reason], out: &mut String) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    write!(
        out,
        "<section><h2>{title}</h2><p>{about}</p><div class=scroll>\
         <table class=\"sort reasons\"><thead><tr>\
         <th>Reason</th><th class=n>Count</th><th>Which means</th></tr></thead><tbody>"
    )?;
    for (name, about, count) in rows {
        write!(
            out,
            "<tr><td class=name>{name}</td><td class=n data-v={count}>{}</td>\
             <td class=\"wide soft\">{about}</td></tr>",
            figures::count(*count)
        )?;
    }
    out.push_str("</tbody></table></div></section>");
    Ok(())
}

/// Templates that were given up.
pub(super) fn traps(report: &Report, out: &mut String) -> fmt::Result {
    let traps = &report.facts.traps;
    if traps.is_empty() {
        return Ok(());
    }
    out.push_str(
        "<section><h2>Withheld</h2><p>URLs of templates that were given up as traps: their pages \
         brought nothing new. --no-trap-detection fetches them</p><div class=scroll>\
         <table class=sort><thead><tr><th>Template</th><th>Site</th>\
         <th class=n>Pages alike</th><th class=n>Withheld</th></tr></thead><tbody>",
    );
    for trap in traps {
        write!(
            out,
            "<tr><td class=name>{}</td><td class=host>{}</td>\
             <td class=n data-v={}>{}</td><td class=n data-v={}>{}</td></tr>",
            escape::html(&trap.template),
            escape::html(&trap.site),
            trap.alike,
            figures::count(trap.alike.into()),
            trap.withheld,
            figures::count(trap.withheld.into()),
        )?;
    }
    out.push_str("</tbody></table></div></section>");
    Ok(())
}

/// URLs that were guessed from scripts.
pub(super) fn guesses(report: &Report, out: &mut String) -> fmt::Result {
    let guesses = report.tally.guesses;
    if guesses.tried == 0 {
        return Ok(());
    }
    let words = figures::guesses(guesses);
    write!(out, "<section><h2>Scripts</h2><p>{words}</p></section>")
}

/// Pages that a browser rendered, or that look empty without one.
pub(super) fn rendering(report: &Report, out: &mut String) -> fmt::Result {
    match figures::rendering(&report.tally) {
        Some(words) => write!(out, "<section><h2>JavaScript</h2><p>{words}</p></section>"),
        None => Ok(()),
    }
}

/// The numbers of each host.
pub(super) fn hosts(report: &Report, out: &mut String) -> fmt::Result {
    let mut hosts: Vec<_> = report.tally.hosts.iter().collect();
    if hosts.is_empty() {
        return Ok(());
    }
    hosts.sort_by_key(|(_, numbers)| Reverse(numbers.done));
    out.push_str(
        "<section id=hosts><h2>Hosts</h2><p>requests count every try; times are to the first byte</p>\
         <div class=\"scroll tall\"><table class=sort><thead><tr><th>Host</th><th class=n>URLs</th>\
         <th class=n>Requests</th><th class=n>Errors</th><th class=n>Failures</th>\
         <th class=n>Mean</th><th class=n>Longest</th><th class=n>Bytes</th></tr></thead><tbody>",
    );
    for (host, numbers) in hosts.iter().take(MOST_HOSTS) {
        write!(out, "<tr><td class=host>{}</td>", escape::html(host))?;
        for count in [
            numbers.done,
            numbers.requests,
            numbers.errors,
            numbers.failures,
        ] {
            cell(count as f64, &figures::count(count), out)?;
        }
        for time in [numbers.first_byte_mean(), numbers.first_byte_longest()] {
            let shown = time.map_or("–".to_owned(), figures::millis);
            cell(time.unwrap_or(-1.0), &shown, out)?;
        }
        cell(numbers.bytes as f64, &figures::bytes(numbers.bytes), out)?;
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
    left_out(
        hosts.len().saturating_sub(MOST_HOSTS) as u64,
        "; see the JSON report",
        out,
    )?;
    out.push_str("</section>");
    Ok(())
}

/// A number with the value that it sorts by.
fn cell(value: f64, shown: &str, out: &mut String) -> fmt::Result {
    write!(out, "<td class=n data-v={value:.3}>{shown}</td>")
}

fn left_out(count: u64, place: &str, out: &mut String) -> fmt::Result {
    if count == 0 {
        return Ok(());
    }
    let count = figures::count(count);
    write!(out, "<p class=left>{count} more are not shown{place}.</p>")
}
