//! Pauses, kept from the moment that the head of a 429 or 503 is read.
//!
//! Owns how long a host is left alone by those who are about to ask it, before the frontier has
//! settled the refusal. Invariant: never for longer than the frontier will decide.

use std::time::{Duration, Instant};

use clewline_core::outcome::is_refusal_status;
use clewline_core::politeness::Politeness;
use clewline_core::retry_after;
use clewline_core::url::CrawlUrl;

use crate::clock::unix_seconds;
use crate::fetch::{Pauses, Response};

/// The pauses of a crawl, and how long they are.
#[derive(Debug)]
pub(super) struct Pausing {
    pub(super) pauses: Pauses,
    /// A pause of a host that does not say how long.
    usual: Duration,
    longest: Duration,
}

impl Pausing {
    pub(super) fn by(politeness: &Politeness) -> Self {
        Self {
            pauses: Pauses::default(),
            usual: politeness.first_park,
            longest: politeness.longest_retry_after,
        }
    }

    /// Looks at an answer whose body is still to come. If it is a refusal, nobody asks the host
    /// from now on.
    pub(super) fn heed(&self, response: &Response, url: &CrawlUrl) {
        if is_refusal_status(response.status) {
            let pause = pause_asked(response).unwrap_or(self.usual);
            let until = Instant::now() + pause.min(self.longest);
            self.pauses.note(url.host(), until);
        }
    }
}

/// What `Retry-After` says.
pub(super) fn pause_asked(response: &Response) -> Option<Duration> {
    let value = response.headers.get("retry-after")?;
    retry_after::parse(value, unix_seconds())
}
