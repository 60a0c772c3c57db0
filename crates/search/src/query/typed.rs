//! Queries that are still being written.
//!
//! Owns what the last word and an open quote mean while somebody types. It changes the text and
//! leaves its meaning to the parser, so what is found on the way is what the language finds.

use super::{Query, QueryError};

/// Letters that a last word has before words that begin so are looked for: fewer begin too many.
const LEAST_LETTERS: usize = 3;
/// Words that mean something else.
const OPERATORS: [&str; 3] = ["AND", "OR", "NOT"];

impl Query {
    /// Understands a query that is still being written: its last word may go on, and a quote
    /// may be open.
    pub fn typed(text: &str) -> Result<Self, QueryError> {
        let is_open = text.matches('"').count() % 2 == 1;
        let guess = if is_open {
            Some(format!("{text}\""))
        } else {
            going_on(text)
        };
        let guessed = guess.and_then(|guess| Self::parse(&guess).ok());
        guessed.map_or_else(|| Self::parse(text), Ok)
    }
}

/// `hash ma` as `hash (ma OR ma*)`; nothing if the end is no plain word.
fn going_on(text: &str) -> Option<String> {
    let is_border = |c: char| c.is_whitespace() || c == '(';
    let rest = text.trim_end_matches(|c| !is_border(c));
    let last = &text[rest.len()..];
    let is_plain = last.chars().all(char::is_alphanumeric)
        && last.chars().count() >= LEAST_LETTERS
        && !OPERATORS.contains(&last);
    is_plain.then(|| format!("{rest}({last} OR {last}*)"))
}
