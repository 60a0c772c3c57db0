//! What the index knows of a page.
//!
//! Owns the fields and their bounds. Invariant: the text of a document holds no character that
//! steers a terminal, so what is stored can be shown as it is.

use clewline_job::escape::is_steering;

use crate::fold::Likeness;

/// Bytes of a page's text that are indexed; what follows them is not found.
const MOST_BODY: usize = 512 * 1024;
/// Bytes of a title.
const MOST_TITLE: usize = 1024;
/// Bytes of all headings.
const MOST_HEADINGS: usize = 32 * 1024;

/// One page, as the index takes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Document {
    /// Its URL, which is its identity in the index.
    pub(crate) url: String,
    /// The host of its URL.
    pub(crate) host: String,
    /// Its title.
    pub(crate) title: String,
    /// Its headings, one per line.
    pub(crate) headings: String,
    /// Its words.
    pub(crate) body: String,
    /// The primary subtag of its language, lower-case; empty if it is not known.
    pub(crate) language: String,
    /// Its media type, lower-case, without parameters.
    pub(crate) content_type: String,
    /// When it was fetched, in seconds since 1970.
    pub(crate) fetched_at: i64,
    /// Links away from a root.
    pub(crate) depth: u32,
    /// What pages that are alike share.
    pub(crate) likeness: Likeness,
    /// Its key in the link log, folded to 64 bits; ranks are found by it.
    pub(crate) key: u64,
    /// Where its capture begins in the archive: an offset of the log.
    pub(crate) place: u64,
}

impl Document {
    /// Bounds and cleans every text.
    #[must_use]
    pub(crate) fn bounded(mut self) -> Self {
        self.title = clean(&self.title, MOST_TITLE);
        self.headings = clean(&self.headings, MOST_HEADINGS);
        self.body = clean(&self.body, MOST_BODY);
        self
    }
}

/// Text of at most so many bytes: white space and controls become single spaces, characters
/// that are invisible or change the direction of writing are left out.
pub(crate) fn clean(text: &str, most: usize) -> String {
    let mut out = String::with_capacity(text.len().min(most));
    let mut is_apart = false;
    for character in text.chars() {
        if character.is_whitespace() || character.is_control() {
            is_apart = !out.is_empty();
            continue;
        }
        if is_steering(character) {
            continue;
        }
        if out.len() + usize::from(is_apart) + character.len_utf8() > most {
            break;
        }
        if is_apart {
            out.push(' ');
        }
        is_apart = false;
        out.push(character);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cleaned_and_cut() {
        for (text, most, expected) in [
            (" a\u{1b}[2J\n\tb\u{ad}c\u{202e} ", 100, "a [2J bc"),
            ("na\u{ef}ve", 3, "na"),
            ("a b", 2, "a"),
            ("<b>", 9, "<b>"),
        ] {
            assert_eq!(clean(text, most), expected);
        }
    }
}
