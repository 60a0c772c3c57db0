//! Politeness, as the server sees it: gaps, rates and how much at once.

use std::time::{Duration, Instant};

use clewline_core::address::Nearness;
use clewline_core::frontier::Note;
use clewline_core::outcome::SkipReason;
use clewline_job::config::{HostOverride, Reach, Speed};
use clewline_job::record::OutcomeKind;
use clewline_job::report::StoppedBy;
use terrarium::{LiveWeb, Log, Page, Reply, Site, Web, links, numbered_links};

use super::support::{Crawled, check_gaps, crawl, millis};

/// A site with so many pages behind its root, without a sitemap.
fn site(pages: usize) -> Site {
    Site::new()
        .page("/", Page::html(numbered_links("/p/", pages)))
        .under("/p/", |_| Page::html("").into())
}

/// The most requests in progress at once, whatever the host.
fn greatest_overlap(log: &Log) -> usize {
    let mut changes: Vec<(Instant, i32)> = Vec::new();
    for hit in log {
        changes.push((hit.at, 1));
        changes.push((hit.done_at.unwrap(), -1));
    }
    changes.sort_unstable();
    let depths = changes.iter().scan(0, |depth, (_, change)| {
        *depth += change;
        Some(*depth)
    });
    usize::try_from(depths.max().unwrap_or(0)).unwrap()
}

#[test]
fn a_delay_is_kept_from_start_to_start_and_one_at_a_time() {
    let crawled = check_gaps(&[("a.test", millis(400))], || {
        let web = Web::new()
            .site("a.test", site(4).delay(millis(300)))
            .start();
        crawl(&web, &["a.test/"], |config| {
            config.politeness.speed = None;
            config.politeness.delay = Some(millis(400));
        })
    });
    assert_eq!(crawled.log.greatest_concurrency("a.test"), 1);
    assert_eq!(crawled.requested().len(), 5);
}

#[test]
fn a_request_instead_of_a_lost_one_keeps_the_delay_too() {
    let crawled = check_gaps(&[("a.test", millis(100))], || {
        let lost = Reply::sequence([Reply::reset(), Page::html("").into()]);
        let web = Web::new()
            .site("a.test", site(1).page("/p/0", lost))
            .start();
        crawl(&web, &["a.test/"], |config| {
            config.scope.sitemaps = false;
            config.politeness.speed = None;
            config.politeness.delay = Some(millis(100));
        })
    });
    let record = crawled.record("a.test/p/0");
    assert_eq!((record.status, record.tries), (Some(200), 1));
    assert_eq!(crawled.log.count("/p/0"), 2);
}

#[test]
fn named_speeds_count_on_loopback_too() {
    let speeds = [
        ("gentle.test", Speed::Gentle),
        ("polite.test", Speed::Polite),
    ];
    let expected = [
        ("gentle.test", Duration::from_secs(1)),
        ("polite.test", millis(500)),
    ];
    check_gaps(&expected, || {
        let web = speeds
            .iter()
            .fold(Web::new(), |web, (name, _)| web.site(name, site(0)))
            .start();
        crawl(&web, &["gentle.test/", "polite.test/"], |config| {
            config.scope.sitemaps = false;
            config.politeness.hosts = speeds
                .iter()
                .map(|(host, speed)| HostOverride {
                    host: (*host).into(),
                    speed: Some(*speed),
                    ..HostOverride::default()
                })
                .collect();
        })
    });
}

#[test]
fn without_a_name_only_the_roots_own_machine_is_asked_at_full_speed() {
    let home = numbered_links("/p/", 20) + &links(["{{b.test}}/1", "{{b.test}}/2"]);
    let web = Web::new()
        .site(
            "a.test",
            site(0).page("/", Page::html(home)).delay(millis(50)),
        )
        .site("b.test", Site::new().under("/", |_| Page::html("").into()))
        .start();
    let crawled = crawl(&web, &["a.test/"], |config| {
        config.politeness.speed = None;
        config.scope.reach = Reach::Any;
        config.fetch.contact = Some("https://operator.test/".into());
    });
    assert!(crawled.log.greatest_concurrency("a.test") > 4);
    let near = Note::Near {
        host: "a.test".into(),
        nearness: Nearness::Loopback,
    };
    assert!(crawled.notes.contains(&near), "{:?}", crawled.notes);
    // Another host is a stranger wherever it lies: two requests a second to begin with.
    assert_eq!(crawled.log.of("b.test").len(), 3);
    let gap = crawled.log.smallest_gap("b.test").unwrap();
    assert!(gap > millis(450), "{gap:?}");
}

#[test]
fn a_rate_bounds_the_requests_of_any_span() {
    let web = Web::new()
        .site("a.test", site(20).delay(millis(120)))
        .start();
    let crawled = crawl(&web, &["a.test/"], |config| {
        config.politeness.speed = Some(Speed::Fast);
        config.politeness.rate = Some(25.0);
    });
    // Twelve and a half in half a second, and one for the fence.
    let most = crawled.log.greatest_rate(millis(500));
    assert!((6..=14).contains(&most), "{most} requests in half a second");
    assert!(
        crawled.log.greatest_concurrency("a.test") > 1,
        "a rate is no delay"
    );
}

#[test]
fn in_flight_per_host() {
    let web = Web::new()
        .site("a.test", site(12).delay(millis(30)))
        .site("b.test", site(12).delay(millis(30)))
        .start();
    let crawled = crawl(&web, &["a.test/", "b.test/"], |config| {
        config.politeness.host_concurrency = Some(3);
    });
    for host in ["a.test", "b.test"] {
        assert_eq!(crawled.log.greatest_concurrency(host), 3, "{host}");
    }
    assert!(
        greatest_overlap(&crawled.log) > 3,
        "hosts do not wait for each other"
    );
}

/// As many hosts as need more than the eight requests in flight that a group may have.
const MANY: usize = 12;

/// Crawls one slow page of each host at once.
fn crawl_many(
    web: &LiveWeb,
    names: &[String],
    change: impl FnOnce(&mut clewline_job::config::Config),
) -> Crawled {
    let roots: Vec<String> = names.iter().map(|name| format!("{name}/")).collect();
    let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
    crawl(web, &roots, |config| {
        config.politeness.speed = Some(Speed::Polite);
        config.politeness.rate = Some(40.0);
        config.scope.sitemaps = false;
        change(config);
    })
}

fn slow_site() -> Site {
    Site::new().page("/", Page::html("").delay(millis(400)))
}

#[test]
fn names_of_one_address_share_its_limit() {
    let names: Vec<String> = (0..MANY)
        .map(|number| format!("h{number}.example{number}.test"))
        .collect();
    let web = || {
        let site = || slow_site().at("127.0.0.9");
        names
            .iter()
            .fold(Web::new(), |web, name| web.site(name, site()))
            .start()
    };
    let address = "127.0.0.9".parse().unwrap();
    let crawled = crawl_many(&web(), &names, |_| {});
    assert_eq!(crawled.log.greatest_concurrency_at(address), 8);
    assert_eq!(crawled.requested().len(), MANY);
    // Forty a second are for the address, not for each of its names.
    let asked = crawled.log.iter().filter(|hit| hit.target == "/robots.txt");
    let times: Vec<Instant> = asked.map(|hit| hit.at).collect();
    let span = times[MANY - 1] - times[0];
    assert!(
        span > millis(200),
        "{MANY} hosts were asked within {span:?}"
    );
    let crawled = crawl_many(&web(), &names, |config| {
        config.politeness.shared_addresses = vec!["127.0.0.0/24".parse().unwrap()];
    });
    assert!(
        crawled.log.greatest_concurrency_at(address) > 8,
        "a shared address has no limit"
    );
}

#[test]
fn hosts_of_one_domain_share_its_limit() {
    let names: Vec<String> = (0..MANY)
        .map(|number| format!("h{number}.example.test"))
        .collect();
    let web = names
        .iter()
        .fold(Web::new(), |web, name| web.site(name, slow_site()))
        .start();
    let crawled = crawl_many(&web, &names, |_| {});
    assert_eq!(greatest_overlap(&crawled.log), 8);
    assert_eq!(crawled.requested().len(), MANY);
}

#[test]
fn retry_after_is_obeyed_by_the_whole_host() {
    let web = Web::new()
        .site(
            "a.test",
            site(0).page(
                "/",
                Reply::sequence([
                    Page::retry_after(503, "1").into(),
                    Page::html("<a href=/p/1>1</a>").into(),
                ]),
            ),
        )
        .site("b.test", site(3))
        .start();
    let crawled = crawl(&web, &["a.test/", "a.test/p/2", "b.test/"], |config| {
        config.limits.concurrency = 1;
        config.scope.sitemaps = false;
    });
    let log = crawled.log.of("a.test");
    let refusal = log.iter().find(|hit| hit.status == Some(503)).unwrap();
    let later = log.iter().filter(|hit| hit.at > refusal.at);
    let waited = later.clone().map(|hit| hit.at - refusal.at).min().unwrap();
    assert!(waited >= millis(990), "{waited:?}");
    assert_eq!(later.count(), 3);
    let record = crawled.record("a.test/");
    assert_eq!((record.status, record.tries), (Some(200), 2));
    assert_eq!(
        crawled.log.of("b.test").len(),
        5,
        "robots.txt and four pages"
    );
}

#[test]
fn a_retry_after_beyond_reason_ends_its_page_and_another_is_tried() {
    let refused = Page::retry_after(429, "7200");
    let web = Web::new()
        .site("a.test", site(0).page("/p/1", refused))
        .start();
    let crawled = crawl(&web, &["a.test/p/1", "a.test/p/2"], |config| {
        config.limits.concurrency = 1;
        config.politeness.max_retry_after = Some(millis(300));
        config.scope.sitemaps = false;
    });
    let left = crawled.check_skipped("a.test/p/1", SkipReason::RetryAfter);
    assert!(
        left.error
            .as_ref()
            .is_some_and(|error| error.contains("7200")),
        "{left:?}"
    );
    let other = crawled.record("a.test/p/2");
    assert_eq!(
        (other.outcome, other.status),
        (OutcomeKind::Fetched, Some(200))
    );
    let log = crawled.log.of("a.test");
    let at = |path: &str| log.iter().find(|hit| hit.target == path).unwrap().at;
    let waited = at("/p/2") - at("/p/1");
    assert!(waited >= millis(290), "{waited:?}");
    assert_eq!(log.count("/p/1"), 1);
}

#[test]
fn a_date_to_come_back_counts_from_the_answers_own_date() {
    // A clock that is a day behind: by ours, the date is long past.
    let refused = Page::retry_after(503, "Sat, 14 Nov 2026 10:00:01 GMT")
        .header("Date", "Sat, 14 Nov 2026 10:00:00 GMT");
    let answers = [refused.into(), Page::html("<a href=/p/1>1</a>").into()];
    let web = Web::new()
        .site("a.test", site(0).page("/", Reply::sequence(answers)))
        .start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    let log = crawled.log.of("a.test");
    let asked: Vec<_> = log.iter().filter(|hit| hit.target == "/").collect();
    let waited = asked[1].at - asked[0].at;
    assert!(waited >= millis(990), "{waited:?}");
}

#[test]
fn too_many_requests_park_the_host() {
    let web = Web::new()
        .site("a.test", site(0).page("/p/1", Page::empty(429)))
        .site("b.test", site(5))
        .start();
    let crawled = crawl(&web, &["a.test/p/1", "a.test/p/2", "b.test/"], |config| {
        config.limits.time = Some(millis(300));
        config.limits.concurrency = 1;
    });
    assert_eq!(
        crawled.report.facts.stopped_by,
        StoppedBy::Budget("--max-time".into())
    );
    let log = crawled.log.of("a.test");
    assert_eq!(
        log.last().unwrap().status,
        Some(429),
        "{:?}",
        log.paths("a.test")
    );
    assert_eq!(crawled.report.facts.todo, 2);
    let parked = |note: &Note| match note {
        Note::Parked { host, until, .. } => &**host == "a.test" && *until >= Duration::from_secs(2),
        _ => false,
    };
    assert!(crawled.notes.iter().any(parked), "{:?}", crawled.notes);
    assert_eq!(
        crawled
            .log
            .of("b.test")
            .iter()
            .filter(|hit| hit.status == Some(200))
            .count(),
        6
    );
}

#[test]
fn overrides_by_host() {
    let web = Web::new()
        .site("a.test", site(6).delay(millis(60)))
        .site("x.b.test", site(6).delay(millis(60)))
        .start();
    let crawled = crawl(&web, &["a.test/", "x.b.test/"], |config| {
        config.politeness.hosts = vec![HostOverride {
            host: "*.b.test".into(),
            host_concurrency: Some(2),
            max_pages: Some(4),
            ..HostOverride::default()
        }];
        config.scope.sitemaps = false;
    });
    assert_eq!(crawled.log.greatest_concurrency("x.b.test"), 2);
    assert!(crawled.log.greatest_concurrency("a.test") > 2);
    let asked = crawled.log.of("x.b.test").len();
    assert_eq!(asked, 5, "robots.txt and four pages");
    assert_eq!(crawled.log.of("a.test").len(), 8);
}
