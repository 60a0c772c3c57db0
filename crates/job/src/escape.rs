//! Escapes: text from the web made safe to show, and bytes as text.
//!
//! Owns which characters can steer a terminal, a reader's eye or a browser, and how they are
//! written instead. Everything foreign that is shown passes through here; it refuses to know
//! where the text comes from. Invariant: what comes out holds no character for which
//! [`is_steering`] is true.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Text for a terminal: what could move the cursor, hide or reorder text becomes `\x1b` or
/// `\u{202e}`.
///
/// ```
/// use clewline::escape::visible;
/// assert_eq!(visible("a\u{1b}[2Jb"), r"a\x1b[2Jb");
/// assert_eq!(visible("plain"), "plain");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_steering) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        push_visible(character, &mut out);
    }
    Cow::Owned(out)
}

/// Text for HTML, in content and in quoted attributes alike; steering characters are made
/// visible first, since a bidirectional override would reorder the page around it.
///
/// ```
/// use clewline::escape::html;
/// assert_eq!(html("<b a='1'>&"), "&lt;b a=&#39;1&#39;&gt;&amp;");
/// ```
pub fn html(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| is_steering(c) || is_markup(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => push_visible(other, &mut out),
        }
    }
    Cow::Owned(out)
}

/// Bytes as text of the standard alphabet, padded (RFC 4648, section 4).
///
/// ```
/// use clewline::escape::base64;
/// assert_eq!(base64(b"any carnal"), "YW55IGNhcm5hbA==");
/// ```
pub fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for position in 0..4 {
            let digit = ALPHABET[(bits >> (18 - 6 * position) & 63) as usize];
            text.push(if position > group.len() {
                '='
            } else {
                char::from(digit)
            });
        }
    }
    text
}

/// Appends a serialised JSON value so that showing it cannot steer a terminal.
///
/// JSON itself escapes only U+0000 to U+001F (RFC 8259, section 7). All other steering
/// characters lie outside the structure of JSON, so they can only stand inside strings, where
/// `\uXXXX` means the same.
pub fn json_text(json: &str, out: &mut Vec<u8>) {
    if holds_only_visible(json.as_bytes()) {
        return out.extend_from_slice(json.as_bytes());
    }
    let mut kept = 0;
    for (at, character) in json.char_indices() {
        if character >= '\x7f' && is_steering(character) {
            out.extend_from_slice(&json.as_bytes()[kept..at]);
            for unit in character.encode_utf16(&mut [0; 2]) {
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
            }
            kept = at + character.len_utf8();
        }
    }
    out.extend_from_slice(&json.as_bytes()[kept..]);
}

/// The same for JSON that stands at the end of a buffer, from `start` on. Most of it holds
/// nothing to escape and stays where it is.
pub fn json_tail(buffer: &mut Vec<u8>, start: usize) {
    if holds_only_visible(&buffer[start..]) {
        return;
    }
    let tail = buffer.split_off(start);
    json_text(&String::from_utf8_lossy(&tail), buffer);
}

/// Whether JSON is ASCII without DEL: the controls before it are escaped already.
fn holds_only_visible(json: &[u8]) -> bool {
    json.is_ascii() && memchr::memchr(0x7f, json).is_none()
}

/// Whether a character acts instead of being seen: controls (C0, DEL, C1), line and paragraph
/// separators, bidirectional controls, zero-width and other invisible characters.
pub fn is_steering(character: char) -> bool {
    matches!(character,
        '\0'..='\x1f'
        | '\x7f'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}')
}

const fn is_markup(character: char) -> bool {
    matches!(character, '&' | '<' | '>' | '"' | '\'')
}

fn push_visible(character: char, out: &mut String) {
    if !is_steering(character) {
        out.push(character);
        return;
    }
    let number = u32::from(character);
    let written = if number <= 0xff {
        write!(out, "\\x{number:02x}")
    } else {
        write!(out, "\\u{{{number:x}}}")
    };
    written.expect("writing to a string does not fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steering_characters_become_visible() {
        for (text, expected) in [
            ("plain ünïcode 漢字 🦀", "plain ünïcode 漢字 🦀"),
            ("\u{1b}]0;owned\u{7}", r"\x1b]0;owned\x07"),
            ("a\r\nb\tc", r"a\x0d\x0ab\x09c"),
            ("\u{9b}2J\u{7f}", r"\x9b2J\x7f"),
            ("exe\u{202e}gpj", r"exe\u{202e}gpj"),
            ("a\u{200b}b\u{feff}", r"a\u{200b}b\u{feff}"),
            ("\u{2066}x\u{2069}\u{e0041}", r"\u{2066}x\u{2069}\u{e0041}"),
        ] {
            assert_eq!(visible(text), expected);
            assert!(!visible(text).chars().any(is_steering));
        }
    }

    #[test]
    fn markup_becomes_text() {
        for (text, expected) in [
            ("nothing to do", "nothing to do"),
            (
                "<script>alert(1)</script>",
                "&lt;script&gt;alert(1)&lt;/script&gt;",
            ),
            ("\" onerror='x'", "&quot; onerror=&#39;x&#39;"),
            ("a&amp;b\u{202e}", "a&amp;amp;b\\u{202e}"),
        ] {
            assert_eq!(html(text), expected);
        }
    }

    #[test]
    fn bytes_are_written_in_base_64() {
        for (bytes, expected) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
            ("\u{ff}\u{ff}", "w7/Dvw=="),
        ] {
            assert_eq!(base64(bytes.as_bytes()), expected);
        }
    }

    #[test]
    fn json_stays_the_same_value() {
        for text in [
            "plain",
            "\u{1b}\u{7f}\u{9b}\u{2028}\u{202e}",
            "ü\u{e0041}🦀",
            "\\u202e \" \\",
        ] {
            let json = serde_json::to_string(text).unwrap();
            let mut line = Vec::new();
            json_text(&json, &mut line);
            let line = String::from_utf8(line).unwrap();
            assert!(!line.chars().any(is_steering), "{line:?}");
            assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
        }
    }
}
