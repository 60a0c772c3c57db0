//! Registrable domains by the public suffix list.
//!
//! Owns the answer to "whose site is this host?", used by scope, politeness, cookies and keys.

use crate::url::host_ip;

/// The registrable domain of a serialised host; for addresses and for hosts that are
/// themselves a public suffix, the host itself stands for it.
///
/// ```
/// use clewline_core::domain::registrable;
/// assert_eq!(registrable("www.example.co.uk"), "example.co.uk");
/// assert_eq!(registrable("127.0.0.1"), "127.0.0.1");
/// ```
pub fn registrable(host: &str) -> &str {
    if host_ip(host).is_some() {
        return host;
    }
    let bare = host.strip_suffix('.').unwrap_or(host);
    psl::domain_str(bare).unwrap_or(host)
}

/// A host without a leading `www.`, the way people think of a site.
pub fn without_www(host: &str) -> &str {
    match host.strip_prefix("www.") {
        Some(rest) if rest.contains('.') && host_ip(host).is_none() => rest,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrable_domains() {
        for (host, expected) in [
            ("example.com", "example.com"),
            ("a.b.example.com", "example.com"),
            ("example.co.uk", "example.co.uk"),
            ("co.uk", "co.uk"),
            ("user.github.io", "user.github.io"),
            ("localhost", "localhost"),
            ("[::1]", "[::1]"),
            ("example.com.", "example.com"),
        ] {
            assert_eq!(registrable(host), expected, "{host}");
        }
    }

    #[test]
    fn www_is_ignored_only_where_a_site_remains() {
        assert_eq!(without_www("www.example.com"), "example.com");
        assert_eq!(without_www("www.com"), "www.com");
        assert_eq!(without_www("wwwx.example.com"), "wwwx.example.com");
    }
}
