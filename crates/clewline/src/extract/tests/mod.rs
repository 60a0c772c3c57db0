//! Tests of extraction, through the seam as the engine sees it.

mod bounds;
mod charset;
mod formats;
mod html;
mod pages;
mod sitemap;

use std::path::PathBuf;

use clewline_core::url::CrawlUrl;

use super::{Extracted, Extractor, PageExtractor, PageHead};
use crate::config::ExtractConfig;
use crate::headers::Headers;

const PAGE: &str = "http://h.test/d/p";

/// A page with everything that can be chosen about it.
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
struct Case<'a> {
    url: &'a str,
    headers: Vec<(&'a str, &'a [u8])>,
    sitemap: bool,
    max_links: usize,
    piece: usize,
    lazy_images: bool,
    script_links: bool,
    is_cut: bool,
}

impl Default for Case<'_> {
    fn default() -> Self {
        Self {
            url: PAGE,
            headers: vec![("Content-Type", b"text/html; charset=utf-8")],
            sitemap: false,
            max_links: 10_000,
            piece: usize::MAX,
            lazy_images: true,
            script_links: false,
            is_cut: false,
        }
    }
}

impl Case<'_> {
    fn typed(content_type: &str) -> Case<'_> {
        let headers = vec![("content-type", content_type.as_bytes())];
        Case {
            headers,
            ..Case::default()
        }
    }

    fn extract(&self, body: &[u8]) -> Extracted {
        let url = CrawlUrl::parse(self.url).unwrap();
        let mut headers = Headers::default();
        for (name, value) in &self.headers {
            headers.push(name, value);
        }
        let config = ExtractConfig {
            max_links: self.max_links,
            lazy_images: self.lazy_images,
            script_links: self.script_links,
        };
        let extractor = PageExtractor::new(&config, "clewline");
        let head = PageHead {
            url: &url,
            status: 200,
            headers: &headers,
            sitemap: self.sitemap,
        };
        let mut page = extractor.begin(head);
        for piece in body.chunks(self.piece.min(body.len().max(1))) {
            page.feed(piece);
        }
        if self.is_cut {
            page.cut();
        }
        page.finish()
    }
}

/// The links of a page as `kind url`, with the test host left out and nofollow marked.
fn shown(found: &Extracted) -> Vec<String> {
    let show = |link: clewline_core::link::Link<&str>| {
        let url = link.url.as_str();
        let url = url.strip_prefix("http://h.test").unwrap_or(url);
        let mark = if link.nofollow { " nofollow" } else { "" };
        format!("{} {url}{mark}", link.kind.name())
    };
    found.links.iter().map(show).collect()
}

/// Where the conformance data lies; a loud line if it does not.
fn conformance(name: &str) -> Option<serde_json::Value> {
    let folder = std::env::var_os("CLEWLINE_CONFORMANCE").map_or_else(
        || {
            PathBuf::from(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../../shared/conformance"
            ))
        },
        PathBuf::from,
    );
    let path = folder.join(name);
    let Ok(text) = std::fs::read(&path) else {
        eprintln!("CONFORMANCE DATA ABSENT: {}", path.display());
        return None;
    };
    Some(serde_json::from_slice(&text).unwrap())
}

/// Standard base64, as the conformance data has it.
fn base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut bits = 0_u32;
    let mut count = 0;
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    bytes
}
