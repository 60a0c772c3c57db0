//! Time as the crawl sees it: monotonic for decisions, wall time for records.
//!
//! Owns the two clocks of a run. Decisions only ever see the time since its start.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The clock of one run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }

    /// Time since the start.
    pub(crate) fn now(&self) -> Duration {
        self.start.elapsed()
    }

    /// An instant as time since the start.
    pub(crate) fn moment(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.start)
    }
}

/// How long the machine has slept since it was started: what the monotonic clock leaves out.
pub(crate) fn slept() -> Duration {
    #[cfg(target_os = "linux")]
    {
        use rustix::time::{ClockId, clock_gettime};
        let awake = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default();
        let since_boot = Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default();
        since_boot.saturating_sub(awake)
    }
    #[cfg(not(target_os = "linux"))]
    Duration::ZERO
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

/// Now, in UTC, as RFC 3339 with milliseconds.
pub(crate) fn timestamp() -> String {
    rfc3339(
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default(),
    )
}

/// Time since 1970 as RFC 3339 with milliseconds. Every record has one, so it is not left to
/// `format!`.
pub(crate) fn rfc3339(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let milliseconds = u64::from(since_1970.subsec_millis());
    let mut text = String::with_capacity("1970-01-01T00:00:00.000Z".len());
    for (number, width, after) in [
        (year, 4, '-'),
        (month, 2, '-'),
        (day, 2, 'T'),
        (hour, 2, ':'),
        (minute, 2, ':'),
        (second, 2, '.'),
        (milliseconds, 3, 'Z'),
    ] {
        push_number(number, width, &mut text);
        text.push(after);
    }
    text
}

/// Appends a number with zeros before it, in so many digits at the least.
fn push_number(number: u64, width: u32, text: &mut String) {
    if width > 1 || number > 9 {
        push_number(number / 10, width.saturating_sub(1), text);
    }
    text.push(char::from(b'0' + (number % 10) as u8));
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar. Years are
/// counted from March, so that the leap day is the last of its year.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
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
            (253_402_300_800, "10000-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(Duration::from_secs(seconds)), expected);
        }
    }
}
