//! Sitemaps that expand, nest, loop or list without end.

use clewline_job::config::Reach;
use terrarium::{Coding, Page, Web, sitemap, sitemap_index};

use crate::trial::{beside, crawl};

/// Ten levels of ten references each.
fn laughs(root: &str) -> String {
    let levels = (1..10).map(|level| {
        let inner = format!("&l{};", level - 1).repeat(10);
        format!("<!ENTITY l{level} \"{inner}\">")
    });
    let levels: Vec<String> = levels.collect();
    format!(
        "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY l0 \"/laugh\">{}]>\
         <{root}><url><loc>{{{{a.test}}}}/&l9;</loc></url>\
         <url><loc>{{{{a.test}}}}/after</loc></url></{root}>",
        levels.concat()
    )
}

#[test]
fn entities_are_not_expanded_and_nothing_external_is_read() {
    let external = "<?xml version=\"1.0\"?><!DOCTYPE x SYSTEM \"{{denied.test}}/x.dtd\" [\
         <!ENTITY file SYSTEM \"file:///etc/hostname\">\
         <!ENTITY net SYSTEM \"{{denied.test}}/entity\">\
         <!ENTITY % p SYSTEM \"{{denied.test}}/parameter\"> %p;]>\
         <urlset><url><loc>{{a.test}}/&file;&net;</loc></url>\
         <url><loc>{{a.test}}/external-after</loc></url></urlset>";
    let include = "<urlset xmlns:xi=\"http://www.w3.org/2001/XInclude\">\
         <xi:include href=\"{{denied.test}}/include\"/></urlset>";
    let maps = ["laughs", "external", "include"]
        .map(|name| format!("Sitemap: {{{{a.test}}}}/{name}.xml\n"));
    let site = beside(["/laughing.xml", "/external.xhtml"])
        .robots(&maps.concat())
        .page("/laughs.xml", Page::xml(laughs("urlset")))
        .page("/laughing.xml", Page::xml(laughs("feed")))
        .page("/external.xml", Page::xml(external))
        .page(
            "/external.xhtml",
            Page::bytes("application/xhtml+xml", external),
        )
        .page("/include.xml", Page::xml(include))
        .page("/after", Page::html("x"))
        .page("/external-after", Page::html("x"));
    let denied = terrarium::Site::new()
        .at("127.0.0.3")
        .handler(|_| Page::html("x").into());
    let web = Web::new()
        .site("a.test", site)
        .site("denied.test", denied)
        .start();
    let verdict = crawl(&web, &web.url("a.test", "/"), |config| {
        config.scope.reach = Reach::Any;
        config.fetch.allow_private = vec!["127.0.0.3".parse().unwrap()];
    });
    verdict.assert_good(&web, "a.test");
    assert_eq!(web.connections_at("127.0.0.3".parse().unwrap()), 0);
    for path in ["/after", "/external-after"] {
        assert_eq!(
            verdict.outcome(&web.url("a.test", path)),
            "fetched 200",
            "{path}"
        );
    }
    let longest = web.log().iter().map(|hit| hit.target.len()).max();
    assert!(longest < Some(100), "{longest:?}");
    let hostname = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let hostname = hostname.trim();
    if !hostname.is_empty() {
        assert!(!web.log().iter().any(|hit| hit.target.contains(hostname)));
    }
}

#[test]
fn indexes_that_loop_or_nest_end() {
    let nested = (0..100).fold(beside([]), |site, level| {
        let next = format!("{{{{a.test}}}}/nest/{}", level + 1);
        site.page(&format!("/nest/{level}"), Page::xml(sitemap_index([next])))
    });
    let site = nested
        .robots("Sitemap: {{a.test}}/self\nSitemap: {{a.test}}/ping\nSitemap: {{a.test}}/nest/0\n")
        .page("/self", Page::xml(sitemap_index(["{{a.test}}/self"])))
        .page("/ping", Page::xml(sitemap_index(["{{a.test}}/pong"])))
        .page(
            "/pong",
            Page::xml(sitemap_index(["{{a.test}}/ping", "{{a.test}}/leaf"])),
        )
        .page("/leaf", Page::xml(sitemap(["{{a.test}}/leaf-page"])))
        .page("/leaf-page", Page::html("x"));
    let web = Web::new().site("a.test", site).start();
    let verdict = crawl(&web, &web.url("a.test", "/"), |_| {});
    verdict.assert_good(&web, "a.test");
    let log = web.log();
    for path in ["/self", "/ping", "/pong", "/nest/0", "/nest/2"] {
        assert_eq!(log.count(path), 1, "{path}");
    }
    assert_eq!(
        log.count("/nest/3"),
        0,
        "an index below an index below an index"
    );
    assert_eq!(
        verdict.outcome(&web.url("a.test", "/leaf-page")),
        "fetched 200"
    );
}

#[test]
fn sitemaps_without_measure_are_cut() {
    let site = beside([])
        .robots(
            "Sitemap: {{a.test}}/zero.gz\n\
                 Sitemap: {{a.test}}/noise\nSitemap: {{a.test}}/cut\n",
        )
        .page(
            "/zero.gz",
            Page::bytes("application/gzip", terrarium::bomb(Coding::Gzip, 256)).verbatim(),
        )
        .page("/noise", Page::xml(vec![0xff; 100_000]))
        .page(
            "/cut",
            Page::xml(sitemap(["{{a.test}}/cut-page"])).close_after(80),
        );
    let web = Web::new().site("a.test", site).start();
    let verdict = crawl(&web, &web.url("a.test", "/"), |_| {});
    verdict.assert_good(&web, "a.test");
    for (path, expected) in [
        ("/zero.gz", "fetched 200"),
        ("/noise", "fetched 200"),
        ("/cut", "failed incomplete"),
    ] {
        assert_eq!(
            verdict.outcome(&web.url("a.test", path)),
            expected,
            "{path}"
        );
    }
    let zero = verdict.record(&web.url("a.test", "/zero.gz"));
    assert!(zero.error.is_some(), "what was not read whole is said");
}
