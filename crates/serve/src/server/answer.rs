//! What is answered.
//!
//! Owns the framing of an answer and the fields that every answer has. Invariant: a body that
//! breaks off is not taken for whole by a client that knows chunks.

use std::fmt::Write as _;
use std::io::{self, Read, Write};

use super::request::ServerRequest;

const TEXT: &str = "a string takes all text";

/// Bytes that are sent at once.
const STEP: usize = 64 * 1024;

pub(super) enum AnswerBody {
    Bytes(Vec<u8>),
    Stream(Box<dyn Read>),
    /// So many bytes of a stream.
    Part {
        stream: Box<dyn Read>,
        length: u64,
    },
}

/// How the end of the body is told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Framing {
    Chunks,
    Close,
    HeadOnly,
}

pub(super) struct ServerAnswer {
    status: u16,
    fields: Vec<(&'static str, String)>,
    body: AnswerBody,
    framing: Framing,
}

/// Fields of every answer: nothing is guessed, nothing is told to others, nothing is kept.
const ALWAYS: [(&str, &str); 7] = [
    ("Connection", "close"),
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "same-origin"),
    ("X-DNS-Prefetch-Control", "off"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
];

impl ServerAnswer {
    pub(super) fn new(status: u16, body: AnswerBody) -> Self {
        Self {
            status,
            fields: Vec::new(),
            body,
            framing: Framing::Close,
        }
    }

    /// Adds a field; whatever could end a line is left out.
    pub(super) fn with(mut self, name: &'static str, value: &str) -> Self {
        let value: String = value.chars().filter(|c| matches!(c, ' '..='~')).collect();
        self.fields.push((name, value));
        self
    }

    /// Frames the answer as the client understands it.
    pub(super) fn for_request(mut self, request: &ServerRequest) -> Self {
        self.framing = match (request.method.as_str(), request.is_modern) {
            ("HEAD", _) => Framing::HeadOnly,
            (_, true) => Framing::Chunks,
            _ => Framing::Close,
        };
        self
    }

    pub(super) fn write(self, out: &mut impl Write) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        let always = ALWAYS.iter().map(|&(name, value)| (name, value));
        let own = self
            .fields
            .iter()
            .map(|(name, value)| (*name, value.as_str()));
        for (name, value) in always.chain(own) {
            write!(head, "{name}: {value}\r\n").expect(TEXT);
        }
        match (&self.body, self.framing) {
            (AnswerBody::Bytes(bytes), _) => {
                write!(head, "Content-Length: {}\r\n", bytes.len()).expect(TEXT);
            }
            (AnswerBody::Part { length, .. }, _) => {
                write!(head, "Content-Length: {length}\r\n").expect(TEXT);
            }
            (AnswerBody::Stream(_), Framing::Chunks) => {
                head.push_str("Transfer-Encoding: chunked\r\n");
            }
            (AnswerBody::Stream(_), _) => {}
        }
        head.push_str("\r\n");
        out.write_all(head.as_bytes())?;
        match self.body {
            _ if self.framing == Framing::HeadOnly => {}
            AnswerBody::Bytes(bytes) => out.write_all(&bytes)?,
            AnswerBody::Stream(stream) => copy(stream, self.framing, out)?,
            AnswerBody::Part { stream, length } => {
                copy(Box::new(stream.take(length)), Framing::Close, out)?;
            }
        }
        out.flush()
    }
}

fn copy(mut stream: Box<dyn Read>, framing: Framing, out: &mut impl Write) -> io::Result<()> {
    let mut buffer = vec![0; STEP];
    loop {
        let count = match stream.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if framing == Framing::Chunks {
            write!(out, "{count:x}\r\n")?;
        }
        out.write_all(&buffer[..count])?;
        if framing == Framing::Chunks {
            out.write_all(b"\r\n")?;
        }
        if count == 0 {
            return Ok(());
        }
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        416 => "Range Not Satisfiable",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Archived",
    }
}
