//! Words that look as if they were another each time: times, counters, tokens.
//!
//! Owns the look of such words and links. It is a hint and no proof: what is masked as noise must
//! besides differ on many pages at the same place. Invariant: an amount of money never looks so.

/// Words of times beside their numbers, in a few languages of many sites.
const TIME_WORDS: [&str; 46] = [
    "am",
    "pm",
    "ago",
    "seconds",
    "second",
    "minutes",
    "minute",
    "hours",
    "hour",
    "days",
    "day",
    "ms",
    "s",
    "utc",
    "gmt",
    "cet",
    "cest",
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "jan",
    "feb",
    "mar",
    "apr",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
];

/// Letters and digits in one word without a vowel pattern are a token from this length on.
const TOKEN_LENGTH: usize = 12;

/// Whether a word may be noise.
pub(crate) fn is_volatile_word(word: &str) -> bool {
    if is_currency(word) {
        return false;
    }
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    let is_joint = word.chars().all(|c| !c.is_alphanumeric());
    has_digit || is_joint || is_time_word(word) || is_token(word)
}

fn is_time_word(word: &str) -> bool {
    TIME_WORDS
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known))
        || is_day(word)
}

fn is_day(word: &str) -> bool {
    let days = [
        "sunday",
        "mon",
        "tue",
        "wed",
        "thu",
        "fri",
        "sat",
        "sun",
        "yesterday",
        "today",
    ];
    days.iter().any(|day| word.eq_ignore_ascii_case(day))
}

/// A long word of one script that mixes small and capital letters within, such as base64 has.
fn is_token(word: &str) -> bool {
    let changes = word.as_bytes().windows(2);
    let rises = changes.filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    word.len() >= TOKEN_LENGTH && word.is_ascii() && rises.count() >= 3
}

/// Whether a word stands for a currency: what is beside it is an amount of money.
pub(crate) fn is_currency(word: &str) -> bool {
    let is_sign = |c: char| matches!(c, '$' | '¢' | '£' | '¥' | '₹' | '₽' | '₩' | '€');
    let names = [
        "EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "SEK", "PLN",
    ];
    word.chars().any(is_sign) || names.contains(&word)
}

/// Whether two links are one but for the values in their query.
pub(crate) fn is_volatile_link(one: &str, other: &str) -> bool {
    one != other && constant_part(one) == constant_part(other)
}

/// A link without the values in its query.
pub(super) fn constant_part(url: &str) -> String {
    let url = url.split('#').next().unwrap_or(url);
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let names = query
        .split('&')
        .map(|pair| pair.split('=').next().unwrap_or(""));
    format!("{path}?{}", names.collect::<Vec<_>>().join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_counters_and_tokens_look_volatile() {
        for word in [
            "12",
            "03",
            "1,098",
            "v2",
            "PM",
            "ago",
            "March",
            "Sun",
            "aGVsbG8gV29ybGQ",
            "%",
        ] {
            assert!(is_volatile_word(word), "{word}");
        }
        for word in [
            "$",
            "$12",
            "12€",
            "reviews",
            "JavaScript",
            "about",
            "internationalisation",
        ] {
            assert!(!is_volatile_word(word), "{word}");
        }
        assert!(is_volatile_link(
            "http://a.test/x?sid=1",
            "http://a.test/x?sid=2"
        ));
        assert!(!is_volatile_link(
            "http://a.test/x?sid=1",
            "http://a.test/y?sid=1"
        ));
        assert!(!is_volatile_link("http://a.test/x", "http://a.test/x"));
    }
}
