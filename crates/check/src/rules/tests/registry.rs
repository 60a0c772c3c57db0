//! The list of rules.

use std::collections::BTreeSet;

use crate::rule::Severity;
use crate::rules::{all, find, matching};

/// What fails a run, and nothing else.
const ERRORS: [&str; 11] = [
    "http/server-error",
    "index/noindex-sitewide",
    "links/broken",
    "links/broken-external",
    "links/broken-part",
    "links/empty-root",
    "links/fragment",
    "links/malformed",
    "links/private",
    "links/redirect-loop",
    "links/redirect-to-broken",
];

#[test]
fn names_are_sorted_and_unique_and_texts_whole() {
    let ids: Vec<_> = all().iter().map(|rule| rule.id).collect();
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    for rule in all() {
        assert!(rule.id.split('/').count() == 2, "{}", rule.id);
        assert!(!rule.summary.ends_with('.'), "{}", rule.id);
        let help = &rule.help;
        for text in [help.why, help.found, help.mend, help.false_alarms] {
            assert!(
                text.len() > 4 && !text.contains("  "),
                "{}: {text}",
                rule.id
            );
        }
    }
}

#[test]
fn only_what_proves_itself_is_an_error() {
    let errors: Vec<_> = all()
        .iter()
        .filter(|rule| rule.severity == Some(Severity::Error))
        .map(|rule| rule.id)
        .collect();
    assert_eq!(errors, ERRORS);
}

#[test]
fn every_mark_has_its_rule() {
    for mark in crate::facts::MARKS {
        assert!(find(mark).is_ok(), "{mark}");
    }
}

#[test]
fn rules_are_found_by_name_and_pattern() {
    assert_eq!(find("links/broken").unwrap().id, "links/broken");
    let nearest = |word: &str| find(word).unwrap_err().nearest;
    assert_eq!(nearest("links/brokn"), ["links/broken"]);
    assert!(nearest("soft-404").contains(&"content/soft-404"));
    assert!(nearest("zzzzzzzzzzzz").is_empty());
    assert!(nearest(&"x".repeat(100_000)).is_empty());
    let error = find("links/\u{1b}brokn").unwrap_err().to_string();
    assert!(
        error.contains("did you mean links/broken") && !error.contains('\u{1b}'),
        "{error}"
    );
    let count = |pattern: &str| matching(pattern).map_or(0, |rules| rules.len());
    assert_eq!(count("*"), all().len());
    assert_eq!(count("mixed"), count("mixed/*"));
    assert_eq!(count("mixed"), 4);
    assert_eq!(count("links/redirect*"), 5);
    assert_eq!(count("title/missing"), 1);
    assert!(
        matching("link")
            .unwrap_err()
            .to_string()
            .contains("--list-rules")
    );
    let categories: BTreeSet<_> = all().iter().map(|rule| rule.category()).collect();
    assert!(categories.iter().all(|category| count(category) > 0));
}
