//! Redirects, hop by hop, and the cookies that are handed out on the way.

use clewline_core::link::LinkKind;
use clewline_job::record::OutcomeKind;
use terrarium::{Log, Page, Reply, Site, Web, links};

use super::support::crawl;

/// The Cookie header of each request for a path.
fn cookies<'a>(log: &'a Log, path: &str) -> Vec<Option<&'a str>> {
    let hits = log.iter().filter(|hit| hit.target == path);
    hits.map(|hit| hit.header("cookie")).collect()
}

#[test]
fn every_hop_has_its_record() {
    let site = Site::new()
        .page("/", Page::html("<a href=/1>1</a>"))
        .page("/1", Page::redirect(301, "/2"))
        .page("/2", Page::redirect(302, "../3?x=%20y"))
        .page("/3?x=%20y", Page::redirect(308, "{{b.test}}/out"));
    let web = Web::new()
        .site("a.test", site)
        .site("b.test", Site::new())
        .start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    crawled.check_requested(&["a.test/", "a.test/1", "a.test/2", "a.test/3?x=%20y"]);
    let hops = ["a.test/1", "a.test/2", "a.test/3?x=%20y"];
    for pair in hops.windows(2) {
        let (hop, next) = (crawled.record(pair[0]), crawled.record(pair[1]));
        assert_eq!(hop.redirect_to.as_deref(), Some(next.url.as_str()));
        assert_eq!(next.found_on.as_ref(), Some(&hop.url));
        assert_eq!((next.kind, next.depth), (LinkKind::Redirect, 1));
    }
    let last = crawled.record("a.test/3?x=%20y");
    assert_eq!(
        last.redirect_to.as_deref(),
        Some(web.url("b.test", "/out").as_str())
    );
    assert!(last.error.is_some(), "why it was not followed is said");
}

/// Browsers send back the bytes that the server wrote, whatever encoding it meant.
#[test]
fn a_target_keeps_its_bytes() {
    let site = Site::new()
        .page("/", Page::html(links(["/latin", "/utf"])))
        .page("/latin", Page::redirect(301, b"/caf\xe9?q=\xfc".to_vec()))
        .page("/utf", Page::redirect(301, "/caf\u{e9}"))
        .under("/caf", |_| Page::html("").into());
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    crawled.check_requested(&[
        "a.test/",
        "a.test/caf%C3%A9",
        "a.test/caf%E9?q=%FC",
        "a.test/latin",
        "a.test/utf",
    ]);
}

#[test]
fn a_redirect_without_a_target_is_a_page() {
    let site = Site::new()
        .page("/", Page::html(links(["/none", "/not-a-redirect"])))
        .page("/none", Page::empty(302))
        .page(
            "/not-a-redirect",
            Page::empty(300).header("Location", "/never"),
        );
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    crawled.check_requested(&["a.test/", "a.test/none", "a.test/not-a-redirect"]);
    for place in ["a.test/none", "a.test/not-a-redirect"] {
        assert_eq!(crawled.record(place).outcome, OutcomeKind::Fetched);
    }
}

#[test]
fn a_cookie_wall_is_passed_once() {
    let site = Site::new()
        .page(
            "/",
            Reply::cookie_wall("seen", Page::html("<a href=/inside>in</a>")),
        )
        .page("/inside", Page::html(""))
        .page("/sitemap.xml", Page::empty(404));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    crawled.check_requested(&["a.test/", "a.test/", "a.test/inside"]);
    assert_eq!(cookies(&crawled.log, "/"), [None, Some("seen=yes")]);
    let outcomes = crawled
        .records_of("a.test/")
        .into_iter()
        .map(|record| record.outcome);
    assert!(
        outcomes.eq([OutcomeKind::Fetched]),
        "one line, that of the answer"
    );
    let record = crawled.record("a.test/");
    assert_eq!((record.tries, record.status), (2, Some(200)));
}

/// Loops are broken links, whether pages link to one of their URLs or to all.
#[test]
fn redirects_in_a_circle_are_broken() {
    let site = Site::new()
        .page("/", Page::html(links(["/a", "/self", "/x", "/y", "/z"])))
        .page("/a", Page::redirect(302, "/b"))
        .page("/b", Page::redirect(302, "/a"))
        .page("/self", Page::redirect(301, "/self"))
        .page("/x", Page::redirect(307, "/y"))
        .page("/y", Page::redirect(307, "/z"))
        .page("/z", Page::redirect(307, "/x"));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    let broken = &crawled.report.broken;
    assert_eq!(crawled.report.tally.broken, 3, "{broken:?}");
    assert!(
        broken.iter().all(|one| one.what() == "redirect-loop"),
        "{broken:?}"
    );
    let record = crawled.record("a.test/b");
    assert_eq!(
        (record.outcome, record.status),
        (OutcomeKind::Failed, Some(302))
    );
}

#[test]
fn a_wall_that_never_opens_is_left() {
    // A new cookie each time: whoever comes back for every cookie never leaves.
    let site = Site::new()
        .page("/", Page::html("<a href=/wall>wall</a>"))
        .page(
            "/wall",
            Reply::handler(|request| {
                let number = request.header("cookie").map_or(0, str::len);
                Page::redirect(302, "/wall")
                    .header("Set-Cookie", format!("a{number}=1"))
                    .into()
            }),
        );
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    assert_eq!(crawled.count("/wall"), 2);
}

#[test]
fn cookies_go_back_where_they_came_from() {
    let home = Page::html(links(["/in/x", "{{sub.a.test}}/", "{{b.test}}/"]))
        .header("Set-Cookie", "host=1")
        .header("Set-Cookie", "wide=2; Domain=a.test; Path=/")
        .header("Set-Cookie", "deep=3; Path=/in")
        .header("Set-Cookie", "safe=4; Secure")
        .header("Set-Cookie", "gone=5; Max-Age=0");
    let web = Web::new()
        .site(
            "a.test",
            Site::new().page("/", home).page("/in/x", Page::html("")),
        )
        .site("sub.a.test", Site::new().page("/", Page::html("")))
        .site("b.test", Site::new().page("/", Page::html("")))
        .start();
    let roots = ["a.test/"];
    let crawled = crawl(&web, &roots, |config| {
        config.scope.reach = clewline_job::config::Reach::Any;
        config.fetch.contact = Some("https://operator.test/".into());
    });
    let sorted = |host: &str, path: &str| {
        let log = crawled.log.of(host);
        let mut pairs: Vec<String> = cookies(&log, path)[0]
            .unwrap_or_default()
            .split("; ")
            .map(str::to_owned)
            .collect();
        pairs.sort_unstable();
        pairs.join("; ")
    };
    assert_eq!(sorted("a.test", "/in/x"), "deep=3; host=1; wide=2");
    assert_eq!(sorted("sub.a.test", "/"), "wide=2");
    assert_eq!(sorted("b.test", "/"), "");
}

#[test]
fn cookies_for_a_public_suffix_are_refused() {
    let home = Page::html("<a href=/again>again</a>")
        .header("Set-Cookie", "spy=1; Domain=co.uk")
        .header("Set-Cookie", "foreign=2; Domain=b.co.uk")
        .header("Set-Cookie", "own=3; Domain=.a.co.uk");
    let web = Web::new()
        .site(
            "a.co.uk",
            Site::new()
                .page("/", home)
                .page("/again", Page::redirect(302, "{{b.co.uk}}/")),
        )
        .site("b.co.uk", Site::new().page("/", Page::html("")))
        .start();
    let crawled = crawl(&web, &["a.co.uk/", "b.co.uk/late"], |config| {
        config.limits.concurrency = 1;
    });
    assert_eq!(cookies(&crawled.log, "/again"), [Some("own=3")]);
    assert!(
        crawled
            .log
            .of("b.co.uk")
            .iter()
            .all(|hit| hit.header("cookie").is_none())
    );
}

#[test]
fn cookies_can_be_left_at_home() {
    let site = Site::new()
        .page(
            "/",
            Page::html("<a href=/x>x</a>").header("Set-Cookie", "a=1"),
        )
        .page("/x", Page::html(""));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |config| config.fetch.cookies = false);
    assert_eq!(cookies(&crawled.log, "/x"), [None]);
}

#[test]
fn cookies_to_begin_with_come_from_a_file() {
    let web = Web::new()
        .site("a.test", Site::new().page("/", Page::html("")))
        .start();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("cookies.txt");
    let jar = "# Netscape HTTP Cookie File\na.test\tFALSE\t/\tFALSE\t0\tsession\tabc\n";
    std::fs::write(&file, jar).unwrap();
    let crawled = crawl(&web, &["a.test/"], |config| {
        config.fetch.cookie_file = Some(file);
    });
    assert_eq!(cookies(&crawled.log, "/"), [Some("session=abc")]);
}
