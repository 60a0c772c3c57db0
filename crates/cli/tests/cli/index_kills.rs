//! Indexing that is killed: whatever the moment, the next run comes to the index that a run
//! without kills makes. Nothing is in it twice, nothing is lost.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clewline_search::{FOLDER, Folding, Index, Query};
use terrarium::{Page, Site, links};

use crate::place::{HOST, Place, web_of};

/// Pages of the site: enough for several commits of an index.
const PAGES: usize = 600;
/// Pages of the crawl when its index is begun.
const FIRST_PAGES: &str = "400";
/// Runs that are killed at a moment that nobody chose.
const KILLS: u64 = 8;
/// Runs that may end before they are seen halfway.
const TRIES: usize = 20;

fn site() -> Site {
    let path = |number: usize| format!("/page{number}");
    let mut site = Site::new().page("/", Page::html(links((0..PAGES).map(path))));
    for number in 0..PAGES {
        let words = format!("word{number} ").repeat(200);
        let next = path((number + 7) % PAGES);
        let html = format!("<title>Page {number}</title><a href={next}>next</a><p>all {words}");
        site = site.page(&path(number), Page::html(html));
    }
    site
}

/// What is known of each page, sorted; how well it fits may differ with the history of an index.
fn pages(job: &Path) -> Vec<(String, String, String, u32)> {
    let query = Query::everything().folding(Folding::Off).limit(1000);
    let results = Index::open(job).unwrap().search(&query).unwrap();
    let hits = results.hits.into_iter();
    let mut pages: Vec<_> = hits
        .map(|hit| (hit.url, hit.title, hit.snippet.text, hit.inlinks))
        .collect();
    pages.sort();
    assert_eq!(pages.len() as u64, results.total);
    pages
}

fn start(place: &Place) -> Child {
    let mut command = place.command(&["index", "a.crawl"]);
    command.stderr(Stdio::null()).spawn().unwrap()
}

/// Kills a run when its index holds some pages and not all; answers how many, unless it ended.
fn kill_halfway(place: &Place, job: &Path) -> Option<u64> {
    let mut child = start(place);
    let mut held = 0;
    while held == 0 && child.try_wait().unwrap().is_none() {
        held = Index::open(job).map_or(0, |index| index.pages());
    }
    child.kill().unwrap();
    child.wait().unwrap();
    (1..PAGES as u64).contains(&held).then_some(held)
}

/// Kills runs at moments spread over the time that one takes.
fn kill_anywhere(place: &Place, usual: Duration, seed: u64) {
    for number in 0..KILLS {
        let mut child = start(place);
        let share = (number * 5 + seed * 3) % KILLS;
        thread::sleep(usual * share as u32 / KILLS as u32);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[test]
fn indexing_survives_kills() {
    let place = Place::new();
    let job = place.path("a.crawl");
    let web = web_of(site());
    let home = web.url(HOST, "/");
    let crawl = ["-q", "--speed", "max", "-o", "a.crawl", &home];
    let first = place.run(&[&crawl[..], &["-n", FIRST_PAGES]].concat());
    assert_eq!(first.code, 0, "{}", first.talk);
    let began = Instant::now();
    assert_eq!(place.run(&["index", "a.crawl"]).code, 0);
    let usual = began.elapsed();
    // From nothing to the first part, from there to the whole, and from nothing to the whole.
    fs::remove_dir_all(job.join(FOLDER)).unwrap();
    kill_anywhere(&place, usual, 0);
    assert_eq!(place.run(&["index", "a.crawl"]).code, 0);
    let part = pages(&job).len();
    assert!((1..PAGES).contains(&part), "{part}");
    let ended = place.run(&crawl);
    assert_eq!(ended.code, 0, "{}", ended.talk);
    kill_anywhere(&place, usual, 1);
    assert_eq!(place.run(&["index", "a.crawl"]).code, 0);
    let grown = pages(&job);
    let mut halfway = None;
    for _ in 0..TRIES {
        fs::remove_dir_all(job.join(FOLDER)).unwrap();
        halfway = kill_halfway(&place, &job);
        if halfway.is_some() {
            break;
        }
    }
    assert!(halfway.is_some(), "no run was killed halfway");
    assert_eq!(place.run(&["index", "a.crawl"]).code, 0);
    let resumed = pages(&job);
    assert_eq!(place.run(&["index", "a.crawl", "--rebuild"]).code, 0);
    let fresh = pages(&job);
    assert_eq!(fresh.len(), PAGES + 1);
    assert!(
        fresh.windows(2).all(|two| two[0].0 < two[1].0),
        "a page stands twice"
    );
    assert_eq!((&grown, &resumed), (&fresh, &fresh));
}
