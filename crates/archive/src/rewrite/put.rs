//! Other references in the place of those in small languages.
//!
//! Owns how a reference is written into a style sheet, a `srcset` and a refresh. Refuses to know
//! how they are found (`clewline-html`) and where they lead. Invariant: what is not a reference
//! is copied byte for byte, and what is put in cannot end its string.

use std::fmt::Write as _;
use std::ops::Range;

use clewline_html::{css, refresh, srcset};

/// A text that is copied with pieces of it replaced, in order.
struct Rewriting<'a> {
    text: &'a str,
    /// What lies before this place is in `out`.
    copied: usize,
    out: String,
}

impl<'a> Rewriting<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            copied: 0,
            out: String::with_capacity(text.len()),
        }
    }

    /// Copies up to a place, which is left out.
    fn up_to(&mut self, place: &Range<usize>) -> &mut String {
        self.out.push_str(&self.text[self.copied..place.start]);
        self.copied = place.end;
        &mut self.out
    }

    fn end(mut self) -> String {
        self.out.push_str(&self.text[self.copied..]);
        self.out
    }
}

/// The sheet with each URL replaced by what `lead` answers, if it does.
pub(super) fn sheet(text: &str, mut lead: impl FnMut(&str) -> Option<String>) -> String {
    let mut rewriting = Rewriting::new(text);
    css::references(text, |reference| {
        let closed = Some(&reference).filter(|it| it.is_closed);
        let Some(target) = closed.and_then(|it| lead(&it.value)) else {
            return;
        };
        let is_string = text[reference.range.clone()].starts_with(['"', '\'']);
        let [before, after] = if is_string { ["", ""] } else { ["url(", ")"] };
        let out = rewriting.up_to(&reference.range);
        out.push_str(before);
        push_string(out, &target);
        out.push_str(after);
    });
    rewriting.end()
}

/// Writes a string of CSS that also cannot end a `style` element.
fn push_string(out: &mut String, value: &str) {
    out.push('"');
    for character in value.chars() {
        if matches!(character, '"' | '\\' | '<') || character.is_control() {
            let code = u32::from(character);
            write!(out, "\\{code:x} ").expect("a string takes all text");
        } else {
            out.push(character);
        }
    }
    out.push('"');
}

/// The candidates with each URL replaced by what `lead` answers, if it does. Descriptors stay.
pub(super) fn candidates(value: &str, mut lead: impl FnMut(&str) -> Option<String>) -> String {
    let mut rewriting = Rewriting::new(value);
    srcset::candidates(value, |place| {
        if let Some(target) = lead(&value[place.clone()]) {
            rewriting.up_to(&place).push_str(&target);
        }
    });
    rewriting.end()
}

/// The refresh with another target, without quotes; nothing if it has none or `lead` knows none.
pub(super) fn refreshed(value: &str, lead: impl FnOnce(&str) -> Option<String>) -> Option<String> {
    let place = refresh::target(value)?;
    let before = value[..place.start].trim_end_matches(['"', '\'']);
    Some(format!("{before}{}", lead(&value[place])?))
}
