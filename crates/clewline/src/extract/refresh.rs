//! The value of a Refresh header field or of `<meta http-equiv=refresh>`.
//!
//! Owns the shared declarative refresh steps (HTML section 4.2.5.3). Refuses to know when the
//! refresh would happen: a crawler only follows it.

/// The target of a refresh. None if there is none, which means the page itself, or if the value
/// is not a refresh at all.
pub(super) fn target(value: &str) -> Option<&str> {
    let value = trim_start(value);
    let digits = value.trim_start_matches(|c: char| c.is_ascii_digit());
    let has_digits = digits.len() < value.len();
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !has_digits && rest.len() == value.len() {
        return None;
    }
    let separated = rest.starts_with([';', ',']) || rest.starts_with(is_space);
    if !separated {
        return None;
    }
    let rest = trim_start(rest);
    let rest = trim_start(rest.strip_prefix([';', ',']).unwrap_or(rest));
    let target = unquote(after_keyword(rest).unwrap_or(rest));
    (!target.is_empty()).then_some(target)
}

/// What follows `url =`; none if the value does not begin with that, and is the URL itself.
fn after_keyword(value: &str) -> Option<&str> {
    let keyword = value
        .get(..3)
        .filter(|head| head.eq_ignore_ascii_case("url"))?;
    let rest = trim_start(&value[keyword.len()..]);
    rest.strip_prefix('=').map(trim_start)
}

fn unquote(value: &str) -> &str {
    let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        return value;
    };
    let inner = &value[1..];
    &inner[..inner.find(quote).unwrap_or(inner.len())]
}

fn trim_start(value: &str) -> &str {
    value.trim_start_matches(is_space)
}

fn is_space(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\u{c}' | '\r' | ' ')
}
