//! HTTP/2, as a way to carry what HTTP/1.1 says.
//!
//! Owns connections that many requests share, their streams, and the rewriting of a request and its
//! answer between both forms. A stream looks like a connection of HTTP/1.1 to whatever is above it:
//! it takes the bytes of a request and gives those of an answer, so that time limits, size limits,
//! decoding and recording exist once. Refuses to know which host may be asked how often: a stream is
//! a request in flight like any other. Invariants: what a server did not process is told apart from
//! what it may have; bytes that bring no stream forward are bounded.

mod guard;
mod rewrite;
mod shared;
mod stream;

use std::io;

use clewline_core::outcome::FailureClass;
use h2::Reason;

pub(crate) use guard::GuardedStream;
pub(crate) use shared::{HostProtocol, Http2Connection, SharedConnections};
pub(crate) use stream::Http2Stream;

/// The protocol as TLS names it.
pub(crate) const ALPN: &[u8] = b"h2";

/// Bytes of one answer that may come before they are read.
const STREAM_WINDOW: u32 = 1024 * 1024;

/// The same of all answers together, so that one slow reader does not stop the others.
const CONNECTION_WINDOW: u32 = 16 * STREAM_WINDOW;

/// Streams that were given up and whose last frames may still come.
const MOST_RESET: usize = 128;

/// What a server said instead of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamRefusal {
    /// It did not process the request, which may be sent again.
    Unprocessed,
    /// It wants HTTP/1.1.
    OtherProtocol,
    /// It is asked too often.
    Calm,
    /// One of both sides breaks the protocol.
    Broken,
    /// The connection or the stream ended; nobody knows why.
    Ended,
}

impl StreamRefusal {
    /// What an error of a stream that has no answer yet means.
    fn from_error(error: &h2::Error) -> Self {
        let Some(reason) = error.reason() else {
            return Self::Ended;
        };
        match reason {
            Reason::REFUSED_STREAM => Self::Unprocessed,
            // The error does not tell which streams the server still answers. One that it does
            // answer gets its answer before this error; so this one was not processed.
            Reason::NO_ERROR if error.is_go_away() => Self::Unprocessed,
            Reason::HTTP_1_1_REQUIRED => Self::OtherProtocol,
            Reason::ENHANCE_YOUR_CALM if error.is_remote() => Self::Calm,
            // This side asks for calm where frames come without end.
            Reason::ENHANCE_YOUR_CALM
            | Reason::PROTOCOL_ERROR
            | Reason::COMPRESSION_ERROR
            | Reason::FRAME_SIZE_ERROR
            | Reason::FLOW_CONTROL_ERROR
            | Reason::SETTINGS_TIMEOUT => Self::Broken,
            _ => Self::Ended,
        }
    }

    /// The class of the failure where this is the end of a try.
    pub(crate) const fn class(self) -> FailureClass {
        match self {
            Self::Broken | Self::OtherProtocol => FailureClass::Protocol,
            Self::Unprocessed | Self::Calm | Self::Ended => FailureClass::Reset,
        }
    }
}

/// An error of the protocol as one of the connection.
fn io_error(error: &h2::Error) -> io::Error {
    let kind = if error.is_io() {
        io::ErrorKind::ConnectionReset
    } else {
        io::ErrorKind::InvalidData
    };
    io::Error::new(kind, error.to_string())
}
