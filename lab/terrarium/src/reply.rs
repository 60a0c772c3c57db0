//! What a resource answers: a `Page` (a well-formed message with chosen faults) or a `Reply`
//! (anything else that can happen on a socket).
//!
//! Owns the description of an answer. Refuses to know sockets, sites and clocks: a `Reply` is a
//! value, and `serve::play` performs it. Invariant: what a `Reply` describes is sent byte for
//! byte; nothing is added that the author of the test did not write or name.

mod hostile;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::generate::{self, Coding};
use crate::serve::Request;

pub use hostile::{BadChunk, Fault};

/// One thing done to the socket. A list of them can express any answer, right or wrong.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends these bytes at once.
    Send(Arc<[u8]>),
    /// Waits before the next step.
    Wait(Duration),
    /// Sends the bytes in small portions, with a pause after each but the last.
    Drip {
        /// What is sent.
        bytes: Arc<[u8]>,
        /// How many bytes each portion has.
        portion: usize,
        /// The pause between two portions.
        every: Duration,
    },
    /// Sends the same bytes again and again, as fast as the client reads.
    Repeat {
        /// What is sent each time.
        bytes: Arc<[u8]>,
        /// How often; `u64::MAX` means until the client goes away (or a very large bound).
        times: u64,
    },
    /// Says nothing more until the client closes.
    Stall,
    /// Ends the stream in order: a TLS close notification where there is TLS, then FIN.
    Close,
    /// Sends FIN without the TLS close notification.
    Cut,
    /// Resets the connection (`SO_LINGER` 0).
    Reset,
}

impl Step {
    /// Sends these bytes at once.
    pub fn send(bytes: impl Into<Vec<u8>>) -> Self {
        Self::Send(bytes.into().into())
    }

    /// Sends the same bytes until the client goes away.
    pub fn endless(bytes: impl Into<Vec<u8>>) -> Self {
        Self::Repeat {
            bytes: bytes.into().into(),
            times: u64::MAX,
        }
    }
}

/// How the end of a body is told to the client.
#[derive(Clone, Debug, Default)]
pub(crate) enum Framing {
    /// `Content-Length`.
    #[default]
    Length,
    /// `Transfer-Encoding: chunked`.
    Chunked(Chunked),
    /// No header; the connection closes at the end.
    UntilClose,
}

/// How a chunked body is cut up.
#[derive(Clone, Debug)]
pub(crate) struct Chunked {
    pub(crate) size: usize,
    pub(crate) extension: Vec<u8>,
    pub(crate) trailers: Vec<(Vec<u8>, Vec<u8>)>,
}

/// What happens once so many bytes of the body (as sent) are out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Break {
    Stall,
    Close,
    Reset,
}

/// Portions and pause of a slow sender.
pub(crate) type Pace = (usize, Duration);

/// A response with status, headers and body, and the ways in which it may misbehave.
///
/// Headers are sent in the order in which they were added. `Content-Encoding`, the framing header
/// and `Connection: close` follow them, unless the page has a header that frames it already.
/// In bodies and header values `{{b.test}}` stands for the origin of that site, such as
/// `http://b.test:41234` (the plain one if there are two, `{{https b.test}}` for the other).
#[derive(Clone, Debug)]
pub struct Page {
    pub(crate) status: u16,
    pub(crate) reason: Option<Vec<u8>>,
    pub(crate) headers: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) body: Arc<[u8]>,
    pub(crate) codings: Vec<Coding>,
    pub(crate) framing: Framing,
    pub(crate) delay: Duration,
    pub(crate) head_pace: Option<Pace>,
    pub(crate) body_pace: Option<Pace>,
    pub(crate) broken: Option<(usize, Break)>,
    pub(crate) keep_open: bool,
    pub(crate) expand: bool,
}

impl Page {
    /// A page with this content type and body, status 200.
    pub fn bytes(content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::bare(body).header("Content-Type", content_type)
    }

    /// A page without any header but its framing.
    pub fn bare(body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            reason: None,
            headers: Vec::new(),
            body: body.into().into(),
            codings: Vec::new(),
            framing: Framing::default(),
            delay: Duration::ZERO,
            head_pace: None,
            body_pace: None,
            broken: None,
            keep_open: true,
            expand: true,
        }
    }

    /// An HTML page in UTF-8.
    pub fn html(body: impl Into<Vec<u8>>) -> Self {
        Self::bytes("text/html; charset=utf-8", body)
    }

    /// An HTML page whose header names this charset; the bytes are sent as they are.
    pub fn charset(label: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::bytes(&format!("text/html; charset={label}"), body)
    }

    /// Plain text, as for `robots.txt`.
    pub fn text(body: impl Into<Vec<u8>>) -> Self {
        Self::bytes("text/plain; charset=utf-8", body)
    }

    /// XML, as for a sitemap.
    pub fn xml(body: impl Into<Vec<u8>>) -> Self {
        Self::bytes("application/xml", body)
    }

    /// An empty answer with this status.
    pub fn empty(status: u16) -> Self {
        Self::bare("").status(status)
    }

    /// A redirect; the bytes of `Location` are sent as they are.
    pub fn redirect(status: u16, location: impl Into<Vec<u8>>) -> Self {
        Self::empty(status).header("Location", location)
    }

    /// A refusal for now (429 or 503) with this `Retry-After`.
    pub fn retry_after(status: u16, value: &str) -> Self {
        Self::empty(status).header("Retry-After", value)
    }

    /// `mebibytes` MiB of zeros, compressed; a page in the coding's own words.
    pub fn bomb(coding: Coding, mebibytes: usize) -> Self {
        Self::bytes("text/html", generate::bomb(coding, mebibytes))
            .header("Content-Encoding", coding.name())
            .verbatim()
    }

    /// Changes the status code.
    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// Changes the reason phrase, which is otherwise the usual one.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<Vec<u8>>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    /// Adds a header after those already there, name and value exactly as given.
    #[must_use]
    pub fn header(mut self, name: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Compresses the body once more; called twice, the codings are stacked.
    #[must_use]
    pub fn coded(mut self, coding: Coding) -> Self {
        self.codings.push(coding);
        self
    }

    /// Sends the body in chunks of this size.
    #[must_use]
    pub fn chunked(mut self, size: usize) -> Self {
        self.framing = Framing::Chunked(Chunked {
            size: size.max(1),
            extension: Vec::new(),
            trailers: Vec::new(),
        });
        self
    }

    /// Adds text after the size of each chunk, such as `;name=value`. Only for chunked pages.
    #[must_use]
    pub fn chunk_extension(mut self, extension: impl Into<Vec<u8>>) -> Self {
        if let Framing::Chunked(chunked) = &mut self.framing {
            chunked.extension = extension.into();
        }
        self
    }

    /// Adds a trailer after the last chunk. Only for chunked pages.
    #[must_use]
    pub fn trailer(mut self, name: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Self {
        if let Framing::Chunked(chunked) = &mut self.framing {
            chunked.trailers.push((name.into(), value.into()));
        }
        self
    }

    /// Sends no framing header; the end of the connection ends the body.
    #[must_use]
    pub fn until_close(mut self) -> Self {
        self.framing = Framing::UntilClose;
        self
    }

    /// Says `Connection: close` and means it.
    #[must_use]
    pub fn close(mut self) -> Self {
        self.keep_open = false;
        self
    }

    /// Waits before the first byte.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Sends the body in portions of `bytes`, one every `every`.
    #[must_use]
    pub fn drip(mut self, bytes: usize, every: Duration) -> Self {
        self.body_pace = Some((bytes.max(1), every));
        self
    }

    /// Sends the head in portions of `bytes`, one every `every`.
    #[must_use]
    pub fn drip_head(mut self, bytes: usize, every: Duration) -> Self {
        self.head_pace = Some((bytes.max(1), every));
        self
    }

    /// Falls silent after so many bytes of the body, until the client closes.
    #[must_use]
    pub fn stall_after(mut self, bytes: usize) -> Self {
        self.broken = Some((bytes, Break::Stall));
        self
    }

    /// Closes the connection after so many bytes of the body.
    #[must_use]
    pub fn close_after(mut self, bytes: usize) -> Self {
        self.broken = Some((bytes, Break::Close));
        self
    }

    /// Resets the connection after so many bytes of the body.
    #[must_use]
    pub fn reset_after(mut self, bytes: usize) -> Self {
        self.broken = Some((bytes, Break::Reset));
        self
    }

    /// Sends `{{...}}` as it stands instead of putting origins in.
    #[must_use]
    pub fn verbatim(mut self) -> Self {
        self.expand = false;
        self
    }
}

/// A function that answers requests.
pub(crate) type Handler = Arc<dyn Fn(&Request) -> Reply + Send + Sync>;

/// What a resource does when it is asked.
#[derive(Clone)]
#[non_exhaustive]
pub enum Reply {
    /// A response.
    Page(Box<Page>),
    /// These steps, then the connection is closed.
    Script(Vec<Step>),
    /// One reply after another, by the count of requests; the last one stays.
    Sequence(Vec<Reply>),
    /// Redirects to itself with a cookie of this name until the cookie comes back.
    CookieWall(String, Box<Reply>),
    /// Whatever the function answers.
    Handler(Handler),
}

impl From<Page> for Reply {
    fn from(page: Page) -> Self {
        Self::Page(Box::new(page))
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Page(page) => formatter.debug_tuple("Page").field(page).finish(),
            Self::Script(steps) => formatter.debug_tuple("Script").field(&steps.len()).finish(),
            Self::Sequence(list) => formatter.debug_tuple("Sequence").field(list).finish(),
            Self::CookieWall(name, then) => formatter
                .debug_tuple("CookieWall")
                .field(name)
                .field(then)
                .finish(),
            Self::Handler(_) => formatter.write_str("Handler"),
        }
    }
}
