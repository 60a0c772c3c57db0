//! One page, from its first byte to its links.
//!
//! Owns the choice of a reader by what the page claims to be or looks like, and the order of
//! what tells its encoding: byte order mark, Content-Type, the document itself, a guess.
//! Refuses to know the formats; each has its own module. Invariant: the same bytes give the
//! same answer however they are cut, and memory is bounded by the constants here and in the
//! readers.

use std::sync::Arc;

use clewline_core::url::CrawlUrl;
use encoding_rs::{Encoding, UTF_8};

use super::collect::{Bounds, Collector};
use super::directives::Directives;
use super::element::Findings;
use super::html::{HtmlPass, Shared, open};
use super::media::{self, Claim, Media};
use super::{Extracted, Extraction, Extractor, PageHead, charset, css, header_links};
use crate::config::ExtractConfig;

/// All references of a page together.
const REFERENCE_BYTES: usize = 8 * 1024 * 1024;

/// The largest style sheet that is read.
const CSS_LIMIT: usize = 16 * 1024 * 1024;

const TOO_LARGE: &str = "the content is too large to be read whole";

/// Reads HTML, XML, style sheets, sitemaps and feeds.
#[derive(Debug, Clone)]
pub struct PageExtractor {
    max_links: usize,
    agent: Box<str>,
}

impl PageExtractor {
    /// `agent_token` is the name by which pages may address this crawler in robots directives.
    ///
    /// ```
    /// use clewline::config::ExtractConfig;
    /// use clewline::extract::{Extractor, PageExtractor, PageHead};
    ///
    /// let url = clewline::core::url::CrawlUrl::parse("http://example.com/a/").unwrap();
    /// let mut headers = clewline::Headers::default();
    /// headers.push("Content-Type", b"text/html; charset=utf-8");
    /// let extractor = PageExtractor::new(&ExtractConfig::default(), "clewline");
    /// let head = PageHead { url: &url, status: 200, headers: &headers, sitemap: false };
    /// let mut page = extractor.begin(head);
    /// page.feed(b"<title>Hello</title><a hre");
    /// page.feed(b"f=b>b</a>");
    /// let found = page.finish();
    /// assert_eq!(found.title.as_deref(), Some("Hello"));
    /// assert_eq!(found.links[0].url.as_str(), "http://example.com/a/b");
    /// ```
    pub fn new(config: &ExtractConfig, agent_token: &str) -> Self {
        Self {
            max_links: config.max_links,
            agent: agent_token.into(),
        }
    }
}

impl Extractor for PageExtractor {
    fn begin(&self, head: PageHead<'_>) -> Box<dyn Extraction> {
        let bounds = Bounds {
            links: self.max_links,
            bytes: REFERENCE_BYTES,
        };
        let mut collector = Collector::new(bounds);
        header_links::collect(head.headers, &mut collector);
        let mut directives = Directives::default();
        for value in head.headers.all("x-robots-tag") {
            directives.read_header(&header_links::text(value), &self.agent);
        }
        let mut findings = Findings::new(collector, head.url.to_url(), self.agent.clone());
        findings.directives = directives;
        let claim = media::claim(head.headers);
        let is_readable = head.sitemap || claim.media != Media::Other;
        Box::new(PageExtraction {
            url: head.url.clone(),
            claim,
            is_sitemap: head.sitemap,
            shared: Shared::new(findings.into()),
            charset: None,
            state: if is_readable {
                State::Holding(Vec::new())
            } else {
                State::Idle
            },
        })
    }
}

/// How far the reading is.
enum State {
    /// Nothing to read, or nothing more.
    Idle,
    /// The first bytes are kept until they tell what the rest is.
    Holding(Vec<u8>),
    Html(Box<HtmlPass>),
    /// Formats that are read whole at the end.
    Whole(Vec<u8>, Media),
}

struct PageExtraction {
    url: CrawlUrl,
    claim: Claim,
    is_sitemap: bool,
    shared: Shared,
    charset: Option<&'static Encoding>,
    state: State,
}

impl Extraction for PageExtraction {
    fn feed(&mut self, mut chunk: &[u8]) {
        while !chunk.is_empty() {
            match &mut self.state {
                State::Idle => return,
                State::Html(pass) => return pass.write(chunk),
                State::Whole(bytes, _) => {
                    let room = CSS_LIMIT - bytes.len();
                    if chunk.len() > room {
                        chunk = &chunk[..room];
                        open(&self.shared).problem.get_or_insert(TOO_LARGE);
                    }
                    bytes.extend_from_slice(chunk);
                    return;
                }
                State::Holding(held) => {
                    // Exactly so many bytes decide, so that the cuts of the network do not.
                    let until = if held.len() < charset::PRESCAN {
                        charset::PRESCAN
                    } else {
                        charset::GUESS
                    };
                    let (now, later) = chunk.split_at(chunk.len().min(until - held.len()));
                    held.extend_from_slice(now);
                    chunk = later;
                    if held.len() == until {
                        self.decide(until == charset::GUESS);
                    }
                }
            }
        }
    }

    fn finish(mut self: Box<Self>) -> Extracted {
        if matches!(self.state, State::Holding(_)) {
            self.decide(true);
        }
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle | State::Holding(_) => {}
            State::Html(pass) => pass.finish(),
            State::Whole(bytes, media) => self.read_whole(&bytes, media),
        }
        let Self {
            shared, charset, ..
        } = *self;
        let findings = Arc::into_inner(shared)
            .expect("the readers are gone, and with them their shares")
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        conclude(findings, charset)
    }
}

fn conclude(findings: Findings, charset: Option<&'static Encoding>) -> Extracted {
    let encoding = charset.unwrap_or(UTF_8).output_encoding();
    let base = findings.base.as_ref().unwrap_or(&findings.page);
    let resolved = findings.collector.resolve(&findings.page, base, encoding);
    Extracted {
        links: resolved.links,
        dropped_links: resolved.dropped,
        other_references: resolved.other,
        title: findings.title,
        canonical: resolved.canonical,
        charset: charset.map(Encoding::name),
        nofollow: findings.directives.nofollow,
        noindex: findings.directives.noindex,
        problem: findings.problem,
    }
}

impl PageExtraction {
    /// Chooses a reader, if the held bytes suffice; `is_last` says that there will be no more
    /// of them to choose by.
    fn decide(&mut self, is_last: bool) {
        let State::Holding(held) = &self.state else {
            return;
        };
        let media = match self.claim.media {
            Media::Unknown => media::sniff(held),
            claimed => claimed,
        };
        match media {
            Media::Other | Media::Unknown => self.state = State::Idle,
            Media::Html => {
                let known = self.html_encoding(held);
                let encoding = match known {
                    Some(encoding) => encoding,
                    None if is_last => charset::guess(held, self.url.host()),
                    None => return,
                };
                self.begin_html(encoding);
            }
            media => {
                let State::Holding(held) = std::mem::replace(&mut self.state, State::Idle) else {
                    return;
                };
                self.state = State::Whole(held, media);
            }
        }
    }

    fn html_encoding(&self, held: &[u8]) -> Option<&'static Encoding> {
        charset::byte_order_mark(held)
            .or(self.claim.encoding)
            .or_else(|| charset::declared_in_html(held))
    }

    fn begin_html(&mut self, encoding: &'static Encoding) {
        self.charset = Some(encoding);
        let mut pass = Box::new(HtmlPass::new(&self.shared, encoding));
        if let State::Holding(held) = &self.state {
            pass.write(held);
        }
        self.state = State::Html(pass);
    }

    fn read_whole(&mut self, bytes: &[u8], media: Media) {
        let declared = match media {
            Media::Css => charset::declared_in_css(bytes),
            _ => charset::declared_in_xml(bytes),
        };
        let encoding = self.claim.encoding.or(declared).unwrap_or(UTF_8);
        let (text, encoding, _) = encoding.decode(bytes);
        self.charset = Some(encoding);
        let mut findings = open(&self.shared);
        if media == Media::Css {
            css::references(&text, |raw, kind| findings.collector.add(raw, kind));
        }
    }
}
