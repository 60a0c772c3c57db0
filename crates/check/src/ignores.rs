//! Findings that are not wanted: the tables `[[check.ignore]]`.
//!
//! Owns which findings an entry takes, until when, and which entries took none. It refuses to know
//! the clock: today is an argument. Invariant: an entry whose day has passed takes nothing, so that
//! nobody ignores a dead link for ever by mistake.

use std::fmt;
use std::str::FromStr;

use clewline_job::escape::visible;
use clewline_warc::Moment;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::finding::CheckFinding;
use crate::settings::{CheckValueError, RulePattern, UrlPattern};

/// A day of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CalendarDay(Moment);

impl CalendarDay {
    /// The day of a moment, in UTC.
    pub fn from_moment(moment: Moment) -> Self {
        let text = moment.to_milliseconds();
        let day = Moment::parse(&text[..10]).expect("a moment begins with its day");
        Self(day)
    }
}

impl FromStr for CalendarDay {
    type Err = CheckValueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let day = Some(text).filter(|text| text.len() == "2027-01-31".len());
        let day = day.and_then(Moment::parse);
        day.map(Self)
            .ok_or_else(|| CheckValueError::Date(visible(text).into_owned()))
    }
}

impl fmt::Display for CalendarDay {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.to_milliseconds()[..10])
    }
}

impl Serialize for CalendarDay {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CalendarDay {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Text(String),
            Date(toml::value::Datetime),
        }
        let text = match Written::deserialize(deserializer) {
            Ok(Written::Text(text)) => text,
            Ok(Written::Date(date)) => date.to_string(),
            Err(_) => return Err(D::Error::custom("is no date: write 2027-01-31")),
        };
        text.parse().map_err(D::Error::custom)
    }
}

/// Findings that are not wanted: those that all of its patterns name.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(try_from = "IgnoreTable")]
pub struct IgnoreEntry {
    /// By which rules.
    pub rule: Option<RulePattern>,
    /// On which pages.
    pub page: Option<UrlPattern>,
    /// About which targets.
    pub target: Option<UrlPattern>,
    /// The last day on which it holds.
    pub until: Option<CalendarDay>,
    /// Why.
    pub reason: Option<String>,
}

/// The keys as they stand in a file.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct IgnoreTable {
    rule: Option<RulePattern>,
    page: Option<UrlPattern>,
    target: Option<UrlPattern>,
    until: Option<CalendarDay>,
    reason: Option<String>,
}

impl TryFrom<IgnoreTable> for IgnoreEntry {
    type Error = &'static str;

    fn try_from(table: IgnoreTable) -> Result<Self, Self::Error> {
        if table.rule.is_none() && table.page.is_none() && table.target.is_none() {
            return Err("would ignore everything: name a rule, a page or a target");
        }
        Ok(Self {
            rule: table.rule,
            page: table.page,
            target: table.target,
            until: table.until,
            reason: table.reason,
        })
    }
}

impl IgnoreEntry {
    fn takes(&self, finding: &CheckFinding) -> bool {
        let is_in = |pattern: &Option<UrlPattern>, text: Option<&str>| {
            pattern
                .as_ref()
                .is_none_or(|pattern| text.is_some_and(|text| pattern.is_in(text)))
        };
        let rule = self.rule.as_ref();
        rule.is_none_or(|rule| rule.names(finding.rule))
            && is_in(&self.page, Some(finding.page.as_str()))
            && is_in(&self.target, finding.target.as_deref())
    }
}

impl fmt::Display for IgnoreEntry {
    /// What tells it apart: `rule links/broken, page /old/`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("rule", self.rule.as_ref().map(RulePattern::as_str)),
            ("page", self.page.as_ref().map(UrlPattern::as_str)),
            ("target", self.target.as_ref().map(UrlPattern::as_str)),
        ];
        let parts = parts
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name} {}", visible(value?))));
        formatter.write_str(&parts.collect::<Vec<_>>().join(", "))
    }
}

/// The entries of a check, and what they took.
#[derive(Debug, Default)]
pub struct FindingIgnores {
    entries: Vec<(IgnoreEntry, u64)>,
    today: Option<CalendarDay>,
}

impl FindingIgnores {
    /// The entries as they hold today.
    pub fn new(entries: Vec<IgnoreEntry>, today: CalendarDay) -> Self {
        Self {
            entries: entries.into_iter().map(|entry| (entry, 0)).collect(),
            today: Some(today),
        }
    }

    /// Whether a finding is not wanted; the entry that says so is used then.
    pub fn take(&mut self, finding: &CheckFinding) -> bool {
        let today = self.today;
        let taking = self
            .entries
            .iter_mut()
            .find(|(entry, _)| !is_over(entry, today) && entry.takes(finding));
        if let Some((_, taken)) = taking {
            *taken += 1;
            return true;
        }
        false
    }

    /// What to tell the user: entries whose day has passed, and entries that took nothing.
    pub fn remarks(&self) -> Vec<String> {
        let remark = |(entry, taken): &(IgnoreEntry, u64)| match entry.until {
            Some(until) if is_over(entry, self.today) => Some(format!(
                "check.ignore ({entry}) ended on {until}: mend what it names, or give it another day"
            )),
            _ if *taken == 0 => Some(format!(
                "check.ignore ({entry}) matches no finding: remove it"
            )),
            _ => None,
        };
        self.entries.iter().filter_map(remark).collect()
    }
}

fn is_over(entry: &IgnoreEntry, today: Option<CalendarDay>) -> bool {
    matches!((entry.until, today), (Some(until), Some(today)) if until < today)
}
