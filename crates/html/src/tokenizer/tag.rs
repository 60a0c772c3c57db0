//! The inside of a tag, from its name to its closing bracket.
//!
//! Owns the states of HTML sections 13.2.5.8 and 13.2.5.32 to 13.2.5.40 and the places of the
//! values that are looked at. Refuses to know what comes before and after, and to copy
//! anything. Invariant: a tag may be cut anywhere and goes on where it was cut; every byte is
//! looked at once; an attribute that ends more than [`LIMIT`] bytes into its tag is not there.

use super::attribute::{Attribute, Values};
use super::name::{Building, Name};
use super::{namespace, plain};
use crate::find::find;

/// How far into a tag attributes are read, in bytes. The tag itself may be of any length.
pub(super) const LIMIT: usize = 1024 * 1024;

/// Which way a tag goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagKind {
    Start,
    End,
}

/// A start tag of the usual form.
pub(super) enum PlainTag {
    /// It has nothing but its name.
    Name,
    /// It has attributes, and this many bytes from its name to its closing bracket.
    Attributes { length: usize },
}

/// How far a tag was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Name,
    BeforeAttribute,
    AttributeName,
    AfterAttributeName,
    BeforeValue,
    Quoted(u8),
    Unquoted,
    SelfClosing,
}

/// A tag, finished or not.
#[derive(Debug)]
pub(super) struct TagBuilder {
    part: Part,
    building: Building,
    /// The name, once it is complete.
    pub(super) name: Name,
    pub(super) way: TagKind,
    pub(super) is_self_closing: bool,
    /// An attribute that is looked at lies beyond the limit.
    pub(super) is_cut: bool,
    pub(super) values: Values,
    attribute: Option<Attribute>,
    value_start: usize,
    /// Bytes of the tag in earlier pieces, and where it begins in the present one.
    earlier: usize,
    pub(super) start: usize,
}

impl TagBuilder {
    pub(super) const fn new() -> Self {
        Self {
            part: Part::Name,
            building: Building::EMPTY,
            name: Name::new(b""),
            way: TagKind::Start,
            is_self_closing: false,
            is_cut: false,
            values: Values::new(),
            attribute: None,
            value_start: 0,
            earlier: 0,
            start: 0,
        }
    }

    /// A tag begins whose name begins at this place of the piece.
    pub(super) const fn begin(&mut self, way: TagKind, start: usize) {
        self.part = Part::Name;
        self.building = Building::EMPTY;
        self.way = way;
        self.is_self_closing = false;
        self.is_cut = false;
        self.values.clear();
        self.attribute = None;
        self.earlier = 0;
        self.start = start;
    }

    /// The end tag of raw text, whose name was read while looking for it.
    pub(super) fn begin_after_name(&mut self, name: &[u8], start: usize) {
        self.begin(TagKind::End, start);
        for byte in name {
            self.building.push(*byte);
        }
    }

    /// The piece ended before the tag did.
    pub(super) const fn interrupt(&mut self, length: usize) {
        self.earlier = self.offset(length);
        self.start = 0;
    }

    const fn offset(&self, at: usize) -> usize {
        self.earlier + (at - self.start)
    }

    /// Reads a start tag from its name on, in one go, if it has the usual form and all of it is
    /// there: a short name that asks nothing of the tokenizer, and attributes with values in
    /// quotes. If it has another form, it must be begun.
    #[inline]
    pub(super) fn scan_plain(&mut self, bytes: &[u8]) -> Option<PlainTag> {
        let (name, mut at) = plain::name(bytes)?;
        if namespace::may_switch(name) {
            return None;
        }
        if bytes.get(at) == Some(&b'>') {
            return Some(PlainTag::Name);
        }
        self.name = name;
        self.is_cut = false;
        self.values.clear();
        loop {
            match bytes.get(at)? {
                b'>' => break,
                byte if is_space(*byte) => at += 1,
                _ => return None,
            }
            at += bytes[at..].iter().position(|byte| !is_space(*byte))?;
            if bytes[at] == b'>' {
                break;
            }
            let (attribute, start, end) = plain_attribute(&bytes[at..])?;
            self.attribute = attribute;
            self.note_value(at + start, at + end);
            at += end + 1;
        }
        Some(PlainTag::Attributes { length: at + 1 })
    }

    /// Reads on; answers the place after the closing bracket, if it is in this piece.
    pub(super) fn scan(&mut self, piece: &[u8], mut at: usize) -> Option<usize> {
        let mut part = self.part;
        let end = loop {
            let Some(&byte) = piece.get(at) else {
                break None;
            };
            (part, at) = match part {
                Part::Name => self.name(piece, at),
                Part::BeforeAttribute => match byte {
                    b'\t' | b'\n' | 0x0c | b'\r' | b' ' => (part, at + 1),
                    b'>' => break Some(at + 1),
                    b'/' => (Part::SelfClosing, at + 1),
                    // Whatever it is begins a name, even `=`.
                    _ => {
                        self.building = Building::EMPTY;
                        self.attribute_name(piece, at, 1)
                    }
                },
                Part::AttributeName => self.attribute_name(piece, at, 0),
                Part::AfterAttributeName => match byte {
                    b'\t' | b'\n' | 0x0c | b'\r' | b' ' => (part, at + 1),
                    b'=' => (Part::BeforeValue, at + 1),
                    _ => {
                        self.note_value(0, 0);
                        (Part::BeforeAttribute, at)
                    }
                },
                Part::BeforeValue => match byte {
                    b'\t' | b'\n' | 0x0c | b'\r' | b' ' => (part, at + 1),
                    b'"' | b'\'' => self.begin_quoted(piece, at + 1, byte),
                    b'>' => {
                        self.note_value(0, 0);
                        break Some(at + 1);
                    }
                    _ => {
                        self.value_start = self.offset(at);
                        (Part::Unquoted, at)
                    }
                },
                Part::Quoted(quote) => self.quoted(piece, at, quote),
                Part::Unquoted => self.unquoted(piece, at),
                Part::SelfClosing if byte == b'>' => {
                    self.is_self_closing = true;
                    break Some(at + 1);
                }
                Part::SelfClosing => (Part::BeforeAttribute, at),
            };
        };
        self.part = part;
        end
    }

    /// The rest of the name; what ends it is left to the next part.
    fn name(&mut self, piece: &[u8], at: usize) -> (Part, usize) {
        let rest = &piece[at..];
        let Some(length) = rest.iter().position(|byte| ends_name(*byte)) else {
            self.building.extend(rest, rest.len());
            return (Part::Name, piece.len());
        };
        self.building.extend(rest, length);
        self.name = self.building.finish();
        (Part::BeforeAttribute, at + length)
    }

    /// The rest of an attribute's name, of which so many bytes belong to it whatever they are.
    fn attribute_name(&mut self, piece: &[u8], at: usize, taken: usize) -> (Part, usize) {
        let rest = &piece[at..];
        let end = rest[taken..]
            .iter()
            .position(|byte| ends_name(*byte) || *byte == b'=');
        let Some(length) = end.map(|end| taken + end) else {
            self.building.extend(rest, rest.len());
            return (Part::AttributeName, piece.len());
        };
        self.building.extend(rest, length);
        self.attribute = Attribute::named(self.building.finish());
        match rest[length..] {
            // Nearly all attributes are written like this.
            [b'=', quote @ (b'"' | b'\''), ..] => self.begin_quoted(piece, at + length + 2, quote),
            _ => (Part::AfterAttributeName, at + length),
        }
    }

    fn begin_quoted(&mut self, piece: &[u8], at: usize, quote: u8) -> (Part, usize) {
        self.value_start = self.offset(at);
        self.quoted(piece, at, quote)
    }

    fn quoted(&mut self, piece: &[u8], at: usize, quote: u8) -> (Part, usize) {
        let Some(length) = find(quote, &piece[at..]) else {
            return (Part::Quoted(quote), piece.len());
        };
        self.note_value(self.value_start, self.offset(at + length));
        (Part::BeforeAttribute, at + length + 1)
    }

    fn unquoted(&mut self, piece: &[u8], at: usize) -> (Part, usize) {
        let Some(length) = piece[at..].iter().position(|byte| ends_value(*byte)) else {
            return (Part::Unquoted, piece.len());
        };
        self.note_value(self.value_start, self.offset(at + length));
        (Part::BeforeAttribute, at + length)
    }

    /// Notes where the value of the present attribute lies, if anybody looks at it.
    #[inline]
    const fn note_value(&mut self, start: usize, end: usize) {
        let Some(attribute) = self.attribute else {
            return;
        };
        if end > LIMIT {
            self.is_cut = true;
        } else {
            self.values.note(attribute, (start as u32, end as u32));
        }
    }
}

/// An attribute with its value in quotes, if anybody looks at it, and where the value lies.
#[inline]
fn plain_attribute(bytes: &[u8]) -> Option<(Option<Attribute>, usize, usize)> {
    if let Some((attribute, start)) = plain::usual_attribute(bytes) {
        let length = find(b'"', &bytes[start..])?;
        return Some((attribute, start, start + length));
    }
    let (name, length) = plain::name(bytes)?;
    let [b'=', quote @ (b'"' | b'\''), value @ ..] = &bytes[length..] else {
        return None;
    };
    let start = length + 2;
    let length = find(*quote, value)?;
    Some((Attribute::named(name), start, start + length))
}

#[inline]
pub(super) const fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ')
}

pub(super) const fn ends_name(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ' | b'/' | b'>')
}

pub(super) const fn ends_value(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | 0x0c | b'\r' | b' ' | b'>')
}
