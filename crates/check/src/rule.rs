//! What a rule is, before anything is judged by it.
//!
//! Owns severities and the texts that `--list-rules` and `--explain` print. It refuses to know how a
//! rule finds anything: that is in [`rules`](crate::rules). Invariant: a rule's name never changes,
//! since baselines and settings hold it.

use serde::{Deserialize, Serialize};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; only a count of them is printed.
    Notice,
    /// Worth mending.
    Warning,
    /// Fails a run.
    Error,
}

impl Severity {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A rule that sites are checked by.
#[derive(Debug)]
pub struct CheckRule {
    /// `category/name`.
    pub id: &'static str,
    /// How bad its findings are unless the settings say otherwise; `None` where it is off.
    pub severity: Option<Severity>,
    /// What is wrong, in one line.
    pub summary: &'static str,
    /// Why it matters, how it is found, how it is mended, and what may be a false alarm.
    pub help: RuleHelp,
}

/// What `--explain` prints of a rule.
#[derive(Debug)]
pub struct RuleHelp {
    /// Why it matters.
    pub why: &'static str,
    /// How it is found.
    pub found: &'static str,
    /// How it is mended.
    pub mend: &'static str,
    /// What may be a false alarm, and what to do then.
    pub false_alarms: &'static str,
}

impl CheckRule {
    /// The part of the name before the slash.
    pub fn category(&self) -> &'static str {
        self.id
            .split_once('/')
            .map_or(self.id, |(category, _)| category)
    }
}

impl PartialEq for CheckRule {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for CheckRule {}
