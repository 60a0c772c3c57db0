//! Inspections of a synthetic web.

mod links;
mod same;

use std::collections::BTreeSet;
use std::time::Duration;

use clewline_core::outcome::{FailureClass, SkipReason};
use terrarium::{Dns, Door, LiveWeb, Page, Reply, Site, Web};

use super::fields::{charset_source, shown};
use clewline_job::inspection::{CharsetSource, Conclusion, Remark, RobotsState, json};

use super::*;
use crate::config::{Root, Speed};
use crate::headers::Headers;

/// A configuration that knows the web's names as a crawl would: from its name server, so that
/// only the root's own host is trusted.
fn config(web: &LiveWeb, root: &str) -> Config {
    let mut config = Config {
        roots: vec![Root::parse(root).unwrap()],
        ..Config::default()
    };
    config.fetch.dns = Some(web.dns_addr());
    config.fetch.no_proxy = vec!["*".to_owned()];
    config.politeness.speed = Some(Speed::Max);
    config.politeness.retry_delay = Some(Duration::from_millis(1));
    config
}

/// Inspects a path of `a.test`.
async fn seen(web: &LiveWeb, path: &str) -> Inspection {
    inspect(&config(web, &web.url("a.test", path)))
        .await
        .unwrap()
}

fn statuses(inspection: &Inspection) -> Vec<Option<u16>> {
    inspection.hops.iter().map(|hop| hop.status).collect()
}

fn skipped(inspection: &Inspection) -> Option<SkipReason> {
    match inspection.conclusion {
        Conclusion::Skipped { reason, .. } => Some(reason),
        _ => None,
    }
}

fn why(inspection: &Inspection) -> &str {
    match &inspection.conclusion {
        Conclusion::Fetched => "",
        Conclusion::Redirected { why, .. }
        | Conclusion::Skipped { why, .. }
        | Conclusion::Failed { why, .. } => why,
    }
}

#[tokio::test]
async fn a_page_behind_a_redirect() {
    let robots = "User-agent: *\nDisallow: /private\nAllow: /new\nCrawl-delay: 0.1\n\
                  Sitemap: http://a.test/map.xml\n";
    let page = Page::html("<title> The \n page</title><link rel=canonical href=/canon>")
        .header("X-Robots-Tag", "noindex");
    let moved = Page::redirect(301, "/new?x=1").header("Set-Cookie", "id=hunter2; Path=/");
    let site = Site::new()
        .robots(robots)
        .page("/old", moved)
        .page("/new", page);
    let web = Web::new().site("a.test", site).start();
    let seen = seen(&web, "/old").await;

    assert_eq!(seen.conclusion, Conclusion::Fetched);
    let gap = web.log().smallest_gap("a.test").unwrap();
    assert!(gap >= Duration::from_millis(90), "{gap:?}");
    assert_eq!(statuses(&seen), [Some(301), Some(200)]);
    let [first, last] = &seen.hops[..] else {
        panic!("two hops")
    };
    assert_eq!(first.location.as_deref(), Some("/new?x=1"));
    assert_eq!((first.cookies_sent, first.cookies_kept), (false, 1));
    assert_eq!((last.cookies_sent, last.cookies_kept), (true, 0));
    assert_eq!(last.address, Some(web.addr("a.test").ip()));
    assert!(last.phases.first_byte.is_some() && last.phases.total > last.phases.first_byte);
    assert!(last.started > first.started && seen.total >= last.started);
    let cookie = ("Set-Cookie".to_owned(), "id=(secret); Path=/".to_owned());
    assert!(first.headers.contains(&cookie), "{:?}", first.headers);

    let file = &seen.robots[0];
    assert_eq!((seen.robots.len(), file.state), (1, RobotsState::Found));
    assert_eq!(
        (file.group.as_deref(), file.crawl_delay),
        (Some("*"), Some(0.1))
    );
    assert_eq!(file.sitemaps, ["http://a.test/map.xml"]);
    let lines: Vec<_> = file
        .verdicts
        .iter()
        .map(|it| (it.allowed, it.line))
        .collect();
    assert_eq!(lines, [(true, None), (true, Some(3))]);
    assert_eq!(file.verdicts[1].text.as_deref(), Some("Allow: /new"));
    assert!(file.hops[0].phases.resolve.is_some() && file.hops[0].phases.connect.is_some());

    let page = seen.page.unwrap();
    assert_eq!(
        (page.status, page.title.as_deref()),
        (200, Some("The page"))
    );
    assert_eq!(page.content_type.as_deref(), Some("text/html"));
    assert_eq!(page.charset, Some("UTF-8"));
    assert_eq!(page.charset_by, Some(CharsetSource::ContentType));
    assert_eq!(page.canonical.unwrap().path(), "/canon");
    assert!(page.noindex && !page.nofollow && !page.truncated);
    assert_eq!(page.body_bytes, seen.body.len() as u64);
    assert!(page.wire_bytes > page.body_bytes && page.digest.unwrap().starts_with("xxh3:"));
}

#[tokio::test]
async fn robots_denies_by_a_line() {
    let site = Site::new()
        .robots("# mine\nUser-agent: clewline\nDisallow: /x # no\n\nUser-agent: *\nAllow: /\n")
        .page("/x", Page::html("secret"))
        .page("/to-x", Page::redirect(302, "/x"));
    let web = Web::new().site("a.test", site).start();
    for (path, hops) in [("/x", vec![None]), ("/to-x", vec![Some(302), None])] {
        let seen = seen(&web, path).await;
        assert_eq!(skipped(&seen), Some(SkipReason::Robots));
        assert_eq!(why(&seen), "robots.txt line 3: Disallow: /x");
        assert_eq!(statuses(&seen), hops);
        let file = &seen.robots[0];
        let verdict = file.verdicts.last().unwrap();
        assert_eq!((verdict.allowed, verdict.line), (false, Some(3)));
        assert_eq!(file.group.as_deref(), Some("clewline"));
        assert!(seen.page.is_none());
    }
    assert_eq!(
        web.log().count("/x"),
        0,
        "a disallowed page is not asked for"
    );

    let mut config = config(&web, &web.url("a.test", "/x"));
    config.scope.robots = false;
    let seen = inspect(&config).await.unwrap();
    assert_eq!(
        (seen.conclusion, web.log().count("/x")),
        (Conclusion::Fetched, 1)
    );
    let file = &seen.robots[0];
    assert!(
        file.ignored && !file.verdicts[0].allowed,
        "the verdict is told all the same"
    );
}

#[tokio::test]
async fn robots_that_is_absent_redirected_or_out_of_order() {
    let site = |robots: Reply| {
        let site = Site::new().page("/", Page::html("hello"));
        Web::new()
            .site("a.test", site.page("/robots.txt", robots))
            .site(
                "b.test",
                Site::new().page("/r", Page::text("User-agent: *\nDisallow: /")),
            )
            .start()
    };
    for (robots, state, skip) in [
        (Page::empty(404), RobotsState::Absent, None),
        (Page::empty(410), RobotsState::Absent, None),
        (
            Page::redirect(301, "{{a.test}}/robots.txt?again"),
            RobotsState::Absent,
            None,
        ),
        (
            Page::empty(503),
            RobotsState::Unreachable,
            Some(SkipReason::RobotsUnreachable),
        ),
        (
            Page::empty(429),
            RobotsState::Unreachable,
            Some(SkipReason::RobotsUnreachable),
        ),
        (
            Page::text("User-agent: *").close_after(3),
            RobotsState::Unreachable,
            Some(SkipReason::RobotsUnreachable),
        ),
        (
            Page::redirect(301, "http://nobody.test/robots.txt"),
            RobotsState::Unreachable,
            Some(SkipReason::RobotsUnreachable),
        ),
        (
            Page::redirect(301, "{{b.test}}/r"),
            RobotsState::Found,
            Some(SkipReason::Robots),
        ),
        (
            Page::text("User-agent: *\nCrawl-delay: 400"),
            RobotsState::Found,
            Some(SkipReason::CrawlDelay),
        ),
    ] {
        let name = format!("{robots:?}");
        let web = site(robots.into());
        let mut config = config(&web, &web.url("a.test", "/"));
        config.fetch.allow_private = vec!["127.0.0.0/8".parse().unwrap()];
        let seen = inspect(&config).await.unwrap();
        assert_eq!(skipped(&seen), skip, "{name} {:?}", seen.conclusion);
        assert_eq!(
            (seen.robots.len(), seen.robots[0].state),
            (1, state),
            "{name}"
        );
        assert_eq!(web.log().count("/"), usize::from(skip.is_none()), "{name}");
        config.scope.robots = false;
        let seen = inspect(&config).await.unwrap();
        assert_eq!(seen.conclusion, Conclusion::Fetched, "ignored: {name}");
    }
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_refused() {
    let a = Site::new().page("/", Page::redirect(302, "{{b.test}}/x"));
    let b = Site::new().page("/x", Page::html("inside"));
    let web = Web::new().site("a.test", a).site("b.test", b).start();
    let seen = seen(&web, "/").await;
    assert_eq!(skipped(&seen), Some(SkipReason::PrivateAddress));
    assert_eq!(statuses(&seen), [Some(302), None]);
    assert_eq!(web.connections_at(web.addr("b.test").ip()), 0);

    let mut config = config(&web, &web.url("a.test", "/"));
    config.fetch.allow_private = vec!["127.0.0.0/8".parse().unwrap()];
    let seen = inspect(&config).await.unwrap();
    assert_eq!(seen.conclusion, Conclusion::Fetched);
    let host = "b.test".to_owned();
    assert_eq!(seen.remarks, [Remark::HostJoined { host }]);
    assert_eq!(seen.robots.len(), 2, "each origin has its own robots.txt");
}

#[tokio::test]
async fn chains_that_end_badly_or_well() {
    let site = Site::new()
        .chain("/chain", 5, "/end")
        .redirect_loop("/loop", 3)
        .page("/end", Page::html("end"))
        .page("/wall", Reply::cookie_wall("pass", Page::html("inside")))
        .page("/nowhere", Page::redirect(301, "mailto:a@b.c"))
        .page("/slow", Page::retry_after(503, "1"))
        .page("/cut", Page::html("0123456789").close_after(4));
    let web = Web::new().site("a.test", site).start();

    let chain = seen(&web, "/chain/5").await;
    assert_eq!(chain.conclusion, Conclusion::Fetched);
    assert_eq!(chain.hops.len(), 6);
    let mut short = config(&web, &web.url("a.test", "/chain/5"));
    short.limits.redirects = 2;
    let chain = inspect(&short).await.unwrap();
    assert_eq!(why(&chain), "the chain of redirects is too long");
    assert_eq!(chain.hops.len(), 3);

    let circle = seen(&web, "/loop/1").await;
    let failure = match &circle.conclusion {
        Conclusion::Failed { failure, why } => (*failure, why.contains("leads back")),
        other => panic!("{other:?}"),
    };
    assert_eq!(failure, (FailureClass::RedirectLoop, true));
    assert_eq!(circle.hops.len(), 3);

    let wall = seen(&web, "/wall").await;
    assert_eq!(statuses(&wall), [Some(302), Some(200)]);
    assert_eq!(&wall.body[..], b"inside");

    let nowhere = seen(&web, "/nowhere").await;
    assert_eq!(nowhere.conclusion, Conclusion::Fetched);
    let problem = nowhere.page.unwrap().problem.unwrap();
    assert!(problem.contains("cannot be followed"), "{problem}");

    let slow = seen(&web, "/slow").await;
    assert_eq!(slow.conclusion, Conclusion::Fetched);
    assert_eq!(slow.remarks, [Remark::WouldRetry { status: 503 }]);
    assert_eq!(
        (slow.page.unwrap().status, web.log().count("/slow")),
        (503, 1)
    );

    let cut = seen(&web, "/cut").await;
    assert!(matches!(
        cut.conclusion,
        Conclusion::Failed {
            failure: FailureClass::Incomplete,
            ..
        }
    ));
    assert!(cut.hops[0].status == Some(200) && cut.hops[0].failure.is_some());
    assert_eq!(web.log().count("/cut"), 1);
}

#[tokio::test]
async fn hosts_that_cannot_be_reached() {
    let web = Web::new()
        .site("a.test", Site::new())
        .site("refused.test", Site::new().door(Door::Refused))
        .start();
    for (url, class) in [
        (web.url("refused.test", "/"), FailureClass::Connect),
        ("http://nobody.test/".to_owned(), FailureClass::DnsNotFound),
    ] {
        let seen = inspect(&config(&web, &url)).await.unwrap();
        let Conclusion::Failed { failure, .. } = seen.conclusion else {
            panic!("{url} {:?}", seen.conclusion)
        };
        assert_eq!((failure, seen.hops.len()), (class, 1), "{url}");
        assert_eq!(
            seen.hops[0].failure.as_ref().map(|it| it.class),
            Some(class)
        );
        assert_eq!(seen.hops[0].url.as_str(), url);
        assert!(seen.robots.is_empty() && seen.page.is_none());
    }
}

#[tokio::test]
async fn a_guessed_scheme_falls_back_to_http() {
    let site = Site::new().page("/", Page::html("plain"));
    let web = Web::new().site("a.test", site).start();
    let typed = format!("a.test:{}", web.addr("a.test").port());
    let mut config = config(&web, &typed);
    // A plain server may well wait for the rest of what is a TLS greeting.
    config.fetch.connect_timeout = Duration::from_secs(1);
    let seen = inspect(&config).await.unwrap();
    assert_eq!(seen.conclusion, Conclusion::Fetched);
    let schemes: Vec<_> = seen
        .hops
        .iter()
        .map(|hop| hop.url.scheme().as_str())
        .collect();
    assert_eq!(schemes, ["https", "http"]);
    assert!(seen.hops[0].failure.is_some());
    assert!(matches!(&seen.remarks[..], [Remark::SchemeFellBack { .. }]));
}

#[tokio::test]
async fn every_address_of_a_host_gets_its_turn() {
    let site = Site::new().page("/", Page::html("found")).at("127.0.77.3");
    let dead = ["127.0.77.1", "127.0.77.2"];
    let all = Dns::addresses(dead.into_iter().chain(["127.0.77.3"]));
    let web = Web::new().site("a.test", site).name("a.test", all).start();
    let mut config = config(&web, &web.url("a.test", "/"));
    let seen = inspect(&config).await.unwrap();
    assert_eq!(seen.conclusion, Conclusion::Fetched, "{:#?}", seen.hops);
    let asked: BTreeSet<_> = seen.hops.iter().map(|hop| hop.address).collect();
    assert_eq!(asked.len(), seen.hops.len(), "no address is asked twice");

    config.fetch.resolve = vec![format!("a.test:*:{}", dead.join(","))];
    let seen = inspect(&config).await.unwrap();
    assert!(matches!(seen.conclusion, Conclusion::Failed { .. }));
    assert_eq!(seen.hops.len(), 2, "once for each address");
}

#[tokio::test]
async fn a_robots_file_on_a_private_address_is_not_read() {
    let a = Site::new()
        .page("/", Page::html("hello"))
        .page("/robots.txt", Page::redirect(301, "{{b.test}}/robots.txt"));
    let web = Web::new()
        .site("a.test", a)
        .site("b.test", Site::new().robots("User-agent: *\nAllow: /"))
        .start();
    let seen = seen(&web, "/").await;
    assert_eq!(skipped(&seen), Some(SkipReason::RobotsUnreachable));
    assert!(why(&seen).contains("leads to"), "{}", why(&seen));
    assert_eq!(seen.robots[0].state, RobotsState::Unreachable);
    assert_eq!(web.connections_at(web.addr("b.test").ip()), 0);
}

#[tokio::test]
async fn secure_and_proxied_requests() {
    let site = || {
        Site::new()
            .robots("User-agent: *")
            .page("/", Page::html("hello"))
    };
    let web = Web::new()
        .site("a.test", site().tls())
        .site("b.test", site())
        .start();
    let folder = tempfile::tempdir().unwrap();
    let authority = folder.path().join("authority.pem");
    std::fs::write(&authority, web.ca_pem()).unwrap();
    let mut config = config(&web, &web.tls_url("a.test", "/"));
    config.fetch.cacert = Some(authority);
    let seen = inspect(&config).await.unwrap();
    assert_eq!(seen.conclusion, Conclusion::Fetched);
    let first = &seen.robots[0].hops[0].phases;
    assert!(first.tls.is_some() && first.total > first.tls, "{first:?}");
    assert!(
        seen.hops[0].phases.tls.is_none(),
        "the connection is used again"
    );

    config.roots = vec![Root::parse(&web.url("b.test", "/")).unwrap()];
    config.fetch.no_proxy.clear();
    let proxy = format!("http://{}", web.http_proxy());
    config.fetch.proxy = Some(crate::config::Secret::new(proxy));
    let seen = inspect(&config).await.unwrap();
    assert_eq!(seen.conclusion, Conclusion::Fetched);
    assert!(seen.hops[0].proxied && seen.hops[0].address.is_none());
    assert_eq!(web.proxied().len(), 2);
}

#[tokio::test]
async fn credentials_among_the_headers_go_to_the_root_only() {
    let a = Site::new().page("/", Page::redirect(302, "{{b.test}}/x"));
    let b = Site::new().page("/x", Page::html("hello"));
    let web = Web::new().site("a.test", a).site("b.test", b).start();
    let mut config = config(&web, &web.url("a.test", "/"));
    config.fetch.allow_private = vec!["127.0.0.0/8".parse().unwrap()];
    config.fetch.contact = Some("tests@a.test".to_owned());
    config.scope.reach = crate::config::Reach::Any;
    let secret = crate::config::Secret::new("Bearer hunter2");
    config.fetch.headers = vec![("Authorization".to_owned(), secret)];
    inspect(&config).await.unwrap();
    let shown = |host: &str| {
        let log = web.log().of(host);
        assert!(!log.is_empty(), "{host}");
        log.iter().all(|hit| hit.header("Authorization").is_some())
    };
    assert_eq!((shown("a.test"), shown("b.test")), (true, false));
}

#[tokio::test]
async fn what_is_not_to_be_read_is_not_read() {
    let site = Site::new()
        .page("/", Page::bytes("image/png", "not really"))
        .page("/long", Page::html("<a href=/x>x</a>".repeat(100)));
    let web = Web::new().site("a.test", site).start();
    let mut config = config(&web, &web.url("a.test", "/"));
    config.scope.accept_types = vec!["text/*".to_owned()];
    let seen = inspect(&config).await.unwrap();
    assert_eq!(skipped(&seen), Some(SkipReason::ContentType));
    assert!(seen.page.unwrap().digest.is_none() && seen.body.is_empty());

    config.roots = vec![Root::parse(&web.url("a.test", "/long")).unwrap()];
    config.fetch.max_body = 50;
    let seen = inspect(&config).await.unwrap();
    assert_eq!((seen.links.len(), seen.body.len()), (1, 50));
    assert!(seen.page.unwrap().truncated);
}

#[tokio::test]
async fn the_json_form_is_safe_and_whole() {
    let page = Page::html("<title>\u{202e}gpj</title><a href=/b>b</a>")
        .header("X-Odd", b"a\xe9\x7f".to_vec())
        .header("Set-Cookie", "sid=hunter2");
    let web = Web::new()
        .site("a.test", Site::new().page("/", page))
        .start();
    let mut config = config(&web, &web.url("a.test", "/"));
    config.fetch.user = Some(crate::config::Secret::new("me:hunter2"));
    let text = json(&inspect(&config).await.unwrap()).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    assert!(
        !text
            .chars()
            .any(|c| c != '\n' && crate::escape::is_steering(c))
    );
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["conclusion"]["outcome"], "fetched");
    assert_eq!(value["page"]["title"], "\u{202e}gpj");
    assert_eq!(value["links"][0]["verdict"], "follow");
    assert_eq!(value["links"][0]["kind"], "anchor");
    assert_eq!(value["robots"][0]["state"], "absent");
    assert!(value.get("body").is_none());
}

#[tokio::test]
async fn a_configuration_that_cannot_work_is_refused() {
    let error = inspect(&Config::default()).await.unwrap_err();
    assert!(matches!(error, CrawlError::Config(problems) if problems.len() == 1));
}

#[test]
fn what_decided_about_the_encoding() {
    use CharsetSource::{ByteOrderMark, ContentType, Document};
    let check = |content_type: &[u8], body: &[u8], charset: &str, expected: CharsetSource| {
        let mut headers = Headers::default();
        headers.push("Content-Type", content_type);
        let source = charset_source(charset, &headers, body);
        assert_eq!(source, expected, "{}", content_type.escape_ascii());
    };
    check(b"text/html; charset=utf-8", b"x", "UTF-8", ContentType);
    check(
        b"text/html;x=y; CHARSET = \"latin1\"",
        b"x",
        "windows-1252",
        ContentType,
    );
    check(
        b"text/html; charset=utf-8",
        b"\xef\xbb\xbfx",
        "UTF-8",
        ByteOrderMark,
    );
    check(b"text/html; charset=nonsense", b"x", "UTF-8", Document);
    check(b"text/html", b"x", "windows-1251", Document);
}

#[test]
fn secrets_in_fields_are_not_shown() {
    let check = |name: &str, value: &[u8], expected: &str| {
        let mut headers = Headers::default();
        headers.push(name, value);
        assert_eq!(shown(&headers), [(name.to_owned(), expected.to_owned())]);
    };
    check("Set-Cookie", b"a=b=c; Path=/", "a=(secret); Path=/");
    check("SET-COOKIE", b"token", "(secret)");
    check("set-cookie", b"=x", "=(secret)");
    check("Authorization", b"Basic x", "(secret)");
    check("Server", b"caf\xe9", "café");
}
