//! A start tag with its attributes.
//!
//! Owns the one look at all attributes of a tag: names become numbers once, so that whoever asks
//! compares numbers. It refuses to know what they mean. Invariant: of attributes of the same name the
//! first counts; no more than [`MOST_ATTRIBUTES`] are looked at.

use std::borrow::Cow;

use clewline_html::references::attribute_value;
use clewline_html::{Name, Namespace, TagAttributes};

/// Attributes of a tag that are looked at.
const MOST_ATTRIBUTES: usize = 256;

/// An attribute as written: the number of its name, which long names do not have, and both texts.
pub(super) type WrittenAttribute<'a> = (Name, &'a str, &'a str);

/// Makes the list of a tag's attributes in a room that is given.
pub(super) fn list<'a>(tag: TagAttributes<'a>, room: &mut Vec<WrittenAttribute<'a>>) {
    room.clear();
    let attributes = tag.iter().take(MOST_ATTRIBUTES);
    room.extend(attributes.map(|(name, value)| (Name::new(name.as_bytes()), name, value)));
}

/// A start tag.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element<'a, 'r> {
    pub(super) name: Name,
    pub(super) namespace: Namespace,
    /// Where the tag begins.
    pub(super) byte: u32,
    pub(super) is_self_closing: bool,
    pub(super) attributes: &'r [WrittenAttribute<'a>],
}

impl<'a> Element<'a, '_> {
    /// The value of an attribute, decoded; empty if it is there without one.
    pub(super) fn value(&self, name: Name) -> Option<Cow<'a, str>> {
        self.raw(name).map(attribute_value)
    }

    /// The same as written.
    pub(super) fn raw(&self, name: Name) -> Option<&'a str> {
        let found = self.attributes.iter().find(|(found, ..)| *found == name);
        found.map(|(_, _, value)| *value)
    }

    /// The value of an attribute whose name is too long for a number.
    pub(super) fn long(&self, name: &str) -> Option<Cow<'a, str>> {
        let is_it = |(number, found, _): &&WrittenAttribute<'_>| {
            *number == Name::default() && found.eq_ignore_ascii_case(name)
        };
        let found = self.attributes.iter().find(is_it);
        found.map(|(_, _, value)| attribute_value(*value))
    }

    /// Whether there is an attribute.
    pub(super) fn has(&self, name: Name) -> bool {
        self.raw(name).is_some()
    }

    /// Whether the value of an attribute is this word, in any case.
    pub(super) fn is(&self, name: Name, word: &str) -> bool {
        self.value(name)
            .is_some_and(|value| value.trim().eq_ignore_ascii_case(word))
    }

    /// Whether an attribute is there and more than white space.
    pub(super) fn says(&self, name: Name) -> bool {
        self.value(name)
            .is_some_and(|value| !value.trim().is_empty())
    }

    /// Whether findings about it are not wanted.
    pub(super) fn is_ignored(&self) -> bool {
        self.attributes.iter().any(|(number, name, _)| {
            *number == Name::default()
                && (name.eq_ignore_ascii_case("data-clewline-ignore")
                    || name.eq_ignore_ascii_case("data-proofer-ignore"))
        })
    }
}
