//! GitLab's code quality report.
//!
//! Owns its fields and severities. It refuses URLs as locations, since GitLab shows a finding only
//! at a file of the project. Invariant: no two findings have one fingerprint, since GitLab drops all
//! but one of them.

use std::collections::HashMap;
use std::io::{self, Write};

use clewline_job::escape::json_text;
use serde::Serialize;

use super::words::{line_and_column, message};
use crate::baseline::fingerprint;
use crate::report::{CheckReport, JudgedFinding};
use crate::rule::Severity;

/// Findings of a report; a merge request shows far fewer.
const MOST_FINDINGS: usize = 25_000;

#[derive(Serialize)]
struct GitlabIssue<'a> {
    description: String,
    check_name: &'static str,
    fingerprint: String,
    severity: &'static str,
    location: GitlabLocation<'a>,
}

#[derive(Serialize)]
struct GitlabLocation<'a> {
    path: &'a str,
    lines: GitlabLines,
}

#[derive(Serialize)]
struct GitlabLines {
    begin: u32,
}

/// Writes the report; a finding without a file stands at this one.
pub(super) fn write(report: &CheckReport, location: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut seen: HashMap<String, u32> = HashMap::new();
    out.write_all(b"[")?;
    for (at, one) in report.findings.iter().take(MOST_FINDINGS).enumerate() {
        out.write_all(if at == 0 { b"\n" } else { b",\n" })?;
        let mut name = fingerprint(&one.finding);
        let times = seen.entry(name.clone()).or_default();
        *times += 1;
        if *times > 1 {
            name = format!("{name}-{times}");
        }
        let mut buffer = Vec::new();
        let issue = issue(one, name, location);
        json_text(&serde_json::to_string(&issue)?, &mut buffer);
        out.write_all(&buffer)?;
    }
    out.write_all(b"\n]\n")
}

fn issue<'a>(one: &'a JudgedFinding, fingerprint: String, location: &'a str) -> GitlabIssue<'a> {
    let mut description = message(one);
    let mut begin = line_and_column(one).0;
    if one.file.is_none() {
        description = format!("{description}, on {}", one.finding.page.as_str());
        begin = 1;
    }
    GitlabIssue {
        description,
        check_name: one.finding.rule.id,
        fingerprint,
        severity: match one.severity {
            Severity::Error => "major",
            Severity::Warning => "minor",
            Severity::Notice => "info",
        },
        location: GitlabLocation {
            path: one.file.as_deref().unwrap_or(location),
            lines: GitlabLines { begin },
        },
    }
}
