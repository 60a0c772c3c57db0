//! As much HTTP as a crawler of this size needs: a request as bytes, an answer from bytes.
//!
//! Owns the grammar and the largest sizes, and never touches a socket. The lower rungs ask with
//! HTTP/1.0, where an answer ends when the server closes; the rung `queue` keeps connections
//! open and finds the end by [`Framing`].

use std::io;

use encoding_rs::{Encoding, UTF_8};
use url::{Position, Url};

/// The largest answer.
pub const MAX_ANSWER: usize = 8 << 20;
/// Bytes that are read at a time.
pub const PORTION: usize = 4096;
const MAX_HEAD: usize = 64 << 10;
const HEAD_END: &[u8] = b"\r\n\r\n";

/// A request whose answer ends with the connection.
pub fn request(url: &Url) -> Vec<u8> {
    written(url, "1.0", "close")
}

/// A request after whose answer the connection goes on.
pub fn request_alive(url: &Url) -> Vec<u8> {
    written(url, "1.1", "keep-alive")
}

fn written(url: &Url, version: &str, connection: &str) -> Vec<u8> {
    let target = &url[Position::BeforePath..Position::AfterQuery];
    let host = &url[Position::BeforeHost..Position::AfterPort];
    format!(
        "GET {target} HTTP/{version}\r\nHost: {host}\r\nUser-Agent: ladder\r\n\
         Connection: {connection}\r\n\r\n"
    )
    .into_bytes()
}

/// An answer that is larger than we take.
pub fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, "the answer is too large")
}

fn invalid(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn cut_short() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the answer was cut short")
}

/// A whole answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status, such as 200.
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The content.
    pub body: Vec<u8>,
}

impl Answer {
    /// Reads an answer from everything that came.
    pub fn parse(bytes: &[u8]) -> io::Result<Self> {
        let mut answer = Self::parse_head(bytes)?.ok_or_else(cut_short)?;
        let rest = &bytes[head_length(bytes).unwrap_or(bytes.len())..];
        answer.body = if answer.is_chunked() {
            unchunked(rest)?
        } else {
            let length = answer.length()?.unwrap_or(rest.len());
            rest.get(..length).ok_or_else(cut_short)?.to_vec()
        };
        Ok(answer)
    }

    /// Reads what stands before the body, if all of it is there.
    fn parse_head(bytes: &[u8]) -> io::Result<Option<Self>> {
        let Some(length) = head_length(bytes) else {
            let too_long = bytes.len() > MAX_HEAD;
            return if too_long { Err(too_large()) } else { Ok(None) };
        };
        let head = String::from_utf8_lossy(&bytes[..length]);
        let mut lines = head.split("\r\n");
        let mut words = lines.next().unwrap_or_default().split(' ');
        let version = words.next().unwrap_or_default();
        let status = words.next().and_then(|word| word.parse().ok());
        let status = status.filter(|_| version.starts_with("HTTP/1."));
        let headers = lines.filter_map(|line| line.split_once(':'));
        Ok(Some(Self {
            status: status.ok_or_else(|| invalid("the answer is not HTTP"))?,
            headers: headers
                .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
                .collect(),
            body: Vec::new(),
        }))
    }

    /// The value of a header field, whose name is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut fields = self.headers.iter();
        fields
            .find(|field| field.0 == name)
            .map(|field| field.1.as_str())
    }

    /// The content type without its parameters, in lower case.
    pub fn content_type(&self) -> Option<String> {
        let whole = self.header("content-type")?;
        let name = whole.split(';').next().unwrap_or_default();
        Some(name.trim().to_ascii_lowercase())
    }

    /// The encoding that the content type names; UTF-8 if it names none.
    pub fn encoding(&self) -> &'static Encoding {
        let parameters = self
            .header("content-type")
            .into_iter()
            .flat_map(|whole| whole.split(';'));
        let mut values = parameters.filter_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            name.trim().eq_ignore_ascii_case("charset").then_some(value)
        });
        let label = values.next().unwrap_or_default().trim().trim_matches('"');
        Encoding::for_label(label.as_bytes()).unwrap_or(UTF_8)
    }

    /// Whether the server keeps the connection for the next request.
    pub fn keeps_alive(&self) -> bool {
        let closes = self.header("connection");
        !closes.is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }

    fn is_chunked(&self) -> bool {
        let coding = self.header("transfer-encoding");
        coding.is_some_and(|value| value.eq_ignore_ascii_case("chunked"))
    }

    /// What Content-Length says; some answers have no body whatever it says.
    fn length(&self) -> io::Result<Option<usize>> {
        if matches!(self.status, 100..200 | 204 | 304) {
            return Ok(Some(0));
        }
        let length = self.header("content-length").map(str::parse);
        let length = length.transpose();
        length.map_err(|_| invalid("the length of the answer is no number"))
    }
}

/// Finds the end of an answer while it comes in. It remembers how far it has looked, so that
/// looking after each portion stays cheap.
#[derive(Debug, Default)]
pub enum Framing {
    /// The head has not ended yet.
    #[default]
    Head,
    /// It ends when so many bytes are there.
    Length(usize),
    /// A chunk begins here.
    Chunk(usize),
    /// It ends with the connection.
    Close,
}

impl Framing {
    /// Whether the bytes so far are a whole answer.
    pub fn is_whole(&mut self, bytes: &[u8]) -> io::Result<bool> {
        loop {
            match *self {
                Self::Head => match Answer::parse_head(bytes)? {
                    None => return Ok(false),
                    Some(answer) => *self = Self::after(&answer, head_length(bytes))?,
                },
                Self::Length(length) => return Ok(bytes.len() >= length),
                Self::Close => return Ok(false),
                Self::Chunk(start) => match chunk(bytes.get(start..).unwrap_or_default())? {
                    None => return Ok(false),
                    Some((_, 0, length)) => *self = Self::Length(start + length),
                    Some((_, _, length)) => *self = Self::Chunk(start + length),
                },
            }
        }
    }

    fn after(answer: &Answer, head: Option<usize>) -> io::Result<Self> {
        let head = head.unwrap_or(0);
        if answer.is_chunked() {
            return Ok(Self::Chunk(head));
        }
        Ok(match answer.length()? {
            Some(length) => Self::Length(head.saturating_add(length)),
            None => Self::Close,
        })
    }
}

fn head_length(bytes: &[u8]) -> Option<usize> {
    let window = &bytes[..bytes.len().min(MAX_HEAD)];
    let at = window
        .windows(HEAD_END.len())
        .position(|four| four == HEAD_END);
    at.map(|at| at + HEAD_END.len())
}

/// The chunk that the bytes begin with: where its content starts, how long that is, and how long
/// the chunk is with all its decoration. `None` as long as it is not all there.
fn chunk(bytes: &[u8]) -> io::Result<Option<(usize, usize, usize)>> {
    let line = &bytes[..bytes.len().min(MAX_HEAD)];
    let Some(end) = line.windows(2).position(|two| two == b"\r\n") else {
        let too_long = bytes.len() > MAX_HEAD;
        return if too_long { Err(too_large()) } else { Ok(None) };
    };
    let size = String::from_utf8_lossy(&line[..end]);
    let size = size.split(';').next().unwrap_or_default().trim();
    let size = usize::from_str_radix(size, 16)
        .ok()
        .filter(|size| *size <= MAX_ANSWER);
    let size = size.ok_or_else(|| invalid("the size of a chunk is no number we take"))?;
    let start = end + 2;
    let length = start + size + 2;
    Ok((bytes.len() >= length).then_some((start, size, length)))
}

fn unchunked(mut bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let (start, size, length) = chunk(bytes)?.ok_or_else(cut_short)?;
        if size == 0 {
            return Ok(body);
        }
        body.extend_from_slice(&bytes[start..start + size]);
        bytes = &bytes[length..];
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind::{InvalidData, UnexpectedEof};

    use super::*;

    #[test]
    fn requests_name_host_and_port_but_no_secret() {
        let url = Url::parse("http://me:secret@a.test:81/b?c=d#e").unwrap();
        let text = String::from_utf8(request(&url)).unwrap();
        assert!(
            text.starts_with("GET /b?c=d HTTP/1.0\r\nHost: a.test:81\r\n"),
            "{text}"
        );
        assert!(
            text.ends_with("\r\n\r\n") && !text.contains("secret"),
            "{text}"
        );
    }

    #[test]
    fn answers_are_framed_by_length_chunks_or_close() {
        let check = |text: &str, whole: bool, expected: Result<&str, io::ErrorKind>| {
            // The end must be found at the same place however the bytes are cut up.
            let mut framing = Framing::default();
            let ends: Vec<usize> = (0..=text.len())
                .filter(|&end| matches!(framing.is_whole(&text.as_bytes()[..end]), Ok(true)))
                .collect();
            let expected_ends: &[usize] = if whole { &[text.len()] } else { &[] };
            assert_eq!(ends, expected_ends, "{text:?}");
            let found = Answer::parse(text.as_bytes());
            let found = found.map(|answer| String::from_utf8(answer.body).unwrap());
            let found = found.as_deref().map_err(io::Error::kind);
            assert_eq!(found, expected, "{text:?}");
        };
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab",
            true,
            Ok("ab"),
        );
        check(
            "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nab",
            false,
            Err(UnexpectedEof),
        );
        check("HTTP/1.0 200 OK\r\n\r\nab", false, Ok("ab"));
        check(
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
            true,
            Ok(""),
        );
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        check(
            &format!("{chunked}1\r\na\r\n2;x\r\nbc\r\n0\r\n\r\n"),
            true,
            Ok("abc"),
        );
        check(&format!("{chunked}5\r\nab"), false, Err(UnexpectedEof));
        check(&format!("{chunked}-1\r\n"), false, Err(InvalidData));
        check(
            &format!("{chunked}ffffffffffffffff\r\n"),
            false,
            Err(InvalidData),
        );
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            false,
            Err(InvalidData),
        );
        check("SSH-2.0\r\n\r\n", false, Err(InvalidData));
        check("", false, Err(UnexpectedEof));
    }

    #[test]
    fn types_and_encodings_are_read() {
        let check = |value: &str, expected: (&str, &str)| {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {value}\r\n\r\n");
            let answer = Answer::parse(head.as_bytes()).unwrap();
            let kind = answer.content_type().unwrap();
            assert_eq!(
                (kind.as_str(), answer.encoding().name()),
                expected,
                "{value}"
            );
        };
        check("text/html", ("text/html", "UTF-8"));
        check(
            "Text/HTML; charset=\"ISO-8859-2\"",
            ("text/html", "ISO-8859-2"),
        );
        check(
            "text/html;a=b; Charset=shift_jis",
            ("text/html", "Shift_JIS"),
        );
        check("text/html; charset=unheard-of", ("text/html", "UTF-8"));
    }
}
