//! Hosts and the sites they belong to.
//!
//! Owns domain matching and the use of the public suffix list; refuses to know cookies.
//! Invariant: `site` answers a suffix of the host, and the same one for every host a cookie may
//! be shared with.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

/// Whether a cookie goes to the hosts below its domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum CookieReach {
    Host,
    Subdomains,
}

impl CookieReach {
    /// How far a cookie for a whole domain reaches: not below an address, a public suffix or a
    /// name of one label (6265bis section 5.7).
    pub(super) fn below(domain: &str) -> Self {
        let name = domain.strip_suffix('.').unwrap_or(domain);
        if is_address(domain) || psl::domain_str(name).is_none() {
            Self::Host
        } else {
            Self::Subdomains
        }
    }
}

/// Whether a host is an address, which has neither subdomains nor a site beyond itself.
fn is_address(host: &str) -> bool {
    host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok()
}

/// Whether `domain` is `host` or above it (RFC 6265 section 5.1.3).
pub(super) fn covers(domain: &str, host: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|labels| {
        labels.is_empty() || (labels.ends_with('.') && !is_address(host) && !domain.is_empty())
    })
}

/// The registrable domain of a host; the host itself if it is an address, a public suffix or a
/// name of one label. A final dot belongs to the answer: such a host is another host.
pub(super) fn site(host: &str) -> &str {
    if is_address(host) {
        return host;
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    let registrable = psl::domain_str(name).map_or(name.len(), str::len);
    &host[name.len() - registrable..]
}
