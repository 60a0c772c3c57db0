//! Where the body of a response ends, and which of its bytes are payload.
//!
//! Owns the rules of RFC 9112 section 6.3; chunks are read by `clewline-warc`. Refuses to know
//! content codings and limits on size: the driver counts. Invariant: `advance` makes progress on
//! every byte it is given until the body is done, and holds no byte back.

use clewline_warc::{ChunkError, ChunkReader, ChunkRun};

use super::{FramingError, Method, ResponseHead};

/// What a part of the wire amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BodyStep<'a> {
    /// Bytes of the input that belong to this response, framing included. Fewer than were given
    /// means: call again with the rest, or, if `done`, that the rest is not part of it.
    pub consumed: usize,
    /// The payload among them.
    pub data: &'a [u8],
    /// The body has ended.
    pub done: bool,
}

/// Follows the framing of one body.
#[derive(Debug)]
pub(crate) struct BodyReader {
    framing: Framing,
    done: bool,
    reusable: bool,
}

#[derive(Debug)]
enum Framing {
    Length { left: u64 },
    Chunked(ChunkReader),
    UntilClose,
}

impl BodyReader {
    /// Decides how the body that follows `head` is framed.
    pub(crate) fn new(method: Method, head: &ResponseHead) -> Result<Self, FramingError> {
        let mut reusable = keeps_alive(head) && !head.doubtful;
        let framing = if has_no_body(method, head.status) {
            // After a CONNECT that succeeded the connection is a tunnel, not ours to share.
            reusable &= method != Method::Connect;
            Framing::Length { left: 0 }
        } else if let Some(naming) = chunked(head)? {
            // A length beside it, HTTP/1.0, which knows no chunks, and a coding that is named
            // twice hint at a broken or malicious hop (RFC 9112 sections 6.1 and 6.3).
            reusable &= head.headers.get("content-length").is_none()
                && head.version_minor > 0
                && naming == Naming::Once;
            Framing::Chunked(ChunkReader::new(head.trailer_room))
        } else {
            // A coding that says nothing (`identity`, empty) is forgiven once, not trusted.
            reusable &= head.headers.get("transfer-encoding").is_none();
            match content_length(head)? {
                Some(left) => Framing::Length { left },
                None => Framing::UntilClose,
            }
        };
        Ok(Self {
            done: matches!(framing, Framing::Length { left: 0 }),
            framing,
            reusable,
        })
    }

    /// Reads from the input up to the end of the next run of payload, of the body or of the
    /// input, whichever comes first. After an error the reader must not be used again.
    pub(crate) fn advance<'a>(&mut self, input: &'a [u8]) -> Result<BodyStep<'a>, FramingError> {
        let (consumed, data) = if self.done {
            (0, &input[..0])
        } else {
            match &mut self.framing {
                Framing::Length { left } => {
                    let taken = usize::try_from(*left)
                        .unwrap_or(usize::MAX)
                        .min(input.len());
                    *left -= taken as u64;
                    self.done = *left == 0;
                    (taken, &input[..taken])
                }
                Framing::Chunked(chunked) => {
                    let ChunkRun { consumed, data } = chunked.advance(input)?;
                    self.done = chunked.is_done();
                    self.reusable &= !chunked.is_sloppy();
                    (consumed, &input[data])
                }
                Framing::UntilClose => (input.len(), input),
            }
        };
        if self.done && consumed < input.len() {
            // Bytes that nobody asked for: the next response would begin in the wrong place.
            self.reusable = false;
        }
        Ok(BodyStep {
            consumed,
            data,
            done: self.done,
        })
    }

    /// The server closed its side: is what came the whole body?
    pub(crate) fn end_of_stream(&mut self) -> Result<(), FramingError> {
        self.reusable = false;
        let whole = match &self.framing {
            Framing::Length { left } => *left == 0,
            // The zero-sized chunk ends the content; the trailers after it may be missing
            // (RFC 9112 section 8).
            Framing::Chunked(chunked) => chunked.is_past_content(),
            Framing::UntilClose => true,
        };
        self.done |= whole;
        if whole {
            Ok(())
        } else {
            Err(FramingError::Truncated)
        }
    }

    /// Whether the body has ended.
    pub(crate) fn is_done(&self) -> bool {
        self.done
    }

    /// Whether the connection may carry another request now. The driver must still refuse it
    /// if bytes arrived that this reader was not given.
    pub(crate) fn reusable(&self) -> bool {
        self.done && self.reusable && !matches!(self.framing, Framing::UntilClose)
    }
}

impl From<ChunkError> for FramingError {
    fn from(error: ChunkError) -> Self {
        match error {
            ChunkError::Malformed => Self::Chunk,
            ChunkError::TrailerTooLong => Self::HeadTooLarge,
        }
    }
}

fn has_no_body(method: Method, status: u16) -> bool {
    method == Method::Head
        || matches!(status, 100..=199 | 204 | 304)
        || (method == Method::Connect && matches!(status, 200..=299))
}

/// The members of a comma-separated field, over all its lines.
fn members<'a>(head: &'a ResponseHead, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    head.headers
        .all(name)
        .flat_map(|value| value.split(|&byte| byte == b','))
        .map(<[u8]>::trim_ascii)
}

/// RFC 9112 section 9.3.
fn keeps_alive(head: &ResponseHead) -> bool {
    let says = |option: &[u8]| {
        members(head, "connection").any(|member| member.eq_ignore_ascii_case(option))
    };
    !says(b"close") && (head.version_minor > 0 || says(b"keep-alive"))
}

/// How often a head names the chunked coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Naming {
    Once,
    Repeated,
}

/// Whether the body is chunked. RFC 9112 section 6.1 forbids to apply the coding twice, and nobody
/// does: where it is named twice, a proxy repeated the field, and browsers read the body as
/// chunked once.
fn chunked(head: &ResponseHead) -> Result<Option<Naming>, FramingError> {
    let mut naming = None;
    for coding in members(head, "transfer-encoding") {
        match coding {
            b"" => {}
            other if other.eq_ignore_ascii_case(b"identity") => {}
            other if other.eq_ignore_ascii_case(b"chunked") => {
                naming = Some(naming.map_or(Naming::Once, |_| Naming::Repeated));
            }
            _ => return Err(FramingError::TransferCoding),
        }
    }
    Ok(naming)
}

/// Several equal lengths are one length (RFC 9112 section 6.3); all else is refused.
fn content_length(head: &ResponseHead) -> Result<Option<u64>, FramingError> {
    let mut length = None;
    for member in members(head, "content-length") {
        let value = decimal(member).ok_or(FramingError::Length)?;
        if length.is_some_and(|other| other != value) {
            return Err(FramingError::Length);
        }
        length = Some(value);
    }
    Ok(length)
}

fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |value, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}
