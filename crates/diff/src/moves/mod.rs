//! Pages that are under another URL now.
//!
//! Owns what a page is known by again: its text, its title, the end of its path, a redirect that
//! leads there. It refuses to know how pages are compared word by word. Invariant: a move is `sure`
//! only where what proves it is unique on both sides; everything else is `likely`.

mod matching;
mod sketch;

use serde::Serialize;

pub(crate) use matching::{Candidate, matched};
pub(crate) use sketch::PageSketch;

/// How sure a move is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MoveCertainty {
    /// What proves it is unique.
    Sure,
    /// It should be looked at.
    Likely,
}

impl MoveCertainty {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sure => "sure",
            Self::Likely => "likely",
        }
    }
}

/// What a move is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MoveReason {
    /// The old URL redirects to the new one.
    Redirect,
    /// The bytes are the same.
    SameBytes,
    /// The text is the same.
    SameText,
    /// The text is nearly the same.
    NearText,
    /// The end of the path and the title are the same.
    PathAndTitle,
    /// The end of the path is the same.
    Path,
    /// The title is the same.
    Title,
}

impl MoveReason {
    /// What it says, for people.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Redirect => "it redirects there",
            Self::SameBytes => "same bytes",
            Self::SameText => "same text",
            Self::NearText => "nearly the same text",
            Self::PathAndTitle => "same end of the path and same title",
            Self::Path => "same end of the path",
            Self::Title => "same title",
        }
    }
}

/// A page under another URL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct PageMove {
    /// Its URL then.
    pub from: String,
    /// Its URL now.
    pub to: String,
    /// How sure that is.
    pub certainty: MoveCertainty,
    /// What it is known by.
    pub reason: MoveReason,
}

#[cfg(test)]
mod tests;
