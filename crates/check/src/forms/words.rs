//! Sentences that several forms say.
//!
//! Owns the sentence that opens a report and how a place is written. It refuses to know the form:
//! what comes out is plain text that still must be escaped.

use std::borrow::Cow;

use clewline_job::report::figures::{count, plural};

use crate::report::{CheckOutcome, CheckReport, JudgedFinding};
use crate::rule::Severity;

/// What a check came to, in a sentence: `12 links are dead on 9 pages; 3 are new`.
pub fn sentence(report: &CheckReport) -> String {
    let dead = report.dead();
    let mut text = if dead.targets > 0 {
        let links = if dead.targets == 1 {
            "1 link is dead".to_owned()
        } else {
            format!("{} links are dead", count(dead.targets))
        };
        let mut text = format!("{links} on {}", plural(dead.pages, "page"));
        if report.gone.is_some() {
            text.push_str(&format!("; {} new", are(dead.new)));
        }
        text
    } else {
        without_dead_links(report)
    };
    if report.outcome() == CheckOutcome::Unfinished {
        text = format!("Not finished: {}", lower_first(&text));
    }
    text
}

fn without_dead_links(report: &CheckReport) -> String {
    let (errors, warnings) = (
        report.count(Severity::Error),
        report.count(Severity::Warning),
    );
    let pages = plural(report.facts.pages, "page");
    if errors.all() + warnings.all() == 0 {
        return format!("No link is dead on {pages}, and nothing else is wrong");
    }
    let mut parts = Vec::new();
    for (severity, found) in [("error", errors), ("warning", warnings)] {
        if found.all() > 0 {
            parts.push(plural(found.all(), severity));
        }
    }
    let mut text = format!("No link is dead on {pages}; {}", parts.join(" and "));
    if report.gone.is_some() {
        text.push_str(&format!(", {} new", count(errors.new + warnings.new)));
    }
    text
}

fn are(number: u64) -> String {
    match number {
        0 => "none is".to_owned(),
        1 => "1 is".to_owned(),
        more => format!("{} are", count(more)),
    }
}

fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next();
    let first = first.map(|first| first.to_lowercase().to_string());
    first.unwrap_or_default() + characters.as_str()
}

/// Where a finding stands: its file and line if both are known, otherwise its page and line.
pub(super) fn place(one: &JudgedFinding) -> String {
    let page = one.file.as_deref().unwrap_or(one.finding.page.as_str());
    match &one.finding.place {
        Some(place) if place.line > 0 && place.column > 0 => {
            format!("{page}:{}:{}", place.line, place.column)
        }
        Some(place) if place.line > 0 => format!("{page}:{}", place.line),
        _ => page.to_owned(),
    }
}

/// The line and the column of a finding; a page as a whole is its first line.
pub(super) fn line_and_column(one: &JudgedFinding) -> (u32, u32) {
    let place = one.finding.place.as_ref();
    place.map_or((1, 1), |place| (place.line.max(1), place.column.max(1)))
}

/// Everything that is wrong, in one line: `404 Not Found: https://… (write https://…)`.
pub(super) fn message(one: &JudgedFinding) -> String {
    let finding = &one.finding;
    let mut text = finding.evidence.clone();
    let about = finding.target.as_deref().or(finding.subject.as_deref());
    if let Some(about) = about {
        text = format!("{text}: {}", shortened(about, MOST_SHOWN));
    }
    if let Some(mend) = &finding.mend {
        text = format!("{text} (write {})", shortened(mend, MOST_SHOWN));
    }
    if finding.count > 1 {
        let others = plural(finding.count - 1, "other page");
        text = format!("{text}, also on {others}");
    }
    text
}

/// The longest URL or text that stands in a line; a longer one is cut in its middle.
pub(super) const MOST_SHOWN: usize = 300;

/// A text without its middle, if it is longer than this.
pub(super) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    let length = text.chars().count();
    if length <= most {
        return Cow::Borrowed(text);
    }
    let kept = most.saturating_sub(1);
    let head: String = text.chars().take(kept - kept / 3).collect();
    let tail: String = text.chars().skip(length - kept / 3).collect();
    Cow::Owned(format!("{head}…{tail}"))
}
