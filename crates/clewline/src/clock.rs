//! Time as the crawl sees it: monotonic for decisions, wall time for records.
//!
//! Owns the two clocks of a run. Decisions only ever see the time since its start.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clewline_warc::Moment;

/// The clock of one run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
    /// Time that was skipped.
    ahead: Duration,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            start: Instant::now(),
            ahead: Duration::ZERO,
        }
    }

    /// Time since the start.
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed() + self.ahead
    }

    /// Lets it be this late, if it is not yet.
    pub(crate) fn skip_to(&mut self, at: Duration) {
        self.ahead += at.saturating_sub(self.now());
    }

    /// An instant as time since the start.
    pub(crate) fn moment(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.start) + self.ahead
    }
}

/// Seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}

/// Milliseconds since 1970.
pub(crate) fn unix_millis() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A period in milliseconds, to three digits behind the point.
pub(crate) fn millis(period: Duration) -> f64 {
    (period.as_secs_f64() * 1e6).round() / 1e3
}

/// Now, in UTC, as RFC 3339 with milliseconds.
pub(crate) fn timestamp() -> String {
    rfc3339(
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default(),
    )
}

/// Time since 1970 as RFC 3339 with milliseconds.
pub(crate) fn rfc3339(since_1970: Duration) -> String {
    Moment::since_1970(since_1970).to_milliseconds()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_827_696, "2000-02-29T12:34:56.000Z"),
            (4_102_444_799, "2099-12-31T23:59:59.000Z"),
            (1_709_251_200, "2024-03-01T00:00:00.000Z"),
            // The last moment that four digits of a year can write.
            (253_402_300_800, "9999-12-31T23:59:59.000Z"),
        ] {
            assert_eq!(rfc3339(Duration::from_secs(seconds)), expected);
        }
    }
}
