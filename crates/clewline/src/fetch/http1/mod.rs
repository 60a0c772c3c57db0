//! HTTP/1.1 on the wire: what is written, and where what is read begins and ends.
//!
//! Owns the request head, the response head and the framing of the body (RFC 9112), as pure
//! state machines: bytes in, decisions out. Refuses to know sockets, time, redirects and what
//! any body means. Invariant: every byte given is accounted for exactly once in a `consumed` or
//! `raw_len`, so that the driver can keep the wire bytes verbatim, and how the bytes were split
//! into reads never changes a decision.
//!
//! It is lenient where browsers and curl are, and strict where framing is in doubt: then the
//! body is read to the close or refused, and the connection is never used again.

mod body;
mod head;
mod request;
#[cfg(test)]
mod tests;

pub(crate) use body::{BodyReader, BodyStep};
pub(crate) use head::{HeadLimits, HeadReader, HeadStep, ResponseHead, parse_head};
pub(crate) use request::{Method, RequestError, RequestHead, Target, write_request};

/// Why an answer could not be read as HTTP/1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum FramingError {
    /// The answer does not begin with an HTTP/1 status line.
    #[error("the answer is not HTTP/1")]
    NotHttp,
    /// A control character or a lone carriage return stands where none may.
    #[error("the response head is malformed")]
    MalformedHead,
    /// More header bytes or fields than allowed, trailers included.
    #[error("the response head is too large")]
    HeadTooLarge,
    /// Too many interim responses, or a switch of protocols that nobody asked for.
    #[error("too many or unexpected interim responses")]
    Interim,
    /// Content-Length is not a number, or several that differ.
    #[error("the Content-Length is invalid or contradicts itself")]
    Length,
    /// A transfer coding other than `chunked`.
    #[error("the transfer coding is not supported")]
    TransferCoding,
    /// The chunked framing is broken.
    #[error("the chunked body is malformed")]
    Chunk,
    /// The connection ended before the body did.
    #[error("the connection closed before the end of the body")]
    Truncated,
}
