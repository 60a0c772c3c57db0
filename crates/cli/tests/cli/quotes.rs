//! Passages that a crawl is exported as, and whether quotes stand in their captures.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use serde_json::Value;
use terrarium::{LiveWeb, Page, Site, Web, links};

use crate::place::{HOST, Place, web_of};

/// Pages of the site.
const PAGES: usize = 25;
/// Sections of a page, each long enough to be a passage.
const SECTIONS: usize = 40;
/// Quotes that are compared of each kind.
const QUOTES: usize = 1000;

/// A page of sections that differ in a number only, as altered quotes do.
fn page(number: usize, edition: &str) -> Page {
    let mut html = format!("<title>Page {number}</title><h1>Page {number}</h1>");
    for section in 0..SECTIONS {
        let _ = write!(html, "<h2>Section {section}</h2><p>");
        for line in 0..24 {
            let cost = number * 10_007 + section * 101 + line;
            let _ = write!(
                html,
                "Line {line} costs {cost} units, <b>not</b> more &amp; not less. "
            );
        }
        if section == 3 && number == 1 {
            html.push_str(edition);
        }
        html.push_str("</p>");
    }
    Page::html(html)
}

fn site(edition: &str) -> Site {
    let paths: Vec<String> = (0..PAGES).map(|number| format!("/{number}")).collect();
    let mut site = Site::new().page("/", Page::html(links(paths.iter().map(String::as_str))));
    for (number, path) in paths.iter().enumerate() {
        site = site.page(path, page(number, edition));
    }
    site
}

fn crawled() -> (Place, LiveWeb) {
    let (place, web) = (Place::new(), web_of(site("first")));
    let ran = place.run(&["-q", &web.url(HOST, "/"), "-o", "a.crawl"]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    (place, web)
}

fn chunks(place: &Place, job: &str, more: &[&str]) -> Vec<Value> {
    let mut line = vec!["export", job, "--to", "chunks", "-o", "-"];
    line.extend_from_slice(more);
    let ran = place.run(&line);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    ran.out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn written(place: &Place, name: &str, quotes: &[Value]) {
    let lines = quotes.iter().fold(String::new(), |lines, quote| {
        lines + &quote.to_string() + "\n"
    });
    fs::write(place.path(name), lines).unwrap();
}

/// A quote with one thing altered; which one depends on the number.
fn altered(quote: &Value, number: usize) -> Value {
    let mut quote = quote.clone();
    let text = quote["text"].as_str().unwrap().to_owned();
    let numbers: Vec<usize> = text.match_indices(" units").map(|(at, _)| at).collect();
    let at = numbers[number % numbers.len()];
    let other = match number % 8 {
        0 => format!("{}7{}", &text[..at], &text[at..]),
        1 => text.replacen("**not** more", "more", 1),
        2 => text.replacen("costs", "cost", 1),
        3 => text.replacen("Line 3 ", "line 3 ", 1),
        4 => format!("{text} And pay at once."),
        5 => text.replacen("less. Line 9", "less. … Line 9", 1),
        6 => {
            let digit = text[..at]
                .chars()
                .next_back()
                .unwrap()
                .to_digit(10)
                .unwrap();
            format!("{}{}{}", &text[..at - 1], (digit + 1) % 10, &text[at..])
        }
        _ => text
            .replacen("Section", "Sektion", 1)
            .replacen("Page", "Pages", 1),
    };
    assert_ne!(other, text, "{number}");
    quote["text"] = Value::String(other);
    quote
}

#[test]
fn real_quotes_are_accepted_and_altered_ones_refused() {
    let (place, web) = crawled();
    let quotes: Vec<_> = chunks(&place, "a.crawl", &["--where", "depth=1"]);
    assert!(quotes.len() >= QUOTES, "{}", quotes.len());
    let quotes = &quotes[..QUOTES];
    written(&place, "real", quotes);
    let verify = |file: &str| place.run(&["warc", "verify", "a.crawl", "--quote", file]);
    let ran = verify("real");
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.talk);
    assert!(ran.talk.contains("1,000 quotes, 0 refused"), "{}", ran.talk);
    let others: Vec<_> = quotes
        .iter()
        .enumerate()
        .map(|(n, quote)| altered(quote, n))
        .collect();
    written(&place, "altered", &others);
    let ran = verify("altered");
    assert_eq!(
        (ran.code, ran.out.lines().count()),
        (1, QUOTES),
        "{}",
        ran.talk
    );
    assert!(
        ran.out
            .lines()
            .all(|line| line.contains("do not stand there"))
    );
    for (field, value) in [
        ("url", Value::from(web.url(HOST, "/3"))),
        ("captured", Value::from("2001-01-01T00:00:00Z")),
        (
            "digest",
            Value::from("sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"),
        ),
        ("file", Value::from("other.warc.gz")),
        ("offset", Value::from(1)),
        ("headings", Value::from(vec!["Other"])),
    ] {
        let mut quote = quotes[0].clone();
        quote[field] = value;
        written(&place, "field", &[quote]);
        assert_eq!(verify("field").code, 1, "{field}");
    }
}

#[test]
fn a_url_and_a_text_are_a_quote_as_well() {
    let (place, web) = crawled();
    let url = web.url(HOST, "/2");
    for (text, code) in [
        ("Line 3 costs 20017 units, not more & not less.", 0),
        ("Line 3 costs\n  20017 units", 0),
        ("Line 3 costs 20018 units", 1),
    ] {
        let quote = format!("{url}\n{text}\n");
        let place_of_quote = place.path("quote");
        fs::write(&place_of_quote, quote).unwrap();
        let ran = place.run(&["warc", "verify", "a.crawl", "--quote", "quote"]);
        assert_eq!(ran.code, code, "{text}: {}{}", ran.out, ran.talk);
    }
    fs::write(place.path("quote"), "no quote").unwrap();
    assert_eq!(
        place
            .run(&["warc", "verify", "a.crawl", "--quote", "quote"])
            .code,
        2
    );
}

#[test]
fn a_delta_makes_the_earlier_passages_those_of_the_new_crawl() {
    let (place, web) = crawled();
    web.put(HOST, "/1", page(1, "second"));
    web.put(HOST, "/2", Page::html("gone").status(404));
    let root = web.url(HOST, "/");
    let ran = place.run(&["-q", &root, "-o", "b.crawl", "--update-from", "a.crawl"]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    let ids = |chunks: &[Value]| -> BTreeSet<String> {
        chunks
            .iter()
            .map(|chunk| chunk["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let (old, new) = (
        chunks(&place, "a.crawl", &[]),
        chunks(&place, "b.crawl", &[]),
    );
    assert_eq!(ids(&old).len(), old.len(), "an id came twice");
    let delta = chunks(&place, "b.crawl", &["--delta"]);
    let mut by_change: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for chunk in &delta {
        by_change
            .entry(chunk["change"].as_str().unwrap())
            .or_default()
            .push(chunk);
    }
    assert_eq!(by_change["added"].len(), 1, "one passage has other words");
    assert!(
        by_change["added"][0]["text"]
            .as_str()
            .unwrap()
            .contains("second")
    );
    let removed: BTreeSet<_> = by_change["removed"]
        .iter()
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect();
    let mut made: BTreeSet<_> = ids(&old).difference(&removed).cloned().collect();
    made.extend(
        by_change["added"]
            .iter()
            .map(|one| one["id"].as_str().unwrap().to_owned()),
    );
    assert_eq!(made, ids(&new));
    let page_2 = web.url(HOST, "/2");
    assert!(
        by_change["removed"]
            .iter()
            .any(|one| one["url"] == page_2.as_str())
    );
    for (line, code) in [
        (
            vec!["export", "a.crawl", "--to", "chunks", "-o", "-", "--delta"],
            2,
        ),
        (
            vec!["export", "a.crawl", "--to", "csv", "-o", "-", "--delta"],
            2,
        ),
        (
            vec!["export", "a.crawl", "--to", "chunks", "-o", "c.parquet"],
            0,
        ),
    ] {
        let ran = place.run(&line);
        assert_eq!(ran.code, code, "{line:?}: {}", ran.talk);
    }
    assert!(
        fs::read(place.path("c.parquet"))
            .unwrap()
            .starts_with(b"PAR1")
    );
}

/// A passage of a rendered page stands in what a browser showed, and the answer may be quoted as well.
#[test]
fn quotes_of_rendered_pages_are_accepted() {
    let site = Site::new().page(
        "/",
        Page::html("<h1>Sent</h1><div id=root></div><script>run()</script>"),
    );
    let web = Web::new().site(fieldwork::HOST, site).start();
    let place = Place::new();
    let config = fieldwork::config(&web, &place.path("a.crawl"));
    fieldwork::crawl_rendered(config, |_| {
        "<h1>Shown</h1><p>What only a browser shows.</p>".to_owned()
    });
    let shown = chunks(&place, "a.crawl", &["--where", "depth=0"]);
    assert_eq!(shown.len(), 1, "{shown:?}");
    let text = shown[0]["text"].as_str().unwrap();
    assert!(text.contains("only a browser"), "{text}");
    let (mut sent, mut neither) = (shown[0].clone(), shown[0].clone());
    for (quote, words) in [(&mut sent, "Sent"), (&mut neither, "Unsaid")] {
        quote["text"] = words.into();
        quote.as_object_mut().unwrap().remove("headings");
    }
    for (quote, code) in [(&shown[0], 0), (&sent, 0), (&neither, 1)] {
        written(&place, "quotes", std::slice::from_ref(quote));
        let ran = place.run(&["warc", "verify", "a.crawl", "--quote", "quotes"]);
        assert_eq!(ran.code, code, "{quote}: {} {}", ran.out, ran.talk);
    }
}
