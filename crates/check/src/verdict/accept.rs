//! The list `accept`: which statuses its user judges otherwise.
//!
//! Owns the form of an entry, `200..=299` or `403:blocked`, and which entry counts. It refuses to
//! know where the list was written. Invariant: the last entry that names a status counts.

use std::ops::RangeInclusive;
use std::str::FromStr;

use thiserror::Error;

use super::LinkVerdict;

/// Statuses of HTTP, and those that servers make up: 999 is one.
const STATUSES: RangeInclusive<u16> = 100..=999;

/// What its user says of statuses: `200..=299`, `403:blocked`, `500..504:unsure`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AcceptList {
    entries: Vec<AcceptEntry>,
}

/// One entry of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AcceptEntry {
    statuses: RangeInclusive<u16>,
    verdict: LinkVerdict,
}

/// The text is no entry of the list.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AcceptError {
    /// Neither a status nor a range of them.
    #[error("accept: `{0}` is no status and no range of them, such as 200..=299")]
    Status(String),
    /// The range holds nothing.
    #[error("accept: `{0}` ends before it begins")]
    Empty(String),
    /// Behind the colon stands no verdict.
    #[error("accept: `{0}` is no verdict; write ok, broken, blocked, unsure or unchecked")]
    Verdict(String),
}

impl AcceptList {
    /// Reads the entries of a list.
    pub fn from_entries<'a>(
        entries: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, AcceptError> {
        let entries = entries.into_iter().map(str::parse);
        Ok(Self {
            entries: entries.collect::<Result<_, _>>()?,
        })
    }

    /// What the list says of a status, if it names it.
    pub fn action(&self, status: u16) -> Option<LinkVerdict> {
        let entry = self.entries.iter().rev();
        let mut named = entry.filter(|entry| entry.statuses.contains(&status));
        named.next().map(|entry| entry.verdict)
    }
}

impl FromStr for AcceptEntry {
    type Err = AcceptError;

    fn from_str(text: &str) -> Result<Self, AcceptError> {
        let (statuses, verdict) = text
            .split_once(':')
            .map_or((text, None), |(statuses, verdict)| {
                (statuses, Some(verdict.trim()))
            });
        let verdict = match verdict {
            None => LinkVerdict::Ok,
            // linkinator calls them so.
            Some("skip") => LinkVerdict::Unchecked,
            Some("warn") => LinkVerdict::Unsure,
            Some("error") => LinkVerdict::Broken,
            Some(name) => LinkVerdict::from_name(name)
                .filter(|verdict| *verdict != LinkVerdict::Moved)
                .ok_or_else(|| AcceptError::Verdict(name.to_owned()))?,
        };
        let statuses = range(statuses.trim())?;
        Ok(Self { statuses, verdict })
    }
}

/// `404`, `200..=204`, `200..300`, `500..` or `4xx`.
fn range(text: &str) -> Result<RangeInclusive<u16>, AcceptError> {
    let fault = || AcceptError::Status(text.to_owned());
    let status = |digits: &str| {
        let status = digits.parse().map_err(|_| fault())?;
        let is_status = STATUSES.contains(&status);
        is_status.then_some(status).ok_or_else(fault)
    };
    if let Some(hundreds) = text.strip_suffix("xx") {
        let first = status(&format!("{hundreds}00"))?;
        return Ok(first..=first + 99);
    }
    let Some((first, last)) = text.split_once("..") else {
        return status(text).map(|only| only..=only);
    };
    let first = match first {
        "" => *STATUSES.start(),
        digits => status(digits)?,
    };
    let last = match (last, last.strip_prefix('=')) {
        (_, Some(digits)) => status(digits)?,
        ("", None) => *STATUSES.end(),
        (digits, None) => status(digits)? - 1,
    };
    if first > last {
        return Err(AcceptError::Empty(text.to_owned()));
    }
    Ok(first..=last)
}
