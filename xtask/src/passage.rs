//! Passages of the documentation that verbs write, and numbers as they stand there.
//!
//! Owns where such a passage begins and ends in its page. It refuses to know what it says.
//! Invariant: nothing outside of the two marks changes.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// A part of a page between two marks, which stay.
pub(crate) struct Passage {
    pub(crate) begin: &'static str,
    pub(crate) end: &'static str,
}

impl Passage {
    /// Writes the page again with another text in this passage.
    pub(crate) fn rewrite(&self, page: &Path, text: &str) -> Result<()> {
        let old = fs::read_to_string(page).with_context(|| page.display().to_string())?;
        let new = self.replaced(&old, text);
        fs::write(page, new.with_context(|| page.display().to_string())?)?;
        Ok(())
    }

    /// The page with another text in this passage.
    pub(crate) fn replaced(&self, page: &str, text: &str) -> Result<String> {
        let Self { begin, end } = self;
        let (before, rest) = page
            .split_once(begin)
            .with_context(|| format!("there is no {begin}"))?;
        let (_, after) = rest
            .split_once(end)
            .with_context(|| format!("there is no {end} behind {begin}"))?;
        Ok(format!("{before}{begin}\n{text}\n{end}{after}"))
    }
}

/// 12345.6 as `12,346`.
pub(crate) fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
