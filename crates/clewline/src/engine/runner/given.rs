//! An answer that is here already.
//!
//! Owns an answer that a rendering of the crawl asked for and that a page needs as well, or the other way
//! round: what both need is asked for once. It refuses to know what is kept, and for how long. Invariant:
//! such an answer cost no request, so it counts no bytes on the wire and has no exchange.

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use clewline_core::frontier::Ending;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};

use super::JobResult;
use crate::fetch::{Body, BodyTally, FetchFailure, Response, Timings};
use crate::headers::Headers;

/// Bytes that are handed out at once, as from a socket.
const PIECE: usize = 64 * 1024;

/// An answer that is here already, its body whole and decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::engine) struct GivenAnswer {
    pub(in crate::engine) status: u16,
    pub(in crate::engine) headers: Headers,
    pub(in crate::engine) body: Bytes,
    pub(in crate::engine) address: Option<IpAddr>,
    /// How long the host took then, by which it is judged.
    pub(in crate::engine) first_byte: Option<Duration>,
}

impl GivenAnswer {
    /// The answer that a job brought, if it is whole.
    pub(in crate::engine) fn of(result: &JobResult) -> Option<Self> {
        let whole = result.whole.as_ref()?;
        let is_answer = matches!(result.settlement.ending, Ending::Answered(_));
        (is_answer && !result.truncated).then(|| Self {
            status: whole.status,
            headers: whole.headers.clone(),
            body: whole.body.clone(),
            address: result.address,
            first_byte: result.timings.first_byte,
        })
    }

    /// The same as if it came now.
    pub(super) fn response(self) -> Response {
        Response {
            status: self.status,
            headers: self.headers,
            address: self.address,
            timings: Timings {
                first_byte: self.first_byte,
                ..Timings::default()
            },
            protocols: &[],
            body: Box::new(GivenBody {
                rest: self.body,
                decoded: 0,
            }),
        }
    }
}

/// The body of an answer that is here already.
struct GivenBody {
    rest: Bytes,
    decoded: u64,
}

impl Body for GivenBody {
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, FetchFailure>> {
        let piece = self.rest.split_to(self.rest.len().min(PIECE));
        self.decoded += piece.len() as u64;
        ready(Ok((!piece.is_empty()).then_some(piece))).boxed()
    }

    fn tally(&self) -> BodyTally {
        BodyTally {
            decoded: self.decoded,
            ..BodyTally::default()
        }
    }
}
