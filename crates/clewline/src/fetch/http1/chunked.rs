//! The chunked transfer coding (RFC 9112 section 7.1), byte by byte where it is framing and run
//! by run where it is payload.
//!
//! Owns chunk sizes, extensions and trailers, which are skipped. Refuses to know headers.
//! Invariant: holds no bytes, only a state of constant size.

use std::ops::Range;

use super::FramingError;

/// Bytes of a line that holds a chunk size. Extensions in the wild are signatures of some
/// hundred bytes; an endless one is an attack.
const SIZE_LINE: usize = 4 * 1024;

/// What one call found.
pub(super) struct Found {
    pub(super) consumed: usize,
    /// Where the payload lies in the input.
    pub(super) data: Range<usize>,
}

#[derive(Debug)]
pub(super) struct Chunked {
    state: State,
    /// The size of the chunk as far as it is read, then the bytes of it that are to come.
    left: u64,
    /// Bytes of the size line so far.
    line: usize,
    trailer_room: usize,
    sloppy: bool,
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

impl Chunked {
    pub(super) fn new(trailer_room: usize) -> Self {
        Self {
            state: State::SizeStart,
            left: 0,
            line: 0,
            trailer_room,
            sloppy: false,
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// The zero-sized chunk was read.
    pub(super) fn is_past_content(&self) -> bool {
        use State::{Done, LastLineFeed, Trailer, TrailerStart};
        matches!(self.state, TrailerStart | Trailer | LastLineFeed | Done)
    }

    /// A line ended without its carriage return: read, but not trusted any further.
    pub(super) fn is_sloppy(&self) -> bool {
        self.sloppy
    }

    pub(super) fn advance(&mut self, input: &[u8]) -> Result<Found, FramingError> {
        let mut at = 0;
        while let (Some(&byte), false) = (input.get(at), self.is_done()) {
            if self.state == State::Data {
                let size = usize::try_from(self.left).unwrap_or(usize::MAX);
                let end = at + size.min(input.len() - at);
                self.left -= (end - at) as u64;
                if self.left == 0 {
                    self.state = State::DataEnd;
                }
                return Ok(Found {
                    consumed: end,
                    data: at..end,
                });
            }
            self.state = self.next(byte)?;
            at += 1;
        }
        Ok(Found {
            consumed: at,
            data: at..at,
        })
    }

    fn next(&mut self, byte: u8) -> Result<State, FramingError> {
        match self.state {
            State::SizeStart | State::Size | State::SizePadding | State::Extension => {
                self.line += 1;
                if self.line > SIZE_LINE {
                    return Err(FramingError::Chunk);
                }
                self.size_line(byte)
            }
            State::TrailerStart | State::Trailer => {
                self.trailer_room = self
                    .trailer_room
                    .checked_sub(1)
                    .ok_or(FramingError::HeadTooLarge)?;
                Ok(self.trailer(byte))
            }
            State::DataEnd if byte == b'\r' => Ok(State::DataLineFeed),
            State::DataEnd if byte == b'\n' => {
                self.sloppy = true;
                Ok(self.begin_size())
            }
            State::DataLineFeed if byte == b'\n' => Ok(self.begin_size()),
            State::SizeLineFeed if byte == b'\n' => Ok(self.begin_data()),
            State::LastLineFeed if byte == b'\n' => Ok(State::Done),
            _ => Err(FramingError::Chunk),
        }
    }

    fn size_line(&mut self, byte: u8) -> Result<State, FramingError> {
        let in_size = matches!(self.state, State::SizeStart | State::Size);
        if let (true, Some(digit)) = (in_size, char::from(byte).to_digit(16)) {
            self.left = self
                .left
                .checked_mul(16)
                .and_then(|size| size.checked_add(u64::from(digit)))
                .ok_or(FramingError::Chunk)?;
            return Ok(State::Size);
        }
        match (self.state, byte) {
            (State::SizeStart, _) => Err(FramingError::Chunk),
            (_, b'\r') => Ok(State::SizeLineFeed),
            (_, b'\n') => {
                self.sloppy = true;
                Ok(self.begin_data())
            }
            (State::Extension, _) | (_, b';') => Ok(State::Extension),
            (_, b' ' | b'\t') => Ok(State::SizePadding),
            _ => Err(FramingError::Chunk),
        }
    }

    fn begin_size(&mut self) -> State {
        debug_assert_eq!(self.left, 0, "a size is read once the chunk before it is");
        self.line = 0;
        State::SizeStart
    }

    fn begin_data(&mut self) -> State {
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
                self.sloppy = true;
                State::Done
            }
            (_, b'\n') => State::TrailerStart,
            _ => State::Trailer,
        }
    }
}
