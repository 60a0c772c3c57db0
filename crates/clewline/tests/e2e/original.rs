//! Twins of the tests of the original crawler ("500 Lines or Less"): what it promised, this one
//! keeps. The names of the tests are those of its behaviours.

use std::collections::BTreeSet;

use clewline_core::link::LinkKind;
use clewline_core::outcome::{FailureClass, SkipReason};
use clewline_job::config::Reach;
use clewline_job::log::urls;
use clewline_job::record::OutcomeKind;
use serde_json::Value;
use terrarium::{Page, Reply, Site, Web, links, numbered_links};

use super::support::{crawl, millis};

fn of_pages(pages: &[(&str, &str)]) -> Site {
    Site::new().pages(pages.iter().copied())
}

#[test]
fn link() {
    let site = of_pages(&[
        ("/", "<a href='/a'>a</a><a href='/a#top'>a</a>"),
        ("/a", "end"),
    ]);
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    crawled.check_requested(&["a.test/", "a.test/a"]);
    let (root, page) = (crawled.record("a.test/"), crawled.record("a.test/a"));
    assert_eq!(
        (root.depth, root.kind, &root.found_on),
        (0, LinkKind::Root, &None)
    );
    assert_eq!((root.links, root.new_links), (1, 1));
    assert_eq!((page.depth, page.kind), (1, LinkKind::Anchor));
    assert_eq!(page.found_on.as_ref(), Some(&root.url));
    assert_eq!(
        (page.status, page.body_bytes, page.tries),
        (Some(200), 3, 1)
    );
}

#[test]
fn cycle() {
    let site = of_pages(&[
        ("/", "<a href=/a>a</a>"),
        ("/a", "<a href=/b>b</a><a href=/a>a</a>"),
        ("/b", "<a href=/a>a</a><a href=/>home</a>"),
    ]);
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    crawled.check_requested(&["a.test/", "a.test/a", "a.test/b"]);
    let last = crawled.record("a.test/b");
    assert_eq!((last.links, last.new_links), (2, 0));
}

#[test]
fn prohibited_host() {
    let web = Web::new()
        .site(
            "a.test",
            of_pages(&[
                ("/", "<a href={{b.test}}/>b</a><a href=/x>x</a>"),
                ("/x", ""),
            ]),
        )
        .site("b.test", of_pages(&[("/", "")]))
        .start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    crawled.check_requested(&["a.test/", "a.test/x"]);
    assert_eq!(web.connections_at(web.addr("b.test").ip()), 0);
    assert_eq!(crawled.refused(SkipReason::OutOfScope), 1);
    assert_eq!(crawled.record("a.test/").new_links, 1);
}

#[test]
fn strict_and_lenient() {
    let home =
        "<a href={{www.a.test}}/>1</a><a href={{sub.a.test}}/>2</a><a href={{aa.test}}/>3</a>";
    let check = |reach, expected: &[&str]| {
        let web = Web::new()
            .site("a.test", of_pages(&[("/", home)]))
            .site("www.a.test", of_pages(&[("/", "")]))
            .site("sub.a.test", of_pages(&[("/", "")]))
            .site("aa.test", of_pages(&[("/", "")]))
            .start();
        let crawled = crawl(&web, &["a.test/"], |config| config.scope.reach = reach);
        crawled.check_requested(expected);
    };
    check(Reach::Host, &["a.test/", "www.a.test/"]);
    check(Reach::Domain, &["a.test/", "sub.a.test/", "www.a.test/"]);
}

#[test]
fn exclude() {
    let site = of_pages(&[
        ("/", &links(["/keep", "/drop/1", "/keep.zip"])),
        ("/keep", "<a href=/drop/2>2</a>"),
    ]);
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |config| {
        config.scope.exclude = vec!["/drop/".into(), r"\.zip$".into()];
    });
    crawled.check_requested(&["a.test/", "a.test/keep"]);
    assert_eq!(crawled.refused(SkipReason::Excluded), 3);
}

#[test]
fn several_roots() {
    let web = Web::new()
        .site(
            "a.test",
            of_pages(&[("/", "<a href={{b.test}}/from-a>b</a>")]),
        )
        .site(
            "b.test",
            of_pages(&[("/", "<a href={{a.test}}/>a</a>"), ("/from-a", "")]),
        )
        .start();
    let crawled = crawl(&web, &["a.test/", "b.test/", "a.test/"], |_| {});
    crawled.check_requested(&["a.test/", "b.test/", "b.test/from-a"]);
    assert_eq!(crawled.record("b.test/").kind, LinkKind::Root);
    assert_eq!(crawled.report.tally.hosts.len(), 2);
}

#[test]
fn deep_root() {
    let site = of_pages(&[
        ("/", ""),
        ("/deep/down/page", "<a href=sibling>s</a><a href=/>home</a>"),
        ("/deep/down/sibling", ""),
    ]);
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/deep/down/page"], |_| {});
    crawled.check_requested(&[
        "a.test/",
        "a.test/deep/down/page",
        "a.test/deep/down/sibling",
    ]);
}

#[test]
fn redirect() {
    for status in [301, 302, 303, 307, 308] {
        let site = Site::new()
            .page("/", Page::redirect(status, "/new"))
            .page("/new", Page::html("<a href=/more>more</a>"))
            .page("/more", Page::html(""));
        let web = Web::new().site("a.test", site).start();
        let crawled = crawl(&web, &["a.test/"], |_| {});
        crawled.check_requested(&["a.test/", "a.test/more", "a.test/new"]);
        let hop = crawled.record("a.test/");
        assert_eq!(
            (hop.outcome, hop.status),
            (OutcomeKind::Redirected, Some(status))
        );
        let target = crawled.record("a.test/new");
        assert_eq!(hop.redirect_to.as_deref(), Some(target.url.as_str()));
        assert_eq!((target.kind, target.depth), (LinkKind::Redirect, 0));
        assert_eq!(crawled.record("a.test/more").depth, 1);
    }
}

#[test]
fn redirect_limit() {
    let check = |allowed, expected: &[&str]| {
        let site = Site::new()
            .page("/", Page::html("<a href=/r/3>r</a>"))
            .page("/end", Page::html(""))
            .chain("/r", 3, "/end");
        let web = Web::new().site("a.test", site).start();
        let crawled = crawl(&web, &["a.test/"], |config| {
            config.limits.redirects = allowed;
        });
        crawled.check_requested(expected);
        crawled
    };
    check(
        3,
        &[
            "a.test/",
            "a.test/r/3",
            "a.test/r/2",
            "a.test/r/1",
            "a.test/end",
        ],
    );
    let cut = check(1, &["a.test/", "a.test/r/3", "a.test/r/2"]);
    let last = cut.record("a.test/r/2");
    assert_eq!(last.outcome, OutcomeKind::Redirected);
    assert_eq!(
        last.error.as_deref(),
        Some(SkipReason::RedirectLimit.about())
    );
    assert_eq!(cut.refused(SkipReason::RedirectLimit), 1);
}

#[test]
fn redirect_cycle() {
    let site = Site::new()
        .page(
            "/",
            Page::html("<a href=/l/1>loop</a><a href=/self>self</a>"),
        )
        .page("/self", Page::redirect(302, "/self"))
        .redirect_loop("/l", 3);
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    crawled.check_requested(&[
        "a.test/",
        "a.test/l/1",
        "a.test/l/2",
        "a.test/l/3",
        "a.test/self",
    ]);
    let outcomes = crawled.report.tally.outcomes;
    assert_eq!((outcomes.redirected, outcomes.failed), (2, 2));
}

#[test]
fn redirect_join() {
    let site = Site::new()
        .page("/", Page::html(links(["/x", "/y", "/z"])))
        .page("/x", Page::redirect(301, "/target"))
        .page("/y", Page::redirect(302, "/target"))
        .page("/z", Page::redirect(307, "target"))
        .page("/target", Page::html("").delay(millis(20)));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    crawled.check_requested(&[
        "a.test/",
        "a.test/target",
        "a.test/x",
        "a.test/y",
        "a.test/z",
    ]);
    let target = crawled.record("a.test/target").url.to_string();
    for place in ["a.test/x", "a.test/y", "a.test/z"] {
        assert_eq!(crawled.record(place).redirect_to.as_ref(), Some(&target));
    }
}

#[test]
fn max_tasks_at_the_server() {
    let site = Site::new()
        .page("/", Page::html(numbered_links("/p/", 30)))
        .under("/p/", |_| Page::html("").delay(millis(30)).into());
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |config| config.limits.concurrency = 5);
    assert_eq!(crawled.log.greatest_concurrency("a.test"), 5);
    let facts = &crawled.report.facts;
    assert_eq!((facts.concurrency, facts.peak_in_flight), (5, 5));
    assert_eq!(crawled.report.tally.pages, 31);
}

#[test]
fn max_tries() {
    // The answer ends in the middle: an error of the network that another try may heal.
    let broken = || Reply::from(Page::html("half of it").close_after(4));
    let flaky = Reply::sequence([broken(), broken(), Page::html("whole").into()]);
    let web = Web::new()
        .site("a.test", Site::new().page("/flaky", flaky))
        .site("b.test", Site::new().page("/dead", broken()))
        .start();
    let crawled = crawl(&web, &["a.test/flaky", "b.test/dead"], |config| {
        config.limits.tries = 3;
    });
    assert_eq!((crawled.count("/flaky"), crawled.count("/dead")), (3, 3));
    let flaky = crawled.record("a.test/flaky");
    assert_eq!((flaky.outcome, flaky.tries), (OutcomeKind::Fetched, 3));
    assert_eq!(flaky.body_bytes, 5);
    let dead = crawled.check_failed("b.test/dead", FailureClass::Incomplete);
    assert_eq!((dead.tries, dead.links), (3, 0));
    assert!(dead.error.is_some());
}

#[test]
fn charset() {
    let cyrillic = b"<title>\xcf\xf0\xe8\xe2\xe5\xf2</title><a href='/?q=\xff'>x</a>";
    let declared = b"<meta charset=iso-8859-15><title>\xa4</title>";
    let site = Site::new()
        .page("/", Page::charset("windows-1251", cyrillic))
        .page("/?q=%FF", Page::html(links(["/meta", "/silent", "/latin"])))
        .page("/meta", Page::bytes("text/html", declared))
        .page(
            "/silent",
            Page::bytes("text/html", "<title>caf\u{e9} \u{2013} na\u{ef}ve</title>"),
        )
        .page("/latin", Page::charset("latin1", b"<title>\xe9</title>"));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    for (place, charset, title) in [
        (
            "a.test/",
            "windows-1251",
            "\u{41f}\u{440}\u{438}\u{432}\u{435}\u{442}",
        ),
        ("a.test/meta", "ISO-8859-15", "\u{20ac}"),
        ("a.test/silent", "UTF-8", "caf\u{e9} \u{2013} na\u{ef}ve"),
        ("a.test/latin", "windows-1252", "\u{e9}"),
    ] {
        let record = crawled.record(place);
        assert_eq!(record.charset.as_deref(), Some(charset), "{place}");
        assert_eq!(record.title.as_deref(), Some(title), "{place}");
    }
    // The query of a link is encoded as the page is (URL section 5.1).
    assert_eq!(crawled.count("/?q=%FF"), 1);
}

#[test]
fn content_type() {
    let link = "<a href=/hidden>x</a>";
    let site = Site::new()
        .page(
            "/",
            Page::html(links(["/plain", "/xhtml", "/none", "/odd"])),
        )
        .page("/plain", Page::text(link))
        .page("/xhtml", Page::bytes("Application/XHTML+XML", "<html/>"))
        .page("/none", Page::bare("<html><title>sniffed</title></html>"))
        .page(
            "/odd",
            Page::bytes("TEXT/HTML;charset=utf-8; x=y", "<title>odd</title>"),
        );
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    assert_eq!(crawled.count("/hidden"), 0);
    let content_type = |place| crawled.record(place).content_type.as_deref();
    assert_eq!(content_type("a.test/plain"), Some("text/plain"));
    assert_eq!(content_type("a.test/xhtml"), Some("application/xhtml+xml"));
    assert_eq!(content_type("a.test/none"), None);
    assert_eq!(content_type("a.test/odd"), Some("text/html"));
    assert_eq!(
        crawled.record("a.test/none").title.as_deref(),
        Some("sniffed")
    );
    assert_eq!(crawled.record("a.test/odd").title.as_deref(), Some("odd"));
}

#[test]
fn xml_links() {
    let site = Site::new()
        .page(
            "/",
            Page::xml("<list><item href='/a'/><item href='/b'>text</item></list>"),
        )
        .page("/a", Page::html(""))
        .page("/b", Page::html(""));
    let web = Web::new().site("a.test", site).start();
    crawl(&web, &["a.test/"], |_| {}).check_requested(&["a.test/", "a.test/a", "a.test/b"]);
}

#[test]
fn non_html() {
    let site = Site::new()
        .page("/", Page::html("<a href=/x.bin>x</a>"))
        .page(
            "/x.bin",
            Page::bytes("application/octet-stream", "<a href=/never>n</a>"),
        );
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    crawled.check_requested(&["a.test/", "a.test/x.bin"]);
    let record = crawled.record("a.test/x.bin");
    assert_eq!(
        (record.links, record.body_bytes, &record.charset),
        (0, 20, &None)
    );
    assert_eq!(crawled.report.tally.other.count, 1);
}

#[test]
fn non_http_schemes() {
    let targets = [
        "mailto:a@a.test",
        "javascript:alert(1)",
        "ftp://a.test/",
        "data:text/html,x",
        "file:///etc/passwd",
        "tel:1",
        "http://",
        "/ok",
    ];
    let site = Site::new()
        .page("/", Page::html(links(targets)))
        .page("/ok", Page::redirect(302, "ftp://a.test/file"));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    crawled.check_requested(&["a.test/", "a.test/ok"]);
    assert_eq!(crawled.record("a.test/").links, 1);
    let hop = crawled.record("a.test/ok");
    assert_eq!(hop.redirect_to.as_deref(), Some("ftp://a.test/file"));
    assert!(hop.error.is_some());
}

#[test]
fn nine_statistics() {
    let site = Site::new()
        .page("/home", Page::html(links(["/moved", "/broken", "/pic"])))
        .page("/moved", Page::redirect(301, "/pic"))
        .page("/broken", Page::html("half").close_after(1))
        .page("/pic", Page::bytes("image/png", "12345"));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/home"], |config| config.limits.tries = 1);
    let text = std::fs::read_to_string(crawled.folder().join(urls::FILE)).unwrap();
    let line = |path: &str| {
        let mut lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let is_it = |line: &Value| line["url"].as_str().is_some_and(|url| url.ends_with(path));
        lines.find(is_it).unwrap()
    };
    let root = line("/home");
    let keys: BTreeSet<&str> = root
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    for key in [
        "url",
        "status",
        "body_bytes",
        "content_type",
        "charset",
        "links",
        "new_links",
    ] {
        assert!(keys.contains(key), "{key} is not in {root}");
    }
    assert_eq!(
        (root["links"].as_u64(), root["new_links"].as_u64()),
        (Some(3), Some(3))
    );
    assert_eq!(root["charset"], "UTF-8");
    assert_eq!(line("/moved")["redirect_to"], line("/pic")["url"]);
    assert_eq!(line("/broken")["failure"], "incomplete");
    assert!(line("/broken")["error"].is_string());
    assert_eq!(line("/pic")["body_bytes"], 5);
}
