//! Character references: `&amp;`, `&#38;` and the two thousand others.
//!
//! Owns where the product decodes and writes them; the table itself is that of the crate
//! `htmlize`. It refuses to know where a text comes from. Invariant: a text without references is
//! not copied.

use std::borrow::Cow;

use crate::find::{find, find_either};

/// A text between tags, or that of a `title` or a `textarea`, its references decoded.
pub fn decoded_text<'a>(raw: impl Into<Cow<'a, str>>) -> Cow<'a, str> {
    let raw = raw.into();
    if find(b'&', raw.as_bytes()).is_none() {
        return raw;
    }
    htmlize::unescape(raw)
}

/// The value of an attribute, its references decoded and NUL replaced (HTML sections 13.2.5.36
/// and 13.2.5.72).
pub fn attribute_value<'a>(raw: impl Into<Cow<'a, str>>) -> Cow<'a, str> {
    let raw = raw.into();
    match find_either(0, b'&', raw.as_bytes()) {
        None => raw,
        Some(_) if find(0, raw.as_bytes()).is_some() => {
            htmlize::unescape_attribute(raw.replace('\0', "\u{fffd}"))
        }
        Some(_) => htmlize::unescape_attribute(raw),
    }
}

/// A text as it is written between tags.
pub fn escaped_text(text: &str) -> Cow<'_, str> {
    htmlize::escape_text(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_decoded_as_their_place_asks() {
        for (raw, in_text, in_value) in [
            ("plain", "plain", "plain"),
            ("a &amp; b &#x41;&#66;", "a & b AB", "a & b AB"),
            ("?a&copy=1", "?a©=1", "?a&copy=1"),
            ("&notit; &nosuch;", "¬it; &nosuch;", "&notit; &nosuch;"),
            ("a\0&lt;", "a\0<", "a\u{fffd}<"),
            ("a\0", "a\0", "a\u{fffd}"),
        ] {
            assert_eq!(decoded_text(raw), in_text, "{raw}");
            assert_eq!(attribute_value(raw), in_value, "{raw}");
        }
        assert_eq!(escaped_text("a<b> & 'c'"), "a&lt;b&gt; &amp; 'c'");
        assert!(matches!(attribute_value("a;b"), Cow::Borrowed(_)));
        assert!(matches!(decoded_text("a;b"), Cow::Borrowed(_)));
    }
}
