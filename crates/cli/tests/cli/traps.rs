//! A site without end: what is said of it, and how it is fetched all the same.

use std::collections::BTreeSet;

use serde_json::Value;
use terrarium::{Page, Site};

use crate::place::{HOST, Place, web_of};

/// A page, and a tree below `/cal/` in which each page leads to two more that say the same.
fn endless_tree() -> Site {
    let stories: Vec<String> = ('a'..='t')
        .flat_map(|first| ('a'..='t').map(move |second| format!("{first}{second}x")))
        .collect();
    let links = stories
        .iter()
        .map(|word| format!("<a href=/story/{word}>{word}</a>"));
    let home = format!(
        "<p>Welcome to the calendar</p><a href=/cal/1>calendar</a><a href=/about>us</a>{}",
        links.collect::<String>()
    );
    let site = stories.iter().fold(Site::new(), |site, word| {
        let text = format!("<p>once {word}ish {word}able lived {word}er</p>");
        site.page(&format!("/story/{word}"), Page::html(text))
    });
    site.page("/", Page::html(home))
        .page("/about", Page::html("<p>All about us</p>"))
        .under("/cal/", |request| {
            let number: u128 = request.path()["/cal/".len()..].parse().unwrap_or(1);
            let (left, right) = (2 * number, 2 * number + 1);
            let body = format!("<p>No events</p><a href={left}>a</a><a href={right}>b</a>");
            Page::html(body).into()
        })
}

fn numbers(place: &Place) -> BTreeSet<u128> {
    let records = place.records("a.crawl");
    let paths = records.iter().map(|record| record.url.path().to_owned());
    paths
        .filter_map(|path| path.strip_prefix("/cal/")?.parse().ok())
        .collect()
}

fn status(place: &Place) -> Value {
    serde_json::from_str(&place.run(&["status", "--json"]).out).unwrap()
}

#[test]
fn a_trap_is_given_up_named_and_fetched_on_demand() {
    let web = web_of(endless_tree());
    let place = Place::new();
    let root = web.url(HOST, "/");
    let ran = place.run(&["--no-sitemaps", "-o", "a.crawl", &root]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    assert!(ran.out.contains("/cal/{n}"), "{}", ran.out);
    assert!(ran.out.contains("given up as a trap on"), "{}", ran.out);
    assert!(ran.talk.contains("--no-trap-detection"), "{}", ran.talk);
    let html = std::fs::read_to_string(place.path("a.crawl/report.html")).unwrap();
    assert!(html.contains("/cal/{n}") && html.contains("Withheld"));

    let fetched = numbers(&place);
    assert!(
        (2_000..12_000).contains(&fetched.len()),
        "{}",
        fetched.len()
    );
    let told = status(&place);
    let (withheld, pages) = (
        told["withheld"].as_u64().unwrap(),
        told["pages"].as_u64().unwrap(),
    );
    assert_eq!(
        (&told["state"], &told["queued"]),
        (&"finished".into(), &0.into())
    );
    let is_open = |number: &u128| fetched.contains(&(number / 2)) && !fetched.contains(number);
    let open = (2..40_000).filter(is_open).collect::<Vec<_>>();
    assert_eq!(
        open.len() as u64,
        withheld,
        "all that is known and not fetched"
    );

    let url = web.url(HOST, &format!("/cal/{}", open[0]));
    let why = place.run(&["why", &url]).out;
    assert!(
        why.contains("withheld: given up as a trap: /cal/{n}, "),
        "{why}"
    );
    assert!(why.contains(" pages alike"), "{why}");

    let requests = web.log().iter().count();
    let again = place.run(&["resume", "a.crawl"]);
    assert!(
        again.talk.contains("resume --no-trap-detection"),
        "{}",
        again.talk
    );
    assert_eq!(web.log().iter().count(), requests, "nothing was asked");

    let budget = (pages + withheld).to_string();
    let line = [
        "resume",
        "a.crawl",
        "-q",
        "--no-trap-detection",
        "-n",
        &budget,
    ];
    assert_eq!(place.run(&line).code, 0);
    let all = numbers(&place);
    assert!(
        open.iter().all(|number| all.contains(number)),
        "what was withheld is fetched"
    );
    assert_eq!(status(&place)["withheld"], 0);
}
