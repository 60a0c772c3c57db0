//! Where links are found: elements, headers, feeds, sitemaps; and which of them are followed.

use clewline_core::link::LinkKind;
use clewline_core::outcome::SkipReason;
use clewline_job::record::OutcomeKind;
use terrarium::{Coding, Page, Site, Web, encode, links, sitemap, sitemap_index};

use super::support::{Crawled, crawl};

/// A site of one page with these links, where every other path answers.
fn crawl_page(page: Page, requisites: bool) -> Crawled {
    let site = Site::new()
        .page("/", page)
        .page("/sitemap.xml", Page::empty(404))
        .under("/", |_| Page::bytes("application/octet-stream", "").into());
    let web = Web::new().site("a.test", site).start();
    crawl(&web, &["a.test/"], |config| {
        config.scope.page_requisites = requisites;
    })
}

/// Asserts that the page leads to exactly these paths, each found in this way.
fn check(page: Page, requisites: bool, expected: &[(&str, LinkKind)]) {
    let crawled = crawl_page(page, requisites);
    let mut places: Vec<String> = vec!["a.test/".into()];
    places.extend(expected.iter().map(|(path, _)| format!("a.test{path}")));
    crawled.check_requested(&places.iter().map(String::as_str).collect::<Vec<_>>());
    for (path, kind) in expected {
        let record = crawled.record(&format!("a.test{path}"));
        assert_eq!(record.kind, *kind, "{path}");
        assert_eq!(
            record.found_on.as_ref(),
            Some(&crawled.record("a.test/").url),
            "{path}"
        );
    }
}

#[test]
fn elements() {
    let html = "<link rel=canonical href=/canonical><link rel=next href=/next>\
        <link rel=prev href=/prev><link rel=alternate hreflang=de href=/alternate>\
        <link rel=license href=/license><link rel=dns-prefetch href=/prefetch>\
        <meta http-equiv=refresh content='3; URL=/refresh'>\
        <a href=/unquoted>1</a><A HREF='/single'>2</A><a href = \"/spaced\" >3</a>\
        <a href=/entity?a=1&amp;b=2>4</a><a href=' /trimmed\n'>5</a>\
        <map><area href=/area></map><iframe src=/iframe></iframe>\
        <noscript><a href=/noscript>6</a></noscript>\
        <!-- <a href=/comment>7</a> --><script>'<a href=/script>'</script>\
        <svg><a xlink:href=/svg>8</a></svg><a href='#top'>9</a><a>10</a>";
    check(
        Page::html(html),
        false,
        &[
            ("/canonical", LinkKind::Canonical),
            ("/next", LinkKind::Next),
            ("/prev", LinkKind::Prev),
            ("/alternate", LinkKind::Alternate),
            ("/license", LinkKind::Related),
            ("/refresh", LinkKind::Refresh),
            ("/unquoted", LinkKind::Anchor),
            ("/single", LinkKind::Anchor),
            ("/spaced", LinkKind::Anchor),
            ("/entity?a=1&b=2", LinkKind::Anchor),
            ("/trimmed", LinkKind::Anchor),
            ("/area", LinkKind::Area),
            ("/iframe", LinkKind::Frame),
            ("/noscript", LinkKind::Anchor),
            ("/svg", LinkKind::Anchor),
        ],
    );
    check(
        Page::html("<frameset><frame src=/left><frame src=/right></frameset>"),
        false,
        &[("/left", LinkKind::Frame), ("/right", LinkKind::Frame)],
    );
}

#[test]
fn parts_of_a_page() {
    let html = "<link rel=stylesheet href=/style><link rel=icon href=/icon>\
        <script src=/script></script><img src=/img srcset='/small 1x, /large 2x'>\
        <picture><source srcset='/source 480w'></picture><video src=/video poster=/poster></video>\
        <audio src=/audio></audio><object data=/object></object><embed src=/embed>\
        <input type=image src=/input><p style='background: url(/inline)'>\
        <style>@import '/import'; p { background: url(/css) }</style>";
    let parts = [
        ("/style", LinkKind::Style),
        ("/icon", LinkKind::Asset),
        ("/script", LinkKind::Script),
        ("/img", LinkKind::Image),
        ("/small", LinkKind::Image),
        ("/large", LinkKind::Image),
        ("/source", LinkKind::Image),
        ("/video", LinkKind::Media),
        ("/poster", LinkKind::Image),
        ("/audio", LinkKind::Media),
        ("/object", LinkKind::Media),
        ("/embed", LinkKind::Media),
        ("/input", LinkKind::Image),
        ("/inline", LinkKind::CssUrl),
        ("/import", LinkKind::CssImport),
        ("/css", LinkKind::CssUrl),
    ];
    check(Page::html(html), true, &parts);
    let without = crawl_page(Page::html(html), false);
    without.check_requested(&["a.test/"]);
    assert_eq!(without.refused(SkipReason::Requisite), parts.len() as u64);
}

#[test]
fn headers() {
    let page = Page::html("<base href=/elsewhere/>")
        .header("Link", "</next>; rel=\"next\", <relative>; rel=alternate")
        .header("Link", "</first>;rel=canonical")
        .header("Refresh", "0;url=/refresh");
    check(
        page,
        false,
        &[
            ("/next", LinkKind::Next),
            // A base counts for the document only (RFC 8288 section 3.2).
            ("/relative", LinkKind::Alternate),
            ("/first", LinkKind::Canonical),
            ("/refresh", LinkKind::Refresh),
        ],
    );
}

#[test]
fn base() {
    let html = "<a href=before>1</a><base href=/dir/><base href=/ignored/><a href=../after>2</a>";
    let expected = [
        ("/dir/before", LinkKind::Anchor),
        ("/after", LinkKind::Anchor),
    ];
    check(Page::html(html), false, &expected);
}

#[test]
fn canonical_is_recorded() {
    let page = Page::html("<link rel=canonical href='/real#part'><title> A \n title </title>");
    let crawled = crawl_page(page, false);
    let root = crawled.record("a.test/");
    assert_eq!(
        root.canonical.as_ref(),
        Some(&crawled.record("a.test/real").url)
    );
    assert_eq!(root.title.as_deref(), Some("A title"));
}

#[test]
fn xhtml() {
    let html = "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'><head>\
        <title>X &amp; Y</title><script src='x'/></head><body><a href='/a?x=1&amp;y=2'/></body></html>";
    let page = Page::bytes("application/xhtml+xml", html);
    check(page, false, &[("/a?x=1&y=2", LinkKind::Anchor)]);
}

#[test]
fn feeds() {
    let rss = "<?xml version='1.0'?><rss version='2.0'><channel><link>{{a.test}}/home</link>\
        <item><link>{{a.test}}/item</link><pubDate>Mon, 01 Jan 2024 00:00:00 GMT</pubDate></item>\
        <item><guid>{{a.test}}/guid</guid></item></channel></rss>";
    let entries = [
        ("/home", LinkKind::Related),
        ("/item", LinkKind::Feed),
        ("/guid", LinkKind::Feed),
    ];
    check(Page::bytes("application/rss+xml", rss), false, &entries);
    let atom = "<feed xmlns='http://www.w3.org/2005/Atom'><link rel='self' href='/feed'/>\
        <link rel='next' href='/older'/><entry><link href='entry'/></entry></feed>";
    let entries = [("/older", LinkKind::Next), ("/entry", LinkKind::Feed)];
    check(Page::bytes("application/atom+xml", atom), false, &entries);
}

#[test]
fn a_feed_that_a_page_names_is_followed() {
    let feed = "<rss><channel><item><link>{{a.test}}/post</link></item></channel></rss>";
    let site = Site::new()
        .page(
            "/",
            Page::html("<link rel=alternate type=application/rss+xml href=/feed>"),
        )
        .page("/feed", Page::bytes("application/rss+xml", feed))
        .page("/post", Page::html(""));
    let web = Web::new().site("a.test", site).start();
    crawl(&web, &["a.test/"], |_| {}).check_requested(&["a.test/", "a.test/feed", "a.test/post"]);
}

/// A web with sitemaps of every form, listed in robots.txt through an index.
fn mapped() -> Web {
    let dated =
        "<urlset><url><loc>{{a.test}}/dated</loc><lastmod>2024-05-06</lastmod></url></urlset>";
    // The archive has no marks to expand, so it speaks of paths.
    let zipped = encode(Coding::Gzip, sitemap(["/zipped"]).as_bytes());
    let index = sitemap_index([
        "{{a.test}}/dated.xml",
        "{{a.test}}/zipped.xml.gz",
        "{{a.test}}/lines.txt",
    ]);
    let site = Site::new()
        .robots("Sitemap: {{a.test}}/index.xml\n")
        .page("/index.xml", Page::xml(index))
        .page("/dated.xml", Page::xml(dated))
        .page("/zipped.xml.gz", Page::bytes("application/x-gzip", zipped))
        .page(
            "/lines.txt",
            Page::text("{{a.test}}/line\n{{b.test}}/foreign\n"),
        )
        .page("/", Page::html(""))
        .page(
            "/dated",
            Page::html("").header("Last-Modified", "Mon, 01 Jan 2001 00:00:00 GMT"),
        )
        .page(
            "/line",
            Page::html("").header("Last-Modified", "Mon, 01 Jan 2001 00:00:00 GMT"),
        )
        .page(
            "/zipped",
            Page::html("<a href=/sitemap.xml>the usual place</a>"),
        )
        .page("/sitemap.xml", Page::text("not asked for as a sitemap"));
    Web::new().site("a.test", site).site("b.test", Site::new())
}

#[test]
fn sitemaps_of_every_form() {
    let web = mapped().start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    crawled.check_requested(&[
        "a.test/",
        "a.test/dated",
        "a.test/dated.xml",
        "a.test/index.xml",
        "a.test/line",
        "a.test/lines.txt",
        "a.test/sitemap.xml",
        "a.test/zipped",
        "a.test/zipped.xml.gz",
    ]);
    let dated = crawled.record("a.test/dated");
    assert_eq!(
        (dated.kind, dated.lastmod.as_deref()),
        (LinkKind::Sitemap, Some("2024-05-06"))
    );
    let line = crawled.record("a.test/line");
    assert_eq!(
        line.lastmod.as_deref(),
        Some("Mon, 01 Jan 2001 00:00:00 GMT")
    );
    assert_eq!(
        crawled.record("a.test/index.xml").kind,
        LinkKind::SitemapFile
    );
    assert!(
        crawled
            .record("a.test/index.xml")
            .found_on
            .as_ref()
            .unwrap()
            .path()
            == "/robots.txt"
    );
    assert_eq!(crawled.record("a.test/sitemap.xml").kind, LinkKind::Anchor);
    assert_eq!(crawled.refused(SkipReason::OutOfScope), 1);
}

#[test]
fn sitemaps_do_not_count_as_pages() {
    let crawled = crawl(&mapped().start(), &["a.test/"], |config| {
        config.limits.pages = Some(2);
    });
    assert_eq!(crawled.count("/"), 1);
    let fetched = |record: &&clewline_job::record::Record| {
        record.outcome == OutcomeKind::Fetched && record.kind != LinkKind::SitemapFile
    };
    assert_eq!(crawled.records.iter().filter(fetched).count(), 2);
}

#[test]
fn sitemaps_are_left_alone_on_request() {
    let check = |change: fn(&mut clewline_job::config::Config)| {
        crawl(&mapped().start(), &["a.test/"], change).check_requested(&["a.test/"]);
    };
    check(|config| config.scope.sitemaps = false);
    // With a depth, what counts is the way from the root.
    check(|config| config.limits.depth = Some(1));
}

#[test]
fn the_usual_place_is_looked_at_where_robots_name_none() {
    let map = sitemap(["{{a.test}}/only-there"]);
    let site = Site::new()
        .page("/deep/root", Page::html(""))
        .page("/sitemap.xml", Page::xml(map))
        .page("/only-there", Page::html(""));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/deep/root"], |_| {});
    crawled.check_requested(&[
        "a.test/deep/root",
        "a.test/only-there",
        "a.test/sitemap.xml",
    ]);
}

#[test]
fn a_sitemap_that_is_not_there_is_nobodys_broken_link() {
    let web = Web::new()
        .site("a.test", Site::new().page("/", Page::html("")))
        .start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    crawled.check_skipped("a.test/sitemap.xml", SkipReason::NoSitemap);
    assert_eq!(crawled.report.tally.broken, 0);
    assert!(
        crawled.report.broken.is_empty(),
        "{:?}",
        crawled.report.broken
    );
}

#[test]
fn nofollow() {
    let home = "<a rel='nofollow external' href=/rel>1</a><a rel=ugc href=/ugc>2</a>\
        <a href=/meta>3</a><a href=/header>4</a><a href=/named>5</a><a href=/other>6</a>";
    let page = |path: &str| Page::html(format!("<a href={path}-link>x</a><img src={path}-part>"));
    let site = || {
        Site::new()
            .page("/", Page::html(home))
            .page(
                "/meta",
                Page::html(
                    "<meta name=ROBOTS content='noindex, NoFollow'><a href=/meta-link>x</a>",
                ),
            )
            .page("/header", page("/header").header("X-Robots-Tag", "none"))
            .page(
                "/named",
                page("/named").header("X-Robots-Tag", "clewline: nofollow"),
            )
            .page(
                "/other",
                page("/other").header("X-Robots-Tag", "otherbot: nofollow"),
            )
            .page("/sitemap.xml", Page::empty(404))
            .under("/", |_| Page::html("").into())
    };
    let obeyed = [
        "/",
        "/header",
        "/header-part",
        "/meta",
        "/named",
        "/named-part",
        "/other",
        "/other-link",
        "/other-part",
    ];
    let check = |follow: bool, expected: &[&str]| {
        let web = Web::new().site("a.test", site()).start();
        let crawled = crawl(&web, &["a.test/"], |config| {
            config.scope.follow_nofollow = follow;
            config.scope.page_requisites = true;
        });
        let places: Vec<String> = expected
            .iter()
            .map(|path| format!("a.test{path}"))
            .collect();
        crawled.check_requested(&places.iter().map(String::as_str).collect::<Vec<_>>());
        crawled
    };
    let crawled = check(false, &obeyed);
    assert_eq!(crawled.refused(SkipReason::Nofollow), 5);
    assert!(crawled.record("a.test/meta").noindex && crawled.record("a.test/header").noindex);
    assert!(!crawled.record("a.test/named").noindex);
    check(
        true,
        &[
            &obeyed[..],
            &["/rel", "/ugc", "/meta-link", "/header-link", "/named-link"],
        ]
        .concat(),
    );
}

#[test]
fn error_pages_are_recorded_and_not_read() {
    let site = Site::new()
        .page("/", Page::html(links(["/gone", "/forbidden"])))
        .page(
            "/gone",
            Page::html("<title>Gone</title><a href=/from-error>x</a>").status(410),
        )
        .page("/forbidden", Page::empty(403));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    crawled.check_requested(&["a.test/", "a.test/forbidden", "a.test/gone"]);
    let gone = crawled.record("a.test/gone");
    assert_eq!(
        (gone.outcome, gone.status, gone.links),
        (OutcomeKind::Fetched, Some(410), 0)
    );
    assert_eq!(crawled.report.tally.broken, 2);
}
