use clewline_core::outcome::FailureClass;

use super::super::{RunFacts, Tally, samples};
use super::*;

#[test]
fn the_policy_names_the_script() {
    let page = html(&samples::report());
    let script = page.split_once("<script>").unwrap().1;
    let script = script.split_once("</script>").unwrap().0;
    let source = format!("script-src '{}';", policy_source(script));
    assert!(page.contains(&source), "{source}");
}

#[test]
fn nothing_is_loaded() {
    let page = html(&samples::report());
    let places = page.match_indices("http").map(|(at, _)| &page[..at]);
    for before in places {
        let is_link = before.ends_with("<a href=\"");
        let is_text = before.ends_with('>') || before.ends_with("<meta ");
        assert!(is_link || is_text, "…{}", &before[before.len() - 40..]);
    }
    for loader in [
        " src=",
        "<link",
        "@import",
        "url(",
        "<img",
        "<iframe",
        " onclick=",
    ] {
        assert!(!page.contains(loader), "{loader}");
    }
    assert_eq!(
        page.matches("<a href").count(),
        page.matches("rel=\"noopener noreferrer\"").count()
    );
    assert_eq!(page.matches("<script").count(), 1);
}

#[test]
fn foreign_text_is_text() {
    let attack = "\"'><script>alert(1)</script>\u{202e}\u{1b}";
    let mut tally = Tally::default();
    let mut record = samples::answer("http://a.test/?'><script>&x=1", 404, Some(attack));
    record.found_on = Some(samples::url("http://a.test/'\"<script>"));
    tally.add(&record);
    tally.add(&samples::failed("http://b.test/", FailureClass::Tls));
    let facts = RunFacts {
        version: attack.into(),
        started_at: attack.into(),
        finished_at: attack.into(),
        folder: Some(attack.into()),
        roots: vec![record.url.clone()],
        joined_hosts: vec![attack.into()],
        notes: vec![attack.into()],
        stopped_by: StoppedBy::Error(attack.into()),
        ..RunFacts::default()
    };
    let page = html(&Report::build(None, tally, facts).unwrap());
    assert_eq!(page.matches("<script").count(), 1);
    assert!(!page.chars().any(|c| c != '\n' && escape::is_steering(c)));
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;\\u{202e}\\x1b"));
}

#[test]
fn an_empty_crawl_has_a_page() {
    let report = Report::build(None, Tally::default(), RunFacts::default()).unwrap();
    let page = html(&report);
    assert!(page.contains("None. Every URL"));
    assert!(!page.contains("<svg") && !page.contains("NaN") && !page.contains("inf"));
}

/// Writes the sample to the file named by `CLEWLINE_SAMPLE_REPORT`, to look at it.
#[test]
fn the_sample_can_be_looked_at() {
    let page = html(&samples::report());
    assert!(page.contains("<svg") && page.contains("Rate over time"));
    if let Some(path) = std::env::var_os("CLEWLINE_SAMPLE_REPORT") {
        std::fs::write(path, page).unwrap();
    }
}
