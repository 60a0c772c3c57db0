//! Every rule by its name.
//!
//! Owns the list of rules with their texts, a file for each group of categories, and the lookup by
//! name and pattern. It refuses to know how a rule finds anything. Invariant: names are sorted and
//! unique.

pub(crate) mod accessibility;
pub(crate) mod content;
pub(crate) mod hosts;
pub(crate) mod index;
pub(crate) mod links;
pub(crate) mod mixed;

use std::sync::LazyLock;

use thiserror::Error;

use crate::rule::CheckRule;

/// Nearest names that an error names.
const MOST_NEAREST: usize = 3;
/// Longer words are compared with nothing, so that the cost is bounded whatever was typed.
const LONGEST_WORD: usize = 64;

/// Declares rules with their texts, and the list `RULES` of all of a file.
macro_rules! declare_rules {
    (@severity Off) => { None };
    (@severity $severity:ident) => { Some($crate::rule::Severity::$severity) };
    ($($name:ident = $id:literal, $severity:ident, $summary:literal {
        why: $why:literal, found: $found:literal, mend: $mend:literal, false_alarms: $alarms:literal $(,)?
    })+) => {
        $(pub(crate) static $name: $crate::rule::CheckRule = $crate::rule::CheckRule {
            id: $id,
            severity: declare_rules!(@severity $severity),
            summary: $summary,
            help: $crate::rule::RuleHelp {
                why: $why, found: $found, mend: $mend, false_alarms: $alarms,
            },
        };)+
        pub(crate) static RULES: &[&$crate::rule::CheckRule] = &[$(&$name),+];
    };
}
pub(crate) use declare_rules;

static ALL: LazyLock<Vec<&'static CheckRule>> = LazyLock::new(|| {
    let files = [
        accessibility::RULES,
        content::RULES,
        hosts::RULES,
        index::RULES,
        links::RULES,
        mixed::RULES,
    ];
    let mut all = files.concat();
    all.sort_unstable_by_key(|rule| rule.id);
    all
});

/// All rules, sorted by name.
pub fn all() -> &'static [&'static CheckRule] {
    &ALL
}

/// No rule has this name, or is matched by this pattern.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no rule `{word}`{}; --list-rules shows all of them", hint(.nearest))]
pub struct UnknownRule {
    /// What was asked for, cut and without control characters.
    pub word: String,
    /// The names nearest to it.
    pub nearest: Vec<&'static str>,
}

fn hint(nearest: &[&str]) -> String {
    match nearest {
        [] => String::new(),
        names => format!("; did you mean {}?", names.join(" or ")),
    }
}

/// The rule with this name.
pub fn find(id: &str) -> Result<&'static CheckRule, UnknownRule> {
    let place = all().binary_search_by_key(&id, |rule| rule.id);
    place.map(|place| all()[place]).map_err(|_| unknown(id))
}

/// The rules that a pattern names: `links/broken`, `links`, `links/*`, or `*` for all.
pub fn matching(pattern: &str) -> Result<Vec<&'static CheckRule>, UnknownRule> {
    let is_named = |rule: &CheckRule| match pattern.strip_suffix('*') {
        Some(begin) => rule.id.starts_with(begin),
        None => rule.id == pattern || rule.category() == pattern,
    };
    let named: Vec<_> = all()
        .iter()
        .copied()
        .filter(|rule| is_named(rule))
        .collect();
    if named.is_empty() {
        return Err(unknown(pattern));
    }
    Ok(named)
}

fn unknown(word: &str) -> UnknownRule {
    let mut nearest: Vec<(usize, &str)> = Vec::new();
    if word.len() <= LONGEST_WORD {
        let allowed = 1 + word.chars().count() / 4;
        let distance = |rule: &&CheckRule| {
            let whole = strsim::osa_distance(word, rule.id);
            let name = rule.id.rsplit('/').next().unwrap_or_default();
            whole.min(strsim::osa_distance(word, name))
        };
        nearest = all().iter().map(|rule| (distance(rule), rule.id)).collect();
        nearest.retain(|(distance, _)| *distance <= allowed);
        nearest.sort_unstable();
        nearest.truncate(MOST_NEAREST);
    }
    let shown = word.chars().filter(|c| !c.is_control());
    UnknownRule {
        word: shown.take(LONGEST_WORD).collect(),
        nearest: nearest.into_iter().map(|(_, id)| id).collect(),
    }
}
