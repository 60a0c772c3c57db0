//! Annotations of a workflow on GitHub, and the summary of its step.
//!
//! Owns the escapes of workflow commands and the limits of a step: ten errors and ten warnings are
//! shown, and the rest is dropped without a word, so the tenth says how many more there are. It
//! refuses to know whether the program runs on GitHub.

use std::io::{self, Write};

use clewline_job::escape::visible;
use clewline_job::report::figures::count;

use super::groups::{IssueEntry, RuleGroup, Wanted, by_rule};
use super::markdown;
use super::words::{line_and_column, message, shortened};
use crate::report::{CheckPointers, CheckReport};
use crate::rule::Severity;

/// Annotations of one kind that a step shows.
const MOST_SHOWN: usize = 10;
/// The longest text of an annotation.
const MOST_TEXT: usize = 4_000;
/// The longest summary that a step may have; a longer one is refused whole.
const MOST_SUMMARY: usize = 1024 * 1024;

/// The annotations; a finding without a file stands at this one.
pub(super) fn annotations(
    report: &CheckReport,
    location: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let groups = by_rule(report, Wanted::New);
    for severity in [Severity::Error, Severity::Warning] {
        let of_kind = groups.iter().filter(|group| group.severity == severity);
        let entries: Vec<_> = of_kind
            .flat_map(|group| group.entries.iter().map(move |entry| (group, entry)))
            .collect();
        let left = entries.len().saturating_sub(MOST_SHOWN);
        for (at, entry) in entries.iter().take(MOST_SHOWN).enumerate() {
            let left = if at + 1 == MOST_SHOWN { left } else { 0 };
            annotation(entry, left, location, out)?;
        }
    }
    Ok(())
}

fn annotation(
    (group, entry): &(&RuleGroup<'_>, &IssueEntry<'_>),
    left: usize,
    location: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let one = entry.first();
    let (line, column) = line_and_column(one);
    let mut text = message(one);
    if one.file.is_none() {
        text = format!("{text}, on {}", one.finding.page.as_str());
    }
    let others = entry.count.new.saturating_sub(one.finding.count);
    if others > 0 {
        text = format!("{text}, and in {} other places", count(others));
    }
    if left > 0 {
        let kind = group.severity.name();
        text = format!(
            "{text}. {} more {kind}s are in the report",
            count(left as u64)
        );
    }
    let file = one.file.as_deref();
    let (line, column) = if file.is_some() {
        (line, column)
    } else {
        (1, 1)
    };
    let title = format!("{}: {}", group.rule.id, group.rule.summary);
    writeln!(
        out,
        "::{} file={},line={line},col={column},title={}::{}",
        group.severity.name(),
        property(file.unwrap_or(location)),
        property(&title),
        data(&shortened(&text, MOST_TEXT)),
    )
}

/// The text of a command. What steers a terminal is made visible first, line breaks among it.
fn data(text: &str) -> String {
    visible(text).replace('%', "%25")
}

/// The value of a property of a command, in which two more characters have a meaning.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// The summary of a step, in Markdown.
pub fn summary(report: &CheckReport, pointers: &CheckPointers) -> String {
    markdown::page(report, pointers, MOST_SUMMARY)
}
