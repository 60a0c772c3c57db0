//! One page as a crawler sees it, as data.
//!
//! Owns the shape of an inspection, which `inspect --json` prints: every request on the way, what
//! robots.txt says and by which line, what the page told, and what a crawl would do with each of its
//! links. It refuses to know how a page is fetched and how an inspection is shown.

use std::borrow::Cow;
use std::net::IpAddr;

use bytes::Bytes;
use clewline_core::frontier::Failure;
use clewline_core::link::LinkKind;
use clewline_core::outcome::{FailureClass, SkipReason};
use clewline_core::robots::Robots;
use clewline_core::url::CrawlUrl;
use encoding_rs::Encoding;
use serde::Serialize;

use crate::why::RobotsSaying;

/// The version of the JSON form of an inspection.
pub const FORMAT: u32 = 1;

/// The whole inspection as one JSON object, safe to show on a terminal; the body is left out.
pub fn json(inspection: &Inspection) -> serde_json::Result<String> {
    let text = serde_json::to_string_pretty(inspection)?;
    let mut out = Vec::with_capacity(text.len());
    crate::escape::json_text(&text, &mut out);
    Ok(String::from_utf8(out).expect("escapes are ASCII and the rest was text"))
}

/// What was seen of one page.
#[derive(Debug, Clone, PartialEq, Serialize)]
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

impl From<&Failure> for HopFailure {
    fn from(failure: &Failure) -> Self {
        Self {
            class: failure.class,
            message: failure.message.to_string(),
        }
    }
}

impl Hop {
    /// A URL that was not asked, so many milliseconds after the start of the inspection.
    pub fn unasked(url: &CrawlUrl, started: f64) -> Self {
        Self {
            url: url.clone(),
            started,
            address: None,
            proxied: false,
            status: None,
            location: None,
            headers: Vec::new(),
            cookies_sent: false,
            cookies_kept: 0,
            failure: None,
            phases: Phases::default(),
            wire_bytes: 0,
        }
    }

    /// The same with a failure.
    #[must_use]
    pub fn failed(self, failure: &Failure) -> Self {
        Self {
            failure: Some(failure.into()),
            ..self
        }
    }
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

/// The robots.txt of one origin.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RobotsFile {
    /// Whose it is.
    pub origin: String,
    /// The requests for it, redirects included.
    pub hops: Vec<Hop>,
    /// What came of them.
    pub state: RobotsState,
    /// It is shown but not obeyed.
    pub ignored: bool,
    /// The group that applies: our own token or `*`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Seconds of Crawl-delay in that group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crawl_delay: Option<f64>,
    /// The sitemaps it names, as written.
    pub sitemaps: Vec<String>,
    /// The URLs of the chain on this origin, judged.
    pub verdicts: Vec<RobotsVerdict>,
    /// The file itself, for verdicts on more URLs; not part of the JSON form.
    #[serde(skip)]
    pub rules: Option<Robots>,
}

/// What came of the requests for a robots.txt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RobotsState {
    /// It was read.
    Found,
    /// There is none, so everything is allowed.
    Absent,
    /// It could not be read, so nothing is allowed for now.
    Unreachable,
}

/// Whether robots.txt allows a URL, and the line that decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RobotsVerdict {
    /// The URL.
    pub url: CrawlUrl,
    /// Whether it may be fetched.
    pub allowed: bool,
    /// The number of the line that decided, from 1; none if no rule matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The line itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl RobotsFile {
    /// The file of an origin, of which nothing is known yet.
    pub fn new(origin: &str) -> Self {
        Self {
            origin: origin.to_owned(),
            hops: Vec::new(),
            state: RobotsState::Absent,
            ignored: false,
            group: None,
            crawl_delay: None,
            sitemaps: Vec::new(),
            verdicts: Vec::new(),
            rules: None,
        }
    }

    /// Takes in the file.
    pub fn learn(&mut self, rules: Robots) {
        self.state = RobotsState::Found;
        self.group = rules.group().map(str::to_owned);
        self.crawl_delay = rules.crawl_delay().map(|delay| delay.as_secs_f64());
        self.sitemaps = rules.sitemaps().to_vec();
        self.rules = Some(rules);
    }

    /// Whether it is the file for a URL.
    pub fn covers(&self, url: &CrawlUrl) -> bool {
        self.origin == url.origin()
    }

    /// The verdict on a URL of this origin.
    pub fn verdict(&self, url: &CrawlUrl) -> RobotsVerdict {
        let without_rules = RobotsSaying {
            allowed: self.state != RobotsState::Unreachable,
            line: None,
            text: None,
        };
        let rules = self.rules.as_ref();
        let said = rules.map_or(without_rules, |rules| RobotsSaying::new(rules, url));
        RobotsVerdict {
            url: url.clone(),
            allowed: said.allowed,
            line: said.line,
            text: said.text,
        }
    }
}
