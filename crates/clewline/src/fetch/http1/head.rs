//! The response head: finding its end, and reading it.
//!
//! Owns the status line and the field lines. Refuses to know what the fields mean, apart from
//! whether the head itself leaves its meaning in doubt. Invariant: each byte is searched for the
//! end of the head at most twice, however the bytes arrive, so a head that drips in byte by byte
//! costs no more than one that comes whole.

use std::borrow::Cow;

use super::FramingError;
use crate::headers::Headers;

/// How much of a head is read before it is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeadLimits {
    /// Bytes of one head, the trailers of its body counted with it.
    pub bytes: usize,
    /// Fields of one head.
    pub count: usize,
    /// Interim (1xx) responses before the final one.
    pub informational: u8,
}

impl Default for HeadLimits {
    fn default() -> Self {
        Self {
            bytes: 64 * 1024,
            count: 1_000,
            informational: 10,
        }
    }
}

/// A final response head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResponseHead {
    /// 0 or 1, for HTTP/1.0 or HTTP/1.1.
    pub version_minor: u8,
    /// The status code, 200 to 999.
    pub status: u16,
    /// The fields, folded lines joined.
    pub headers: Headers,
    /// How many bytes of the buffer the head took.
    pub raw_len: usize,
    /// Lines had to be ignored or guessed at: what the server meant is not certain.
    pub doubtful: bool,
    /// Bytes the trailers may still take.
    pub(super) trailer_room: usize,
}

/// What the bytes so far amount to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HeadStep {
    /// The head is not whole yet.
    NeedMore,
    /// An interim response: drop `consumed` bytes from the buffer and go on.
    Informational {
        /// Bytes of the buffer it took.
        consumed: usize,
        /// The status code, 100 to 199.
        status: u16,
    },
    /// The final head; the body begins `raw_len` bytes into the buffer.
    Complete(ResponseHead),
}

/// Reads the heads of one response from a growing buffer.
#[derive(Debug)]
pub(crate) struct HeadReader {
    limits: HeadLimits,
    /// Where the status line begins: after the empty lines before it.
    start: usize,
    /// Up to here the buffer holds no end of the head.
    scanned: usize,
    interim: u8,
}

impl HeadReader {
    /// A reader at the beginning of a response.
    pub(crate) fn new(limits: &HeadLimits) -> Self {
        Self {
            limits: *limits,
            start: 0,
            scanned: 0,
            interim: 0,
        }
    }

    /// Looks at the buffer, which begins where the current head does and holds all that was
    /// given before, with what has come since appended.
    pub(crate) fn read(&mut self, buffer: &[u8]) -> Result<HeadStep, FramingError> {
        self.skip_empty_lines(buffer);
        check_beginning(buffer.get(self.start..).unwrap_or_default())?;
        let end = self.find_end(buffer);
        if end.unwrap_or(buffer.len()) > self.limits.bytes {
            return Err(FramingError::HeadTooLarge);
        }
        let Some(end) = end else {
            return Ok(HeadStep::NeedMore);
        };
        let head = read_whole(&buffer[..end], &self.limits)?;
        match head.status {
            0..=99 => Err(FramingError::MalformedHead),
            // A switch of protocols was not asked for, so what follows is nobody's guess.
            101 => Err(FramingError::Interim),
            102..=199 | 100 => self.interim(end, head.status),
            _ => Ok(HeadStep::Complete(head)),
        }
    }

    fn interim(&mut self, consumed: usize, status: u16) -> Result<HeadStep, FramingError> {
        if self.interim >= self.limits.informational {
            return Err(FramingError::Interim);
        }
        self.interim += 1;
        self.start = 0;
        self.scanned = 0;
        Ok(HeadStep::Informational { consumed, status })
    }

    /// Servers send stray line ends after a body; RFC 9112 section 2.2 forgives those before a
    /// request, and browsers forgive them here.
    fn skip_empty_lines(&mut self, buffer: &[u8]) {
        loop {
            match buffer.get(self.start..).unwrap_or_default() {
                [b'\n', ..] => self.start += 1,
                [b'\r', b'\n', ..] => self.start += 2,
                _ => break,
            }
        }
        self.scanned = self.scanned.max(self.start);
    }

    /// The head ends with the first empty line, whether its lines end with CRLF or LF alone.
    fn find_end(&mut self, buffer: &[u8]) -> Option<usize> {
        while let Some(found) = memchr::memchr(b'\n', buffer.get(self.scanned..)?) {
            let next = self.scanned + found + 1;
            match buffer.get(next..)? {
                [b'\n', ..] => return Some(next + 1),
                [b'\r', b'\n', ..] => return Some(next + 2),
                [] | [b'\r'] => {
                    // What follows this line end has not come yet: look at it again then.
                    self.scanned = next - 1;
                    return None;
                }
                _ => self.scanned = next,
            }
        }
        self.scanned = buffer.len();
        None
    }
}

/// Reads a head that is all there, or says that it is not.
pub(crate) fn parse_head(buffer: &[u8], limits: &HeadLimits) -> Result<HeadStep, FramingError> {
    HeadReader::new(limits).read(buffer)
}

/// HTTP/0.9 and other protocols are known by their first bytes; waiting for the end of a head
/// that never comes would only cost time.
fn check_beginning(line: &[u8]) -> Result<(), FramingError> {
    const PREFIX: &[u8] = b"HTTP/1.";
    let length = line.len().min(PREFIX.len());
    if line[..length] == PREFIX[..length] || line == b"\r" {
        Ok(())
    } else {
        Err(FramingError::NotHttp)
    }
}

fn read_whole(raw: &[u8], limits: &HeadLimits) -> Result<ResponseHead, FramingError> {
    let lines = memchr::memchr_iter(b'\n', raw).count();
    let mut fields = vec![httparse::EMPTY_HEADER; lines.min(limits.count)];
    let mut response = httparse::Response::new(&mut fields);
    let parsed = lenient().parse_response(&mut response, raw);
    let complete = match parsed {
        Ok(httparse::Status::Complete(length)) => length == raw.len(),
        Ok(httparse::Status::Partial) => false,
        Err(httparse::Error::TooManyHeaders) => return Err(FramingError::HeadTooLarge),
        Err(httparse::Error::Version) => return Err(FramingError::NotHttp),
        Err(_) => return Err(FramingError::MalformedHead),
    };
    let (true, Some(version_minor), Some(status)) = (complete, response.version, response.code)
    else {
        return Err(FramingError::MalformedHead);
    };
    let mut headers = Headers::with_capacity(response.headers.len(), raw.len());
    for field in &*response.headers {
        headers.push(field.name, &unfold(field.value));
    }
    Ok(ResponseHead {
        version_minor,
        status,
        doubtful: field_lines(raw) != headers.len(),
        headers,
        raw_len: raw.len(),
        trailer_room: limits.bytes - raw.len(),
    })
}

fn lenient() -> httparse::ParserConfig {
    let mut config = httparse::ParserConfig::default();
    config
        .allow_spaces_after_header_name_in_responses(true)
        .allow_obsolete_multiline_headers_in_responses(true)
        .allow_multiple_spaces_in_response_status_delimiters(true)
        .allow_space_before_first_header_name(true)
        .ignore_invalid_headers_in_responses(true);
    config
}

/// How many fields a head should have by its lines: all after the status line that are neither
/// empty nor a continuation. Where this differs from what was read, a line was ignored.
fn field_lines(raw: &[u8]) -> usize {
    raw.split(|&byte| byte == b'\n')
        .skip_while(|line| line.is_empty() || *line == b"\r")
        .skip(1)
        .filter(|line| !matches!(line, [] | [b'\r'] | [b' ' | b'\t', ..]))
        .count()
}

/// Joins a folded value: a line break and the white space around it become one space, as
/// RFC 9112 section 5.2 asks of a user agent.
fn unfold(value: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr2(b'\r', b'\n', value).is_none() {
        return Cow::Borrowed(value);
    }
    let mut joined = Vec::with_capacity(value.len());
    for line in value.split(|&byte| byte == b'\n') {
        let line = line.trim_ascii();
        if !joined.is_empty() && !line.is_empty() {
            joined.push(b' ');
        }
        joined.extend_from_slice(line);
    }
    Cow::Owned(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A head that drips in is searched from where the search left off.
    #[test]
    fn the_search_goes_on_where_it_was() {
        let mut wire = b"\r\n\n".repeat(5_000);
        wire.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        wire.extend_from_slice(&b"A: b\r\nC: d\n".repeat(3_000));
        let mut reader = HeadReader::new(&HeadLimits::default());
        for end in 1..=wire.len() {
            assert_eq!(reader.read(&wire[..end]), Ok(HeadStep::NeedMore));
            assert!(reader.scanned + 2 >= end, "{} of {end}", reader.scanned);
        }
        assert_eq!(reader.start, 15_000);
    }
}
