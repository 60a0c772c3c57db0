//! What is asked.
//!
//! Owns a request as whoever answers sees it, and which fields may stand in it once only. Refuses
//! to know how its bytes arrive. Invariant: a field that proves where a request comes from stands
//! in it at most once, and is text.

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::http::request::Parts;

/// Fields that decide something. Two hosts are one too many, and the first of two origins proves
/// nothing.
const SINGLE: [&str; 9] = [
    "authorization",
    "content-type",
    "host",
    "idempotency-key",
    "origin",
    "range",
    "referer",
    "sec-fetch-dest",
    "sec-fetch-site",
];

/// A request, with its body if it came to change something.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ServerRequest {
    pub(crate) method: String,
    /// The path and the query, as they were sent; for a proxy, a URL.
    pub(crate) target: String,
    pub(crate) fields: HeaderMap,
    pub(crate) body: Bytes,
}

impl ServerRequest {
    /// Takes over the head of a request to a server.
    pub(super) fn from_parts(head: Parts) -> Result<Self, (u16, &'static str)> {
        if head.uri.authority().is_some() {
            return Err((400, "this is no proxy; ask for a path"));
        }
        let target = head.uri.path_and_query();
        let target = target.map_or("*", |target| target.as_str()).to_owned();
        Self::new(head.method.to_string(), target, head.headers)
    }

    /// A request without a body.
    pub(super) fn new(
        method: String,
        target: String,
        fields: HeaderMap,
    ) -> Result<Self, (u16, &'static str)> {
        for name in SINGLE {
            let mut values = fields.get_all(name).iter();
            let is_text =
                |value: &hyper::header::HeaderValue| std::str::from_utf8(value.as_bytes()).is_ok();
            if !values.next().is_none_or(is_text) || values.next().is_some() {
                return Err((400, "a field is no text, or stands there twice"));
            }
        }
        Ok(Self {
            method,
            target,
            fields,
            body: Bytes::new(),
        })
    }

    /// A field's text, if it is there and is text.
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let value = self.fields.get(name)?;
        std::str::from_utf8(value.as_bytes()).ok().map(str::trim)
    }

    /// Whether it only reads.
    pub(crate) fn is_reading(&self) -> bool {
        matches!(self.method.as_str(), "GET" | "HEAD")
    }

    /// The path, as it was sent.
    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// What follows the question mark.
    pub(crate) fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }
}
