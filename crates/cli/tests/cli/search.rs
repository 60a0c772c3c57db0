//! Searching a crawl, as people do it.

use serde_json::Value;
use terrarium::{Page, Site};

use crate::place::{HOST, Place, web_of};

fn crawled() -> Place {
    let home = "<title>Home</title><a href=/hash>h</a> <a href=/evil>e</a> <a href=/tree>t</a> \
                <a href=/tree/>t</a>";
    let evil = "<title>\u{1b}]0;owned\u{7}Evil &lt;b&gt; \u{202e}keys</title>evil keys";
    let site = Site::new()
        .page("/", Page::html(home))
        .page(
            "/hash",
            Page::html("<title>Hash maps</title>pairs of keys and values"),
        )
        .page("/tree", Page::html("<title>Trees</title>keys in order"))
        .page(
            "/tree/",
            Page::html("<title>Trees</title>keys in another order"),
        )
        .page("/evil", Page::html(evil));
    let web = web_of(site);
    let place = Place::new();
    let ran = place.run(&["-q", "-o", "a.crawl", &web.url(HOST, "/")]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    place
}

#[test]
fn pages_are_found_by_their_words() {
    let place = crawled();
    let ran = place.run(&["search", "hash", "keys"]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    assert!(
        ran.out
            .starts_with("  1. Hash maps\n     http://127.0.0.1:"),
        "{}",
        ran.out
    );
    assert!(
        ran.out.contains("/hash\n     pairs of keys and values\n"),
        "{}",
        ran.out
    );
    assert!(
        ran.talk.starts_with("note: 4 pages match ("),
        "{}",
        ran.talk
    );
    let ran = place.run(&["search", "a.crawl", "nowhere"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.talk.starts_with("note: 0 pages match"), "{}", ran.talk);
    assert!(!ran.talk.contains("did you mean"), "{}", ran.talk);
    let ran = place.run(&["search", "valeus"]);
    assert!(
        ran.talk.ends_with("note: did you mean values?\n"),
        "{}",
        ran.talk
    );
    let ran = place.run(&["search", "pairs"]);
    assert!(
        ran.talk.starts_with("note: 1 page matches ("),
        "{}",
        ran.talk
    );
    let ran = place.run(&["index"]);
    let expected = "note: 5 pages in the index, 0 of them new or changed, in ";
    assert!(
        ran.code == 0 && ran.talk.starts_with(expected),
        "{}",
        ran.talk
    );
    let ran = place.run(&["index", "a.crawl", "--rebuild"]);
    assert!(
        ran.talk.contains("5 of them new or changed"),
        "{}",
        ran.talk
    );
}

#[test]
fn results_are_data() {
    let place = crawled();
    let ran = place.run(&["search", "keys", "--format", "json", "-n", "2"]);
    assert_eq!((ran.code, ran.talk.as_str()), (0, ""));
    let results: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(results["total"], 4);
    assert_eq!(results["hits"].as_array().unwrap().len(), 2);
    assert_eq!(results["facets"]["host"][0]["count"], 4);
    let ran = place.run(&["search", "keys", "--format", "jsonl", "--offset", "2"]);
    let hit: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (ran.out.lines().count(), hit["host"].as_str()),
        (1, Some(HOST))
    );
}

#[test]
fn pages_that_are_alike_are_folded() {
    let place = crawled();
    let ran = place.run(&["search", "order"]);
    assert!(
        ran.out.contains("\n     and 1 alike: http://127.0.0.1:"),
        "{}",
        ran.out
    );
    assert!(!ran.out.contains("  2. "), "{}", ran.out);
    let ran = place.run(&["search", "order", "--no-fold"]);
    assert!(
        ran.out.contains("  2. Trees") && !ran.out.contains("alike"),
        "{}",
        ran.out
    );
}

#[test]
fn titles_stay_text() {
    let place = crawled();
    for format in ["text", "json"] {
        let ran = place.run(&["search", "evil", "--format", format]);
        assert!(ran.out.contains("]0;owned Evil <b> keys"), "{}", ran.out);
        assert!(
            !ran.out.contains(['\u{1b}', '\u{7}', '\u{202e}']),
            "{:?}",
            ran.out
        );
    }
}

#[test]
fn what_is_wrong_is_told_with_a_way_on() {
    let place = crawled();
    let ran = place.run(&["search", "keys colour:red"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    let expected = "error: QUERY: there is no field \"colour\"; there are title, heading, ";
    assert!(ran.talk.starts_with(expected), "{}", ran.talk);
    assert!(ran.talk.contains("at character 6"), "{}", ran.talk);
    let ran = place.run(&["search", "missing.crawl", "keys"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.talk.contains("missing.crawl is not a job folder"),
        "{}",
        ran.talk
    );
    let ran = Place::new().run(&["search", "keys"]);
    assert!(
        ran.code == 2 && ran.talk.contains("name the job folder"),
        "{}",
        ran.talk
    );
}
