//! What stands behind the `#` of a reference.
//!
//! Owns which fragments name an element (HTML section 7.4.6.4) and which are for scripts, viewers and
//! text searches. It refuses to know whether there is such an element.

use percent_encoding::percent_decode_str;

use super::{Fragment, fragment_hash};

/// The fragment as written, without its number sign; none if it is empty.
pub(super) fn fragment(raw: &str) -> Option<Fragment> {
    // The URL parser takes these out wherever they are.
    let raw: std::borrow::Cow<'_, str> = if raw.contains(['\t', '\n', '\r']) {
        raw.replace(['\t', '\n', '\r'], "").into()
    } else {
        raw.into()
    };
    if raw.is_empty() {
        return None;
    }
    // What follows searches for a text; it is no part of the name (URL Fragment Text Directives).
    let name = raw.split(":~:").next().unwrap_or_default();
    if names_no_element(name) {
        return Some(Fragment::Other);
    }
    let decoded = percent_decode_str(name).decode_utf8_lossy();
    Some(Fragment::Id(fragment_hash(name), fragment_hash(&decoded)))
}

fn names_no_element(name: &str) -> bool {
    name.is_empty()
        || name.eq_ignore_ascii_case("top")
        || name.starts_with(['!', '/'])
        || is_lines(name)
}

/// Lines of a source, as code hosts write them: `L12`, `L12-L20`, `L12C3-L20C7`.
fn is_lines(name: &str) -> bool {
    let is_line = |part: &str| {
        let digits = part.strip_prefix('L').unwrap_or_default();
        let digits = digits.split_once('C').map_or(digits, |(line, column)| {
            if column.bytes().all(|byte| byte.is_ascii_digit()) {
                line
            } else {
                ""
            }
        });
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    match name.split_once('-') {
        Some((first, last)) => is_line(first) && (is_line(last) || last.parse::<u32>().is_ok()),
        None => is_line(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_name_elements_or_not() {
        let id = |raw: &str, decoded: &str| {
            Some(Fragment::Id(fragment_hash(raw), fragment_hash(decoded)))
        };
        for (raw, expected) in [
            ("", None),
            ("a", id("a", "a")),
            ("A%20b", id("A%20b", "A b")),
            ("caf%C3%A9", id("caf%C3%A9", "café")),
            ("a:~:text=b", id("a", "a")),
            ("topic", id("topic", "topic")),
            ("L", id("L", "L")),
            ("Lx", id("Lx", "Lx")),
            ("L12a", id("L12a", "L12a")),
            ("a\nb", id("ab", "ab")),
            (":~:text=b", Some(Fragment::Other)),
            ("top", Some(Fragment::Other)),
            ("TOP", Some(Fragment::Other)),
            ("!/route", Some(Fragment::Other)),
            ("/route", Some(Fragment::Other)),
            ("L12", Some(Fragment::Other)),
            ("L12-L20", Some(Fragment::Other)),
            ("L12-20", Some(Fragment::Other)),
            ("L12C3-L20C7", Some(Fragment::Other)),
        ] {
            assert_eq!(fragment(raw), expected, "{raw}");
        }
    }
}
