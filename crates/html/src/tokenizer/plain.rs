//! Names at a glance: where one ends, without looking at its bytes one by one.
//!
//! Owns the search for the end of a short name of the usual characters. Refuses long and strange
//! ones, which the states of `tag` read. Invariant: a name that is answered is the one that the
//! states would read.

use super::attribute::Attribute;
use super::name::{Name, WINDOW};

/// The lowest and the highest bit of each byte.
const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);

/// The name that begins here and the byte after it, if both lie in a window of bytes.
#[inline]
pub(super) fn name(bytes: &[u8]) -> Option<(Name, usize)> {
    let window = bytes.first_chunk::<WINDOW>()?;
    let length = name_length(window)?;
    Some((Name::from_window(window, length), length))
}

#[inline]
fn name_length(window: &[u8; WINDOW]) -> Option<usize> {
    let (words, _) = window.as_chunks::<8>();
    // Nearly all names are shorter than a word.
    if let Some(length) = first_stop(u64::from_le_bytes(words[0])) {
        return (length > 0).then_some(length);
    }
    first_stop(u64::from_le_bytes(words[1])).map(|length| 8 + length)
}

/// The beginning of an attribute up to its value, as most pages write it, and whether anybody
/// looks at it.
struct Usual {
    bits: u64,
    mask: u64,
    length: usize,
    attribute: Option<Attribute>,
}

impl Usual {
    const fn new(text: &[u8], attribute: Option<Attribute>) -> Self {
        let (mut bits, mut mask, mut at) = (0, 0, 0);
        while at < text.len() {
            bits |= (text[at] as u64) << (8 * at);
            mask |= 0xff << (8 * at);
            at += 1;
        }
        Self {
            bits,
            mask,
            length: text.len(),
            attribute,
        }
    }
}

/// Most attributes of most pages are these.
const USUAL: [Usual; 4] = [
    Usual::new(b"class=\"", None),
    Usual::new(b"href=\"", Some(Attribute::Href)),
    Usual::new(b"title=\"", None),
    Usual::new(b"id=\"", None),
];

/// The attribute that begins here, if anybody looks at it, and where its value begins; for the
/// most usual ones, told by one look.
#[inline]
pub(super) fn usual_attribute(bytes: &[u8]) -> Option<(Option<Attribute>, usize)> {
    let word = u64::from_le_bytes(*bytes.first_chunk::<8>()?);
    let found = USUAL.iter().find(|usual| word & usual.mask == usual.bits)?;
    Some((found.attribute, found.length))
}

/// Whether an end tag consists of a name, which begins and ends here and has no bracket in it.
#[inline]
pub(super) const fn is_end_tag(bytes: [u8; 8]) -> bool {
    let word = u64::from_le_bytes(bytes);
    let closing = word ^ (0x3e * LOW);
    let closing = closing.wrapping_sub(LOW) & !closing;
    let stops = stops(word) & HIGH;
    // The first mark of each kind is right.
    let first = stops & stops.wrapping_neg();
    first & closing != 0 && first != 0x80
}

/// Marks the bytes below `0`, and those from `<` to `?`; behind a byte that is marked rightly, the
/// next one may be marked wrongly.
#[inline]
const fn stops(word: u64) -> u64 {
    let below_digits = word.wrapping_sub(0x30 * LOW) & !word;
    // From `<` to `?` only the two lowest bits differ.
    let brackets = word ^ (0x3c * LOW);
    let brackets = brackets.wrapping_sub(4 * LOW) & !brackets;
    below_digits | brackets
}

/// The first byte that could end a name: all that do are below `0`, or `=` or `>`. What else is
/// there may well belong to a name; then this is not the place to tell. Only the dash is told:
/// names are full of it.
#[inline]
const fn first_stop(word: u64) -> Option<usize> {
    let dashes = word ^ (0x2d * LOW);
    let dashes = dashes.wrapping_sub(LOW) & !dashes;
    // The first mark is right; and a comma that is taken for a dash belongs to a name, too.
    let stops = stops(word) & !dashes & HIGH;
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
    fn an_end_tag_is_one_to_the_states_too() {
        for before in 0..=u8::MAX {
            for stop in 0..=u8::MAX {
                for at in 0..7 {
                    let mut bytes = [b'a'; 8];
                    (bytes[at], bytes[at + 1]) = (before, stop);
                    let end = bytes.iter().position(|byte| ends_name(*byte));
                    let name = &bytes[..end.unwrap_or(0)];
                    let is_plain =
                        !name.is_empty() && bytes[name.len()] == b'>' && !name.contains(&b'<');
                    assert!(is_plain || !is_end_tag(bytes), "{bytes:?}");
                }
            }
        }
    }

    #[test]
    fn usual_attributes_are_what_their_names_say() {
        for (text, length) in [
            ("class=\"a\"", 7),
            ("href=\"\" ", 6),
            ("title=\"b\"", 7),
            ("id=\"abcd\"", 4),
        ] {
            let named = Attribute::named(Name::new(text.split('=').next().unwrap().as_bytes()));
            assert_eq!(usual_attribute(text.as_bytes()), Some((named, length)));
        }
        for text in [
            "class='a'",
            "hrefs=\"a",
            "xid=\"abc",
            "Id=\"abcd",
            "id=\"\"",
        ] {
            assert_eq!(usual_attribute(text.as_bytes()), None, "{text}");
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
        for (text, expected) in [
            (b"code>tex", true),
            (b"section>", true),
            (b"a\xbe\xaf>te>>", true),
            (b"a<b>text", false),
            (b"code >te", false),
            (b"code/>te", false),
            (b">text>te", false),
            (b"blockquo", false),
        ] {
            assert_eq!(is_end_tag(*text), expected);
        }
    }
}
