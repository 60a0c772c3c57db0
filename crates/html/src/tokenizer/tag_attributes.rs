//! All attributes of a tag that lies in one piece, read when somebody asks.
//!
//! Owns where a name and a value begin and end in the text of a tag (HTML sections 13.2.5.32 to
//! 13.2.5.40). It refuses to know which attributes matter. Invariants: nothing is copied unless a
//! value has character references, and what it reads is what the states of `tag` read.

use std::borrow::Cow;
use std::ops::Range;

use super::tag::{ends_name, ends_value, is_space};
use crate::find::find;
use crate::references::attribute_value;

/// The attributes of a start tag, as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TagAttributes<'a> {
    text: &'a str,
    is_self_closing: bool,
    begins_raw_text: bool,
}

impl<'a> TagAttributes<'a> {
    /// The attributes in the text between a tag's name and its closing bracket.
    pub(super) fn new(text: &'a str, is_self_closing: bool, begins_raw_text: bool) -> Self {
        let is_bare = text.bytes().all(is_gap);
        Self {
            text: if is_bare { "" } else { text },
            is_self_closing,
            begins_raw_text,
        }
    }

    /// The value of an attribute, its character references decoded; the first of a name counts.
    pub fn value(self, name: &str) -> Option<Cow<'a, str>> {
        self.iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| attribute_value(value))
    }

    /// Whether there are none.
    pub const fn is_empty(self) -> bool {
        self.text.is_empty()
    }

    /// Whether the tag ends in a slash, which ends elements of SVG and `MathML`.
    pub const fn is_self_closing(self) -> bool {
        self.is_self_closing
    }

    /// Whether the content of the element is text up to its end tag, which comes next.
    pub const fn begins_raw_text(self) -> bool {
        self.begins_raw_text
    }

    /// Names and values as written, in order.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let written = Written::find(self.text.as_bytes(), at)?;
            at = written.next;
            Some((self.text.get(written.name)?, self.text.get(written.value)?))
        })
    }
}

/// Where an attribute lies.
struct Written {
    name: Range<usize>,
    value: Range<usize>,
    next: usize,
}

impl Written {
    /// The attribute that begins at or after `at`.
    fn find(bytes: &[u8], at: usize) -> Option<Self> {
        let rest = bytes.get(at..)?;
        let start = at + rest.iter().position(|byte| !is_gap(*byte))?;
        // A name may begin with an equals sign.
        let rest = &bytes[start + 1..];
        let end = rest
            .iter()
            .position(|byte| ends_name(*byte) || *byte == b'=');
        let end = start + 1 + end.unwrap_or(rest.len());
        let after = skip_space(bytes, end);
        let (value, next) = match bytes.get(after) {
            Some(b'=') => value_at(bytes, skip_space(bytes, after + 1)),
            _ => (end..end, end),
        };
        Some(Self {
            name: start..end,
            value,
            next,
        })
    }
}

/// The value that begins here, and where to go on.
fn value_at(bytes: &[u8], start: usize) -> (Range<usize>, usize) {
    if let Some(&quote @ (b'"' | b'\'')) = bytes.get(start) {
        let rest = &bytes[start + 1..];
        let end = start + 1 + find(quote, rest).unwrap_or(rest.len());
        return (start + 1..end, (end + 1).min(bytes.len()));
    }
    let rest = bytes.get(start..).unwrap_or_default();
    let end = rest.iter().position(|byte| ends_value(*byte));
    let end = start + end.unwrap_or(rest.len());
    (start..end, end)
}

fn skip_space(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let space = rest.iter().position(|byte| !is_space(*byte));
    at + space.unwrap_or(rest.len())
}

const fn is_gap(byte: u8) -> bool {
    is_space(byte) || byte == b'/'
}
