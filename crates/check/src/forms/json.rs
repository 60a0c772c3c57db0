//! Findings for programs: one object, or one line for each.
//!
//! Owns the shape of both; `docs/formats.md` documents it. Invariants: a field that is not there was
//! not known, and no character steers a terminal.

use std::collections::BTreeMap;
use std::io::{self, Write};

use clewline_core::url::CrawlUrl;
use clewline_job::escape::json_text;
use serde::Serialize;

use crate::baseline::{BaselineEntry, fingerprint};
use crate::finding::FindingPlace;
use crate::report::{CheckFacts, CheckOutcome, CheckReport, FindingCount, JudgedFinding};
use crate::rule::Severity;

/// The version of both forms.
const FORMAT: u32 = 1;

/// A finding as a line.
#[derive(Serialize)]
struct FindingLine<'a> {
    rule: &'static str,
    severity: Severity,
    page: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<&'a str>,
    evidence: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<&'a FindingPlace>,
    count: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    samples: Vec<&'a str>,
    known: bool,
    fingerprint: String,
}

/// All but the findings.
#[derive(Serialize)]
struct ReportHead<'a> {
    v: u32,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unfinished: Vec<String>,
    facts: &'a CheckFacts,
    severities: BTreeMap<&'static str, FindingCount>,
    rules: BTreeMap<&'static str, FindingCount>,
    ignored: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<&'a [BaselineEntry]>,
}

pub(super) fn write(report: &CheckReport, out: &mut dyn Write) -> io::Result<()> {
    let severities = [Severity::Error, Severity::Warning, Severity::Notice];
    let head = ReportHead {
        v: FORMAT,
        outcome: outcome(report.outcome()),
        unfinished: report.unfinished(),
        facts: &report.facts,
        severities: severities
            .map(|severity| (severity.name(), report.count(severity)))
            .into(),
        rules: report.by_rule(),
        ignored: report.ignored,
        gone: report.gone.as_deref(),
    };
    let mut text = serde_json::to_string(&head)?;
    // The findings are written one by one into the open object.
    text.truncate(text.len() - 1);
    let mut buffer = Vec::new();
    json_text(&text, &mut buffer);
    out.write_all(&buffer)?;
    out.write_all(b",\"findings\":[")?;
    for (at, one) in report.findings.iter().enumerate() {
        out.write_all(if at == 0 { b"\n" } else { b",\n" })?;
        finding(one, out)?;
    }
    out.write_all(b"\n]}\n")
}

/// One line for each finding: what a job folder keeps of its last check.
pub(super) fn write_lines(report: &CheckReport, out: &mut dyn Write) -> io::Result<()> {
    for one in &report.findings {
        finding(one, out)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// A finding as a value of JSON.
pub fn finding_row(one: &JudgedFinding) -> serde_json::Value {
    serde_json::to_value(line_of(one)).expect("keys are strings, numbers are finite")
}

fn finding(one: &JudgedFinding, out: &mut dyn Write) -> io::Result<()> {
    let mut buffer = Vec::new();
    json_text(&serde_json::to_string(&line_of(one))?, &mut buffer);
    out.write_all(&buffer)
}

fn line_of(one: &JudgedFinding) -> FindingLine<'_> {
    let finding = &one.finding;
    let samples = finding.samples.iter();
    FindingLine {
        rule: finding.rule.id,
        severity: one.severity,
        page: finding.page.as_str(),
        target: finding.target.as_deref(),
        subject: finding.subject.as_deref(),
        evidence: &finding.evidence,
        mend: finding.mend.as_deref(),
        file: one.file.as_deref(),
        place: finding.place.as_ref(),
        count: finding.count,
        samples: samples.map(CrawlUrl::as_str).collect(),
        known: one.known,
        fingerprint: fingerprint(finding),
    }
}

const fn outcome(outcome: CheckOutcome) -> &'static str {
    match outcome {
        CheckOutcome::Passed => "passed",
        CheckOutcome::Failed => "failed",
        CheckOutcome::Unfinished => "unfinished",
    }
}
