//! One content coding at a time, behind one step function.
//!
//! Owns the foreign decoders and how a body is told from its label. Refuses to know caps and
//! stacking. Invariant: a step reads no more than its input, writes no more than its output, and
//! a step that does neither and is still `Going` has nothing to give without more input.

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::{Decompress, FlushDecompress, Status};
use zstd::zstd_safe::{DCtx, DParameter, InBuffer, OutBuffer};

use super::gzip::{self, Gzip};
use super::{Coding, DecodeError};

/// What one step did.
pub(super) struct CodecStep {
    pub(super) read: usize,
    pub(super) wrote: usize,
    pub(super) fate: CodecState,
}

/// Whether a codec goes on after a step.
pub(super) enum CodecState {
    /// Call again, with more input once neither reading nor writing is possible.
    Going,
    /// The data has ended; whatever follows is not part of it. The codec must not be called again.
    Ended,
    /// Nothing more can be had, after the bytes that this step wrote.
    Failed(DecodeError),
}

/// A decoder in some state of one coding.
pub(super) enum Codec {
    /// What the body is can't be told yet from the bytes there are, fewer than two.
    Unsure(Coding, Option<u8>),
    /// The label was wrong: the bytes are handed on as they are.
    Plain,
    Inflate(Decompress),
    Gzip(Box<Gzip>),
    Brotli(Box<Brotli>),
    Zstd(Zstd),
}

impl Codec {
    pub(super) fn new(coding: Coding, window: usize) -> Result<Self, DecodeError> {
        Ok(match coding {
            Coding::Gzip | Coding::Deflate => Self::Unsure(coding, None),
            Coding::Brotli => Self::Brotli(Box::new(Brotli::new())),
            Coding::Zstd => Self::Zstd(Zstd::new(window)?),
        })
    }

    /// Whether the input may be handed on without a copy.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }

    /// Whether the body may end here, given that no step said that it had ended.
    pub(super) fn is_whole(&self) -> bool {
        match self {
            Self::Unsure(_, held) => held.is_none(),
            Self::Plain => true,
            Self::Inflate(_) | Self::Brotli(_) => false,
            Self::Gzip(gzip) => gzip.is_whole(),
            Self::Zstd(zstd) => zstd.hint == 0,
        }
    }

    pub(super) fn step(&mut self, input: &[u8], out: &mut [u8]) -> CodecStep {
        match self {
            Self::Unsure(coding, held) => {
                let (coding, held) = (*coding, *held);
                self.decide(coding, held, input, out)
            }
            Self::Plain => {
                let length = input.len().min(out.len());
                out[..length].copy_from_slice(&input[..length]);
                CodecStep {
                    read: length,
                    wrote: length,
                    fate: CodecState::Going,
                }
            }
            Self::Inflate(inflate) => inflate_step(inflate, input, out, Coding::Deflate),
            Self::Gzip(gzip) => gzip.step(input, out),
            Self::Brotli(brotli) => brotli.step(input, out),
            Self::Zstd(zstd) => zstd.step(input, out),
        }
    }

    /// Takes one byte and, if that settles what the body is, lets the codec begin with what was
    /// held: at most two bytes, which every codec reads in one step.
    fn decide(
        &mut self,
        coding: Coding,
        held: Option<u8>,
        input: &[u8],
        out: &mut [u8],
    ) -> CodecStep {
        let Some(&byte) = input.first() else {
            return CodecStep {
                read: 0,
                wrote: 0,
                fate: CodecState::Going,
            };
        };
        let two = held.map(|first| [first, byte]);
        let begun = match (coding, two) {
            (Coding::Gzip, Some(gzip::MAGIC)) => Some(Self::Gzip(Box::default())),
            (Coding::Gzip, None) if byte == gzip::MAGIC[0] => None,
            // Servers label what they did not compress; browsers show it all the same.
            (Coding::Gzip, _) => Some(Self::Plain),
            (_, Some(two)) => Some(Self::Inflate(Decompress::new(is_zlib(two)))),
            (_, None) => None,
        };
        let Some(begun) = begun else {
            *self = Self::Unsure(coding, Some(byte));
            return CodecStep {
                read: 1,
                wrote: 0,
                fate: CodecState::Going,
            };
        };
        *self = begun;
        let step = match two {
            Some(two) => self.step(&two, out),
            None => self.step(&[byte], out),
        };
        CodecStep { read: 1, ..step }
    }
}

/// `deflate` means zlib (RFC 9110 section 8.4.1.2), but some servers send the bare stream. A
/// zlib header is a multiple of 31 and names method 8 (RFC 1950 section 2.2); a bare stream
/// that begins so would be a stored block with odd padding, which no encoder writes.
fn is_zlib(first: [u8; 2]) -> bool {
    first[0] & 0x0f == 8 && first[0] >> 4 <= 7 && u16::from_be_bytes(first).is_multiple_of(31)
}

pub(super) fn inflate_step(
    inflate: &mut Decompress,
    input: &[u8],
    out: &mut [u8],
    coding: Coding,
) -> CodecStep {
    let (read, wrote) = (inflate.total_in(), inflate.total_out());
    let fate = match inflate.decompress(input, out, FlushDecompress::None) {
        Ok(Status::StreamEnd) => CodecState::Ended,
        Ok(Status::Ok | Status::BufError) => CodecState::Going,
        Err(_) => CodecState::Failed(DecodeError::Corrupt(coding)),
    };
    CodecStep {
        read: (inflate.total_in() - read) as usize,
        wrote: (inflate.total_out() - wrote) as usize,
        fate,
    }
}

pub(super) struct Brotli {
    state: BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>,
}

impl Brotli {
    /// Strict: without the large-window extension, which is not part of RFC 7932 and would let
    /// a stream ask for a gigabyte.
    fn new() -> Self {
        let allocator = StandardAlloc::default;
        Self {
            state: BrotliState::new_strict(allocator(), allocator(), allocator()),
        }
    }

    fn step(&mut self, input: &[u8], out: &mut [u8]) -> CodecStep {
        let (mut available, mut read) = (input.len(), 0);
        let (mut room, mut wrote, mut total) = (out.len(), 0, 0);
        let result = BrotliDecompressStream(
            &mut available,
            &mut read,
            input,
            &mut room,
            &mut wrote,
            out,
            &mut total,
            &mut self.state,
        );
        let fate = match result {
            BrotliResult::ResultSuccess => CodecState::Ended,
            BrotliResult::NeedsMoreInput | BrotliResult::NeedsMoreOutput => CodecState::Going,
            BrotliResult::ResultFailure => CodecState::Failed(DecodeError::Corrupt(Coding::Brotli)),
        };
        CodecStep { read, wrote, fate }
    }
}

pub(super) struct Zstd {
    context: DCtx<'static>,
    /// What the last call returned: 0 at the end of a frame, and before the first.
    hint: usize,
    frames: u64,
}

impl Zstd {
    /// Values of `ZSTD_ErrorCode`, which the library promises not to change; it returns them
    /// negated.
    const PREFIX_UNKNOWN: usize = 10_usize.wrapping_neg();
    const WINDOW_TOO_LARGE: usize = 16_usize.wrapping_neg();
    /// The window logs that the library takes as a limit on every platform.
    const WINDOW_LOGS: (u32, u32) = (10, 30);

    fn new(window: usize) -> Result<Self, DecodeError> {
        let (least, most) = Self::WINDOW_LOGS;
        let log = window.max(1).ilog2().clamp(least, most);
        let mut context = DCtx::try_create().ok_or(DecodeError::Memory)?;
        context
            .set_parameter(DParameter::WindowLogMax(log))
            .map_err(|_| DecodeError::Memory)?;
        Ok(Self {
            context,
            hint: 0,
            frames: 0,
        })
    }

    fn step(&mut self, input: &[u8], out: &mut [u8]) -> CodecStep {
        if self.hint == 0 && input.is_empty() {
            // Asking between two frames would count as the beginning of the next.
            return CodecStep {
                read: 0,
                wrote: 0,
                fate: CodecState::Going,
            };
        }
        let mut source = InBuffer::around(input);
        let mut target = OutBuffer::around(out);
        let fate = match self.context.decompress_stream(&mut target, &mut source) {
            Ok(hint) => {
                self.hint = hint;
                self.frames += u64::from(hint == 0);
                CodecState::Going
            }
            Err(Self::WINDOW_TOO_LARGE) => CodecState::Failed(DecodeError::Window),
            Err(Self::PREFIX_UNKNOWN) if self.frames > 0 => CodecState::Ended,
            Err(_) => CodecState::Failed(DecodeError::Corrupt(Coding::Zstd)),
        };
        CodecStep {
            read: source.pos(),
            wrote: target.pos(),
            fate,
        }
    }
}
