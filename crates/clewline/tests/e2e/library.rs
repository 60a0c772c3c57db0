//! The library as its users meet it: pages as a stream, parts of one's own, and the examples.

mod content;
mod examples;
mod own;

use std::time::Duration;

use clewline::{Crawl, CrawlError, Summary};
use clewline_job::record::OutcomeKind;
use clewline_job::report::StoppedBy;
use terrarium::{LiveWeb, Page, Reply, Site, Step, Web, links, numbered_links};

use super::support::{Crawled, PATIENCE, config, millis, place_of};

/// Long enough for a crawl that goes on to be noticed, short enough to wait for.
const A_WHILE: Duration = Duration::from_millis(250);

fn crawl_of(web: &LiveWeb, root: &str) -> Crawl {
    Crawl::from_config(config(web, &[root])).configure(|config| config.scope.sitemaps = false)
}

fn check_totals(summary: &Summary) {
    assert_eq!(summary.report.check(), Ok(()));
    assert!(summary.error.is_none());
}

#[tokio::test]
async fn pages_come_as_a_stream() {
    let site = Site::new()
        .page(
            "/",
            Page::html("<title>Home</title><a href=/a>a</a><a href=/moved>m</a>")
                .header("X-One", "1"),
        )
        .page("/a", Page::charset("latin1", b"caf\xe9"))
        .page("/moved", Page::redirect(302, "/a"));
    let web = Web::new().site("a.test", site).start();
    let mut pages = crawl_of(&web, "a.test/").start().unwrap();
    let home = pages.next().await.unwrap();
    assert_eq!(
        (place_of(home.url()).as_str(), home.status()),
        ("a.test/", 200)
    );
    assert_eq!(home.title(), Some("Home"));
    assert_eq!(home.headers.get("x-one"), Some(&b"1"[..]));
    let targets: Vec<String> = home.links.iter().map(|link| place_of(&link.url)).collect();
    assert_eq!(targets, ["a.test/a", "a.test/moved"]);
    let page = pages.next().await.unwrap();
    assert_eq!(
        (place_of(page.url()).as_str(), &*page.text()),
        ("a.test/a", "caf\u{e9}")
    );
    assert!(pages.next().await.is_none(), "a redirect is no page");
    let summary = pages.finish().await.unwrap();
    check_totals(&summary);
    assert_eq!(summary.report.tally.done, 3);
    assert_eq!(summary.report.facts.stopped_by, StoppedBy::Finished);
}

/// A site that never ends, four requests at a time.
fn endless() -> (LiveWeb, Crawl) {
    let web = Web::new().site("a.test", Site::new().calendar("/")).start();
    let crawl = crawl_of(&web, "a.test/").configure(|config| config.limits.concurrency = 4);
    (web, crawl)
}

#[tokio::test]
async fn a_slow_reader_slows_the_crawl_down() {
    /// Pages that wait for their reader, requests in flight, robots.txt, and some to spare.
    const AHEAD: usize = 16 + 4 + 1 + 4;
    let (web, crawl) = endless();
    let mut pages = crawl.max_pages(200).start().unwrap();
    for taken in [1, 40] {
        for _ in 0..taken {
            pages.next().await.unwrap();
        }
        let taken_in_all = if taken == 1 { 1 } else { 41 };
        let rushed = web.wait_for(|log| log.len() > taken_in_all + AHEAD, A_WHILE);
        assert!(
            !rushed,
            "{} requests for {taken_in_all} pages taken",
            web.log().len()
        );
    }
    let mut rest = 0;
    while pages.next().await.is_some() {
        rest += 1;
    }
    assert_eq!(rest, 200 - 41);
    check_totals(&pages.finish().await.unwrap());
}

#[tokio::test]
async fn dropping_the_pages_stops_the_crawl() {
    const IN_FLIGHT: u32 = 8;
    let site = Site::new()
        .page("/", Page::html(links(["/slow", "/stall", "/days/1"])))
        .page("/slow", Page::html("").delay(PATIENCE))
        .page("/stall", Reply::script([Step::Stall]))
        .calendar("/days");
    let web = Web::new().site("a.test", site).start();
    let crawl = crawl_of(&web, "a.test/");
    let crawl = crawl.configure(|config| config.limits.concurrency = IN_FLIGHT);
    let mut pages = crawl.start().unwrap();
    pages.next().await.unwrap();
    let both = |log: &terrarium::Log| log.count("/slow") == 1 && log.count("/stall") == 1;
    assert!(web.wait_for(both, PATIENCE));
    drop(pages);
    // What was on its way when the crawl stopped may still arrive, one by one; nothing follows.
    let grows = |asked: usize| web.wait_for(|log| log.len() > asked, A_WHILE);
    let stops = (0..=IN_FLIGHT).any(|_| !grows(web.log().len()));
    assert!(stops, "requests go on: {}", web.log().len());
    assert!(
        web.wait_for(terrarium::Log::settled, PATIENCE),
        "connections stay open"
    );
}

#[tokio::test]
async fn finishing_early_reports_what_was_done() {
    let (web, crawl) = endless();
    let mut pages = crawl.start().unwrap();
    for _ in 0..10 {
        pages.next().await.unwrap();
    }
    let summary = pages.finish().await.unwrap();
    check_totals(&summary);
    let report = &summary.report;
    assert_eq!(report.facts.stopped_by, StoppedBy::Interrupted);
    assert!(report.tally.done >= 10 && report.facts.todo > 0);
    assert!(report.tally.done <= web.log().len() as u64);
}

/// A site with one slow page in flight and many that wait behind it.
fn behind_a_slow_page(slow: impl Into<Reply>) -> LiveWeb {
    let site = Site::new()
        .page(
            "/",
            Page::html(links(["/slow"]) + &numbered_links("/p/", 20)),
        )
        .page("/slow", slow)
        .under("/p/", |_| Page::html("").into());
    Web::new().site("a.test", site).start()
}

/// Starts a crawl into a folder, one request at a time, and stops it once `/slow` is asked.
fn stop_at_slow(web: &LiveWeb, grace: Duration) -> Crawled {
    let place = tempfile::tempdir().unwrap();
    let crawl = crawl_of(web, "a.test/").folder(place.path().join("job"));
    let running = crawl
        .configure(|config| config.limits.concurrency = 1)
        .run()
        .unwrap();
    assert!(web.wait_for(|log| log.count("/slow") == 1, PATIENCE));
    running.control().stop(grace);
    let summary = running.wait().unwrap();
    Crawled::new(web, summary, place, Vec::new())
}

#[test]
fn a_stop_lets_what_is_in_flight_finish() {
    let web = behind_a_slow_page(Page::html("at last").delay(millis(200)));
    let crawled = stop_at_slow(&web, PATIENCE);
    crawled.check_requested(&["a.test/", "a.test/slow"]);
    let slow = crawled.record("a.test/slow");
    assert_eq!((slow.outcome, slow.body_bytes), (OutcomeKind::Fetched, 7));
    let facts = &crawled.report.facts;
    assert_eq!(
        (&facts.stopped_by, facts.todo),
        (&StoppedBy::Interrupted, 20)
    );
    assert!(crawled.folder().join("report.html").exists());
}

#[test]
fn a_stop_ends_when_its_grace_does() {
    let web = behind_a_slow_page(Reply::silence());
    let crawled = stop_at_slow(&web, millis(50));
    assert!(
        crawled.records_of("a.test/slow").is_empty(),
        "what is not finished is not recorded"
    );
    assert_eq!(crawled.report.facts.todo, 21);
    assert!(crawled.report.facts.seconds < 10.0);
    assert!(
        web.wait_for(terrarium::Log::settled, PATIENCE),
        "the connection stays open"
    );
}

#[test]
fn nothing_is_written_where_no_folder_is_named() {
    let web = Web::new()
        .site("a.test", Site::new().page("/", Page::html("")))
        .start();
    let summary = crawl_of(&web, "a.test/").run().unwrap().wait().unwrap();
    check_totals(&summary);
    assert_eq!(
        (summary.report.tally.done, summary.report.facts.folder),
        (1, None)
    );
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_asked() {
    let error = |crawl: Crawl| crawl.run().unwrap_err();
    assert!(matches!(
        error(Crawl::new("mailto:a@b.test")),
        CrawlError::Root(..)
    ));
    let web = Web::new().site("a.test", Site::new()).start();
    let unbounded = crawl_of(&web, "a.test/").scope(clewline_job::config::Reach::Any);
    let wrong = unbounded.configure(|config| config.scope.exclude = vec!["(".into()]);
    match error(wrong) {
        CrawlError::Config(problems) => {
            let settings: Vec<&str> = problems.iter().map(|problem| problem.setting).collect();
            assert_eq!(settings, ["contact", "exclude"]);
        }
        other => panic!("{other}"),
    }
    assert!(web.log().is_empty());
}

#[tokio::test]
async fn the_reader_decides_about_links_and_adds_urls() {
    let site = Site::new()
        .page("/", Page::html(links(["/follow", "/skip"])))
        .page("/follow", Page::html(links(["/follow/below"])))
        .page("/follow/below", Page::html("end"))
        .page("/skip", Page::html(links(["/skip/below"])))
        .page("/skip/below", Page::html("nobody comes here"))
        .page("/added", Page::html(links(["/added/below"])))
        .page("/added/below", Page::html("end"));
    let web = Web::new().site("a.test", site).start();
    let mut pages = crawl_of(&web, "a.test/").hold_links().start().unwrap();
    let added = web.url("a.test", "/added");
    let (mut seen, mut last) = (Vec::new(), None);
    while let Some(page) = pages.next().await {
        let place = place_of(page.url());
        if place == "a.test/skip" {
            assert!(pages.skip_links());
        }
        seen.push(place);
        // Three pages are all that the roots lead to: here the crawl waits for its reader only.
        if seen.len() == 4 {
            let control = pages.control().unwrap();
            let new = tokio::task::spawn_blocking({
                let added = added.clone();
                move || {
                    (
                        control.add(&added),
                        control.add(&added),
                        control.add("mailto:x"),
                    )
                }
            });
            let (first, second, third) = new.await.unwrap();
            assert_eq!((first, second), (Ok(true), Ok(false)));
            assert!(third.is_err());
        }
        last = Some(page);
    }
    seen.sort();
    let expected = ["", "added", "added/below", "follow", "follow/below", "skip"];
    assert_eq!(seen, expected.map(|path| format!("a.test/{path}")));
    assert!(!pages.skip_links(), "no page is with its reader any more");
    assert_eq!(last.unwrap().record.tries, 1);
    let summary = pages.finish().await.unwrap();
    check_totals(&summary);
    assert_eq!(summary.report.facts.stopped_by, StoppedBy::Finished);
}

#[tokio::test]
async fn pages_that_were_held_count_when_the_reader_goes() {
    let mut site = Site::new().page("/", Page::html(numbered_links("/", 8)));
    for number in 0..8 {
        site = site.page(&format!("/{number}"), Page::html("x"));
    }
    let web = Web::new().site("a.test", site).start();
    let folder = tempfile::tempdir().unwrap();
    let job = folder.path().join("a.crawl");
    let crawl = || crawl_of(&web, "a.test/").hold_links().folder(&job);
    let mut pages = crawl().start().unwrap();
    pages.next().await.unwrap();
    let summary = pages.finish().await.unwrap();
    check_totals(&summary);
    assert_eq!(summary.report.tally.done, 1);
    assert_eq!(
        summary.report.facts.todo, 8,
        "its links are known to the next run"
    );
    let mut pages = crawl().start().unwrap();
    let mut count = 0;
    while pages.next().await.is_some() {
        count += 1;
    }
    assert_eq!(count, 8, "no page is lost and none comes twice");
    check_totals(&pages.finish().await.unwrap());
}
