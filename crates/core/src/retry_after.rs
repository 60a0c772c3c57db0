//! The value of a `Retry-After` header (RFC 9110 section 10.2.3).
//!
//! Owns the two forms of the value; refuses to know the clock (`now` is an argument) and what a
//! caller makes of the answer. Invariant: an answer is never longer than [`LONGEST`].

use std::time::{Duration, UNIX_EPOCH};

/// The longest wait that is reported, ten years: absurd values become this one.
pub const LONGEST: Duration = Duration::from_hours(10 * 365 * 24);

/// How long to wait from `now`, in seconds since 1970; none if the value is nonsense.
///
/// ```
/// use clewline_core::retry_after::parse;
/// use std::time::Duration;
///
/// assert_eq!(parse(b"120", 0), Some(Duration::from_secs(120)));
/// assert_eq!(parse(b"Thu, 01 Jan 1970 00:01:00 GMT", 50), Some(Duration::from_secs(10)));
/// ```
pub fn parse(value: &[u8], now: u64) -> Option<Duration> {
    let value = std::str::from_utf8(value.trim_ascii()).ok()?;
    let seconds = if value.bytes().all(|byte| byte.is_ascii_digit()) {
        delta_seconds(value)?
    } else {
        let date = httpdate::parse_http_date(value).ok()?;
        date.duration_since(UNIX_EPOCH)
            .ok()?
            .as_secs()
            .saturating_sub(now)
    };
    Some(Duration::from_secs(seconds).min(LONGEST))
}

/// Digits without a bound: RFC 9110 sets none, so what overflows is merely very long.
fn delta_seconds(digits: &str) -> Option<u64> {
    (!digits.is_empty()).then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000;

    fn check(value: &str, seconds: Option<u64>) {
        assert_eq!(
            parse(value.as_bytes(), NOW),
            seconds.map(Duration::from_secs),
            "{value:?}"
        );
    }

    #[test]
    fn reads_seconds() {
        check("0", Some(0));
        check(" 120\t", Some(120));
        check("00090", Some(90));
        check("99999999999", Some(LONGEST.as_secs()));
        check("99999999999999999999999999999999", Some(LONGEST.as_secs()));
    }

    #[test]
    fn reads_dates_in_all_three_forms() {
        check("Tue, 14 Nov 2023 22:13:30 GMT", Some(10));
        check("Tuesday, 14-Nov-23 22:13:30 GMT", Some(10));
        check("Tue Nov 14 22:13:30 2023", Some(10));
        check("Tue, 14 Nov 2023 22:13:19 GMT", Some(0));
        check("Fri, 31 Dec 9999 23:59:59 GMT", Some(LONGEST.as_secs()));
    }

    #[test]
    fn refuses_nonsense() {
        for value in [
            "",
            " ",
            "-1",
            "+5",
            "1.5",
            "1e3",
            "soon",
            "12 34",
            "Tue, 99 Nov 2023",
        ] {
            check(value, None);
        }
        assert_eq!(parse(b"\xFF12", NOW), None);
    }
}
