//! The bytes of an exchange, as they were on the wire.
//!
//! Owns what is kept of a request and its answer, and where: in memory while it is small, in a
//! nameless file of the job folder beyond that. Refuses to know HTTP and archives: it is told
//! where the head ends and what is payload. Invariant: the response is the bytes that came, in
//! order and without a gap; where bytes are missing at the end, it says so and why.

mod buffers;
mod recorder;
mod spool;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::time::SystemTime;

use clewline_core::url::CrawlUrl;
pub(crate) use clewline_warc::{Digest, Moment, Truncation};

pub(crate) use recorder::{Recorder, Recording};
pub(crate) use spool::{BytesLocation, Secrets, Spool, Stored};

/// A request and its answer.
#[derive(Debug)]
pub struct Exchange {
    /// What was asked for.
    pub url: CrawlUrl,
    /// The address that answered; none through a proxy.
    pub address: Option<IpAddr>,
    /// When the request was sent.
    pub started_at: SystemTime,
    /// The head of the request; secrets are replaced unless the spool keeps them.
    pub request: Vec<u8>,
    /// The status of the answer.
    pub status: u16,
    /// The media type of the answer without parameters, lower-case.
    pub media_type: Option<String>,
    /// How the body is coded, as [`clewline_warc::http::HttpHead::codings`] tells it.
    pub codings: String,
    /// Head and body of the answer, framing and codings as they came.
    pub response: Stored,
    /// Where the head ends in the response.
    pub head_length: u64,
    /// SHA-1 of the response as it is.
    pub block_digest: Digest,
    /// SHA-1 of the payload: the body without its framing, content codings left in place.
    pub payload_digest: Digest,
    /// Bytes of the payload.
    pub payload_length: u64,
    /// Set if the end of the answer is missing.
    pub truncation: Option<Truncation>,
    /// The protocols from the outside in, as archives name them; none for HTTP/1.1, whose bytes are
    /// those on the wire.
    pub protocols: &'static [&'static str],
    /// Set if the server said that nothing changed since an earlier capture.
    pub unmodified: Option<Unmodified>,
}

/// The earlier capture that an answer without a body stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmodified {
    /// Its URL.
    pub target: Box<str>,
    /// When it was made.
    pub date: Moment,
    /// The digest of its payload, if it is known.
    pub digest: Option<Digest>,
}
