//! One page, from its first byte to its links.
//!
//! Owns the choice of a reader by what the page claims to be or looks like, and the order of
//! what tells its encoding: byte order mark, Content-Type, the document itself, a guess.
//! Refuses to know the formats; each has its own module. Invariant: the same bytes give the
//! same answer however they are cut, and memory is bounded by the constants here and in the
//! readers.

use std::borrow::Cow;
use std::sync::Arc;

use clewline_core::link::LinkKind;
use encoding_rs::{Encoding, REPLACEMENT, UTF_8};
use xxhash_rust::xxh3::xxh3_64;

use super::body::BodyBuffer;
use super::collect::{Bounds, Collector, TextEnding};
use super::directives::Directives;
use super::element::{Findings, LazyImages, ScriptText};
use super::html::HtmlPass;
use super::media::{self, Claim, ContentKind};
use super::shell::ShellWatch;
use super::xml::{self, WalkEnd};
use super::{Extracted, Extraction, Extractor, PageHead};
use super::{charset, feed, header_links, sitemap};
use crate::config::ExtractConfig;

/// All references of a page together.
const REFERENCE_BYTES: usize = 8 * 1024 * 1024;

/// The largest style sheet that is read.
const CSS_LIMIT: usize = 16 * 1024 * 1024;

/// The largest script or JSON document that is read for links.
const SCRIPT_LIMIT: usize = 16 * 1024 * 1024;

/// The largest XML document that is read.
const XML_LIMIT: usize = sitemap::FILE_LIMIT;

/// Encodings that could smuggle markup past a filter are not decoded (Encoding section 4.2).
const UNSAFE_ENCODING: &str = "the encoding is not supported";
const NOT_XML: &str = "the XML is broken";
const NOT_A_SITEMAP: &str = "this is no sitemap";

/// Raised with every change of what is taken from a page; each release of the crate changes it, too.
const READING: u32 = 1;

/// Reads HTML, XML, style sheets, sitemaps and feeds.
#[derive(Debug, Clone)]
pub struct PageExtractor {
    max_links: usize,
    lazy_images: LazyImages,
    script_text: ScriptText,
    agent: Arc<str>,
}

impl PageExtractor {
    /// The text of an HTML document that came without a header, such as a file; broken bytes become
    /// U+FFFD.
    ///
    /// ```
    /// use clewline::extract::PageExtractor;
    ///
    /// let text = PageExtractor::decoded_html(b"<meta charset=latin1>caf\xe9");
    /// assert_eq!(text, "<meta charset=latin1>caf\u{e9}");
    /// ```
    pub fn decoded_html(bytes: &[u8]) -> Cow<'_, str> {
        charset::decoded_html(bytes)
    }

    /// `agent_token` is the name by which pages may address this crawler in robots directives.
    ///
    /// ```
    /// use clewline::extract::{Extractor, PageExtractor, PageHead};
    ///
    /// let url = clewline::CrawlUrl::parse("http://example.com/a/").unwrap();
    /// let mut headers = clewline::Headers::default();
    /// headers.push("Content-Type", b"text/html; charset=utf-8");
    /// let config = clewline_job::config::ExtractConfig::default();
    /// let extractor = PageExtractor::new(&config, "clewline");
    /// let head = PageHead { url: &url, status: 200, headers: &headers, sitemap: false };
    /// let mut page = extractor.begin(head);
    /// page.feed(b"<title>Hello</title><a hre");
    /// page.feed(b"f=b>b</a>");
    /// let found = page.finish();
    /// assert_eq!(found.title.as_deref(), Some("Hello"));
    /// assert_eq!(found.links.get(0).unwrap().url.as_str(), "http://example.com/a/b");
    /// ```
    pub fn new(config: &ExtractConfig, agent_token: &str) -> Self {
        Self {
            max_links: config.max_links,
            lazy_images: if config.lazy_images {
                LazyImages::Read
            } else {
                LazyImages::Ignored
            },
            script_text: if config.script_links {
                ScriptText::Read
            } else {
                ScriptText::Ignored
            },
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
        let mut findings = Findings::new(collector, head.url.clone(), Arc::clone(&self.agent));
        findings.directives = directives;
        findings.lazy_images = self.lazy_images;
        findings.script_text = self.script_text;
        let claim = media::claim(head.headers);
        let is_readable = head.sitemap
            || match claim.media {
                ContentKind::Script => findings.reads_scripts(),
                media => media != ContentKind::Other,
            };
        Box::new(PageExtraction {
            claim,
            is_sitemap: head.sitemap,
            findings,
            charset: None,
            query_encoding: UTF_8,
            ending: TextEnding::Whole,
            state: if is_readable {
                State::Holding(Vec::new())
            } else {
                State::Idle
            },
        })
    }

    fn fingerprint(&self) -> Option<u64> {
        let Self {
            max_links,
            lazy_images,
            script_text,
            agent,
        } = self;
        let version = env!("CARGO_PKG_VERSION");
        let all =
            format!("{version} {READING} {max_links} {lazy_images:?} {script_text:?} {agent}");
        Some(xxh3_64(all.as_bytes()))
    }
}

/// The formats that are read whole.
#[derive(Debug, Clone, Copy)]
enum Format {
    Css,
    Script,
    Xml,
    Sitemap,
}

/// How far the reading is.
enum State {
    /// Nothing to read, or nothing more.
    Idle,
    /// The first bytes are kept until they tell what the rest is.
    Holding(Vec<u8>),
    Html(Box<HtmlPass>, ShellWatch),
    /// Formats that are read whole at the end.
    Whole(BodyBuffer, Format),
}

struct PageExtraction {
    claim: Claim,
    is_sitemap: bool,
    findings: Findings,
    charset: Option<&'static Encoding>,
    query_encoding: &'static Encoding,
    /// How the body ended.
    ending: TextEnding,
    state: State,
}

impl Extraction for PageExtraction {
    fn feed(&mut self, mut chunk: &[u8]) {
        while !chunk.is_empty() {
            match &mut self.state {
                State::Idle => return,
                State::Html(pass, watch) => {
                    pass.write(chunk, &mut self.findings);
                    return watch.note(chunk, pass.signs(), self.findings.collector.len());
                }
                State::Whole(body, _) => return body.push(chunk),
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

    fn held(&self) -> usize {
        let text = match &self.state {
            State::Idle => 0,
            State::Html(_, watch) => watch.held(),
            State::Holding(held) => held.len(),
            State::Whole(body, _) => body.len(),
        };
        text + self.findings.collector.held()
    }

    fn may_be_shell(&self) -> bool {
        match &self.state {
            State::Holding(_) => true,
            State::Html(_, watch) => watch.is_open(),
            State::Idle | State::Whole(..) => false,
        }
    }

    fn cut(&mut self) {
        self.ending = TextEnding::Cut;
    }

    fn finish(mut self: Box<Self>) -> Extracted {
        if matches!(self.state, State::Holding(_)) {
            self.decide(true);
        }
        self.findings.ending = self.ending;
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Idle | State::Holding(_) => {}
            State::Html(pass, watch) => {
                let signs = pass.signs();
                pass.finish(&mut self.findings);
                self.findings.is_shell = watch.finish(signs);
            }
            State::Whole(body, format) => self.read_whole(body, format),
        }
        conclude(self.findings, self.charset, self.query_encoding)
    }
}

pub(super) fn conclude(
    findings: Findings,
    charset: Option<&'static Encoding>,
    query_encoding: &'static Encoding,
) -> Extracted {
    let resolved = findings
        .collector
        .resolve(&findings.page, findings.base, query_encoding);
    Extracted {
        links: resolved.links,
        dropped_links: resolved.dropped,
        other_references: resolved.other,
        title: findings.title,
        canonical: resolved.canonical,
        charset: charset.map(Encoding::name),
        nofollow: findings.directives.nofollow,
        noindex: findings.directives.noindex,
        is_shell: findings.is_shell,
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
            ContentKind::Unknown => media::sniff(held),
            claimed => claimed,
        };
        let (body, format) = match media {
            _ if self.is_sitemap => (
                BodyBuffer::perhaps_gzip(held, sitemap::FILE_LIMIT),
                Format::Sitemap,
            ),
            ContentKind::Css => (BodyBuffer::plain(CSS_LIMIT), Format::Css),
            ContentKind::Script => (BodyBuffer::plain(SCRIPT_LIMIT), Format::Script),
            ContentKind::Xml => (BodyBuffer::plain(XML_LIMIT), Format::Xml),
            ContentKind::Html => return self.decide_html(is_last),
            ContentKind::Other | ContentKind::Unknown => {
                self.state = State::Idle;
                return;
            }
        };
        self.begin(State::Whole(body, format));
    }

    fn decide_html(&mut self, is_last: bool) {
        let State::Holding(held) = &self.state else {
            return;
        };
        let known = charset::byte_order_mark(held)
            .or(self.claim.encoding)
            .or_else(|| charset::declared_in_html(held));
        let encoding = match known {
            Some(encoding) => encoding,
            None if is_last => charset::guess(held, self.findings.page.host()),
            None => return,
        };
        if encoding == REPLACEMENT {
            self.findings.problem.get_or_insert(UNSAFE_ENCODING);
        }
        self.charset = Some(encoding);
        self.query_encoding = encoding.output_encoding();
        let pass = Box::new(HtmlPass::new(encoding));
        self.begin(State::Html(pass, ShellWatch::default()));
    }

    /// Hands the held bytes to the reader that was chosen.
    fn begin(&mut self, state: State) {
        let before = std::mem::replace(&mut self.state, state);
        if let State::Holding(held) = before {
            self.feed(&held);
        }
    }

    fn read_whole(&mut self, body: BodyBuffer, format: Format) {
        let (bytes, problem) = body.finish();
        if problem.is_some() {
            self.findings.ending = TextEnding::Cut;
        }
        let declared = match format {
            Format::Css => charset::declared_in_css(&bytes),
            Format::Script => None,
            Format::Xml | Format::Sitemap => charset::declared_in_xml(&bytes),
        };
        // A byte order mark wins over both; the decoder sees to that.
        let encoding = self.claim.encoding.or(declared).unwrap_or(UTF_8);
        let (text, encoding, _) = encoding.decode(&bytes);
        self.charset = Some(encoding);
        let read = match format {
            Format::Css => {
                let ending = self.findings.ending;
                self.findings.collector.add_sheet(&text, ending);
                None
            }
            Format::Script => {
                let ending = self.findings.ending;
                self.findings.collector.add_script(&text, ending);
                None
            }
            Format::Xml => self.read_xml(&text),
            Format::Sitemap => self.read_sitemap(&text),
        };
        if let Some(problem) = problem.or(read) {
            self.findings.problem.get_or_insert(problem);
        }
    }

    fn read_xml(&mut self, text: &str) -> Option<&'static str> {
        let root = xml::root(text).unwrap_or_default();
        if root == "html" || root == "svg" {
            let end = xml::markup(text, &mut self.findings);
            if end == WalkEnd::Whole || root == "svg" {
                return (end != WalkEnd::Whole).then_some(NOT_XML);
            }
            // What claims to be XHTML and is not may still be HTML; links found twice are one.
            let mut pass = HtmlPass::new(UTF_8);
            pass.write(text.as_bytes(), &mut self.findings);
            pass.finish(&mut self.findings);
            return Some(NOT_XML);
        }
        let collector = &mut self.findings.collector;
        let end = match root.as_str() {
            "urlset" | "sitemapindex" => {
                collector.rebound(sitemap::BOUNDS);
                sitemap::read(text, &self.findings.page, collector)
            }
            "rss" | "feed" | "rdf" => feed::read(text, LinkKind::Feed, collector),
            _ => xml::hrefs(text, collector),
        };
        (end != WalkEnd::Whole).then_some(NOT_XML)
    }

    fn read_sitemap(&mut self, text: &str) -> Option<&'static str> {
        let collector = &mut self.findings.collector;
        collector.rebound(sitemap::BOUNDS);
        let before = collector.len();
        let is_markup = text
            .trim_start_matches('\u{feff}')
            .trim_start()
            .starts_with('<');
        let end = match xml::root(text).unwrap_or_default().as_str() {
            _ if !is_markup => {
                let ending = self.findings.ending;
                sitemap::lines(text, ending, &self.findings.page, collector);
                let is_empty = collector.len() == before && !text.trim().is_empty();
                return is_empty.then_some(NOT_A_SITEMAP);
            }
            "urlset" | "sitemapindex" => sitemap::read(text, &self.findings.page, collector),
            "rss" | "feed" | "rdf" => feed::read(text, LinkKind::Sitemap, collector),
            _ => return Some(NOT_A_SITEMAP),
        };
        (end != WalkEnd::Whole).then_some(NOT_XML)
    }
}
