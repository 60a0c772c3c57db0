//! What a rendering asks of the network.
//!
//! Owns the only door of a browser to the network: one request, its answer, and who may refuse it. It
//! refuses to know how a request is judged, paced, fetched and archived. Invariant: only GET and HEAD
//! pass through this door.

use bytes::Bytes;
use futures_util::future::BoxFuture;

/// The only door of a rendering to the network.
pub trait PartFetcher: Send + Sync {
    /// Fetches one part of a page. Redirects are not followed: the browser gets the 3xx answer and asks
    /// for its target, so that every hop is judged.
    fn fetch(&self, request: PartRequest) -> BoxFuture<'_, PartAnswer>;
}

/// A request that a page made, GET or HEAD; other methods never leave this crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartRequest {
    /// The URL, absolute, http or https, without a fragment.
    pub url: String,
    /// What the page wants to do with the answer.
    pub kind: PartKind,
    /// HEAD instead of GET.
    pub is_head: bool,
}

/// What a page wants to do with the answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartKind {
    /// Show it in a frame.
    Document,
    /// A style sheet.
    Style,
    /// A script or a worker.
    Script,
    /// Data that a script asks for.
    Fetch,
    /// An image.
    Image,
    /// A font.
    Font,
    /// Audio, video, or subtitles.
    Media,
    /// Anything else, such as a manifest or a prefetch.
    Other,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartAnswer {
    /// The server answered.
    Response {
        /// The status.
        status: u16,
        /// The header fields.
        headers: Vec<(String, Vec<u8>)>,
        /// The decoded body; a Content-Encoding field does not count any more.
        body: Bytes,
    },
    /// Nobody asked the server.
    Refused(PartRefusal),
    /// The server did not answer; the text says why.
    Failed(String),
}

/// Why nobody asked the server for a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartRefusal {
    /// robots.txt forbids it.
    Robots,
    /// Its address is private or forbidden in another way.
    Address,
    /// A limit of the crawl is reached.
    Limit,
    /// The crawl is about to stop.
    Stopping,
}
