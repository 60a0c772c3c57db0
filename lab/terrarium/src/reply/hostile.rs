//! The named ways to answer badly.
//!
//! Owns the bytes of each attack. Refuses to know how they are sent. Invariant: every attack is
//! either finite or ends when the client goes away (`serve::play` bounds the rest).

use std::time::Duration;

use super::{Page, Reply, Step};

const HTML_HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n";

/// A faulty use of chunked framing (RFC 9112 section 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadChunk {
    /// A size that overflows 64 bits.
    Overflow,
    /// A size with a minus sign.
    Negative,
    /// A size that is no hexadecimal number.
    NotHexadecimal,
    /// An empty size line.
    Empty,
    /// Data that go on beyond the announced size.
    TooLong,
    /// The connection ends inside a chunk.
    CutShort,
    /// The connection ends before the last chunk.
    NoLastChunk,
    /// An extension that never ends.
    EndlessExtension,
    /// Trailers that never end.
    EndlessTrailers,
}

/// How a flaky resource fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A reset before the first byte.
    Reset,
    /// An orderly close before the first byte.
    HangUp,
    /// An answer with this status.
    Status(u16),
}

impl Reply {
    /// These steps, then the connection is closed.
    pub fn script(steps: impl Into<Vec<Step>>) -> Self {
        Self::Script(steps.into())
    }

    /// These bytes verbatim instead of a response, then the connection is closed.
    pub fn raw(bytes: impl Into<Vec<u8>>) -> Self {
        Self::script([Step::send(bytes)])
    }

    /// Whatever the function answers.
    pub fn handler(answer: impl Fn(&crate::Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::Handler(std::sync::Arc::new(answer))
    }

    /// No answer at all, until the client closes.
    pub fn silence() -> Self {
        Self::script([Step::Stall])
    }

    /// A reset before the first byte.
    pub fn reset() -> Self {
        Self::script([Step::Reset])
    }

    /// An orderly close before the first byte.
    pub fn hang_up() -> Self {
        Self::script([Step::Close])
    }

    /// A body without length or end.
    pub fn endless_body() -> Self {
        Self::script([
            Step::send(format!("{HTML_HEAD}\r\n<!doctype html>")),
            Step::endless("<p>and so on</p>\n".repeat(960)),
        ])
    }

    /// Headers that never end.
    pub fn endless_headers() -> Self {
        Self::script([
            Step::send(HTML_HEAD),
            Step::endless("X-More: and more\r\n".repeat(900)),
        ])
    }

    /// One header line of this many bytes, then a short page.
    pub fn huge_header(bytes: usize) -> Self {
        let name = "X-Huge: ";
        let value = "x".repeat(bytes.saturating_sub(name.len()));
        Self::raw(format!(
            "{HTML_HEAD}{name}{value}\r\nContent-Length: 2\r\n\r\nok"
        ))
    }

    /// This many small headers, then a short page.
    pub fn many_headers(count: usize) -> Self {
        Self::script([
            Step::send(HTML_HEAD),
            Step::Repeat {
                bytes: b"X-N: 1\r\n".as_slice().into(),
                times: count as u64,
            },
            Step::send("Content-Length: 2\r\n\r\nok"),
        ])
    }

    /// This many informational responses, then a short page. `u64::MAX` never gets there.
    pub fn informational(count: u64) -> Self {
        Self::script([
            Step::Repeat {
                bytes: b"HTTP/1.1 103 Early Hints\r\nLink: </s.css>\r\n\r\n"
                    .as_slice()
                    .into(),
                times: count,
            },
            Step::send(format!("{HTML_HEAD}Content-Length: 2\r\n\r\nok")),
        ])
    }

    /// Two lengths that disagree, and a body of the first.
    pub fn two_lengths(first: usize, second: usize) -> Self {
        let body = "x".repeat(first);
        Self::raw(format!(
            "{HTML_HEAD}Content-Length: {first}\r\nContent-Length: {second}\r\n\r\n{body}"
        ))
    }

    /// A `Content-Length` of this text, whatever it says, over this body; then a close.
    pub fn claimed_length(length: &str, body: &str) -> Self {
        Self::raw(format!("{HTML_HEAD}Content-Length: {length}\r\n\r\n{body}"))
    }

    /// A head that says chunked, then these bytes as the chunks, verbatim, then a close.
    pub fn chunks(wire: impl Into<Vec<u8>>) -> Self {
        let head = format!("{HTML_HEAD}Transfer-Encoding: chunked\r\n\r\n");
        Self::script([Step::send(head), Step::send(wire)])
    }

    /// A faulty chunked body. The first chunk, `<p>one`, is sound.
    pub fn bad_chunk(fault: BadChunk) -> Self {
        let (wire, endless) = match fault {
            BadChunk::Overflow => ("FFFFFFFFFFFFFFFFF\r\nx\r\n0\r\n\r\n", None),
            BadChunk::Negative => ("-5\r\nhello\r\n0\r\n\r\n", None),
            BadChunk::NotHexadecimal => ("xyz\r\nhello\r\n0\r\n\r\n", None),
            BadChunk::Empty => ("\r\nhello\r\n0\r\n\r\n", None),
            BadChunk::TooLong => ("2\r\nhello\r\n0\r\n\r\n", None),
            BadChunk::CutShort => ("ff\r\nhello", None),
            BadChunk::NoLastChunk => ("5\r\nhello\r\n", None),
            BadChunk::EndlessExtension => ("5;", Some("name=value;")),
            BadChunk::EndlessTrailers => ("5\r\nhello\r\n0\r\n", Some("X-Late: trailer\r\n")),
        };
        let head = format!("{HTML_HEAD}Transfer-Encoding: chunked\r\n\r\n6\r\n<p>one\r\n");
        let mut steps = vec![Step::send(head), Step::send(wire)];
        steps.extend(endless.map(|text| Step::endless(text.repeat(1000))));
        Self::script(steps)
    }

    /// One reply after another, by the count of requests; the last one stays.
    pub fn sequence(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::Sequence(replies.into_iter().collect())
    }

    /// Fails so many times, then answers.
    pub fn flaky(times: usize, fault: Fault, then: impl Into<Reply>) -> Self {
        let failure = match fault {
            Fault::Reset => Self::reset(),
            Fault::HangUp => Self::hang_up(),
            Fault::Status(status) => Page::empty(status).into(),
        };
        let failures = std::iter::repeat_n(failure, times);
        Self::sequence(failures.chain([then.into()]))
    }

    /// Redirects to itself with a cookie of this name until the cookie comes back.
    pub fn cookie_wall(name: &str, then: impl Into<Reply>) -> Self {
        Self::CookieWall(name.to_owned(), Box::new(then.into()))
    }

    /// Waits, then gives this reply; for replies that are no pages.
    pub fn late(delay: Duration, steps: impl IntoIterator<Item = Step>) -> Self {
        Self::Script([Step::Wait(delay)].into_iter().chain(steps).collect())
    }
}
