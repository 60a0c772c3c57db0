//! One request of an inspection, from the socket to the facts.
//!
//! Owns reading an answer and writing it down. It refuses to know what is asked next.

use std::borrow::Cow;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use clewline_core::cookies::{CookieChange, CookieContext};
use clewline_core::frontier::{Answer, Failure, Offer, Offers};
use clewline_core::link::Link;
use clewline_core::outcome::{SkipReason, is_redirect_status};
use clewline_core::robots::Robots;
use clewline_core::url::CrawlUrl;
use xxhash_rust::xxh3::xxh3_128;

use super::fields::{charset_source, shown};
use super::robots::RobotsState;
use super::visit::Visit;
use super::{Hop, HopFailure, PageFacts, Phases};
use crate::clock::unix_seconds;
use crate::config::Way;
use crate::extract::{Extracted, Extraction, Extractor, PageHead};
use crate::fetch::{BodyTally, FetchFailure, Fetcher, Request, Response, Timings};
use crate::headers::Headers;
use crate::robots_file::{self, RulesReader};

/// A page that was read.
pub(super) struct Reading {
    pub(super) facts: PageFacts,
    pub(super) links: Vec<Link>,
    pub(super) body: Bytes,
}

/// A request whose answer is still being read.
struct Open {
    hop: Hop,
    begun: Instant,
    answered: Instant,
}

/// The end of a body: what was read, and when the last byte had come.
#[derive(Debug, Clone, Copy)]
struct End {
    tally: BodyTally,
    at: Instant,
}

impl End {
    fn of(response: &Response) -> Self {
        Self {
            tally: response.body.tally(),
            at: Instant::now(),
        }
    }
}

impl Open {
    fn end(mut self, end: End) -> Hop {
        self.hop.phases.body = Some(millis(end.at - self.answered));
        self.hop.wire_bytes = end.tally.wire;
        self.close(end.at)
    }

    fn fail(mut self, failure: &FetchFailure) -> Hop {
        self.hop.note_phases(&failure.timings);
        self.hop.wire_bytes = failure.wire;
        self.hop.failure = Some(HopFailure {
            class: failure.class,
            message: failure.message.clone(),
        });
        self.close(Instant::now())
    }

    fn close(mut self, at: Instant) -> Hop {
        let phases = &mut self.hop.phases;
        let resolve = phases.resolve.unwrap_or_default();
        phases.total = Some(millis(at - self.begun) + resolve);
        self.hop
    }
}

impl Hop {
    /// A URL that was not asked.
    pub(super) fn unasked(url: &CrawlUrl, started: Duration) -> Self {
        Self {
            url: url.clone(),
            started: millis(started),
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
    pub(super) fn failed(mut self, failure: &Failure) -> Self {
        self.failure = Some(HopFailure {
            class: failure.class,
            message: failure.message.to_string(),
        });
        self
    }

    fn note_phases(&mut self, timings: &Timings) {
        self.phases.connect = timings.connect.map(millis);
        self.phases.tls = timings.tls.map(millis);
        self.phases.first_byte = timings.first_byte.map(millis);
    }
}

impl Visit<'_> {
    /// Sends a request and reads the head of the answer.
    async fn ask(&mut self, request: Request) -> (Open, Result<Response, FetchFailure>) {
        let mut hop = Hop::unasked(&request.url, self.clock.now());
        hop.proxied = self.fetcher.proxied(&request.url);
        hop.address = request.address.filter(|_| !hop.proxied);
        hop.cookies_sent = request.cookie.is_some();
        hop.phases.resolve = self.resolve_time.take().map(millis);
        let begun = Instant::now();
        let answer = self.fetcher.fetch(request).await;
        if let Ok(response) = &answer {
            hop.note_phases(&response.timings);
            hop.status = Some(response.status);
            hop.headers = shown(&response.headers);
            hop.location = redirect(response).map(Cow::into_owned);
        }
        let answered = Instant::now();
        let open = Open {
            hop,
            begun,
            answered,
        };
        (open, answer)
    }

    fn request(&self, url: &CrawlUrl, address: Option<IpAddr>, max_body: u64) -> Request {
        let fetch = &self.config.fetch;
        Request {
            url: url.clone(),
            address,
            cookie: self
                .jar
                .header(CookieContext::of(url), unix_seconds())
                .filter(|_| fetch.cookies),
            // Whatever is asked here is a root or behind its redirects.
            credentials: self.trusted.includes(url, Way::Root),
            max_body,
            timeout: fetch.timeout,
            patience: self.patience,
            recording: None,
            pauses: None,
            slots: None,
            first_byte: None,
            spaced: false,
            condition: None,
        }
    }

    /// Asks for a robots.txt; its record is the last one.
    pub(super) async fn ask_robots(
        &mut self,
        url: &CrawlUrl,
        address: Option<IpAddr>,
    ) -> Result<Answer, FetchFailure> {
        let request = self.request(url, address, robots_file::LONGEST);
        let (open, answer) = self.ask(request).await;
        let (response, rules) = match robots_rules(answer, &self.token).await {
            Ok(read) => read,
            Err(failure) => {
                let hop = open.fail(&failure);
                self.note_robots(url, hop, RobotsState::Unreachable, None);
                return Err(failure);
            }
        };
        let end = End::of(&response);
        let status = response.status;
        let state = match status {
            429 | 500.. => RobotsState::Unreachable,
            _ => RobotsState::Absent,
        };
        self.note_robots(url, open.end(end), state, rules.clone());
        let mut answer = answer_of(&response, url, end.tally);
        answer.robots = rules.map(Box::new);
        Ok(answer)
    }

    /// Asks for a page and reads it.
    pub(super) async fn ask_page(
        &mut self,
        url: &CrawlUrl,
        address: Option<IpAddr>,
    ) -> Result<Answer, FetchFailure> {
        let request = self.request(url, address, self.config.fetch.max_body);
        let (mut open, answer) = self.ask(request).await;
        let mut response = match answer {
            Ok(response) => response,
            Err(failure) => {
                self.hops.push(open.fail(&failure));
                return Err(failure);
            }
        };
        open.hop.cookies_kept = self.keep_cookies(url, &response.headers);
        let (reading, end) = match self.read_page(url, &mut response).await {
            Ok(read) => read,
            Err(failure) => {
                self.hops.push(open.fail(&failure));
                return Err(failure);
            }
        };
        let mut answer = answer_of(&response, url, end.tally);
        answer.cookie = open.hop.cookies_kept > 0;
        answer.nofollow = reading.facts.nofollow;
        answer.links = self.offers(&reading.links);
        answer.verdicts = Some(Vec::new());
        answer.unread = (reading.facts.digest.is_none()).then_some(SkipReason::ContentType);
        self.reading = Some(reading);
        self.hops.push(open.end(end));
        Ok(answer)
    }

    async fn read_page(
        &mut self,
        url: &CrawlUrl,
        response: &mut Response,
    ) -> Result<(Reading, End), FetchFailure> {
        let content_type = response.headers.media_type();
        let is_redirect = is_redirect_status(response.status);
        let mut extracted = Extracted::default();
        let mut body = BytesMut::new();
        let mut end = End::of(response);
        let is_read = is_redirect || self.config.scope.accepts(content_type.as_deref());
        if is_read {
            // As in a crawl, error pages and redirects are not searched for links.
            let mut extraction = (200..300).contains(&response.status).then(|| {
                self.extractor.begin(PageHead {
                    url,
                    status: response.status,
                    headers: &response.headers,
                    sitemap: false,
                })
            });
            end = read(response, |chunk| {
                body.extend_from_slice(chunk);
                if let Some(extraction) = &mut extraction {
                    extraction.feed(chunk);
                }
            })
            .await?;
            if let Some(extraction) = extraction.as_mut().filter(|_| end.tally.truncated) {
                extraction.cut();
            }
            extracted = extraction.map(Extraction::finish).unwrap_or_default();
        }
        let unusable = redirect(response).filter(|to| url.join(to).is_err());
        let problem = unusable
            .map(|_| "the redirect's target cannot be followed")
            .or(extracted.problem);
        let facts = PageFacts {
            url: url.clone(),
            status: response.status,
            charset: extracted.charset,
            charset_by: extracted
                .charset
                .map(|charset| charset_source(charset, &response.headers, &body)),
            content_type,
            title: extracted.title,
            canonical: extracted.canonical,
            noindex: extracted.noindex,
            nofollow: extracted.nofollow,
            wire_bytes: end.tally.wire,
            body_bytes: end.tally.decoded,
            truncated: end.tally.truncated,
            digest: is_read.then(|| format!("xxh3:{:032x}", xxh3_128(&body))),
            problem: problem.map(str::to_owned),
            dropped_links: extracted.dropped_links,
            other_references: extracted.other_references,
        };
        let reading = Reading {
            facts,
            links: extracted.links.to_vec(),
            body: body.freeze(),
        };
        Ok((reading, end))
    }

    fn offers(&self, links: &[Link]) -> Offers {
        let keyer = &self.frontier.rules().keyer;
        let offer = |link: &Link| Offer {
            key: keyer.key(&link.url),
            link: link.clone(),
        };
        links.iter().map(offer).collect()
    }

    fn keep_cookies(&mut self, url: &CrawlUrl, headers: &Headers) -> u32 {
        if !self.config.fetch.cookies {
            return 0;
        }
        let now = unix_seconds();
        let mut kept = 0;
        for cookie in headers.all("set-cookie") {
            let change = self.jar.store(CookieContext::of(url), cookie, now);
            kept += u32::from(change == CookieChange::Accepted);
        }
        kept
    }
}

/// The rules of a robots.txt; an error page is not worth reading.
async fn robots_rules(
    answer: Result<Response, FetchFailure>,
    token: &str,
) -> Result<(Response, Option<Robots>), FetchFailure> {
    let mut response = answer?;
    if !(200..300).contains(&response.status) {
        return Ok((response, None));
    }
    let mut reader = RulesReader::new(&response, token)?;
    let end = read(&mut response, |chunk| reader.feed(chunk)).await?;
    Ok((response, Some(reader.finish(end.tally))))
}

/// What an answer means to the frontier, apart from its body.
fn answer_of(response: &Response, url: &CrawlUrl, tally: BodyTally) -> Answer {
    Answer {
        status: response.status,
        location: redirect(response).and_then(|to| url.join(&to).ok()),
        first_byte: response.timings.first_byte.unwrap_or_default(),
        wire: tally.wire,
        ..Answer::default()
    }
}

/// Where a redirect points.
fn redirect(response: &Response) -> Option<Cow<'_, str>> {
    let location = response.headers.reference("location");
    location.filter(|_| is_redirect_status(response.status))
}

async fn read(response: &mut Response, mut take: impl FnMut(&[u8])) -> Result<End, FetchFailure> {
    while let Some(chunk) = response.body.chunk().await? {
        take(&chunk);
        tokio::task::yield_now().await;
    }
    Ok(End::of(response))
}

/// Milliseconds to three digits behind the point.
pub(super) fn millis(period: Duration) -> f64 {
    (period.as_secs_f64() * 1e6).round() / 1e3
}
