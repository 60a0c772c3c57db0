//! Dates as pages write them, in one notation.
//!
//! Owns which notations are understood: ISO 8601 as metadata has it, the dates of mail and
//! HTTP, and English months in words. It refuses to guess which of two numbers is the month.
//! Invariant: an answer is `YYYY-MM-DD`, with `THH:MM:SS` and the zone where they were given.

use std::fmt::Write as _;

/// Longer texts are no dates.
const LONGEST: usize = 64;

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// The date in ISO 8601, if the text is one.
///
/// ```
/// use clewline_content::normalised_date;
/// let date = normalised_date("Tue, 15 Nov 1994 08:12:31 GMT");
/// assert_eq!(date.as_deref(), Some("1994-11-15T08:12:31Z"));
/// assert_eq!(normalised_date("04/05/2021"), None);
/// ```
pub fn normalised_date(text: &str) -> Option<String> {
    let text = text.trim();
    if text.len() > LONGEST || !text.is_ascii() {
        return None;
    }
    iso(text).or_else(|| worded(text))
}

fn iso(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_dashed = bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-');
    let (year, month, day, rest) = if is_dashed {
        (
            text.get(..4)?,
            text.get(5..7)?,
            text.get(8..10)?,
            text.get(10..)?,
        )
    } else {
        let is_compact = bytes.len() == 8 || bytes.get(8) == Some(&b'T');
        if !is_compact {
            return None;
        }
        (
            text.get(..4)?,
            text.get(4..6)?,
            text.get(6..8)?,
            text.get(8..)?,
        )
    };
    let date = day_text(number(year)?, number(month)?, number(day)?)?;
    if rest.is_empty() {
        return Some(date);
    }
    let time = rest.strip_prefix(['T', 't', ' '])?;
    let split = time.find(['Z', 'z', '+', '-', ' ']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(split);
    Some(date + &clock_text(clock)? + &zone_text(zone.trim())?)
}

/// `15 Nov 1994 08:12:31 GMT`, `November 15, 1994`, `Tue Nov 15 08:12:31 1994`
fn worded(text: &str) -> Option<String> {
    let (mut year, mut month, mut day) = (None, None, None);
    let (mut clock, mut zone) = (String::new(), String::new());
    for word in text.split([' ', ',']).filter(|word| !word.is_empty()) {
        if word.contains(':') {
            clock = clock_text(word)?;
        } else if let Some(found) = month_of(word) {
            month.get_or_insert(found);
        } else if let Some(value) = number(word.trim_end_matches(|c: char| c.is_alphabetic()))
            .filter(|_| word.starts_with(|c: char| c.is_ascii_digit()))
        {
            let place = if value > 31 { &mut year } else { &mut day };
            if place.replace(value).is_some() {
                return None;
            }
        } else if !clock.is_empty() && zone.is_empty() {
            zone = zone_text(word).unwrap_or_default();
        }
    }
    Some(day_text(year?, month?, day?)? + &clock + &zone)
}

fn month_of(word: &str) -> Option<u32> {
    let start = word.get(..3)?.to_ascii_lowercase();
    let index = MONTHS.iter().position(|month| *month == start)?;
    let is_word = word.trim_end_matches('.').chars().all(char::is_alphabetic);
    is_word.then_some(index as u32 + 1)
}

fn number(digits: &str) -> Option<u32> {
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| all_digits)
}

fn day_text(year: u32, month: u32, day: u32) -> Option<String> {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 => 28 + u32::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    let is_day = (1..=9999).contains(&year) && (1..=days).contains(&day);
    is_day.then(|| format!("{year:04}-{month:02}-{day:02}"))
}

/// `08:12`, `08:12:31`, `08:12:31.5`, `081231`
fn clock_text(clock: &str) -> Option<String> {
    let whole = clock.split(['.', ',']).next()?;
    let parts: Vec<u32> = if whole.contains(':') {
        whole.split(':').map(number).collect::<Option<_>>()?
    } else {
        let pairs = whole.as_bytes().chunks(2);
        let pairs = pairs.map(|pair| std::str::from_utf8(pair).ok().and_then(number));
        pairs.collect::<Option<_>>()?
    };
    let (hour, minute, second) = match parts[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let is_time = hour < 24 && minute < 60 && second <= 60;
    is_time.then(|| format!("T{hour:02}:{minute:02}:{second:02}"))
}

fn zone_text(zone: &str) -> Option<String> {
    if zone.is_empty() {
        return Some(String::new());
    }
    if ["Z", "UTC", "GMT"]
        .iter()
        .any(|it| it.eq_ignore_ascii_case(zone))
    {
        return Some("Z".to_owned());
    }
    let digits: String = zone.get(1..)?.chars().filter(|c| *c != ':').collect();
    let (hours, minutes) = match digits.len() {
        2 => (number(&digits)?, 0),
        4 => (number(digits.get(..2)?)?, number(digits.get(2..)?)?),
        _ => return None,
    };
    let is_zone = zone.starts_with(['+', '-']) && hours < 24 && minutes < 60;
    let mut text = zone.get(..1)?.to_owned();
    let _ = write!(text, "{hours:02}:{minutes:02}");
    is_zone.then_some(if text.ends_with("00:00") {
        "Z".to_owned()
    } else {
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_normalised() {
        for (text, expected) in [
            ("2021-05-04", "2021-05-04"),
            (" 20210504 ", "2021-05-04"),
            ("2021-05-04T08:12", "2021-05-04T08:12:00"),
            ("2021-05-04 08:12:31.123Z", "2021-05-04T08:12:31Z"),
            ("2021-05-04T08:12:31+0200", "2021-05-04T08:12:31+02:00"),
            ("20210504T081231-05", "2021-05-04T08:12:31-05:00"),
            ("2021-05-04T08:12:31+00:00", "2021-05-04T08:12:31Z"),
            ("Tue, 04 May 2021 08:12:31 GMT", "2021-05-04T08:12:31Z"),
            (
                "Tue, 4 May 2021 08:12:31 +0530",
                "2021-05-04T08:12:31+05:30",
            ),
            ("May 4th, 2021", "2021-05-04"),
            ("4 Sept. 2021", "2021-09-04"),
            ("Tue May  4 08:12:31 2021", "2021-05-04T08:12:31"),
            ("2020-02-29", "2020-02-29"),
        ] {
            assert_eq!(normalised_date(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "yesterday",
            "04/05/2021",
            "2021-02-29",
            "2021-13-01",
            "2021-5-4",
            "May 2021",
            "2021-05-04T25:00",
            "2021-05-04T08:12:31+99:00",
            "1 2 May 2021",
            "２０２１-05-04",
            "+021-05-04",
        ] {
            assert_eq!(normalised_date(text), None, "{text}");
        }
    }
}
