//! Budgets: what may be spent is spent exactly, and what is left is counted.

use clewline_job::report::StoppedBy;
use terrarium::{LiveWeb, Page, Site, Web, numbered_links};

use super::super::support::{Crawled, crawl, millis};

fn stopped_by(crawled: &Crawled, budget: &str) {
    let facts = &crawled.report.facts;
    assert_eq!(
        facts.stopped_by,
        StoppedBy::Budget(budget.into()),
        "{crawled:?}"
    );
    assert!(facts.todo > 0, "a budget leaves something to do");
}

/// A site of many pages on each of two hosts, some behind redirects, each answered slowly enough
/// for many requests to be in flight.
fn large() -> LiveWeb {
    let page = |request: &terrarium::Request| {
        if request.path().ends_with('7') {
            Page::redirect(302, format!("{}/x", request.path())).into()
        } else {
            Page::html(vec![b' '; 1000]).delay(millis(5)).into()
        }
    };
    let site = || {
        let home = numbered_links("{{a.test}}/p/", 30) + &numbered_links("{{b.test}}/p/", 30);
        Site::new().page("/", Page::html(home)).under("/p/", page)
    };
    Web::new()
        .site("a.test", site())
        .site("b.test", site())
        .start()
}

const BOTH: [&str; 2] = ["a.test/", "b.test/"];

/// Requests that were answered with a page.
fn pages(crawled: &Crawled, host: &str) -> usize {
    crawled
        .log
        .of(host)
        .iter()
        .filter(|hit| hit.status == Some(200))
        .count()
}

#[test]
fn the_page_budget_is_exact() {
    for budget in [1, 2, 17] {
        let crawled = crawl(&large(), &BOTH, |config| config.limits.pages = Some(budget));
        stopped_by(&crawled, "--max-pages");
        assert_eq!(
            (pages(&crawled, "a.test") + pages(&crawled, "b.test")) as u64,
            budget
        );
        assert_eq!(crawled.report.tally.outcomes.fetched, budget);
    }
}

#[test]
fn a_page_budget_that_is_not_spent_stops_nothing() {
    let site = Site::new()
        .page("/", Page::html("<a href=/a>a</a>"))
        .page("/a", Page::html(""));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |config| config.limits.pages = Some(3));
    assert_eq!(crawled.report.facts.stopped_by, StoppedBy::Finished);
}

#[test]
fn the_page_budget_per_host_is_exact() {
    let crawled = crawl(&large(), &BOTH, |config| {
        config.limits.pages_per_host = Some(7);
    });
    stopped_by(&crawled, "--max-pages-per-host");
    assert_eq!(
        (pages(&crawled, "a.test"), pages(&crawled, "b.test")),
        (7, 7)
    );
}

#[test]
fn the_byte_budget_is_exceeded_by_what_is_in_flight_only() {
    let crawled = crawl(&large(), &["a.test/"], |config| {
        config.limits.bytes = Some(12_000);
        config.limits.concurrency = 2;
    });
    stopped_by(&crawled, "--max-bytes");
    let sent: u64 = crawled.log.iter().map(|hit| hit.bytes_sent).sum();
    assert!((12_000..15_000).contains(&sent), "{sent} bytes were sent");
}

#[test]
fn the_time_budget_ends_an_endless_site() {
    let site = Site::new().calendar("/").delay(millis(2));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |config| {
        config.limits.time = Some(millis(200));
    });
    stopped_by(&crawled, "--max-time");
    let seconds = crawled.report.facts.seconds;
    assert!((0.2..5.0).contains(&seconds), "{seconds} s");
}
