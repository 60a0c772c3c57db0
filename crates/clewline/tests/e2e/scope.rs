//! What belongs to a crawl: reach, patterns, depth, parts of pages, and the roots.

mod budgets;

use clewline_core::frontier::Note;
use clewline_core::link::LinkKind;
use clewline_core::outcome::SkipReason;
use clewline_job::config::{Config, Reach, Root};
use clewline_job::record::OutcomeKind;
use terrarium::{LiveWeb, Page, Site, Web, links, sitemap};

use super::support::{config, crawl, millis, run};

/// A neighbourhood: a site with a folder, its `www.`, its sister, and a stranger.
fn neighbourhood() -> LiveWeb {
    let home = links([
        "/docs/a",
        "/docs/deep/b",
        "/docsx",
        "/",
        "{{www.a.test}}/docs/w",
        "{{sub.a.test}}/docs/s",
        "{{b.test}}/docs/o",
    ]);
    let folder = || Site::new().under("/", |_| Page::html("").into());
    Web::new()
        .site("a.test", folder().page("/docs/", Page::html(home)))
        .site("www.a.test", folder())
        .site("sub.a.test", folder())
        .site("b.test", folder())
        .start()
}

#[test]
fn reach() {
    let check = |reach, expected: &[&str]| {
        let web = neighbourhood();
        let crawled = crawl(&web, &["a.test/docs/"], |config| {
            config.scope.reach = reach;
            config.scope.sitemaps = false;
            config.fetch.contact = Some("https://operator.test/".into());
        });
        let mut all = vec!["a.test/docs/"];
        all.extend(expected);
        crawled.check_requested(&all);
    };
    check(Reach::Page, &[]);
    let path = ["a.test/docs/a", "a.test/docs/deep/b", "www.a.test/docs/w"];
    check(Reach::Path, &path);
    let host = [&path[..], &["a.test/", "a.test/docsx"]].concat();
    check(Reach::Host, &host);
    let domain = [&host[..], &["sub.a.test/docs/s"]].concat();
    check(Reach::Domain, &domain);
    check(Reach::Any, &[&domain[..], &["b.test/docs/o"]].concat());
}

#[test]
fn the_operator_of_an_unbounded_crawl_is_named_to_every_host() {
    let web = neighbourhood();
    let crawled = crawl(&web, &["a.test/docs/"], |config| {
        config.scope.reach = Reach::Any;
        config.fetch.contact = Some("https://operator.test/".into());
    });
    assert!(crawled.log.of("b.test").len() >= 2);
    for hit in &crawled.log {
        let agent = hit.header("user-agent").unwrap();
        assert!(
            agent.starts_with("clewline/") && agent.contains("operator.test"),
            "{agent}"
        );
    }
}

#[test]
fn www_is_ignored_from_both_sides() {
    let web = Web::new()
        .site(
            "www.a.test",
            Site::new().page("/", Page::html("<a href={{a.test}}/x>x</a>")),
        )
        .site("a.test", Site::new().page("/x", Page::html("")))
        .start();
    let crawled = crawl(&web, &["www.a.test/"], |_| {});
    crawled.check_requested(&["a.test/x", "www.a.test/"]);
}

/// A site that names `/secret/…` in every way that is followed.
fn temptations() -> LiveWeb {
    let home = "<link rel=canonical href=/secret/canonical><link rel=next href=/secret/next>\
        <a href=/secret/anchor>1</a><iframe src=/secret/frame></iframe>\
        <map><area href=/secret/area></map><meta http-equiv=refresh content='5;url=/secret/meta'>\
        <img src=/secret/image><a href=/moved>2</a><a href=/public>3</a>";
    let site = Site::new()
        .robots("Sitemap: {{a.test}}/list.xml\nSitemap: {{a.test}}/secret/list.xml")
        .page(
            "/list.xml",
            Page::xml(sitemap(["{{a.test}}/secret/listed", "{{a.test}}/public"])),
        )
        .page(
            "/",
            Page::html(home)
                .header("Link", "</secret/header>; rel=next")
                .header("Refresh", "9; url=/secret/refresh"),
        )
        .page("/moved", Page::redirect(302, "/secret/target"))
        .under("/", |_| Page::html("").into());
    Web::new().site("a.test", site).start()
}

#[test]
fn excluded_whatever_names_it() {
    let web = temptations();
    let crawled = crawl(&web, &["a.test/"], |config| {
        config.scope.exclude = vec!["/secret/".into()];
        config.scope.page_requisites = true;
    });
    crawled.check_requested(&[
        "a.test/",
        "a.test/list.xml",
        "a.test/moved",
        "a.test/public",
    ]);
    assert_eq!(crawled.refused(SkipReason::Excluded), 12);
    let hop = crawled.record("a.test/moved");
    assert_eq!(hop.error.as_deref(), Some(SkipReason::Excluded.about()));
}

#[test]
fn included_whatever_names_it() {
    let web = temptations();
    let crawled = crawl(&web, &["a.test/"], |config| {
        config.scope.include = vec!["/moved$".into(), "/public$".into()];
    });
    // Sitemaps help to find what is included, so they are read.
    crawled.check_requested(&[
        "a.test/",
        "a.test/list.xml",
        "a.test/moved",
        "a.test/public",
        "a.test/secret/list.xml",
    ]);
    let hop = crawled.record("a.test/moved");
    assert_eq!(hop.error.as_deref(), Some(SkipReason::NotIncluded.about()));
}

#[test]
fn roots_are_always_fetched() {
    let site = Site::new().page("/root", Page::html("<a href=/other>x</a>"));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/root"], |config| {
        config.scope.exclude = vec!["/root".into()];
        config.scope.include = vec!["nothing".into()];
        config.limits.depth = Some(0);
    });
    crawled.check_requested(&["a.test/root"]);
    assert_eq!(crawled.record("a.test/root").outcome, OutcomeKind::Fetched);
}

#[test]
fn depth_is_the_shortest_path() {
    // The long way is quick and the short way is slow: who takes what comes first goes wrong.
    let site = Site::new()
        .page("/", Page::html(links(["/long1", "/short"])))
        .page("/long1", Page::html("<a href=/long2>2</a>"))
        .page("/long2", Page::html("<a href=/target>t</a>"))
        .page(
            "/short",
            Page::html("<a href=/target>t</a>").delay(millis(80)),
        )
        .page("/target", Page::html("<a href=/last>last</a>"))
        .page("/last", Page::html("<a href=/beyond>b</a>"));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |config| config.limits.depth = Some(3));
    let expected = ["/", "/last", "/long1", "/long2", "/short", "/target"];
    crawled.check_requested(
        &expected
            .map(|path| format!("a.test{path}"))
            .each_ref()
            .map(|s| &**s),
    );
    for (path, depth) in [("/short", 1), ("/long2", 2), ("/target", 2), ("/last", 3)] {
        assert_eq!(
            crawled.record(&format!("a.test{path}")).depth,
            depth,
            "{path}"
        );
    }
    assert_eq!(crawled.refused(SkipReason::Depth), 1);
}

#[test]
fn depth_counts_neither_redirects_nor_parts() {
    let site = Site::new()
        .page("/", Page::redirect(302, "/home"))
        .page("/home", Page::html("<a href=/one>1</a><img src=/pic>"))
        .page("/one", Page::redirect(302, "/uno"))
        .page(
            "/uno",
            Page::html("<a href=/two>2</a><link rel=stylesheet href=/style>"),
        )
        .page(
            "/style",
            Page::bytes("text/css", "@import '/more'; a { background: url(/dot) }"),
        )
        .page("/more", Page::bytes("text/css", ""))
        .page("/dot", Page::bytes("image/gif", ""))
        .page("/pic", Page::bytes("image/gif", ""));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |config| {
        config.limits.depth = Some(1);
        config.scope.page_requisites = true;
    });
    let expected = [
        "/", "/dot", "/home", "/more", "/one", "/pic", "/style", "/uno",
    ];
    crawled.check_requested(
        &expected
            .map(|path| format!("a.test{path}"))
            .each_ref()
            .map(|s| &**s),
    );
    assert_eq!(crawled.record("a.test/dot").depth, 1);
    assert_eq!(crawled.record("a.test/home").depth, 0);
}

#[test]
fn parts_of_pages_come_from_any_host_but_pages_do_not() {
    let home = "<img src={{cdn.test}}/pic><img src={{cdn.test}}/moved>\
        <link rel=stylesheet href={{cdn.test}}/style><script src={{cdn.test}}/script></script>\
        <a href={{cdn.test}}/page>page</a><iframe src={{cdn.test}}/frame></iframe>";
    let style = "@import 'more.css'; b { background: url(\"img/dot\") }";
    let cdn = Site::new()
        .page(
            "/pic",
            Page::html("<a href=/from-pic>not a picture</a><img src=/in-pic>"),
        )
        .page("/moved", Page::redirect(302, "/moved-pic"))
        .page("/style", Page::bytes("text/css", style))
        .page("/more.css", Page::bytes("text/css", "c { src: url(font) }"))
        .under("/", |_| Page::bytes("image/png", "").into());
    let web = || {
        let home = Site::new().page("/", Page::html(home));
        Web::new().site("a.test", home)
    };
    let off = web().site("cdn.test", Site::new()).start();
    let crawled = crawl(&off, &["a.test/"], |_| {});
    crawled.check_requested(&["a.test/"]);
    assert_eq!(crawled.refused(SkipReason::Requisite), 4);
    let on = web().site("cdn.test", cdn).start();
    let crawled = crawl(&on, &["a.test/"], |config| {
        config.scope.page_requisites = true;
    });
    crawled.check_requested(&[
        "a.test/",
        "cdn.test/font",
        "cdn.test/img/dot",
        "cdn.test/in-pic",
        "cdn.test/more.css",
        "cdn.test/moved",
        "cdn.test/moved-pic",
        "cdn.test/pic",
        "cdn.test/script",
        "cdn.test/style",
    ]);
    assert_eq!(crawled.record("cdn.test/font").kind, LinkKind::CssUrl);
    assert_eq!(
        crawled.record("cdn.test/more.css").kind,
        LinkKind::CssImport
    );
}

#[test]
fn accepted_types() {
    let site = Site::new()
        .page("/", Page::html(links(["/movie", "/text"])))
        .page("/movie", Page::bytes("video/mp4", vec![0; 3 << 20]))
        .page("/text", Page::text("text"));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |config| {
        config.scope.accept_types = vec!["text/*".into()];
    });
    let movie = crawled.check_skipped("a.test/movie", SkipReason::ContentType);
    assert_eq!(movie.content_type.as_deref(), Some("video/mp4"));
    assert!(
        movie.wire_bytes < 1 << 20,
        "{} bytes of a movie were read",
        movie.wire_bytes
    );
    assert_eq!(crawled.record("a.test/text").outcome, OutcomeKind::Fetched);
}

#[test]
fn dropped_parameters_make_one_page_of_many() {
    let home = links([
        "/p?utm_source=a&id=1",
        "/p?id=1&utm_medium=b",
        "/p?id=1",
        "/p?id=2&sid=3",
    ]);
    let site = Site::new()
        .page("/", Page::html(home))
        .page("/p", Page::html(""));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |config| {
        config.scope.drop_params = vec!["utm_*".into(), "sid".into()];
    });
    crawled.check_requested(&[
        "a.test/",
        "a.test/p?id=2&sid=3",
        "a.test/p?utm_source=a&id=1",
    ]);
}

#[test]
fn a_root_without_scheme_falls_back_to_http() {
    let site = Site::new()
        .page("/", Page::html("<a href=/a>a</a>"))
        .page("/a", Page::html(""));
    let web = Web::new().site("a.test", site).start();
    let typed = format!("a.test:{}", web.addr("a.test").port());
    let crawled = crawl(&web, &[], |config| {
        config.roots = vec![Root::parse(&typed).unwrap()];
        // The server takes a greeting of TLS for the beginning of a request, and waits for more.
        config.fetch.connect_timeout = millis(400);
    });
    crawled.check_requested(&["a.test/", "a.test/a"]);
    let root = crawled.record("a.test/");
    assert_eq!(root.url.to_string(), web.url("a.test", "/"));
    assert_eq!((root.kind, root.tries), (LinkKind::Root, 1));
    let url = root.url.clone();
    assert!(
        crawled.notes.contains(&Note::SchemeFellBack { url }),
        "{:?}",
        crawled.notes
    );
    assert!(crawled.failed_roots.is_empty());
}

#[test]
fn a_root_without_scheme_stays_with_https_where_that_works() {
    let web = Web::new()
        .site("a.test", Site::new().page("/", Page::html("")).tls())
        .start();
    let typed = format!("a.test:{}", web.tls_addr("a.test").port());
    let crawled = crawl(&web, &[], |config: &mut Config| {
        config.roots = vec![Root::parse(&typed).unwrap()];
        config.fetch.insecure = true;
    });
    crawled.check_requested(&["a.test/"]);
    assert_eq!(
        crawled.record("a.test/").url.to_string(),
        web.tls_url("a.test", "/")
    );
}

#[test]
fn a_host_that_a_root_redirects_to_joins_the_roots() {
    let web = Web::new()
        .site(
            "a.test",
            Site::new().page("/", Page::redirect(301, "{{m.test}}/")),
        )
        .site(
            "m.test",
            Site::new().page("/", Page::redirect(301, "{{b.test}}/home")),
        )
        .site(
            "b.test",
            Site::new().pages([
                ("/home", "<a href=/x>x</a><a href={{m.test}}/y>y</a>"),
                ("/x", ""),
            ]),
        )
        .start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    // The host in the middle is only passed through.
    crawled.check_requested(&["a.test/", "b.test/home", "b.test/x", "m.test/"]);
    assert_eq!(crawled.report.facts.joined_hosts, ["b.test"]);
}

#[test]
fn a_host_that_a_page_redirects_to_does_not_join() {
    let web = Web::new()
        .site(
            "a.test",
            Site::new()
                .page("/", Page::html("<a href=/go>go</a>"))
                .page("/go", Page::redirect(302, "{{b.test}}/")),
        )
        .site("b.test", Site::new().page("/", Page::html("")))
        .start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    crawled.check_requested(&["a.test/", "a.test/go"]);
    assert!(crawled.report.facts.joined_hosts.is_empty());
}

#[test]
fn a_sitemap_as_root() {
    let site = Site::new()
        .page(
            "/map.xml",
            Page::xml(sitemap(["{{a.test}}/one", "{{a.test}}/two"])),
        )
        .page("/one", Page::html("<a href=/three>3</a>"))
        .under("/t", |_| Page::html("").into());
    let web = Web::new().site("a.test", site).start();
    let crawled = run(&web, config(&web, &["a.test/map.xml"]));
    crawled.check_requested(&["a.test/map.xml", "a.test/one", "a.test/three", "a.test/two"]);
    assert_eq!(crawled.record("a.test/one").kind, LinkKind::Sitemap);
}

#[test]
fn strings_of_scripts_are_asked_for_last_and_miss_nobody() {
    let home = "<script>fetch('/from-page'); far = '{{b.test}}/x'</script><script src=/app.js></script>\
        <script src={{b.test}}/far.js></script><a href=/one>1</a>";
    let script = Page::bytes("text/javascript", "routes = ['/from-script', '/missing']");
    let far = Page::bytes("text/javascript", "'/from-far'");
    let site = Site::new()
        .page("/", Page::html(home))
        .page("/app.js", script)
        .page("/one", Page::html("<a href=/two>2</a>"))
        .page("/two", Page::html(""))
        .page("/from-page", Page::html("<a href=/behind>b</a>"))
        .page("/from-script", Page::html(""))
        .page("/behind", Page::html(""));
    let stranger = Site::new().page("/far.js", far).page("/x", Page::html(""));
    let web = Web::new()
        .site("a.test", site)
        .site("b.test", stranger)
        .start();
    let crawled = crawl(&web, &["a.test/"], |config| {
        config.extract.script_links = true;
        config.scope.sitemaps = false;
        config.politeness.host_concurrency = Some(1);
    });
    crawled.check_requested(&[
        "a.test/",
        "a.test/app.js",
        "a.test/behind",
        "a.test/from-page",
        "a.test/from-script",
        "a.test/missing",
        "a.test/one",
        "a.test/two",
    ]);
    let guesses = crawled.report.tally.guesses;
    assert_eq!((guesses.tried, guesses.existed), (3, 2));
    assert_eq!(crawled.report.tally.broken, 0);
    let order = crawled.log.paths("a.test");
    let place = |path: &str| order.iter().position(|asked| asked == path).unwrap();
    assert!(place("/two") < place("/from-page"), "{order:?}");
    assert!(place("/two") < place("/missing"), "{order:?}");
}

#[test]
fn without_the_option_scripts_say_nothing() {
    let home = "<script>fetch('/from-page')</script><script src=/app.js></script>";
    let site = Site::new()
        .page("/", Page::html(home))
        .under("/", |_| Page::html("").into());
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |config| config.scope.sitemaps = false);
    crawled.check_requested(&["a.test/"]);
}
