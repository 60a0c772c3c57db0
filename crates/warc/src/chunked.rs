//! The chunked transfer coding (RFC 9112 section 7.1), byte by byte where it is framing and run
//! by run where it is payload.
//!
//! Owns chunk sizes, extensions and trailers, which are skipped: for the wire ([`ChunkReader`]) and
//! for bodies as they were recorded ([`Dechunker`]). Refuses to know heads. Invariant: holds no
//! bytes, only a state of constant size.

use std::ops::Range;

/// Bytes of a line that holds a chunk size. Extensions in the wild are signatures of some
/// hundred bytes; an endless one is an attack.
const SIZE_LINE: usize = 4 * 1024;

/// Why bytes are not chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    /// A size or the end of a chunk is not where it must be.
    #[error("the chunked coding is broken")]
    Malformed,
    /// The trailers are longer than they may be.
    #[error("the trailers are too long")]
    TrailerTooLong,
}

/// What one call found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkRun {
    /// Bytes of the input that are used up.
    pub consumed: usize,
    /// Where the payload lies in the input.
    pub data: Range<usize>,
}

/// What is forgiven.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leniency {
    /// What a connection may carry: a line may lack its carriage return, and a size may be padded.
    Wire,
    /// What browsers read and other crawlers have recorded: also white space before a size, and
    /// more than one carriage return.
    Recorded,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    SizeStart,
    Size,
    /// White space after the size, which old servers pad with.
    SizePadding,
    Extension,
    SizeLineFeed,
    Data,
    DataEnd,
    DataLineFeed,
    TrailerStart,
    Trailer,
    LastLineFeed,
    Done,
}

/// Tells framing from payload.
#[derive(Debug, Clone)]
pub struct ChunkReader {
    leniency: Leniency,
    state: State,
    /// The size of the chunk as far as it is read, then the bytes of it that are to come.
    left: u64,
    /// Bytes of the size line so far.
    line: usize,
    trailer_room: usize,
    has_begun: bool,
    is_sloppy: bool,
}

impl ChunkReader {
    /// Reads chunks off a connection, with at most this many bytes of trailers.
    pub const fn new(trailer_room: usize) -> Self {
        Self::with(Leniency::Wire, trailer_room)
    }

    const fn with(leniency: Leniency, trailer_room: usize) -> Self {
        Self {
            leniency,
            state: State::SizeStart,
            left: 0,
            line: 0,
            trailer_room,
            has_begun: false,
            is_sloppy: false,
        }
    }

    /// The body has ended.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// The zero-sized chunk was read.
    pub fn is_past_content(&self) -> bool {
        use State::{Done, LastLineFeed, Trailer, TrailerStart};
        matches!(self.state, TrailerStart | Trailer | LastLineFeed | Done)
    }

    /// A line ended without its carriage return: read, but not trusted any further.
    pub const fn is_sloppy(&self) -> bool {
        self.is_sloppy
    }

    /// Reads from the input up to the end of the next run of payload, of the body or of the
    /// input, whichever comes first. After an error the reader must not be used again.
    pub fn advance(&mut self, input: &[u8]) -> Result<ChunkRun, ChunkError> {
        let mut at = 0;
        while let (Some(&byte), false) = (input.get(at), self.is_done()) {
            if self.state == State::Data {
                let size = usize::try_from(self.left).unwrap_or(usize::MAX);
                let end = at + size.min(input.len() - at);
                self.left -= (end - at) as u64;
                if self.left == 0 {
                    self.state = State::DataEnd;
                }
                return Ok(ChunkRun {
                    consumed: end,
                    data: at..end,
                });
            }
            self.state = self.next(byte)?;
            at += 1;
        }
        Ok(ChunkRun {
            consumed: at,
            data: at..at,
        })
    }

    fn next(&mut self, byte: u8) -> Result<State, ChunkError> {
        match self.state {
            State::SizeStart | State::Size | State::SizePadding | State::Extension => {
                self.line += 1;
                if self.line > SIZE_LINE {
                    return Err(ChunkError::Malformed);
                }
                self.size_line(byte)
            }
            State::TrailerStart | State::Trailer => {
                let room = self.trailer_room.checked_sub(1);
                self.trailer_room = room.ok_or(ChunkError::TrailerTooLong)?;
                Ok(self.trailer(byte))
            }
            State::DataEnd if byte == b'\r' => Ok(State::DataLineFeed),
            State::DataEnd if byte == b'\n' => {
                self.is_sloppy = true;
                Ok(self.begin_size())
            }
            State::DataLineFeed if byte == b'\n' => Ok(self.begin_size()),
            State::SizeLineFeed if byte == b'\n' => Ok(self.begin_data()),
            State::LastLineFeed if byte == b'\n' => Ok(State::Done),
            State::DataLineFeed | State::SizeLineFeed | State::LastLineFeed
                if byte == b'\r' && self.leniency == Leniency::Recorded =>
            {
                Ok(self.state)
            }
            _ => Err(ChunkError::Malformed),
        }
    }

    fn size_line(&mut self, byte: u8) -> Result<State, ChunkError> {
        let in_size = matches!(self.state, State::SizeStart | State::Size);
        if let (true, Some(digit)) = (in_size, char::from(byte).to_digit(16)) {
            self.left = self
                .left
                .checked_mul(16)
                .and_then(|size| size.checked_add(u64::from(digit)))
                .ok_or(ChunkError::Malformed)?;
            return Ok(State::Size);
        }
        match (self.state, byte) {
            (State::SizeStart, b' ' | b'\t') if self.leniency == Leniency::Recorded => {
                Ok(State::SizeStart)
            }
            (State::SizeStart, _) => Err(ChunkError::Malformed),
            (_, b'\r') => Ok(State::SizeLineFeed),
            (_, b'\n') => {
                self.is_sloppy = true;
                Ok(self.begin_data())
            }
            (State::Extension, _) | (_, b';') => Ok(State::Extension),
            (_, b' ' | b'\t') => Ok(State::SizePadding),
            _ => Err(ChunkError::Malformed),
        }
    }

    fn begin_size(&mut self) -> State {
        debug_assert_eq!(self.left, 0, "a size is read once the chunk before it is");
        self.line = 0;
        State::SizeStart
    }

    fn begin_data(&mut self) -> State {
        self.has_begun = true;
        if self.left == 0 {
            State::TrailerStart
        } else {
            State::Data
        }
    }

    fn trailer(&mut self, byte: u8) -> State {
        match (self.state, byte) {
            (State::TrailerStart, b'\r') => State::LastLineFeed,
            (State::TrailerStart, b'\n') => {
                self.is_sloppy = true;
                State::Done
            }
            (_, b'\n') => State::TrailerStart,
            _ => State::Trailer,
        }
    }
}

/// How a payload lies in a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Framing {
    /// As it is.
    Identity,
    /// In chunks, the last of them there.
    Chunked,
    /// In chunks until the framing broke or the bytes ended: the payload is what was read.
    Broken,
    /// The head says chunks, the first bytes do not: some writers take the chunks off and leave
    /// the head. The payload is the body as it is.
    Undone,
}

/// Takes the chunked coding off a body as it was recorded.
#[derive(Debug, Clone)]
pub struct Dechunker {
    reader: ChunkReader,
    is_broken: bool,
}

impl Default for Dechunker {
    fn default() -> Self {
        Self {
            reader: ChunkReader::with(Leniency::Recorded, usize::MAX),
            is_broken: false,
        }
    }
}

impl Dechunker {
    /// Takes the next bytes of a body and hands on what is payload among them.
    pub fn feed(&mut self, input: &[u8], mut payload: impl FnMut(&[u8])) {
        let mut rest = input;
        while !rest.is_empty() && !self.is_broken && !self.reader.is_done() {
            let Ok(run) = self.reader.advance(rest) else {
                self.is_broken = true;
                return;
            };
            if !run.data.is_empty() {
                payload(&rest[run.data]);
            }
            rest = &rest[run.consumed..];
        }
    }

    /// What was found; [`Framing::Undone`] asks for the body as it is.
    pub fn framing(&self) -> Framing {
        if self.reader.is_done() {
            Framing::Chunked
        } else if self.is_broken && !self.has_begun() {
            Framing::Undone
        } else {
            Framing::Broken
        }
    }

    /// The first chunk's size was read, so there are chunks.
    pub(crate) const fn has_begun(&self) -> bool {
        self.reader.has_begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &[u8], piece: usize) -> (Vec<u8>, Framing) {
        let mut dechunker = Dechunker::default();
        let mut payload = Vec::new();
        for piece in body.chunks(piece) {
            dechunker.feed(piece, |run| payload.extend_from_slice(run));
        }
        (payload, dechunker.framing())
    }

    #[test]
    fn chunks_come_off() {
        let cases: [(&[u8], &[u8], Framing); 15] = [
            (b"3\r\nabc\r\n0\r\n\r\n", b"abc", Framing::Chunked),
            (b"3\nabc\n0\n\n", b"abc", Framing::Chunked),
            (b"3\r\r\nabc\r\r\n0\r\n\r\r\n", b"abc", Framing::Chunked),
            (
                b" 03 ;x=\"y\"\r\nabc\r\n2;q\r\nde\r\n0;z\r\n\r\n",
                b"abcde",
                Framing::Chunked,
            ),
            (
                b"A\r\n0123456789\r\n0\r\nX: y\r\nZ: 1\r\n\r\n",
                b"0123456789",
                Framing::Chunked,
            ),
            (b"0\r\n\r\n", b"", Framing::Chunked),
            (b"0\r\n\r\ngarbage", b"", Framing::Chunked),
            (b"3\r\nabc\r\n0\r\n", b"abc", Framing::Broken),
            (b"3\r\nabc", b"abc", Framing::Broken),
            (b"9\r\nabc", b"abc", Framing::Broken),
            (b"3\r\nabcX\r\n0\r\n\r\n", b"abc", Framing::Broken),
            (b"3\r\nabc\r\nzz\r\n", b"abc", Framing::Broken),
            (b"<html>", b"", Framing::Undone),
            (b"11111111111111111\r\nx", b"", Framing::Undone),
            (b"", b"", Framing::Broken),
        ];
        for (body, payload, framing) in cases {
            for piece in [1, 2, 3, 64] {
                let shown = String::from_utf8_lossy(body);
                assert_eq!(read(body, piece), (payload.to_vec(), framing), "{shown}");
            }
        }
    }

    #[test]
    fn a_connection_is_forgiven_less_than_a_record() {
        let read = |body: &[u8]| ChunkReader::new(16).advance(body).map(|run| run.consumed);
        assert_eq!(read(b"0\r\n\r\n"), Ok(5));
        for body in [&b" 0\r\n\r\n"[..], b"0\r\r\n\r\n", b"0\r\n\r\r\n"] {
            assert_eq!(read(body), Err(ChunkError::Malformed), "{body:?}");
        }
        let trailer = b"0\r\nA-Trailer: of many bytes\r\n\r\n";
        assert_eq!(read(trailer), Err(ChunkError::TrailerTooLong));
    }

    #[test]
    fn endless_lines_end() {
        let mut body = b"1\r\na\r\n1;".to_vec();
        body.resize(SIZE_LINE * 2, b'x');
        assert_eq!(read(&body, 4096), (b"a".to_vec(), Framing::Broken));
    }
}
