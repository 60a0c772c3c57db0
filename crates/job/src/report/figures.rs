//! Figures as people read them.
//!
//! Owns the one way in which numbers, bytes, times and rates are written in every report.

use super::tally::{Guesses, Tally};

/// `10138` as `10,138`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Bytes in powers of 1,000, three significant digits.
pub fn bytes(number: u64) -> String {
    let mut value = number as f64;
    for unit in ["B", "kB", "MB", "GB", "TB"] {
        // 999.95 would round to a four-digit number of this unit.
        if value < 999.5 {
            let is_whole = unit == "B" || value >= 99.95;
            return format!("{value:.*} {unit}", usize::from(!is_whole));
        }
        value /= 1000.0;
    }
    format!("{value:.1} PB")
}

/// How many URLs were guessed from scripts, and how many of them were there.
pub(super) fn guesses(guesses: Guesses) -> String {
    let tried = plural(guesses.tried, "URL");
    let existed = count(guesses.existed);
    format!("{tried} from scripts tried, {existed} of them existed")
}

/// How many pages a browser rendered and what that brought, or how many look empty without one.
pub(super) fn rendering(tally: &Tally) -> Option<String> {
    let rendered = tally.rendered;
    if rendered.done == 0 {
        return empty_pages(tally.shells);
    }
    let pages = plural(rendered.done, "page");
    let links = plural(rendered.new_links, "link");
    let counted = [
        (rendered.failed, "failed"),
        (rendered.incomplete, "incomplete"),
    ];
    let troubles = counted.into_iter().filter(|(number, _)| *number > 0);
    let troubles = troubles.map(|(number, what)| format!(", {} {what}", count(number)));
    let troubles: String = troubles.collect();
    Some(format!("{pages} rendered, {links} found by that{troubles}"))
}

/// How many pages look empty without a browser, if any do.
pub fn empty_pages(shells: u64) -> Option<String> {
    let (pages, look) = match shells {
        0 => return None,
        1 => ("1 page".to_owned(), "looks"),
        many => (plural(many, "page"), "look"),
    };
    Some(format!(
        "{pages} {look} empty without JavaScript: try --render"
    ))
}

/// `12.3 s`, `4 min 05 s`, `3 h 12 min`.
pub fn seconds(seconds: f64) -> String {
    if seconds < 9.995 {
        return format!("{seconds:.2} s");
    }
    if seconds < 99.95 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    if whole < 3600 {
        format!("{} min {:02} s", whole / 60, whole % 60)
    } else {
        format!("{} h {:02} min", whole / 3600, whole % 3600 / 60)
    }
}

/// `824`, `8.2`, `0.08`.
pub(super) fn rate(per_second: f64) -> String {
    if per_second >= 99.95 {
        count(per_second.round() as u64)
    } else if per_second >= 0.995 {
        format!("{per_second:.1}")
    } else {
        format!("{per_second:.2}")
    }
}

/// `0.42 ms`, `4.2 ms`, `420 ms`, `4.2 s`.
pub fn millis(millis: f64) -> String {
    if millis >= 9999.5 {
        format!("{:.1} s", millis / 1000.0)
    } else {
        format!("{} ms", rate(millis))
    }
}

/// A rate beside a gridline, which is a round number.
pub fn rate_tick(per_second: f64) -> String {
    if per_second >= 1000.0 {
        count(per_second.round() as u64)
    } else {
        format!("{}", (per_second * 1000.0).round() / 1000.0)
    }
}

/// A time beside a gridline, which is a round number of milliseconds.
pub fn millis_tick(millis: f64) -> String {
    if millis >= 1000.0 {
        format!("{} s", rate_tick(millis / 1000.0))
    } else {
        format!("{} ms", rate_tick(millis))
    }
}

/// A moment on an axis whose ticks are `step` seconds apart.
pub(crate) fn moment(seconds: f64, step: f64) -> String {
    let (unit, length) = match step {
        ..15.0 => ("s", 1.0),
        ..60.0 if seconds < 120.0 => ("s", 1.0),
        ..3600.0 => ("min", 60.0),
        ..86_400.0 => ("h", 3600.0),
        _ => ("d", 86_400.0),
    };
    if seconds <= 0.0 {
        return "0".to_owned();
    }
    format!("{} {unit}", rate_tick(seconds / length))
}

/// A moment in RFC 3339 with a space and `UTC`, as people read it.
pub fn instant(text: &str) -> String {
    match text.split_once('T') {
        Some((date, time)) => {
            let time = time.strip_suffix('Z').map(|time| format!("{time} UTC"));
            time.map_or_else(|| text.to_owned(), |time| format!("{date} {time}"))
        }
        None => text.to_owned(),
    }
}

/// A share of a whole in percent; what is there is never shown as nothing.
pub fn share(part: u64, whole: u64) -> String {
    let percent = 100.0 * part as f64 / whole.max(1) as f64;
    if part > 0 && percent < 0.1 {
        "< 0.1 %".to_owned()
    } else {
        format!("{percent:.1} %")
    }
}

/// `1 page`, `2 pages`.
pub fn plural(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", count(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_well() {
        for (shown, expected) in [
            (count(0), "0"),
            (count(999), "999"),
            (count(1_234_567), "1,234,567"),
            (bytes(999), "999 B"),
            (bytes(1_000), "1.0 kB"),
            (bytes(999_499), "999 kB"),
            (bytes(999_999), "1.0 MB"),
            (bytes(12_345_678), "12.3 MB"),
            (bytes(u64::MAX), "18446.7 PB"),
            (seconds(0.0), "0.00 s"),
            (seconds(12.34), "12.3 s"),
            (seconds(245.4), "4 min 05 s"),
            (seconds(11_520.0), "3 h 12 min"),
            (rate(824.2), "824"),
            (rate(8.24), "8.2"),
            (rate(0.083), "0.08"),
            (millis(0.42), "0.42 ms"),
            (millis(12_345.0), "12.3 s"),
            (moment(0.0, 5.0), "0"),
            (moment(7.5, 2.5), "7.5 s"),
            (moment(90.0, 30.0), "90 s"),
            (moment(120.0, 30.0), "2 min"),
            (moment(5400.0, 1800.0), "90 min"),
            (moment(86_400.0, 21_600.0), "24 h"),
            (instant("2026-11-15T10:00:00Z"), "2026-11-15 10:00:00 UTC"),
            (instant("not a moment"), "not a moment"),
            (share(1, 100_000), "< 0.1 %"),
            (share(0, 0), "0.0 %"),
            (plural(1, "page"), "1 page"),
            (plural(2000, "page"), "2,000 pages"),
        ] {
            assert_eq!(shown, expected);
        }
    }
}
