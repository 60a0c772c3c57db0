//! Two pages, hunk by hunk.

use clewline_content::Url;

use super::*;
use crate::options::DiffOptions;
use crate::page::{PageTokens, read_page};
use crate::side::{BodyForm, key_of};

fn read(html: &str) -> PageTokens {
    let url = Url::parse("https://a.test/").unwrap();
    read_page(
        html,
        (BodyForm::Html, &url),
        &DiffOptions::default(),
        &|_| None,
    )
    .unwrap()
}

fn hunks(old: &str, new: &str) -> Vec<PageHunk> {
    page_hunks(&read(old), &read(new), &KnownUrls::default())
}

/// Edit, place, words and layers of each hunk.
fn shown(old: &str, new: &str) -> Vec<String> {
    let line = |hunk: &PageHunk| {
        let layers: Vec<_> = hunk.layers().map(DiffLayer::name).collect();
        let (removed, added, region) = (&hunk.removed, &hunk.added, &hunk.region);
        format!(
            "{} {region}: {removed} -> {added} [{}]",
            hunk.edit,
            layers.join(" ")
        )
    };
    hunks(old, new).iter().map(line).collect()
}

#[test]
fn a_run_begins_where_its_block_does() {
    let menu = |items: &[&str]| {
        let items = items.iter().map(|it| format!("<li><a href=/{it}>{it}</a>"));
        format!("<nav><ul>{}</ul></nav><p>end", items.collect::<String>())
    };
    let old = menu(&["one", "two", "three"]);
    for new in [
        &["new", "one", "two", "three"],
        &["one", "new", "two", "three"],
        &["one", "two", "three", "new"],
    ] {
        let found = hunks(&old, &menu(new));
        assert_eq!(found.len(), 1, "{new:?}");
        assert_eq!(
            (found[0].before, found[0].added.as_str()),
            (0, "new"),
            "{new:?}"
        );
        // The same edit, wherever it is.
        assert_eq!(
            found[0].after,
            hunks(&old, &menu(&["new", "one", "two", "three"]))[0].after
        );
    }
}

#[test]
fn runs_of_one_block_are_one_edit_and_layers_are_told() {
    assert_eq!(
        shown(
            "<p>a b c d e</p><p>f g</p><p>h",
            "<p>a x c y e</p><p>f g</p><p>z"
        ),
        [
            "0 body p: b -> x [text]",
            "0 body p: d -> y [text]",
            "1 body p: h -> z [text]"
        ]
    );
    assert_eq!(
        shown(
            "<title>A</title><meta name=robots content=all><p>a<img src=x>",
            "<title>B</title><meta name=robots content=none><p>a<img src=y>"
        ),
        [
            "0 head title: A -> B [title]",
            "1 head meta: all -> none [robots]",
            "2 body p:  ->  [images]"
        ]
    );
    assert_eq!(
        shown("<p>a", "<div><p>a</div>"),
        ["0 body div:  ->  [structure]"]
    );
}

#[test]
fn noise_beside_an_edit_is_a_hunk_of_its_own() {
    let page = |item: &str, session: u32| {
        format!("<ul><li><a href=/one>One</a>{item}<li><a href='/cart?s={session}'>Cart</a></ul>")
    };
    let item = "<li><a href=/two>Two</a>";
    let first = hunks(&page("", 1), &page(item, 2));
    let second = hunks(&page("", 3), &page(item, 4));
    let edit = |found: &[PageHunk]| -> Vec<_> {
        found
            .iter()
            .filter(|it| !it.is_volatile)
            .map(|it| (it.before, it.after))
            .collect()
    };
    assert_eq!(first.len(), 2);
    assert_eq!(edit(&first), edit(&second));
}

#[test]
fn what_follows_from_a_page_that_is_gone_is_known() {
    let known = KnownUrls {
        gone: [key_of("https://a.test/x")].into(),
        ..KnownUrls::default()
    };
    let explained = |old: &str, new: &str| {
        let found = page_hunks(&read(old), &read(new), &known);
        found
            .iter()
            .map(|hunk| hunk.is_explained)
            .collect::<Vec<_>>()
    };
    let list = "<ul><li><a href=/x>X</a> a teaser of it<li><a href=/y>Y</a></ul>";
    assert_eq!(explained(list, "<ul><li><a href=/y>Y</a></ul>"), [true]);
    assert_eq!(
        explained("<p>Next: <a href=/x>X</a>", "<p>Next: <a href=/y>Y</a>"),
        [true]
    );
    // Words that have nothing to do with it are an edit.
    assert_eq!(
        explained(
            "<p>Old words <a href=/x>X</a>",
            "<p>New text <a href=/y>Y</a>"
        ),
        [false, true]
    );
    assert_eq!(
        explained("<p><a href=/z>Z</a>", "<p><a href=/y>Y</a>"),
        [false]
    );
}

/// Learns from pages of one template, and says which hunks of the first are noise.
fn noise_of(pages: &[(String, String)], same: usize) -> Vec<bool> {
    let mut noise = NoiseLearner::default();
    let all: Vec<_> = pages.iter().map(|(old, new)| hunks(old, new)).collect();
    (0..same).for_each(|_| noise.compared(7));
    for hunks in &all {
        noise.compared(7);
        noise.learn(7, hunks);
    }
    all[0].iter().map(|hunk| noise.is_noise(7, hunk)).collect()
}

const QUOTE: &str = "one two three four five six seven eight";

#[test]
fn noise_varies_is_common_and_looks_so() {
    let pages = |text: &dyn Fn(u32) -> (String, String)| -> Vec<_> {
        (0..8)
            .map(text)
            .map(|(old, new)| (format!("<p>{old}"), format!("<p>{new}")))
            .collect()
    };
    let clock = pages(&|it| (format!("at 12:{}", 10 + it), format!("at 12:{}", 30 + it)));
    assert_eq!(noise_of(&clock, 0), [true]);
    assert_eq!(noise_of(&clock, 100), [false], "on too few pages");
    assert_eq!(noise_of(&clock[..2], 0), [false], "on two pages");
    let year = pages(&|_| ("© 2025".to_owned(), "© 2026".to_owned()));
    assert_eq!(noise_of(&year, 0), [false], "the same on all");
    let price = pages(&|it| (format!("$ 1{it}"), format!("$ 2{it}")));
    let price_marks = pages(&|it| (format!("{it} $"), format!("{it} €")));
    assert_eq!(noise_of(&price_marks, 0), [false]);
    assert_eq!(noise_of(&price, 0), [false], "money");
    let prose = pages(&|it| {
        let name = QUOTE.split(' ').nth(it as usize).unwrap();
        (format!("old {name}"), format!("new {name}ish"))
    });
    assert_eq!(noise_of(&prose, 0), [false], "new prose");
    let quotes = ["still waters", "many hands", "well begun"];
    let drawn = pages(&|it| {
        let (one, other) = (it as usize % 3, (it as usize + 1) % 3);
        (quotes[one].to_owned(), quotes[other].to_owned())
    });
    assert_eq!(noise_of(&drawn, 0), [true], "drawn from a pool");
}
