//! The value of a Refresh header field or of `<meta http-equiv=refresh>`.
//!
//! Owns the shared declarative refresh steps (HTML section 4.2.5.3). Refuses to know when the
//! refresh would happen.

use std::ops::Range;

/// Where the target of a refresh stands. None if there is none, which means the page itself, or
/// if the value is not a refresh at all.
pub fn target(value: &str) -> Option<Range<usize>> {
    let start = trim_start(value);
    let digits = start.trim_start_matches(|c: char| c.is_ascii_digit());
    let has_digits = digits.len() < start.len();
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !has_digits && rest.len() == start.len() {
        return None;
    }
    let separated = rest.starts_with([';', ',']) || rest.starts_with(is_space);
    if !separated {
        return None;
    }
    let rest = trim_start(rest);
    let rest = trim_start(rest.strip_prefix([';', ',']).unwrap_or(rest));
    let rest = after_keyword(rest).unwrap_or(rest);
    let (inner, length) = unquoted(rest);
    let start = value.len() - inner.len();
    (length > 0).then_some(start..start + length)
}

/// What follows `url =`; none if the value does not begin with that, and is the URL itself.
fn after_keyword(value: &str) -> Option<&str> {
    let keyword = value
        .get(..3)
        .filter(|head| head.eq_ignore_ascii_case("url"))?;
    let rest = trim_start(&value[keyword.len()..]);
    rest.strip_prefix('=').map(trim_start)
}

/// The value from behind its quote, and how much of it belongs to the URL.
fn unquoted(value: &str) -> (&str, usize) {
    let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        return (value, value.len());
    };
    let inner = &value[1..];
    (inner, inner.find(quote).unwrap_or(inner.len()))
}

fn trim_start(value: &str) -> &str {
    value.trim_start_matches(is_space)
}

fn is_space(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\u{c}' | '\r' | ' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_found_where_they_stand() {
        for (value, expected) in [
            ("5; url=x", Some("x")),
            (" 0,URL = 'x y' z", Some("x y")),
            (".5 x", Some("x")),
            ("1.5;url=\"x", Some("x")),
            ("0;uri=x", Some("uri=x")),
            ("0;é", Some("é")),
            ("0; URL = 'x'y", Some("x")),
            (" 5.5 , url=\"x y\"", Some("x y")),
            ("0 x", Some("x")),
            ("0;x", Some("x")),
            (".5;x", Some("x")),
            ("0;url", Some("url")),
            ("0;'x", Some("x")),
            // Browsers take none of these for a refresh.
            ("5", None),
            ("5;", None),
            ("0url=x", None),
            ("url=x", None),
            (" ;x", None),
            ("0;url=''", None),
            ("0;url=", None),
            ("x;url=y", None),
            ("-1;url=y", None),
            ("0x;url=y", None),
            ("", None),
        ] {
            let found = target(value).map(|range| &value[range]);
            assert_eq!(found, expected, "{value}");
        }
    }
}
