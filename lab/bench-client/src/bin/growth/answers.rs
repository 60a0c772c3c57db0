//! The network of a crawl that has none.
//!
//! Owns a fetcher that answers at once: every name has an address, no host has a robots.txt, and
//! every other URL is a page of generated documentation that names what is known and one page that
//! is new. Pages are made up a few at a time, and what that takes is told apart. Invariant: whatever
//! is asked for, the pages come in the same order, each once.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use clewline::Headers;
use clewline::fetch::{
    Body, BodyTally, FetchFailure, Fetcher, Request, Resolution, Response, Timings,
};
use clewline_core::url::CrawlUrl;
use futures_util::future::{BoxFuture, ready};

use super::known::{Known, address};
use super::pages::{LINKS, NEW};
use super::{processor, thread_time};

/// Bytes of a page, the mean of the documentation …
pub(crate) const SIZE: usize = 27_000;
/// … and its references, most of which name again what was named before.
pub(crate) const REFERENCES: usize = 107;
/// Bytes that arrive at once.
const CHUNK: usize = 16 * 1024;
/// Pages that are made up at once: so few that they are still in the processor's cache when they
/// are read, as what a socket brought is, and so many that asking for the time costs nothing.
const TOGETHER: usize = 8;
/// What a server takes to answer, as far as the crawl is told.
const FIRST_BYTE: Duration = Duration::from_millis(1);

const OPENING: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <title>Reader (Base)</title>\n\
    <script type=\"text/javascript\">var depth = \"../../\"; loadScripts(document);</script>\n\
    </head>\n<body class=\"class-page\">\n<main role=\"main\">\n";
const CLOSING: &str = "</main>\n</body>\n</html>\n";

/// How many pages there are, and between which of them the clock runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Pages before the clock runs.
    pub(crate) warm_up: usize,
    /// Pages while it runs.
    pub(crate) pages: usize,
}

impl Plan {
    /// Pages that name a new one; all others name none.
    pub(crate) const fn with_new(self) -> usize {
        self.warm_up + self.pages
    }
}

/// Pages in the order in which they are asked for.
struct Press {
    plan: Plan,
    web: Known,
    made: Vec<Bytes>,
    /// Pages that were taken.
    taken: usize,
    /// Processor time of making up pages.
    made_up: Duration,
    /// Processor time of everything else when the clock began to run …
    begun: Option<Duration>,
    /// … and until it stopped.
    cost: Option<Duration>,
}

impl Press {
    fn page(&mut self) -> Bytes {
        self.look_at_clock();
        if self.made.is_empty() {
            let begun = thread_time();
            let pages = (self.taken..self.taken + TOGETHER).rev();
            // Taken from the end, so that the last one made is the first one read.
            self.made.extend(pages.map(|page| {
                let new = if page < self.plan.with_new() { NEW } else { 0 };
                Bytes::from(markup(&self.web.named_by_page(LINKS, new)))
            }));
            self.made_up += thread_time().saturating_sub(begun);
        }
        self.taken += 1;
        self.made.pop().unwrap_or_default()
    }

    fn look_at_clock(&mut self) {
        let spent = || processor().saturating_sub(self.made_up);
        if self.taken == self.plan.warm_up {
            self.begun = Some(spent());
        } else if self.taken == self.plan.with_new() {
            self.cost = self.begun.map(|begun| spent().saturating_sub(begun));
        }
    }
}

/// A page that names URLs, each of them about three times.
fn markup(urls: &[CrawlUrl]) -> String {
    let mut page = String::with_capacity(SIZE);
    page.push_str(OPENING);
    for number in 0..REFERENCES {
        let url = &urls[number * urls.len() / REFERENCES];
        let written = write!(
            page,
            "<div class=\"block row-{number}\" id=\"m{number}\">\n\
             <code><span class=\"type\">int</span>&nbsp;<a href=\"{url}#m{number}()\" \
             title=\"class in part\">item{number}</a>&#8203;()</code>\n\
             <p>Reads on &amp; tells how many it took.</p>\n</div>\n"
        );
        written.expect("a string takes everything");
    }
    // Names of hosts are longer where there are more of them; pages are not.
    let rest = SIZE.saturating_sub(page.len() + CLOSING.len());
    page.extend(std::iter::repeat_n('.', rest));
    page.push_str(CLOSING);
    page
}

/// The way to servers that are not there; clones answer from the same pages.
#[derive(Clone)]
pub(crate) struct Answers {
    press: Arc<Mutex<Press>>,
}

impl Answers {
    pub(crate) fn new(plan: Plan, web: Known) -> Self {
        let press = Press {
            plan,
            web,
            made: Vec::new(),
            taken: 0,
            made_up: Duration::ZERO,
            begun: None,
            cost: None,
        };
        Self {
            press: Arc::new(Mutex::new(press)),
        }
    }

    /// Processor time while the clock ran, without that of making up pages; none before its end.
    pub(crate) fn cost(&self) -> Option<Duration> {
        self.press().cost
    }

    fn press(&self) -> MutexGuard<'_, Press> {
        self.press.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, request: &Request) -> Response {
        let is_page = request.url.path() != "/robots.txt";
        let (status, rest) = if is_page {
            (200, self.press().page())
        } else {
            (404, Bytes::new())
        };
        let mut headers = Headers::default();
        headers.push("Content-Type", b"text/html; charset=utf-8");
        Response {
            status,
            headers,
            address: request.address,
            timings: Timings {
                sent_at: Some(Instant::now()),
                first_byte: Some(FIRST_BYTE),
                ..Timings::default()
            },
            protocols: &[],
            body: Box::new(Text {
                rest,
                tally: BodyTally::default(),
            }),
        }
    }
}

/// A body that is there already.
struct Text {
    rest: Bytes,
    tally: BodyTally,
}

impl Body for Text {
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, FetchFailure>> {
        let chunk = self.rest.split_to(CHUNK.min(self.rest.len()));
        let size = chunk.len() as u64;
        self.tally.wire += size;
        self.tally.decoded += size;
        Box::pin(ready(Ok(Some(chunk).filter(|chunk| !chunk.is_empty()))))
    }

    fn tally(&self) -> BodyTally {
        self.tally
    }
}

impl Fetcher for Answers {
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        _port: u16,
    ) -> BoxFuture<'a, Result<Resolution, FetchFailure>> {
        Box::pin(ready(Ok(Resolution {
            addresses: vec![address(host)],
            ttl: Duration::from_hours(24),
            trusted: false,
        })))
    }

    fn fetch(&self, request: Request) -> BoxFuture<'_, Result<Response, FetchFailure>> {
        Box::pin(async move {
            // As with sockets, what else was handed out is asked for before the first answer is read.
            tokio::task::yield_now().await;
            Ok(self.answer(&request))
        })
    }

    fn proxied(&self, _url: &CrawlUrl) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use clewline::extract::{Extractor as _, PageExtractor, PageHead};
    use clewline_job::config::ExtractConfig;

    use super::*;

    #[test]
    fn a_page_is_as_large_as_its_names_say_and_names_what_it_should() {
        let url = CrawlUrl::parse("https://www.meadow1.org/").unwrap();
        let mut headers = Headers::default();
        headers.push("Content-Type", b"text/html; charset=utf-8");
        let extractor = PageExtractor::new(&ExtractConfig::default(), "clewline");
        for known in [10_000, 10_000_000] {
            let urls = Known::new(known).named_by_page(LINKS, NEW);
            let page = markup(&urls);
            assert_eq!(page.len(), SIZE, "{known}");
            assert_eq!(page.matches("<a href").count(), REFERENCES);
            let mut extraction = extractor.begin(PageHead {
                url: &url,
                status: 200,
                headers: &headers,
                sitemap: false,
            });
            extraction.feed(page.as_bytes());
            let links = extraction.finish().links;
            let found: HashSet<&str> = links.iter().map(|link| *link.url.text()).collect();
            let named: HashSet<&str> = urls.iter().map(CrawlUrl::as_str).collect();
            assert_eq!(found, named, "{known}");
            assert_eq!(links.len(), found.len(), "repeated ones are dropped");
            assert!(found.len() > LINKS - 4, "{} are different", found.len());
        }
    }
}
