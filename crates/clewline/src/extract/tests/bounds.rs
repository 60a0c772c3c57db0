//! Hostile pages cost bounded memory and time, and leave what was found before.

use std::fmt::Write as _;

use clewline_core::url::CrawlUrl;

use super::super::{Extractor, PageExtractor, PageHead};
use super::{Case, shown};
use crate::config::ExtractConfig;
use crate::headers::Headers;

/// As the network hands it over.
fn networked() -> Case<'static> {
    Case {
        piece: 64 * 1024,
        ..Case::default()
    }
}

#[test]
fn deep_nesting_is_read_to_its_end() {
    let body = format!("<a href=x>{}<a href=y>", "<div>".repeat(200_000));
    let found = networked().extract(body.as_bytes());
    assert_eq!(shown(&found), ["anchor /d/x", "anchor /d/y"]);
    assert_eq!(found.problem, None);
}

#[test]
fn endless_nesting_is_read_to_its_end() {
    for tag in ["<b>", "<svg>", "<math><mi>", "<svg><desc>"] {
        let body = format!("<a href=x>{}<a href=y>", tag.repeat(500_000));
        let found = networked().extract(body.as_bytes());
        assert_eq!(shown(&found), ["anchor /d/x", "anchor /d/y"], "{tag}");
        assert_eq!(found.problem, None, "{tag}");
    }
}

#[test]
fn links_beyond_the_limit_are_counted() {
    let mut body = String::new();
    for number in 0..100_000 {
        write!(body, "<a href={number}>").unwrap();
    }
    let found = Case {
        max_links: 1000,
        ..networked()
    }
    .extract(body.as_bytes());
    assert_eq!(found.links.len(), 1000);
    assert_eq!(found.dropped_links, 99_000);
    assert_eq!(
        found.links.get(999).unwrap().url.as_str(),
        "http://h.test/d/999"
    );
}

#[test]
fn references_have_a_length_and_a_total() {
    let long = "x".repeat(40 * 1024);
    let found = networked().extract(format!("<a href={long}><a href=y>").as_bytes());
    assert_eq!(shown(&found), ["anchor /d/y"]);
    assert_eq!(found.other_references, 1);
    let mut body = String::new();
    let filler = "x".repeat(30 * 1024);
    for number in 0..300 {
        write!(body, "<a href={number}{filler}>").unwrap();
    }
    let found = networked().extract(body.as_bytes());
    assert!(found.links.len() < 280, "{}", found.links.len());
    assert_eq!(found.links.len() as u64 + found.dropped_links, 300);
}

#[test]
fn a_long_base_does_not_multiply() {
    let links: String = (0..10_000).fold(String::new(), |mut body, number| {
        write!(body, "<a href={number}>").unwrap();
        body
    });
    let page = |length: usize| format!("<base href=/{}/>{links}", "x".repeat(length));
    let found = networked().extract(page(30_000).as_bytes());
    let bytes: usize = found.links.iter().map(|link| link.url.as_str().len()).sum();
    assert!(bytes < 9 << 20, "{bytes}");
    assert_eq!(found.links.len() as u64 + found.dropped_links, 10_000);
    let found = networked().extract(page(500_000).as_bytes());
    assert_eq!(found.links.len(), 10_000);
    assert_eq!(
        found.links.get(1).unwrap().url.as_str(),
        "http://h.test/d/1"
    );
}

#[test]
fn a_tag_of_any_size_costs_its_own_links_at_most() {
    for filler in ["a ", "b=c ", "x"] {
        let tag = filler.repeat(3_000_000 / filler.len());
        let body = format!("<a href=x><a {tag} href=y><a href=w {tag}><a href=z>");
        let found = networked().extract(body.as_bytes());
        assert_eq!(shown(&found), ["anchor /d/x", "anchor /d/w", "anchor /d/z"]);
        assert_eq!(found.problem, Some("a tag is too long"));
    }
}

#[test]
fn long_text_is_no_problem() {
    for (open, close) in [
        ("", ""),
        ("<p>", "</p>"),
        ("<script>", "</script>"),
        ("<!--", "-->"),
        ("<noscript>", "</noscript>"),
        ("<style>", "</style>"),
        ("<title>", "</title>"),
    ] {
        let text = "lorem ipsum ".repeat(250_000);
        let body = format!("{open}{text}{close}<a href=x>");
        let found = networked().extract(body.as_bytes());
        assert_eq!(shown(&found), ["anchor /d/x"], "{open}");
        assert_eq!(found.problem, None, "{open}");
    }
}

/// A hundred megabytes in one attribute, of which the test itself holds one piece.
#[test]
fn an_attribute_without_end_is_passed_over() {
    let url = CrawlUrl::parse("http://h.test/").unwrap();
    let mut headers = Headers::default();
    headers.push("Content-Type", b"text/html");
    let extractor = PageExtractor::new(&ExtractConfig::default(), "clewline");
    let head = PageHead {
        url: &url,
        status: 200,
        headers: &headers,
        sitemap: false,
    };
    let mut page = extractor.begin(head);
    page.feed(b"<meta charset=utf-8><a href=x><a href='");
    let piece = vec![b'y'; 64 * 1024];
    for _ in 0..1600 {
        page.feed(&piece);
    }
    page.feed(b"'><a href=z>");
    let found = page.finish();
    assert_eq!(shown(&found), ["anchor /x", "anchor /z"]);
    assert_eq!(found.problem, Some("a tag is too long"));
}

#[test]
fn stray_tags_cost_no_more_than_their_bytes() {
    let body = format!(
        "{}{}<a href=x>",
        "<p><b>".repeat(50_000),
        "</i></p>".repeat(50_000)
    );
    let found = networked().extract(body.as_bytes());
    assert_eq!(shown(&found), ["anchor /d/x"]);
}
