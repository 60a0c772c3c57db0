//! What the user wants of a check: the table `[check]` of `clewline.toml`.
//!
//! Owns its keys, their values and what is wrong with them, and which of two sources wins. It
//! refuses to know flags and where files are looked for. Invariants: a key that is not known is
//! refused, every problem names its line and key, and all problems of a file are told at once.

mod list;
mod lychee;
mod pattern;
mod place;
mod severities;
mod status;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clewline_job::escape::visible;
use serde::Deserialize;
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer};

use crate::ignores::IgnoreEntry;
use crate::rule::Severity;

pub use lychee::{LycheeRequests, LycheeSettings, lychee_ignore};
pub use pattern::{RulePattern, UrlPattern};
pub use place::{SourceFolder, UrlRemap};
pub use severities::RuleSeverities;
pub use status::{AcceptedStatus, accepted};

/// The name of the table.
const TABLE: &str = "check";

/// What `[check]` says. A list that is empty and a value that is `None` were not named.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CheckSettings {
    /// The only rules that are asked.
    #[serde(deserialize_with = "list::one_or_many")]
    pub only: Vec<RulePattern>,
    /// Rules that are not asked.
    #[serde(deserialize_with = "list::one_or_many")]
    pub skip: Vec<RulePattern>,
    /// How bad the findings of rules are.
    pub severity: BTreeMap<RulePattern, SeveritySetting>,
    /// What is said of a link by the status of its answer, over what is said otherwise.
    #[serde(deserialize_with = "list::one_or_many")]
    pub accept: Vec<AcceptedStatus>,
    /// Links that are not checked.
    #[serde(deserialize_with = "list::one_or_many")]
    pub exclude: Vec<UrlPattern>,
    /// The only links that are checked.
    #[serde(deserialize_with = "list::one_or_many")]
    pub include: Vec<UrlPattern>,
    /// Whether links to other hosts are asked for.
    pub external: Option<bool>,
    /// Of which links fragments are looked up.
    pub fragments: Option<FragmentReach>,
    /// The file that remembers what other hosts answered.
    pub cache: Option<PathBuf>,
    /// How long it is believed.
    #[serde(deserialize_with = "list::period")]
    pub max_cache_age: Option<Duration>,
    /// The findings that are known: a file, or a job folder.
    pub baseline: Option<PathBuf>,
    /// URLs that are asked for elsewhere.
    #[serde(deserialize_with = "list::one_or_many")]
    pub remap: Vec<UrlRemap>,
    /// The folders in which the files of pages lie.
    #[serde(deserialize_with = "list::one_or_many")]
    pub source: Vec<SourceFolder>,
    /// From which severity on a run fails.
    pub fail_on: Option<CheckFailOn>,
    /// A check of fewer pages has failed.
    pub min_pages: Option<u64>,
    /// Findings that are not wanted.
    pub ignore: Vec<IgnoreEntry>,
}

/// The keys of the table, in the order of the documentation.
const KEYS: [&str; 16] = [
    "only",
    "skip",
    "severity",
    "accept",
    "exclude",
    "include",
    "external",
    "fragments",
    "cache",
    "max-cache-age",
    "baseline",
    "remap",
    "source",
    "fail-on",
    "min-pages",
    "ignore",
];

/// How bad the findings of a rule are, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeveritySetting {
    /// It is not asked.
    Off,
    /// As [`Severity::Notice`].
    Notice,
    /// As [`Severity::Warning`].
    Warning,
    /// As [`Severity::Error`].
    Error,
}

impl SeveritySetting {
    /// The severity; `None` where the rule is off.
    pub const fn severity(self) -> Option<Severity> {
        match self {
            Self::Off => None,
            Self::Notice => Some(Severity::Notice),
            Self::Warning => Some(Severity::Warning),
            Self::Error => Some(Severity::Error),
        }
    }
}

/// Of which links the fragments are looked up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FragmentReach {
    /// Of those inside the site.
    Internal,
    /// Of all.
    #[default]
    All,
    /// Of none.
    None,
}

/// From which severity on a finding fails a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckFailOn {
    /// Errors fail it.
    #[default]
    Error,
    /// Warnings do, too.
    Warning,
    /// No finding does.
    Never,
}

impl CheckFailOn {
    /// Whether a finding of this severity fails a run.
    pub fn fails(self, severity: Severity) -> bool {
        match self {
            Self::Error => severity >= Severity::Error,
            Self::Warning => severity >= Severity::Warning,
            Self::Never => false,
        }
    }
}

impl FromStr for CheckFailOn {
    type Err = CheckValueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "error" => Ok(Self::Error),
            "warning" => Ok(Self::Warning),
            "never" => Ok(Self::Never),
            other => Err(CheckValueError::FailOn(visible(other).into_owned())),
        }
    }
}

/// A value that cannot be used. Each says what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CheckValueError {
    /// Not a status or a range of them.
    #[error("`{0}` names no status: write 404, 200..=299 or 403:blocked")]
    Status(String),
    /// Not the name of a rule, or a pattern of one.
    #[error("`{0}` names no rule: write links/broken, links or title/*")]
    Rule(String),
    /// Not a regular expression.
    #[error("`{0}` is no regular expression that can be used: {1}")]
    Pattern(String, String),
    /// Not a pair of URLs.
    #[error(
        "`{0}` does not say what is asked for where: write https://example.com=http://127.0.0.1:8080"
    )]
    Remap(String),
    /// Not a URL and a folder.
    #[error(
        "`{0}` does not say where the files of a site lie: write https://example.com/docs/=docs/"
    )]
    Source(String),
    /// Not a date.
    #[error("`{0}` is no date: write 2027-01-31")]
    Date(String),
    /// Not a time.
    #[error("`{0}` is no time: write 12h or 7d")]
    Period(String),
    /// Not a severity that can fail a run.
    #[error("`{0}` cannot fail a run: write error, warning or never")]
    FailOn(String),
}

/// One thing that is wrong with a file of settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckProblem {
    /// The file, the line and the key: `clewline.toml:3: check.accept`.
    pub place: String,
    /// What is wrong and what to write instead.
    pub message: String,
}

impl CheckProblem {
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for CheckProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.message)
    }
}

impl CheckSettings {
    /// Reads the table of a file; the other tables and keys are somebody else's.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, Vec<CheckProblem>> {
        let source = TomlSource { name, text };
        let document = source.parse()?;
        match document.get_ref().get(TABLE) {
            Some(value) => Self::from_value(value, &source),
            None => Ok(Self::default()),
        }
    }

    fn from_value(
        value: &Spanned<DeValue<'_>>,
        source: &TomlSource<'_>,
    ) -> Result<Self, Vec<CheckProblem>> {
        let DeValue::Table(table) = value.get_ref() else {
            let line = source.line(value.span().start);
            let place = format!("{}:{line}: {TABLE}", source.name);
            let message = "is a table: write [check] on a line of its own";
            return Err(vec![CheckProblem::new(place, message)]);
        };
        let mut problems = Vec::new();
        // Key by key, since serde ends at the first problem and the user wants all.
        for (key, value) in table {
            let mut alone = DeTable::new();
            alone.insert(key.clone(), value.clone());
            let alone = Deserializer::from(Spanned::new(value.span(), alone));
            let message = match Self::deserialize(alone) {
                Ok(_) => continue,
                Err(_) if !KEYS.contains(&key.get_ref().as_ref()) => (
                    key.span().start,
                    format!("is not a setting: the settings are {}", KEYS.join(", ")),
                ),
                Err(error) => (
                    error.span().map_or(value.span().start, |span| span.start),
                    visible(error.message()).into_owned(),
                ),
            };
            let (line, key) = (source.line(message.0), visible(key.get_ref()));
            let place = format!("{}:{line}: {TABLE}.{key}", source.name);
            problems.push(CheckProblem::new(place, message.1));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let whole = Spanned::new(value.span(), table.clone());
        Self::deserialize(Deserializer::from(whole))
            .map_err(|error| vec![CheckProblem::new(source.name, error.message())])
    }

    /// These settings, with those of a weaker source where these say nothing. Severities and
    /// ignores of both hold, and of severities the stronger source's win.
    #[must_use]
    pub fn over(self, weaker: Self) -> Self {
        fn first<T>(stronger: Vec<T>, weaker: Vec<T>) -> Vec<T> {
            if stronger.is_empty() {
                weaker
            } else {
                stronger
            }
        }
        let mut severity = weaker.severity;
        severity.extend(self.severity);
        let mut ignore = self.ignore;
        ignore.extend(weaker.ignore);
        Self {
            only: first(self.only, weaker.only),
            skip: first(self.skip, weaker.skip),
            severity,
            accept: first(self.accept, weaker.accept),
            exclude: first(self.exclude, weaker.exclude),
            include: first(self.include, weaker.include),
            external: self.external.or(weaker.external),
            fragments: self.fragments.or(weaker.fragments),
            cache: self.cache.or(weaker.cache),
            max_cache_age: self.max_cache_age.or(weaker.max_cache_age),
            baseline: self.baseline.or(weaker.baseline),
            remap: first(self.remap, weaker.remap),
            source: first(self.source, weaker.source),
            fail_on: self.fail_on.or(weaker.fail_on),
            min_pages: self.min_pages.or(weaker.min_pages),
            ignore,
        }
    }
}

/// A file of settings, by which problems are placed.
struct TomlSource<'a> {
    name: &'a str,
    text: &'a str,
}

impl<'a> TomlSource<'a> {
    fn parse(&self) -> Result<Spanned<DeTable<'a>>, Vec<CheckProblem>> {
        let (document, errors) = DeTable::parse_recoverable(self.text);
        let problems = errors.iter().map(|error| {
            let line = self.line(error.span().map_or(0, |span| span.start));
            let place = format!("{}:{line}", self.name);
            CheckProblem::new(place, visible(error.message()))
        });
        let problems: Vec<_> = problems.collect();
        if problems.is_empty() {
            Ok(document)
        } else {
            Err(problems)
        }
    }

    fn line(&self, offset: usize) -> usize {
        let before = self.text.bytes().take(offset);
        1 + before.filter(|byte| *byte == b'\n').count()
    }
}
