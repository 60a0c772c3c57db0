//! Statuses that the user judges.
//!
//! Owns the notation (`404`, `200..=299`, `403:blocked`) and which of several entries decides. It
//! refuses to know how answers are judged otherwise.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use clewline_job::escape::visible;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

use super::CheckValueError;
use crate::verdict::CheckVerdict;

/// The statuses that HTTP can write.
const ALL: RangeInclusive<u16> = 100..=999;

/// What is said of a link whose answer has one of these statuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AcceptedStatus {
    /// The statuses.
    pub range: RangeInclusive<u16>,
    /// What is said.
    pub verdict: CheckVerdict,
}

/// What entries say of a status: the last one that names it decides.
pub fn accepted(entries: &[AcceptedStatus], status: u16) -> Option<CheckVerdict> {
    let mut entries = entries.iter().rev();
    let entry = entries.find(|entry| entry.range.contains(&status))?;
    Some(entry.verdict)
}

impl FromStr for AcceptedStatus {
    type Err = CheckValueError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || CheckValueError::Status(visible(text).into_owned());
        let (range, verdict) = match text.trim().split_once(':') {
            Some((range, word)) => (range, verdict(word.trim()).ok_or_else(wrong)?),
            None => (text.trim(), CheckVerdict::Ok),
        };
        let range = statuses(range.trim()).ok_or_else(wrong)?;
        Ok(Self { range, verdict })
    }
}

/// Our words, and those that users of linkinator know.
fn verdict(word: &str) -> Option<CheckVerdict> {
    Some(match word {
        "ok" => CheckVerdict::Ok,
        "blocked" => CheckVerdict::Blocked,
        "unsure" | "warn" => CheckVerdict::Unsure,
        "broken" | "error" => CheckVerdict::Broken,
        "unchecked" | "skip" => CheckVerdict::Unchecked,
        _ => return None,
    })
}

/// `404`, `200..=299`, `..=299`, `200..300`: the notation of lychee, which is Rust's.
fn statuses(text: &str) -> Option<RangeInclusive<u16>> {
    let status = |text: &str, otherwise: u16| match text {
        "" => Some(otherwise),
        text => text.parse().ok().filter(|status| ALL.contains(status)),
    };
    let (first, last) = match text.split_once("..") {
        None => {
            let one = text.parse().ok().filter(|status| ALL.contains(status))?;
            (one, one)
        }
        Some((first, last)) => {
            let first = status(first, *ALL.start())?;
            match last.strip_prefix('=') {
                Some("") => return None,
                Some(last) => (first, status(last, *ALL.end())?),
                None if last.is_empty() => (first, *ALL.end()),
                None => (first, status(last, *ALL.end())?.checked_sub(1)?),
            }
        }
    };
    (first <= last).then_some(first..=last)
}

impl<'de> Deserialize<'de> for AcceptedStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Written)
    }
}

struct Written;

impl Visitor<'_> for Written {
    type Value = AcceptedStatus;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("404, \"200..=299\" or \"403:blocked\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<AcceptedStatus, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<AcceptedStatus, E> {
        self.visit_str(&number.to_string())
    }
}
