//! What follows from the end of an exchange.
//!
//! Owns the one silent second try: on a connection that the server closed while it was idle, and for a
//! request that a server of HTTP/2 did not process or wants by HTTP/1.1. Refuses to know how a request is
//! sent. Invariant: a second try is the last, and where requests keep a distance there is none.

use std::future::ready;
use std::net::IpAddr;
use std::time::Instant;

use bytes::Bytes;
use clewline_core::outcome::FailureClass;
use futures_util::future::BoxFuture;

use super::client::HttpFetcher;
use super::flow::Flow;
use super::http1::ResponseHead;
use super::http2::{HostProtocol, Http2Stream, StreamRefusal};
use super::silence::Silence;
use super::{Body, BodyTally, FetchFailure, Request, Response};
use crate::exchange::Recorder;
use crate::headers::Headers;

/// What a server says that wants another connection or version (RFC 9110 sections 15.5.20 and
/// 15.6.6).
const WANT_HTTP_1: [u16; 2] = [421, 505];

/// What HTTP/1.1 says where HTTP/2 says `ENHANCE_YOUR_CALM` (RFC 6585 section 4).
const TOO_MANY_REQUESTS: u16 = 429;

/// The head of an answer, and who records it.
pub(super) type Asked = (ResponseHead, Option<Recorder>);

/// Which try of a request it is, and on what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    /// The first, on a connection that was there.
    Reused,
    /// The first, on a new one.
    Fresh,
    /// The silent second one.
    Second,
}

/// What follows from the end of an exchange.
pub(super) enum After {
    Answered(Response),
    /// The same again on a new connection, with what is left of the patience.
    Again(Silence),
}

impl HttpFetcher {
    /// What follows from the end of an exchange: an answer, or the one silent second try.
    pub(super) fn after(
        &self,
        asked: Result<Asked, FetchFailure>,
        flow: Flow,
        request: &Request,
        attempt: Attempt,
    ) -> Result<After, FetchFailure> {
        if let Some(stream) = flow.wire.http2() {
            let refusal = stream.refusal();
            return self.after_stream(asked, flow, request, (attempt, refusal));
        }
        match asked {
            Ok((head, recorder)) => self.response(flow, head, recorder, request),
            // The server closed the connection while it was idle, which it may at any time
            // (RFC 9112 section 9.3.1): the request is safe to repeat.
            Err(failure) if attempt == Attempt::Reused && failure.class == FailureClass::Reset => {
                again(flow, request, failure)
            }
            Err(failure) => Err(failure),
        }
    }

    /// The same for a stream of HTTP/2, whose server may have said why it does not answer.
    fn after_stream(
        &self,
        asked: Result<Asked, FetchFailure>,
        flow: Flow,
        request: &Request,
        (attempt, refusal): (Attempt, Option<StreamRefusal>),
    ) -> Result<After, FetchFailure> {
        let failure = match asked {
            Ok((head, recorder)) if WANT_HTTP_1.contains(&head.status) => {
                if let Some(recorder) = recorder {
                    recorder.discard();
                }
                self.learn(request, HostProtocol::Http1)?;
                flow.failure(FailureClass::Protocol, "the server wants HTTP/1.1")
            }
            Ok((head, recorder)) => return self.response(flow, head, recorder, request),
            Err(failure) => failure,
        };
        let Some(refusal) = refusal
            .or((failure.class == FailureClass::Protocol).then_some(StreamRefusal::OtherProtocol))
        else {
            return Err(failure);
        };
        let may_repeat = match refusal {
            StreamRefusal::Calm => return Ok(After::Answered(too_many(&flow, request.address))),
            StreamRefusal::Unprocessed | StreamRefusal::OtherProtocol => attempt != Attempt::Second,
            StreamRefusal::Ended => attempt == Attempt::Reused,
            StreamRefusal::Broken => false,
        };
        if matches!(
            refusal,
            StreamRefusal::OtherProtocol | StreamRefusal::Broken
        ) {
            self.learn(request, HostProtocol::Http1)?;
        }
        if may_repeat {
            return again(flow, request, failure);
        }
        Err(FetchFailure {
            class: refusal.class(),
            ..failure
        })
    }
}

/// The silent second try. Where requests keep a distance it has to wait for its turn: as far as
/// anybody knows the server may have seen the first.
fn again(flow: Flow, request: &Request, failure: FetchFailure) -> Result<After, FetchFailure> {
    if request.spaced {
        return Err(FetchFailure {
            withheld: Some(Instant::now()),
            ..failure
        });
    }
    Ok(After::Again(flow.silence))
}

/// The answer of a server that asks for calm.
fn too_many(flow: &Flow, address: Option<IpAddr>) -> Response {
    let (protocols, wire) = (
        flow.wire.http2().map_or(&[][..], Http2Stream::protocols),
        flow.count,
    );
    Response {
        status: TOO_MANY_REQUESTS,
        headers: Headers::default(),
        address,
        timings: flow.timings,
        protocols,
        body: Box::new(NoBody { wire }),
    }
}

/// The body of an answer that has none.
struct NoBody {
    wire: u64,
}

impl Body for NoBody {
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, FetchFailure>> {
        Box::pin(ready(Ok(None)))
    }

    fn tally(&self) -> BodyTally {
        BodyTally {
            wire: self.wire,
            ..BodyTally::default()
        }
    }
}
