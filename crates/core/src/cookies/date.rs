//! The forgiving date parser for `Expires` (RFC 6265 section 5.1.1).
//!
//! Owns that algorithm and nothing else. Invariant: an answer is a date that exists, in seconds
//! since 1970, and 0 for dates before.

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

#[derive(Default)]
struct Parts {
    time: Option<[u64; 3]>,
    day: Option<u64>,
    month: Option<u64>,
    year: Option<u64>,
}

/// Reads a date in almost any order and notation.
pub(super) fn parse(text: &str) -> Option<u64> {
    let mut parts = Parts::default();
    for token in text
        .as_bytes()
        .split(|&byte| is_delimiter(byte))
        .filter(|token| !token.is_empty())
    {
        parts.take(token);
    }
    parts.seconds()
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, 0x09 | 0x20..=0x2F | 0x3B..=0x40 | 0x5B..=0x60 | 0x7B..=0x7E)
}

impl Parts {
    /// Gives a token to the first part that is missing and that it fits.
    fn take(&mut self, token: &[u8]) {
        if self.time.is_none() {
            self.time = time(token);
            if self.time.is_some() {
                return;
            }
        }
        if self.day.is_none() {
            self.day = number(token, 1, 2);
            if self.day.is_some() {
                return;
            }
        }
        if self.month.is_none() {
            self.month = month(token);
            if self.month.is_some() {
                return;
            }
        }
        if self.year.is_none() {
            self.year = number(token, 2, 4);
        }
    }

    fn seconds(self) -> Option<u64> {
        let ([hour, minute, second], day, month) = (self.time?, self.day?, self.month?);
        let year = match self.year? {
            year @ 70..=99 => year + 1900,
            year @ 0..=69 => year + 2000,
            year => year,
        };
        let exists = (1..=days_in(month, year)).contains(&day)
            && year >= 1601
            && hour <= 23
            && minute <= 59
            && second <= 59;
        let days = days_since_1601(year, month, day);
        let since_1601 = ((days * 24 + hour) * 60 + minute) * 60 + second;
        let to_1970 = days_since_1601(1970, 1, 1) * 24 * 60 * 60;
        exists.then(|| since_1601.saturating_sub(to_1970))
    }
}

/// A number of `least` to `most` digits, behind which anything but a digit may follow.
fn number(token: &[u8], least: usize, most: usize) -> Option<u64> {
    let digits = token
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let fits = (least..=most).contains(&digits);
    let value = |digits: &[u8]| {
        digits
            .iter()
            .fold(0, |sum, d| sum * 10 + u64::from(d - b'0'))
    };
    fits.then(|| value(&token[..digits]))
}

fn time(token: &[u8]) -> Option<[u64; 3]> {
    let mut fields = token.splitn(3, |&byte| byte == b':');
    let exact = |field: &[u8]| number(field, 1, 2).filter(|_| field.iter().all(u8::is_ascii_digit));
    let (hour, minute) = (exact(fields.next()?)?, exact(fields.next()?)?);
    Some([hour, minute, number(fields.next()?, 1, 2)?])
}

fn month(token: &[u8]) -> Option<u64> {
    let name = token.get(..3)?;
    let index = MONTHS
        .iter()
        .position(|month| name.eq_ignore_ascii_case(month.as_bytes()))?;
    Some(index as u64 + 1)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in(month: u64, year: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since the first of January 1601, the earliest year the algorithm accepts.
fn days_since_1601(year: u64, month: u64, day: u64) -> u64 {
    let years = year.saturating_sub(1601);
    let leap_days = years / 4 - years / 100 + years / 400;
    let months: u64 = (1..month).map(|month| days_in(month, year)).sum();
    years * 365 + leap_days + months + day.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    const NOW: u64 = 1_700_000_000;

    #[test]
    fn dates_are_read_forgivingly() {
        let cases = [
            ("Tue, 14 Nov 2023 22:13:20 GMT", Some(NOW)),
            ("Tuesday, 14-Nov-23 22:13:20 GMT", Some(NOW)),
            ("Tue Nov 14 22:13:20 2023", Some(NOW)),
            ("2023 november 14th 22:13:20x", Some(NOW)),
            ("14 Nov 2023 22:13:20", Some(NOW)),
            ("1 Jan 1970 0:0:0", Some(0)),
            ("31 Dec 1969 23:59:59", Some(0)),
            ("1 Jan 1601 00:00:00", Some(0)),
            ("29 Feb 2000 00:00:01", Some(951_782_401)),
            ("1 Mar 2100 00:00:00", Some(4_107_542_400)),
            ("1 Jan 69 00:00:00", Some(3_124_224_000)),
            ("1 Jan 70 00:00:00", Some(0)),
            ("29 Feb 2100 00:00:00", None),
            ("31 Apr 2023 00:00:00", None),
            ("0 Jan 2023 00:00:00", None),
            ("1 Jan 1600 00:00:00", None),
            ("1 Jan 2023 24:00:00", None),
            ("1 Jan 2023 00:60:00", None),
            ("1 Jan 2023 00:00", None),
            ("1 Jan 20233 00:00:00", None),
            ("1 Smarch 2023 00:00:00", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(super::parse(text), expected, "{text:?}");
        }
    }
}
