//! How askings become verdicts.

use clewline_core::outcome::FailureClass;

use CheckVerdict as V;

use super::*;
use crate::verdict::{LinkAnswer, judge_answer};

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

fn row(status: u16) -> ProbeRow {
    let answer = LinkAnswer {
        status: Some(status),
        ..LinkAnswer::default()
    };
    let judged = judge_answer(&answer, &[]);
    ProbeRow::new(judged, Some(status), Vec::new())
}

#[test]
fn nothing_is_broken_before_it_was_asked_twice() {
    assert_eq!(row(404).verdict(), V::Unsure);
    assert!(row(404).needs_another_asking() && row(503).needs_another_asking());
    assert!(!row(200).needs_another_asking() && !row(403).needs_another_asking());
    for (first, second, expected) in [
        (404, 404, V::Broken),
        (404, 410, V::Broken),
        // Alive at the second asking (Knowledge-Graph-Hub/kg-registry#713).
        (404, 200, V::Ok),
        (404, 429, V::Blocked),
        (404, 503, V::Unsure),
        (503, 404, V::Unsure),
        (503, 503, V::Unsure),
        (503, 200, V::Ok),
    ] {
        let both = row(first).asked_again(row(second));
        assert_eq!(both.verdict(), expected, "{first}, then {second}");
        assert!(!both.needs_another_asking());
    }
}

#[test]
fn what_fails_for_days_and_in_several_runs_is_broken() {
    const DAY: u64 = 24 * 60 * 60;
    let patience = FailurePatience::default();
    let check = |status: u16, times: &[u64], expected: CheckVerdict| {
        let mut known: Option<ProbeRow> = None;
        for now in times {
            let asked = row(status).asked_again(row(status));
            known = Some(asked.after(known.as_ref(), *now, &patience));
        }
        assert_eq!(known.unwrap().verdict(), expected, "{status} {times:?}");
    };
    check(503, &[0, DAY, 3 * DAY], V::Broken);
    check(503, &[0, DAY, 2 * DAY], V::Unsure);
    check(503, &[0, 4 * DAY], V::Unsure);
    check(403, &[0, DAY, 9 * DAY], V::Blocked);
    let first = row(503).after(None, 0, &patience);
    let well = row(200).after(Some(&first), DAY, &patience);
    let again = row(503).after(Some(&well), 9 * DAY, &patience);
    assert_eq!(again.failing.runs, 1, "a good run starts the count afresh");
}

#[test]
fn redirects_make_it_moved() {
    let hop = ProbeHop {
        status: 301,
        to: url("https://b.example/new"),
    };
    let moved = ProbeRow {
        hops: vec![hop],
        ..row(200)
    };
    assert_eq!(moved.verdict(), CheckVerdict::Moved);
    assert_eq!(moved.end(), Some(&url("https://b.example/new")));
    assert!(moved.hops[0].is_permanent());
}

#[test]
fn ids_that_were_wanted() {
    let mut probed = row(200);
    assert_eq!(probed.has_id([3, 3]), None, "nobody looked");
    probed.note_ids(&[1, 3, 5], &[2, 3, 9]);
    assert_eq!(probed.has_id([3, 3]), Some(true));
    assert_eq!(probed.has_id([1, 3]), Some(true), "as written, or decoded");
    assert_eq!(probed.has_id([1, 1]), Some(false));
    assert_eq!(probed.has_id([7, 7]), None);
}

#[test]
fn a_soft_error_is_a_guess() {
    let check = |end: &str, title: &str, words: u32, expected: CheckVerdict| {
        let mut probed = row(200);
        probed.note_page(&url(end), title, words);
        assert_eq!(probed.verdict(), expected, "{end} {title} {words}");
    };
    check("https://a.example/x", "Page not found | A", 12, V::Unsure);
    check("https://a.example/x", "Page not found | A", 300, V::Ok);
    check("https://a.example/x", "Welcome", 12, V::Ok);
    // A home page never is one (renevoorburg/robustify.js#4).
    check("https://a.example/", "404", 0, V::Ok);
}

#[test]
fn titles_of_error_pages() {
    for title in [
        "404",
        "404 Not Found",
        "Error 404",
        "HTTP 404 - Example",
        "Page not found – Example",
        "Example: Page Not Found!",
        "404: This page could not be found.",
        "Seite nicht gefunden | Beispiel",
        "Oops! Page not found",
        "Página no encontrada",
    ] {
        assert!(says_not_found(title), "{title}");
    }
    for title in [
        "",
        "How to mend 404 Not Found",
        "404 things to do",
        "Error handling in Rust",
        "Error",
        "Area code 404 Atlanta",
        "OWL 2 Web Ontology Language",
    ] {
        assert!(!says_not_found(title), "{title}");
    }
}

#[test]
fn a_dead_host_is_dead_for_all_its_urls() {
    let failed = LinkAnswer {
        failure: Some(FailureClass::DnsNotFound),
        ..LinkAnswer::default()
    };
    let judged = judge_answer(&failed, &[]);
    let dead = || ProbeRow::new(judged.clone(), None, Vec::new());
    let unasked = || {
        let skip = SkipReason::HostUnreachable;
        let answer = LinkAnswer {
            skip: Some(skip),
            ..LinkAnswer::default()
        };
        ProbeRow::for_unasked(judge_answer(&answer, &[]), skip)
    };
    let mut table = ProbeTable::default();
    table.insert(url("https://dead.example/a"), dead().asked_again(dead()));
    table.insert(url("https://dead.example/b"), unasked());
    table.insert(url("https://ill.example/a"), dead().asked_again(dead()));
    table.insert(url("https://ill.example/b"), row(200));
    table.insert(url("https://ill.example/c"), unasked());
    table.spread_dead_hosts();
    let verdict = |text: &str| table.row(&url(text)).unwrap().verdict();
    assert_eq!(verdict("https://dead.example/b"), CheckVerdict::Broken);
    assert_eq!(verdict("https://ill.example/c"), CheckVerdict::Unsure);
    assert_eq!(table.unchecked(), 0);
}

#[test]
fn a_link_that_nobody_asked_fails_only_with_its_whole_host() {
    let skip = SkipReason::HostUnreachable;
    let unasked = || {
        let answer = LinkAnswer {
            skip: Some(skip),
            ..LinkAnswer::default()
        };
        ProbeRow::for_unasked(judge_answer(&answer, &[]), skip)
    };
    let patience = FailurePatience {
        runs: 3,
        span: Duration::ZERO,
    };
    let page = url("https://h.example/left-out");
    let check = |asked: &[u16], expected: CheckVerdict, runs: u32| {
        let rows = asked.iter().zip(0..).map(|(status, number)| {
            let url = url(&format!("https://h.example/{number}"));
            (url, row(*status).asked_again(row(*status)))
        });
        let rows: Vec<_> = rows.collect();
        let mut known: Option<ProbeRow> = None;
        for now in 0..3 {
            let asked = rows.iter().map(|(url, row)| (url, row));
            let unasked = unasked();
            let signs = HostSigns::new(asked.chain([(&page, &unasked)]));
            known = Some(signs.settle((&page, unasked.clone()), known.as_ref(), now, &patience));
        }
        let known = known.unwrap();
        assert_eq!(known.verdict(), expected, "{asked:?}");
        assert_eq!(known.failing.runs, runs, "{asked:?}");
    };
    check(&[500, 503], V::Broken, 3);
    check(&[], V::Broken, 3);
    check(&[500, 200], V::Unsure, 0);
    check(&[500, 404], V::Unsure, 0);
    check(&[503, 429], V::Blocked, 0);
    check(&[200, 999], V::Blocked, 0);
}

#[test]
fn rows_are_kept_as_they_are() {
    let mut kept = row(503).asked_again(row(503));
    kept = kept.after(None, 7, &FailurePatience::default());
    let text = serde_json::to_string(&kept).unwrap();
    assert_eq!(serde_json::from_str::<ProbeRow>(&text).unwrap(), kept);
}

#[test]
fn places_of_names_that_cannot_exist() {
    for (page, expected) in [
        ("https://a.example/", "https://a.example/"),
        ("https://a.example/x", "https://a.example/"),
        ("https://a.example/blog/x/y?z", "https://a.example/blog/"),
        ("https://a.example//x", "https://a.example/"),
    ] {
        assert_eq!(impossible_place(&url(page)), expected);
    }
}
