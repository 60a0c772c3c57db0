//! One exchange on one connection: the request out, the head in, bytes as they come.
//!
//! Owns the time limits while bytes travel and the counting of bytes. Refuses to know how
//! connections are made, what fields a request has and what a body is. Invariant: no wait is
//! longer than the deadline or, before the first byte, than the limit for that; and once an answer has begun, none is slower than its pace.

use std::sync::Arc;
use std::time::{Duration, Instant};

use clewline_core::outcome::FailureClass;
use tokio::time::timeout_at;

use super::http1::{FramingError, HeadLimits, HeadReader, HeadStep, ResponseHead};
use super::silence::{Silence, is_trickle};
use super::wire::{BufferPool, Input, Wire};
use super::{FetchFailure, Timings};
use crate::exchange::Recorder;

/// The slowest that an answer may come, once it has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MinimumRate {
    /// Bytes that each window must bring; zero asks for nothing.
    needed: u64,
    window: Duration,
    waited: Duration,
    bytes: u64,
}

impl MinimumRate {
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

/// The longest time from a request to its first byte.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstByte {
    limit: Duration,
    /// It is what the host usually keeps, and not what is configured.
    is_usual: bool,
}

impl FirstByte {
    /// What is configured, or what the host usually keeps where that is less.
    pub(crate) fn within(configured: Duration, usual: Option<Duration>) -> Self {
        let usual = usual.filter(|usual| *usual < configured);
        Self {
            limit: usual.unwrap_or(configured),
            is_usual: usual.is_some(),
        }
    }
}

/// The bytes of one exchange.
pub(crate) struct Flow {
    pub(super) wire: Wire,
    pub(super) input: Input,
    deadline: Instant,
    pace: MinimumRate,
    pub(super) silence: Silence,
    pub(super) first_byte: FirstByte,
    pub(super) timings: Timings,
    /// Bytes read so far.
    pub(super) count: u64,
}

impl Flow {
    pub(crate) fn new(
        wire: Wire,
        buffers: Arc<BufferPool>,
        timings: Timings,
        deadline: Instant,
        pace: MinimumRate,
    ) -> Self {
        Self {
            wire,
            input: Input::new(buffers),
            deadline,
            pace,
            silence: Silence::begin(None),
            first_byte: FirstByte::within(Duration::MAX, None),
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

    /// Reads up to the end of the final head. Interim heads are not recorded: they are not part
    /// of the answer.
    pub(crate) async fn head(
        &mut self,
        limits: &HeadLimits,
        recorder: &mut Option<Recorder>,
    ) -> Result<ResponseHead, FetchFailure> {
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
                        if let Some(recorder) = recorder {
                            let raw = &self.input.unread()[..head.raw_len];
                            recorder.head(from_status_line(raw), head.status, &head.headers);
                        }
                        self.input.consume(head.raw_len);
                        return Ok(head);
                    }
                    Err(error) => return Err(self.misframed(error)),
                }
            }
        }
    }

    /// Reads what comes next; zero at the end of the stream.
    pub(super) async fn read(&mut self) -> Result<usize, FetchFailure> {
        loop {
            let begun = Instant::now();
            let window = self.pace.ends(begun).filter(|_| self.count > 0);
            let limits = [window, self.silence.look_at(), self.first_byte_at()];
            let until = limits
                .into_iter()
                .flatten()
                .fold(self.deadline, Instant::min);
            let read = timeout_at(until.into(), self.wire.read(&mut self.input)).await;
            let waited = begun.elapsed();
            let count = match read {
                Ok(Ok(count)) => count,
                Ok(Err(error)) => {
                    return Err(self.cut_off(&format!("the connection failed ({})", error.kind())));
                }
                Err(_) => {
                    self.lapsed(waited)?;
                    continue;
                }
            };
            self.note(waited, count as u64)?;
            return Ok(count);
        }
    }

    /// Until when the first byte must have come, while it has not.
    fn first_byte_at(&self) -> Option<Instant> {
        let sent_at = self.timings.sent_at.filter(|_| self.count == 0)?;
        sent_at.checked_add(self.first_byte.limit)
    }

    /// A wait brought nothing in its time.
    fn lapsed(&mut self, waited: Duration) -> Result<(), FetchFailure> {
        let now = Instant::now();
        if now >= self.deadline {
            return Err(self.too_late());
        }
        if self.first_byte_at().is_some_and(|at| now >= at) {
            return Err(FetchFailure {
                cut_short: self.first_byte.is_usual,
                ..self.too_late()
            });
        }
        let since = self.timings.sent_at.map_or(Duration::ZERO, |at| now - at);
        let is_silent = is_trickle(self.count, since);
        if self.silence.gives_way(is_silent, now) {
            return Err(FetchFailure {
                timings: self.timings,
                wire: self.count,
                ..FetchFailure::gave_way()
            });
        }
        if self.count > 0 {
            self.keep_up(waited, 0)?;
        }
        Ok(())
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

    /// The class of an answer whose framing is wrong.
    pub(crate) fn misframed(&self, error: FramingError) -> FetchFailure {
        let class = match error {
            FramingError::HeadTooLarge => FailureClass::HeadersTooLarge,
            FramingError::Truncated => FailureClass::Incomplete,
            _ => FailureClass::Protocol,
        };
        self.failure(class, &error.to_string())
    }

    /// A failure with what is known about the exchange so far.
    pub(crate) fn failure(&self, class: FailureClass, message: &str) -> FetchFailure {
        FetchFailure {
            timings: self.timings,
            wire: self.count,
            ..FetchFailure::new(class, message)
        }
    }
}

/// A head without the stray line ends before it, which belong to no message.
fn from_status_line(raw: &[u8]) -> &[u8] {
    let start = raw.iter().position(|byte| !matches!(byte, b'\r' | b'\n'));
    &raw[start.unwrap_or(raw.len())..]
}
