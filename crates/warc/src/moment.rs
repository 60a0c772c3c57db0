//! Points in time, as dates of records and as the timestamps of indexes.
//!
//! Owns the two spellings, `2026-11-15T12:00:00.123456Z` and `20261115120000`, and reads both
//! at every precision the format allows. It refuses to know the clock.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const DAY: i64 = 86_400;
/// The years that four digits can write.
const YEARS: std::ops::RangeInclusive<i64> = 0..=9999;
/// Digits of a full timestamp.
const TIMESTAMP: usize = 14;

/// A point in time, in UTC, to the nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Moment {
    seconds: i64,
    nanoseconds: u32,
}

impl Moment {
    /// The moment this long after 1970 began.
    pub fn since_1970(time: Duration) -> Self {
        let last = days_of(9999, 12, 31) * DAY + DAY - 1;
        let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX).min(last);
        Self {
            seconds,
            nanoseconds: time.subsec_nanos(),
        }
    }

    /// Seconds since 1970, negative before it.
    pub const fn seconds(self) -> i64 {
        self.seconds
    }

    /// Milliseconds since 1970, negative before it.
    pub const fn milliseconds(self) -> i64 {
        self.seconds * 1000 + (self.nanoseconds / 1_000_000) as i64
    }

    /// Reads a date of a record: `2026-11-15T12:00:00Z`, with fractions, or cut after any part.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_suffix(['Z', 'z']).unwrap_or(text);
        let (text, fraction) = text.split_once('.').unwrap_or((text, ""));
        let shape = b"0000-00-00T00:00:00";
        let fits = |(&byte, &model): (&u8, &u8)| match model {
            b'0' => byte.is_ascii_digit(),
            b'T' => matches!(byte, b'T' | b't' | b' '),
            _ => byte == model,
        };
        let whole = matches!(text.len(), 4 | 7 | 10 | 13 | 16 | 19);
        if !whole || !text.as_bytes().iter().zip(shape).all(fits) {
            return None;
        }
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        let nanoseconds = fraction_of(fraction)?;
        let moment = Self::from_timestamp(&digits)?;
        Some(Self {
            nanoseconds,
            ..moment
        })
    }

    /// Reads the digits of a timestamp, from the year alone to the second; what is missing is
    /// the earliest it can be.
    pub fn from_timestamp(digits: &str) -> Option<Self> {
        let digits = digits.get(..TIMESTAMP.min(digits.len()))?;
        let shape = digits.len() >= 4 && digits.len().is_multiple_of(2);
        if !shape || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let part = |from: usize, to: usize, otherwise: i64| {
            let text = digits.get(from..to);
            text.and_then(|text| text.parse().ok()).unwrap_or(otherwise)
        };
        let (year, month, day) = (part(0, 4, 0), part(4, 6, 1), part(6, 8, 1));
        let (hour, minute, second) = (part(8, 10, 0), part(10, 12, 0), part(12, 14, 0));
        let sound = (1..=12).contains(&month)
            && (1..=days_in(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second <= 60;
        let clock = hour * 3600 + minute * 60 + second.min(59);
        sound.then(|| Self {
            seconds: days_of(year, month, day) * DAY + clock,
            nanoseconds: 0,
        })
    }

    /// The fourteen digits of an index.
    pub fn timestamp(self) -> String {
        let text = self.text();
        let digits = text[..19].iter().filter(|byte| byte.is_ascii_digit());
        digits.map(|digit| char::from(*digit)).collect()
    }

    /// As RFC 3339 has it, to the millisecond.
    pub fn to_milliseconds(self) -> String {
        let [text @ .., _, _, _, _] = self.text();
        let mut text = String::from_utf8_lossy(&text).into_owned();
        text.push('Z');
        text
    }

    /// As a record's date, to the microsecond. Digits are set by hand: each record has a date,
    /// and formatting seven numbers shows.
    pub(crate) fn text(self) -> [u8; 27] {
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        let [year, month, day, hour, minute, second] = self.parts();
        let (century, year) = (year / 100, year % 100);
        let fraction = i64::from(self.nanoseconds / 1000);
        for (place, pair) in [
            (0, century),
            (2, year),
            (5, month),
            (8, day),
            (11, hour),
            (14, minute),
            (17, second),
            (20, fraction / 10_000),
            (22, fraction / 100 % 100),
            (24, fraction % 100),
        ] {
            text[place] += (pair / 10) as u8;
            text[place + 1] += (pair % 10) as u8;
        }
        text
    }

    fn parts(self) -> [i64; 6] {
        let (days, clock) = (self.seconds.div_euclid(DAY), self.seconds.rem_euclid(DAY));
        let (year, month, day) = civil(days);
        [year, month, day, clock / 3600, clock / 60 % 60, clock % 60]
    }
}

impl From<SystemTime> for Moment {
    fn from(time: SystemTime) -> Self {
        Self::since_1970(time.duration_since(UNIX_EPOCH).unwrap_or_default())
    }
}

impl fmt::Display for Moment {
    /// As a record's date, to the microsecond.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(str::from_utf8(&self.text()).expect("digits are ASCII"))
    }
}

fn fraction_of(digits: &str) -> Option<u32> {
    let mut nanoseconds = 0;
    for index in 0..9 {
        let digit = match digits.as_bytes().get(index) {
            Some(byte) if byte.is_ascii_digit() => u32::from(byte - b'0'),
            Some(_) => return None,
            None => 0,
        };
        nanoseconds = nanoseconds * 10 + digit;
    }
    Some(nanoseconds)
}

fn days_in(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The day counted from 1970-01-01, in the Gregorian calendar. Years begin in March here, so
/// that the leap day is the last of its year.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    (year.clamp(*YEARS.start(), *YEARS.end()), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_at_every_precision() {
        for (text, timestamp) in [
            ("2026-11-15T12:34:56.123456Z", "20261115123456"),
            ("2026-11-15T12:34:56Z", "20261115123456"),
            ("2026-11-15T12:34:56", "20261115123456"),
            ("2026-11-15", "20261115000000"),
            ("2026-02", "20260201000000"),
            ("2026", "20260101000000"),
            ("2000-02-29T23:59:60Z", "20000229235959"),
            ("1899-12-31T00:00:00Z", "18991231000000"),
        ] {
            let moment = Moment::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(moment.timestamp(), timestamp);
            assert_eq!(
                Moment::from_timestamp(timestamp).unwrap().seconds(),
                moment.seconds()
            );
        }
        for text in [
            "",
            "20",
            "2026-13-01",
            "2025-02-29",
            "2026-11-15T24:00:00Z",
            "x",
            "2026-1",
        ] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        for seconds in [0, 951_782_400, 1_700_000_000, 4_102_444_799, u64::MAX] {
            let moment = Moment::since_1970(Duration::new(seconds, 123_456_000));
            assert_eq!(Moment::parse(&moment.to_string()), Some(moment), "{moment}");
        }
        let moment = Moment::since_1970(Duration::new(1_700_000_000, 5_000_000));
        assert_eq!(moment.to_string(), "2023-11-14T22:13:20.005000Z");
        assert_eq!(moment.to_milliseconds(), "2023-11-14T22:13:20.005Z");
    }
}
