//! What goes into a rendering and what comes out of it.
//!
//! Owns the page as it was fetched, the page as it looked at the end, and the reasons for which there is
//! no such look. It refuses to know browsers. Invariant: everything in a rendering is bounded.

use std::time::Duration;

use bytes::Bytes;
use thiserror::Error;

use crate::part::PartKind;

/// The page as it was fetched; the browser asks nobody for it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderInput {
    /// The URL that answered.
    pub url: String,
    /// The status.
    pub status: u16,
    /// The header fields.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The decoded body.
    pub body: Bytes,
}

/// The page as it looked at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendering {
    /// The DOM as HTML; shadow roots and frames of the same origin are written where they are shown.
    pub html: String,
    /// The title, if it has one.
    pub title: Option<String>,
    /// What the page asked for, each URL once.
    pub requested: Vec<RequestedUrl>,
    /// Where scripts, forms and clicks wanted to go: locations, entries of the history, windows,
    /// downloads. Each URL once.
    pub navigated: Vec<String>,
    /// Targets of links that the page showed for a while; clicks took them away again.
    pub passing_links: Vec<String>,
    /// The picture that was asked for, as PNG, or as JPEG if it shows the full page.
    pub screenshot: Option<Vec<u8>>,
    /// A small one as JPEG, of what a window shows.
    pub thumbnail: Option<Vec<u8>>,
    /// Requests that are not GET or HEAD: noted, never sent.
    pub unsent: u32,
    /// Parts that robots.txt or a check of addresses refused.
    pub refused: u32,
    /// Parts beyond the bounds for parts, and those that a limit of the crawl refused.
    pub over_limit: u32,
    /// The DOM was larger than its bound; the rest of it is missing.
    pub is_truncated: bool,
    /// The page was still busy when the time for waiting was over.
    pub is_unready: bool,
    /// CPU time of all processes of the browser.
    pub cpu: Duration,
    /// Time that passed, waiting for parts included.
    pub wall: Duration,
}

impl Rendering {
    /// Whether a visitor with the same browser could have seen more.
    pub fn is_incomplete(&self) -> bool {
        self.unsent > 0
            || self.refused > 0
            || self.over_limit > 0
            || self.is_truncated
            || self.is_unready
    }
}

/// A URL that a page asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedUrl {
    /// The URL, without a fragment.
    pub url: String,
    /// The method, in capitals.
    pub method: String,
    /// What the page wanted with it.
    pub kind: PartKind,
    /// What became of the request.
    pub fate: RequestFate,
}

/// What became of a request of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestFate {
    /// A server answered.
    Answered,
    /// robots.txt, a check of addresses or a limit refused it.
    Refused,
    /// The server did not answer.
    Failed,
    /// It was not passed on: its method is not safe, or a rendering has no use for it.
    NotSent,
}

/// Why there is no rendering. It costs this rendering, never the crawl.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RenderError {
    /// The time for a rendering is over.
    #[error("the page was not ready in {0:?}")]
    TimedOut(Duration),
    /// Its scripts used up the CPU time for a rendering.
    #[error("the page used more than {0:?} of CPU time")]
    TooMuchCpu(Duration),
    /// The browser grew beyond its bound.
    #[error("the browser needed more than {0} bytes of memory")]
    TooMuchMemory(u64),
    /// The browser started too many processes.
    #[error("the browser started more than {0} processes")]
    TooManyProcesses(usize),
    /// The page or the browser died.
    #[error("the browser crashed")]
    Crashed,
    /// The browser does not do what it is told.
    #[error("the browser failed: {0}")]
    Protocol(String),
    /// A new browser does not start.
    #[error("no browser starts any more: {0}")]
    NotLaunched(String),
}
