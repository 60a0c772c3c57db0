//! Credentials and cookies: who gets them, and that nothing keeps them.

use clewline::Crawl;
use clewline_job::config::{Config, HostHeaders, Reach, Secret};
use terrarium::{Hit, LiveWeb, Page, Site, Web};

use crate::trial::{Verdict, crawl};

/// Other hosts are asked here, so that they could be told too much.
const LOOPBACK: &str = "127.0.0.0/8";

const PASSWORD: &str = "hunter2";

/// `me:hunter2` and the bearer below, as they travel.
const BASIC: &str = "Basic bWU6aHVudGVyMg==";
const BEARER: &str = "Bearer hunter2-token";

/// A root's host with another scheme, another port and another name beside it; all are linked
/// to and redirected to.
fn neighbours() -> LiveWeb {
    let front = "<a href=/own>own</a><a href={{b.test}}/link>b</a>\
         <a href='{{https a.test}}/link'>s</a>\
         <a href=/to-b>b</a><a href=/to-tls>t</a><a href=/to-port>p</a><img src={{b.test}}/image>";
    let root = Site::new()
        .page("/", Page::html(front))
        .page("/own", Page::html("x"))
        .page("/to-b", Page::redirect(302, "{{b.test}}/hop"))
        .page("/to-tls", Page::redirect(307, "{{https a.test}}/hop"));
    let other = || Site::new().handler(|_| Page::html("x").into());
    let web = Web::new()
        .site("a.test", root.at("127.0.0.2"))
        .site("a.test", other().at("127.0.0.2").tls())
        .site("b.test", other())
        .site("port.test", other().at("127.0.0.2").own_port())
        .start();
    let port = web.addr("port.test").port();
    web.put(
        "a.test",
        "/to-port",
        Page::redirect(308, format!("http://a.test:{port}/hop")),
    );
    web
}

/// Crawls the neighbours and says who was told this header beside the root's host over http
/// and https.
fn told(web: &LiveWeb, header: &str, change: impl FnOnce(&mut Config)) -> (Vec<String>, Verdict) {
    let verdict = crawl(web, &web.url("a.test", "/"), |config| {
        config.scope.reach = Reach::Any;
        config.scope.page_requisites = true;
        config.fetch.insecure = true;
        config.fetch.allow_private = vec![LOOPBACK.parse().expect("a range of addresses")];
        change(config);
    });
    let log = web.log();
    for path in ["/own", "/link", "/hop", "/image"] {
        assert!(log.count(path) > 0, "{path} is asked");
    }
    let ports = [web.addr("a.test").port(), web.tls_addr("a.test").port()];
    let is_root = |hit: &Hit| ports.contains(&hit.local.port());
    let knows = |hit: &Hit| {
        hit.header(header)
            .is_some_and(|value| value.contains(PASSWORD) || value == BASIC)
    };
    for hit in log.iter().filter(|hit| is_root(hit)) {
        assert!(
            knows(hit),
            "the root's own origin is told, at {}",
            hit.target
        );
    }
    let strangers = log.iter().filter(|hit| !is_root(hit) && knows(hit));
    (
        strangers
            .map(|hit| format!("{}{}", hit.host, hit.target))
            .collect(),
        verdict,
    )
}

#[test]
fn a_password_stays_with_the_roots_origin() {
    let web = neighbours();
    let (strangers, verdict) = told(&web, "authorization", |config| {
        config.fetch.user = Some(Secret::new(format!("me:{PASSWORD}")));
    });
    assert!(strangers.is_empty(), "{strangers:?}");
    assert_nowhere(&verdict, &[PASSWORD, BASIC]);
}

/// Nobody but the user knows which of their headers is a secret, so all of them are.
#[test]
fn headers_stay_with_the_roots_origin() {
    for (name, value) in [
        ("Authorization", BEARER),
        ("cookie", "session=hunter2"),
        ("X-Api-Key", "hunter2"),
    ] {
        let web = neighbours();
        let (strangers, verdict) = told(&web, name, |config| {
            config.fetch.headers = vec![(name.to_owned(), Secret::new(value))];
        });
        assert!(strangers.is_empty(), "{name}: {strangers:?}");
        assert_nowhere(&verdict, &[PASSWORD]);
    }
}

#[test]
fn what_says_nothing_of_the_user_and_what_is_meant_for_all_goes_to_all() {
    let web = neighbours();
    let language = |config: &mut Config| {
        config.fetch.headers = vec![("accept-language".to_owned(), Secret::new("hunter2"))];
    };
    let (strangers, _) = told(&web, "accept-language", language);
    assert!(strangers.iter().any(|url| url.ends_with("/image")));
    let web = neighbours();
    let (strangers, verdict) = told(&web, "x-api-key", |config| {
        config.fetch.host_headers = vec![HostHeaders {
            host: "*".to_owned(),
            headers: vec![("X-Api-Key".to_owned(), Secret::new(PASSWORD))],
        }];
    });
    for part in ["/image", "/hop", "/robots.txt"] {
        assert!(
            strangers.iter().any(|url| url.ends_with(part)),
            "{strangers:?}"
        );
    }
    assert_nowhere(&verdict, &[PASSWORD]);
}

/// A root that redirects within its own domain keeps its credentials, from the first request to
/// the new host on, and also after the crawl was taken up again; elsewhere it loses them.
#[test]
fn a_root_that_moves_takes_its_headers_along_within_its_domain() {
    let front = "<a href=/deep>d</a><a href={{c.a.test}}/side>c</a>";
    let landing = || {
        Site::new()
            .page("/", Page::html(front))
            .page("/deep", Page::html("x"))
    };
    let side = || Site::new().handler(|_| Page::html("x").into());
    for (target, expected) in [("app.a.test", true), ("b.test", false)] {
        let to = format!("{{{{{target}}}}}/");
        let web = Web::new()
            .site("a.test", Site::new().page("/", Page::redirect(301, to)))
            .site("app.a.test", landing())
            .site("b.test", landing())
            .site("c.a.test", side())
            .start();
        crawl(&web, &web.url("a.test", "/"), |config| {
            config.scope.reach = Reach::Any;
            config.fetch.allow_private = vec![LOOPBACK.parse().expect("a range")];
            config.fetch.headers = vec![("X-Api-Key".to_owned(), Secret::new(PASSWORD))];
        });
        let log = web.log();
        for path in ["/robots.txt", "/", "/deep"] {
            let hits = log.of(target);
            let hit = hits.iter().find(|hit| hit.path() == path).expect("asked");
            assert_eq!(
                hit.header("x-api-key").is_some(),
                expected,
                "{target}{path}"
            );
        }
        let hits = log.of("c.a.test");
        assert!(hits.iter().all(|hit| hit.header("x-api-key").is_none()));
    }
}

#[test]
fn cookies_go_back_to_those_who_set_them() {
    let cookies = [
        "own=1",
        "domain=1; Domain=a.site.test",
        "parent=1; Domain=site.test",
        "suffix=1; Domain=test",
        "super=1; Domain=co.uk",
        "foreign=1; Domain=b.test",
        "secure=1; Secure",
        "__Host-bad=1",
        "evil=1\u{1b}[2J",
    ];
    let links = "<a href={{b.test}}/>b</a><a href={{c.site.test}}/>c</a>\
         <a href=/again>a</a><a href=/hop>h</a>";
    let front = cookies.iter().fold(Page::html(links), |page, cookie| {
        page.header("Set-Cookie", *cookie)
    });
    let root = Site::new()
        .page("/", front)
        .page("/again", Page::html("x"))
        .page(
            "/hop",
            Page::redirect(302, "{{b.test}}/hop").header("Set-Cookie", "hop=1"),
        );
    let other = || Site::new().handler(|_| Page::html("x").into());
    let web = Web::new()
        .site("a.site.test", root)
        .site("b.test", other())
        .site("c.site.test", other())
        .start();
    crawl(&web, &web.url("a.site.test", "/"), |config| {
        config.scope.reach = Reach::Any;
        config.fetch.allow_private = vec![LOOPBACK.parse().unwrap()];
    });
    let log = web.log();
    let sent = |host: &str, path: &str| {
        let hits = log.of(host);
        let hit = hits
            .iter()
            .find(|hit| hit.path() == path)
            .expect("it was asked");
        let mut names: Vec<String> = hit
            .header("cookie")
            .unwrap_or_default()
            .split("; ")
            .filter_map(|pair| Some(pair.split_once('=')?.0.to_owned()))
            .collect();
        names.sort_unstable();
        names.join(" ")
    };
    assert_eq!(sent("a.site.test", "/again"), "domain own parent");
    assert_eq!(sent("b.test", "/"), "");
    assert_eq!(sent("b.test", "/hop"), "");
    assert_eq!(sent("c.site.test", "/"), "parent");
}

/// One host may fill its share of the jar, not memory, and not its own requests.
#[test]
fn a_host_that_sets_thousands_of_cookies_is_bounded() {
    let paths: Vec<String> = (0..20).map(|number| format!("/{number}")).collect();
    let site = Site::new()
        .page("/", Page::html(terrarium::links(&paths)))
        .handler(|request| {
            let name = request.path().trim_start_matches('/').to_owned();
            let set = |page: Page, number: usize| {
                page.header("Set-Cookie", format!("c{name}-{number}={}", "v".repeat(50)))
            };
            (0..500).fold(Page::html("x"), set).into()
        });
    let web = Web::new().site("a.test", site).start();
    let verdict = crawl(&web, &web.url("a.test", "/"), |config| {
        config.politeness.host_concurrency = Some(1);
    });
    for path in &paths {
        assert_eq!(verdict.outcome(&web.url("a.test", path)), "fetched 200");
    }
    let log = web.log();
    let most = log
        .iter()
        .filter_map(|hit| hit.header("cookie"))
        .map(|value| value.split("; ").count());
    let most = most.max().unwrap_or(0);
    assert!((1..=50).contains(&most), "{most} cookies in one request");
}

#[test]
fn credentials_in_urls_are_kept_nowhere() {
    let with_user = |web: &LiveWeb, path: &str| {
        web.url("a.test", path)
            .replace("http://", "http://me:hunter2@")
    };
    let site = Site::new().handler(|_| Page::html("x").into());
    let web = Web::new().site("a.test", site).start();
    let link = |path: &str| with_user(&web, path);
    let front = format!(
        "<link rel=canonical href='{}'><a href='{}'>a</a><a href='/hop'>h</a><a href=/ftp>f</a>\
         <a href=/port>p</a><a href=/based>b</a><img src='{}'>",
        link("/canonical"),
        link("/link"),
        link("/image"),
    );
    let based = format!("<base href='{}'><a href=child>c</a>", link("/folder/"));
    let header = format!("<{}>; rel=next", link("/next"));
    web.put("a.test", "/", Page::html(front).header("Link", header));
    web.put("a.test", "/hop", Page::redirect(302, link("/target")));
    web.put(
        "a.test",
        "/ftp",
        Page::redirect(302, "ftp://me:hunter2@ftp.test/x"),
    );
    web.put(
        "a.test",
        "/port",
        Page::redirect(302, "http://me:hunter2@a.test:99999/x"),
    );
    web.put("a.test", "/based", Page::html(based));
    web.put(
        "a.test",
        "/robots.txt",
        Page::text(format!("Sitemap: {}\n", link("/map.xml"))),
    );
    web.put(
        "a.test",
        "/map.xml",
        Page::xml(terrarium::sitemap([link("/mapped")])),
    );
    let verdict = crawl(&web, &with_user(&web, "/"), |config| {
        config.scope.page_requisites = true;
    });
    for path in [
        "/link",
        "/canonical",
        "/target",
        "/folder/child",
        "/mapped",
        "/next",
        "/image",
    ] {
        assert_eq!(
            verdict.outcome(&web.url("a.test", path)),
            "fetched 200",
            "{path}"
        );
    }
    let log = web.log();
    let leaks = log
        .iter()
        .filter(|hit| contains(&hit.raw, PASSWORD) || hit.header("authorization").is_some());
    assert_eq!(leaks.count(), 0, "a page's password is nobody's");
    assert_nowhere(&verdict, &[PASSWORD]);
}

/// What is told of a root that is none does not repeat its password.
#[test]
fn credentials_of_a_bad_root_are_not_repeated() {
    for root in [
        "http://me:hunter2@a.test:99999/",
        "ftp://me:hunter2@a.test/",
        "http://me:hunter2@",
        "me:hunter2@a.test:99999",
    ] {
        let error = Crawl::new(root).start().expect_err("no root");
        for text in [error.to_string(), format!("{error:?}")] {
            assert!(!text.contains(PASSWORD), "{text}");
        }
    }
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

fn assert_nowhere(verdict: &Verdict, secrets: &[&str]) {
    for (name, bytes) in verdict.outputs() {
        for secret in secrets {
            assert!(!contains(&bytes, secret), "{secret} stands in {name}");
        }
    }
}
