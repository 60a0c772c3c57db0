//! One exchange on one connection: the request out, the head in, the body piece by piece.
//!
//! Owns the time limits while bytes travel, the counting of bytes and the fate of the
//! connection. Refuses to know how connections are made and what fields a request has.
//! Invariant: a connection goes back to the pool only after a body that ended whole, with
//! nothing behind it; in every other case, being dropped among them, it is closed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use clewline_core::outcome::FailureClass;
use futures_util::future::BoxFuture;
use tokio::time::timeout_at;

use super::decode::{DecodeError, DecodeLimits, DecodeState, Decoder};
use super::http1::{BodyReader, FramingError, HeadLimits, HeadReader, HeadStep, ResponseHead};
use super::pool::{Pool, Route};
use super::wire::{Buffers, Input, Wire};
use super::{Body, BodyTally, FetchFailure, Timings};

/// The longest piece of a body.
const LONGEST_PIECE: usize = 64 * 1024;
/// A piece of this size is handed out although more could be added.
const GOOD_PIECE: usize = 32 * 1024;
/// Bytes given to a decoder at once: a coded body can grow a thousandfold and more in one call.
const FEED: usize = 4 * 1024;
/// Framing that may come on top of twice the largest body before it counts as an attack: chunk
/// sizes and extensions are bytes without content.
const FRAMING_ROOM: u64 = 1 << 20;

/// The slowest that an answer may come, once it has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Bytes that each window must bring; zero asks for nothing.
    needed: u64,
    window: Duration,
    waited: Duration,
    bytes: u64,
}

impl Pace {
    /// At least `rate` bytes per second, on average over each window of waiting.
    pub(crate) fn new(rate: u64, window: Duration) -> Self {
        Self {
            needed: (rate as f64 * window.as_secs_f64()).ceil() as u64,
            window,
            waited: Duration::ZERO,
            bytes: 0,
        }
    }

    /// Until when the window lasts if waiting begins now; only waiting counts, because a slow
    /// reader of the body is not the server's fault.
    fn ends(&self, now: Instant) -> Option<Instant> {
        (self.needed > 0).then(|| now + self.window.saturating_sub(self.waited))
    }

    /// Notes what a wait brought; false if a window passed with too little.
    fn keeps_up(&mut self, waited: Duration, bytes: u64) -> bool {
        self.waited += waited;
        self.bytes += bytes;
        if self.needed == 0 || self.waited < self.window {
            return true;
        }
        let enough = self.bytes >= self.needed;
        self.waited = Duration::ZERO;
        self.bytes = 0;
        enough
    }
}

/// The bytes of one exchange.
pub(crate) struct Flow {
    wire: Wire,
    input: Input,
    deadline: Instant,
    pace: Pace,
    timings: Timings,
    count: u64,
}

impl Flow {
    pub(crate) fn new(
        wire: Wire,
        buffers: Arc<Buffers>,
        timings: Timings,
        deadline: Instant,
        pace: Pace,
    ) -> Self {
        Self {
            wire,
            input: Input::new(buffers),
            deadline,
            pace,
            timings,
            count: 0,
        }
    }

    /// Writes the request. A server may answer and close before it has read everything, so an
    /// error here is left for the reading to find out about.
    pub(crate) async fn send(&mut self, request: &[u8]) -> Result<(), FetchFailure> {
        let sent = timeout_at(self.deadline.into(), self.wire.send(request)).await;
        self.timings.sent_at = Some(Instant::now());
        match sent {
            Ok(_) => Ok(()),
            Err(_) => Err(self.too_late()),
        }
    }

    /// Reads up to the end of the final head.
    pub(crate) async fn head(&mut self, limits: &HeadLimits) -> Result<ResponseHead, FetchFailure> {
        let mut reader = HeadReader::new(limits);
        loop {
            if self.read().await? == 0 {
                return Err(self.cut_off("the connection closed"));
            }
            loop {
                match reader.read(self.input.unread()) {
                    Ok(HeadStep::NeedMore) => break,
                    Ok(HeadStep::Informational { consumed, .. }) => self.input.consume(consumed),
                    Ok(HeadStep::Complete(head)) => {
                        self.input.consume(head.raw_len);
                        return Ok(head);
                    }
                    Err(error) => return Err(self.misframed(error)),
                }
            }
        }
    }

    /// Reads what comes next; zero at the end of the stream.
    async fn read(&mut self) -> Result<usize, FetchFailure> {
        loop {
            let begun = Instant::now();
            let window = self.pace.ends(begun).filter(|_| self.count > 0);
            let until = window.map_or(self.deadline, |end| end.min(self.deadline));
            let read = timeout_at(until.into(), self.wire.read(&mut self.input)).await;
            let waited = begun.elapsed();
            let count = match read {
                Ok(Ok(count)) => count,
                Ok(Err(error)) => {
                    return Err(self.cut_off(&format!("the connection failed ({})", error.kind())));
                }
                Err(_) if Instant::now() >= self.deadline => return Err(self.too_late()),
                Err(_) => {
                    self.keep_up(waited, 0)?;
                    continue;
                }
            };
            self.note(waited, count as u64)?;
            return Ok(count);
        }
    }

    fn note(&mut self, waited: Duration, count: u64) -> Result<(), FetchFailure> {
        if self.count > 0 {
            self.keep_up(waited, count)?;
        } else if count > 0 {
            self.timings.first_byte = self.timings.sent_at.map(|sent| sent.elapsed());
        }
        self.count += count;
        Ok(())
    }

    fn keep_up(&mut self, waited: Duration, count: u64) -> Result<(), FetchFailure> {
        if self.pace.keeps_up(waited, count) {
            Ok(())
        } else {
            Err(self.failure(FailureClass::TooSlow, "the answer came too slowly"))
        }
    }

    fn too_late(&self) -> FetchFailure {
        let message = match (self.timings.sent_at, self.count) {
            (None, _) => "the request could not be sent in time",
            (_, 0) => "no answer came in time",
            _ => "the answer was not complete in time",
        };
        self.failure(FailureClass::Timeout, message)
    }

    fn cut_off(&self, what: &str) -> FetchFailure {
        if self.count == 0 {
            self.failure(
                FailureClass::Reset,
                &format!("{what} before an answer came"),
            )
        } else {
            self.failure(
                FailureClass::Incomplete,
                &format!("{what} in the middle of the answer"),
            )
        }
    }

    pub(crate) fn misframed(&self, error: FramingError) -> FetchFailure {
        let class = match error {
            FramingError::HeadTooLarge => FailureClass::HeadersTooLarge,
            FramingError::Truncated => FailureClass::Incomplete,
            _ => FailureClass::Protocol,
        };
        self.failure(class, &error.to_string())
    }

    pub(crate) fn failure(&self, class: FailureClass, message: &str) -> FetchFailure {
        FetchFailure {
            timings: self.timings,
            wire: self.count,
            ..FetchFailure::new(class, message)
        }
    }

    pub(crate) fn timings(&self) -> Timings {
        self.timings
    }
}

/// The body of an answer.
pub(crate) struct HttpBody {
    /// Gone once the body has ended, for whatever reason.
    flow: Option<Flow>,
    reader: BodyReader,
    /// An unknown coding only matters if there is a body.
    decoder: Result<Decoder, DecodeError>,
    coded: bool,
    out: BytesMut,
    /// Told after what was read before it has been handed out.
    failure: Option<FetchFailure>,
    tally: BodyTally,
    budget: Budget,
    home: Home,
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
                ..BodyTally::default()
            },
            flow: Some(flow),
            decoder: Decoder::new(&codings, &limits),
            coded: !codings.is_empty(),
            reader,
            out: BytesMut::new(),
            failure: None,
            budget: Budget {
                payload: max_body,
                framed: max_body.saturating_mul(2).saturating_add(FRAMING_ROOM),
            },
            home,
        };
        if body.reader.is_done() {
            body.finish();
        }
        body
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
                return self.fail(failure);
            }
        };
        let room = usize::try_from(self.budget.payload).unwrap_or(usize::MAX);
        let allowed = &step.data[..step.data.len().min(room)];
        let fed = feed(&mut self.decoder, allowed, &mut self.out);
        let over = allowed.len() < step.data.len() || step.consumed as u64 > self.budget.framed;
        self.budget.payload -= allowed.len() as u64;
        self.budget.framed = self.budget.framed.saturating_sub(step.consumed as u64);
        let done = step.done;
        let consumed = step.consumed;
        flow.input.consume(consumed);
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
            (Ok(()), _) => self.finish(),
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
                if self.reader.reusable() && flow.input.unread().is_empty() {
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
        self.flow = None;
    }

    fn fail(&mut self, failure: FetchFailure) {
        self.failure = Some(failure);
        self.flow = None;
    }
}

fn feed(
    decoder: &mut Result<Decoder, DecodeError>,
    data: &[u8],
    out: &mut BytesMut,
) -> Result<DecodeState, DecodeError> {
    if data.is_empty() {
        return Ok(DecodeState::Open);
    }
    match decoder {
        Ok(decoder) => decoder.feed(data, &mut |piece| out.extend_from_slice(piece)),
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
