//! What is said of a link.
//!
//! Owns the six verdicts, and what an answer means for them. It refuses to know who asked and how
//! often; `blocked` and `unsure` exist so that `broken` can be trusted. Invariant: an answer that
//! speaks of the request, of the client or of the moment never makes a link broken.

mod challenge;

use clewline_core::outcome::{FailureClass, SkipReason};
use clewline_job::record::Record;
use serde::{Deserialize, Serialize};

use crate::facts::HeadFacts;
use crate::settings::{AcceptedStatus, accepted};

/// What is said of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckVerdict {
    /// It leads to an answer that is good.
    Ok,
    /// It leads to one behind redirects.
    Moved,
    /// It leads nowhere: an answer says so, or there is no such host.
    Broken,
    /// Whoever answers refuses to be checked.
    Blocked,
    /// No answer proves anything yet: a time-out, a reset, a server's fault.
    Unsure,
    /// Nobody asked: excluded, private, another scheme, or a budget ended.
    Unchecked,
}

impl CheckVerdict {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Moved => "moved",
            Self::Broken => "broken",
            Self::Blocked => "blocked",
            Self::Unsure => "unsure",
            Self::Unchecked => "unchecked",
        }
    }

    /// Whether a link with it needs nothing.
    pub const fn is_good(self) -> bool {
        matches!(self, Self::Ok | Self::Moved)
    }
}

/// What asking a URL brought, as far as a verdict needs it.
#[derive(Debug, Clone, Copy, Default)]
pub struct LinkAnswer<'a> {
    /// The status, if there was an answer.
    pub status: Option<u16>,
    /// Why there was none.
    pub failure: Option<FailureClass>,
    /// Why nobody asked.
    pub skip: Option<SkipReason>,
    /// The failure or the skip in words, as a record has them.
    pub words: &'a str,
    /// The fields of the answer, if they are known: they name those who wall off robots.
    pub head: Option<&'a HeadFacts>,
    /// The title of the page, if it is known.
    pub title: Option<&'a str>,
}

impl<'a> LinkAnswer<'a> {
    /// What a record of a crawl says.
    pub fn from_record(record: &'a Record) -> Self {
        Self {
            status: record.status,
            failure: record.failure,
            skip: record.reason,
            words: record.error.as_deref().unwrap_or_default(),
            head: None,
            title: record.title.as_deref(),
        }
    }

    /// The same, with the fields of its head.
    #[must_use]
    pub const fn with_head(mut self, head: &'a HeadFacts) -> Self {
        self.head = Some(head);
        self
    }
}

/// The verdict on one answer, before anybody asked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedAnswer {
    /// The verdict: never `moved`, which is a matter of the hops before.
    pub verdict: CheckVerdict,
    /// What was seen, as a short sentence without its full stop.
    pub evidence: String,
    /// It is unsure because something failed: where that goes on for days, the link is broken.
    pub is_failing: bool,
}

impl JudgedAnswer {
    fn new(verdict: CheckVerdict, evidence: impl Into<String>) -> Self {
        Self {
            verdict,
            evidence: evidence.into(),
            is_failing: false,
        }
    }

    fn failing(evidence: impl Into<String>) -> Self {
        Self {
            is_failing: true,
            ..Self::new(CheckVerdict::Unsure, evidence)
        }
    }
}

/// What an answer says of the link that led to it.
pub fn judge_answer(answer: &LinkAnswer<'_>, accept: &[AcceptedStatus]) -> JudgedAnswer {
    let Some(status) = answer.status else {
        return match (answer.failure, answer.skip) {
            (Some(failure), _) => judge_failure(failure, answer.words),
            (None, Some(skip)) => judge_skip(skip, answer.words),
            (None, None) => JudgedAnswer::new(CheckVerdict::Unchecked, "nobody asked"),
        };
    };
    if let Some(verdict) = accepted(accept, status) {
        let evidence = format!("{}, by the list `accept`", status_words(status));
        return JudgedAnswer::new(verdict, evidence);
    }
    if let Some(wall) = challenge::wall(answer) {
        let evidence = format!("{}: {wall}", status_words(status));
        return JudgedAnswer::new(CheckVerdict::Blocked, evidence);
    }
    // A redirect that leads back to itself has a status, and is none that ends anywhere.
    match answer.failure {
        Some(FailureClass::RedirectLoop) => judge_failure(FailureClass::RedirectLoop, answer.words),
        _ => judge_status(status, answer.head),
    }
}

/// RFC 9110 section 15, and what robots meet in the wild.
fn judge_status(status: u16, head: Option<&HeadFacts>) -> JudgedAnswer {
    let words = status_words(status);
    match status {
        200..=299 | 300 | 304 => JudgedAnswer::new(CheckVerdict::Ok, words),
        // Pay per crawl: the page is there, for others.
        402 if head.is_some_and(|head| head.field("crawler-price").is_some()) => {
            JudgedAnswer::new(CheckVerdict::Blocked, words)
        }
        401 | 403 | 407 | 429 | 451 | 999 => JudgedAnswer::new(CheckVerdict::Blocked, words),
        // These speak of the moment or of the request, and a browser sends another one.
        406 | 408 | 412 | 417 | 421 | 425 | 426 | 428 | 431 => JudgedAnswer::failing(words),
        400..=499 => JudgedAnswer::new(CheckVerdict::Broken, words),
        301 | 302 | 303 | 307 | 308 => {
            JudgedAnswer::failing(format!("{words} that leads to no page"))
        }
        _ => JudgedAnswer::failing(words),
    }
}

fn judge_failure(failure: FailureClass, words: &str) -> JudgedAnswer {
    let evidence = if words.is_empty() {
        failure.about()
    } else {
        words
    };
    let is_proof = match failure {
        FailureClass::DnsNotFound | FailureClass::RedirectLoop => true,
        FailureClass::Connect => is_refused(words),
        FailureClass::Certificate => words.contains("not for this host name"),
        _ => false,
    };
    if is_proof {
        JudgedAnswer::new(CheckVerdict::Broken, evidence)
    } else {
        JudgedAnswer::failing(evidence)
    }
}

/// A closed port says that nobody serves there; the engine names the address it tried last, when
/// every address of the host refused.
fn is_refused(words: &str) -> bool {
    words.contains("refused")
}

fn judge_skip(skip: SkipReason, words: &str) -> JudgedAnswer {
    let evidence = if words.is_empty() {
        skip.about()
    } else {
        words
    };
    match skip {
        SkipReason::Robots => JudgedAnswer::new(CheckVerdict::Blocked, skip.about()),
        SkipReason::CrawlDelay | SkipReason::RetryAfter => {
            JudgedAnswer::new(CheckVerdict::Blocked, evidence)
        }
        SkipReason::RobotsUnreachable | SkipReason::RedirectLimit | SkipReason::HostUnreachable => {
            JudgedAnswer::failing(evidence)
        }
        _ => JudgedAnswer::new(CheckVerdict::Unchecked, evidence),
    }
}

/// A status with its reason phrase: `404 Not Found`.
pub(crate) fn status_words(status: u16) -> String {
    let phrase = match status {
        200 => "OK",
        300 => "Multiple Choices",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        406 => "Not Acceptable",
        408 => "Request Timeout",
        410 => "Gone",
        429 => "Too Many Requests",
        451 => "Unavailable For Legal Reasons",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => return status.to_string(),
    };
    format!("{status} {phrase}")
}

#[cfg(test)]
mod tests;
