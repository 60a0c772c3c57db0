//! What is asked.
//!
//! Owns reading the head of a request within bounds of size and time. Bodies are not read: an
//! archive takes nothing.

use std::io::{self, Read as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The largest head: URLs within URLs are long.
const LARGEST: usize = 64 * 1024;
/// The most fields.
const MOST_FIELDS: usize = 100;
/// How long a head may take; as long a connection without one holds a place.
const TIME: Duration = Duration::from_secs(5);

/// The head of a request, as far as it matters.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct ServerRequest {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) host: Option<String>,
    pub(super) origin: Option<String>,
    pub(super) referer: Option<String>,
    /// What the answer is for, as browsers tell (Fetch Metadata).
    pub(super) destination: Option<String>,
    /// The part of a body that is wanted.
    pub(super) range: Option<String>,
    /// Whether it is wanted only as long as the body is one that the client knows.
    pub(super) is_conditional: bool,
    /// Whether the client knows chunks.
    pub(super) is_modern: bool,
}

/// Why there is no request.
#[derive(Debug)]
pub(super) enum Unread {
    Gone(io::Error),
    Refused(u16, &'static str),
}

impl ServerRequest {
    pub(super) fn read(stream: &mut TcpStream) -> Result<Self, Unread> {
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
                return Self::parse(&head);
            }
            if head.len() > LARGEST {
                return Err(Unread::Refused(431, "the head of the request is too large"));
            }
        }
    }

    fn parse(head: &[u8]) -> Result<Self, Unread> {
        const BAD: Unread = Unread::Refused(400, "this is no request");
        let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut parsed = httparse::Request::new(&mut fields);
        if !parsed.parse(head).is_ok_and(|status| status.is_complete()) {
            return Err(BAD);
        }
        let mut request = Self {
            method: parsed.method.unwrap_or_default().to_owned(),
            target: parsed.path.unwrap_or_default().to_owned(),
            is_modern: parsed.version == Some(1),
            ..Self::default()
        };
        for field in parsed.headers.iter() {
            let place = match field.name.to_ascii_lowercase().as_str() {
                "host" => &mut request.host,
                "origin" => &mut request.origin,
                "referer" => &mut request.referer,
                "sec-fetch-dest" => &mut request.destination,
                "range" => &mut request.range,
                "if-range" => {
                    request.is_conditional = true;
                    continue;
                }
                _ => continue,
            };
            let value = std::str::from_utf8(field.value).map_err(|_| BAD)?;
            // Two hosts are one too many, and the first of two origins proves nothing.
            if place.replace(value.trim().to_owned()).is_some() {
                return Err(BAD);
            }
        }
        Ok(request)
    }
}
