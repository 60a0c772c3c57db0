//! Names at a glance: where one ends, without looking at its bytes one by one.
//!
//! Owns the search for the end of a short name of the usual characters. Refuses long and strange
//! ones, which the states of `tag` read. Invariant: a name that is answered is the one that the
//! states would read.

use super::find::{HIGH, LOW};
use super::name::{Name, WINDOW};

/// The name that begins here and the byte after it, if both lie in a window of bytes.
pub(super) fn name(bytes: &[u8]) -> Option<(Name, usize)> {
    let window = bytes.first_chunk::<WINDOW>()?;
    let length = length(window).filter(|length| *length > 0)?;
    Some((Name::of_window(*window, length), length))
}

/// The length of the name that an end tag consists of, if nothing else is in it.
pub(super) fn end_tag(bytes: &[u8]) -> Option<usize> {
    let window = bytes.first_chunk::<8>()?;
    let length = first_stop(u64::from_le_bytes(*window))?;
    (window[length] == b'>').then_some(length)
}

fn length(window: &[u8; WINDOW]) -> Option<usize> {
    let (words, _) = window.as_chunks::<8>();
    let stop = |at: usize| first_stop(u64::from_le_bytes(words[at]));
    stop(0).or_else(|| stop(1).map(|length| 8 + length))
}

/// The first byte that could end a name: all that do are below `0`, or `=` or `>`. What else is
/// there may well belong to a name; then this is not the place to tell. Only the dash is told:
/// names are full of it.
const fn first_stop(word: u64) -> Option<usize> {
    let below_digits = word.wrapping_sub(0x30 * LOW) & !word;
    // From `<` to `?` only the two lowest bits differ.
    let brackets = word ^ (0x3c * LOW);
    let brackets = brackets.wrapping_sub(4 * LOW) & !brackets;
    let dashes = word ^ (0x2d * LOW);
    let dashes = dashes.wrapping_sub(LOW) & !dashes;
    // Behind a byte that is marked rightly, the next one may be marked wrongly. The first mark
    // is right; and a comma that is taken for a dash belongs to a name, too.
    let stops = (below_digits | brackets) & !dashes & HIGH;
    if stops == 0 {
        return None;
    }
    Some(stops.trailing_zeros() as usize / 8)
}

#[cfg(test)]
mod tests {
    use super::super::tag::ends_name;
    use super::*;

    fn ends(byte: u8) -> bool {
        ends_name(byte) || byte == b'='
    }

    #[test]
    fn nothing_that_ends_a_name_is_passed_over() {
        for before in 0..=u8::MAX {
            for stop in 0..=u8::MAX {
                for at in 0..WINDOW - 1 {
                    let mut bytes = [b'a'; WINDOW];
                    (bytes[at], bytes[at + 1]) = (before, stop);
                    let slow = bytes.iter().position(|byte| ends(*byte));
                    let Some((found, length)) = name(&bytes) else {
                        continue;
                    };
                    if ends(bytes[length]) {
                        assert_eq!(Some(length), slow, "{bytes:?}");
                        assert_eq!(found, Name::new(&bytes[..length]), "{bytes:?}");
                    } else {
                        assert!(slow.is_none_or(|slow| slow > length), "{bytes:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn usual_names_are_found() {
        for (text, expected) in [
            ("href=\"index.html\"", "href"),
            ("http-equiv=\"refresh\"", "http-equiv"),
            ("DIV class=\"a\">text", "div"),
            ("blockquote>text and more", "blockquote"),
        ] {
            let found = name(text.as_bytes());
            assert_eq!(
                found,
                Some((Name::new(expected.as_bytes()), expected.len()))
            );
        }
        for text in [
            "=\"a\" and nothing else",
            "short>",
            "a-name-of-many-letters=1",
        ] {
            assert_eq!(name(text.as_bytes()), None, "{text}");
        }
        assert_eq!(end_tag(b"code>text"), Some(4));
        for text in [&b"code >text"[..], b"code/>text", b"b>", b"blockquote>"] {
            assert_eq!(end_tag(text), None);
        }
    }
}
