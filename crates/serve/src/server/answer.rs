//! What is answered.
//!
//! Owns the fields that every answer has, and how a body comes to its client piece by piece.
//! Invariant: a body that breaks off is not taken for whole by a client that knows chunks.

use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::{mpsc, oneshot};

/// Bytes that are sent at once.
const STEP: usize = 64 * 1024;
/// Pieces of a body that wait for a client.
const MOST_WAITING: usize = 1;

pub(crate) enum AnswerBody {
    Bytes(Vec<u8>),
    Stream(Box<dyn Read>),
    /// What is sent as it comes, from another thread.
    Events(mpsc::Receiver<io::Result<Bytes>>),
    /// So many bytes of a stream.
    Part {
        stream: Box<dyn Read>,
        length: u64,
    },
}

pub(crate) struct ServerAnswer {
    pub(super) status: u16,
    pub(super) fields: Vec<(&'static str, String)>,
    pub(super) body: AnswerBody,
}

/// Fields of every answer: nothing is guessed, nothing is told to others, nothing is kept.
pub(super) const ALWAYS: [(&str, &str); 6] = [
    ("X-Content-Type-Options", "nosniff"),
    ("Referrer-Policy", "same-origin"),
    ("X-DNS-Prefetch-Control", "off"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cache-Control", "no-store"),
];

impl ServerAnswer {
    pub(crate) fn new(status: u16, body: AnswerBody) -> Self {
        Self {
            status,
            fields: Vec::new(),
            body,
        }
    }

    /// Its status.
    #[cfg(test)]
    pub(crate) const fn status(&self) -> u16 {
        self.status
    }

    /// Adds a field; whatever could end a line is left out.
    #[must_use]
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        let value: String = value.chars().filter(|c| matches!(c, ' '..='~')).collect();
        self.fields.push((name, value));
        self
    }

    /// The answer with a body that is there already; a stream is left out.
    pub(super) fn whole(self) -> Response<ReplyBody> {
        let body = match self.body {
            AnswerBody::Bytes(bytes) => bytes,
            _ => Vec::new(),
        };
        response(self.status, &self.fields, ReplyBody::Whole(body.into()))
    }

    /// Hands the answer over, and stays with its body until the client has it or is gone.
    pub(super) fn send(self, client: oneshot::Sender<Response<ReplyBody>>) {
        let (stream, length) = match self.body {
            AnswerBody::Bytes(_) => {
                // A client that is gone needs no answer.
                client.send(self.whole()).ok();
                return;
            }
            AnswerBody::Events(events) => {
                let body = ReplyBody::Pieces(events, None);
                client.send(response(self.status, &self.fields, body)).ok();
                return;
            }
            AnswerBody::Stream(stream) => (stream, None),
            AnswerBody::Part { stream, length } => (stream, Some(length)),
        };
        let (pieces, waiting) = mpsc::channel(MOST_WAITING);
        let body = ReplyBody::Pieces(waiting, length);
        let sent = client.send(response(self.status, &self.fields, body));
        if sent.is_ok() {
            copy(stream.take(length.unwrap_or(u64::MAX)), &pieces);
        }
    }
}

fn response(
    status: u16,
    fields: &[(&'static str, String)],
    body: ReplyBody,
) -> Response<ReplyBody> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let always = ALWAYS.iter().map(|&(name, value)| (name, value));
    let own = fields.iter().map(|(name, value)| (*name, value.as_str()));
    for (name, value) in always.chain(own) {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("our names are names");
        let value = HeaderValue::from_str(value).expect("the text holds no control character");
        response.headers_mut().insert(name, value);
    }
    response
}

/// Sends pieces until the end, the client's or the body's. A body that cannot be read breaks off.
fn copy(mut stream: impl Read, pieces: &mpsc::Sender<io::Result<Bytes>>) {
    loop {
        let mut buffer = vec![0; STEP];
        let piece = match stream.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                buffer.truncate(count);
                Ok(buffer.into())
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_broken = piece.is_err();
        if pieces.blocking_send(piece).is_err() || is_broken {
            return;
        }
    }
}

/// A body on its way to a client.
#[derive(Debug)]
pub(super) enum ReplyBody {
    /// It is there.
    Whole(Bytes),
    /// It comes piece by piece; so many bytes of it are missing, if that is known.
    Pieces(mpsc::Receiver<io::Result<Bytes>>, Option<u64>),
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Self::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Pieces(pieces, missing) => pieces.poll_recv(context).map(|piece| {
                let piece = piece?;
                if let (Ok(bytes), Some(missing)) = (&piece, missing) {
                    *missing = missing.saturating_sub(bytes.len() as u64);
                }
                Some(piece.map(Frame::data))
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Pieces(_, Some(missing)) => SizeHint::with_exact(*missing),
            Self::Pieces(_, None) => SizeHint::default(),
        }
    }
}
