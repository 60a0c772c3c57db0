//! What a pattern would leave out of a queue, as data.
//!
//! Owns the shape of the answer, which a running crawl sends over its socket. It refuses to know how a
//! queue is looked through. Invariant: an answer is bounded however long the queue is, and says whether
//! it is about all of it.

use clewline_core::url::CrawlUrl;
use serde::{Deserialize, Serialize};

/// URLs that are looked at; more would hold the crawl up.
pub const MOST_LOOKED_AT: usize = 100_000;
/// URLs that are named.
pub const MOST_NAMED: usize = 10;

/// What a pattern would leave out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExclusionPreview {
    /// Queued URLs that match.
    pub takes: u64,
    /// Queued URLs that were looked at.
    pub looked_at: u64,
    /// There are more, which were not looked at.
    pub at_least: bool,
    /// Some of those that match.
    pub samples: Vec<CrawlUrl>,
}
