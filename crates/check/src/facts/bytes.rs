//! Numbers and texts as bytes.
//!
//! Owns the spelling in which facts are kept: little-endian base 128 for small numbers, eight bytes
//! for hashes, a length before each text. It refuses to know facts. Invariant: whatever bytes are
//! read, nothing is taken from beyond their end and no more room is made than they fill.

use clewline_job::log::links::push_varint;

/// Appends a text.
pub(super) fn push_text(text: &str, out: &mut Vec<u8>) {
    push_varint(text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

/// Appends a hash.
pub(super) fn push_hash(hash: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(&hash.to_le_bytes());
}

/// Reads from the front of bytes; nothing where they end too early or say what cannot be.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowCursor<'a>(pub(super) &'a [u8]);

impl<'a> RowCursor<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    pub(super) fn hash(&mut self) -> Option<u64> {
        let bytes = self.take(8)?.try_into().ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    /// A count of things that take at least one byte each.
    pub(super) fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.number()?).ok()?;
        (count <= self.0.len()).then_some(count)
    }

    pub(super) fn text(&mut self) -> Option<&'a str> {
        let length = self.count()?;
        std::str::from_utf8(self.take(length)?).ok()
    }

    pub(super) fn owned(&mut self) -> Option<Box<str>> {
        self.text().map(Box::from)
    }

    /// A part that is a length and so many bytes.
    pub(super) fn part(&mut self) -> Option<Self> {
        let length = self.count()?;
        self.take(length).map(Self)
    }
}

/// A number of either sign as one without: those near zero stay small.
pub(super) const fn folded(number: i64) -> u64 {
    (number.wrapping_shl(1) ^ (number >> 63)).cast_unsigned()
}

/// What [`folded`] folded.
pub(super) const fn unfolded(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -((number & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_pushed_is_read() {
        let mut out = Vec::new();
        for number in [0, 1, 127, 128, 1 << 40, u64::MAX] {
            push_varint(number, &mut out);
        }
        push_text("é", &mut out);
        push_hash(7, &mut out);
        let mut cursor = RowCursor(&out);
        for number in [0, 1, 127, 128, 1 << 40, u64::MAX] {
            assert_eq!(cursor.number(), Some(number));
        }
        assert_eq!(cursor.text(), Some("é"));
        assert_eq!(cursor.hash(), Some(7));
        assert_eq!(cursor.byte(), None);
        for number in [0, 1, -1, 300, -300, i64::MAX, i64::MIN] {
            assert_eq!(unfolded(folded(number)), number);
        }
    }

    #[test]
    fn what_cannot_be_is_nothing() {
        assert_eq!(RowCursor(&[0xff; 20]).number(), None);
        assert_eq!(RowCursor(&[5, b'a']).text(), None);
        assert_eq!(RowCursor(&[1, 0xff]).text(), None);
        assert_eq!(RowCursor(&[0xff, 0xff, 0xff, 0xff, 0x7f]).small(), None);
    }
}
