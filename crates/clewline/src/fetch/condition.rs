//! What makes a request conditional.
//!
//! Owns the validators of an earlier answer. It refuses to know whether they are still true: only
//! the server can tell.

/// What a server recognises the earlier state of a page by (RFC 9110 section 13.1).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Condition {
    /// The `ETag` of then, for `If-None-Match`.
    pub etag: Option<String>,
    /// The `Last-Modified` of then, for `If-Modified-Since`.
    pub last_modified: Option<String>,
}
