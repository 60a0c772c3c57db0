//! The wire as the proxy speaks it.
//!
//! Owns reading the head of a request to the proxy, within bounds of size and time, and writing an
//! answer that is not recorded. The server's other requests go through `hyper`; an answer of the
//! proxy is recorded bytes, and `hyper` would write them anew. Bodies are not read: an archive
//! takes nothing.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

use super::answer::{ALWAYS, AnswerBody, ServerAnswer};
use super::listener::{LARGEST_HEAD, MOST_FIELDS};
use super::request::ServerRequest;

/// How long a head may take; as long a connection without one holds a seat.
const TIME: Duration = Duration::from_secs(5);

/// Why there is no request.
#[derive(Debug)]
pub(super) enum Unread {
    Gone(io::Error),
    Refused(u16, &'static str),
}

/// Reads the head of a request.
pub(super) fn read(stream: &mut TcpStream) -> Result<ServerRequest, Unread> {
    let end = Instant::now() + TIME;
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Unread::Refused(408, "the request took too long"));
        }
        stream.set_read_timeout(Some(left)).map_err(Unread::Gone)?;
        let count = stream.read(&mut buffer).map_err(Unread::Gone)?;
        if count == 0 {
            return Err(Unread::Gone(io::ErrorKind::UnexpectedEof.into()));
        }
        // The empty line may have begun already.
        let looked = head.len().saturating_sub(3);
        head.extend_from_slice(&buffer[..count]);
        if memchr::memmem::find(&head[looked..], b"\r\n\r\n").is_some() {
            return parse(&head).ok_or(Unread::Refused(400, "this is no request"));
        }
        if head.len() > LARGEST_HEAD {
            return Err(Unread::Refused(431, "the head of the request is too large"));
        }
    }
}

fn parse(head: &[u8]) -> Option<ServerRequest> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut parsed = httparse::Request::new(&mut fields);
    if !parsed.parse(head).is_ok_and(|status| status.is_complete()) {
        return None;
    }
    let mut known = HeaderMap::new();
    for field in parsed.headers.iter() {
        let name = HeaderName::from_bytes(field.name.as_bytes()).ok()?;
        known.append(name, HeaderValue::from_bytes(field.value).ok()?);
    }
    let method = parsed.method.unwrap_or_default().to_owned();
    let target = parsed.path.unwrap_or_default().to_owned();
    ServerRequest::new(method, target, known).ok()
}

/// Writes an answer of the proxy's own.
pub(super) fn write(answer: ServerAnswer, method: &str, out: &mut impl Write) -> io::Result<()> {
    let reason = StatusCode::from_u16(answer.status).ok();
    let reason = reason.and_then(|status| status.canonical_reason());
    let reason = reason.unwrap_or("Unknown");
    let body = match answer.body {
        AnswerBody::Bytes(bytes) => bytes,
        _ => Vec::new(),
    };
    let mut head = format!(
        "HTTP/1.1 {} {reason}\r\nConnection: close\r\nContent-Length: {}\r\n",
        answer.status,
        body.len()
    );
    let always = ALWAYS.iter().map(|&(name, value)| (name, value));
    let own = answer.fields.iter();
    let own = own.map(|(name, value)| (*name, value.as_str()));
    for (name, value) in always.chain(own) {
        write!(head, "{name}: {value}\r\n").expect("a string takes all text");
    }
    head.push_str("\r\n");
    out.write_all(head.as_bytes())?;
    if method != "HEAD" {
        out.write_all(&body)?;
    }
    out.flush()
}
