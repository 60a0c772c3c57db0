//! Where in a page something stands, for people.
//!
//! Owns the way from bytes to lines, columns and the words of an element. Few pages have findings, so
//! they are read again. It refuses to know findings beyond their places. Invariant: a page is walked
//! once, however many places are asked for.

use std::collections::BTreeMap;

use clewline_html::references::decoded_text;
use clewline_html::{MarkupToken, Name, TagAttributes, Tokens};
use clewline_job::charset::text_of;
use clewline_job::pages::{AnswerError, PageReader};
use clewline_job::record::Record;

use super::a11y::is_void;
use super::cut;
use super::document::folded;
use super::reading::MOST_BODY;
use crate::finding::FindingPlace;

/// Characters of the words of an element.
const LONGEST_WORDS: usize = 80;
/// Elements whose words are gathered at once.
const MOST_GATHERED: usize = 100;
/// Bytes of text that are gathered for them.
const MOST_WORDS: usize = 4 * LONGEST_WORDS;

/// Fills line, column and words of places in the page of a record.
pub fn locate(
    reader: &PageReader,
    record: &Record,
    places: &mut [FindingPlace],
) -> Result<(), AnswerError> {
    let answer = reader.answer(record, MOST_BODY)?;
    let text = text_of(&answer.body, record.charset.as_deref());
    locate_in(&text, places);
    Ok(())
}

/// The same in a text that is at hand.
pub(super) fn locate_in(text: &str, places: &mut [FindingPlace]) {
    let bytes = places.iter().map(|place| place.byte as usize);
    let mut words: BTreeMap<usize, String> = bytes.map(|byte| (byte, String::new())).collect();
    gather_words(text, &mut words);
    let mut line = 1;
    let mut line_begin = 0;
    let mut at = 0;
    let mut found: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
    for byte in words.keys().map(|byte| text.floor_char_boundary(*byte)) {
        for end in memchr_iter(&text.as_bytes()[at..byte]) {
            line += 1;
            line_begin = at + end + 1;
        }
        at = byte;
        let column = text[line_begin..byte].chars().count() + 1;
        let column = u32::try_from(column).unwrap_or(u32::MAX);
        found.insert(u32::try_from(byte).unwrap_or(u32::MAX), (line, column));
    }
    for place in places {
        let byte = text.floor_char_boundary(place.byte as usize) as u32;
        if let Some((line, column)) = found.get(&byte) {
            (place.line, place.column) = (*line, *column);
        }
        if let Some(words) = words.get(&(place.byte as usize)) {
            cut(&folded(words), LONGEST_WORDS).clone_into(&mut place.text);
        }
    }
}

/// Where lines end; `\r\n` is one end, which its second byte is.
fn memchr_iter(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let ends = bytes.iter().enumerate();
    ends.filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at)
}

/// An element whose words are gathered.
struct Gathering {
    byte: usize,
    name: Name,
    open: usize,
    words: String,
}

fn gather_words(text: &str, words: &mut BTreeMap<usize, String>) {
    let mut tokens = Tokens::new(text);
    let mut gathering: Vec<Gathering> = Vec::new();
    while let Some(token) = tokens.next() {
        match token {
            MarkupToken::Start(name, attributes) => {
                let said = said_by(attributes);
                let is_image = name == Name::IMG;
                for one in &mut gathering {
                    one.open += usize::from(one.name == name);
                    if is_image {
                        push(&mut one.words, &said);
                    }
                }
                if !words.contains_key(&tokens.begun()) || gathering.len() >= MOST_GATHERED {
                    continue;
                }
                if is_void(name) {
                    words.insert(tokens.begun(), said);
                } else {
                    gathering.push(Gathering {
                        byte: tokens.begun(),
                        name,
                        open: 1,
                        words: said,
                    });
                }
            }
            MarkupToken::End(name) => {
                for one in &mut gathering {
                    one.open -= usize::from(one.name == name);
                }
                settle(&mut gathering, words);
            }
            MarkupToken::Text(text) | MarkupToken::Raw(Name::TITLE, text) => {
                let text = decoded_text(cut(text, MOST_WORDS));
                for one in &mut gathering {
                    push(&mut one.words, &text);
                }
            }
            MarkupToken::Raw(..) => {}
        }
    }
    for one in &mut gathering {
        one.open = 0;
    }
    settle(&mut gathering, words);
}

/// Takes the words of elements that are complete.
fn settle(gathering: &mut Vec<Gathering>, words: &mut BTreeMap<usize, String>) {
    gathering.retain_mut(|one| {
        if one.open == 0 || one.words.len() >= MOST_WORDS {
            words.insert(one.byte, std::mem::take(&mut one.words));
            return false;
        }
        true
    });
}

fn push(words: &mut String, text: &str) {
    if words.len() < MOST_WORDS {
        words.push_str(text);
        words.push(' ');
    }
}

/// What the attributes of an element say in words.
fn said_by(attributes: TagAttributes<'_>) -> String {
    let said = ["alt", "aria-label", "title", "content"];
    let found = said.iter().find_map(|name| attributes.value(name));
    let mut said = found.map_or(String::new(), |said| cut(&said, MOST_WORDS).to_owned());
    if !said.is_empty() {
        said.push(' ');
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_by_line_column_and_words() {
        let page = "<p>é</p>\r\n<b>x</b> é <a href=x>The\n <i>link</i></a> <img src=y alt='A cat'>\n<a href=z><img alt=Dog></a><hr>";
        let place = |needle: &str| FindingPlace {
            byte: page.find(needle).unwrap() as u32,
            ..FindingPlace::default()
        };
        let mut places = [
            place("<a href=z"),
            place("<a href=x"),
            place("<img src"),
            place("<hr"),
            FindingPlace {
                byte: 9_999,
                ..FindingPlace::default()
            },
        ];
        locate_in(page, &mut places);
        let told: Vec<_> = places
            .iter()
            .map(|place| (place.line, place.column, place.text.as_str()))
            .collect();
        let expected = [
            (4, 1, "Dog"),
            (2, 12, "The link"),
            (3, 18, "A cat"),
            (4, 28, ""),
            (4, 32, ""),
        ];
        assert_eq!(told, expected);
    }
}
