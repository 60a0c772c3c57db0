//! Pauses, kept from the moment that the head of a 429 or 503 is read.
//!
//! Owns how long a host is left alone by those who are about to ask it, before the frontier has
//! settled the refusal. Only a Retry-After that the frontier will obey counts here: without one,
//! or with one beyond all patience, the refusal may concern a single page. Invariant: never for
//! longer than the frontier will decide.

use std::time::{Duration, Instant, UNIX_EPOCH};

use clewline_core::outcome::is_refusal_status;
use clewline_core::politeness::Politeness;
use clewline_core::retry_after;
use clewline_core::url::CrawlUrl;

use crate::clock::unix_seconds;
use crate::fetch::{Pauses, Response};

/// The pauses of a crawl, and how long they are.
#[derive(Debug)]
pub(in crate::engine) struct Pausing {
    pub(in crate::engine) pauses: Pauses,
    /// The longest Retry-After that is obeyed.
    longest: Duration,
}

impl Pausing {
    pub(in crate::engine) fn by(politeness: &Politeness) -> Self {
        Self {
            pauses: Pauses::default(),
            longest: politeness.longest_retry_after,
        }
    }

    /// Looks at an answer whose body is still to come. If it is a refusal, nobody asks the host
    /// from now on.
    pub(super) fn heed(&self, response: &Response, url: &CrawlUrl) {
        let pause = pause_asked(response).filter(|pause| *pause <= self.longest);
        if is_refusal_status(response.status)
            && let Some(pause) = pause
        {
            self.pauses.note(url.host(), Instant::now() + pause);
        }
    }
}

/// What `Retry-After` says. A date counts from the answer's own `Date`: the clocks of the two
/// machines may differ.
pub(super) fn pause_asked(response: &Response) -> Option<Duration> {
    let value = response.headers.get("retry-after")?;
    let date = response.headers.text("date");
    let date = date.and_then(|date| httpdate::parse_http_date(&date).ok());
    let date = date.and_then(|date| date.duration_since(UNIX_EPOCH).ok());
    let now = date.map_or_else(unix_seconds, |date| date.as_secs());
    retry_after::parse(value, now)
}
