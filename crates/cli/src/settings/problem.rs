//! What is wrong with the settings, in words a user can act on.
//!
//! Owns the shape of such a message: where, what, and what to write instead. It never carries a
//! secret; whoever makes one of a secret setting leaves the value out.

use std::fmt;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// `--delay`, `clewline.toml:3: delay`, or what the user typed.
    pub(crate) place: String,
    /// What is wrong and what to write instead.
    pub(crate) message: String,
    /// A way on that is not a correction of the value.
    pub(crate) hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            message: message.into(),
            hint: None,
        }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.message)
    }
}
