//! Endless sites: the bounds end them, and the real pages are not crowded out.

use clewline::Crawl;
use clewline_core::outcome::SkipReason;
use clewline_job::report::StoppedBy;
use terrarium::{Page, Request, Site, Web, links};

use crate::trial::{beside, config, crawl, run, run_at_most};

/// Pages of the real site in [`a_trap_does_not_crowd_out_the_real_pages`].
const SECTIONS: usize = 10;
const PAGES: usize = 10;

#[test]
fn paths_that_repeat_themselves_end() {
    let deeper = |request: &Request| {
        let path = request.path().trim_end_matches('/');
        Page::html(links([format!("{path}/a/"), format!("{path}/b/")])).into()
    };
    let relative = "<a href=www.x.test/>x</a><a href=about/>about</a>";
    let site = beside(["/deep/", "/explode/"])
        .under("/deep/", deeper)
        .under("/explode/", move |_| Page::html(relative).into());
    let web = Web::new().site("a.test", site).start();
    let verdict = crawl(&web, &web.url("a.test", "/"), |_| {});
    verdict.assert_good(&web, "a.test");
    assert!(verdict.report().tally.refused[&SkipReason::RepeatedSegments] > 0);
    let most = web
        .log()
        .iter()
        .map(|hit| hit.path().matches("/a/").count())
        .max();
    assert!(most <= Some(3), "{most:?}");
}

#[test]
fn budgets_end_what_is_endless() {
    let session = |request: &Request| {
        let number: u64 = request
            .query()
            .and_then(|query| query.get(3..)?.parse().ok())
            .unwrap_or(0);
        Page::html(links([
            format!("/session?id={}", number + 1),
            format!("/session?id={}", number * 2 + 7),
        ]))
        .into()
    };
    let calendar = || beside(["/calendar/1"]).calendar("/calendar");
    let web = Web::new()
        .site("calendar.test", calendar())
        .site(
            "session.test",
            beside(["/session?id=0"]).under("/session", session),
        )
        .start();
    let roots = [web.url("calendar.test", "/"), web.url("session.test", "/")];
    let mut per_host = config(&web, &roots);
    per_host.limits.pages_per_host = Some(60);
    let verdict = run_at_most(Crawl::from_config(per_host));
    let facts = &verdict.report().facts;
    assert!(
        matches!(&facts.stopped_by, StoppedBy::Budget(_)),
        "{}",
        facts.stopped_by
    );
    assert!(facts.todo > 0, "what was left is counted");
    for site in ["calendar.test", "session.test"] {
        verdict.assert_good(&web, site);
        let origin = web.url(site, "");
        let pages = verdict.of_origin(&origin);
        let pages = pages.filter(|record| record.status == Some(200));
        assert_eq!(pages.count(), 60, "{site}");
    }
}

#[test]
fn a_trap_does_not_crowd_out_the_real_pages() {
    let section = |number: usize| format!("/section/{number}");
    let page = |section: usize, number: usize| format!("/section/{section}/page/{number}");
    let front = ["/calendar/1".to_owned()]
        .into_iter()
        .chain((0..SECTIONS).map(section));
    let mut site = Site::new()
        .page("/", Page::html(links(front)))
        .calendar("/calendar");
    for number in 0..SECTIONS {
        let inner = ["/calendar/5".to_owned()]
            .into_iter()
            .chain((0..PAGES).map(|at| page(number, at)));
        site = site.page(&section(number), Page::html(links(inner)));
        site = (0..PAGES).fold(site, |site, at| {
            site.page(&page(number, at), Page::html("x"))
        });
    }
    let web = Web::new().site("a.test", site).start();
    let mut config = config(&web, &[web.url("a.test", "/")]);
    config.limits.pages = Some(400);
    let verdict = run_at_most(Crawl::from_config(config));
    let real = web
        .log()
        .iter()
        .filter(|hit| hit.path().starts_with("/section/"))
        .count();
    assert!(
        real * 100 >= (SECTIONS * PAGES + SECTIONS) * 95,
        "{real} real pages"
    );
    assert_eq!(verdict.report().tally.pages, 400);
}

/// Patterns cannot be made to take more than linear time.
#[test]
fn patterns_are_linear() {
    let long = format!("/{}b", "a".repeat(7_000));
    let web = Web::new().site("a.test", beside([long.as_str()])).start();
    let mut config = config(&web, &[web.url("a.test", "/")]);
    config.scope.exclude = vec!["(a+)+$".into(), "(a|aa)+$".into(), "^(.*a){50}c$".into()];
    let verdict = run(Crawl::from_config(config));
    verdict.assert_good(&web, "a.test");
    assert_eq!(verdict.outcome(&web.url("a.test", &long)), "fetched 404");
}

#[test]
fn patterns_too_large_are_refused_at_the_start() {
    let mut config = clewline_job::config::Config::default();
    config.scope.exclude = vec!["(?:a{1000}){1000}".into()];
    let started = Crawl::from_config(config).root("http://127.0.0.1/").run();
    assert!(started.is_err(), "a pattern that needs gigabytes");
}
