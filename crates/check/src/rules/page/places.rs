//! Hosts that only their makers can reach.
//!
//! Owns which host names and addresses are private. It refuses to resolve names. Invariant: a name
//! that could be public is not private.

use clewline_core::address::is_public;
use clewline_core::domain::registrable;
use clewline_core::url::CrawlUrl;

/// Names that no public server has (RFC 6761, RFC 6762, RFC 8375, and ICANN's `internal`).
const PRIVATE_ENDS: [&str; 6] = [
    ".localhost",
    ".local",
    ".internal",
    ".home.arpa",
    ".localdomain",
    ".lan",
];

/// Whether a host is private by its name or address.
pub(super) fn is_private_host(url: &CrawlUrl) -> bool {
    if let Some(address) = url.ip() {
        return !is_public(address);
    }
    let host = url.host().trim_end_matches('.');
    host == "localhost" || PRIVATE_ENDS.iter().any(|end| host.ends_with(end))
}

/// Whether a site as a whole is private: a name without a dot is one of a local network.
pub(super) fn is_private_site(page: &CrawlUrl) -> bool {
    let has_no_dot = page.ip().is_none() && !page.host().contains('.');
    has_no_dot || is_private_host(page) || is_staging(page.host())
}

/// Whether a host is where a site is tried out.
pub(super) fn is_staging_of(url: &CrawlUrl, page: &CrawlUrl) -> bool {
    is_staging(url.host()) && registrable(url.host()) == registrable(page.host())
}

fn is_staging(host: &str) -> bool {
    let first = host.split('.').next().unwrap_or_default();
    matches!(first, "staging" | "stg") && host.contains('.')
}
