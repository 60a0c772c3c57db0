//! Parts of one's own: a fetcher, an extractor, a log.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use bytes::Bytes;
use clewline::extract::{Extracted, Extraction, Extractor, PageHead};
use clewline::fetch::{
    Body, BodyTally, FetchFailure, Fetcher, Request, Resolution, Response, Timings,
};
use clewline::log::Entry;
use clewline::log::{Log, Offset};
use clewline::{Crawl, EngineError, Event, Headers};
use clewline_core::link::{Link, LinkKind};
use clewline_core::outcome::FailureClass;
use clewline_core::url::CrawlUrl;
use clewline_job::config::Speed;
use clewline_job::report::StoppedBy;
use futures_util::future::{BoxFuture, ready};
use terrarium::{Page, Site, Web, numbered_links};

use super::super::support::PATIENCE;
use super::{check_totals, crawl_of, endless};

/// A way to servers that are not there: pages by URL.
struct Scripted {
    pages: BTreeMap<&'static str, &'static str>,
    asked: Arc<Mutex<Vec<String>>>,
}

struct Text(Option<Bytes>, BodyTally);

impl Body for Text {
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Bytes>, FetchFailure>> {
        Box::pin(ready(Ok(self.0.take())))
    }

    fn tally(&self) -> BodyTally {
        self.1
    }
}

impl Fetcher for Scripted {
    fn resolve<'a>(
        &'a self,
        _host: &'a str,
        _port: u16,
    ) -> BoxFuture<'a, Result<Resolution, FetchFailure>> {
        Box::pin(ready(Ok(Resolution {
            addresses: vec![IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1))],
            ttl: PATIENCE,
            trusted: true,
        })))
    }

    fn fetch(&self, request: Request) -> BoxFuture<'_, Result<Response, FetchFailure>> {
        let url = request.url.as_str();
        self.asked.lock().unwrap().push(url.to_owned());
        if url.ends_with("/broken") {
            return Box::pin(ready(Err(FetchFailure {
                class: FailureClass::Protocol,
                message: "the script says so".into(),
                timings: Timings::default(),
                wire: 3,
                local: false,
                withheld: None,
                cut_short: false,
            })));
        }
        let page = self.pages.get(url).copied();
        let mut headers = Headers::default();
        headers.push("Content-Type", b"text/html");
        let body = Bytes::from_static(page.unwrap_or_default().as_bytes());
        let length = body.len() as u64;
        let tally = BodyTally {
            wire: length + 100,
            decoded: length,
            truncated: false,
        };
        Box::pin(ready(Ok(Response {
            status: if page.is_some() { 200 } else { 404 },
            headers,
            address: request.address,
            timings: Timings::default(),
            protocols: &[],
            body: Box::new(Text(Some(body).filter(|body| !body.is_empty()), tally)),
        })))
    }

    fn proxied(&self, _url: &CrawlUrl) -> bool {
        false
    }
}

#[test]
fn a_fetcher_of_ones_own() {
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let fetcher = Scripted {
        pages: BTreeMap::from([
            (
                "https://script.test/",
                "<a href=/a>a</a><a href=/broken>b</a>",
            ),
            ("https://script.test/a", "<title>A</title>"),
            (
                "https://script.test/robots.txt",
                "User-agent: *\nDisallow: /no\n",
            ),
        ]),
        asked: Arc::clone(&asked),
    };
    let crawl = Crawl::new("https://script.test/").fetcher(fetcher);
    let crawl = crawl
        .speed(Speed::Max)
        .configure(|config| config.scope.sitemaps = false);
    let log = Memory::default();
    let entries = Arc::clone(&log.entries);
    let summary = crawl.log(log).run().unwrap().wait().unwrap();
    check_totals(&summary);
    let mut asked = asked.lock().unwrap().clone();
    asked[2..].sort_unstable();
    let expected =
        ["robots.txt", "", "a", "broken"].map(|path| format!("https://script.test/{path}"));
    assert_eq!(*asked, expected);
    let entries = entries.lock().unwrap();
    let failed = entries
        .iter()
        .find(|entry| entry.record.url.path() == "/broken")
        .unwrap();
    assert_eq!(failed.record.failure, Some(FailureClass::Protocol));
    assert_eq!(failed.record.error.as_deref(), Some("the script says so"));
    assert_eq!(failed.record.wire_bytes, 3);
}

/// Finds a link wherever a page says `GOTO` and a path.
struct Goto;

struct GotoPage(CrawlUrl, String);

impl Extractor for Goto {
    fn begin(&self, head: PageHead<'_>) -> Box<dyn Extraction> {
        Box::new(GotoPage(head.url.clone(), String::new()))
    }
}

impl Extraction for GotoPage {
    fn feed(&mut self, chunk: &[u8]) {
        self.1.push_str(&String::from_utf8_lossy(chunk));
    }

    fn finish(self: Box<Self>) -> Extracted {
        let words: Vec<&str> = self.1.split_whitespace().collect();
        let targets = words.windows(2).filter(|pair| pair[0] == "GOTO");
        let links = targets.map(|pair| Link::new(self.0.join(pair[1]).unwrap(), LinkKind::Anchor));
        Extracted {
            links: links.collect(),
            title: words.first().map(|word| (*word).to_owned()),
            ..Extracted::default()
        }
    }
}

#[tokio::test]
async fn an_extractor_of_ones_own() {
    let site = Site::new()
        .page("/", Page::text("START GOTO /10 <a href=/never>never</a>"))
        .page("/10", Page::text("TEN GOTO /20"))
        .page("/20", Page::text("END"));
    let web = Web::new().site("a.test", site).start();
    let mut pages = crawl_of(&web, "a.test/").extractor(Goto).start().unwrap();
    let mut titles = Vec::new();
    while let Some(page) = pages.next().await {
        titles.push(page.title().unwrap().to_owned());
    }
    assert_eq!(titles, ["START", "TEN", "END"]);
    assert_eq!(web.log().count("/never"), 0);
}

/// Keeps entries in memory, and fails after so many batches.
#[derive(Default)]
struct Memory {
    entries: Arc<Mutex<Vec<Entry>>>,
    synced: Arc<Mutex<u64>>,
    fails: bool,
}

impl Log for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn append(&mut self, batch: &[Entry]) -> io::Result<()> {
        if self.fails {
            return Err(io::Error::other("the disk is full"));
        }
        self.entries.lock().unwrap().extend_from_slice(batch);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<Offset> {
        let count = self.entries.lock().unwrap().len() as u64;
        *self.synced.lock().unwrap() = count;
        Ok(Offset(count))
    }

    fn cut(&mut self, offset: Offset) -> io::Result<()> {
        self.entries.lock().unwrap().truncate(offset.0 as usize);
        Ok(())
    }
}

#[test]
fn a_log_of_ones_own() {
    let site = Site::new()
        .page("/", Page::html(numbered_links("/p/", 30)))
        .under("/p/", |_| Page::html("<a href=/>home</a>").into());
    let web = Web::new().site("a.test", site).start();
    let log = Memory::default();
    let (entries, synced) = (Arc::clone(&log.entries), Arc::clone(&log.synced));
    let summary = crawl_of(&web, "a.test/")
        .log(log)
        .run()
        .unwrap()
        .wait()
        .unwrap();
    check_totals(&summary);
    let entries = entries.lock().unwrap();
    assert_eq!((entries.len(), *synced.lock().unwrap()), (31, 31));
    assert_eq!(entries[0].links.len(), 30);
    assert_eq!(
        entries[1].links,
        [(entries[0].record.key, LinkKind::Anchor)]
    );
}

#[test]
fn a_log_that_fails_stops_the_crawl() {
    let (_web, crawl) = endless();
    let log = Memory {
        fails: true,
        ..Memory::default()
    };
    let summary = crawl.log(log).run().unwrap().wait().unwrap();
    let error = summary.error.as_ref().unwrap();
    assert!(
        matches!(error, EngineError::Write(_)) && error.to_string().contains("the disk is full")
    );
    assert_eq!(summary.report.check(), Ok(()));
    assert_eq!(
        summary.report.tally.done, 0,
        "what is not durable does not count"
    );
    assert!(matches!(
        summary.report.facts.stopped_by,
        StoppedBy::Error(_)
    ));
}

/// A disk that does not write before it is told to.
struct Stuck {
    go: mpsc::Receiver<()>,
    written: Memory,
}

impl Log for Stuck {
    fn name(&self) -> &'static str {
        self.written.name()
    }

    fn append(&mut self, batch: &[Entry]) -> io::Result<()> {
        // Nobody speaks: it ends when the other end is dropped.
        self.go.recv().ok();
        self.written.append(batch)
    }

    fn sync(&mut self) -> io::Result<Offset> {
        self.written.sync()
    }

    fn cut(&mut self, offset: Offset) -> io::Result<()> {
        self.written.cut(offset)
    }
}

#[test]
fn a_slow_disk_makes_batches_larger_before_it_stops_the_crawl() {
    const PAGES: usize = 400;
    let site = Site::new()
        .page("/", Page::html(numbered_links("/p/", PAGES)))
        .under("/p/", |_| Page::html("a page").into())
        .delay(Duration::from_millis(5));
    let web = Web::new().site("a.test", site).start();
    let (hold, go) = mpsc::channel();
    let log = Stuck {
        go,
        written: Memory::default(),
    };
    let crawl = crawl_of(&web, "a.test/").configure(|config| config.limits.concurrency = 2);
    let run = crawl.log(log).run().unwrap();
    let went_on = web.wait_for(|log| log.len() > PAGES, PATIENCE / 2);
    let asked = web.log().len();
    drop(hold);
    let summary = run.wait().unwrap();
    check_totals(&summary);
    assert!(went_on, "the crawl stopped after {asked} requests");
    assert_eq!(summary.report.tally.done, PAGES as u64 + 1);
}

/// What the calling thread has taken of the processor.
fn busy() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap()
}

#[test]
fn waiting_for_a_log_keeps_no_processor_busy() {
    /// Words of progress come ten times a second.
    const WATCHED: usize = 5;
    let (_web, crawl) = endless();
    let (hold, go) = mpsc::channel();
    let (tell, told) = mpsc::channel();
    let mut hold = Some(hold);
    let mut idle = Vec::new();
    // The observer is called by the engine's own thread. Nothing is in flight any more when the
    // open batch is full and the others wait.
    let observer = move |event: Event<'_>| {
        let Event::Progress(progress) = event else {
            return;
        };
        if progress.pages > 0 && progress.in_flight == 0 && hold.is_some() {
            idle.push(busy());
        }
        if let [before, .., after] = idle[..]
            && idle.len() > WATCHED
        {
            idle.clear();
            tell.send(after.saturating_sub(before)).unwrap();
            hold = None;
        }
    };
    let log = Stuck {
        go,
        written: Memory::default(),
    };
    let running = crawl.log(log).observe(observer).run().unwrap();
    let taken = told.recv_timeout(PATIENCE).unwrap();
    running.control().stop(Duration::ZERO);
    assert!(
        taken < Duration::from_millis(50),
        "{taken:?} of half a second"
    );
    check_totals(&running.wait().unwrap());
}
