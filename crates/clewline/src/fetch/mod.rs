//! Fetching: from a URL and a checked address to a status, headers and a stream of bytes.
//!
//! Owns the seam [`Fetcher`] and the HTTP implementation behind it. It refuses to know what the
//! bytes mean: nothing here reads links, judges scope or decides about another try.

mod answer;
mod client;
mod condition;
mod connect;
pub(crate) mod decode;
mod dns;
mod fields;
mod flow;
pub(crate) mod http1;
mod http2;
mod overrides;
mod pauses;
mod pool;
mod proxy;
mod second_try;
mod silence;
#[cfg(test)]
mod tests;
mod tls;
mod tunnel;
mod wire;

use std::net::IpAddr;
use std::time::{Duration, Instant};

use bytes::Bytes;
use clewline_core::frontier::{Excuse, Failure, Moment};
use clewline_core::outcome::FailureClass;
use clewline_core::url::CrawlUrl;
use futures_util::future::BoxFuture;

use self::http1::Method;
use crate::exchange::Recording;
use crate::headers::Headers;

pub(crate) use client::FetchSetupError;
pub use client::HttpFetcher;
pub(crate) use condition::Condition;
pub(crate) use pauses::Pauses;
pub(crate) use silence::{Silence, SlotDemand};

/// The addresses of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// In the order in which they should be tried; never empty.
    pub addresses: Vec<IpAddr>,
    /// How long the answer may be used.
    pub ttl: Duration,
    /// The user named the address (`--resolve`, `--connect-to`), so it may be private.
    pub trusted: bool,
}

/// Longest wait for a connection by a scheme that is a guess; another one is tried then.
pub(crate) const GUESS_PATIENCE: Duration = Duration::from_secs(3);

/// One request, for one URL, to one address.
#[derive(Debug, Clone)]
pub struct Request {
    /// What to ask for.
    pub url: CrawlUrl,
    /// HEAD instead of GET: the answer has no body.
    pub is_head: bool,
    /// The address that was checked and is to be connected to; none through a proxy.
    pub address: Option<IpAddr>,
    /// The Cookie header, if there is one.
    pub cookie: Option<String>,
    /// Ask for the page only if it is not as it was.
    pub condition: Option<Condition>,
    /// Send the user's credentials: the URL is on a root's origin.
    pub credentials: bool,
    /// Largest body for this request.
    pub max_body: u64,
    /// Longest time for the whole answer.
    pub timeout: Duration,
    /// Longest time for a connection, where that is less than what is configured.
    pub patience: Option<Duration>,
    /// Longest time from the request to the first byte, where that is less than what is
    /// configured; a request that it ends is cut short.
    pub first_byte: Option<Duration>,
    /// Where the host may be silent for a second only if somebody waits for the slot: who waits.
    pub slots: Option<SlotDemand>,
    /// Requests to the host keep a distance: one that may have been lost is not repeated at once.
    pub spaced: bool,
    /// Where the bytes of the exchange are wanted, verbatim; none costs nothing.
    pub recording: Option<Recording>,
    /// Hosts that asked to be left alone since the request was handed out.
    pub pauses: Option<Pauses>,
    /// Requests that the host may have in flight: with many, one connection can carry them all.
    pub streams: u32,
}

impl Request {
    /// The method that it is sent with.
    pub(crate) const fn method(&self) -> Method {
        if self.is_head {
            Method::Head
        } else {
            Method::Get
        }
    }

    /// Whether it may be sent now. To be asked last: what comes between is time in which the
    /// host may ask for a pause.
    pub fn may_leave(&self) -> Result<(), FetchFailure> {
        let pauses = self.pauses.as_ref();
        match pauses.and_then(|pauses| pauses.until(self.url.host())) {
            None => Ok(()),
            Some(until) => Err(FetchFailure {
                withheld: Some(until),
                ..FetchFailure::new(FailureClass::Connect, "the host asked for a pause")
            }),
        }
    }
}

/// The head of an answer, and the body still to be read.
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Header fields as received.
    pub headers: Headers,
    /// The address that was connected to; the proxy's own is not shown here.
    pub address: Option<IpAddr>,
    /// Phases up to the first byte.
    pub timings: Timings,
    /// The protocols from the outside in, as archives name them; none for HTTP/1.1.
    pub protocols: &'static [&'static str],
    /// The body; dropping it early closes the connection.
    pub body: Box<dyn Body>,
}

/// A body that is read piece by piece, decoded.
pub trait Body: Send {
    /// The next piece of decoded bytes; none at the end. Pieces are at most 64 KiB.
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, FetchFailure>>;

    /// What was read so far.
    fn tally(&self) -> BodyTally;
}

/// How much of a body was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BodyTally {
    /// Bytes on the wire, head and framing included.
    pub wire: u64,
    /// Bytes after decoding.
    pub decoded: u64,
    /// The body was cut at the size limit, its coding ended early, or the server sent a part of
    /// the content only (206).
    pub truncated: bool,
}

/// How long each phase took. A reused connection has no connect and TLS time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timings {
    /// When the request was written to the socket.
    pub sent_at: Option<Instant>,
    /// TCP (and proxy) connection.
    pub connect: Option<Duration>,
    /// TLS handshake.
    pub tls: Option<Duration>,
    /// From the request to the first byte of the answer.
    pub first_byte: Option<Duration>,
}

/// Why no whole answer came. Data about a URL, not an error of the crawl.
#[derive(Debug, Clone)]
pub struct FetchFailure {
    /// What kind of failure.
    pub class: FailureClass,
    /// For people; no secrets; control characters are escaped on output.
    pub message: String,
    /// Phases that were completed.
    pub timings: Timings,
    /// Bytes on the wire until then.
    pub wire: u64,
    /// Nothing is wrong with the host: this machine lacks descriptors or memory. The try does
    /// not count and fewer connections should be used.
    pub local: bool,
    /// Nothing is wrong: the request was not sent, because its host is to be left alone until
    /// then, or it may have been lost and has to keep its distance. The try does not count.
    pub withheld: Option<Instant>,
    /// Nothing is known to be wrong: the host was silent, and the request ended before its full
    /// time. The try does not count.
    pub cut_short: bool,
}

impl FetchFailure {
    /// The failure as the frontier hears of it; when the request left, in its time.
    pub(crate) fn told(&self, sent_at: Option<Moment>) -> Failure {
        Failure {
            class: self.class,
            message: self.message.as_str().into(),
            excuse: self.local.then_some(Excuse::Shortage),
            connected: self.timings.connect.is_some(),
            wire: self.wire,
            sent_at,
        }
    }
}

/// The way to servers: HTTP, a scripted fake in tests, later a browser.
pub trait Fetcher: Send + Sync + 'static {
    /// Finds the addresses of a host; the port only matters to the user's own overrides.
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> BoxFuture<'a, Result<Resolution, FetchFailure>>;

    /// Sends one request and reads the head of the answer. Redirects are not followed.
    fn fetch(&self, request: Request) -> BoxFuture<'_, Result<Response, FetchFailure>>;

    /// Whether requests for this URL go through a proxy, which then does the resolving.
    fn proxied(&self, url: &CrawlUrl) -> bool;
}
