//! Strings in scripts and in JSON that look like URLs.
//!
//! Owns the judgement of what looks like one. It knows quotes and the escapes of slashes and refuses
//! to know the grammar of any language: what it finds is a guess, and is asked for last. Invariant:
//! time is linear in the text; a string is as long as a line and [`LONGEST`] allow.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memchr3_iter, memmem};

/// Bytes of the longest string that is looked at.
const LONGEST: usize = 2000;

/// What a path must end with that begins with no slash, as in `'docs/intro.html'`.
const ENDINGS: [&str; 16] = [
    "asp", "aspx", "atom", "cgi", "htm", "html", "json", "jsp", "md", "pdf", "php", "rss", "shtml",
    "txt", "xhtml", "xml",
];

/// Schemes with their colon and slashes, as they stand in comments, too.
const SCHEMES: [&str; 2] = ["https://", "http://"];

/// Calls back with every string that looks like a URL, and the byte of the text at which it ends.
pub(super) fn literals(script: &str, mut found: impl FnMut(&str, usize)) {
    let whole = script.len();
    let script = unescaped(script);
    // After escapes were taken out only an end at the very end still means the same.
    let end_of = |end: usize| {
        if end == script.len() {
            whole
        } else {
            end.min(whole - 1)
        }
    };
    quoted(&script, |text, end| {
        if looks_like_url(text) {
            found(text, end_of(end));
        }
    });
    absolute(&script, |text, end| found(text, end_of(end)));
}

/// The text with slashes and ampersands as they are meant: `https:\/\/`, `\u0026`.
fn unescaped(script: &str) -> Cow<'_, str> {
    const ESCAPES: [(&str, &str); 6] = [
        ("\\/", "/"),
        ("\\u002F", "/"),
        ("\\u002f", "/"),
        ("\\u0026", "&"),
        ("\\x2F", "/"),
        ("\\x2f", "/"),
    ];
    let mut rest = script;
    let mut plain = String::new();
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        let (before, escape) = rest.split_at(at);
        let known = ESCAPES.iter().find(|(from, _)| escape.starts_with(from));
        let (text, length) = if let Some((from, to)) = known {
            (*to, from.len())
        } else {
            // Another escaped character stays as it is written, so that a quote ends nothing.
            let length = 1 + escape[1..].chars().next().map_or(0, char::len_utf8);
            (&escape[..length], length)
        };
        plain.push_str(before);
        plain.push_str(text);
        rest = &escape[length..];
    }
    if plain.is_empty() {
        return Cow::Borrowed(script);
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// What stands between two equal quotes on a line. A quote may be an apostrophe, so that each one
/// begins a string, whether it ended another or not.
fn quoted<'a>(script: &'a str, mut found: impl FnMut(&'a str, usize)) {
    let bytes = script.as_bytes();
    for open in memchr3_iter(b'"', b'\'', b'`', bytes) {
        let begin = open + 1;
        let reach = bytes.len().min(begin + LONGEST);
        let Some(length) = memchr2(bytes[open], b'\n', &bytes[begin..reach]) else {
            continue;
        };
        let end = begin + length;
        if bytes[end] == bytes[open] {
            found(&script[begin..end], end);
        }
    }
}

/// Absolute URLs wherever they stand but in quotes, which [`quoted`] reads.
fn absolute<'a>(script: &'a str, mut found: impl FnMut(&'a str, usize)) {
    let bytes = script.as_bytes();
    for slashes in memmem::find_iter(bytes, b"://") {
        let scheme = SCHEMES.iter().find_map(|scheme| {
            let begin = (slashes + 3).checked_sub(scheme.len())?;
            bytes[begin..]
                .starts_with(scheme.as_bytes())
                .then_some(begin)
        });
        let Some(begin) = scheme else { continue };
        let before = begin.checked_sub(1).map(|before| bytes[before]);
        if before.is_some_and(|byte| byte.is_ascii_alphanumeric() || is_quote(byte)) {
            continue;
        }
        let reach = bytes.len().min(begin + LONGEST);
        let length = bytes[begin..reach].iter().position(|byte| ends_url(*byte));
        let end = length.map_or(reach, |length| begin + length);
        let Some(text) = script.get(begin..end) else {
            continue;
        };
        // A sentence may end behind it.
        let text = text.trim_end_matches(['.', ',', ';', ':', '!', '?']);
        if looks_like_url(text) {
            found(text, end);
        }
    }
}

const fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

const fn ends_url(byte: u8) -> bool {
    byte <= b' '
        || is_quote(byte)
        || matches!(byte, b'<' | b'>' | b')' | b'}' | b']' | b'\\' | b'|')
}

/// Whether a string is one that people would take for a URL.
fn looks_like_url(text: &str) -> bool {
    let is_plain = |byte: u8| byte > b' ' && byte != 0x7f && !b"<>{}|\\^`\"*$,;".contains(&byte);
    if !(2..=LONGEST).contains(&text.len()) || !text.bytes().all(is_plain) {
        return false;
    }
    if let Some(scheme) = SCHEMES.iter().find(|scheme| text.starts_with(**scheme)) {
        return has_host(&text[scheme.len()..]);
    }
    if let Some(rest) = text.strip_prefix("//") {
        return has_host(rest) && rest.contains('.');
    }
    let rest = text.trim_start_matches("../");
    let rest = rest.strip_prefix("./").unwrap_or(rest);
    match rest.strip_prefix('/') {
        Some(path) => begins_segment(path) && !is_pattern(path),
        None if rest.len() < text.len() => begins_segment(rest),
        None => is_file_in_folder(text),
    }
}

/// `example.com`, `localhost:3000` and the like, with something behind it or not.
fn has_host(rest: &str) -> bool {
    let host = rest.split(['/', '?', '#', ':']).next().unwrap_or_default();
    let is_name =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._[]".contains(&byte) || byte > 0x7f;
    host.len() > 1
        && host.bytes().all(is_name)
        && host.bytes().any(|byte| byte.is_ascii_alphanumeric())
}

/// A segment begins with a letter, a digit or one of the few signs that names begin with.
fn begins_segment(path: &str) -> bool {
    let first = path.chars().next();
    first.is_some_and(|first| first.is_alphanumeric() || "_-~%@.?".contains(first))
}

/// Routes as routers write them, `/user/:id`, and regular expressions.
fn is_pattern(path: &str) -> bool {
    path.split('/').any(|segment| segment.starts_with(':')) || path.contains(['(', ')', '[', ']'])
}

/// `docs/intro.html`: folders and a file of a kind that has links, of plain letters.
fn is_file_in_folder(text: &str) -> bool {
    let path = text.split(['?', '#']).next().unwrap_or_default();
    let Some((folders, file)) = path.rsplit_once('/') else {
        return false;
    };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./%".contains(&byte);
    let ending = file.rsplit_once('.').map(|(_, ending)| ending);
    !folders.is_empty()
        && path.bytes().all(is_plain)
        && path.starts_with(|first: char| first.is_ascii_alphanumeric())
        && ending.is_some_and(|ending| ENDINGS.binary_search(&ending).is_ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(script: &str) -> Vec<String> {
        let mut texts = Vec::new();
        literals(script, |text, _| texts.push(text.to_owned()));
        texts
    }

    #[test]
    fn strings_that_look_like_urls() {
        assert!(ENDINGS.is_sorted());
        for (script, expected) in [
            (r#"fetch("/api/items?page=2")"#, &["/api/items?page=2"][..]),
            (
                "go('../next.html'); go('./here')",
                &["../next.html", "./here"],
            ),
            (
                r#"{"next":"https:\/\/a.test\/b?x\u0026y"}"#,
                &["https://a.test/b?x&y"],
            ),
            ("// see http://a.test/doc.\nx", &["http://a.test/doc"]),
            ("load(\"//cdn.a.test/x.js\")", &["//cdn.a.test/x.js"]),
            ("open('docs/intro.html#top')", &["docs/intro.html#top"]),
            ("`/plain`", &["/plain"]),
            ("it's '/a/b'", &["/a/b"]),
            (r"'\'/x", &[]),
        ] {
            assert_eq!(found(script), expected, "{script}");
        }
    }

    #[test]
    fn strings_that_do_not() {
        for script in [
            "'/'",
            "'//'",
            "'// a comment'",
            "'text/html'",
            "'application/json'",
            "'/user/:id'",
            "'/^[a-z]+$/'",
            "`/item/${id}`",
            "'a/b'",
            "'/ '",
            "'http://'",
            "'</div>'",
            "'/*'",
            "'n/a'",
            "'1/2.5'",
            "\"/not\nclosed\"",
        ] {
            assert!(found(script).is_empty(), "{script}: {:?}", found(script));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(script in "[\\PC\"'`/\\\\:.\n]{0,200}") {
            literals(&script, |text, end| {
                assert!(!text.is_empty() && end <= script.len());
            });
        }
    }
}
