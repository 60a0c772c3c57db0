//! An index that grows with its crawl: searched meanwhile, killed, in other hands, and spoilt.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clewline_search::{Folding, Index, Query};
use rustix::process::Signal;
use terrarium::{LiveWeb, Page, Site};

use crate::place::{HOST, Place, web_of};
use crate::signals::{PATIENCE, Running};

/// Pages of the site, each of which leads to the next: longer than the index waits at first.
const PAGES: u64 = 200;
/// Requests until an index is surely fed.
const MOST_REQUESTS: usize = 5_000;

fn chain(pages: u64) -> LiveWeb {
    web_of(Site::new().handler(move |request| {
        let number: u64 = request.path().trim_start_matches('/').parse().unwrap_or(0);
        let next = (number + 1).min(pages - 1);
        let html = format!("<title>Page {number}</title><a href=/{next}>n</a> all word{number}");
        Page::html(html).delay(Duration::from_millis(20)).into()
    }))
}

fn crawl<'a>(root: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let line = ["-o", "a.crawl", "--to", "index", "--no-sitemaps", root];
    [&line[..], more].concat()
}

/// Waits until the index of a running crawl has pages, request by request.
fn fed(web: &LiveWeb, job: &Path) -> u64 {
    loop {
        let pages = Index::open(job).map_or(0, |index| index.pages());
        if pages > 0 {
            return pages;
        }
        let asked = web.log().len();
        assert!(asked < MOST_REQUESTS, "the index is not fed");
        assert!(web.wait_for(|log| log.len() > asked, PATIENCE));
    }
}

/// The URLs and words of all pages in an index, sorted.
fn pages(job: &Path) -> Vec<(String, String)> {
    let query = Query::everything().folding(Folding::Off).limit(1000);
    let hits = Index::open(job).unwrap().search(&query).unwrap().hits;
    let pages = hits.into_iter().map(|hit| (hit.url, hit.snippet.text));
    let mut pages: Vec<_> = pages.collect();
    pages.sort();
    pages
}

#[test]
fn a_running_crawl_can_be_searched() {
    let web = chain(u64::MAX);
    let place = Place::new();
    let job = place.path("a.crawl");
    let root = web.url(HOST, "/");
    let running = Running::start(&place, &crawl(&root, &["--max-time", "2m"]));
    let first = fed(&web, &job);
    let ran = place.run(&["search", "a.crawl", "word0"]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    assert!(ran.out.contains("Page 0"), "{ran:?}");
    running.signal(Signal::INT);
    assert_eq!(running.end().0, Some(130));
    let last = place.records("a.crawl").len() as u64;
    let index = Index::open(&job).unwrap();
    assert!(
        first <= last && index.pages() == last,
        "{first} {last} {}",
        index.pages()
    );
}

#[test]
fn a_kill_costs_nothing_of_the_index() {
    let web = chain(PAGES);
    let place = Place::new();
    let job = place.path("a.crawl");
    let root = web.url(HOST, "/");
    let running = Running::start(&place, &crawl(&root, &[]));
    let first = fed(&web, &job);
    running.signal(Signal::KILL);
    running.ended();
    assert!((1..PAGES).contains(&first), "{first}");
    let ran = place.run(&["resume"]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    assert!(ran.talk.contains("note: index: 200 pages"), "{}", ran.talk);
    let grown = pages(&job);
    assert_eq!(place.run(&["index", "--rebuild"]).code, 0);
    assert_eq!((grown.len() as u64, &grown), (PAGES, &pages(&job)));
}

/// A crawl of two pages, whose index then meets with something.
fn begun(web: &LiveWeb) -> (Place, PathBuf) {
    let place = Place::new();
    let root = web.url(HOST, "/");
    let ran = place.run(&crawl(&root, &["-q", "-n", "2"]));
    assert_eq!(ran.code, 0, "{}", ran.talk);
    let index = place.path("a.crawl/index");
    (place, index)
}

#[test]
fn an_index_in_other_hands_is_left_to_them() {
    let web = chain(PAGES);
    let (place, index) = begun(&web);
    let lock = File::create(index.join(".tantivy-writer.lock")).unwrap();
    lock.lock().unwrap();
    let ran = place.run(&["resume", "-n", "100"]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    assert!(
        ran.talk.contains("another process writes to it"),
        "{}",
        ran.talk
    );
    assert_eq!(Index::open(&place.path("a.crawl")).unwrap().pages(), 2);
    drop(lock);
    let ran = place.run(&["search", "word99"]);
    assert!(ran.code == 0 && ran.out.contains("Page 99"), "{ran:?}");
}

#[test]
fn an_index_that_cannot_be_written_stops_no_crawl() {
    let web = chain(PAGES);
    let (place, index) = begun(&web);
    fs::remove_dir_all(&index).unwrap();
    fs::write(&index, b"in the way").unwrap();
    let ran = place.run(&["resume", "-n", "1000"]);
    assert_eq!(ran.code, 3, "{}", ran.talk);
    for expected in [
        "error: the view index cannot be made",
        "note: the index did not grow with the crawl: ",
    ] {
        assert!(ran.talk.contains(expected), "{}", ran.talk);
    }
    assert_eq!(place.records("a.crawl").len() as u64, PAGES);
    fs::remove_file(&index).unwrap();
    let ran = place.run(&["resume"]);
    assert!(
        ran.code == 0 && ran.talk.contains("index: 200 pages"),
        "{ran:?}"
    );
}
