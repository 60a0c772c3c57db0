use clewline_core::outcome::FailureClass;

use super::super::{RunFacts, Tally, samples};
use super::*;

#[test]
fn the_policy_names_style_and_script() {
    let page = html(&samples::report());
    for (name, policy) in [("script", "script-src"), ("style", "style-src")] {
        let text = page.split_once(&format!("<{name}>")).unwrap().1;
        let text = text.split_once(&format!("</{name}>")).unwrap().0;
        let source = format!("{policy} '{}';", policy_source(text));
        assert!(page.contains(&source), "{source}");
        assert!(!text.contains("</") && !text.contains("<!--"));
    }
    assert!(!page.contains(" style="));
}

#[test]
fn nothing_is_loaded() {
    let page = html(&samples::report());
    let places = page.match_indices("http").map(|(at, _)| &page[..at]);
    for before in places {
        let is_link = before.ends_with("<a href=\"");
        let is_text = [">", "<meta ", " title=\""]
            .iter()
            .any(|end| before.ends_with(end));
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
        page.matches("<a href=\"http").count(),
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
    assert!(!page.contains("<figure") && !page.contains("NaN") && !page.contains("inf"));
}

/// A report whose every text is foreign, long, or from right to left.
fn hostile() -> Report {
    let attack = "\"'><script>alert(1)</script>\u{202e}عنوان الصفحة 存在しない";
    let mut tally = Tally::default();
    for number in 0..60 {
        let long = "long-segment-".repeat(23);
        let url = format!("http://host-{}.test/{long}/{number}", number % 40);
        tally.add(&samples::answer(&url, 404, Some(attack)));
    }
    let root = samples::url(&format!("http://a.test/{}", "root-".repeat(60)));
    let facts = RunFacts {
        version: "0.1.0".into(),
        roots: vec![root.clone(), root],
        joined_hosts: vec![attack.into()],
        notes: vec![attack.repeat(3)],
        stopped_by: StoppedBy::Error(attack.into()),
        ..RunFacts::default()
    };
    Report::build(None, tally, facts).unwrap()
}

/// Writes reports to the folder named by `CLEWLINE_SAMPLE_SITES`, to look at them.
#[test]
fn samples_can_be_looked_at() {
    let page = html(&samples::report());
    assert!(page.contains("<svg") && page.contains("Rate over time"));
    let Some(folder) = std::env::var_os("CLEWLINE_SAMPLE_SITES") else {
        return;
    };
    let empty = Report::build(None, Tally::default(), RunFacts::default()).unwrap();
    for (name, page) in [
        ("many", page),
        ("empty", html(&empty)),
        ("hostile", html(&hostile())),
    ] {
        let file = std::path::Path::new(&folder).join(format!("report-{name}.html"));
        std::fs::write(file, page).unwrap();
    }
}

#[test]
fn pictures_stand_in_the_page_itself() {
    let mut report = samples::report();
    assert!(!html(&report).contains("img-src"));
    report.pictures = vec![crate::report::PagePicture {
        url: "https://example.com/?a=\"><script>".into(),
        jpeg: b"\xff\xd8\xff".to_vec(),
    }];
    let page = html(&report);
    assert!(page.contains("img-src data:; style-src"), "{page}");
    assert!(page.contains("<img src=\"data:image/jpeg;base64,/9j/\""));
    assert!(page.contains("?a=&quot;&gt;&lt;script&gt;</bdi>"));
}
