//! One request over a shared connection.
//!
//! Owns the states of a stream, from the request to the last byte of its answer, and gives room back
//! to the connection as bytes are read. Invariant: dropping it early resets the stream and nothing
//! else; what it waits with is a few hundred bytes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes, BytesMut};
use h2::RecvStream;
use h2::client::{ResponseFuture, SendRequest};

use super::shared::ConnectionUse;
use super::{StreamRefusal, io_error, rewrite};

/// A request and its answer on a connection of many.
pub(crate) struct Http2Stream {
    state: StreamState,
    place: ConnectionUse,
    refusal: Option<StreamRefusal>,
}

enum StreamState {
    /// Nothing was sent.
    Fresh(SendRequest<Bytes>),
    /// The head has not come.
    Waiting(ResponseFuture),
    /// The answer comes; these bytes of it are not read yet.
    Answered {
        text: Bytes,
        body: RecvStream,
        /// Room that reading the text gives back: none for the head.
        is_body: bool,
    },
    /// It has ended.
    Ended,
}

impl Http2Stream {
    pub(super) const fn new(sender: SendRequest<Bytes>, place: ConnectionUse) -> Self {
        Self {
            state: StreamState::Fresh(sender),
            place,
            refusal: None,
        }
    }

    /// What the server said instead of an answer, if it did.
    pub(crate) const fn refusal(&self) -> Option<StreamRefusal> {
        self.refusal
    }

    /// The protocols from the outside in, as archives name them.
    pub(crate) fn protocols(&self) -> &'static [&'static str] {
        self.place.protocols()
    }

    /// Sends the request that these bytes of HTTP/1.1 make.
    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let StreamState::Fresh(sender) = std::mem::replace(&mut self.state, StreamState::Ended)
        else {
            return Err(io::Error::other("a stream carries one request"));
        };
        let request = rewrite::request(bytes)
            .ok_or_else(|| io::Error::other("the request cannot be sent over HTTP/2"))?;
        let sent = match sender.ready().await {
            Ok(mut sender) => sender.send_request(request, true),
            Err(error) => Err(error),
        };
        match sent {
            Ok((answer, _)) => {
                self.state = StreamState::Waiting(answer);
                Ok(())
            }
            Err(error) => Err(self.fail(&error)),
        }
    }

    /// Notes why there is no answer. Nobody reads on after that.
    fn fail(&mut self, error: &h2::Error) -> io::Error {
        self.refusal = Some(StreamRefusal::from_error(error));
        self.state = StreamState::Ended;
        // A stream that was reset says nothing of the others.
        if !error.is_reset() {
            self.place.close();
        }
        io_error(error)
    }

    /// Reads what is there of the answer; zero at its end.
    pub(crate) fn poll_read_buf(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut BytesMut,
    ) -> Poll<io::Result<usize>> {
        loop {
            match &mut self.state {
                StreamState::Fresh(_) | StreamState::Ended => return Poll::Ready(Ok(0)),
                StreamState::Waiting(answer) => match ready!(Pin::new(answer).poll(cx)) {
                    Err(error) => return Poll::Ready(Err(self.fail(&error))),
                    Ok(answer) => {
                        self.place.progress();
                        let text = rewrite::response(&answer);
                        let body = answer.into_body();
                        self.state = StreamState::Answered {
                            text,
                            body,
                            is_body: false,
                        };
                    }
                },
                StreamState::Answered {
                    text,
                    body,
                    is_body,
                } => {
                    if !text.is_empty() {
                        return Poll::Ready(take(text, body, *is_body, into));
                    }
                    match ready!(body.poll_data(cx)) {
                        None => {
                            self.state = StreamState::Ended;
                            return Poll::Ready(Ok(0));
                        }
                        Some(Ok(piece)) => {
                            self.place.progress();
                            (*text, *is_body) = (piece, true);
                        }
                        Some(Err(error)) => {
                            self.state = StreamState::Ended;
                            return Poll::Ready(Err(io_error(&error)));
                        }
                    }
                }
            }
        }
    }
}

/// Hands over as much of the text as there is room for.
fn take(
    text: &mut Bytes,
    body: &mut RecvStream,
    is_body: bool,
    into: &mut BytesMut,
) -> io::Result<usize> {
    let room = into.capacity() - into.len();
    let count = text.len().min(room);
    into.extend_from_slice(&text[..count]);
    text.advance(count);
    if is_body {
        let released = body.flow_control().release_capacity(count);
        released.map_err(|error| io_error(&error))?;
    }
    Ok(count)
}

impl std::fmt::Debug for Http2Stream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let refusal = &self.refusal;
        formatter
            .debug_struct("Http2Stream")
            .field("refusal", refusal)
            .finish_non_exhaustive()
    }
}
