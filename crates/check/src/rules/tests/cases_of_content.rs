//! Titles, texts, encodings, and error pages in disguise.

use super::RuleCase;
use super::test_site::{TestSite, document, url};
use crate::probe::{ImpossibleAnswer, impossible_place};

/// So many different words.
fn words(count: usize, seed: &str) -> String {
    let words: Vec<_> = (0..count).map(|number| format!("{seed}{number}")).collect();
    format!("<p>{}</p>", words.join(" "))
}

/// A document with a part of it replaced.
fn changed(from: &str, to: &str) -> TestSite {
    let whole = document("/page", "", "");
    assert!(whole.contains(from), "{from}");
    TestSite::clean().document("/page", &whole.replace(from, to))
}

const TITLE: &str = "<title>The page /page</title>";
const DESCRIPTION: &str =
    "<meta name=description content='What stands on the page /page, told in a few plain words.'>";

pub(super) fn cases() -> Vec<RuleCase> {
    let mut cases = head();
    cases.extend(texts());
    cases
}

fn head() -> Vec<RuleCase> {
    let title = |text: &str| format!("<title>{text}</title>");
    let described = |text: &str| {
        changed(
            DESCRIPTION,
            &format!("<meta name=description content='{text}'>"),
        )
    };
    let same_title = title("The page /about");
    let same_description = "What stands on the page /about, told in a few plain words.";
    vec![
        RuleCase::new(
            "title/missing",
            changed(TITLE, "<title> </title>"),
            // A page that asks not to be indexed needs none.
            changed(TITLE, "<meta name=robots content=noindex>"),
        ),
        RuleCase::new(
            "title/several",
            changed(TITLE, &format!("{TITLE}{TITLE}")),
            changed("<h1>", "<svg><title>A drawing</title></svg><h1>"),
        ),
        RuleCase::new(
            "title/duplicate",
            changed(TITLE, &same_title),
            changed(TITLE, &format!("{same_title}<link rel=prev href=/about>")),
        ),
        RuleCase::new(
            "title/length",
            changed(TITLE, &title("Short")),
            changed(TITLE, TITLE),
        ),
        RuleCase::new(
            "description/missing",
            changed(DESCRIPTION, ""),
            changed(TITLE, TITLE),
        ),
        RuleCase::new(
            "description/duplicate",
            described(same_description),
            changed(TITLE, TITLE),
        ),
        RuleCase::new(
            "description/length",
            described("Short"),
            described(&"a long text ".repeat(8)),
        ),
        RuleCase::new(
            "h1/missing",
            changed("h1>", "h2>"),
            changed(
                "<h1>About /page</h1>",
                "<h1><img src=/i.png alt=About></h1>",
            ),
        ),
        RuleCase::new(
            "h1/several",
            changed("</h1>", "</h1><h1>More</h1>"),
            changed(TITLE, TITLE),
        ),
    ]
}

fn texts() -> Vec<RuleCase> {
    let charset = |meta: &str, field: &str| {
        let site = changed("<meta charset=utf-8>", meta).without("content-type");
        site.field("content-type", field)
    };
    let twice = |one: &str, other: &str| TestSite::clean().page("/a", one).page("/b", other);
    let head = "<h1>About /a</h1>";
    let bare = |body: &str| document("/a", "", body).replace(head, "");
    let equal = |one: &str, other: &str| {
        let pages = TestSite::clean().document("/a", &bare(one));
        pages.document("/b", &bare(other).replace("The page /a", "The page /b"))
    };
    let long = words(4_000, "word");
    let nearly = long.replace("word3999<", "other<");
    let soft = |title: &str| changed(TITLE, &format!("<title>{title}</title>"));
    vec![
        RuleCase::new(
            "content/charset",
            charset("", "text/html"),
            charset("<meta charset=utf8>", "text/html; charset=\"UTF-8\""),
        ),
        RuleCase::new(
            "content/mojibake",
            changed("</h1>", "</h1><p>\u{fffd}\u{fffd} and \u{fffd}</p>"),
            changed(
                "</h1>",
                "</h1><p>The sign \u{fffd} stands for what could not be read.</p>",
            ),
        ),
        RuleCase::new(
            "content/duplicate",
            equal(&long, &long),
            equal(&words(10, "word"), &words(10, "word")),
        ),
        RuleCase::new(
            "content/near",
            equal(&long, &nearly),
            twice(&long, &words(4_000, "term")),
        ),
        RuleCase::new(
            "content/soft-404",
            soft("Page not found | Site"),
            soft("How to mend Page not found"),
        ),
    ]
}

#[test]
fn error_pages_in_disguise() {
    let check = |what: &str, site: TestSite, expected: bool| {
        let rules = site.rules();
        assert_eq!(
            rules.contains("content/soft-404"),
            expected,
            "{what}: {:?}",
            site.judged()
        );
    };
    let titled = document("/page", "", &words(600, "word")).replace(TITLE, "<title>404</title>");
    check(
        "one sign",
        TestSite::clean().document("/page", &titled),
        false,
    );
    let home = document("/page", "", "").replace(TITLE, "<title>404</title>");
    check(
        "renevoorburg/robustify.js#4: a home page never is one",
        TestSite::new().document("/", &home),
        false,
    );
    let own = TestSite::clean().document("/404.html", &home);
    check("the error page itself", own, false);
    check(
        "open-knowledge-graphs#48: a phrase in the text",
        TestSite::clean().page(
            "/owl",
            "<p>This page could not be found. It has been removed.</p>",
        ),
        false,
    );
    let alike = |text: &str| {
        let text_of_page = words(60, "word");
        let mut site = TestSite::clean().page("/x/gone", text);
        let probe = TestSite::clean().page("/x/gone", &text_of_page);
        let place = url("/x/gone");
        let near = probe.table().row_of(&place).unwrap().near;
        let answer = ImpossibleAnswer {
            status: 404,
            end: None,
            near,
        };
        site.probes
            .insert_impossible(impossible_place(&place), answer);
        site
    };
    check(
        "alike, and the site answers 404 to such names",
        alike(&words(60, "word")),
        false,
    );
    let mut lax = alike(&words(60, "word"));
    let answer = lax
        .probes
        .impossible_beside(&url("/x/gone"))
        .unwrap()
        .clone();
    let answer = ImpossibleAnswer {
        status: 200,
        ..answer
    };
    lax.probes
        .insert_impossible(impossible_place(&url("/x/gone")), answer.clone());
    let found = lax.judged();
    let found: Vec<_> = found
        .iter()
        .filter(|found| found.rule.id == "content/soft-404")
        .collect();
    // The page, and the part of the site, which is told once (mintlify/docs#3759).
    assert_eq!(found.len(), 2, "{found:#?}");
    let mut other = alike(&words(60, "term"));
    other
        .probes
        .insert_impossible(impossible_place(&url("/x/gone")), answer);
    let found = other.judged();
    let found: Vec<_> = found
        .iter()
        .filter(|found| found.rule.id == "content/soft-404")
        .collect();
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].subject.as_deref(), Some("every name"));
}

#[test]
fn a_group_is_one_finding_with_its_pages() {
    let mut site = TestSite::clean();
    for number in 0..15 {
        let path = format!("/page/{number}");
        let whole =
            document(&path, "", "").replace(&format!("The page {path}"), "One title for all");
        site = site.document(&path, &whole);
    }
    let findings = site.judged();
    let found: Vec<_> = findings
        .iter()
        .filter(|found| found.rule.id == "title/duplicate")
        .collect();
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((found[0].count, found[0].samples.len()), (15, 10));
    assert_eq!(found[0].page.as_str(), "https://site.example/page/0");
    assert_eq!(found[0].evidence, "15 pages: One title for all");
}
