//! The chunked transfer coding, taken off bytes as they were recorded.
//!
//! Owns the way from the verbatim body to its payload; refuses to know heads. It is as lenient as
//! browsers: white space around a size, lines that end with a line feed alone, any extension.
//! Invariant: holds no bytes, only a state of constant size.

/// Bytes of a line with a chunk's size or a trailer; an endless one is an attack.
const LINE: usize = 64 * 1024;

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Size,
    Extension,
    Data,
    DataEnd,
    Trailer,
    Done,
    Broken,
    /// The first line holds no size.
    Undone,
}

/// Takes the chunked coding off.
#[derive(Debug, Clone)]
pub struct Dechunker {
    state: State,
    left: u64,
    digits: u32,
    line: usize,
    is_first: bool,
}

impl Default for Dechunker {
    fn default() -> Self {
        Self {
            state: State::Size,
            left: 0,
            digits: 0,
            line: 0,
            is_first: true,
        }
    }
}

impl Dechunker {
    /// Takes the next bytes of a body and hands on what is payload among them.
    pub fn feed(&mut self, input: &[u8], mut payload: impl FnMut(&[u8])) {
        let mut rest = input;
        while !rest.is_empty() {
            let (taken, run) = self.step(rest);
            if let Some(run) = run {
                payload(&rest[..run]);
            }
            rest = &rest[taken..];
        }
    }

    /// What was found; [`Framing::Undone`] asks for the body as it is.
    pub fn framing(&self) -> Framing {
        match self.state {
            State::Done => Framing::Chunked,
            State::Undone => Framing::Undone,
            _ => Framing::Broken,
        }
    }

    /// The first chunk's size was read, so there are chunks.
    pub(crate) fn has_begun(&self) -> bool {
        !self.is_first
    }

    /// Bytes that are used up, and how many of them are payload.
    pub(crate) fn step(&mut self, rest: &[u8]) -> (usize, Option<usize>) {
        match self.state {
            State::Data => {
                let run =
                    usize::try_from(self.left).map_or(rest.len(), |left| left.min(rest.len()));
                self.left -= run as u64;
                if self.left == 0 {
                    self.state = State::DataEnd;
                }
                (run, Some(run))
            }
            State::Done | State::Broken | State::Undone => (rest.len(), None),
            _ => {
                self.state = self.framing_byte(rest[0]);
                (1, None)
            }
        }
    }

    fn framing_byte(&mut self, byte: u8) -> State {
        self.line += 1;
        if self.line > LINE {
            return self.broken();
        }
        match (self.state, byte) {
            (State::Size, b' ' | b'\t' | b'\r') => State::Size,
            (State::Size, b'\n') if self.digits > 0 => self.begin_chunk(),
            (State::Size, b';') if self.digits > 0 => State::Extension,
            (State::Size, _) => self.digit(byte),
            (State::Extension, b'\n') => self.begin_chunk(),
            (State::Extension, _) => State::Extension,
            (State::DataEnd, b'\r') => State::DataEnd,
            (State::DataEnd, b'\n') => self.begin_size(),
            (State::Trailer, b'\n') if self.line == 1 => State::Done,
            (State::Trailer, b'\r') if self.line == 1 => {
                self.line = 0;
                State::Trailer
            }
            (State::Trailer, b'\n') => {
                self.line = 0;
                State::Trailer
            }
            (State::Trailer, _) => State::Trailer,
            _ => self.broken(),
        }
    }

    fn digit(&mut self, byte: u8) -> State {
        let Some(digit) = char::from(byte).to_digit(16) else {
            return self.broken();
        };
        if self.left >> 60 != 0 {
            return self.broken();
        }
        self.left = (self.left << 4) | u64::from(digit);
        self.digits += 1;
        State::Size
    }

    fn begin_size(&mut self) -> State {
        self.line = 0;
        self.left = 0;
        self.digits = 0;
        State::Size
    }

    fn begin_chunk(&mut self) -> State {
        self.line = 0;
        self.is_first = false;
        if self.left == 0 {
            State::Trailer
        } else {
            State::Data
        }
    }

    fn broken(&self) -> State {
        if self.is_first {
            State::Undone
        } else {
            State::Broken
        }
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
        let cases: [(&[u8], &[u8], Framing); 14] = [
            (b"3\r\nabc\r\n0\r\n\r\n", b"abc", Framing::Chunked),
            (b"3\nabc\n0\n\n", b"abc", Framing::Chunked),
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
    fn endless_lines_end() {
        let mut body = b"1\r\na\r\n1;".to_vec();
        body.resize(LINE * 2, b'x');
        assert_eq!(read(&body, 4096), (b"a".to_vec(), Framing::Broken));
    }
}
