//! The pieces of a query's text.
//!
//! Owns where a word ends, what is an operator and what only looks like one. A sign counts at
//! the beginning of a word only, so `well-known` is one word.

use super::WordForm;

/// Letters that may differ in `word~`.
const USUAL_DISTANCE: u8 = 1;
/// … and at most.
const MOST_DISTANCE: u8 = 2;

/// What comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    Open,
    Close,
    Plus,
    Minus,
    And,
    Or,
    Not,
    Word,
}

/// A word as it was written.
#[derive(Debug)]
pub(super) struct WrittenWord {
    pub(super) field: Option<String>,
    pub(super) text: String,
    pub(super) form: WordForm,
}

/// A place in a query.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The character that comes next, counted from 1.
    pub(super) fn column(&self) -> usize {
        self.text[..self.at].chars().count() + 1
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// What comes next; blanks before it are passed.
    pub(super) fn peek(&mut self) -> Option<Piece> {
        self.at = self.text.len() - self.rest().trim_start().len();
        let rest = self.rest();
        let mut characters = rest.chars();
        let first = characters.next()?;
        let has_more = characters
            .next()
            .is_some_and(|c| !c.is_whitespace() && c != ')');
        Some(match first {
            '(' => Piece::Open,
            ')' => Piece::Close,
            '+' if has_more => Piece::Plus,
            '-' if has_more => Piece::Minus,
            _ if is_operator(rest, "AND") => Piece::And,
            _ if is_operator(rest, "OR") => Piece::Or,
            _ if is_operator(rest, "NOT") => Piece::Not,
            _ => Piece::Word,
        })
    }

    /// Passes what comes next, unless it is a word.
    pub(super) fn next(&mut self) {
        self.at += match self.peek() {
            Some(Piece::Open | Piece::Close | Piece::Plus | Piece::Minus) => 1,
            Some(Piece::And | Piece::Not) => 3,
            Some(Piece::Or) => 2,
            Some(Piece::Word) | None => 0,
        };
    }

    pub(super) fn eat(&mut self, piece: Piece) -> bool {
        let is_next = self.peek() == Some(piece);
        if is_next {
            self.next();
        }
        is_next
    }

    /// Reads a word or a phrase with its field; nothing if a quote is left open.
    pub(super) fn word(&mut self) -> Option<WrittenWord> {
        let field = self.field();
        if let Some(quoted) = self.rest().strip_prefix('"') {
            let end = quoted.find('"')?;
            self.at += end + 2;
            return Some(WrittenWord {
                field,
                text: quoted[..end].to_owned(),
                form: WordForm::Exact,
            });
        }
        let rest = self.rest();
        let is_end = |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '"');
        let end = rest.find(is_end).unwrap_or(rest.len());
        self.at += end;
        let (text, form) = form_of(&rest[..end]);
        Some(WrittenWord {
            field,
            text: text.to_owned(),
            form,
        })
    }

    /// A name before a colon. What looks like a URL or like a path of names is none.
    fn field(&mut self) -> Option<String> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphabetic())?;
        let value = rest[end..].strip_prefix(':').filter(|_| end > 0)?;
        if value.starts_with(':') || value.starts_with("//") {
            return None;
        }
        self.at += end + 1;
        Some(rest[..end].to_ascii_lowercase())
    }
}

fn is_operator(rest: &str, name: &str) -> bool {
    rest.strip_prefix(name).is_some_and(|after| {
        after
            .chars()
            .next()
            .is_none_or(|c| c.is_whitespace() || matches!(c, '(' | ')'))
    })
}

fn form_of(word: &str) -> (&str, WordForm) {
    if let Some(stem) = word.strip_suffix('*') {
        return (stem, WordForm::Prefix);
    }
    let Some((stem, number)) = word.rsplit_once('~') else {
        return (word, WordForm::Exact);
    };
    match number {
        "" => (stem, WordForm::Fuzzy(USUAL_DISTANCE)),
        "1" | "2" => (
            stem,
            WordForm::Fuzzy(number.parse().unwrap_or(MOST_DISTANCE).min(MOST_DISTANCE)),
        ),
        _ => (word, WordForm::Exact),
    }
}
