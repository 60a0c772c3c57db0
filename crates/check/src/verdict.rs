//! What is said of a link.
//!
//! Owns the six verdicts. It refuses to know who asked and how often; `blocked` and `unsure` exist so
//! that `broken` can be trusted.

use serde::{Deserialize, Serialize};

/// What is said of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkVerdict {
    /// It leads to an answer that is good.
    Ok,
    /// It leads to one behind redirects.
    Moved,
    /// It leads nowhere: an answer says so, or there is no such host.
    Broken,
    /// Whoever answers refuses to be checked.
    Blocked,
    /// No answer proves anything yet: a time-out, a reset, a server's fault.
    Unsure,
    /// Nobody asked: excluded, private, another scheme, or a budget ended.
    Unchecked,
}

impl LinkVerdict {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Moved => "moved",
            Self::Broken => "broken",
            Self::Blocked => "blocked",
            Self::Unsure => "unsure",
            Self::Unchecked => "unchecked",
        }
    }
}
