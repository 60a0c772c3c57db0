//! Times, sizes and rates as people write them.
//!
//! Owns the notation in both directions: what is shown can be read again. It refuses to know
//! which setting a text belongs to and what range is sensible there.

use std::fmt::Write as _;
use std::time::Duration;

const KIB: u64 = 1024;
/// Longer texts are no quantity; keeps the parsers away from pasted files.
const LONGEST: usize = 40;

/// `500ms`, `2s`, `1m30s`, `1h`, `2d`; a plain number is seconds.
pub(crate) fn period(text: &str) -> Option<Duration> {
    let text = text.trim();
    if text.is_empty() || text.len() > LONGEST {
        return None;
    }
    if let Some(seconds) = decimal(text) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    let mut last_unit = f64::INFINITY;
    while !rest.is_empty() {
        let (number, unit, after) = split_term(rest)?;
        // Units fall from term to term, so that `1s1h` and `5m5m` are refused as slips.
        if unit >= last_unit {
            return None;
        }
        last_unit = unit;
        total = total.checked_add(Duration::try_from_secs_f64(number * unit).ok()?)?;
        rest = after.trim_start();
    }
    Some(total)
}

/// Takes `1m` from the front of `1m30s`.
fn split_term(text: &str) -> Option<(f64, f64, &str)> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let number = decimal(&text[..digits])?;
    let rest = text[digits..].trim_start();
    let letters = rest
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(rest.len());
    let unit = match &rest[..letters] {
        "ms" => 0.001,
        "s" | "sec" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    Some((number, unit, &rest[letters..]))
}

/// Digits with at most one point; `f64`'s own parser also takes `inf`, `1e5` and signs.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    (plain && text.starts_with(|c: char| c.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// `32M`, `1G`, `512k`, `1.5GiB`; a plain number is bytes. Units are powers of 1,024.
pub(crate) fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    if text.len() > LONGEST {
        return None;
    }
    if let Ok(bytes) = text.replace('_', "").parse::<u64>() {
        return text
            .starts_with(|c: char| c.is_ascii_digit())
            .then_some(bytes);
    }
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let number = decimal(&text[..end])?;
    let unit = match text[end..].trim_start().to_ascii_lowercase().as_str() {
        "b" => 1,
        "k" | "kb" | "kib" => KIB,
        "m" | "mb" | "mib" => KIB.pow(2),
        "g" | "gb" | "gib" => KIB.pow(3),
        "t" | "tb" | "tib" => KIB.pow(4),
        _ => return None,
    };
    let bytes = number * unit as f64;
    (bytes < u64::MAX as f64).then_some(bytes as u64)
}

/// `5/s`, `30/m`, `100/h`; a plain number is per second. The answer is per second.
pub(crate) fn rate(text: &str) -> Option<f64> {
    let text = text.trim();
    if text.len() > LONGEST {
        return None;
    }
    let (number, unit) = text.split_once('/').unwrap_or((text, "s"));
    let seconds = match unit.trim() {
        "s" | "sec" | "second" => 1.0,
        "m" | "min" | "minute" => 60.0,
        "h" | "hour" => 3600.0,
        "d" | "day" => 86_400.0,
        _ => return None,
    };
    decimal(number.trim()).map(|number| number / seconds)
}

/// A whole number; `1_000` and `1,000` are read as people mean them.
pub(crate) fn count(text: &str) -> Option<u64> {
    let text = text.trim();
    let grouped = text.starts_with(|c: char| c.is_ascii_digit()) && text.len() <= LONGEST;
    grouped
        .then(|| text.replace(['_', ','], "").parse().ok())
        .flatten()
}

/// A time in the notation of [`period`].
pub(crate) fn show_period(period: Duration) -> String {
    let (seconds, millis) = (period.as_secs(), period.subsec_millis());
    if seconds == 0 {
        return format!("{millis}ms");
    }
    let parts = [
        (seconds / 86_400, "d"),
        (seconds / 3600 % 24, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
        (u64::from(millis), "ms"),
    ];
    let mut text = String::new();
    for (number, unit) in parts {
        if number > 0 {
            let _ = write!(text, "{number}{unit}");
        }
    }
    text
}

/// A size in the notation of [`size`], exactly.
pub(crate) fn show_size(bytes: u64) -> String {
    let units = [
        (KIB.pow(4), "T"),
        (KIB.pow(3), "G"),
        (KIB.pow(2), "M"),
        (KIB, "k"),
    ];
    units
        .iter()
        .find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit))
        .map_or_else(
            || bytes.to_string(),
            |(unit, name)| format!("{}{name}", bytes / unit),
        )
}

/// A rate in the notation of [`rate`], by the unit that gives a short number.
pub(crate) fn show_rate(per_second: f64) -> String {
    let units = [(1.0, "s"), (60.0, "m"), (3600.0, "h"), (86_400.0, "d")];
    let whole = |number: f64| (number - number.round()).abs() < 1e-9 && number >= 1.0;
    units
        .iter()
        .map(|(seconds, name)| (per_second * seconds, name))
        .find(|(number, _)| whole(*number))
        .map_or_else(
            || format!("{per_second}/s"),
            |(number, name)| format!("{}/{name}", number.round()),
        )
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use super::*;

    fn check<T: PartialEq + Debug>(parse: fn(&str) -> Option<T>, cases: &[(&str, Option<T>)]) {
        for (text, expected) in cases {
            assert_eq!(&parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn periods() {
        let millis = |number| Some(Duration::from_millis(number));
        check(
            period,
            &[
                ("500ms", millis(500)),
                ("2s", millis(2000)),
                ("1m30s", millis(90_000)),
                (" 1h 5m ", millis(3_900_000)),
                ("1d", millis(86_400_000)),
                ("0.5", millis(500)),
                ("10", millis(10_000)),
                ("1.5s", millis(1500)),
                ("0", millis(0)),
                ("", None),
                ("-1", None),
                ("1x", None),
                ("s", None),
                ("1s1h", None),
                ("5m5m", None),
                ("1.2.3s", None),
                ("inf", None),
                ("1e9", None),
                (".5", None),
                ("99999999999999999999999d", None),
                ("1s garbage", None),
            ],
        );
    }

    #[test]
    fn sizes() {
        check(
            size,
            &[
                ("512k", Some(524_288)),
                ("32M", Some(33_554_432)),
                ("1G", Some(1_073_741_824)),
                ("1.5 GiB", Some(1_610_612_736)),
                ("1000", Some(1000)),
                ("1_000_000", Some(1_000_000)),
                ("0", Some(0)),
                ("12b", Some(12)),
                ("", None),
                ("M", None),
                ("+5", None),
                ("1X", None),
                ("99999999999999999999T", None),
            ],
        );
    }

    #[test]
    fn rates_and_counts() {
        check(
            rate,
            &[
                ("5/s", Some(5.0)),
                ("30/m", Some(0.5)),
                ("2.5", Some(2.5)),
                ("36 / h", Some(0.01)),
                ("0", Some(0.0)),
                ("/s", None),
                ("5/w", None),
                ("-5/s", None),
            ],
        );
        check(
            count,
            &[
                ("10", Some(10)),
                ("1,000", Some(1000)),
                ("1_000", Some(1000)),
                ("1.5", None),
                ("-1", None),
                ("ten", None),
                ("", None),
                ("99999999999999999999", None),
            ],
        );
    }

    #[test]
    fn shown_values_read_back() {
        for millis in [0, 1, 500, 1500, 90_000, 3_600_000, 90_061_001] {
            let value = Duration::from_millis(millis);
            assert_eq!(period(&show_period(value)), Some(value), "{millis}");
        }
        for bytes in [0, 1, 1000, 1024, 33_554_432, u64::MAX, 1 << 40] {
            assert_eq!(size(&show_size(bytes)), Some(bytes), "{bytes}");
        }
        for per_second in [5.0, 0.5, 2.5, 0.01, 1.0 / 60.0] {
            let again = rate(&show_rate(per_second)).unwrap();
            assert!((again - per_second).abs() < 1e-9, "{per_second}");
        }
    }
}
