//! What is told of rules: `--list-rules` and `--explain`.
//!
//! Owns the look of both. It refuses to know the rules beyond their texts.

use std::fmt::Write as _;

use clewline_check::CheckRule;
use clewline_check::rules;

use crate::settings::problem::Problem;

/// Every rule in a line.
pub(crate) fn list() -> String {
    let width = rules::all().iter().map(|rule| rule.id.len()).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    for rule in rules::all() {
        let (id, severity) = (rule.id, severity(rule));
        let _ = writeln!(text, "{id:width$}  {severity:7}  {}", rule.summary);
    }
    text
}

/// Everything about a rule.
pub(crate) fn explain(id: &str) -> Result<String, Problem> {
    let rule = rules::find(id).map_err(|error| Problem::new("--explain", error.to_string()))?;
    let help = &rule.help;
    Ok(format!(
        "{} ({})\n{}\n\nWhy: {}\n\nHow it is found: {}\n\nHow to mend it: {}\n\n\
         False alarms: {}\n",
        rule.id,
        severity(rule),
        rule.summary,
        help.why,
        help.found,
        help.mend,
        help.false_alarms
    ))
}

fn severity(rule: &CheckRule) -> &'static str {
    rule.severity.map_or("off", |severity| severity.name())
}
