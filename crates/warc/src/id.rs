//! Identifiers of records.
//!
//! Owns how an identifier is made and spelled. A made one is a name-based UUID (version 5) of a
//! seed and a number, so whoever writes a batch again writes the same bytes again.

use std::fmt;

use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use data_encoding::HEXLOWER;

/// The identifier of a record: a UUID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RecordId([u8; 16]);

impl RecordId {
    /// The identifier of the record with this number among those of a seed. The seed belongs to
    /// one archive and is random; the numbers are never used twice.
    pub fn numbered(seed: [u8; 16], number: u64) -> Self {
        let mut context = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
        context.update(&seed);
        context.update(&number.to_be_bytes());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&context.finish().as_ref()[..16]);
        bytes[6] = (bytes[6] & 0x0f) | 0x50;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        Self(bytes)
    }

    /// Reads `<urn:uuid:…>`, with or without the brackets and the `urn:uuid:`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches('<').trim_end_matches('>');
        let start = text.get(..9).unwrap_or_default();
        let text = if start.eq_ignore_ascii_case("urn:uuid:") {
            &text[9..]
        } else {
            text
        };
        let mut digits = text.bytes().filter(|&byte| byte != b'-');
        let mut bytes = [0; 16];
        for byte in &mut bytes {
            *byte = (hex(digits.next()?)? << 4) | hex(digits.next()?)?;
        }
        digits.next().is_none().then_some(Self(bytes))
    }
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

impl RecordId {
    /// `urn:uuid:` and the UUID, without the brackets of a header field. Each record names
    /// three, so it is not left to `format!`.
    pub(crate) fn text(self) -> [u8; 45] {
        let mut text = *b"urn:uuid:00000000-0000-0000-0000-000000000000";
        // The groups of a UUID: where they stand in the text, and of which bytes.
        for (place, bytes) in [(9, 0..4), (18, 4..6), (23, 6..8), (28, 8..10), (33, 10..16)] {
            let end = place + 2 * bytes.len();
            HEXLOWER.encode_mut(&self.0[bytes], &mut text[place..end]);
        }
        text
    }
}

impl fmt::Display for RecordId {
    /// `urn:uuid:` and the UUID, without the brackets of a header field.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(str::from_utf8(&self.text()).expect("hexadecimal digits are ASCII"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_make_different_and_repeatable_identifiers() {
        let one = RecordId::numbered([7; 16], 1);
        assert_eq!(one, RecordId::numbered([7; 16], 1));
        assert_ne!(one, RecordId::numbered([7; 16], 2));
        assert_ne!(one, RecordId::numbered([8; 16], 1));
        let text = one.to_string();
        assert_eq!((text.len(), &text[23..24]), (45, "5"));
        assert!(matches!(&text[28..29], "8" | "9" | "a" | "b"));
    }

    #[test]
    fn identifiers_are_read_in_every_spelling() {
        let id = RecordId::numbered([1; 16], 9);
        for text in [
            id.to_string(),
            format!("<{id}>"),
            id.to_string().to_uppercase(),
            id.to_string()[9..].to_owned(),
        ] {
            assert_eq!(RecordId::parse(&text), Some(id), "{text}");
        }
        for text in [
            "",
            "<>",
            "urn:uuid:1234",
            "http://a.test/1",
            "é234567890123456789",
        ] {
            assert_eq!(RecordId::parse(text), None, "{text}");
        }
    }
}
