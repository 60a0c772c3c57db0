//! One page as the crawler sees it, explained.
//!
//! Owns the shape of an inspection: every request on the way, what robots.txt says and by which
//! line, what the page told, and what a crawl would do with each of its links. It refuses to
//! know how that is shown. Invariant: nothing in an inspection is decided or fetched here; the
//! frontier of a crawl decides, the runner of a crawl does the jobs, and an inspection only
//! watches them.

mod fields;
mod hop;
mod judge;
mod robots;
#[cfg(test)]
mod tests;
mod visit;

use std::borrow::Cow;
use std::net::IpAddr;

use bytes::Bytes;
use clewline_core::link::LinkKind;
use clewline_core::outcome::{FailureClass, SkipReason};
use clewline_core::url::CrawlUrl;
use encoding_rs::Encoding;
use serde::Serialize;

use crate::config::Config;
use crate::crawl::CrawlError;

pub use robots::{RobotsFile, RobotsState, RobotsVerdict};

/// The version of the JSON form of an inspection.
pub const FORMAT: u32 = 1;

/// Fetches the first root of a configuration, politely and with its redirects, and explains
/// what happened. What robots.txt disallows is not fetched; links are judged, not followed.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use clewline::config::{Config, Root};
///
/// let roots = vec![Root::parse("example.com")?];
/// let seen = clewline::inspect::inspect(&Config { roots, ..Config::default() }).await?;
/// println!("{} requests, {} links", seen.hops.len(), seen.links.len());
/// # Ok(())
/// # }
/// ```
pub async fn inspect(config: &Config) -> Result<Inspection, CrawlError> {
    let problems = config.validate();
    match config.roots.first() {
        Some(root) if problems.is_empty() => Ok(visit::Visit::new(config, root)?.run(root).await),
        _ => Err(CrawlError::Config(problems)),
    }
}

/// The whole inspection as one JSON object, safe to show on a terminal; the body is left out.
pub fn json(inspection: &Inspection) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(inspection)?;
    let mut out = Vec::with_capacity(text.len());
    crate::escape::json_text(&text, &mut out);
    Ok(String::from_utf8(out).expect("escapes are ASCII and the rest was text"))
}

/// What was seen of one page.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Inspection {
    /// The version of this form.
    pub v: u32,
    /// The URL that was asked for.
    pub url: CrawlUrl,
    /// The User-Agent that was sent.
    pub user_agent: String,
    /// How it ended.
    pub conclusion: Conclusion,
    /// Each URL of the chain of redirects, in order; a failed try is a hop of its own.
    pub hops: Vec<Hop>,
    /// The robots.txt of each origin that was met.
    pub robots: Vec<RobotsFile>,
    /// What the page told, if one was fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<PageFacts>,
    /// The distinct links of the page, in order of appearance.
    pub links: Vec<JudgedLink>,
    /// What a crawl would say or do besides.
    pub remarks: Vec<Remark>,
    /// Milliseconds in all, pauses between requests included.
    pub total: f64,
    /// The decoded body.
    #[serde(skip)]
    pub body: Bytes,
}

impl Inspection {
    /// The body as text in the page's own encoding; broken bytes become U+FFFD.
    pub fn text(&self) -> Cow<'_, str> {
        let charset = self.page.as_ref().and_then(|page| page.charset);
        let encoding = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
        encoding.unwrap_or(encoding_rs::UTF_8).decode(&self.body).0
    }
}

/// How an inspection ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Conclusion {
    /// An answer was read, whatever its status.
    Fetched,
    /// A redirect that a crawl does not follow.
    Redirected {
        /// Where it points.
        to: CrawlUrl,
        /// Why it is not followed.
        why: String,
    },
    /// A crawl does not ask for it.
    Skipped {
        /// The reason.
        reason: SkipReason,
        /// The reason in words: the rule, the line of robots.txt.
        why: String,
    },
    /// It could not be fetched.
    Failed {
        /// What kind of failure.
        failure: FailureClass,
        /// The system's message.
        why: String,
    },
}

/// One URL on the way, and the answer it gave.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Hop {
    /// What was asked for.
    pub url: CrawlUrl,
    /// Milliseconds from the start of the inspection.
    pub started: f64,
    /// The address that was connected to; none through a proxy or if nothing was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// It went through a proxy.
    pub proxied: bool,
    /// HTTP status; none if no answer came or nothing was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Where a redirect points, as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// Header fields in the order and the case in which they came, without secrets.
    pub headers: Vec<(String, String)>,
    /// Cookies went with the request.
    pub cookies_sent: bool,
    /// Cookies that were taken from the answer.
    pub cookies_kept: u32,
    /// Why no whole answer came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<HopFailure>,
    /// Milliseconds by phase.
    pub phases: Phases,
    /// Bytes on the wire, head and framing included.
    pub wire_bytes: u64,
}

/// Why no whole answer came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HopFailure {
    /// What kind.
    pub class: FailureClass,
    /// In words.
    pub message: String,
}

/// Milliseconds by phase; a phase that did not happen is none, as connecting on a connection
/// that is used again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Phases {
    /// Finding the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolve: Option<f64>,
    /// TCP connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect: Option<f64>,
    /// TLS handshake.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<f64>,
    /// From the request to the first byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<f64>,
    /// From the head to the last byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<f64>,
    /// All of it, resolving included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
}

/// What a page told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PageFacts {
    /// The URL that answered.
    pub url: CrawlUrl,
    /// HTTP status.
    pub status: u16,
    /// Media type as sent, without parameters, lower-case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Encoding of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charset: Option<&'static str>,
    /// What the encoding was decided by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charset_by: Option<CharsetSource>,
    /// The title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The canonical URL that the page names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canonical: Option<CrawlUrl>,
    /// The page asks not to be indexed.
    pub noindex: bool,
    /// The page asks not to follow its links.
    pub nofollow: bool,
    /// Bytes on the wire, head and framing included.
    pub wire_bytes: u64,
    /// Bytes of the body after decoding.
    pub body_bytes: u64,
    /// The body was cut at the size limit or its coding ended early.
    pub truncated: bool,
    /// Digest of the decoded body: `xxh3:` and 32 hexadecimal digits; none if it was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Why the content could not be read as what it claims to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Links beyond the limit of one page.
    pub dropped_links: u64,
    /// References that are not http(s) or do not parse.
    pub other_references: u64,
}

/// What decided about the encoding of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CharsetSource {
    /// A byte order mark.
    ByteOrderMark,
    /// The Content-Type field.
    ContentType,
    /// The document itself: what it declares, or a guess from its bytes.
    Document,
}

/// A link and what a crawl from this page would do with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct JudgedLink {
    /// Where it points.
    pub url: CrawlUrl,
    /// How it was named.
    pub kind: LinkKind,
    /// It is marked `rel=nofollow` or the like.
    pub nofollow: bool,
    /// What becomes of it.
    pub verdict: LinkVerdict,
    /// Why it is skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<SkipReason>,
    /// The line of robots.txt that disallows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub robots_line: Option<u32>,
}

/// What becomes of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkVerdict {
    /// A crawl would ask for it.
    Follow,
    /// It was asked for already, or stands on the page in another form.
    Known,
    /// A crawl would not ask for it.
    Skip,
}

/// What a crawl would say or do besides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "remark", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Remark {
    /// https could not connect for a URL typed without a scheme; http was tried.
    SchemeFellBack {
        /// The new URL.
        url: CrawlUrl,
    },
    /// The redirects ended on this host, which becomes part of the crawl.
    HostJoined {
        /// The host.
        host: String,
    },
    /// The status says "not now"; a crawl would try again.
    WouldRetry {
        /// The status.
        status: u16,
    },
}
