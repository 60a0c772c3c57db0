//! Hostile robots.txt, and hosts that use politeness as a weapon.

use std::time::Duration;

use clewline::Crawl;
use clewline_job::config::Reach;
use terrarium::{LiveWeb, Page, Reply, Site, Step, Web};

use crate::trial::{Verdict, beside, config, crawl, run};

/// Hosts that are no roots are asked as well.
const LOOPBACK: &str = "127.0.0.0/8";

/// One host per robots.txt; all are crawled at once.
fn crawl_all(cases: Vec<(&'static str, Reply)>) -> (LiveWeb, Verdict) {
    let mut web = Web::new();
    let names: Vec<&str> = cases.iter().map(|(name, _)| *name).collect();
    for (name, reply) in cases {
        let site = beside(["/denied"]).page("/denied", Page::html("x"));
        web = web.site(name, site.page("/robots.txt", reply));
    }
    let web = web
        .site(
            "stranger.test",
            Site::new().robots("User-agent: *\nDisallow: /\n"),
        )
        .start();
    let roots: Vec<String> = names.iter().map(|name| web.url(name, "/")).collect();
    let mut config = config(&web, &roots);
    config.fetch.timeout = Duration::from_millis(800);
    config.fetch.allow_private = vec![LOOPBACK.parse().expect("a range of addresses")];
    (web, run(Crawl::from_config(config)))
}

#[test]
fn huge_and_hostile_rules_are_read_within_bounds() {
    let deny = "User-agent: *\nDisallow: /denied\n";
    let rules: Vec<String> = (0..200_000)
        .map(|number| format!("Disallow: /x{number}/*/y$\n"))
        .collect();
    let stars = format!("{deny}Disallow: /{}z$\n", "*a".repeat(100_000));
    let agents: Vec<String> = (0..20_000)
        .map(|number| format!("User-agent: bot{number}\n"))
        .collect();
    let endless = Reply::script([
        Step::send(format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{deny}"
        )),
        Step::endless("# and so on\nDisallow: /y*\n".repeat(500)),
    ]);
    let text = |text: String| -> Reply { Page::text(text).into() };
    let html = "<!doctype html><title>Not found</title><p>Disallow: /good</p>";
    let cases = vec![
        ("rules.test", text(format!("{deny}{}", rules.concat()))),
        ("stars.test", text(stars)),
        (
            "agents.test",
            text(format!("{}Disallow: /\n\n{deny}", agents.concat())),
        ),
        ("endless.test", endless),
        (
            "long-line.test",
            text(format!("{deny}Disallow: /{}\n", "x".repeat(2 << 20))),
        ),
        (
            "nul.test",
            text(format!(
                "\u{feff}{}\u{0}\r\r\n{deny}",
                "\u{1b}[2J\n".repeat(100)
            )),
        ),
        ("bomb.test", Page::bomb(terrarium::Coding::Gzip, 64).into()),
        ("html.test", Page::html(html).into()),
    ];
    let (web, verdict) = crawl_all(cases);
    for name in ["rules", "stars", "agents", "endless", "long-line", "nul"] {
        let site = format!("{name}.test");
        verdict.assert_good(&web, &site);
        assert_eq!(
            verdict.outcome(&web.url(&site, "/denied")),
            "skipped robots",
            "{name}"
        );
        assert_eq!(web.log().of(&site).count("/denied"), 0, "{name}");
    }
    for site in ["bomb.test", "html.test"] {
        verdict.assert_good(&web, site);
        assert_eq!(
            verdict.outcome(&web.url(site, "/denied")),
            "fetched 200",
            "{site}"
        );
    }
}

#[test]
fn robots_that_cannot_be_read_close_the_host_and_no_other() {
    let page = |page: Page| -> Reply { page.into() };
    let away = Page::redirect(301, "{{stranger.test}}/robots.txt");
    let nowhere = Page::redirect(301, "http://nowhere.test/robots.txt");
    let cases = vec![
        ("failing.test", page(Page::empty(500))),
        ("silent.test", Reply::silence()),
        (
            "cut.test",
            page(Page::text("User-agent: *\nAllow: /\n".repeat(50)).close_after(100)),
        ),
        ("noise.test", Reply::raw("SSH-2.0-x\r\n")),
        ("nowhere-robots.test", page(nowhere)),
        ("forbidden.test", page(Page::empty(403))),
        ("missing.test", page(Page::empty(404))),
        ("looping.test", page(Page::redirect(302, "/robots.txt"))),
        (
            "file.test",
            page(Page::redirect(302, "file:///etc/hostname")),
        ),
        ("away.test", page(away)),
    ];
    let (web, verdict) = crawl_all(cases);
    for site in [
        "failing.test",
        "silent.test",
        "cut.test",
        "noise.test",
        "nowhere-robots.test",
    ] {
        assert_eq!(
            verdict.outcome(&web.url(site, "/")),
            "skipped robots-unreachable",
            "{site}"
        );
        assert_eq!(web.log().of(site).count("/"), 0, "{site}");
        assert_eq!(web.log().of(site).count("/robots.txt"), 3, "{site}");
    }
    for site in [
        "forbidden.test",
        "missing.test",
        "looping.test",
        "file.test",
    ] {
        verdict.assert_good(&web, site);
    }
    assert_eq!(
        web.log().of("looping.test").count("/robots.txt"),
        6,
        "five hops"
    );
    assert_eq!(
        verdict.outcome(&web.url("away.test", "/")),
        "skipped robots",
        "the stranger's rules count"
    );
}

/// The host that a robots.txt redirects to has been given up before: nobody waits for it.
#[test]
fn robots_behind_a_host_that_has_ended_are_unreachable() {
    let front = Page::html("<a href=http://gone.test/>gone</a><a href={{late.test}}/>late</a>");
    let late = Site::new().page(
        "/robots.txt",
        Page::redirect(302, "http://gone.test/robots.txt").delay(Duration::from_millis(300)),
    );
    let web = Web::new()
        .site("root.test", beside([]).page("/", front))
        .site("late.test", late)
        .start();
    let verdict = crawl(&web, &web.url("root.test", "/"), |config| {
        config.scope.reach = Reach::Any;
        config.fetch.allow_private = vec![LOOPBACK.parse().unwrap()];
    });
    assert_eq!(verdict.outcome("http://gone.test/"), "failed dns-not-found");
    assert_eq!(
        verdict.outcome(&web.url("late.test", "/")),
        "skipped robots-unreachable"
    );
}

#[test]
fn delays_without_measure_end_the_host() {
    let delayed = |delay: &str| format!("User-agent: *\nCrawl-delay: {delay}\n");
    let mut web = Web::new().site("good.test", beside([]));
    let crawl_delays = [
        ("billion.test", "1000000000", "skipped crawl-delay"),
        ("infinite.test", "1e999", "fetched 200"),
        ("negative.test", "-5", "fetched 200"),
        ("nan.test", "NaN", "fetched 200"),
        (
            "many-digits.test",
            "999999999999999999999999999999999",
            "skipped crawl-delay",
        ),
    ];
    for (name, delay, _) in crawl_delays {
        web = web.site(name, beside([]).robots(&delayed(delay)));
    }
    let again = [
        ("later.test", "999999999", "skipped retry-after"),
        (
            "year-9999.test",
            "Fri, 31 Dec 9999 23:59:59 GMT",
            "skipped retry-after",
        ),
        ("at-once.test", "0", "fetched 429"),
        ("past.test", "Thu, 01 Jan 1970 00:00:00 GMT", "fetched 429"),
    ];
    for (name, after, _) in again {
        let site = beside([]).page("/", Page::retry_after(429, after));
        web = web.site(name, site);
    }
    let web = web.start();
    let names = crawl_delays.iter().chain(&again).map(|(name, ..)| *name);
    let roots: Vec<String> = names
        .chain(["good.test"])
        .map(|name| web.url(name, "/"))
        .collect();
    let verdict = run(Crawl::from_config(config(&web, &roots)));
    verdict.assert_good(&web, "good.test");
    for (name, delay, expected) in crawl_delays.iter().chain(&again) {
        assert_eq!(
            verdict.outcome(&web.url(name, "/")),
            *expected,
            "{name}: {delay}"
        );
    }
    assert_eq!(
        web.log().of("later.test").count("/"),
        1,
        "who says never is not asked again"
    );
    assert_eq!(
        web.log().of("at-once.test").count("/"),
        3,
        "who says at once is, within bounds"
    );
}
