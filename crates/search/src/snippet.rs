//! Snippets: the piece of a page that shows why it was found.
//!
//! Owns which piece that is and where its words are. It gives plain text and ranges, never
//! markup, so whoever shows it decides how. Invariant: ranges lie in the text, in order, apart
//! from each other, and at borders of characters.

use std::collections::HashSet;

use serde::Serialize;
use tantivy::tokenizer::TokenStream as _;

use crate::query::{Clause, Sign, WordForm};
use crate::words::{is_single_unspaced, query_words, words};

/// Bytes of a snippet, about.
const LENGTH: usize = 240;
/// Bytes before its first word, at most.
const LEAD: usize = 60;
/// Words of a page that are looked at.
const MOST_MATCHES: usize = 2000;
/// What stands for text that is left out.
const CUT: &str = "…";

/// A piece of text, and what in it was looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Snippet {
    /// The text; it holds no character that steers a terminal, and may hold markup.
    pub text: String,
    /// Where the words are: from and to, in bytes of UTF-8.
    pub marks: Vec<(usize, usize)>,
}

/// The words that are looked for, as pages hold them.
#[derive(Debug, Default)]
pub(crate) struct Sought {
    exact: HashSet<String>,
    prefixes: Vec<String>,
    fuzzy: Vec<(String, u8)>,
}

impl Sought {
    /// The words of a query that are not refused.
    pub(crate) fn from_clause(clause: &Clause) -> Self {
        let mut sought = Self::default();
        sought.take(clause);
        sought
    }

    fn take(&mut self, clause: &Clause) {
        match clause {
            Clause::Filter(_) => {}
            Clause::Any(clauses) => clauses.iter().for_each(|clause| self.take(clause)),
            Clause::List(items) => {
                let sought = items.iter().filter(|(sign, _)| *sign != Sign::Refused);
                sought.for_each(|(_, clause)| self.take(clause));
            }
            Clause::Text(text) => {
                for token in query_words(&text.words) {
                    match text.form {
                        WordForm::Fuzzy(distance) => self.fuzzy.push((token.text, distance)),
                        WordForm::Prefix => self.prefixes.push(token.text),
                        WordForm::Exact if is_single_unspaced(&token.text) => {
                            self.prefixes.push(token.text);
                        }
                        WordForm::Exact => drop(self.exact.insert(token.text)),
                    }
                }
            }
        }
    }

    fn matches(&self, word: &str) -> bool {
        self.exact.contains(word)
            || self
                .prefixes
                .iter()
                .any(|prefix| word.starts_with(prefix.as_str()))
            || self
                .fuzzy
                .iter()
                .any(|(other, most)| is_near(word, other, *most))
    }

    /// Where the words are in a text: their places, and the words.
    fn find(&self, text: &str) -> Vec<(usize, usize, String)> {
        let mut found = Vec::new();
        let mut stream = words(text);
        while found.len() < MOST_MATCHES && stream.advance() {
            let token = stream.token();
            if self.matches(&token.text) {
                found.push((token.offset_from, token.offset_to, token.text.clone()));
            }
        }
        found
    }

    /// Where the words are in a text that is shown whole.
    pub(crate) fn marks(&self, text: &str) -> Vec<(usize, usize)> {
        joined(self.find(text).iter().map(|(from, to, _)| (*from, *to)))
    }

    /// The piece of a text with the most of the words.
    pub(crate) fn snippet(&self, text: &str) -> Snippet {
        let found = self.find(text);
        let (start, end) = piece(text, best(&found));
        let before = if start > 0 { CUT } else { "" };
        let after = if end < text.len() { CUT } else { "" };
        let inside = found
            .iter()
            .filter(|(from, to, _)| *from >= start && *to <= end)
            .map(|(from, to, _)| (from - start + before.len(), to - start + before.len()));
        Snippet {
            marks: joined(inside),
            text: format!("{before}{}{after}", &text[start..end]),
        }
    }
}

/// The first place of the stretch that holds the most different words, then the most words.
fn best(found: &[(usize, usize, String)]) -> usize {
    let mut best = (0, 0, 0);
    let mut last = 0;
    for (first, (from, ..)) in found.iter().enumerate() {
        last = last.max(first);
        while last < found.len() && found[last].1 <= from + LENGTH - LEAD {
            last += 1;
        }
        let stretch = &found[first..last.max(first + 1)];
        let different: HashSet<&str> = stretch.iter().map(|(.., word)| word.as_str()).collect();
        if (different.len(), stretch.len()) > (best.0, best.1) {
            best = (different.len(), stretch.len(), *from);
        }
    }
    best.2
}

/// A piece around a place, cut between words where there are any.
fn piece(text: &str, place: usize) -> (usize, usize) {
    let mut start = text.floor_char_boundary(place.saturating_sub(LEAD));
    if start > 0 {
        start += text[start..place].find(' ').map_or(0, |at| at + 1);
    }
    let mut end = text.ceil_char_boundary((start + LENGTH).min(text.len()));
    if end < text.len() {
        let from = text.ceil_char_boundary((start + LENGTH / 2).max(place).min(end));
        end = text[from..end].rfind(' ').map_or(end, |at| from + at);
    }
    (start, end)
}

/// Ranges that touch or overlap become one.
fn joined(ranges: impl Iterator<Item = (usize, usize)>) -> Vec<(usize, usize)> {
    let mut out: Vec<(usize, usize)> = Vec::new();
    for (from, to) in ranges {
        match out.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => out.push((from, to)),
        }
    }
    out
}

/// Whether at most so many letters differ. Words are short, so the table is small.
fn is_near(left: &str, right: &str, most: u8) -> bool {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let most = usize::from(most);
    if left.len().abs_diff(right.len()) > most {
        return false;
    }
    let mut before_last = vec![0; right.len() + 1];
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (row, &mine) in left.iter().enumerate() {
        let mut now = vec![row + 1];
        for (column, &other) in right.iter().enumerate() {
            let mut cost = (last[column] + usize::from(mine != other))
                .min(last[column + 1] + 1)
                .min(now[column] + 1);
            let is_swap =
                row > 0 && column > 0 && mine == right[column - 1] && left[row - 1] == other;
            if is_swap {
                cost = cost.min(before_last[column - 1] + 1);
            }
            now.push(cost);
        }
        before_last = std::mem::replace(&mut last, now);
    }
    last[right.len()] <= most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Query;

    fn marked(query: &str, text: &str) -> String {
        let sought = Sought::from_clause(&Query::parse(query).unwrap().clause);
        let snippet = sought.snippet(text);
        let mut out = snippet.text.clone();
        for (from, to) in snippet.marks.into_iter().rev() {
            out.insert(to, ']');
            out.insert(from, '[');
        }
        out
    }

    #[test]
    fn words_are_marked() {
        for (query, text, expected) in [
            ("map -hash", "A Hash Map", "A Hash [Map]"),
            ("cafe", "Ein Café", "Ein [Café]"),
            ("ma*", "a map, a mat", "a [map], a [mat]"),
            ("hsah~ ball~2", "hash bell bull", "[hash] [bell] [bull]"),
            ("京都", "東京都", "東[京都]"),
            ("東京都", "x東京都", "x[東京都]"),
            ("京", "東京都", "東[京都]"),
            ("none", "nothing here", "nothing here"),
            ("<b>", "a <b>b</b>", "a <[b]>[b]</[b]>"),
        ] {
            assert_eq!(marked(query, text), expected, "{query}");
        }
    }

    #[test]
    fn the_piece_with_the_most_words_is_shown() {
        let filler = "lorem ipsum ".repeat(100);
        let text = format!("hash {filler} the hash map is here {filler}");
        let shown = marked("hash map", &text);
        assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        assert!(shown.contains("[hash] [map]"), "{shown}");
        assert!(shown.len() < LENGTH + 40);
        let dense = "漢字".repeat(2000);
        assert!(marked("字漢", &dense).len() < LENGTH + 40);
        assert_eq!(marked("x", ""), "");
    }
}
