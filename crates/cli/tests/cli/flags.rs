//! Every flag does what it says, seen from the server and from the records.

use std::time::Duration;

use clewline_job::record::{OutcomeKind, Record};
use terrarium::{Fault, LiveWeb, Log, Page, Reply, Site, Web};

use crate::place::{HOST, Place};

/// A site where each flag makes a difference.
fn playground() -> Site {
    let home = "<a href=/docs/a>a</a> <a href=/docs/b?sid=1>b</a> <a href=/docs/b?sid=2>b</a> \
                <a href=/hop/3>hop</a> <a rel=nofollow href=/quiet>q</a> <img src=/logo.png> \
                <a href=/flaky>f</a> <a href=/private>p</a> <a href=/big>g</a>";
    let flaky = Reply::flaky(1, Fault::Status(500), Page::html("at last"));
    Site::new()
        .robots("User-agent: *\nDisallow: /private\n")
        .page("/", Page::html(home).header("Set-Cookie", "seen=yes"))
        .page(
            "/docs/a",
            Page::html("<a href=/docs/deep>d</a><a href=/>home</a>"),
        )
        .page("/docs/b", Page::html("b"))
        .page("/docs/deep", Page::html("deep"))
        .chain("/hop", 3, "/docs/b")
        .page("/quiet", Page::html("quiet"))
        .page("/logo.png", Page::bytes("image/png", "png"))
        .page("/flaky", flaky)
        .page("/private", Page::html("private"))
        .page("/big", Page::html("x".repeat(5000)))
}

/// A crawl of the playground with some flags.
struct Crawled {
    log: Log,
    records: Vec<Record>,
}

impl Crawled {
    /// How often a path was asked for.
    fn asked(&self, path: &str) -> usize {
        self.log.count(path)
    }

    fn record(&self, path: &str) -> &Record {
        let mut found = self.records.iter().filter(|one| one.url.path() == path);
        found.next().unwrap_or_else(|| panic!("no {path}"))
    }

    /// A header of the request for a page.
    fn sent(&self, path: &str, name: &str) -> Option<&str> {
        let hit = self.log.iter().find(|hit| hit.path() == path)?;
        hit.header(name)
    }
}

fn crawl_of(web: &LiveWeb, root: &str, line: &[&str]) -> Crawled {
    let place = Place::new().with_file("cookies.txt", &cookies());
    let usual = ["-q", "-o", "job", "--retry-delay", "1ms", root];
    let ran = place.run(&[&usual[..], line].concat());
    assert_eq!((ran.code, ran.talk.as_str()), (0, ""), "{line:?}");
    Crawled {
        log: web.log(),
        records: place.records("job"),
    }
}

fn crawl(line: &str) -> Crawled {
    let web = Web::new().site(HOST, playground()).start();
    let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
    crawl_of(&web, &web.url(HOST, "/"), &words)
}

fn cookies() -> String {
    format!("{HOST}\tFALSE\t/\tFALSE\t0\tgiven\tbefore\n")
}

/// A crawl without flags, to compare with.
struct Plain(Crawled);

impl Plain {
    fn new() -> Self {
        Self(crawl(""))
    }

    /// Crawls with each of the flags, which are names of the same, and checks what came of it.
    fn check(&self, flags: &[&str], is_right: impl Fn(&Crawled) -> bool) {
        assert!(!is_right(&self.0), "{flags:?} changes nothing");
        for line in flags {
            let crawled = crawl(line);
            assert!(is_right(&crawled), "{line}: {:?}", crawled.log.paths(HOST));
        }
    }
}

#[test]
fn scope() {
    let plain = Plain::new();
    plain.check(&["-d 1", "--level 1"], |c| c.asked("/docs/deep") == 0);
    plain.check(&["--include /docs/", "--accept-regex /docs/"], |c| {
        c.asked("/flaky") == 0
    });
    plain.check(&["--exclude deep", "--reject-regex deep"], |c| {
        c.asked("/docs/deep") == 0
    });
    plain.check(&["-p"], |c| c.asked("/logo.png") == 1);
    plain.check(&["--accept-types text/plain"], |c| {
        c.record("/").outcome == OutcomeKind::Skipped
    });
    plain.check(&["--drop-params sid", "--drop-params x,s*"], |c| {
        c.asked("/docs/b") == 1
    });
    plain.check(&["--no-sitemaps"], |c| c.asked("/sitemap.xml") == 0);
    plain.check(&["--follow-nofollow"], |c| c.asked("/quiet") == 1);
    plain.check(&["--ignore-robots"], |c| c.asked("/private") == 1);
    plain.check(&["--scope page"], |c| c.asked("/docs/a") == 0);
}

#[test]
fn reach() {
    let home = "<a href=/docs/a>a</a><a href={{www.a.test}}/w>w</a><a href={{sub.a.test}}/s>s</a>\
                <a href={{b.test}}/b>b</a>";
    let deep = "<a href=/docs/b>b</a><a href=/>home</a>";
    let check = |flags: &[&str], root: &str, expected: &[&str]| {
        let web = Web::new()
            .site(
                "a.test",
                Site::new().pages([("/", home), ("/docs/a", deep), ("/docs/b", "b")]),
            )
            .site("www.a.test", Site::new().pages([("/w", "w")]))
            .site("sub.a.test", Site::new().pages([("/s", "s")]))
            .site("b.test", Site::new().pages([("/b", "b")]))
            .start();
        let dns = web.dns_addr().to_string();
        let line = [
            "--dns",
            &dns,
            "--no-sitemaps",
            "--speed",
            "max",
            "--allow-private",
        ];
        let crawled = crawl_of(&web, &web.url("a.test", root), &[&line[..], flags].concat());
        let mut paths: Vec<&str> = crawled.log.iter().map(terrarium::Hit::path).collect();
        paths.retain(|path| *path != "/robots.txt");
        paths.sort_unstable();
        assert_eq!(paths, expected, "{flags:?}");
    };
    let host: &[&str] = &["/", "/docs/a", "/docs/b", "/w"];
    check(&[], "/", host);
    check(&["--strict"], "/", host);
    check(&["--scope", "host"], "/", host);
    let domain: &[&str] = &["/", "/docs/a", "/docs/b", "/s", "/w"];
    check(&["--lenient"], "/", domain);
    check(&["--scope", "domain"], "/", domain);
    let any = ["--scope", "any", "--contact", "me@example.com"];
    check(&any, "/", &["/", "/b", "/docs/a", "/docs/b", "/s", "/w"]);
    check(&["--no-parent"], "/docs/a", &["/docs/a", "/docs/b"]);
    check(&["--scope", "path"], "/docs/a", &["/docs/a", "/docs/b"]);
}

#[test]
fn budgets() {
    let plain = Plain::new();
    plain.check(&["-n 2"], |c| c.asked("/docs/deep") == 0);
    plain.check(&["--max-pages-per-host 2"], |c| c.asked("/docs/deep") == 0);
    plain.check(&["--max-bytes 1", "--quota 1"], |c| c.asked("/docs/a") == 0);
    plain.check(&["--max-links 1"], |c| c.asked("/docs/b") == 0);
    plain.check(&["--max-url 30"], |c| c.asked("/docs/deep") == 0);
}

#[test]
fn pace() {
    for line in ["--delay 80ms", "--wait 80ms", "--rate 12/s"] {
        let crawled = crawl(&format!("{line} -d 1 --no-sitemaps --include /docs/"));
        let (first, last) = (crawled.log.first(), crawled.log.last());
        let spread = last.unwrap().at - first.unwrap().at;
        assert_eq!(crawled.log.len(), 5);
        // Four gaps. A busy server may read one request late, never all of them early.
        assert!(
            spread >= Duration::from_millis(3 * 80),
            "{line}: {spread:?}"
        );
    }
    for line in ["--concurrency 1", "--max_tasks 1", "--host-concurrency 1"] {
        let most = crawl(line).log.greatest_concurrency(HOST);
        assert_eq!(most, 1, "{line}");
    }
    let flags = ["-t 1", "--max_tries 1"];
    Plain::new().check(&flags, |c| c.asked("/flaky") == 1);
}

#[test]
fn requests() {
    let plain = Plain::new();
    plain.check(&["-A mybot/1.0"], |c| {
        c.sent("/", "User-Agent") == Some("mybot/1.0")
    });
    plain.check(&["--contact me@example.com"], |c| {
        c.sent("/", "User-Agent")
            .unwrap()
            .contains("me@example.com")
    });
    plain.check(&["-H X-A:1"], |c| c.sent("/", "X-A") == Some("1"));
    plain.check(&["-u me:secret"], |c| {
        c.sent("/docs/a", "Authorization").is_some()
    });
    plain.check(&["-b cookies.txt", "--load-cookies cookies.txt"], |c| {
        c.sent("/", "Cookie") == Some("given=before")
    });
    plain.check(&["--no-cookies"], |c| c.sent("/docs/a", "Cookie").is_none());
    plain.check(&["--max-redirects 1", "--max_redirect 1"], |c| {
        c.asked("/hop/1") == 0
    });
    plain.check(&["--max-body 1k"], |c| c.record("/big").truncated);
}

#[test]
fn timeouts() {
    let site = || {
        Site::new()
            .page("/", Page::html("<a href=/x>x</a>"))
            .page("/x", Reply::silence())
    };
    for flag in ["-T", "--timeout"] {
        let web = Web::new().site(HOST, site()).start();
        let line = ["-t", "1", flag, "100ms"];
        let crawled = crawl_of(&web, &web.url(HOST, "/"), &line);
        assert_eq!(crawled.record("/x").outcome, OutcomeKind::Failed, "{flag}");
    }
}

#[test]
fn certificates() {
    let web = Web::new().site("a.test", playground().tls()).start();
    let place = Place::new().with_file("ca.pem", web.ca_pem());
    let authority = place.path("ca.pem");
    let authority = authority.to_str().unwrap();
    let dns = web.dns_addr().to_string();
    for flags in [
        &["-k"][..],
        &["--insecure"],
        &["--no-check-certificate"],
        &["--cacert", authority],
        &["--ca-certificate", authority],
    ] {
        let line = [&["-n", "1", "--dns", &dns], flags].concat();
        let ran = Place::new().run(&[&line[..], &["-q", &web.tls_url("a.test", "/")]].concat());
        assert_eq!((ran.code, ran.talk.as_str()), (0, ""), "{flags:?}");
    }
}

#[test]
fn addresses() {
    let web = Web::new().site("a.test", playground()).start();
    let address = web.addr("a.test");
    let (ip, port) = (address.ip(), address.port());
    let reached = |root: &str, flags: &[&str]| {
        let crawled = crawl_of(&web, root, &[&["-n", "1"], flags].concat());
        assert_eq!(crawled.record("/").address, Some(ip), "{flags:?}");
    };
    let root = format!("http://a.test:{port}/");
    reached(&root, &["--dns", &web.dns_addr().to_string()]);
    reached(&root, &["--resolve", &format!("a.test:{port}:{ip}")]);
    let there = format!("a.test:80:{ip}:{port}");
    reached(
        "http://a.test/",
        &["--connect-to", &there, "--resolve", "a.test:80:127.0.0.1"],
    );
    for proxy in [
        format!("http://{}", web.http_proxy()),
        format!("socks5://{}", web.socks_proxy()),
    ] {
        let before = web.proxied().len();
        crawl_of(&web, &root, &["-n", "1", "-x", &proxy]);
        assert!(web.proxied().len() > before, "{proxy}");
        let exempt = ["--noproxy", "a.test", "--dns", &web.dns_addr().to_string()];
        let before = web.proxied().len();
        crawl_of(
            &web,
            &root,
            &[&["-n", "1", "--proxy", &proxy], &exempt[..]].concat(),
        );
        assert_eq!(web.proxied().len(), before, "{proxy}");
    }
}

#[test]
fn private_addresses() {
    let count = |flags: &[&str]| {
        let web = Web::new()
            .site(
                HOST,
                Site::new().page("/", Page::html("<img src={{near.test}}/i.png>")),
            )
            .site(
                "near.test",
                Site::new().page("/i.png", Page::bytes("image/png", "png")),
            )
            .start();
        let dns = web.dns_addr().to_string();
        let line = [&["-p", "--dns", &dns], flags].concat();
        crawl_of(&web, &web.url(HOST, "/"), &line).asked("/i.png")
    };
    assert_eq!(count(&[]), 0);
    assert_eq!(count(&["--allow-private"]), 1);
    assert_eq!(count(&["--allow-private", "127.0.0.0/8"]), 1);
    assert_eq!(count(&["--allow-private=10.0.0.0/8"]), 0);
}
