//! The forms of a comparison.
//!
//! Owns which forms there are. Invariants: every foreign text passes an escape of its form; the same
//! comparison makes the same bytes.

mod html;
mod jsonl;
mod markdown;
mod text;
mod words;

use std::io::{self, Write};

use crate::compare::Difference;

pub use html::{CHANGES_STYLE, changes_html};
pub use words::verdict;

/// A form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiffForm {
    /// For a terminal.
    #[default]
    Text,
    /// For a comment on a pull request, or a wiki.
    Markdown,
    /// One page, with then and now side by side.
    Html,
    /// A line of JSON for each entry.
    Jsonl,
}

/// What a form is told beside the comparison.
#[derive(Debug, Clone, Copy)]
pub struct DiffHead<'a> {
    /// What the two crawls are called.
    pub names: [&'a str; 2],
    /// The places that were masked are shown, not only counted.
    pub shows_noise: bool,
    /// The text may have colours.
    pub in_colour: bool,
}

impl DiffForm {
    /// All forms.
    pub const ALL: [Self; 4] = [Self::Text, Self::Markdown, Self::Html, Self::Jsonl];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Markdown => "markdown",
            Self::Html => "html",
            Self::Jsonl => "jsonl",
        }
    }

    /// The form of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }

    /// Writes a comparison.
    pub fn write(
        self,
        difference: &Difference,
        head: &DiffHead<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self {
            Self::Text => text::write(difference, head, out),
            Self::Markdown => markdown::write(difference, head, out),
            Self::Html => html::write(difference, head, out),
            Self::Jsonl => jsonl::write(difference, head, out),
        }
    }
}

#[cfg(test)]
mod tests;
