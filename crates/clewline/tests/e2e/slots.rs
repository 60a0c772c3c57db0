//! Slots and levels: silent and dripping hosts beside good ones.

use std::time::Duration;

use clewline_job::config::{Config, Reach};
use clewline_job::record::OutcomeKind;
use terrarium::{Door, Page, Site, Web, links, numbered_links};

use super::support::{Crawled, crawl, millis};

const PAGES: usize = 12;
/// More than there are slots.
const OTHERS: usize = 9;

/// A crawl of a good host and of others that come before it.
fn crawl_beside(other: impl Fn() -> Site) -> Crawled {
    let good = Site::new()
        .page("/", Page::html(numbered_links("/p/", PAGES)))
        .under("/p/", |_| Page::html("").into());
    let names: Vec<String> = (0..OTHERS)
        .map(|number| format!("o{number}.test"))
        .collect();
    let web = names
        .iter()
        .fold(Web::new(), |web, name| web.site(name, other()));
    let web = web.site("good.test", good).start();
    let roots: Vec<String> = names.iter().map(|name| format!("{name}/")).collect();
    let roots: Vec<&str> = roots
        .iter()
        .map(String::as_str)
        .chain(["good.test/"])
        .collect();
    crawl(&web, &roots, |config| {
        without_robots(config);
        config.limits.concurrency = 8;
    })
}

fn without_robots(config: &mut Config) {
    config.scope.robots = false;
    config.scope.sitemaps = false;
    config.limits.tries = 1;
    config.fetch.timeout = Duration::from_secs(5);
}

/// All pages of the good host were fetched before any other host was given up.
fn check_good_first(crawled: &Crawled, pages: usize) {
    let records = &crawled.records;
    let good: Vec<_> = records.iter().take(pages).collect();
    let all_good = good
        .iter()
        .all(|record| record.url.host() == "good.test" && record.outcome == OutcomeKind::Fetched);
    assert!(all_good && good.len() == pages, "{crawled:?}");
}

#[test]
fn silent_hosts_do_not_keep_a_good_one_waiting() {
    let crawled = crawl_beside(|| Site::new().door(Door::Silent));
    check_good_first(&crawled, PAGES + 1);
}

#[test]
fn dripping_hosts_do_not_keep_a_good_one_waiting() {
    let text = "x".repeat(10_000);
    let body = || Site::new().page("/", Page::html(text.clone()).drip(1, millis(100)));
    let head = || Site::new().page("/", Page::html(text.clone()).drip_head(1, millis(100)));
    for crawled in [crawl_beside(body), crawl_beside(head)] {
        check_good_first(&crawled, PAGES + 1);
        for number in 0..OTHERS {
            let place = format!("o{number}.test/");
            let requests = crawled.requested();
            let requests = requests.iter().filter(|other| **other == place).count();
            assert!(requests <= 2, "{place} was asked {requests} times");
        }
    }
}

#[test]
fn a_silent_root_does_not_hold_up_the_levels_of_another() {
    let chain = |page: usize| Page::html(links([format!("/{}", page + 1)]));
    let good = (1..4).fold(Site::new().page("/", chain(0)), |site, page| {
        site.page(&format!("/{page}"), chain(page))
    });
    let web = Web::new()
        .site("good.test", good.page("/4", Page::html("")))
        .site("silent.test", Site::new().door(Door::Silent))
        .start();
    let crawled = crawl(&web, &["silent.test/", "good.test/"], |config| {
        without_robots(config);
        config.scope.reach = Reach::Host;
        config.limits.depth = Some(4);
    });
    check_good_first(&crawled, 5);
    assert_eq!(crawled.record("good.test/4").depth, 4);
    assert_eq!(crawled.record("silent.test/").outcome, OutcomeKind::Failed);
}
