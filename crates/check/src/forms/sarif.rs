//! SARIF 2.1.0 (OASIS Standard, 27 March 2020), as GitHub's code scanning reads it.
//!
//! Owns the mapping and the limits: 25,000 results, 1,000 places of each, 20 tags of a rule. It
//! refuses URLs as places, since viewers refuse them: a finding without a file stands at a file that
//! the caller names, and its URL in the message. Invariant: paths are relative and the same in each
//! run.

use std::io::{self, Write};

use clewline_job::escape::json_text;
use serde_json::{Value, json};

use super::words::{line_and_column, message};
use crate::baseline::fingerprint;
use crate::report::{CheckReport, JudgedFinding};
use crate::rule::{CheckRule, Severity};

/// Results of a run; of a larger file nothing is read.
const MOST_RESULTS: usize = 25_000;
/// The longest message that is kept whole.
const MOST_TEXT: usize = 4_000;
/// The schema of the format, by its permanent name.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
const HOME: &str = "https://github.com/clewline/clewline";

/// Writes the file; a finding without a file stands at this one.
pub(super) fn write(report: &CheckReport, location: &str, out: &mut dyn Write) -> io::Result<()> {
    let rules: Vec<Value> = report
        .rules
        .iter()
        .map(|(rule, severity)| described(rule, *severity))
        .collect();
    let driver = json!({
        "name": "Clewline",
        "semanticVersion": report.facts.version,
        "informationUri": HOME,
        "rules": rules,
    });
    let notifications: Vec<Value> = report
        .unfinished()
        .iter()
        .map(|reason| json!({"level": "error", "message": {"text": reason}}))
        .collect();
    let invocation = json!({
        "executionSuccessful": notifications.is_empty(),
        "toolExecutionNotifications": notifications,
    });
    let text = format!(
        "{{\"$schema\":{},\"version\":\"2.1.0\",\"runs\":[{{\"tool\":{{\"driver\":{driver}}},\
         \"automationDetails\":{{\"id\":\"clewline-check/\"}},\"columnKind\":\"unicodeCodePoints\",\
         \"invocations\":[{invocation}],\"results\":[",
        json!(SCHEMA)
    );
    written(&text, out)?;
    for (at, one) in report.findings.iter().take(MOST_RESULTS).enumerate() {
        out.write_all(if at == 0 { b"\n" } else { b",\n" })?;
        written(&result(report, one, location).to_string(), out)?;
    }
    out.write_all(b"\n]}]}\n")
}

fn written(json: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(json.len());
    json_text(json, &mut buffer);
    out.write_all(&buffer)
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Notice => "note",
    }
}

fn described(rule: &CheckRule, severity: Severity) -> Value {
    let help = &rule.help;
    let parts = [
        ("Why", help.why),
        ("How it is found", help.found),
        ("How to mend it", help.mend),
        ("False alarms", help.false_alarms),
    ];
    let parts = parts.into_iter().filter(|(_, text)| !text.is_empty());
    let (mut text, mut markdown) = (String::new(), String::new());
    for (title, part) in parts {
        text.push_str(&format!("{title}: {part}\n"));
        markdown.push_str(&format!("**{title}.** {part}\n\n"));
    }
    if text.is_empty() {
        text = format!("{}\n", rule.summary);
        markdown.clone_from(&text);
    }
    json!({
        "id": rule.id,
        "name": name(rule.id),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": if help.why.is_empty() { rule.summary } else { help.why }},
        "help": {"text": text, "markdown": markdown},
        "defaultConfiguration": {"level": level(severity)},
        "properties": {"tags": ["website", rule.category()]},
    })
}

/// `links/broken-part` as `LinksBrokenPart`.
fn name(id: &str) -> String {
    let words = id.split(['/', '-']);
    let words = words.map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    });
    words.collect()
}

fn result(report: &CheckReport, one: &JudgedFinding, location: &str) -> Value {
    let finding = &one.finding;
    let mut text = message(one);
    if one.file.is_none() {
        text = format!("{text}, on {}", finding.page.as_str());
    }
    let text = super::words::shortened(&text, MOST_TEXT).into_owned();
    let fingerprint = fingerprint(finding);
    let mut result = json!({
        "ruleId": finding.rule.id,
        "level": level(one.severity),
        "message": {"text": text},
        "locations": [place(one, location)],
        "partialFingerprints": {
            "clewline/v1": fingerprint,
            "primaryLocationLineHash": format!("{fingerprint}:1"),
        },
        "properties": {"page": finding.page.as_str()},
    });
    let fields = result.as_object_mut().expect("an object was just made");
    let rule = report.rules.iter();
    if let Some(at) = rule
        .map(|(rule, _)| rule.id)
        .position(|id| id == finding.rule.id)
    {
        fields.insert("ruleIndex".into(), json!(at));
    }
    if finding.count > 1 {
        fields.insert("occurrenceCount".into(), json!(finding.count));
    }
    if report.gone.is_some() {
        let state = if one.known { "unchanged" } else { "new" };
        fields.insert("baselineState".into(), json!(state));
    }
    result
}

fn place(one: &JudgedFinding, location: &str) -> Value {
    let (line, column) = match &one.file {
        Some(_) => line_and_column(one),
        None => (1, 1),
    };
    let path = one.file.as_deref().unwrap_or(location);
    json!({"physicalLocation": {
        "artifactLocation": {"uri": relative(path), "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": line, "startColumn": column},
    }})
}

/// A path as a relative reference (RFC 3986, section 4.2): with slashes, and escaped where a
/// reference could not hold it. A colon in the first segment would make it a scheme.
fn relative(path: &str) -> String {
    let path = path.replace('\\', "/");
    let mut out = String::with_capacity(path.len());
    for byte in path
        .trim_start_matches("./")
        .trim_start_matches('/')
        .bytes()
    {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+,;=@".contains(&byte);
        if is_plain {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
