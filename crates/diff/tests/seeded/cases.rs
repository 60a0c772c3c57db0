//! Small sites: what counts as a change, what does not, and pages that mean harm.

use std::path::PathBuf;

use clewline_diff::{DiffForm, DiffHead, DiffKind, DiffOptions, Difference, UrlMap};

use crate::archive::{Archive, compared};

const HTML: &str = "200 OK\r\nContent-Type: text/html";

/// URL path, head and body of an answer.
type Answer<'a> = (&'a str, &'a str, &'a str);

fn found(old: &[Answer<'_>], new: &[Answer<'_>], options: &DiffOptions) -> Difference {
    let place = tempfile::tempdir().expect("a folder");
    let write = |name: &str, host: &str, answers: &[Answer<'_>]| -> PathBuf {
        let path = place.path().join(name);
        let mut archive = Archive::create(&path);
        for (url, head, body) in answers {
            let url = if url.starts_with('/') {
                format!("{host}{url}")
            } else {
                (*url).to_owned()
            };
            archive.answer(&url, head, body);
        }
        path
    };
    let old = write("old.warc.gz", "http://a.test", old);
    let new = write("new.warc.gz", "http://a.test", new);
    compared(&old, &new, options).expect("it is compared")
}

fn kinds(difference: &Difference) -> Vec<(DiffKind, u64)> {
    difference
        .entries
        .iter()
        .map(|it| (it.kind, it.pages))
        .collect()
}

#[test]
fn a_failure_is_not_a_change() {
    let good = "<title>T</title><p>words of a page";
    for (head, body) in [
        ("500 Oops\r\nContent-Type: text/html", "<p>down"),
        ("503 Busy\r\nContent-Type: text/html", "<p>busy"),
        ("429 Slow\r\nContent-Type: text/html", "<p>slow down"),
        (HTML, ""),
        (HTML, "<title>T</title><div></div>"),
        (HTML, "<title>Just a moment...</title><p>checking"),
    ] {
        for (old, new) in [((HTML, good), (head, body)), ((head, body), (HTML, good))] {
            let difference = found(
                &[("/", old.0, old.1)],
                &[("/", new.0, new.1)],
                &DiffOptions::default(),
            );
            assert_eq!(kinds(&difference), [], "{head} {body}");
            let counts = difference.counts;
            assert_eq!(
                (counts.unreadable, counts.compared),
                (1, 0),
                "{head} {body}"
            );
        }
    }
}

#[test]
fn statuses_redirects_and_files_are_one_entry_each() {
    let redirects = ["x/r", "x/s", "y/r", "y/s"];
    let redirects = redirects.map(|to| format!("301 Moved\r\nLocation: http://a.test/{to}"));
    let (image, refused) = (
        "200 OK\r\nContent-Type: image/png",
        "403 No\r\nContent-Type: text/html",
    );
    let words = "<p>words of a page";
    let old = [
        ("/a", HTML, words),
        ("/b", HTML, words),
        ("/r", &*redirects[0], ""),
        ("/s", &*redirects[1], ""),
        ("/i", image, "one"),
    ];
    let new = [
        ("/a", refused, "<p>no"),
        ("/b", refused, "<p>no"),
        ("/r", &*redirects[2], ""),
        ("/s", &*redirects[3], ""),
        ("/i", image, "two"),
    ];
    let difference = found(&old, &new, &DiffOptions::default());
    let expected = [
        (DiffKind::Status, 2),
        (DiffKind::Redirect, 2),
        (DiffKind::File, 1),
    ];
    assert_eq!(kinds(&difference), expected);
    let redirect = &difference.entries[1];
    let ends = (redirect.from.as_deref(), redirect.to.as_deref());
    assert_eq!(ends, (Some("http://a.test/x"), Some("http://a.test/y")));
}

#[test]
fn a_map_makes_two_addresses_one() {
    let page = |host: &str| format!("<p>Words and <a href='{host}/b'>a link</a>");
    let (one, other) = (page("http://s.test"), page("http://a.test"));
    let options = DiffOptions {
        maps: vec![UrlMap::parse("http://s.test=http://a.test").unwrap()],
        ..DiffOptions::default()
    };
    let old = [("http://s.test/", HTML, &*one)];
    let new = [("http://a.test/", HTML, &*other)];
    let difference = found(&old, &new, &options);
    assert_eq!(kinds(&difference), []);
    assert_eq!(difference.counts.unseen, 1);
    let apart = found(&old, &new, &DiffOptions::default());
    assert_ne!(kinds(&apart), []);
}

#[test]
fn hostile_pages_cost_themselves_only() {
    let deep = "<div>".repeat(100_000);
    let many = "<p>a b ".repeat(60_000);
    let other = "<p>b a ".repeat(60_000);
    let numbers = |factor: u64, limit: u64| -> String {
        let numbers = (0..80_000_u64).map(|it| (it * factor % limit).to_string());
        numbers.collect::<Vec<_>>().join(" ")
    };
    let (mixed, turned) = (numbers(7919, 13), numbers(104_729, 11));
    let quoted = "<title>\"><script>x</script>\u{1b}[2J</title><p>a<a href='javascript:x'>b</a>";
    let old = [
        ("/deep", HTML, &*deep),
        ("/many", HTML, &*many),
        ("/mixed", HTML, &*mixed),
        ("/quoted", HTML, "<title>T</title><p>a"),
        ("/good", HTML, "<p>some words here"),
    ];
    let new = [
        ("/deep", HTML, "<p>flat now"),
        ("/many", HTML, &*other),
        ("/mixed", HTML, &*turned),
        ("/quoted", HTML, quoted),
        ("/good", HTML, "<p>other words here"),
    ];
    let difference = found(&old, &new, &DiffOptions::default());
    assert_eq!(
        difference.counts.unreadable, 1,
        "what is too deep is not read"
    );
    let is_good = |url: &String| url == "http://a.test/good";
    assert!(
        difference
            .entries
            .iter()
            .any(|it| it.urls.iter().any(is_good))
    );
    let head = DiffHead {
        names: ["a", "b"],
        shows_noise: true,
        in_colour: false,
    };
    let mut html = Vec::new();
    DiffForm::Html.write(&difference, &head, &mut html).unwrap();
    let html = String::from_utf8(html).unwrap();
    assert!(!html.contains("<script") && !html.contains('\u{1b}'));
    assert!(!html.contains("href='javascript") && !html.contains("href=\"javascript"));
}
