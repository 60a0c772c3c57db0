//! The body of an answer, piece by piece.
//!
//! Owns the path from the bytes on the wire through framing and decoding, the limits of size on
//! it, and the fate of the connection. Refuses to know time and how connections are made.
//! Invariant: a connection goes back to the pool only after a body that ended whole, with
//! nothing behind it; in every other case, being dropped among them, it is closed.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use clewline_core::outcome::FailureClass;
use futures_util::future::BoxFuture;

use super::decode::{DecodeError, DecodeLimits, DecodeState, Decoder};
use super::flow::Flow;
use super::http1::{BodyReader, ResponseHead};
use super::pool::{Pool, Route};
use super::{Body, BodyTally, FetchFailure};
use crate::exchange::{Recorder, Truncation};
use crate::partial::is_partial;

/// The longest piece of a body.
const LONGEST_PIECE: usize = 64 * 1024;
/// A piece of this size is handed out although more could be added.
const GOOD_PIECE: usize = 32 * 1024;
/// Bytes given to a decoder at once: a coded body can grow a thousandfold and more in one call.
const FEED: usize = 4 * 1024;
/// Framing that may come on top of twice the largest body before it counts as an attack: chunk
/// sizes and extensions are bytes without content.
const FRAMING_ROOM: u64 = 1 << 20;

/// The body of an answer.
pub(crate) struct HttpBody {
    /// Gone once the body has ended, for whatever reason.
    flow: Option<Flow>,
    reader: BodyReader,
    /// An unknown coding only matters if there is a body.
    decoder: Result<Decoder, DecodeError>,
    coded: bool,
    out: BytesMut,
    /// A piece that was not coded: it is handed out where it was read.
    piece: Option<Bytes>,
    /// Told after what was read before it has been handed out.
    failure: Option<FetchFailure>,
    tally: BodyTally,
    budget: Budget,
    home: Home,
    recorder: Option<Recorder>,
}

/// How much of a body may still come.
struct Budget {
    /// Payload bytes before decoding.
    payload: u64,
    /// The same with framing.
    framed: u64,
}

/// Where the connection goes after a whole body.
pub(crate) struct Home {
    pub(crate) pool: Arc<Pool>,
    pub(crate) route: Route,
}

impl HttpBody {
    /// A body that begins after `head`.
    pub(crate) fn new(
        flow: Flow,
        head: &ResponseHead,
        reader: BodyReader,
        max_body: u64,
        home: Home,
    ) -> Self {
        let codings: Vec<_> = head.headers.all("content-encoding").collect();
        let limits = DecodeLimits {
            output: max_body,
            ..DecodeLimits::default()
        };
        let mut body = Self {
            tally: BodyTally {
                wire: flow.count,
                truncated: is_partial(head.status, &head.headers),
                ..BodyTally::default()
            },
            flow: Some(flow),
            decoder: Decoder::new(&codings, &limits),
            coded: !codings.is_empty(),
            reader,
            out: BytesMut::new(),
            piece: None,
            failure: None,
            budget: Budget {
                payload: max_body,
                framed: max_body.saturating_mul(2).saturating_add(FRAMING_ROOM),
            },
            home,
            recorder: None,
        };
        if body.reader.is_done() {
            body.finish();
        }
        body
    }

    /// The same with a recorder, which has the head already.
    pub(crate) fn recorded(mut self, mut recorder: Option<Recorder>) -> Self {
        if let (Some(recorder), true) = (&mut recorder, self.reader.is_done()) {
            recorder.whole();
        }
        self.recorder = recorder;
        self
    }

    async fn next(&mut self) -> Result<Option<Bytes>, FetchFailure> {
        loop {
            let waiting = self
                .flow
                .as_ref()
                .is_some_and(|flow| !flow.input.unread().is_empty());
            if self.out.len() >= GOOD_PIECE || (!waiting && !self.out.is_empty()) {
                let length = self.out.len().min(LONGEST_PIECE);
                return Ok(Some(self.out.split_to(length).freeze()));
            }
            if let Some(piece) = self.piece.take() {
                return Ok(Some(piece));
            }
            let Some(flow) = &mut self.flow else {
                return self.failure.take().map_or(Ok(None), Err);
            };
            if waiting {
                self.digest();
                continue;
            }
            let read = flow.read().await;
            self.tally.wire = flow.count;
            match read {
                Ok(0) => self.closed(),
                Ok(_) => {}
                Err(failure) => self.fail(failure),
            }
        }
    }

    /// Takes the next part of what was read through framing and decoding.
    fn digest(&mut self) {
        let Some(flow) = &mut self.flow else {
            return;
        };
        let unread = flow.input.unread();
        let most = if self.coded { FEED } else { LONGEST_PIECE };
        let step = match self.reader.advance(&unread[..unread.len().min(most)]) {
            Ok(step) => step,
            Err(error) => {
                let failure = flow.misframed(error);
                if let Some(recorder) = &mut self.recorder {
                    recorder.body(unread, &[]);
                }
                return self.fail(failure);
            }
        };
        if let Some(recorder) = &mut self.recorder {
            recorder.body(&unread[..step.consumed], step.data);
            if step.done {
                recorder.whole();
            }
        }
        let room = usize::try_from(self.budget.payload).unwrap_or(usize::MAX);
        let allowed = &step.data[..step.data.len().min(room)];
        // Copied only where it has to be: bytes of a page are many.
        let is_plain = !self.coded && self.out.is_empty() && allowed.len() == step.consumed;
        let fed = if is_plain {
            feed(&mut self.decoder, allowed, &mut |_| {})
        } else {
            let out = &mut self.out;
            feed(&mut self.decoder, allowed, &mut |piece| {
                out.extend_from_slice(piece);
            })
        };
        let over = allowed.len() < step.data.len() || step.consumed as u64 > self.budget.framed;
        self.budget.payload -= allowed.len() as u64;
        self.budget.framed = self.budget.framed.saturating_sub(step.consumed as u64);
        let done = step.done;
        let consumed = step.consumed;
        if is_plain {
            self.piece = Some(flow.input.take(consumed)).filter(|piece| !piece.is_empty());
        } else {
            flow.input.consume(consumed);
        }
        match fed {
            Err(error) => {
                let failure = flow.failure(FailureClass::Decode, &error.to_string());
                self.fail(failure);
            }
            Ok(DecodeState::Capped) => self.cut(),
            Ok(_) if over => self.cut(),
            Ok(_) if done => self.finish(),
            Ok(_) => {}
        }
    }

    /// The server closed its side.
    fn closed(&mut self) {
        match (self.reader.end_of_stream(), &self.flow) {
            (Ok(()), _) => {
                if let Some(recorder) = &mut self.recorder {
                    recorder.whole();
                }
                self.finish();
            }
            (Err(error), Some(flow)) => {
                let failure = flow.misframed(error);
                self.fail(failure);
            }
            (Err(_), None) => {}
        }
    }

    /// The framing says that the body is whole.
    fn finish(&mut self) {
        let state = match &mut self.decoder {
            Ok(decoder) => decoder.finish(&mut |piece| self.out.extend_from_slice(piece)),
            // Nothing came that would have to be decoded.
            Err(_) => Ok(DecodeState::Whole),
        };
        match (state, self.flow.take()) {
            (Err(error), Some(flow)) => {
                self.failure = Some(flow.failure(FailureClass::Decode, &error.to_string()));
            }
            (Ok(state), Some(flow)) => {
                self.tally.truncated |= state != DecodeState::Whole;
                let is_own = flow.wire.http2().is_none();
                if is_own && self.reader.reusable() && flow.input.unread().is_empty() {
                    self.home.pool.put(self.home.route.clone(), flow.wire);
                }
            }
            (_, None) => {}
        }
    }

    /// The size limit is reached: what there is counts, the rest stays unread.
    fn cut(&mut self) {
        if let Ok(decoder) = &mut self.decoder {
            // What the coding still holds is welcome, a fault in it is not news: it was cut.
            let _ = decoder.finish(&mut |piece| self.out.extend_from_slice(piece));
        }
        self.tally.truncated = true;
        self.missing(Truncation::Length);
        self.flow = None;
    }

    fn fail(&mut self, failure: FetchFailure) {
        self.missing(match failure.class {
            FailureClass::Timeout | FailureClass::TooSlow => Truncation::Time,
            FailureClass::Incomplete | FailureClass::Reset => Truncation::Disconnect,
            _ => Truncation::Unspecified,
        });
        self.failure = Some(failure);
        self.flow = None;
    }

    /// The answer is not read on, which only matters if it has not ended by itself.
    fn missing(&mut self, reason: Truncation) {
        if let (Some(recorder), false) = (&mut self.recorder, self.reader.is_done()) {
            recorder.cut(reason);
        }
    }
}

fn feed(
    decoder: &mut Result<Decoder, DecodeError>,
    data: &[u8],
    sink: &mut dyn FnMut(&[u8]),
) -> Result<DecodeState, DecodeError> {
    if data.is_empty() {
        return Ok(DecodeState::Open);
    }
    match decoder {
        Ok(decoder) => decoder.feed(data, sink),
        Err(error) => Err(*error),
    }
}

impl Body for HttpBody {
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, FetchFailure>> {
        Box::pin(self.next())
    }

    fn tally(&self) -> BodyTally {
        let decoded = self.decoder.as_ref().map_or(0, Decoder::output_bytes);
        BodyTally {
            decoded,
            ..self.tally
        }
    }
}
