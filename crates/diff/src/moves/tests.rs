//! Pages that find each other, and pages that must not.

use clewline_content::Url;

use super::*;
use crate::side::BodyForm;

/// A page of so many words from a number on.
fn page(path: &str, title: &str, words: std::ops::Range<u32>) -> Candidate {
    let url = Url::parse(&format!("http://a.test{path}")).unwrap();
    let text: Vec<String> = words
        .map(|number| format!("word{}", number * 7919 % 100_003))
        .collect();
    let html = format!(
        "<title>{title}</title><main><p>{}</p></main>",
        text.join(" ")
    );
    Candidate {
        digest: 0,
        sketch: PageSketch::from_page(&html, BodyForm::Html, &url),
    }
}

fn check(old: &[Candidate], new: &[Candidate], expected: &[(usize, usize, &str, MoveReason)]) {
    let found = matched(old, new);
    let found: Vec<_> = found
        .iter()
        .map(|it| (it.0, it.1, it.2.name(), it.3))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn equal_and_nearly_equal_texts_find_each_other() {
    check(
        &[page("/a", "A", 0..300), page("/b", "B", 1000..1300)],
        &[page("/x", "X", 1000..1295), page("/y", "Y", 0..300)],
        &[
            (0, 1, "sure", MoveReason::SameText),
            (1, 0, "sure", MoveReason::NearText),
        ],
    );
}

#[test]
fn what_several_pages_could_be_is_not_sure() {
    // Two pages with one text, told apart by nothing.
    check(
        &[page("/a", "A", 0..300), page("/b", "B", 0..300)],
        &[page("/x", "X", 0..300)],
        &[(0, 0, "likely", MoveReason::NearText)],
    );
    // Told apart by title and path.
    check(
        &[page("/a", "A", 0..300), page("/b", "B", 0..300)],
        &[page("/x/b/", "B", 0..300), page("/x/a/", "A", 0..300)],
        &[
            (0, 1, "sure", MoveReason::SameText),
            (1, 0, "sure", MoveReason::SameText),
        ],
    );
    // Too few words prove nothing.
    check(&[page("/a", "A", 0..5)], &[page("/x", "X", 0..5)], &[]);
}

#[test]
fn title_and_path_prove_what_the_text_does_not_contradict() {
    check(
        &[page("/a.html", "One | Old", 0..20)],
        &[page("/new/a/", "One – New", 400..420)],
        &[(0, 0, "sure", MoveReason::PathAndTitle)],
    );
    check(
        &[page("/a.html", "One", 0..300)],
        &[page("/new/a/", "One", 4000..4300)],
        &[(0, 0, "likely", MoveReason::PathAndTitle)],
    );
    check(
        &[page("/a.html", "One", 0..20), page("/b", "Two", 0..9)],
        &[page("/new/a/", "Other", 400..420), page("/c", "Two", 9..15)],
        &[
            (0, 0, "likely", MoveReason::Path),
            (1, 1, "likely", MoveReason::Title),
        ],
    );
    check(
        &[page("/index.html", "One", 0..20)],
        &[page("/new/index.php", "Other", 400..420)],
        &[],
    );
}

#[test]
fn likeness_is_the_share_of_what_both_have() {
    let likeness = |one: std::ops::Range<u32>, other: std::ops::Range<u32>| {
        let (one, other) = (page("/a", "", one), page("/b", "", other));
        one.sketch.likeness(&other.sketch)
    };
    assert!(likeness(0..400, 0..400) > 0.99);
    assert!(likeness(0..400, 1000..1400) < 0.1);
    let half = likeness(0..400, 133..533);
    assert!((0.3..0.7).contains(&half), "{half}");
}
