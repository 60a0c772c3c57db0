//! Redirects that never arrive, and references to what is not the web.

use clewline::Crawl;
use clewline::CrawlError;
use clewline_core::outcome::SkipReason;
use clewline_core::url::UrlError;
use clewline_job::config::Reach;
use terrarium::{Page, Reply, Site, Web};

use crate::trial::{Case, beside, check, crawl};

/// Schemes that nothing may follow, as whole references.
const FOREIGN: [&str; 9] = [
    "file:///etc/hostname",
    "data:text/html,<a href=/from-data>x</a>",
    "javascript:location='/from-script'",
    "ftp://ftp.test/x",
    "gopher://gopher.test/x",
    "s3://bucket/x",
    "view-source:http://other.test/",
    "blob:http://other.test/1",
    "ws://other.test/",
];

#[test]
fn chains_and_loops_end() {
    let site = beside([
        "/loop/1",
        "/self",
        "/chain/10000",
        "/short/10",
        "/lost",
        "/empty",
    ])
    .redirect_loop("/loop", 3)
    .page("/self", Page::redirect(301, "/self"))
    .chain("/chain", 10_000, "/end-of-chain")
    .chain("/short", 10, "/end-of-short")
    .page("/end-of-short", Page::html("arrived"))
    .page("/lost", Page::empty(302))
    .page("/empty", Page::redirect(302, ""));
    let web = Web::new().site("a.test", site).start();
    let verdict = crawl(&web, &web.url("a.test", "/"), |_| {});
    verdict.assert_good(&web, "a.test");
    for (path, expected) in [
        ("/loop/1", "redirected 302"),
        ("/loop/2", "redirected 302"),
        ("/loop/3", "failed redirect-loop"),
        ("/self", "failed redirect-loop"),
        ("/chain/10000", "redirected 302"),
        ("/chain/9990", "redirected 302"),
        ("/chain/9989", "no record"),
        ("/end-of-short", "fetched 200"),
        ("/lost", "fetched 302"),
        ("/empty", "failed redirect-loop"),
    ] {
        assert_eq!(
            verdict.outcome(&web.url("a.test", path)),
            expected,
            "{path}"
        );
    }
    let last = verdict.record(&web.url("a.test", "/chain/9990"));
    assert_eq!(
        last.error.as_deref(),
        Some(SkipReason::RedirectLimit.about())
    );
    let log = web.log();
    for path in ["/loop/1", "/self", "/empty", "/chain/9990"] {
        assert_eq!(log.count(path), 1, "{path} is asked once");
    }
}

#[test]
fn redirects_to_other_schemes_are_not_followed() {
    let redirect = |location: &str| -> Reply { Page::redirect(302, location).into() };
    let cases: Vec<Case> = FOREIGN
        .iter()
        .map(|location| (*location, redirect(location), "fetched 302"))
        .collect();
    let (web, verdict) = check(cases, |config| {
        config.scope.reach = Reach::Any;
    });
    for (number, location) in FOREIGN.iter().enumerate() {
        let record = verdict.record(&web.url(&format!("case{number}.test"), "/bad"));
        assert_eq!(record.redirect_to.as_deref(), Some(*location));
        assert!(
            record.error.is_some(),
            "it is said that {location} was not followed"
        );
    }
    assert_only_cases(&web);
}

#[test]
fn references_to_other_schemes_are_dropped() {
    let markup: Vec<String> = FOREIGN
        .iter()
        .map(|target| {
            format!(
                "<a href=\"{target}\">a</a><area href=\"{target}\">\
                 <iframe src=\"{target}\"></iframe>\
                 <link rel=canonical href=\"{target}\"><link rel=next href=\"{target}\">\
                 <link rel=stylesheet href=\"{target}\">\
                 <img src=\"{target}\" srcset=\"{target} 2x\">\
                 <script src=\"{target}\"></script>\
                 <meta http-equiv=refresh content=\"0;url={target}\">\
                 <style>@import '{target}'; p {{ background: url('{target}') }}</style>"
            )
        })
        .collect();
    let headers = FOREIGN.iter().fold(Page::html("x"), |page, target| {
        let page = page.header("Link", format!("<{target}>; rel=next"));
        page.header("Refresh", format!("0; url={target}"))
    });
    let bases = FOREIGN.iter().map(|target| {
        let body = format!("<base href=\"{target}\"><a href=relative>x</a>");
        ("base", Page::html(body).into(), "fetched 200")
    });
    let mut cases: Vec<Case> = vec![
        ("markup", Page::html(markup.concat()).into(), "fetched 200"),
        ("headers", headers.into(), "fetched 200"),
    ];
    cases.extend(bases);
    let (web, _) = check(cases, |config| {
        config.scope.reach = Reach::Any;
        config.scope.page_requisites = true;
    });
    assert_only_cases(&web);
}

#[test]
fn sitemaps_and_robots_may_not_name_other_schemes() {
    let robots: Vec<String> = FOREIGN
        .iter()
        .map(|target| format!("Sitemap: {target}\n"))
        .collect();
    let site = beside([])
        .robots(&(robots.concat() + "Sitemap: {{a.test}}/map.xml\n"))
        .page("/map.xml", Page::xml(terrarium::sitemap(FOREIGN)));
    let web = Web::new().site("a.test", site).start();
    let verdict = crawl(&web, &web.url("a.test", "/"), |config| {
        config.scope.reach = Reach::Any;
    });
    verdict.assert_good(&web, "a.test");
    assert_eq!(web.log().count("/map.xml"), 1);
    assert_only_cases(&web);
}

#[test]
fn roots_of_other_schemes_are_refused() {
    for root in FOREIGN {
        let refused = Crawl::new(root).start();
        assert!(
            matches!(
                refused,
                Err(CrawlError::Root(_, UrlError::Scheme | UrlError::Invalid))
            ),
            "{root}"
        );
    }
}

/// A refresh is a link, so that a loop of them ends where every page is known.
#[test]
fn refreshing_for_ever_ends() {
    let refresh =
        |target: &str| Page::html(format!("<meta http-equiv=refresh content='0;{target}'>"));
    let site = beside(["/here", "/ping", "/header"])
        .page("/here", refresh("url=/here"))
        .page("/ping", refresh("url=/pong"))
        .page("/pong", refresh("/ping"))
        .page(
            "/header",
            Page::html("x").header("Refresh", "0; url=/header"),
        );
    let web = Web::new().site("a.test", site).start();
    let verdict = crawl(&web, &web.url("a.test", "/"), |_| {});
    verdict.assert_good(&web, "a.test");
    for path in ["/here", "/ping", "/pong", "/header"] {
        assert_eq!(verdict.outcome(&web.url("a.test", path)), "fetched 200");
        assert_eq!(web.log().count(path), 1, "{path} is asked once");
    }
}

/// A root may lead elsewhere, but not in circles, and its failure is told.
#[test]
fn a_root_that_is_a_loop_ends_the_crawl() {
    let web = Web::new()
        .site("a.test", Site::new().redirect_loop("", 2))
        .start();
    let verdict = crawl(&web, &web.url("a.test", "/1"), |_| {});
    assert_eq!(verdict.outcome(&web.url("a.test", "/1")), "redirected 302");
    let end = verdict.outcome(&web.url("a.test", "/2"));
    assert_eq!(end, "failed redirect-loop");
}

/// No name but those of the web itself was ever asked for, and no page that hides behind a
/// foreign scheme.
fn assert_only_cases(web: &terrarium::LiveWeb) {
    let names: Vec<_> = web.dns_log().into_iter().map(|query| query.name).collect();
    for name in names {
        assert!(
            name.starts_with("case") || name == "a.test",
            "{name} was resolved"
        );
    }
    for hit in &web.log() {
        assert!(!hit.target.contains("from-"), "{} was asked", hit.target);
    }
}
