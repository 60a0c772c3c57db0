//! One cookie: what identifies it, whom it is sent to, and what may not be in it.
//!
//! Owns the questions a cookie can answer alone; refuses to know the jar. Invariant: its value
//! never shows in debug output.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::host::{self, CookieReach};
use super::{CookieContext, MAX_ATTRIBUTE_BYTES, MAX_COOKIE_BYTES};

#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Cookie {
    pub(super) name: Box<str>,
    pub(super) value: Box<str>,
    pub(super) domain: Box<str>,
    pub(super) path: Box<str>,
    pub(super) reach: CookieReach,
    pub(super) secure: bool,
    /// In seconds since 1970; none lasts as long as the crawl.
    pub(super) expires: Option<u64>,
    /// Orders cookies by creation.
    pub(super) created: u64,
    /// Orders cookies by when they were last set; no two of a jar are equal.
    pub(super) used: u64,
}

impl Cookie {
    pub(super) fn bytes(&self) -> usize {
        self.name.len() + self.value.len() + self.domain.len() + self.path.len()
    }

    /// Whether name and value can stand in a header without being taken for something else.
    pub(super) fn is_sendable(&self) -> bool {
        let is_bad = |byte: u8| byte == b';' || (byte.is_ascii_control() && byte != b'\t');
        let mut bytes = self.name.bytes().chain(self.value.bytes());
        let is_empty = self.name.is_empty() && self.value.is_empty();
        let is_ambiguous = self.name.contains('=') || bytes.any(is_bad);
        !is_empty && !is_ambiguous
    }

    pub(super) fn is_small(&self) -> bool {
        self.name.len() + self.value.len() <= MAX_COOKIE_BYTES
            && self.domain.len().max(self.path.len()) <= MAX_ATTRIBUTE_BYTES
    }

    pub(super) fn is_expired(&self, now: u64) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// Whether both are the same cookie, perhaps with another value (6265bis section 5.7).
    pub(super) fn is_same(&self, other: &Cookie) -> bool {
        self.name == other.name
            && self.domain == other.domain
            && self.reach == other.reach
            && self.path == other.path
    }

    pub(super) fn is_sent_to(&self, context: CookieContext<'_>, now: u64) -> bool {
        let covers = match self.reach {
            CookieReach::Host => *self.domain == *context.host,
            CookieReach::Subdomains => host::covers(&self.domain, context.host),
        };
        covers
            && (context.secure || !self.secure)
            && !self.is_expired(now)
            && path_matches(&self.path, context.plain_path())
    }

    /// Whether this plain cookie could be taken for the secure cookie `other`
    /// (6265bis section 5.7, "leave secure cookies alone").
    pub(super) fn overlays(&self, other: &Cookie) -> bool {
        other.secure
            && self.name == other.name
            && (host::covers(&self.domain, &other.domain)
                || host::covers(&other.domain, &self.domain))
            && path_matches(&other.path, &self.path)
    }
}

/// Values are secrets: sessions, logins.
impl fmt::Debug for Cookie {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Cookie")
            .field("name", &self.name)
            .field("value", &"(redacted)")
            .field("domain", &self.domain)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// RFC 6265 section 5.1.4.
fn path_matches(cookie_path: &str, path: &str) -> bool {
    path.strip_prefix(cookie_path)
        .is_some_and(|rest| rest.is_empty() || cookie_path.ends_with('/') || rest.starts_with('/'))
}
