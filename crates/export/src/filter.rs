//! Which URLs are exported.
//!
//! Owns the small language of `--where`: a field, an operator, a value. A filter is checked when
//! it is read; judging a record cannot fail. Invariant: what a record does not have equals
//! nothing, so only `!=` and `!~` let it through.

use clewline_job::record::{OutcomeKind, Record};
use clewline_warc::Moment;
use regex::Regex;
use thiserror::Error;

/// Why a filter cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FilterError {
    /// There is no operator in it.
    #[error("{0} has no operator; write FIELD=VALUE, or !=, <, <=, >, >=, ~, !~ in place of =")]
    NoOperator(String),
    /// The field does not exist.
    #[error(
        "there is no field {0}; there are status, depth, host, type, url, outcome, fetched, since, after and before"
    )]
    NoField(String),
    /// The field cannot be compared so.
    #[error("{field} cannot be compared with {operator}")]
    NoSuchComparison {
        /// The field.
        field: &'static str,
        /// The operator.
        operator: &'static str,
    },
    /// The value is none of this field.
    #[error("{value} is no value of {field}: {expected}")]
    NoValue {
        /// The field.
        field: &'static str,
        /// The value.
        value: String,
        /// What it could be.
        expected: &'static str,
    },
    /// A pattern is no regular expression.
    #[error("{pattern} is no regular expression: {reason}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong.
        reason: String,
    },
}

/// A condition on a record.
///
/// ```
/// use clewline_export::Filter;
/// for written in ["status=200", "depth<3", "host!=example.com", "type~^text/", "since=2026-11"] {
///     Filter::parse(written)?;
/// }
/// assert!(Filter::parse("status=often").is_err());
/// # Ok::<(), clewline_export::FilterError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Filter {
    field: Field,
    test: Test,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Status,
    Depth,
    Host,
    Type,
    Url,
    Outcome,
    Fetched,
}

/// Names of fields; those that end the table are comparisons of their own.
const FIELDS: [(&str, Field); 7] = [
    ("status", Field::Status),
    ("depth", Field::Depth),
    ("host", Field::Host),
    ("type", Field::Type),
    ("url", Field::Url),
    ("outcome", Field::Outcome),
    ("fetched", Field::Fetched),
];
/// Words for comparisons with the time of fetching.
const TIMES: [(&str, Comparison); 3] = [
    ("since", Comparison::AtLeast),
    ("after", Comparison::Greater),
    ("before", Comparison::Less),
];
/// Operators; one that begins with another stands before it.
const OPERATORS: [(&str, Operator); 8] = [
    ("!=", Operator::Compare(Comparison::NotEqual)),
    ("<=", Operator::Compare(Comparison::AtMost)),
    (">=", Operator::Compare(Comparison::AtLeast)),
    ("!~", Operator::MatchNot),
    ("=", Operator::Compare(Comparison::Equal)),
    ("<", Operator::Compare(Comparison::Less)),
    (">", Operator::Compare(Comparison::Greater)),
    ("~", Operator::Match),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Compare(Comparison),
    Match,
    MatchNot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    AtMost,
    Greater,
    AtLeast,
}

#[derive(Debug, Clone)]
enum Test {
    Number(Comparison, u64),
    Time(Comparison, Moment),
    Text { value: String, is_wanted: bool },
    Pattern { pattern: Regex, is_wanted: bool },
}

impl Filter {
    /// Reads a filter such as `status=200`.
    pub fn parse(written: &str) -> Result<Self, FilterError> {
        let (name, sign, operator, value) = split(written)?;
        let when = TIMES.iter().find(|(word, _)| *word == name);
        if let Some(&(word, comparison)) = when {
            if operator != Operator::Compare(Comparison::Equal) {
                return Err(FilterError::NoSuchComparison {
                    field: word,
                    operator: sign,
                });
            }
            let test = Test::Time(comparison, moment(word, value)?);
            let field = Field::Fetched;
            return Ok(Self { field, test });
        }
        let found = FIELDS.iter().find(|(word, _)| *word == name);
        let &(name, field) = found.ok_or_else(|| FilterError::NoField(name.to_owned()))?;
        let test = match operator {
            Operator::Match | Operator::MatchNot => Test::Pattern {
                pattern: pattern(value)?,
                is_wanted: operator == Operator::Match,
            },
            Operator::Compare(comparison) => match field {
                Field::Status | Field::Depth => Test::Number(comparison, number(name, value)?),
                Field::Fetched => Test::Time(comparison, moment(name, value)?),
                _ => Test::Text {
                    is_wanted: equality(comparison, name, sign)?,
                    value: word(field, name, value)?,
                },
            },
        };
        Ok(Self { field, test })
    }

    /// Whether a record fits.
    pub fn matches(&self, record: &Record) -> bool {
        match &self.test {
            Test::Number(comparison, wanted) => {
                let number = match self.field {
                    Field::Status => record.status.map(u64::from),
                    _ => Some(u64::from(record.depth)),
                };
                comparison.holds(number.as_ref(), wanted)
            }
            Test::Time(comparison, wanted) => {
                comparison.holds(Moment::parse(&record.fetched_at).as_ref(), wanted)
            }
            Test::Text { value, is_wanted } => {
                let text = self.field.text(record);
                let is_equal = text.is_some_and(|text| self.field.is_equal(&text, value));
                is_equal == *is_wanted
            }
            Test::Pattern { pattern, is_wanted } => {
                let text = self.field.text(record);
                text.is_some_and(|text| pattern.is_match(&text)) == *is_wanted
            }
        }
    }
}

impl Comparison {
    fn holds<T: Ord>(self, value: Option<&T>, wanted: &T) -> bool {
        let Some(value) = value else {
            return self == Self::NotEqual;
        };
        match self {
            Self::Equal => value == wanted,
            Self::NotEqual => value != wanted,
            Self::Less => value < wanted,
            Self::AtMost => value <= wanted,
            Self::Greater => value > wanted,
            Self::AtLeast => value >= wanted,
        }
    }
}

impl Field {
    fn text(self, record: &Record) -> Option<String> {
        Some(match self {
            Self::Status => record.status?.to_string(),
            Self::Depth => record.depth.to_string(),
            Self::Host => record.url.host().to_owned(),
            Self::Type => record.content_type.clone()?,
            Self::Url => record.url.as_str().to_owned(),
            Self::Outcome => outcome_name(record.outcome).to_owned(),
            Self::Fetched => record.fetched_at.clone(),
        })
    }

    /// A type may be named by its second half.
    fn is_equal(self, text: &str, wanted: &str) -> bool {
        let half = text.split_once('/').map(|(_, half)| half);
        text == wanted || (self == Self::Type && half == Some(wanted))
    }
}

/// The name that a record has for an outcome.
pub(crate) const fn outcome_name(outcome: OutcomeKind) -> &'static str {
    match outcome {
        OutcomeKind::Fetched => "fetched",
        OutcomeKind::Redirected => "redirected",
        OutcomeKind::Unmodified => "unmodified",
        OutcomeKind::Skipped => "skipped",
        OutcomeKind::Failed => "failed",
    }
}

/// Field, operator as written and as meant, value.
fn split(text: &str) -> Result<(&str, &'static str, Operator, &str), FilterError> {
    let none = || FilterError::NoOperator(text.to_owned());
    let at = text.find(['=', '!', '<', '>', '~']).ok_or_else(none)?;
    let (name, rest) = text.split_at(at);
    let found = OPERATORS
        .iter()
        .find_map(|(sign, operator)| Some((*sign, *operator, rest.strip_prefix(sign)?)));
    let (sign, operator, value) = found.ok_or_else(none)?;
    Ok((name.trim(), sign, operator, value.trim()))
}

fn equality(
    comparison: Comparison,
    field: &'static str,
    operator: &'static str,
) -> Result<bool, FilterError> {
    match comparison {
        Comparison::Equal => Ok(true),
        Comparison::NotEqual => Ok(false),
        _ => Err(FilterError::NoSuchComparison { field, operator }),
    }
}

fn number(field: &'static str, value: &str) -> Result<u64, FilterError> {
    let expected = "a number such as 200";
    value.parse().map_err(|_| no_value(field, value, expected))
}

fn moment(field: &'static str, value: &str) -> Result<Moment, FilterError> {
    let expected = "a date such as 2026-11-15, 2026-11 or 2026-11-15T12:00:00Z";
    Moment::parse(value).ok_or_else(|| no_value(field, value, expected))
}

fn pattern(value: &str) -> Result<Regex, FilterError> {
    Regex::new(value).map_err(|error| FilterError::Pattern {
        pattern: value.to_owned(),
        reason: error.to_string(),
    })
}

fn word(field: Field, name: &'static str, value: &str) -> Result<String, FilterError> {
    let outcomes = [
        OutcomeKind::Fetched,
        OutcomeKind::Redirected,
        OutcomeKind::Unmodified,
        OutcomeKind::Skipped,
        OutcomeKind::Failed,
    ];
    let is_outcome = |value: &str| outcomes.iter().any(|one| outcome_name(*one) == value);
    if field == Field::Outcome && !is_outcome(value) {
        let expected = "fetched, redirected, unmodified, skipped or failed";
        return Err(no_value(name, value, expected));
    }
    Ok(match field {
        Field::Host | Field::Type => value.to_ascii_lowercase(),
        _ => value.to_owned(),
    })
}

fn no_value(field: &'static str, value: &str, expected: &'static str) -> FilterError {
    FilterError::NoValue {
        field,
        value: value.to_owned(),
        expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::urls::samples::record;

    #[test]
    fn filters_judge_records() {
        let mut page = record("https://www.a.test/docs/x.html");
        page.status = Some(200);
        page.depth = 2;
        page.content_type = Some("text/html".to_owned());
        page.fetched_at = "2026-11-15T12:00:00.500Z".to_owned();
        let mut skipped = record("https://b.test/");
        skipped.outcome = OutcomeKind::Skipped;
        for (written, of_page, of_skipped) in [
            ("status=200", true, false),
            ("status!=200", false, true),
            ("status<300", true, false),
            ("status>=400", false, false),
            ("status~^2", true, false),
            ("status!~^2", false, true),
            ("depth<=2", true, true),
            ("depth > 1", true, false),
            ("host=WWW.a.test", true, false),
            ("host~a\\.test$", true, false),
            ("type=html", true, false),
            ("type=text/html", true, false),
            ("type!=text/html", false, true),
            ("url~/docs/", true, false),
            ("url=https://b.test/", false, true),
            ("outcome=skipped", false, true),
            ("since=2026-11-15", true, true),
            ("after=2026-11-15T12:00:00Z", true, true),
            ("before=2026-11-15", false, false),
            ("fetched<2027", true, true),
        ] {
            let filter = Filter::parse(written).unwrap();
            assert_eq!(filter.matches(&page), of_page, "{written}");
            assert_eq!(filter.matches(&skipped), of_skipped, "{written}");
        }
    }

    #[test]
    fn what_is_no_filter_is_refused() {
        for (written, expected) in [
            ("status", "has no operator"),
            ("status!200", "has no operator"),
            ("colour=red", "no field colour"),
            ("status=often", "a number"),
            ("host<a", "cannot be compared with <"),
            ("since>2026", "cannot be compared with >"),
            ("since=yesterday", "a date"),
            ("outcome=lost", "fetched, redirected"),
            ("url~(", "regular expression"),
        ] {
            let error = Filter::parse(written).unwrap_err().to_string();
            assert!(error.contains(expected), "{written}: {error}");
        }
    }
}
