//! Pages that point the crawler at machines it must not ask.
//!
//! The root lives at 127.0.0.2, which it makes permissible; 127.0.0.3 stands for everything
//! private. No connection may ever reach it, whatever names it.

use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use clewline::Crawl;
use clewline::fetch::{FetchFailure, Fetcher, HttpFetcher, Request, Resolution, Response};
use clewline_core::url::CrawlUrl;
use clewline_job::config::{Config, Reach};
use futures_util::future::BoxFuture;
use terrarium::{Dns, LiveWeb, Page, Site, Web};

use crate::trial::{Verdict, beside, config, crawl, run};

const ALLOWED: &str = "127.0.0.2";
const DENIED: &str = "127.0.0.3";

fn connections(web: &LiveWeb, address: &str) -> u64 {
    web.connections_at(address.parse().expect("the constants are addresses"))
}

/// Any host, parts of pages too: only the address check stands in the way.
fn anywhere(config: &mut Config) {
    config.scope.reach = Reach::Any;
    config.scope.page_requisites = true;
}

fn denied() -> Site {
    Site::new()
        .at(DENIED)
        .handler(|_| Page::html("secrets").into())
}

/// Every URL on the denied address was skipped for that reason, and there are some.
fn assert_denied(web: &LiveWeb, verdict: &Verdict, least: usize) {
    assert_eq!(connections(web, DENIED), 0, "{DENIED} was connected to");
    let port = web.addr("denied.test").port();
    let to_denied = verdict
        .records
        .values()
        .filter(|record| record.url.port() == port);
    let outcomes: Vec<_> = to_denied
        .map(|record| (record.url.as_str(), crate::trial::outcome(record)))
        .collect();
    assert!(outcomes.len() >= least, "{outcomes:?}");
    for (url, outcome) in outcomes {
        assert_eq!(outcome, "skipped private-address", "{url}");
    }
}

/// A web in which 127.0.0.2 names 127.0.0.3 in every way that a page can.
fn treacherous() -> LiveWeb {
    let front = "<a href={{denied.test}}/link>a</a><a href={{127.0.0.3}}/literal>a</a>\
         <iframe src={{denied.test}}/frame></iframe>\
         <link rel=canonical href={{denied.test}}/canonical>\
         <img src={{denied.test}}/image><img srcset='{{denied.test}}/srcset 2x'>\
         <script src={{denied.test}}/script></script>\
         <link rel=stylesheet href={{denied.test}}/style>\
         <style>p { background: url({{denied.test}}/css) }</style>\
         <meta http-equiv=refresh content='0;url={{denied.test}}/refresh'>\
         <a href=/hop>a</a><a href=/image-hop><img src=/image-hop></a>\
         <a href={{other.test}}/>other</a>";
    let front = Page::html(front).header("Link", "<{{denied.test}}/header>; rel=next");
    let allowed = beside([])
        .at(ALLOWED)
        .page("/", front)
        .page("/hop", Page::redirect(302, "{{denied.test}}/hop"))
        .page(
            "/image-hop",
            Page::redirect(307, "{{denied.test}}/image-hop"),
        )
        .robots("Sitemap: {{denied.test}}/sitemap.xml\nSitemap: {{allowed.test}}/map.xml\n")
        .page(
            "/map.xml",
            Page::xml(terrarium::sitemap(["{{denied.test}}/mapped"])),
        );
    let other = beside([]).at(ALLOWED).page(
        "/robots.txt",
        Page::redirect(302, "{{denied.test}}/robots.txt"),
    );
    Web::new()
        .site("allowed.test", allowed)
        .site("other.test", other)
        .site("denied.test", denied())
        .site("127.0.0.3", Site::new())
        .start()
}

#[test]
fn no_reference_leads_to_a_private_address() {
    let web = treacherous();
    let root = web.url("allowed.test", "/");
    let verdict = crawl(&web, &root, anywhere);
    assert_eq!(verdict.outcome(&root), "fetched 200");
    // link, literal, frame, canonical, header, refresh, image, srcset, script, style, css,
    // both hops, the sitemap and what a sitemap lists.
    assert_denied(&web, &verdict, 15);
    let other = verdict.record(&web.url("other.test", "/"));
    assert_eq!(crate::trial::outcome(other), "skipped robots-unreachable");
}

/// The same web with the address allowed: the test above can fail.
#[test]
fn an_address_that_is_allowed_is_asked() {
    let web = treacherous();
    let verdict = crawl(&web, &web.url("allowed.test", "/"), |config| {
        anywhere(config);
        config.fetch.allow_private = vec![DENIED.parse().unwrap()];
    });
    assert!(connections(&web, DENIED) > 0);
    let link = web.url("denied.test", "/link");
    assert_eq!(verdict.outcome(&link), "fetched 200");
}

#[test]
fn a_root_that_redirects_to_a_private_address_ends_there() {
    let front = Page::redirect(302, "{{denied.test}}/inside");
    let web = Web::new()
        .site("allowed.test", Site::new().at(ALLOWED).page("/", front))
        .site("denied.test", denied())
        .start();
    let verdict = crawl(&web, &web.url("allowed.test", "/"), |_| {});
    assert_denied(&web, &verdict, 1);
}

#[test]
fn odd_forms_of_an_address_are_the_address() {
    let forms = [
        "2130706435",
        "0x7f000003",
        "0x7f.3",
        "0177.0.0.3",
        "127.3",
        "127.0.3",
        "127.0.0.3.",
        "１２７.０.０.３",
        "127。0。0。3",
        "%31%32%37.0.0.3",
        "[::ffff:127.0.0.3]",
        "[::ffff:7f00:3]",
        "[64:ff9b::7f00:3]",
        "[2002:7f00:3::1]",
        "user@127.0.0.3",
        "good.test%2e@127.0.0.3",
        "[::1]",
        "localhost",
        "any.localhost",
        "0.0.0.0",
        "0",
    ];
    let web = Web::new()
        .site("allowed.test", Site::new().at(ALLOWED))
        .site("denied.test", denied())
        .start();
    let port = web.addr("denied.test").port();
    let links = |form: &&str| format!("http://{form}:{port}/{}", form.len());
    let front = Page::html(terrarium::links(forms.iter().map(links)));
    web.put("allowed.test", "/", front);
    let verdict = crawl(&web, &web.url("allowed.test", "/"), anywhere);
    assert_denied(&web, &verdict, 12);
    let skipped = verdict
        .records
        .values()
        .filter(|record| record.url.port() == port);
    for record in skipped {
        let host = record.url.host();
        let is_known = record.url.ip().is_some() || host.ends_with("localhost");
        assert!(is_known, "{host} is no address any more");
    }
}

/// The address that was checked is the address that is asked, however often the name changes.
#[test]
fn a_name_that_changes_its_address_is_pinned() {
    let alternate = || Dns::alternate([ALLOWED, DENIED]).ttl(Duration::ZERO);
    let site = || beside(["{{evil.test}}/evil"]).at(ALLOWED);
    let web = Web::new()
        .site("root.test", site())
        .site("evil.test", site())
        .site("denied.test", denied())
        .name("root.test", alternate())
        .name("evil.test", alternate())
        .start();
    let verdict = crawl(&web, &web.url("root.test", "/"), anywhere);
    assert_eq!(connections(&web, DENIED), 0);
    verdict.assert_good(&web, "root.test");
    for name in ["root.test", "evil.test"] {
        let asked = web
            .dns_log()
            .into_iter()
            .filter(|query| query.name == name && query.kind == 1);
        assert_eq!(asked.count(), 1, "{name} is resolved once");
    }
}

/// Resolves every name to the allowed address once and to another one ever after.
struct Rebinding {
    inner: HttpFetcher,
    asked: AtomicUsize,
    later: &'static str,
    ttl: Duration,
}

impl Rebinding {
    fn new(config: &Config, later: &'static str, ttl: Duration) -> Self {
        let inner = HttpFetcher::new(&config.fetch).expect("the settings of tests are sound");
        Self {
            inner,
            asked: AtomicUsize::new(0),
            later,
            ttl,
        }
    }
}

impl Fetcher for Rebinding {
    fn resolve<'a>(
        &'a self,
        _host: &'a str,
        _port: u16,
    ) -> BoxFuture<'a, Result<Resolution, FetchFailure>> {
        let first = self.asked.fetch_add(1, Ordering::SeqCst) == 0;
        let address = if first { ALLOWED } else { self.later };
        let address: IpAddr = address.parse().expect("the constants are addresses");
        let resolution = Resolution {
            addresses: vec![address],
            ttl: self.ttl,
            trusted: false,
        };
        Box::pin(std::future::ready(Ok(resolution)))
    }

    fn fetch(&self, request: Request) -> BoxFuture<'_, Result<Response, FetchFailure>> {
        self.inner.fetch(request)
    }

    fn proxied(&self, url: &CrawlUrl) -> bool {
        self.inner.proxied(url)
    }
}

/// A root makes only the first answer permissible, not what its name stands for later.
#[test]
fn a_second_answer_is_checked_like_a_strangers() {
    let paths: Vec<String> = (0..20).map(|number| format!("/{number}")).collect();
    let site = Site::new()
        .at(ALLOWED)
        .page("/", Page::html(terrarium::links(&paths)))
        .handler(|_| Page::html("x").delay(Duration::from_millis(20)).into());
    let web = Web::new()
        .site("root.test", site)
        .site("denied.test", denied())
        .start();
    let mut config = config(&web, &[web.url("root.test", "/")]);
    config.politeness.host_concurrency = Some(1);
    config.scope.robots = false;
    let fetcher = Rebinding::new(&config, DENIED, Duration::from_millis(100));
    let verdict = run(Crawl::from_config(config).fetcher(fetcher));
    assert_eq!(connections(&web, DENIED), 0);
    assert_eq!(verdict.outcome(&web.url("root.test", "/")), "fetched 200");
    assert_eq!(
        verdict.outcome(&web.url("root.test", "/19")),
        "skipped private-address"
    );
}

/// An answer that counts for no time at all still serves the request it was asked for.
#[test]
fn an_answer_without_a_life_is_used() {
    let web = Web::new().site("root.test", beside([]).at(ALLOWED)).start();
    let mut config = config(&web, &[web.url("root.test", "/")]);
    config.limits.time = Some(Duration::from_secs(5));
    let fetcher = Rebinding::new(&config, ALLOWED, Duration::ZERO);
    let verdict = run(Crawl::from_config(config).fetcher(fetcher));
    verdict.assert_good(&web, "root.test");
}
