//! Fuzz bodies of the readers of pages.
//!
//! Owns the promises that hold for any bytes: no panic, the same findings however the bytes are
//! cut, bounds kept. Refuses to know expected links: those are in the tests beside the code.

use clewline_core::url::CrawlUrl;

use crate::config::ExtractConfig;
use crate::extract::{Extracted, Extractor, PageExtractor, PageHead};
use crate::headers::Headers;

/// Small, so that short inputs reach it.
const MAX_LINKS: usize = 8;

/// Bodies up to this size are also fed byte by byte.
const BYTEWISE: usize = 4096;

const HTML_TYPES: [&str; 7] = [
    "text/html",
    "text/html; charset=utf-8",
    "text/html; charset=shift_jis",
    "text/html; charset=utf-16le",
    "application/xhtml+xml",
    "",
    "image/svg+xml",
];

/// HTML, XHTML and unlabelled pages: the first byte picks the type and the cut.
pub fn html(data: &[u8]) {
    let Some((&choice, body)) = data.split_first() else {
        return;
    };
    let content_type = HTML_TYPES[usize::from(choice) % HTML_TYPES.len()];
    let found = check(&fields(content_type), Announced::Page, choice, body);
    assert!(found.links.len() <= MAX_LINKS);
}

/// Sitemaps, packed or not.
pub fn sitemap(data: &[u8]) {
    let Some((&choice, body)) = data.split_first() else {
        return;
    };
    check(&fields("application/xml"), Announced::Sitemap, choice, body);
    check(&fields("application/xml"), Announced::Page, choice, body);
}

/// Style sheets.
pub fn css(data: &[u8]) {
    let Some((&choice, body)) = data.split_first() else {
        return;
    };
    let found = check(&fields("text/css"), Announced::Page, choice, body);
    assert!(found.links.len() <= MAX_LINKS);
}

/// Header fields: the same bytes as the value of each that is read.
pub fn header_links(data: &[u8]) {
    let mut headers = Headers::default();
    for name in ["Content-Type", "Link", "Refresh", "X-Robots-Tag"] {
        headers.push(name, data);
    }
    let found = check(&headers, Announced::Page, 0, b"<a href=x>");
    assert!(found.links.len() <= MAX_LINKS);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Announced {
    Page,
    Sitemap,
}

fn fields(content_type: &str) -> Headers {
    let mut headers = Headers::default();
    headers.push("Content-Type", content_type.as_bytes());
    headers
}

fn check(headers: &Headers, announced: Announced, choice: u8, body: &[u8]) -> Extracted {
    let whole = read(headers, announced, &[body]);
    let (first, second) = body.split_at(body.len() * usize::from(choice) / 256);
    assert_eq!(
        read(headers, announced, &[first, second]),
        whole,
        "cut in two"
    );
    if body.len() <= BYTEWISE {
        let bytes: Vec<_> = body.chunks(1).collect();
        assert_eq!(read(headers, announced, &bytes), whole, "cut in bytes");
    }
    let cut = read_to(headers, announced, &[body], End::Cut);
    assert!(cut.links.len() <= whole.links.len(), "a cut adds links");
    let title = whole.title.as_deref().unwrap_or_default();
    assert!(title.chars().count() <= 1000);
    for link in whole.links.iter() {
        let length = link.lastmod.unwrap_or_default().chars().count();
        assert!(length <= 64);
        assert_eq!(CrawlUrl::parse(link.url.as_str()), Ok(link.url.to_owned()));
    }
    whole
}

fn read(headers: &Headers, announced: Announced, parts: &[&[u8]]) -> Extracted {
    read_to(headers, announced, parts, End::Whole)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Whole,
    Cut,
}

fn read_to(headers: &Headers, announced: Announced, parts: &[&[u8]], end: End) -> Extracted {
    let url = CrawlUrl::parse("http://h.test/d/p?q").expect("the URL is a constant that parses");
    let config = ExtractConfig {
        max_links: MAX_LINKS,
        ..ExtractConfig::default()
    };
    let head = PageHead {
        url: &url,
        status: 200,
        headers,
        sitemap: announced == Announced::Sitemap,
    };
    let mut page = PageExtractor::new(&config, "clewline").begin(head);
    let mut may_be_shell = page.may_be_shell();
    for part in parts {
        page.feed(part);
        assert!(
            may_be_shell || !page.may_be_shell(),
            "a page became a shell again"
        );
        may_be_shell = page.may_be_shell();
    }
    if end == End::Cut {
        page.cut();
    }
    let found = page.finish();
    assert!(
        may_be_shell || !found.is_shell,
        "a shell was given up too early"
    );
    found
}

#[cfg(test)]
mod tests {
    use mutate::Trial;

    const TRIAL: Trial<'_> = Trial {
        home: env!("CARGO_MANIFEST_DIR"),
        tokens: &[
            b"<a href=",
            b"'",
            b"\"",
            b">",
            b"</",
            b"<!--",
            b"<noscript>",
            b"<svg>",
            b"<title>",
            b"<style>",
            b"url(",
            b"&#",
            b"\xe3\x81",
            b"\0",
            b"<loc>",
            b"<![CDATA[",
            b"<base href=",
            b"<template>",
            b"<iframe srcdoc='",
            b"<image href=",
            b"<foreignObject>",
            b" data-src=",
            b"image-set(",
        ],
        rounds: 100,
    };

    #[test]
    fn html() {
        TRIAL.run("html", super::html);
    }

    #[test]
    fn sitemap() {
        TRIAL.run("sitemap", super::sitemap);
    }

    #[test]
    fn css() {
        TRIAL.run("css", super::css);
    }

    #[test]
    fn header_links() {
        TRIAL.run("header_links", super::header_links);
    }
}
