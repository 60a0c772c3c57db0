//! The settings of a crawl as keywords of another language, and errors in words.
//!
//! Owns the way from `max_pages=100` to a configuration: the names, kinds, ranges and rules are those
//! of the registry, with `_` for `-`. It also lends the command's hints to whoever shows errors
//! elsewhere. It refuses to know the language. Invariant: a text that leaves here names settings as
//! keywords, never as flags.

use std::sync::LazyLock;

use clewline::{CrawlError, JobError, Summary};
use clewline_job::config::Config;
use regex::Regex;

use crate::advice;
use crate::job;
use crate::message::{shown, with_causes};
use crate::nearest::nearest;
use crate::resolve::{Environment, resolve};
use crate::settings::SettingMark::Positional;
use crate::settings::binding::{SettingValue, ValueKind};
use crate::settings::file::FileSettings;
use crate::settings::layer::{Layer, SettingOrigin};
use crate::settings::problem::Problem;
use crate::settings::registry::SECTIONS;
use crate::settings::{Effective, Setting};

/// Settings that tell the command what to print or to make afterwards; a script does that itself.
const OF_THE_COMMAND: [&str; 10] = [
    "no-output",
    "to",
    "rules",
    "list",
    "format",
    "fail-on",
    "stream",
    "quiet",
    "verbose",
    "color",
];
/// More of them, about stderr.
const OF_MESSAGES: [&str; 1] = ["log-format"];

/// A value as a script writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeywordValue {
    /// `True` or `False`.
    Switch(bool),
    /// A text, or a number as its text.
    Text(String),
    /// A list of them.
    Texts(Vec<String>),
}

/// What went wrong, and what helps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Explanation {
    /// What went wrong, one line for each problem.
    pub message: String,
    /// What to do about it.
    pub hints: Vec<String>,
}

impl Explanation {
    fn new(message: &str, hints: impl IntoIterator<Item = String>) -> Self {
        let mut told = Self {
            message: in_keywords(&shown_lines(message)),
            hints: Vec::new(),
        };
        for hint in hints {
            let hint = in_keywords(&shown_lines(&hint));
            if !told.hints.contains(&hint) {
                told.hints.push(hint);
            }
        }
        told
    }

    fn from_problems(problems: &[Problem]) -> Self {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let hints = problems.iter().filter_map(|problem| problem.hint.clone());
        Self::new(&lines.join("\n"), hints)
    }

    /// Why a crawl did not start or could not go on.
    pub fn from_crawl(error: CrawlError) -> Self {
        let (_, hints) = advice::on_refusal(&error);
        Self::new(&with_causes(&anyhow::Error::new(error)), hints)
    }

    /// Why a crawl that ended did not end well, if so.
    pub fn from_summary(summary: &Summary) -> Option<Self> {
        if let Some(error) = &summary.error {
            let hints = advice::on_error(error, &summary.report);
            return Some(Self::new(&error.to_string(), hints));
        }
        let (message, hints) = advice::on_unreached(&summary.failed_roots, &summary.report)?;
        Some(Self::new(&message, hints))
    }

    /// Why a job folder cannot be read.
    pub fn from_job(error: JobError) -> Self {
        let hint = job::help_with(&error).1.to_owned();
        Self::new(&with_causes(&anyhow::Error::new(error)), [hint])
    }
}

/// The keywords, in the order of the command's help: name, what it means, kind of value.
pub fn keywords() -> impl Iterator<Item = (String, &'static str, &'static str)> {
    settings().map(|setting| {
        let kind = match setting.describe(&mut Effective::default()).kind {
            ValueKind::Switch | ValueKind::Level => "switch",
            ValueKind::Number => "number",
            ValueKind::Text => "text",
            ValueKind::Texts => "texts",
        };
        (keyword(setting.name), setting.help, kind)
    })
}

/// The configuration of a crawl from these roots, or all that is wrong. Nothing is written to disk
/// unless `output` is given, and no configuration file is read.
pub fn config(
    roots: Vec<String>,
    given: Vec<(String, KeywordValue)>,
) -> Result<Config, Explanation> {
    let mut layer = Layer::default();
    let mut problems = Vec::new();
    layer.insert("url", SettingValue::Texts(roots), SettingOrigin::Keyword);
    for (name, value) in given {
        match setting_value(&name, value) {
            Ok((name, value)) => layer.insert(name, value, SettingOrigin::Keyword),
            Err(problem) => problems.push(problem),
        }
    }
    if !layer.is_given("output") {
        layer.insert(
            "no-output",
            SettingValue::Switch(true),
            SettingOrigin::Keyword,
        );
    }
    let resolved = resolve(layer, FileSettings::default(), &Environment::from_process());
    match resolved {
        Ok(resolved) if problems.is_empty() => Ok(resolved.config),
        Ok(_) => Err(Explanation::from_problems(&problems)),
        Err(more) => {
            problems.extend(more);
            Err(Explanation::from_problems(&problems))
        }
    }
}

fn settings() -> impl Iterator<Item = &'static Setting<Effective>> {
    let all = SECTIONS.iter().flat_map(|section| section.settings);
    all.filter(|setting| {
        let is_of_command = OF_THE_COMMAND
            .iter()
            .chain(&OF_MESSAGES)
            .any(|name| *name == setting.name);
        !is_of_command && !setting.is(Positional)
    })
}

fn keyword(name: &str) -> String {
    name.replace('-', "_")
}

/// The setting that a keyword names, with its value as the registry takes it.
fn setting_value(name: &str, value: KeywordValue) -> Result<(&'static str, SettingValue), Problem> {
    let Some(setting) = settings().find(|setting| keyword(setting.name) == name) else {
        let mut problem = Problem::new(shown(name), "is not a setting");
        let names: Vec<String> = settings().map(|setting| keyword(setting.name)).collect();
        let near = nearest(name, names.iter().map(String::as_str));
        problem.hint = near.map(|near| format!("did you mean {near}?"));
        return Err(problem);
    };
    let kind = setting.describe(&mut Effective::default()).kind;
    let missing = setting.missing_value();
    let refused = |what: &str| Err(Problem::new(keyword(setting.name), what));
    let value = match (kind, value) {
        (ValueKind::Switch, KeywordValue::Switch(on)) => SettingValue::Switch(on),
        (ValueKind::Texts, KeywordValue::Switch(on)) if missing.is_some() => {
            let text = missing.filter(|_| on).map(str::to_owned);
            SettingValue::Texts(text.into_iter().collect())
        }
        (ValueKind::Text, KeywordValue::Switch(true)) if missing.is_some() => {
            SettingValue::Text(missing.unwrap_or_default().to_owned())
        }
        (ValueKind::Texts, KeywordValue::Texts(texts)) => SettingValue::Texts(texts),
        (ValueKind::Texts, KeywordValue::Text(text)) => SettingValue::Texts(vec![text]),
        (ValueKind::Number | ValueKind::Text, KeywordValue::Text(text)) => SettingValue::Text(text),
        (ValueKind::Switch, _) => return refused("is a switch: write True or False"),
        (ValueKind::Texts, _) => return refused("takes a text or a list of texts"),
        _ => return refused("takes one text or number"),
    };
    Ok((setting.name, value))
}

/// Escapes each line for itself, so that the breaks between problems stay.
fn shown_lines(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(shown).collect();
    lines.join("\n")
}

/// The same text with keywords in the place of the flags it names: `--max-pages` is `max_pages`.
fn in_keywords(text: &str) -> String {
    static FLAG: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("--([a-z]+(?:-[a-z0-9]+)*)").expect("the pattern is a constant")
    });
    let replaced = FLAG.replace_all(text, |found: &regex::Captures<'_>| {
        if settings().any(|setting| setting.name == &found[1]) {
            keyword(&found[1])
        } else {
            found[0].to_owned()
        }
    });
    replaced.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> KeywordValue {
        KeywordValue::Text(value.to_owned())
    }

    fn tried(given: &[(&str, KeywordValue)]) -> Result<Config, Explanation> {
        let given = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()));
        config(vec!["http://a.test/".to_owned()], given.collect())
    }

    #[test]
    fn keywords_set_what_flags_set() {
        let all = [
            ("max_pages", text("7")),
            (
                "exclude",
                KeywordValue::Texts(vec!["x".to_owned(), "y".to_owned()]),
            ),
            ("scope", text("domain")),
            ("no_sitemaps", KeywordValue::Switch(true)),
            ("allow_private", KeywordValue::Switch(true)),
        ];
        let config = tried(&all).unwrap();
        assert_eq!(config.limits.pages, Some(7));
        assert_eq!(config.scope.exclude, ["x", "y"]);
        assert!(!config.scope.sitemaps);
        assert_eq!(
            config.output.folder, None,
            "nothing is written unless somebody says so"
        );
        let kept = tried(&[("output", text("a.crawl"))]).unwrap();
        assert_eq!(kept.output.folder, Some("a.crawl".into()));
    }

    #[test]
    fn problems_name_keywords_and_come_together() {
        let wrong = [
            ("max_pagse", text("7")),
            ("tries", text("many")),
            ("no_sitemaps", text("yes")),
            ("quiet", KeywordValue::Switch(true)),
        ];
        let told = tried(&wrong).unwrap_err();
        let lines: Vec<&str> = told.message.lines().collect();
        assert_eq!(lines.len(), 4, "{told:?}");
        assert!(lines.contains(&"max_pagse: is not a setting"), "{told:?}");
        assert!(
            lines.contains(&"no_sitemaps: is a switch: write True or False"),
            "{told:?}"
        );
        assert!(
            told.hints.contains(&"did you mean max_pages?".to_owned()),
            "{told:?}"
        );
        let told = tried(&[("scope", text("any"))]).unwrap_err();
        assert!(
            told.hints[0].starts_with("add contact you@example.com"),
            "{told:?}"
        );
    }

    #[test]
    fn settings_of_the_command_are_settings() {
        let all = || SECTIONS.iter().flat_map(|section| section.settings);
        for name in OF_THE_COMMAND.iter().chain(&OF_MESSAGES) {
            assert!(all().any(|setting| setting.name == *name), "{name}");
        }
    }
}
