//! The rules, tried on sites that are tables.

use std::collections::BTreeMap;

use clap::Parser as _;

use super::*;

/// What the site of a test answers.
enum Reply {
    Page(&'static str),
    Redirect(u16, &'static str),
    Text(&'static str),
    /// So many failures, then a page without links.
    Flaky(u32),
}
use Reply::{Flaky, Page, Redirect, Text};

fn answer(head: &str, body: &str) -> Answer {
    Answer::parse(format!("HTTP/1.0 {head}\r\n\r\n{body}").as_bytes()).unwrap()
}

/// Crawls a site one URL after the other; answers the paths in the order of being asked, and
/// the records.
fn crawl(
    flags: &[&str],
    site: &[(&str, Reply)],
) -> (Vec<String>, BTreeMap<String, FetchStatistic>) {
    let words = [&["rung", "-q", "http://a.test/"], flags].concat();
    let mut crawl = Crawl::new(&Options::parse_from(words)).unwrap();
    let mut asked = Vec::new();
    while let Some(task) = crawl.next_task() {
        let path = task
            .url
            .as_str()
            .trim_start_matches("http://a.test")
            .to_owned();
        let before = asked.iter().filter(|earlier| **earlier == path).count();
        let reply = site
            .iter()
            .find(|(known, _)| *known == path)
            .map(|(_, reply)| reply);
        let result = match reply {
            Some(Page(body)) => Ok(answer("200 OK\r\nContent-Type: text/html", body)),
            Some(Text(body)) => Ok(answer("200 OK\r\nContent-Type: text/plain", body)),
            Some(Redirect(status, to)) => {
                let head = format!("{status} Moved\r\nContent-Type: text/html\r\nLocation: {to}");
                Ok(answer(&head, "<a href=/never>"))
            }
            Some(Flaky(failures)) if before < *failures as usize => {
                Err(io::ErrorKind::ConnectionReset.into())
            }
            Some(Flaky(_)) => Ok(answer("200 OK\r\nContent-Type: text/html", "")),
            None => Ok(answer(
                "404 Not Found\r\nContent-Type: text/html",
                "<a href=/never>",
            )),
        };
        asked.push(path);
        crawl.settle(task, result);
    }
    assert!(crawl.is_finished());
    let (done, todo, meter) = crawl.into_parts();
    assert_eq!((todo, meter.peak()), (0, 1));
    let count = done.len();
    let records: BTreeMap<String, FetchStatistic> = done
        .into_iter()
        .map(|record| {
            (
                record
                    .url
                    .as_str()
                    .trim_start_matches("http://a.test")
                    .to_owned(),
                record,
            )
        })
        .collect();
    assert_eq!(records.len(), count, "one record per URL");
    (asked, records)
}

#[test]
fn links_are_followed_once_and_only_where_they_may() {
    let check = |flags: &[&str], body: &'static str, expected: &[&str]| {
        let (asked, _) = crawl(flags, &[("/", Page(body))]);
        assert_eq!(asked, expected, "{flags:?} {body}");
    };
    check(
        &[],
        "<a href=/b><a href=/b#c><a href=/><a href=d>",
        &["/", "/b", "/d"],
    );
    check(&[], "<a href=http://b.test/><a href=ftp://a.test/>", &["/"]);
    check(
        &["--exclude", "x$"],
        "<a href=/x><a href=/xy>",
        &["/", "/xy"],
    );
    check(&["--max-urls", "2"], "<a href=/b><a href=/c>", &["/", "/b"]);
    let outside = "<a href=http://www.a.test/><a href=http://c.a.test/>";
    check(&[], outside, &["/", "http://www.a.test/"]);
    check(
        &["--lenient"],
        outside,
        &["/", "http://c.a.test/", "http://www.a.test/"],
    );
}

#[test]
fn only_pages_that_are_there_have_links() {
    let site = [
        ("/", Page("<a href=/text><a href=/missing><a href=/moved>")),
        ("/text", Text("<a href=/never>")),
        ("/moved", Redirect(301, "/text")),
    ];
    let (asked, records) = crawl(&[], &site);
    assert_eq!(asked, ["/", "/missing", "/moved", "/text"]);
    let links = (records["/"].num_urls, records["/"].num_new_urls);
    assert_eq!(links, (3, 3));
    assert_eq!(records["/"].encoding.as_deref(), Some("utf-8"));
    assert_eq!(records["/text"].size, "<a href=/never>".len());
    assert_eq!(records["/missing"].status, Some(404));
    let next = records["/moved"].next_url.as_ref().map(Url::as_str);
    assert_eq!(next, Some("http://a.test/text"));
}

#[test]
fn redirects_are_followed_within_a_limit() {
    let site = || {
        [
            ("/", Redirect(302, "/1")),
            ("/1", Redirect(307, "/2")),
            ("/2", Redirect(303, "/1")),
        ]
    };
    let check = |flags: &[&str], expected: &[&str]| {
        let (asked, records) = crawl(flags, &site());
        assert_eq!(asked, expected, "{flags:?}");
        assert!(records.values().all(|record| record.next_url.is_some()));
    };
    check(&[], &["/", "/1", "/2"]);
    check(&["--max-redirect=1"], &["/", "/1"]);
    check(&["--max-redirect=0"], &["/"]);
    let (asked, _) = crawl(&[], &[("/", Redirect(308, "/1"))]);
    assert_eq!(asked, ["/"], "308 is younger than the book");
    let (asked, _) = crawl(&["--exclude=."], &[("/", Redirect(301, "http://b.test/"))]);
    assert_eq!(asked, ["/", "http://b.test/"], "redirects are not filtered");
}

#[test]
fn failures_are_tried_again() {
    let check = |failures: u32, tries: usize, failed: bool| {
        let (asked, records) = crawl(&["--max-tries=3"], &[("/", Flaky(failures))]);
        assert_eq!(asked.len(), tries, "{failures} failures");
        assert_eq!(
            records["/"].exception.is_some(),
            failed,
            "{failures} failures"
        );
    };
    check(0, 1, false);
    check(2, 3, false);
    check(3, 3, true);
}
