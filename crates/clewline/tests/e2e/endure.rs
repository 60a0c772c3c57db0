//! What a crawl must outlive: a page that kills it, a network that goes away, bodies that are
//! too large to be held all at once.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use clewline::extract::{Extracted, Extraction, Extractor, PageExtractor, PageHead};
use clewline::fetch::{FetchFailure, Fetcher, HttpFetcher, Request, Resolution, Response, Timings};
use clewline::{Crawl, Event};
use clewline_core::frontier::{HoldKind, Note};
use clewline_core::outcome::FailureClass;
use clewline_core::url::CrawlUrl;
use clewline_job::config::{Config, Memory, Reach, Root, Speed};
use clewline_job::log::{records, urls};
use clewline_job::record::{OutcomeKind, Record};
use futures_util::future::BoxFuture;
use terrarium::{LiveWeb, Page, Site, Web};

use crate::support::{PATIENCE, config};

/// What a parent tells its child.
const ROOT: &str = "ENDURE_ROOT";
const FOLDER: &str = "ENDURE_FOLDER";

/// The page that kills whoever reads it.
const POISON: &str = "/7";

/// A site of so many pages, each of which leads to two more.
fn tree(pages: u64) -> Site {
    Site::new()
        .delay(Duration::from_millis(2))
        .handler(move |request| {
            let number: u64 = request.path()[1..].parse().unwrap_or(0);
            let links = [2 * number + 1, 2 * number + 2].into_iter();
            let links = links.filter(|link| *link < pages);
            Page::html(terrarium::links(links.map(|link| format!("/{link}")))).into()
        })
}

/// Reads pages as usual, but one of them.
struct Killed(PageExtractor);

impl Extractor for Killed {
    fn begin(&self, head: PageHead<'_>) -> Box<dyn Extraction> {
        if head.url.path() == POISON {
            return Box::new(Death);
        }
        self.0.begin(head)
    }
}

struct Death;

impl Extraction for Death {
    fn feed(&mut self, _chunk: &[u8]) {
        std::process::abort();
    }

    fn finish(self: Box<Self>) -> Extracted {
        Extracted::default()
    }
}

#[test]
fn the_crawl_of_a_parent() {
    let (Ok(root), Ok(folder)) = (std::env::var(ROOT), std::env::var(FOLDER)) else {
        return;
    };
    let mut config = Config {
        roots: vec![Root::parse(&root).unwrap()],
        ..Config::default()
    };
    config.scope.sitemaps = false;
    let extractor = Killed(PageExtractor::new(&config.extract, "clewline"));
    let crawl = Crawl::from_config(config).folder(folder);
    crawl.extractor(extractor).run().unwrap().wait().unwrap();
}

/// Runs the crawl in a process of its own; whether that came to its end.
fn survives(root: &str, folder: &Path) -> bool {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["endure::the_crawl_of_a_parent", "--exact"])
        .env(ROOT, root)
        .env(FOLDER, folder)
        .output()
        .unwrap();
    output.status.success()
}

fn read(folder: &Path) -> Vec<Record> {
    let all = records(&folder.join(urls::FILE)).unwrap();
    all.map(Result::unwrap).collect()
}

#[test]
fn a_page_that_kills_the_crawler_is_given_up_after_three_deaths() {
    let web = Web::new().site("127.0.0.1", tree(200)).start();
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("job");
    let root = web.url("127.0.0.1", "/0");
    for death in 1..=3 {
        assert!(!survives(&root, &folder), "death {death}");
    }
    // The sub-tree of the page is out of reach; everything else waits for nobody.
    let below = |number: u64| {
        std::iter::successors(Some(number), |n| (*n > 0).then(|| (n - 1) / 2)).any(|n| n == 7)
    };
    let others = (0..200).filter(|number| !below(*number)).count();
    let pages = |records: &[Record]| {
        let fetched = records.iter();
        fetched
            .filter(|record| record.outcome == OutcomeKind::Fetched)
            .count()
    };
    assert!(survives(&root, &folder));
    let records = read(&folder);
    assert_eq!(pages(&records), others);
    let poison: Vec<_> = records
        .iter()
        .filter(|record| record.url.path() == POISON)
        .collect();
    assert_eq!(poison.len(), 1);
    assert_eq!(poison[0].failure, Some(FailureClass::Internal));
    let why = poison[0].error.as_deref().unwrap();
    assert!(why.contains("died three times"), "{why}");
    assert_eq!(web.log().count(POISON), 3);
    let marker = std::fs::read_to_string(folder.join("job.toml")).unwrap();
    assert!(marker.contains("finished = true"));
}

/// The way to servers, until it is cut.
struct Severable {
    way: HttpFetcher,
    away: Arc<AtomicBool>,
    failed: Arc<AtomicU64>,
}

impl Severable {
    fn check(&self) -> Result<(), FetchFailure> {
        if !self.away.load(Ordering::SeqCst) {
            return Ok(());
        }
        self.failed.fetch_add(1, Ordering::SeqCst);
        Err(FetchFailure {
            class: FailureClass::Connect,
            message: "the network is unreachable".to_owned(),
            timings: Timings::default(),
            wire: 0,
            local: false,
            withheld: None,
            cut_short: false,
        })
    }
}

impl Fetcher for Severable {
    fn resolve<'a>(
        &'a self,
        host: &'a str,
        port: u16,
    ) -> BoxFuture<'a, Result<Resolution, FetchFailure>> {
        match self.check() {
            Ok(()) => self.way.resolve(host, port),
            Err(failure) => Box::pin(async { Err(failure) }),
        }
    }

    fn fetch(&self, request: Request) -> BoxFuture<'_, Result<Response, FetchFailure>> {
        match self.check() {
            Ok(()) => self.way.fetch(request),
            Err(failure) => Box::pin(async { Err(failure) }),
        }
    }

    fn proxied(&self, url: &CrawlUrl) -> bool {
        self.way.proxied(url)
    }
}

/// So many hosts, each a chain of pages.
fn hosts(count: usize, pages: u64) -> LiveWeb {
    let site = |pages: u64| {
        let site = Site::new().robots("").delay(Duration::from_millis(5));
        site.handler(move |request| {
            let number: u64 = request.path()[1..].parse().unwrap_or(0);
            let next = (number + 1 < pages).then(|| format!("/{}", number + 1));
            Page::html(terrarium::links(next)).into()
        })
    };
    (0..count)
        .fold(Web::new(), |web, host| {
            web.site(&format!("host{host}.test"), site(pages))
        })
        .start()
}

#[test]
fn a_network_that_goes_away_costs_no_try() {
    let (away, failed) = (Arc::<AtomicBool>::default(), Arc::<AtomicU64>::default());
    let web = hosts(12, 100);
    let roots: Vec<String> = (0..12).map(|host| format!("host{host}.test/0")).collect();
    let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
    let mut config = config(&web, &roots);
    config.politeness.retry_delay = Some(Duration::from_millis(50));
    config.scope.reach = Reach::Host;
    config.scope.sitemaps = false;
    let place = tempfile::tempdir().unwrap();
    let (sender, notes) = channel();
    let paused = Arc::new(AtomicBool::new(false));
    let shown = Arc::clone(&paused);
    let fetcher = Severable {
        way: HttpFetcher::new(&config.fetch).unwrap(),
        away: Arc::clone(&away),
        failed: Arc::clone(&failed),
    };
    let running = Crawl::from_config(config)
        .fetcher(fetcher)
        .folder(place.path().join("job"))
        .observe(move |event| match event {
            Event::Note(note @ (Note::NetworkAway { .. } | Note::NetworkBack { .. })) => {
                sender.send(note.clone()).ok();
            }
            Event::Progress(progress) => {
                let by = progress.hold.as_ref().map(|hold| hold.by);
                shown.fetch_or(by == Some(HoldKind::NetworkAway), Ordering::SeqCst);
            }
            _ => {}
        })
        .run()
        .unwrap();
    assert!(web.wait_for(|log| log.len() > 300, PATIENCE));
    away.store(true, Ordering::SeqCst);
    let note = notes.recv_timeout(PATIENCE).unwrap();
    assert!(matches!(note, Note::NetworkAway { hosts: 3.. }), "{note:?}");
    // What was in flight has failed by the time of the second look.
    let before = failed.load(Ordering::SeqCst);
    let deadline = Instant::now() + PATIENCE;
    while failed.load(Ordering::SeqCst) < before + 2 {
        assert!(Instant::now() < deadline, "nobody looks for the network");
        std::thread::yield_now();
    }
    away.store(false, Ordering::SeqCst);
    let note = notes.recv_timeout(PATIENCE).unwrap();
    assert!(matches!(note, Note::NetworkBack { .. }), "{note:?}");
    let report = running.wait().unwrap().report;
    assert_eq!(report.facts.todo, 0);
    let records = read(&place.path().join("job"));
    assert_eq!(records.len(), 12 * 100);
    let spoilt: Vec<_> = records
        .iter()
        .filter(|record| record.outcome != OutcomeKind::Fetched || record.tries != 1)
        .map(|record| (record.url.as_str(), record.outcome, record.tries))
        .collect();
    assert!(spoilt.is_empty(), "{spoilt:?}");
    assert!(paused.load(Ordering::SeqCst), "progress tells of the pause");
}

#[test]
fn large_bodies_stay_within_the_memory() {
    const BODY: usize = 2 << 20;
    const MEMORY: u64 = 32 << 20;
    let pages = 40;
    let list = (0..pages).map(|page| format!("/{page}"));
    let list: Vec<String> = list.chain(["/late".to_owned()]).collect();
    // The last page comes when the bodies were read, so that progress is told of them.
    let late = Page::html("late").delay(Duration::from_millis(400));
    let site = Site::new()
        .page("/", Page::html(terrarium::links(list)))
        .page("/late", late)
        .handler(|_| Page::bytes("application/octet-stream", vec![7; BODY]).into());
    let web = Web::new().site("a.test", site).start();
    let mut config = config(&web, &["a.test/"]);
    config.scope.sitemaps = false;
    config.politeness.speed = Some(Speed::Max);
    config.output.memory = Memory(MEMORY);
    let peak = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&peak);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (taken, summary) = runtime.block_on(async {
        let observer = move |event: Event<'_>| {
            if let Event::Progress(progress) = event {
                seen.fetch_max(progress.peak_bytes_in_flight, Ordering::SeqCst);
            }
        };
        let mut crawl = Crawl::from_config(config)
            .observe(observer)
            .start()
            .unwrap();
        let mut taken = 0;
        while let Some(page) = crawl.next().await {
            taken += usize::from(page.body.len() == BODY);
        }
        (taken, crawl.finish().await.unwrap())
    });
    assert_eq!(taken, pages);
    assert_eq!(summary.report.facts.todo, 0);
    let (peak, bound) = (peak.load(Ordering::SeqCst), MEMORY / 4);
    assert!(peak >= BODY as u64, "bodies are accounted for: {peak}");
    assert!(
        peak <= bound + BODY as u64,
        "{peak} bytes were held at once"
    );
}
