//! How bad the findings of each rule are, after the settings.
//!
//! Owns `only`, `skip` and `severity`, and which of several patterns decides. It refuses to know
//! findings. Invariant: a pattern that names no rule is a problem, not a wish that is passed over.

use std::collections::HashMap;

use super::{CheckProblem, CheckSettings, RulePattern};
use crate::rule::{CheckRule, Severity};

/// The severities of a check.
#[derive(Debug, Clone, Default)]
pub struct RuleSeverities {
    by_id: HashMap<&'static str, Severity>,
}

impl RuleSeverities {
    /// The severities that settings give to rules, or the patterns that name none.
    pub fn new(
        settings: &CheckSettings,
        rules: &[&'static CheckRule],
    ) -> Result<Self, Vec<CheckProblem>> {
        let problems = unknown(settings, rules);
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut by_id = HashMap::new();
        for rule in rules {
            if let Some(severity) = severity(settings, rule) {
                by_id.insert(rule.id, severity);
            }
        }
        Ok(Self { by_id })
    }

    /// How bad a rule's findings are; `None` where the rule is not asked.
    pub fn of(&self, rule: &CheckRule) -> Option<Severity> {
        self.by_id.get(rule.id).copied()
    }
}

fn severity(settings: &CheckSettings, rule: &CheckRule) -> Option<Severity> {
    let names = |patterns: &[RulePattern]| patterns.iter().any(|one| one.names(rule));
    let is_wanted = settings.only.is_empty() || names(&settings.only);
    if !is_wanted || names(&settings.skip) {
        return None;
    }
    let said = settings.severity.iter();
    let said = said.filter(|(pattern, _)| pattern.names(rule));
    match said.max_by_key(|(pattern, _)| pattern.exactness()) {
        Some((_, setting)) => setting.severity(),
        // A rule that is off is asked by those who name it.
        None => rule.severity.or_else(|| {
            let mut named = settings.only.iter();
            named
                .any(|pattern| pattern.as_str() == rule.id)
                .then_some(Severity::Notice)
        }),
    }
}

fn unknown(settings: &CheckSettings, rules: &[&'static CheckRule]) -> Vec<CheckProblem> {
    let lists = [
        ("check.only", settings.only.iter().collect::<Vec<_>>()),
        ("check.skip", settings.skip.iter().collect()),
        ("check.severity", settings.severity.keys().collect()),
        (
            "check.ignore",
            settings
                .ignore
                .iter()
                .filter_map(|entry| entry.rule.as_ref())
                .collect(),
        ),
    ];
    let mut problems = Vec::new();
    for (key, patterns) in lists {
        let unknown = patterns
            .into_iter()
            .filter(|pattern| !rules.iter().any(|rule| pattern.names(rule)));
        problems.extend(unknown.map(|pattern| {
            let message = format!(
                "`{}` names no rule: `clewline check --list-rules` shows them all",
                pattern.as_str()
            );
            CheckProblem::new(key, message)
        }));
    }
    problems
}
