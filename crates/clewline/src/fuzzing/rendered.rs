//! Fuzz body of what a browser tells of a page.
//!
//! Owns the promises about the links of a rendered page, whatever its DOM, its scripts and its process say:
//! what the answer said stays, each URL is one that could be crawled and stands there once. It refuses to
//! know how a page is rendered; its messages have a body of their own in `clewline_render`.

use std::collections::HashSet;

use clewline_core::link::{Link, LinkKind};
use clewline_core::url::CrawlUrl;
use clewline_render::{PartKind, Rendering, RequestFate, RequestedUrl};

use crate::config::ExtractConfig;
use crate::engine::look::LookReader;
use crate::engine::runner::JoinedLinks;
use crate::extract::{Extracted, Extractor, PageExtractor, PageHead, shell};
use crate::headers::Headers;

/// Small, so that short inputs reach it.
const MAX_LINKS: usize = 8;

const KINDS: [PartKind; 8] = [
    PartKind::Document,
    PartKind::Style,
    PartKind::Script,
    PartKind::Fetch,
    PartKind::Image,
    PartKind::Font,
    PartKind::Media,
    PartKind::Other,
];

const FATES: [RequestFate; 4] = [
    RequestFate::Answered,
    RequestFate::Refused,
    RequestFate::Failed,
    RequestFate::NotSent,
];

/// An answer, its DOM and what scripts did, divided by zero bytes. Of each further text the first letter
/// says what it is: `n` a place that scripts went to, `p` a link that was shown for a while, anything else a
/// request.
pub fn rendered(data: &[u8]) {
    let texts = data.split(|byte| *byte == 0);
    let mut texts = texts.map(|text| String::from_utf8_lossy(text).into_owned());
    let answer = read(&texts.next().unwrap_or_default());
    let html = texts.next().unwrap_or_default();
    let dom = read(&html);
    let mut rendering = Rendering {
        html,
        ..Rendering::default()
    };
    texts.for_each(|text| add(&mut rendering, &text));
    let told = answer.links.to_vec();
    let joined = JoinedLinks::new(&told, &dom.links, &rendering);
    check(&told, &joined);
    assert!(joined.new_links as usize <= MAX_LINKS + count(&rendering));
    assert!(shell::text_size(&rendering.html) <= rendering.html.len());
    let mut look = LookReader::new(&page());
    look.feed(rendering.html.as_bytes());
    look.finish();
}

fn count(rendering: &Rendering) -> usize {
    rendering.navigated.len() + rendering.passing_links.len() + rendering.requested.len()
}

fn check(told: &[Link], joined: &JoinedLinks) {
    let all = joined.all.to_vec();
    let mut met = HashSet::new();
    let kept: Vec<&Link> = told
        .iter()
        .filter(|link| met.insert(link.url.as_str()))
        .collect();
    let new = all.len() - joined.new_links as usize;
    let (before, behind) = all.split_at(new);
    assert_eq!(
        before.iter().collect::<Vec<_>>(),
        kept,
        "the answer's links changed"
    );
    for link in behind {
        assert!(
            met.insert(link.url.as_str()),
            "{} stands there twice",
            link.url
        );
        assert_eq!(CrawlUrl::parse(link.url.as_str()), Ok(link.url.clone()));
    }
    let pages = behind.iter().filter(|link| link.kind == LinkKind::Rendered);
    assert!(joined.new_pages as usize <= pages.count());
}

fn add(rendering: &mut Rendering, text: &str) {
    let Some(choice) = text.chars().next() else {
        return;
    };
    let url = text[choice.len_utf8()..].to_owned();
    match choice {
        'n' => rendering.navigated.push(url),
        'p' => rendering.passing_links.push(url),
        other => rendering.requested.push(RequestedUrl {
            url,
            method: if other == 'h' { "HEAD" } else { "GET" }.to_owned(),
            kind: KINDS[other as usize % KINDS.len()],
            fate: FATES[other as usize / KINDS.len() % FATES.len()],
        }),
    }
}

fn page() -> CrawlUrl {
    CrawlUrl::parse("http://h.test/d/p?q").expect("the URL is a constant that parses")
}

fn read(html: &str) -> Extracted {
    let mut headers = Headers::default();
    headers.push("Content-Type", b"text/html; charset=utf-8");
    let config = ExtractConfig {
        max_links: MAX_LINKS,
        ..ExtractConfig::default()
    };
    let url = page();
    let mut extraction = PageExtractor::new(&config, "clewline").begin(PageHead {
        url: &url,
        status: 200,
        headers: &headers,
        sitemap: false,
    });
    extraction.feed(html.as_bytes());
    extraction.finish()
}

#[cfg(test)]
mod tests {
    use mutate::Trial;

    #[test]
    fn rendered() {
        let trial = Trial {
            home: env!("CARGO_MANIFEST_DIR"),
            tokens: &[
                b"\0",
                b"\0n",
                b"\0p",
                b"\0h",
                b"\0C",
                b"<a href=",
                b"<base href=",
                b"<script src=",
                b"<form action=",
                b"http://",
                b"//h.test/",
                b"javascript:",
                b"data:,",
                b"#",
                b"..",
                b"%",
                b"\xff",
            ],
            rounds: 400,
        };
        trial.run("rendered", super::rendered);
    }
}
