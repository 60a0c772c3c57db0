//! Words behind a verb.
//!
//! Owns how a figure is read, and what is said where there is none. It refuses to know which words a verb
//! takes.

use std::slice::Iter;
use std::str::FromStr;

use anyhow::{Context as _, Result};

/// The number that follows a word.
pub(crate) fn number<N: FromStr>(word: &str, rest: &mut Iter<'_, String>) -> Result<N> {
    let value = rest.next().and_then(|text| text.parse().ok());
    value.with_context(|| format!("{word} needs a number"))
}

/// Whether somebody wants to know what a verb takes.
pub(crate) fn ask_for_help(words: &[String]) -> bool {
    words.iter().any(|word| word == "--help" || word == "-h")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_follows_its_word() {
        let words = ["7".to_owned(), "many".to_owned()];
        let mut rest = words.iter();
        assert_eq!(number::<u32>("--hosts", &mut rest).unwrap(), 7);
        for _ in ["many", "nothing"] {
            let error = number::<u32>("--hosts", &mut rest).unwrap_err();
            assert_eq!(error.to_string(), "--hosts needs a number");
        }
    }
}
