//! The bounds of a crawl: what it may spend and how far it may go.
//!
//! Owns the numbers and their defaults; the frontier keeps them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Everything that ends or bounds a crawl. `None` is unlimited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Requests in flight in all.
    pub concurrency: u32,
    /// Tries per URL.
    pub tries: u32,
    /// Redirect hops per chain.
    pub redirects: u32,
    /// Links away from a root.
    pub depth: Option<u32>,
    /// Pages fetched in all.
    pub pages: Option<u64>,
    /// Pages fetched per host.
    pub pages_per_host: Option<u64>,
    /// Bytes read from the network.
    pub bytes: Option<u64>,
    /// Time from the start.
    pub time: Option<Duration>,
    /// Longest URL, in bytes.
    pub url_length: usize,
    /// How often one path segment may occur in a URL.
    pub repeated_segments: usize,
    /// Consecutive host failures after which a host's queue is given up.
    pub host_failures: u32,
    /// Different pages that fail in a row, with server errors or without a whole answer, after which
    /// a host's queue is given up. Some of them were asked again before.
    pub failed_pages: u32,
}

impl Limits {
    /// Takes away the budgets that a fleet counts for all of its members.
    pub const fn leave_to_fleet(&mut self) {
        self.pages = None;
        self.bytes = None;
        self.time = None;
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            concurrency: 100,
            tries: 4,
            redirects: 10,
            depth: None,
            pages: None,
            pages_per_host: None,
            bytes: None,
            time: None,
            url_length: 8 * 1024,
            repeated_segments: 3,
            host_failures: 12,
            failed_pages: 100,
        }
    }
}
