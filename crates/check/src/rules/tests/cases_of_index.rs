//! What search engines may show: canonical addresses, sitemaps, translations, orphans.

use clewline_core::link::LinkKind;
use clewline_core::outcome::SkipReason;

use super::RuleCase;
use super::test_site::{TestSite, document};

pub(super) fn cases() -> Vec<RuleCase> {
    let mut cases = index();
    cases.extend(canonical());
    cases.extend(sitemaps());
    cases.extend(translations());
    cases
}

/// So many pages, of which some say noindex.
fn pages(count: usize, hidden: usize) -> TestSite {
    let mut site = TestSite::new();
    for number in 0..count {
        let head = if number < hidden {
            "<meta name=robots content='NOINDEX, follow'>"
        } else {
            ""
        };
        site = site.page_with_head(&format!("/page/{number}"), head);
    }
    site
}

fn index() -> Vec<RuleCase> {
    let elsewhere = "<link rel=canonical href=/about>";
    vec![
        RuleCase::new("index/noindex-sitewide", pages(10, 8), pages(10, 7)),
        RuleCase::new(
            "index/conflict",
            TestSite::with_head(&format!("<meta name=robots content=noindex>{elsewhere}")),
            TestSite::with_head(
                "<meta name=robots content=noindex><link rel=canonical href=/page>",
            ),
        ),
    ]
}

fn canonical() -> Vec<RuleCase> {
    let named = |target: &str| TestSite::with_head(&format!("<link rel=canonical href={target}>"));
    let own = || named("/page");
    let with = |head: &str| named("/other").page_with_head("/other", head);
    let without_canonical = |count| pages(count, 0);
    let in_body = TestSite::with_body("<link rel=canonical href=/page>");
    let several = "<link rel=canonical href=/page><link rel=canonical href=/about>";
    let same = "<link rel=canonical href=/page><link rel=canonical href=https://site.example/page>";
    vec![
        RuleCase::new(
            "canonical/several",
            TestSite::with_head(several),
            TestSite::with_head(same),
        ),
        RuleCase::new("canonical/outside-head", in_body, own()),
        RuleCase::new("canonical/malformed", named("'http://[x'"), own()),
        RuleCase::new(
            "canonical/broken",
            named("/gone").status("/gone", 404),
            named("/ill").status("/ill", 503),
        ),
        RuleCase::new(
            "canonical/redirect",
            named("/old").redirect("/old", 301, "/about"),
            named("/about"),
        ),
        RuleCase::new(
            "canonical/noindex",
            with("<meta name=robots content=none>"),
            with(""),
        ),
        RuleCase::new(
            "canonical/denied",
            named("/x").skipped("/x", SkipReason::Robots),
            named("/x").skipped("/x", SkipReason::Depth),
        ),
        RuleCase::new(
            "canonical/chain",
            with("<link rel=canonical href=/about>"),
            with("<link rel=canonical href=/other>"),
        ),
        RuleCase::new("canonical/http", named("http://site.example/page"), own()),
        RuleCase::new(
            "canonical/other-host",
            named("https://other.example/page"),
            // SiteOne folds it, too.
            named("https://www.site.example/page"),
        ),
        RuleCase::new(
            "canonical/missing",
            without_canonical(20),
            without_canonical(19),
        ),
    ]
}

fn sitemaps() -> Vec<RuleCase> {
    let listed = |site: TestSite| site.named(LinkKind::Sitemap);
    let file = |links: u32| {
        let site = TestSite::clean().part("/sitemap.xml", LinkKind::SitemapFile, "text/xml");
        site.change(|record| record.links = links)
    };
    let orphan = || listed(TestSite::clean().page("/lonely", ""));
    vec![
        RuleCase::new(
            "sitemap/entry",
            listed(TestSite::clean().redirect("/old", 301, "/about")),
            listed(TestSite::clean().status("/ill", 503)),
        ),
        RuleCase::new("sitemap/file", file(0), file(50_000)),
        RuleCase::new(
            "graph/orphan",
            orphan(),
            orphan()
                .page("/hub", "<a href=/old>x</a>")
                .redirect("/old", 301, "/lonely"),
        ),
    ]
}

fn translations() -> Vec<RuleCase> {
    let links = |pairs: &[(&str, &str)]| {
        let link =
            |(code, to): &(&str, &str)| format!("<link rel=alternate hreflang={code} href={to}>");
        pairs.iter().map(link).collect::<String>()
    };
    let site = |pairs: &[(&str, &str)]| TestSite::with_head(&links(pairs));
    let pair = [("en", "/page"), ("de", "/de"), ("x-default", "/page")];
    let both = || {
        let site = TestSite::with_head(&links(&pair));
        site.document(
            "/de",
            &document("/de", &links(&pair), "").replace("<html lang=en", "<html lang=de"),
        )
    };
    let to_noindex = {
        let head = format!("{}<meta name=robots content=noindex>", links(&pair));
        TestSite::with_head(&links(&pair)).page_with_head("/de", &head)
    };
    vec![
        RuleCase::new(
            "hreflang/code",
            site(&[("en-UK", "/page")]),
            site(&[
                ("zh-Hant-TW", "/page"),
                ("es-419", "/about"),
                ("x-default", "/"),
            ]),
        ),
        RuleCase::new("hreflang/return", site(&pair).page("/de", ""), both()),
        RuleCase::new("hreflang/target", to_noindex, both()),
        RuleCase::new(
            "hreflang/several",
            site(&[("en", "/page"), ("EN", "/about")]),
            both(),
        ),
        RuleCase::new("hreflang/self", site(&[("de", "/about")]), both()),
        RuleCase::new(
            "hreflang/x-default",
            site(&[("en", "/page"), ("de", "/about")]),
            both(),
        ),
    ]
}

#[test]
fn orphans_are_told_only_of_what_was_read_to_its_end() {
    let orphan = || {
        TestSite::clean()
            .page("/lonely", "")
            .named(LinkKind::Sitemap)
    };
    let has = |site: &TestSite| site.rules().contains("graph/orphan");
    assert!(has(&orphan()));
    let mut unfinished = orphan();
    unfinished.options.is_complete = false;
    assert!(!has(&unfinished));
    let cut = orphan()
        .page("/long", "")
        .change(|record| record.truncated = true);
    assert!(!has(&cut));
    let hidden = orphan().field("x-robots-tag", "noindex");
    assert!(!has(&hidden));
}

#[test]
fn what_a_sitemap_must_not_list() {
    let check = |site: TestSite, expected: Option<&str>| {
        let site = site.named(LinkKind::Sitemap);
        let findings = site.judged();
        let found = findings
            .iter()
            .find(|found| found.rule.id == "sitemap/entry");
        assert_eq!(
            found.map(|found| &*found.evidence),
            expected,
            "{findings:#?}"
        );
    };
    let clean = TestSite::clean;
    let head = |head: &str| clean().page_with_head("/x", head);
    check(clean().page("/x", ""), None);
    check(clean().status("/x", 404), Some("404 Not Found"));
    check(
        clean().redirect("/x", 301, "/"),
        Some("301 Moved Permanently"),
    );
    check(
        head("<meta name=robots content=noindex>"),
        Some("it says noindex"),
    );
    check(
        head("<link rel=canonical href=/about>"),
        Some("it names another page as canonical"),
    );
    check(
        clean().skipped("/x", SkipReason::Robots),
        Some("robots.txt disallows it"),
    );
    check(clean().skipped("/x", SkipReason::Depth), None);
    let foreign = clean().skipped("https://other.example/x", SkipReason::OutOfScope);
    check(foreign, Some("it is on another host"));
}
