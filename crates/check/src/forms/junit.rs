//! JUnit's XML.
//!
//! Owns the shape: a suite for each rule, a case for each page, and one passed case for a rule
//! without findings, so that servers can draw trends. What does not fail the run is a passed case
//! with its text, and a known finding is a skipped one. Invariant: every character may stand in
//! XML 1.0 (section 2.2).

use std::io::{self, Write};

use clewline_job::escape;

use super::words::{message, place};
use crate::report::{CheckReport, JudgedFinding};
use crate::rule::{CheckRule, Severity};

/// Cases of a suite; the last of a longer one says how many more there are.
const MOST_CASES: usize = 10_000;
/// Findings that the text of a case names.
const MOST_LINES: usize = 100;

/// The findings of one page by one rule.
type PageFindings<'a> = &'a [JudgedFinding];

pub(super) fn write(report: &CheckReport, out: &mut dyn Write) -> io::Result<()> {
    let mut suites = Vec::new();
    for (rule, severity) in &report.rules {
        let first = report.findings.partition_point(|one| {
            (std::cmp::Reverse(one.severity), one.finding.rule.id)
                < (std::cmp::Reverse(*severity), rule.id)
        });
        let of_rule = report.findings[first..]
            .iter()
            .take_while(|one| one.finding.rule == *rule)
            .count();
        let found = &report.findings[first..first + of_rule];
        let pages: Vec<PageFindings<'_>> = found
            .chunk_by(|left, right| left.finding.page == right.finding.page)
            .collect();
        suites.push((*rule, *severity, pages));
    }
    let tests: usize = suites.iter().map(|(_, _, pages)| cases(pages)).sum();
    let failures: usize = suites
        .iter()
        .map(|(_, _, pages)| counted(report, pages, CaseResult::Failed))
        .sum();
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(
        out,
        "<testsuites name=\"clewline check\" tests=\"{tests}\" failures=\"{failures}\">"
    )?;
    for (rule, severity, pages) in &suites {
        suite(report, (*rule, *severity), pages, out)?;
    }
    writeln!(out, "</testsuites>")
}

/// How a case ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CaseResult {
    Passed,
    Failed,
    Known,
}

fn result(report: &CheckReport, findings: PageFindings<'_>) -> CaseResult {
    if findings.iter().any(|one| report.fails(one)) {
        CaseResult::Failed
    } else if findings.iter().all(|one| one.known) {
        CaseResult::Known
    } else {
        CaseResult::Passed
    }
}

/// The cases of a suite: at least one, and at most one more than the bound.
fn cases(pages: &[PageFindings<'_>]) -> usize {
    pages.len().clamp(1, MOST_CASES + 1)
}

fn counted(report: &CheckReport, pages: &[PageFindings<'_>], wanted: CaseResult) -> usize {
    let shown = pages.iter().take(MOST_CASES);
    shown
        .filter(|findings| result(report, findings) == wanted)
        .count()
}

fn suite(
    report: &CheckReport,
    (rule, severity): (&CheckRule, Severity),
    pages: &[PageFindings<'_>],
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(
        out,
        "<testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">",
        rule.id,
        cases(pages),
        counted(report, pages, CaseResult::Failed),
        counted(report, pages, CaseResult::Known),
    )?;
    if pages.is_empty() {
        writeln!(
            out,
            "<testcase classname=\"{}\" name=\"{}\"/>",
            rule.id,
            xml(rule.summary)
        )?;
    }
    for findings in pages.iter().take(MOST_CASES) {
        case(result(report, findings), (rule, severity), findings, out)?;
    }
    let left = pages.len().saturating_sub(MOST_CASES);
    if left > 0 {
        writeln!(
            out,
            "<testcase classname=\"{}\" name=\"and {left} more pages\"/>",
            rule.id
        )?;
    }
    writeln!(out, "</testsuite>")
}

fn case(
    result: CaseResult,
    (rule, severity): (&CheckRule, Severity),
    findings: PageFindings<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let first = &findings[0];
    let page = first.finding.page.as_str();
    write!(
        out,
        "<testcase classname=\"{}\" name=\"{}\" file=\"{}\"",
        rule.id,
        xml(page),
        xml(first.file.as_deref().unwrap_or(page)),
    )?;
    let line = first.finding.place.as_ref().map_or(0, |place| place.line);
    if line > 0 {
        write!(out, " line=\"{line}\"")?;
    }
    let text = text(findings);
    match result {
        CaseResult::Failed => {
            let message = xml(&message(first));
            let kind = severity.name();
            write!(
                out,
                "><failure message=\"{message}\" type=\"{kind}\">{text}</failure>"
            )?;
        }
        CaseResult::Known => write!(out, "><skipped message=\"known\"/>")?,
        CaseResult::Passed => write!(out, "><system-out>{text}</system-out>")?,
    }
    writeln!(out, "</testcase>")
}

/// One line for each finding.
fn text(findings: PageFindings<'_>) -> String {
    let lines = findings.iter().take(MOST_LINES);
    let mut text = String::new();
    for one in lines {
        text.push_str(&xml(&format!("{}: {}", place(one), message(one))));
        text.push('\n');
    }
    let left = findings.len().saturating_sub(MOST_LINES);
    if left > 0 {
        text.push_str(&format!("and {left} more\n"));
    }
    text
}

/// Text in XML. Two characters that HTML allows may not even stand there as references.
fn xml(text: &str) -> String {
    let text = escape::html(text);
    text.replace('\u{fffe}', "\\u{fffe}")
        .replace('\u{ffff}', "\\u{ffff}")
}
