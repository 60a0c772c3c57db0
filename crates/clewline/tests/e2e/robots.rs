//! robots.txt: what is disallowed is never requested, and what cannot be read is not guessed.

use clewline_core::frontier::Note;
use clewline_core::outcome::{FailureClass, SkipReason};
use clewline_job::config::{HostOverride, Reach};
use clewline_job::record::OutcomeKind;
use terrarium::{LiveWeb, Page, Reply, Site, Web, links};

use super::support::{Crawled, check_gaps, crawl, millis};

/// A site whose root links to these paths, all of which answer.
fn site(paths: &[&str]) -> Site {
    Site::new()
        .page("/", Page::html(links(paths)))
        .page("/robots.txt", Page::empty(404))
        .page("/sitemap.xml", Page::empty(404))
        .under("/", |_| Page::html("").into())
}

fn web(site: Site) -> LiveWeb {
    Web::new().site("a.test", site).start()
}

#[test]
fn denied_is_never_requested_and_recorded_with_the_line() {
    let rules = "# keep out\nUser-agent: *\nDisallow: /private/\nAllow: /private/open\n";
    let pages = site(&["/private/x", "/private/open", "/moved", "/free"])
        .robots(rules)
        .page("/moved", Page::redirect(302, "/private/target"));
    let crawled = crawl(&web(pages), &["a.test/"], |_| {});
    crawled.check_requested(&[
        "a.test/",
        "a.test/free",
        "a.test/moved",
        "a.test/private/open",
    ]);
    for place in ["a.test/private/x", "a.test/private/target"] {
        let record = crawled.check_skipped(place, SkipReason::Robots);
        assert_eq!(
            record.error.as_deref(),
            Some("robots.txt line 3: Disallow: /private/")
        );
        assert_eq!((record.tries, record.status), (0, None));
    }
    assert_eq!(crawled.count("/robots.txt"), 1);
    assert_eq!(crawled.log[0].target, "/robots.txt");
}

#[test]
fn a_root_that_is_denied_is_not_fetched_either() {
    let denied = site(&[]).robots("User-agent: *\nDisallow: /\n");
    let crawled = crawl(&web(denied), &["a.test/"], |_| {});
    crawled.check_requested(&[]);
    crawled.check_skipped("a.test/", SkipReason::Robots);
    assert_eq!(crawled.failed_roots.len(), 1);
    assert!(
        crawled.failed_roots[0].1.contains("line 2"),
        "{:?}",
        crawled.failed_roots
    );
}

#[test]
fn the_group_of_this_agent_counts() {
    let rules = "User-agent: *\nDisallow: /\n\nUser-agent: other\nUser-agent: Clewline/1.0\n\
        Disallow: /mine\n";
    let pages = || web(site(&["/mine", "/free"]).robots(rules));
    crawl(&pages(), &["a.test/"], |_| {}).check_requested(&["a.test/", "a.test/free"]);
    let named = crawl(&pages(), &["a.test/"], |config| {
        config.fetch.user_agent = Some("Other/2.0 (+https://operator.test)".into());
    });
    named.check_requested(&["a.test/", "a.test/free"]);
    assert_eq!(
        named.log[0].header("user-agent"),
        Some("Other/2.0 (+https://operator.test)")
    );
    let stranger = crawl(&pages(), &["a.test/"], |config| {
        config.fetch.user_agent = Some("stranger".into());
    });
    stranger.check_requested(&[]);
}

#[test]
fn client_errors_mean_that_all_is_allowed() {
    for status in [400, 401, 403, 404, 410] {
        let pages = site(&["/x"]).page(
            "/robots.txt",
            Page::text("User-agent: *\nDisallow: /").status(status),
        );
        crawl(&web(pages), &["a.test/"], |_| {}).check_requested(&["a.test/", "a.test/x"]);
    }
}

#[test]
fn a_server_error_is_tried_three_times_and_then_nothing_is_fetched() {
    let pages = site(&["/x"]).page("/robots.txt", Page::empty(500));
    let crawled = crawl(&web(pages), &["a.test/", "a.test/second"], |_| {});
    crawled.check_requested(&[]);
    assert_eq!(crawled.count("/robots.txt"), 3);
    for place in ["a.test/", "a.test/second"] {
        let record = crawled.check_skipped(place, SkipReason::RobotsUnreachable);
        assert_eq!(record.tries, 0);
    }
    assert_eq!(crawled.failed_roots.len(), 2);
    let parked = |note: &&Note| matches!(note, Note::Parked { .. });
    assert!(
        crawled.notes.iter().any(|note| parked(&note)),
        "{:?}",
        crawled.notes
    );
}

#[test]
fn a_server_error_that_passes_delays_only() {
    let rules = Page::text("User-agent: *\nDisallow: /no\n");
    let pages = site(&["/no", "/yes"]).page(
        "/robots.txt",
        Reply::sequence([
            Page::empty(500).into(),
            Page::html("half").close_after(1).into(),
            rules.into(),
        ]),
    );
    let crawled = crawl(&web(pages), &["a.test/"], |_| {});
    crawled.check_requested(&["a.test/", "a.test/yes"]);
    assert_eq!(crawled.count("/robots.txt"), 3);
}

#[test]
fn redirects_are_followed_to_another_host_for_five_hops() {
    // The other host's own robots.txt has no say in this: the hops are part of reading ours.
    let others = || {
        Site::new()
            .robots("User-agent: *\nDisallow: /")
            .chain("/r", 9, "/rules")
            .page("/rules", Page::text("User-agent: *\nDisallow: /no\n"))
    };
    let check = |location: &str, expected: &[&str]| {
        let pages = site(&["/no"]).page("/robots.txt", Page::redirect(301, location));
        let web = Web::new()
            .site("a.test", pages)
            .site("b.test", others())
            .start();
        let crawled = crawl(&web, &["a.test/"], |_| {});
        crawled.check_requested(expected);
        assert_eq!(crawled.count("/robots.txt"), 1);
    };
    let hops = ["b.test/r/4", "b.test/r/3", "b.test/r/2", "b.test/r/1"];
    check(
        "{{b.test}}/r/4",
        &[&["a.test/", "b.test/rules"], &hops[..]].concat(),
    );
    check(
        "{{b.test}}/r/5",
        &[&["a.test/", "a.test/no", "b.test/r/5"], &hops[..]].concat(),
    );
}

#[test]
fn a_redirect_to_a_host_that_is_not_there_is_not_taken_for_leave() {
    let pages = site(&[]).page(
        "/robots.txt",
        Page::redirect(302, "http://nowhere.test/robots.txt"),
    );
    let web = web(pages);
    let crawled = crawl(&web, &["a.test/"], |config| {
        config.fetch.dns = Some(web.dns_addr());
    });
    crawled.check_requested(&[]);
    crawled.check_skipped("a.test/", SkipReason::RobotsUnreachable);
    assert_eq!(crawled.count("/robots.txt"), 3);
}

#[test]
fn a_redirect_to_a_host_that_was_given_up_ends_too() {
    let late = site(&["http://nowhere.test/"]);
    let web = Web::new()
        .site("a.test", late)
        .site(
            "b.test",
            site(&[]).page(
                "/robots.txt",
                Page::redirect(302, "http://nowhere.test/robots.txt").delay(millis(150)),
            ),
        )
        .start();
    let crawled = crawl(&web, &["a.test/", "b.test/"], |config| {
        config.fetch.dns = Some(web.dns_addr());
        config.scope.reach = Reach::Any;
        config.fetch.contact = Some("https://operator.test/".into());
    });
    crawled.check_failed("nowhere.test/", FailureClass::DnsNotFound);
    crawled.check_skipped("b.test/", SkipReason::RobotsUnreachable);
}

#[test]
fn each_origin_has_its_own() {
    let plain = site(&["/no", "/yes", "{{https a.test}}/no", "{{https a.test}}/yes"])
        .robots("User-agent: *\nDisallow: /no\n");
    let secure = site(&[]).robots("User-agent: *\nDisallow: /yes\n").tls();
    let web = Web::new()
        .site("a.test", plain)
        .site("a.test", secure)
        .start();
    let crawled = crawl(&web, &["a.test/"], |config| config.fetch.insecure = true);
    crawled.check_requested(&["a.test/", "a.test/no", "a.test/yes"]);
    assert_eq!(crawled.count("/robots.txt"), 2);
    let skipped = |url: String| {
        let record = crawled
            .records
            .iter()
            .find(|record| record.url.as_str() == url)
            .unwrap();
        record.reason
    };
    assert_eq!(skipped(web.url("a.test", "/no")), Some(SkipReason::Robots));
    assert_eq!(
        skipped(web.tls_url("a.test", "/yes")),
        Some(SkipReason::Robots)
    );
    assert_eq!(skipped(web.tls_url("a.test", "/no")), None);
}

#[test]
fn crawl_delay_is_obeyed_one_at_a_time() {
    let slow = |ignore: bool| {
        let pages = site(&["/x", "/y"]).robots("User-agent: *\nCrawl-delay: 0.3\n");
        crawl(&web(pages.delay(millis(20))), &["a.test/"], |config| {
            config.scope.sitemaps = false;
            config.politeness.ignore_crawl_delay = ignore;
        })
    };
    let crawled = check_gaps(&[("a.test", millis(300))], || slow(false));
    assert_eq!(crawled.log.greatest_concurrency("a.test"), 1);
    crawled.check_requested(&["a.test/", "a.test/x", "a.test/y"]);
    let gap = slow(true).log.smallest_gap("a.test").unwrap();
    assert!(gap < millis(200), "{gap:?}");
}

#[test]
fn a_crawl_delay_beyond_reason_refuses_the_host() {
    let pages = site(&[]).robots("User-agent: *\nCrawl-delay: 301\n");
    let crawled = crawl(&web(pages), &["a.test/"], |_| {});
    crawled.check_requested(&[]);
    let record = crawled.check_skipped("a.test/", SkipReason::CrawlDelay);
    assert!(
        record
            .error
            .as_ref()
            .is_some_and(|error| error.contains("301"))
    );
}

#[test]
fn ignoring_robots_is_said_in_the_report() {
    let pages = || web(site(&["/no"]).robots("User-agent: *\nDisallow: /no\n"));
    let crawled = crawl(&pages(), &["a.test/"], |config| config.scope.robots = false);
    crawled.check_requested(&["a.test/", "a.test/no"]);
    assert_eq!(crawled.count("/robots.txt"), 0);
    let said = |crawled: &Crawled| {
        crawled
            .report
            .facts
            .notes
            .iter()
            .any(|note| note.contains("robots.txt"))
    };
    assert!(said(&crawled));
    let html = std::fs::read_to_string(crawled.folder().join("report.html")).unwrap();
    assert!(html.contains("robots.txt was ignored"));
    assert!(!said(&crawl(&pages(), &["a.test/"], |_| {})));
}

#[test]
fn ignoring_the_robots_of_one_host_leaves_the_others() {
    let rules = "User-agent: *\nDisallow: /no\n";
    let web = Web::new()
        .site("a.test", site(&["/no"]).robots(rules))
        .site("b.test", site(&["/no"]).robots(rules))
        .start();
    let crawled = crawl(&web, &["a.test/", "b.test/"], |config| {
        config.politeness.hosts = vec![HostOverride {
            host: "b.test".into(),
            ignore_robots: Some(true),
            ..HostOverride::default()
        }];
    });
    crawled.check_requested(&["a.test/", "b.test/", "b.test/no"]);
    assert_eq!(crawled.record("b.test/no").outcome, OutcomeKind::Fetched);
}

#[test]
fn rules_are_written_as_people_write() {
    let rules = "User-agent: *\nDisallow: /my folder/\nDisallow: /*{id}\nDisallow: /q?a=<b>\n";
    let pages = site(&["/my%20folder/x", "/t/{id}", "/q?a=%3Cb%3E", "/my"]).robots(rules);
    let crawled = crawl(&web(pages), &["a.test/"], |_| {});
    crawled.check_requested(&["a.test/", "a.test/my"]);
    crawled.check_skipped("a.test/my%20folder/x", SkipReason::Robots);
}

/// The rules for all stand behind those for hundreds of others.
#[test]
fn a_long_file_is_read_to_its_end() {
    let others = "User-agent: other\nDisallow: /a/long/path/that/is/not/for/us\n".repeat(20_000);
    let rules = format!("{others}User-agent: *\nDisallow: /private\n");
    assert!(rules.len() > 1 << 20);
    let pages = site(&["/private/x", "/free"]).robots(&rules);
    let crawled = crawl(&web(pages), &["a.test/"], |_| {});
    crawled.check_requested(&["a.test/", "a.test/free"]);
}

#[test]
fn a_part_of_the_file_is_not_the_file() {
    let part = Page::text("User-agent: other\nDisallow: /\n").status(206);
    let pages = site(&["/x"]).page("/robots.txt", part);
    let crawled = crawl(&web(pages), &["a.test/"], |_| {});
    crawled.check_requested(&[]);
    let root = crawled.check_skipped("a.test/", SkipReason::RobotsUnreachable);
    assert_eq!(root.tries, 0);
}
