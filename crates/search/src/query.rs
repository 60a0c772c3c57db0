//! The query language.
//!
//! Owns how a line of text becomes clauses, and what is said about one that does not. It refuses
//! to know the index. Invariant: parsing ends, in time that grows with the length of the text,
//! whatever the text is; depth and number of clauses are bounded.
//!
//! Words are separated by spaces and are all optional; pages that hold all of them come first.
//! `AND` binds closer than `OR`, and both closer than a space: `a b OR c d` looks for `a`, for
//! `b` or `c`, and for `d`.

mod cursor;
mod date;
#[cfg(test)]
mod tests;
mod typed;

use std::fmt;

use thiserror::Error;

use cursor::{Cursor, Piece};

use crate::words::query_words;

/// Results that can be asked for, skipped ones included.
pub const MOST_RESULTS: usize = 1000;
/// Results without another wish.
const USUAL_RESULTS: usize = 10;
/// Bytes of a query.
pub const LONGEST: usize = 4096;
/// Words, phrases and filters of a query.
const MOST_CLAUSES: usize = 64;
/// Parentheses within each other.
const DEEPEST: usize = 16;

/// What is looked for, and which of the results are wanted.
#[derive(Debug, Clone)]
pub struct Query {
    pub(crate) clause: Clause,
    pub(crate) limit: usize,
    pub(crate) offset: usize,
    pub(crate) folding: Folding,
}

/// What becomes of pages that are alike.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Folding {
    /// The best of them stands for the others.
    #[default]
    Alike,
    /// Each is shown for itself.
    Off,
}

/// A query that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what}, at character {column}")]
#[non_exhaustive]
pub struct QueryError {
    /// What is wrong, and what helps.
    pub what: Fault,
    /// The place, in characters from 1.
    pub column: usize,
}

/// What is wrong with a query.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// There is no word in it.
    Empty,
    /// It is too long, too deep, or has too many words.
    TooLarge,
    /// A quote is not closed.
    OpenQuote,
    /// A parenthesis has no partner.
    Parenthesis,
    /// An operator lacks what it joins.
    Operand,
    /// There is no such field.
    Field(String),
    /// Not a value of that field.
    Value(&'static str),
    /// A negation stands where a choice is made.
    RefusedChoice,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => out.write_str("there is no word to look for"),
            Self::TooLarge => write!(
                out,
                "the query is too large (at most {LONGEST} bytes, {MOST_CLAUSES} words, {DEEPEST} nested parentheses)"
            ),
            Self::OpenQuote => out.write_str("a quote is opened and not closed"),
            Self::Parenthesis => out.write_str("a parenthesis has no partner"),
            Self::Operand => out.write_str(
                "AND, OR and NOT need something to join; write them small to look for the words",
            ),
            Self::Field(name) => write!(
                out,
                "there is no field {:?}; there are title, heading, body, url, host, lang, type, after and before (quote the text to look for it as it is)",
                clewline_job::escape::visible(name)
            ),
            Self::Value(expected) => out.write_str(expected),
            Self::RefusedChoice => {
                out.write_str("OR cannot join what is refused; write -word apart from it")
            }
        }
    }
}

impl Query {
    /// Understands a query.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        let mut parser = Parser {
            cursor: Cursor::new(text),
            clauses: 0,
        };
        if text.len() > LONGEST {
            return Err(parser.fault(Fault::TooLarge));
        }
        let items = parser.list(0)?;
        if parser.cursor.peek().is_some() {
            return Err(parser.fault(Fault::Parenthesis));
        }
        if items.is_empty() {
            return Err(parser.fault(Fault::Empty));
        }
        Ok(Self::new(items))
    }

    /// Asks for all pages, to be narrowed.
    pub fn everything() -> Self {
        Self::new(Vec::new())
    }

    fn new(items: Vec<(Sign, Clause)>) -> Self {
        Self {
            clause: Clause::List(items),
            limit: USUAL_RESULTS,
            offset: 0,
            folding: Folding::Alike,
        }
    }

    /// The words that are looked for as they are, wherever they stand, in the form in which the
    /// index keeps them.
    pub fn words(&self) -> Vec<String> {
        let mut found = Vec::new();
        gather(&self.clause, &mut found);
        found
    }

    /// Only pages of this host, without its subdomains.
    #[must_use]
    pub fn on_host(self, host: &str) -> Self {
        self.narrowed(QueryFilter::OneHost(host.to_lowercase()))
    }

    /// Only pages in this language.
    #[must_use]
    pub fn in_language(self, language: &str) -> Self {
        self.narrowed(QueryFilter::Language(language.to_lowercase()))
    }

    /// Only pages of this media type.
    #[must_use]
    pub fn of_type(self, name: &str) -> Self {
        self.narrowed(QueryFilter::ContentType(name.to_lowercase()))
    }

    fn narrowed(mut self, filter: QueryFilter) -> Self {
        // Only `of` makes a query, and it makes a list.
        if let Clause::List(items) = &mut self.clause {
            items.push((Sign::Required, Clause::Filter(filter)));
        }
        self
    }

    /// Says what becomes of pages that are alike.
    #[must_use]
    pub fn folding(mut self, folding: Folding) -> Self {
        self.folding = folding;
        self
    }

    /// Asks for so many results.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit.clamp(1, MOST_RESULTS);
        self
    }

    /// Skips so many results.
    #[must_use]
    pub fn offset(mut self, offset: usize) -> Self {
        self.offset = offset.min(MOST_RESULTS);
        self
    }
}

/// A part of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Clause {
    Text(Text),
    Filter(QueryFilter),
    List(Vec<(Sign, Clause)>),
    Any(Vec<Clause>),
}

/// What a clause means to the list it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Wanted,
    Required,
    Refused,
}

/// Words that are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Text {
    pub(crate) place: Option<SearchField>,
    pub(crate) words: String,
    pub(crate) form: WordForm,
}

/// Where words are looked for; everywhere without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SearchField {
    Title,
    Headings,
    Body,
    Address,
}

/// How words are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordForm {
    Exact,
    Prefix,
    /// So many letters may differ.
    Fuzzy(u8),
}

/// What narrows the results and does not score.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum QueryFilter {
    /// A host with its subdomains.
    Host(String),
    /// A host alone.
    OneHost(String),
    Language(String),
    ContentType(String),
    /// From this second on.
    After(i64),
    /// Before this second.
    Before(i64),
}

/// Adds the words of a clause that pages should hold.
fn gather(clause: &Clause, found: &mut Vec<String>) {
    match clause {
        Clause::Text(text) if text.form == WordForm::Exact => {
            let words = query_words(&text.words).into_iter();
            found.extend(words.map(|token| token.text));
        }
        Clause::Text(_) | Clause::Filter(_) => {}
        Clause::List(items) => {
            let wanted = items.iter().filter(|(sign, _)| *sign != Sign::Refused);
            wanted.for_each(|(_, clause)| gather(clause, found));
        }
        Clause::Any(clauses) => clauses.iter().for_each(|clause| gather(clause, found)),
    }
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    clauses: usize,
}

impl Parser<'_> {
    fn fault(&self, what: Fault) -> QueryError {
        QueryError {
            what,
            column: self.cursor.column(),
        }
    }

    /// Clauses up to the end or to a closing parenthesis.
    fn list(&mut self, depth: usize) -> Result<Vec<(Sign, Clause)>, QueryError> {
        let mut items = Vec::new();
        while !matches!(self.cursor.peek(), None | Some(Piece::Close)) {
            items.extend(self.choice(depth)?);
        }
        Ok(items)
    }

    fn choice(&mut self, depth: usize) -> Result<Option<(Sign, Clause)>, QueryError> {
        let mut choices = Vec::new();
        let mut joined = 0;
        loop {
            choices.extend(self.conjunction(depth)?);
            joined += 1;
            if !self.cursor.eat(Piece::Or) {
                break;
            }
        }
        if joined > 1 && choices.iter().any(|(sign, _)| *sign == Sign::Refused) {
            return Err(self.fault(Fault::RefusedChoice));
        }
        if choices.len() > 1 {
            let clauses = choices.into_iter().map(|(_, clause)| clause).collect();
            return Ok(Some((Sign::Wanted, Clause::Any(clauses))));
        }
        Ok(choices.pop())
    }

    fn conjunction(&mut self, depth: usize) -> Result<Option<(Sign, Clause)>, QueryError> {
        let mut parts = Vec::new();
        loop {
            parts.extend(self.signed(depth)?);
            if !self.cursor.eat(Piece::And) {
                break;
            }
        }
        if parts.len() > 1 {
            for (sign, _) in &mut parts {
                if *sign == Sign::Wanted {
                    *sign = Sign::Required;
                }
            }
            return Ok(Some((Sign::Wanted, Clause::List(parts))));
        }
        Ok(parts.pop())
    }

    fn signed(&mut self, depth: usize) -> Result<Option<(Sign, Clause)>, QueryError> {
        let sign = match self.cursor.peek() {
            Some(Piece::Plus) => Sign::Required,
            Some(Piece::Minus | Piece::Not) => Sign::Refused,
            _ => Sign::Wanted,
        };
        if sign != Sign::Wanted {
            self.cursor.next();
        }
        let clause = self.operand(depth)?;
        Ok(clause.map(|clause| (sign, clause)))
    }

    /// A word, a phrase, a filter or a list in parentheses; nothing if it holds no word.
    fn operand(&mut self, depth: usize) -> Result<Option<Clause>, QueryError> {
        match self.cursor.peek() {
            Some(Piece::Open) => {
                if depth == DEEPEST {
                    return Err(self.fault(Fault::TooLarge));
                }
                self.cursor.next();
                let items = self.list(depth + 1)?;
                if !self.cursor.eat(Piece::Close) {
                    return Err(self.fault(Fault::Parenthesis));
                }
                Ok((!items.is_empty()).then_some(Clause::List(items)))
            }
            Some(Piece::Word) => self.word(),
            _ => Err(self.fault(Fault::Operand)),
        }
    }

    fn word(&mut self) -> Result<Option<Clause>, QueryError> {
        self.clauses += 1;
        if self.clauses > MOST_CLAUSES {
            return Err(self.fault(Fault::TooLarge));
        }
        let before = self.cursor.column();
        let read = self
            .cursor
            .word()
            .ok_or_else(|| self.fault(Fault::OpenQuote))?;
        let at = |what| QueryError {
            what,
            column: before,
        };
        let place = match read.field.as_deref() {
            None => None,
            Some("title") => Some(SearchField::Title),
            Some("heading" | "headings") => Some(SearchField::Headings),
            Some("body" | "text") => Some(SearchField::Body),
            Some("url" | "inurl") => Some(SearchField::Address),
            Some(name) => return filter(name, &read.text).map(Some).map_err(at),
        };
        if crate::words::query_words(&read.text).is_empty() {
            return Ok(None);
        }
        Ok(Some(Clause::Text(Text {
            place,
            words: read.text,
            form: read.form,
        })))
    }
}

fn filter(name: &str, value: &str) -> Result<Clause, Fault> {
    let value = value.to_lowercase();
    let filled = |expected| {
        if value.is_empty() {
            Err(Fault::Value(expected))
        } else {
            Ok(value.clone())
        }
    };
    let moment = || date::seconds(&value).ok_or(Fault::Value("a date is written 2026-11-15"));
    Ok(Clause::Filter(match name {
        "host" | "site" => QueryFilter::Host(filled("host: needs a name, as in host:example.com")?),
        "lang" | "language" => {
            QueryFilter::Language(filled("lang: needs a language, as in lang:de")?)
        }
        "type" => QueryFilter::ContentType(filled("type: needs a type, as in type:html")?),
        "after" => QueryFilter::After(moment()?),
        "before" => QueryFilter::Before(moment()?),
        other => return Err(Fault::Field(other.to_owned())),
    }))
}
