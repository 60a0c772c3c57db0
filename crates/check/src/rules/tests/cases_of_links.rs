//! Links: what fires, what nearly does, and what other tools got wrong.

use clewline_core::link::LinkKind;
use clewline_core::outcome::{FailureClass, SkipReason};

use super::RuleCase;
use super::test_site::{TestSite, document, hop};
use crate::facts::fragment_hash;
use crate::probe::ProbeRow;
use crate::verdict::{LinkAnswer, judge_answer};

/// A site with this body, and what its links lead to.
fn site(body: &str) -> TestSite {
    TestSite::with_body(body)
}

pub(super) fn cases() -> Vec<RuleCase> {
    let mut cases = broken();
    cases.extend(others());
    cases.extend(redirects());
    cases
}

fn broken() -> Vec<RuleCase> {
    vec![
        RuleCase::new(
            "links/empty-root",
            TestSite::new()
                .page("/", "")
                .change(|record| record.shell = true),
            TestSite::new().page("/", "").change(|record| {
                record.shell = true;
                record.links = 1;
            }),
        ),
        RuleCase::new(
            "links/broken",
            site("<a href=/gone>x</a>").status("/gone", 404),
            site("<!-- <a href=/gone>x</a> --><a href=/shut>x</a>")
                .status("/gone", 404)
                .status("/shut", 403),
        ),
        RuleCase::new(
            "links/broken-part",
            site("<img src=/i.png alt=x>")
                .status("/i.png", 404)
                .named(LinkKind::Image),
            TestSite::with_head("<link rel=preconnect href=/i.png>").status("/i.png", 404),
        ),
        RuleCase::new(
            "links/broken-external",
            site("<a href=https://other.example/x>x</a>").probed("https://other.example/x", 404),
            site("<a href=https://other.example/x>x</a>").probed("https://other.example/x", 503),
        ),
        RuleCase::new(
            "links/blocked",
            site("<a href=/shut>x</a>").status("/shut", 401),
            site("<a href=/shut>x</a>").skipped("/shut", SkipReason::Robots),
        ),
        RuleCase::new(
            "links/blocked-external",
            site("<a href=https://other.example/x>x</a>").probed("https://other.example/x", 999),
            site("<a href=https://other.example/x>x</a>").probed("https://other.example/x", 200),
        ),
        RuleCase::new(
            "links/unsure",
            site("<a href=/slow>x</a>").failed("/slow", FailureClass::Timeout),
            site("<a href=/deep>x</a>").skipped("/deep", SkipReason::Depth),
        ),
        RuleCase::new(
            "http/server-error",
            site("<a href=/ill>x</a>").status("/ill", 500),
            site("<a href=/ill>x</a>").status("/ill", 404),
        ),
        RuleCase::new(
            "http/not-https",
            TestSite::clean().page("http://site.example/", ""),
            TestSite::clean().redirect("http://site.example/", 301, "https://site.example/"),
        ),
        RuleCase::new(
            "links/malformed",
            site("<a href='http://[x'>x</a>"),
            site("<a href=#>x</a><a href=''>y</a><a href=mailto:a@site.example>z</a>"),
        ),
        RuleCase::new(
            "links/javascript",
            site("<a href='javascript:go()'>x</a>"),
            site("<a href=tel:123>x</a>"),
        ),
        RuleCase::new(
            "links/private",
            site("<a href=http://localhost:3000/>x</a>"),
            site("<a href=https://local.example/>x</a><a href=https://dev.site.example/>y</a>"),
        ),
        RuleCase::new(
            "robots/blocks-part",
            site("<img src=/i.png alt=x>").skipped("/i.png", SkipReason::Robots),
            site("<a href=/i.png>x</a>").skipped("/i.png", SkipReason::Robots),
        ),
    ]
}

fn others() -> Vec<RuleCase> {
    let scripted = || {
        let shell = "<!doctype html><html lang=en><head><meta charset=utf-8><title>An app to try\
            </title></head><body><h1>App</h1><script src=/app.js></script></body></html>";
        TestSite::with_body("<a href=/app#part>x</a>").document("/app", shell)
    };
    let foreign = || site("<a href=https://other.example/x#part>x</a>");
    let probed = |found: bool| {
        foreign().probe("https://other.example/x", 200, |row| {
            let ids = [fragment_hash("part")];
            row.note_ids(&ids, if found { &ids } else { &[] });
        })
    };
    vec![
        RuleCase::new(
            "links/fragment",
            site("<a href=/about#nowhere>x</a>"),
            site("<a href=#here>x</a><a name=here>y</a><a href=#top>z</a>"),
        ),
        RuleCase::new(
            "links/fragment-unsure",
            scripted(),
            site("<a href=/about#nowhere>x</a>"),
        ),
        RuleCase::new("links/fragment-external", probed(false), probed(true)),
    ]
}

fn redirects() -> Vec<RuleCase> {
    let link = || site("<a href=/old>x</a>");
    vec![
        RuleCase::new(
            "links/redirect",
            link().redirect("/old", 301, "/about"),
            link().redirect("/old", 302, "/about"),
        ),
        RuleCase::new(
            "links/redirect-temporary",
            link().redirect("/old", 302, "/about"),
            link().redirect("/old", 308, "/about"),
        ),
        RuleCase::new(
            "links/redirect-loop",
            link()
                .redirect("/old", 301, "/new")
                .redirect("/new", 301, "/old"),
            link()
                .redirect("/old", 301, "/new")
                .redirect("/new", 301, "/about"),
        ),
        RuleCase::new(
            "links/redirect-to-broken",
            link().redirect("/old", 301, "/gone").status("/gone", 410),
            link().redirect("/old", 301, "/shut").status("/shut", 403),
        ),
        RuleCase::new(
            "links/redirect-chain",
            link()
                .redirect("/old", 301, "/new")
                .redirect("/new", 308, "/about"),
            link().redirect("/old", 301, "/about"),
        ),
    ]
}

/// A site that other tools find fault with, by the thread that says so, and the rules that must be
/// silent.
fn spares(thread: &str, site: &TestSite, silent: &[&str]) {
    let rules = site.rules();
    for rule in silent {
        let found = site.judged();
        assert!(!rules.contains(rule), "{thread}: {rule}: {found:?}");
    }
}

const DEAD: [&str; 3] = ["links/broken", "links/broken-part", "links/broken-external"];
const OTHER: &str = "https://other.example/x";

#[test]
fn false_positives_of_statuses() {
    let external = |status| site("<a href=https://other.example/x>x</a>").probed(OTHER, status);
    for (thread, status) in [
        ("sphinx-doc/sphinx#13860: 403 is no proof", 403),
        ("linkinator#686: 999", 999),
        ("exercism/c#1051: 429", 429),
    ] {
        spares(thread, &external(status), &DEAD);
    }
    let asked_once = external(200).probe(OTHER, 404, |row| {
        let answer = LinkAnswer {
            status: Some(404),
            ..LinkAnswer::default()
        };
        *row = ProbeRow::new(judge_answer(&answer, &[]), Some(404), Vec::new());
    });
    spares("kg-registry#713: one 404 is no proof", &asked_once, &DEAD);
    let mut accepted = site("<a href=/gone>x</a>").status("/gone", 404);
    accepted.options.accept = vec!["404:ok".parse().unwrap()];
    spares("what the user accepts", &accepted, &DEAD);
    let foreign_part = site("<img src=https://cdn.example/i.png alt=x>")
        .status("https://cdn.example/i.png", 404)
        .named(LinkKind::Image);
    spares("a foreign part that was asked once", &foreign_part, &DEAD);
}

#[test]
fn false_positives_of_fragments() {
    let spares = |thread: &str, site: TestSite| {
        let silent = [
            "links/fragment",
            "links/fragment-external",
            "links/fragment-unsure",
        ];
        spares(thread, &site, &silent);
    };
    let to = |fragment: &str| site(&format!("<a href='/about{fragment}'>x</a>"));
    spares("linkchecker#905: text fragments", to("#:~:text=we"));
    spares("muffet#144: routes of scripts", to("#!/route"));
    spares("lines of sources", to("#L12-L20"));
    let spelled = "<a href='#caf%C3%A9'>x</a><a href='#a b'>y</a><p id=café></p><p id='a b'></p>";
    spares("percent-decoded ids", site(spelled));
    let on_github = "<a href=#usage>x</a><h2 id=user-content-usage>Usage</h2>";
    spares("user-content- of GitHub", site(on_github));
    let target = document("/new", "", "<p id=part>y</p>");
    let behind = site("<a href=/old#part>x</a>").redirect("/old", 301, "/new");
    spares("a part behind a redirect", behind.document("/new", &target));
    spares("views of drawings", site("<img src='/about#icon' alt=x>"));
    let cut = site("<a href=/long#part>x</a>").page("/long", "");
    spares(
        "a page that was cut",
        cut.change(|record| record.truncated = true),
    );
}

#[test]
fn false_positives_of_elements() {
    let marked = site("<a data-proofer-ignore href=/gone>x</a>").status("/gone", 404);
    spares("html-proofer: data-proofer-ignore", &marked, &DEAD);
    let hints = "<link rel=dns-prefetch href=//gone.example><link rel=pingback href=/rpc>";
    let hints = TestSite::with_head(hints)
        .status("/rpc", 405)
        .probed("https://gone.example/", 404);
    spares("muffet: dns-prefetch; pingback wants POST", &hints, &DEAD);
    let lazy = site("<img data-src=/t/{{id}}.png src=/i.png alt=x>")
        .part("/i.png", LinkKind::Image, "image/png")
        .status("/t/%7B%7Bid%7D%7D.png", 404);
    spares("addresses that scripts complete", &lazy, &DEAD);
    let private = TestSite::new().page("http://localhost:8000/", "<a href=http://10.0.0.1/>x</a>");
    spares("a private site", &private, &["links/private"]);
}

#[test]
fn redirects_of_one_pattern_are_one_finding() {
    let mut links = String::new();
    let mut pages = TestSite::clean();
    for number in 0..5 {
        links.extend(["<a href=", &format!("/dir{number}"), ">x</a>"]);
        let (from, to) = (format!("/dir{number}"), format!("/dir{number}/"));
        pages = pages.redirect(&from, 301, &to).page(&to, "");
    }
    let findings = pages.page("/page", &links).judged();
    let found: Vec<_> = findings
        .iter()
        .filter(|found| found.rule.id == "links/redirect")
        .collect();
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(
        (found[0].count, found[0].subject.as_deref()),
        (5, Some("a slash is added"))
    );
}

#[test]
fn findings_say_where_what_and_how_to_mend() {
    let site = site("<p>text</p><a href=/old>x</a>").redirect("/old", 301, "/about");
    let findings = site.judged();
    let found = findings
        .iter()
        .find(|found| found.rule.id == "links/redirect")
        .unwrap();
    assert_eq!(found.page.as_str(), "https://site.example/page");
    assert_eq!(found.target.as_deref(), Some("https://site.example/old"));
    assert_eq!(found.mend.as_deref(), Some("https://site.example/about"));
    assert_eq!(found.evidence, "301 Moved Permanently");
    assert!(found.place.as_ref().unwrap().byte > 0);
}

#[test]
fn redirects_that_leave_the_site_are_judged_by_the_probes() {
    let link = || site("<a href=/go>x</a>").redirect("/go", 302, "https://other.example/x");
    let rules = link().probed("https://other.example/x", 404).rules();
    assert!(rules.contains("links/redirect-to-broken"), "{rules:?}");
    let rules = link().probed("https://other.example/x", 200).rules();
    assert!(!rules.contains("links/redirect-to-broken"), "{rules:?}");
    let moved = site("<a href=https://other.example/x>x</a>").probe(
        "https://other.example/x",
        200,
        |row| row.hops.push(hop(301, "https://other.example/y")),
    );
    assert!(moved.rules().is_empty(), "{:?}", moved.rules());
}
