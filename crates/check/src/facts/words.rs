//! The words that people can read on a page, counted as they come.
//!
//! Owns which texts count, where a word ends at a tag, and what looks garbled. It refuses to know
//! layout. Invariant: the text that is gathered is no longer than the page.

use clewline_content::Fingerprint;
use clewline_html::Name;

use super::HtmlFacts;
use super::element::Element;

/// Gathers the words of a page.
#[derive(Debug, Default)]
pub(super) struct WordDraft {
    text: String,
    garbled: u32,
    /// How many elements are open whose text nobody reads.
    unread: usize,
}

impl WordDraft {
    pub(super) fn start(&mut self, element: &Element<'_, '_>) {
        let name = element.name;
        if is_unread(name) && !element.is_self_closing {
            self.unread += 1;
        }
        self.part(name);
    }

    pub(super) fn end(&mut self, name: Name) {
        if is_unread(name) {
            self.unread = self.unread.saturating_sub(1);
        }
        self.part(name);
    }

    fn part(&mut self, name: Name) {
        if !is_within_words(name) && self.text.as_bytes().last() != Some(&b' ') {
            self.text.push(' ');
        }
    }

    /// A text, decoded.
    pub(super) fn text(&mut self, text: &str) {
        if self.unread == 0 {
            self.text.push_str(text);
            self.garbled = self.garbled.saturating_add(garbled(text));
        }
    }

    pub(super) fn finish(self, html: &mut HtmlFacts) {
        let (fingerprint, words) = Fingerprint::with_count(&self.text);
        html.garbled = self.garbled;
        html.words = u32::try_from(words).unwrap_or(u32::MAX);
        if words > 0 {
            html.exact = fingerprint.exact;
            html.near = fingerprint.near;
        }
    }
}

const fn is_unread(name: Name) -> bool {
    matches!(
        name,
        Name::NOSCRIPT | Name::TEMPLATE | Name::SVG | Name::MATH
    )
}

/// Elements that stand within words.
const fn is_within_words(name: Name) -> bool {
    matches!(
        name,
        Name::A
            | Name::B
            | Name::BIG
            | Name::CODE
            | Name::EM
            | Name::FONT
            | Name::I
            | Name::S
            | Name::SMALL
            | Name::SPAN
            | Name::STRONG
            | Name::SUB
            | Name::SUP
            | Name::TT
            | Name::U
            | Name::VAR
    )
}

/// How many places of a text look garbled: characters that stand for bytes that were none, and pairs
/// that are UTF-8 read as Latin-1 and encoded again.
fn garbled(text: &str) -> u32 {
    if text.is_ascii() {
        return 0;
    }
    let mut count = 0;
    let mut before = ' ';
    for character in text.chars() {
        let is_pair = match before {
            'Ã' => is_continuation(character),
            'Â' => matches!(character, '\u{80}'..='\u{bf}'),
            'â' => matches!(character, '€' | '\u{80}' | '\u{82}' | '\u{84}'),
            _ => false,
        };
        count += u32::from(is_pair || character == char::REPLACEMENT_CHARACTER);
        before = character;
    }
    count
}

/// Whether a character is what Windows-1252 makes of a byte that goes on with a character of UTF-8.
const fn is_continuation(character: char) -> bool {
    matches!(
        character,
        '\u{80}'
            ..='\u{bf}'
                | 'Œ'
                | 'œ'
                | 'Š'
                | 'š'
                | 'Ÿ'
                | 'Ž'
                | 'ž'
                | 'ƒ'
                | 'ˆ'
                | '˜'
                | '–'
                | '—'
                | '‘'
                | '’'
                | '‚'
                | '“'
                | '”'
                | '„'
                | '†'
                | '‡'
                | '•'
                | '…'
                | '‰'
                | '‹'
                | '›'
                | '€'
                | '™'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbled_text_is_told_from_other_languages() {
        for (text, expected) in [
            ("plain", 0),
            ("caf\u{e9} à Ä Ö", 0),
            ("cafÃ©", 1),
            ("itâ€™s", 1),
            ("Â© 2020", 1),
            ("SÃO PAULO, MÂCON, âge", 0),
            ("a\u{fffd}b\u{fffd}", 2),
        ] {
            assert_eq!(garbled(text), expected, "{text}");
        }
    }
}
