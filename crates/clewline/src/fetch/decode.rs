//! Undoing `Content-Encoding`, within bounds.
//!
//! Owns the order of the codings, the cap on what they expand to and the size of the pieces.
//! Refuses to know HTTP framing and what the text means. Invariant: no call to the sink has more
//! than [`PIECE`] bytes, all calls together never more than the cap, and nothing is allocated
//! before the first byte of a body, nor by a size that the body merely declares.

mod codec;
mod gzip;
#[cfg(test)]
mod tests;

use clewline_warc::http;
use codec::{Codec, CodecState};

/// The longest piece that reaches the sink in one call.
pub(crate) const PIECE: usize = 32 * 1024;

/// Bounds of one body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DecodeLimits {
    /// Decoded bytes, and also the bytes between two codings.
    pub output: u64,
    /// Bytes a zstd decoder may look back. Brotli is bounded by its own format (16 MiB) and
    /// deflate too (32 KiB); both take memory only as output is made.
    pub window: usize,
    /// Codings stacked on each other.
    pub codings: usize,
}

impl Default for DecodeLimits {
    fn default() -> Self {
        Self {
            output: 32 << 20,
            window: 8 << 20,
            codings: 3,
        }
    }
}

/// Why a body can't be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum DecodeError {
    /// A coding that exists and is not supported, such as `compress`.
    #[error("the content coding is not supported")]
    Unsupported,
    /// More codings than [`DecodeLimits::codings`].
    #[error("too many content codings on each other")]
    TooMany,
    /// The bytes are not what the coding promises. What was decoded before may have reached the
    /// sink, all of it or in part.
    #[error("the {0} data is corrupt")]
    Corrupt(Coding),
    /// The window is larger than [`DecodeLimits::window`].
    #[error("the data needs a larger window than allowed")]
    Window,
    /// The decoder's memory could not be had.
    #[error("no memory for a decoder")]
    Memory,
}

/// How far the body is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DecodeState {
    /// More may follow.
    Open,
    /// All of it was decoded.
    Whole,
    /// The body ended before its coding did; what there was has been given to the sink.
    Truncated,
    /// The cap was reached and exceeded: stop.
    Capped,
}

/// A content coding that can be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

impl Coding {
    /// The coding of this name, in any case. `None` is a word that names no coding, such as
    /// `identity`, `none` or `utf-8`: it changes nothing, and browsers show such pages.
    fn named(name: &[u8]) -> Result<Option<Self>, DecodeError> {
        const NAMES: [(&[u8], Coding); 5] = [
            (b"gzip", Coding::Gzip),
            (b"x-gzip", Coding::Gzip),
            (b"deflate", Coding::Deflate),
            (b"br", Coding::Brotli),
            (b"zstd", Coding::Zstd),
        ];
        let known = |(known, _): &&(&[u8], Self)| name.eq_ignore_ascii_case(known);
        match NAMES.iter().find(known) {
            Some((_, coding)) => Ok(Some(*coding)),
            None if http::is_content_coding(name) => Err(DecodeError::Unsupported),
            None => Ok(None),
        }
    }
}

impl std::fmt::Display for Coding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        })
    }
}

/// Undoes the codings of one body as it arrives.
pub(crate) struct Decoder {
    /// In the order of decoding: the coding that was applied last comes first.
    stages: Vec<Stage>,
    meter: Meter,
    limits: DecodeLimits,
}

/// Counts and caps what leaves the last stage.
struct Meter {
    output: u64,
    limit: u64,
    capped: bool,
}

struct Stage {
    coding: Coding,
    /// Made with the first byte, so that a request that waits holds nothing.
    running: Option<Running>,
    /// What this stage has produced.
    output: u64,
}

struct Running {
    codec: Codec,
    piece: Box<[u8]>,
    ended: bool,
}

impl Decoder {
    /// A decoder for the values of all `Content-Encoding` fields, in order.
    pub(crate) fn new(values: &[&[u8]], limits: &DecodeLimits) -> Result<Self, DecodeError> {
        let mut stages = Vec::new();
        for name in values
            .iter()
            .flat_map(|value| value.split(|&byte| byte == b','))
        {
            let Some(coding) = Coding::named(http::coding_word(name))? else {
                continue;
            };
            if stages.len() >= limits.codings {
                return Err(DecodeError::TooMany);
            }
            stages.push(Stage {
                coding,
                running: None,
                output: 0,
            });
        }
        stages.reverse();
        let meter = Meter {
            output: 0,
            limit: limits.output,
            capped: false,
        };
        Ok(Self {
            stages,
            meter,
            limits: *limits,
        })
    }

    /// Decodes the next part of the body: `Open`, or `Capped` and then the caller stops. After
    /// an error the decoder must not be used again.
    pub(crate) fn feed(
        &mut self,
        input: &[u8],
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<DecodeState, DecodeError> {
        if !input.is_empty() {
            run(&mut self.stages, input, &self.limits, &mut |piece| {
                self.meter.pass(piece, sink)
            })?;
        }
        Ok(if self.is_capped() {
            DecodeState::Capped
        } else {
            DecodeState::Open
        })
    }

    /// The body has ended: `Whole`, `Truncated` or `Capped`. Whatever a coding still holds goes
    /// to the sink first.
    pub(crate) fn finish(
        &mut self,
        sink: &mut dyn FnMut(&[u8]),
    ) -> Result<DecodeState, DecodeError> {
        if !self.is_capped()
            && self
                .stages
                .first()
                .is_some_and(|stage| stage.running.is_some())
        {
            run(&mut self.stages, &[], &self.limits, &mut |piece| {
                self.meter.pass(piece, sink)
            })?;
        }
        let whole = self
            .stages
            .iter()
            .filter_map(|stage| stage.running.as_ref())
            .all(|running| running.ended || running.codec.is_whole());
        Ok(match (self.is_capped(), whole) {
            (true, _) => DecodeState::Capped,
            (false, true) => DecodeState::Whole,
            (false, false) => DecodeState::Truncated,
        })
    }

    /// How many bytes the sink was given.
    pub(crate) fn output_bytes(&self) -> u64 {
        self.meter.output
    }

    fn is_capped(&self) -> bool {
        self.meter.capped
            || self
                .stages
                .iter()
                .any(|stage| stage.output > self.limits.output)
    }
}

impl Meter {
    /// Hands on what the cap allows; whether more is wanted.
    fn pass(&mut self, bytes: &[u8], sink: &mut dyn FnMut(&[u8])) -> bool {
        for piece in bytes.chunks(PIECE) {
            let room = usize::try_from(self.limit - self.output).unwrap_or(usize::MAX);
            let allowed = piece.len().min(room);
            if allowed > 0 {
                self.output += allowed as u64;
                sink(&piece[..allowed]);
            }
            if allowed < piece.len() {
                self.capped = true;
                return false;
            }
        }
        !self.capped
    }
}

/// Sends the input through the stages; whether more is wanted. The recursion is as deep as
/// there are stages.
fn run(
    stages: &mut [Stage],
    mut input: &[u8],
    limits: &DecodeLimits,
    out: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<bool, DecodeError> {
    let Some((stage, rest)) = stages.split_first_mut() else {
        return Ok(out(input));
    };
    let Stage {
        coding,
        running,
        output,
    } = stage;
    let Running {
        codec,
        piece,
        ended,
    } = match running {
        Some(running) => running,
        None => running.insert(Running {
            codec: Codec::new(*coding, limits.window)?,
            piece: vec![0; PIECE].into_boxed_slice(),
            ended: false,
        }),
    };
    while !*ended {
        if codec.is_plain() {
            *output += input.len() as u64;
            return run(rest, input, limits, out);
        }
        let step = codec.step(input, piece);
        input = &input[step.read..];
        *output += step.wrote as u64;
        if step.wrote > 0 && !run(rest, &piece[..step.wrote], limits, out)? {
            return Ok(false);
        }
        // The bytes between two codings are bounded like those after the last: otherwise a
        // stage that ignores its input would let the one before it expand for ever.
        if *output > limits.output {
            return Ok(false);
        }
        match step.fate {
            CodecState::Failed(error) => return Err(error),
            CodecState::Ended => *ended = true,
            CodecState::Going if step.read == 0 && step.wrote == 0 => break,
            CodecState::Going => {}
        }
    }
    Ok(true)
}
