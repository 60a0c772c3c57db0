//! Ink: what colours say on a terminal.
//!
//! Owns the meanings that text can have and their codes. Refuses to know whether there is colour
//! at all: who paints has asked before.

use std::borrow::Cow;

/// What the look of a text says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Nothing beyond its words.
    Plain,
    /// It is a title, or what was looked for.
    Strong,
    /// It is beside the point.
    Faint,
    /// All is well.
    Good,
    /// It should be looked at.
    Warn,
    /// It went wrong.
    Bad,
}

impl Ink {
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Faint => "2",
            Self::Good => "32",
            Self::Warn => "33",
            Self::Bad => "31",
        }
    }

    /// Text in this ink; what is blank takes none.
    ///
    /// ```
    /// use clewline::report::Ink;
    /// assert_eq!(Ink::Bad.paint("404"), "\u{1b}[31m404\u{1b}[0m");
    /// assert_eq!(Ink::Bad.paint("  "), "  ");
    /// ```
    pub fn paint(self, text: &str) -> Cow<'_, str> {
        if self == Self::Plain || text.trim().is_empty() {
            return Cow::Borrowed(text);
        }
        Cow::Owned(format!("\x1b[{}m{text}\x1b[0m", self.code()))
    }
}
