//! Links: what fires, what nearly does, and what other tools got wrong.

use clewline_core::link::LinkKind;
use clewline_core::outcome::{FailureClass, SkipReason};

use super::RuleCase;
use super::test_site::{TestSite, document, hop};
use crate::facts::fragment_hash;
use crate::verdict::AcceptList;

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

/// Sites that other tools find fault with, by the threads that say so, and the rules that must be
/// silent.
#[test]
fn reported_false_positives() {
    let check = |thread: &str, site: TestSite, silent: &[&str]| {
        let rules = site.rules();
        for rule in silent {
            assert!(
                !rules.contains(rule),
                "{thread}: {rule}: {:?}",
                site.judged()
            );
        }
    };
    let dead = ["links/broken", "links/broken-part", "links/broken-external"];
    let other = "https://other.example/x";
    let external = |status| site("<a href=https://other.example/x>x</a>").probed(other, status);
    check(
        "sphinx-doc/sphinx#13860: 403 is no proof",
        external(403),
        &dead,
    );
    check("linkinator#686: 999", external(999), &dead);
    check("exercism/c#1051: 429", external(429), &dead);
    let asked_once = {
        let site = site("<a href=https://other.example/x>x</a>");
        site.probe(other, 404, |row| {
            let answer = crate::verdict::LinkAnswer {
                status: Some(404),
                ..Default::default()
            };
            let judged = crate::verdict::judge_answer(&answer, &AcceptList::default());
            *row = crate::probe::ProbeRow::new(judged, Some(404), Vec::new());
        })
    };
    check("kg-registry#713: one 404 is no proof", asked_once, &dead);
    let fragment = [
        "links/fragment",
        "links/fragment-external",
        "links/fragment-unsure",
    ];
    let to = |fragment: &str| {
        let link = format!("<a href='/about{fragment}'>x</a>");
        site(&link)
    };
    check(
        "linkchecker#905: text fragments",
        to("#:~:text=we"),
        &fragment,
    );
    check("muffet#144: routes of scripts", to("#!/route"), &fragment);
    check("lychee#1945: lines of sources", to("#L12-L20"), &fragment);
    let spelled = "<a href='#caf%C3%A9'>x</a><a href='#a b'>y</a><p id=café></p><p id='a b'></p>";
    check("percent-decoded ids", site(spelled), &fragment);
    let on_github = "<a href=#usage>x</a><h2 id=user-content-usage>Usage</h2>";
    check("user-content- of GitHub", site(on_github), &fragment);
    let behind = "<a href=/old#part>x</a>";
    let target = document("/new", "", "<p id=part>y</p>");
    let behind = site(behind)
        .redirect("/old", 301, "/new")
        .document("/new", &target);
    check("a fragment behind a redirect", behind, &fragment);
    let icon = site("<img src='/about#icon' alt=x>");
    check("views of drawings", icon, &fragment);
    let cut = site("<a href=/long#part>x</a>")
        .page("/long", "")
        .change(|record| {
            record.truncated = true;
        });
    check("a page that was cut", cut, &fragment);
    let marked = site("<a data-proofer-ignore href=/gone>x</a>").status("/gone", 404);
    check("html-proofer: data-proofer-ignore", marked, &dead);
    let hints = "<link rel=dns-prefetch href=//gone.example><link rel=pingback href=/rpc>";
    let hints = TestSite::with_head(hints)
        .status("/rpc", 405)
        .probed("https://gone.example/", 404);
    check(
        "muffet: preconnect and dns-prefetch; pingback wants POST",
        hints,
        &dead,
    );
    let lazy = site("<img data-src=/t/{{id}}.png src=/i.png alt=x>")
        .part("/i.png", LinkKind::Image, "image/png")
        .status("/t/%7B%7Bid%7D%7D.png", 404);
    check("addresses that scripts complete", lazy, &dead);
    let private = TestSite::new().page("http://localhost:8000/", "<a href=http://10.0.0.1/>x</a>");
    check("a private site", private, &["links/private"]);
    let accepted = {
        let mut site = site("<a href=/gone>x</a>").status("/gone", 404);
        site.options.accept = AcceptList::from_entries(["404:ok"]).unwrap();
        site
    };
    check("accept", accepted, &dead);
    let part_on_foreign = site("<img src=https://cdn.example/i.png alt=x>")
        .status("https://cdn.example/i.png", 404)
        .named(LinkKind::Image);
    check("a foreign part that was asked once", part_on_foreign, &dead);
}

#[test]
fn redirects_of_one_pattern_are_one_finding() {
    let mut links = String::new();
    let mut pages = TestSite::clean();
    for number in 0..5 {
        links.push_str(&format!("<a href=/dir{number}>x</a>"));
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
