//! Through a proxy: it resolves the names, and still does not open private addresses.

use clewline::Crawl;
use clewline_job::config::{Config, Reach, Secret};
use terrarium::{Dns, LiveWeb, Page, Site, Through, Web};

use crate::trial::{beside, config, run};

const DENIED: &str = "127.0.0.3";

fn web() -> LiveWeb {
    let denied = Site::new().handler(|_| Page::html("secrets").into());
    let front = "<a href={{127.0.0.3}}/link>l</a><a href=/hop>h</a>\
         <a href='{{https b.test}}/'>b</a>\
         <a href=/good/1>g</a><a href=/good/2>g</a><a href=/good/3>g</a><a href=/good/4>g</a>";
    let site = beside([])
        .page("/", Page::html(front))
        .page("/hop", Page::redirect(302, "{{127.0.0.3}}/hop"));
    Web::new()
        .site("a.test", site)
        .site("b.test", beside([]).tls())
        .site(DENIED, denied)
        // Whoever asks the name server is told of an address that must not be asked.
        .name("a.test", Dns::addresses([DENIED]))
        .name("b.test", Dns::addresses([DENIED]))
        .proxy_login("me", "hunter2")
        .start()
}

fn through(web: &LiveWeb, proxy: String) -> Config {
    let mut config = config(web, &[web.url("a.test", "/")]);
    config.scope.reach = Reach::Any;
    config.fetch.proxy = Some(Secret::new(proxy));
    config.fetch.insecure = true;
    config
}

fn check(scheme: &str, expected: [Through; 2]) {
    let web = web();
    let at = if scheme == "http" {
        web.http_proxy()
    } else {
        web.socks_proxy()
    };
    let config = through(&web, format!("{scheme}://me:hunter2@{at}"));
    let verdict = run(Crawl::from_config(config));
    verdict.assert_good(&web, "a.test");
    assert_eq!(verdict.outcome(&web.tls_url("b.test", "/")), "fetched 200");
    for path in ["/link", "/hop"] {
        let url = web.url(DENIED, path);
        assert_eq!(verdict.outcome(&url), "skipped private-address", "{url}");
    }
    let denied = DENIED.parse().expect("an address");
    assert_eq!(web.connections_at(denied), 0);
    assert!(
        web.dns_log().is_empty(),
        "names are the proxy's to resolve: {:?}",
        web.dns_log()
    );
    let proxied = web.proxied();
    assert!(
        proxied
            .iter()
            .all(|one| one.passed && one.target.contains(".test"))
    );
    for through in expected {
        assert!(
            proxied.iter().any(|one| one.through == through),
            "{through:?}"
        );
    }
    for (name, bytes) in verdict.outputs() {
        let leaks = bytes.windows(7).any(|window| window == b"hunter2");
        assert!(!leaks, "the proxy's password stands in {name}");
    }
    for hit in &web.log() {
        assert_eq!(
            hit.header("proxy-authorization").is_some(),
            hit.proxied,
            "{}",
            hit.target
        );
    }
}

#[test]
fn through_http() {
    check("http", [Through::Absolute, Through::Connect]);
}

#[test]
fn through_socks() {
    check("socks5", [Through::Socks, Through::Socks]);
}

#[test]
fn a_proxy_that_refuses_fails_the_url_and_ends() {
    let web = web();
    for (scheme, at) in [("http", web.http_proxy()), ("socks5", web.socks_proxy())] {
        let config = through(&web, format!("{scheme}://me:wrong@{at}"));
        let verdict = run(Crawl::from_config(config));
        let root = verdict.record(&web.url("a.test", "/"));
        let error = format!("{} {:?}", crate::trial::outcome(root), root.error);
        assert!(!error.contains("wrong"), "{error}");
        assert!(root.status.is_none() || root.status == Some(407), "{error}");
    }
    assert!(web.log().is_empty(), "nothing reaches a site");
}

/// A root that the user names by its private address is the user's word, proxy or not.
#[test]
fn a_private_root_is_asked_through_the_proxy() {
    let web = web();
    let at = web.socks_proxy();
    let mut config = through(&web, format!("socks5://me:hunter2@{at}"));
    config.roots = vec![clewline_job::config::Root::parse(&web.url(DENIED, "/root")).unwrap()];
    let verdict = run(Crawl::from_config(config));
    assert_eq!(verdict.outcome(&web.url(DENIED, "/root")), "fetched 200");
}
