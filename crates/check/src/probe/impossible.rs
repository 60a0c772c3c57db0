//! What a site answers to names that cannot exist.
//!
//! Owns for which part of a site one such answer speaks. It refuses to know who chose the name.

use clewline_core::url::CrawlUrl;
use serde::{Deserialize, Serialize};

/// The answer to a name that cannot exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImpossibleAnswer {
    /// The status at the end of its redirects.
    pub status: u16,
    /// Where its redirects end, if there are any.
    pub end: Option<CrawlUrl>,
    /// `SimHash` of the words of the page; 0 where there are none.
    pub near: u64,
}

impl ImpossibleAnswer {
    /// Whether the site claims that the page is there.
    pub const fn is_good(&self) -> bool {
        matches!(self.status, 200..=299)
    }
}

/// The part of a site for which one answer speaks: an origin and the first segment of its paths,
/// `https://example.com/blog/`. A name that cannot exist is asked for right below it.
pub fn impossible_place(url: &CrawlUrl) -> String {
    let path = &url.path()[1..];
    let (origin, segment) = (url.origin(), path.split_once('/'));
    match segment {
        Some((segment, _)) if !segment.is_empty() => format!("{origin}/{segment}/"),
        _ => format!("{origin}/"),
    }
}
