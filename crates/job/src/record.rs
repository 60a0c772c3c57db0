//! Records: one line per settled URL, the truth from which every view is made.
//!
//! Owns the shape of `urls.jsonl`; docs/formats.md documents it field by field. The line's
//! `v` is raised whenever a field changes its meaning.

use std::net::IpAddr;

use clewline_core::key::Key;
use clewline_core::link::LinkKind;
/// Why a URL failed or was skipped, as a record names it.
pub use clewline_core::outcome::{FailureClass, SkipReason};
use clewline_core::url::CrawlUrl;
use serde::{Deserialize, Serialize};

/// The version of the line's format.
pub const FORMAT: u32 = 1;

/// What happened to a URL, as it stands in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeKind {
    /// An answer was read.
    Fetched,
    /// The answer was a redirect.
    Redirected,
    /// Nothing changed since an earlier crawl.
    Unmodified,
    /// Not fetched, on purpose.
    Skipped,
    /// Could not be fetched.
    Failed,
}

/// One settled URL.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Version of the format.
    pub v: u32,
    /// The URL that was requested.
    pub url: CrawlUrl,
    /// Its key in the link log.
    pub key: Key,
    /// What happened.
    pub outcome: OutcomeKind,
    /// HTTP status, if there was an answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// Where a redirect points.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub redirect_to: Option<String>,
    /// Why it was skipped.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<SkipReason>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failure: Option<FailureClass>,
    /// The failure or the skip in words: the rule, the line of robots.txt, the system's message.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// Bytes read from the network in all tries.
    pub wire_bytes: u64,
    /// Bytes of the body after decoding.
    pub body_bytes: u64,
    /// The body was cut at the size limit, its coding ended early, or it is a part (206).
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub truncated: bool,
    /// Media type as sent, without parameters, lower-case.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub content_type: Option<String>,
    /// Encoding of the text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub charset: Option<String>,
    /// Distinct links found.
    pub links: u32,
    /// Links that were new to the crawl and queued.
    pub new_links: u32,
    /// Links away from a root.
    pub depth: u32,
    /// How it was named when it was first found.
    pub kind: LinkKind,
    /// The page it was first found on.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub found_on: Option<CrawlUrl>,
    /// Tries made.
    pub tries: u32,
    /// The tries of the last run before the last one.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub earlier: Vec<EarlierTry>,
    /// Milliseconds by phase, of the last try.
    pub timings: PhaseMillis,
    /// The address that answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub address: Option<IpAddr>,
    /// The page's title.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub title: Option<String>,
    /// The canonical URL that the page names.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub canonical: Option<CrawlUrl>,
    /// `lastmod` of the sitemap that named it, as written there, or the Last-Modified header.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lastmod: Option<String>,
    /// Digest of the decoded body: `xxh3:` and 32 hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub digest: Option<String>,
    /// The page asks not to be indexed.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub noindex: bool,
    /// The answer looks empty without JavaScript.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub shell: bool,
    /// What a browser made of the page; missing if none was asked.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rendered: Option<RenderedPage>,
    /// The protocol of the answer where it is another one than HTTP/1.1: `h2`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub protocol: Option<String>,
    /// When the answer was complete or the decision made: UTC, RFC 3339, milliseconds.
    pub fetched_at: String,
}

impl Record {
    /// Whether a browser made a DOM of the page. The archive has it beside the answer.
    pub fn is_rendered(&self) -> bool {
        let rendered = self.rendered.as_ref();
        rendered.is_some_and(|rendered| rendered.error.is_none())
    }
}

/// What a browser made of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenderedPage {
    /// Links that the answer alone does not have.
    #[serde(default)]
    pub new_links: u32,
    /// Requests of the page that were answered.
    #[serde(default)]
    pub parts: u32,
    /// Requests that robots.txt, a check of addresses or a limit refused.
    #[serde(skip_serializing_if = "is_none_of_them", default)]
    pub refused: u32,
    /// Requests that were noted and never sent, such as a POST.
    #[serde(skip_serializing_if = "is_none_of_them", default)]
    pub unsent: u32,
    /// A visitor with the same browser could have seen more.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub incomplete: bool,
    /// CPU time of the browser, in milliseconds.
    #[serde(default)]
    pub cpu_millis: u64,
    /// Why there is no rendering; then the record tells what the answer alone said.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference to whoever decides what is left out"
)]
const fn is_none_of_them(count: &u32) -> bool {
    *count == 0
}

/// A try after which another one followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierTry {
    /// When it ended: UTC, RFC 3339, milliseconds.
    pub at: String,
    /// HTTP status, if there was an answer.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub status: Option<u16>,
    /// Why there was none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub failure: Option<FailureClass>,
}

/// Milliseconds by phase; a phase that did not happen is left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct PhaseMillis {
    /// TCP connection.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub connect: Option<f64>,
    /// TLS handshake.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tls: Option<f64>,
    /// From the request to the first byte.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub first_byte: Option<f64>,
    /// From hand-out to the last byte.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub total: Option<f64>,
}
