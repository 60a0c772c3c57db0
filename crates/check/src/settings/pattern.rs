//! Patterns that name rules and URLs.
//!
//! Owns how a rule is named in settings (by its id, its category, or with `*`), and the regular
//! expressions of URLs, which are those of `--exclude`. It refuses to know which rules there are.

use std::fmt;
use std::str::FromStr;

use clewline_job::escape::visible;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use super::CheckValueError;
use crate::rule::CheckRule;

/// Memory that one compiled pattern may take.
const PATTERN_BYTES: usize = 4 * 1024 * 1024;
/// The longest name of a rule, with its stars.
const LONGEST_NAME: usize = 100;

/// Names one rule, a category or some: `links/broken`, `links`, `title/*`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct RulePattern(String);

impl RulePattern {
    /// Whether it names a rule.
    pub fn names(&self, rule: &CheckRule) -> bool {
        if self.0.contains(['/', '*']) {
            is_alike(self.0.as_bytes(), rule.id.as_bytes())
        } else {
            self.0 == rule.category()
        }
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// How exactly it names rules: a whole id more than anything with a star, and more letters
    /// more than fewer.
    pub(super) fn exactness(&self) -> (bool, usize) {
        let is_whole = self.0.contains('/') && !self.0.contains('*');
        (
            is_whole,
            self.0.bytes().filter(|byte| *byte != b'*').count(),
        )
    }
}

impl FromStr for RulePattern {
    type Err = CheckValueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-/*".contains(c);
        if text.is_empty() || text.len() > LONGEST_NAME || !text.chars().all(is_letter) {
            return Err(CheckValueError::Rule(visible(text).into_owned()));
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for RulePattern {
    type Error = CheckValueError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// Whether a name is what a pattern with stars says. Each star is tried once at most for each
/// letter, so the time is the product of both lengths.
fn is_alike(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut seen) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while seen < name.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, seen));
            at += 1;
        } else if pattern.get(at) == Some(&name[seen]) {
            at += 1;
            seen += 1;
        } else if let Some((place, taken)) = star {
            star = Some((place, taken + 1));
            at = place + 1;
            seen = taken + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

/// A regular expression that is looked for in a whole URL.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub struct UrlPattern(Regex);

impl UrlPattern {
    /// Whether it is found in a URL.
    pub fn is_in(&self, url: &str) -> bool {
        self.0.is_match(url)
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl FromStr for UrlPattern {
    type Err = CheckValueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        compiled(text).map(Self)
    }
}

/// A regular expression within its bounds.
pub(super) fn compiled(text: &str) -> Result<Regex, CheckValueError> {
    let wrong = |error: regex::Error| {
        // The whole message draws the pattern on several lines; its last line says what is wrong.
        let why = error.to_string();
        let why = why.lines().last().unwrap_or_default();
        let why = why.trim_start_matches("error: ");
        CheckValueError::Pattern(visible(text).into_owned(), visible(why).into_owned())
    };
    RegexBuilder::new(text)
        .size_limit(PATTERN_BYTES)
        .build()
        .map_err(wrong)
}

impl TryFrom<String> for UrlPattern {
    type Error = CheckValueError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl PartialEq for UrlPattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for UrlPattern {}

impl fmt::Display for UrlPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
