//! The checker and the crawler see the same references.
//!
//! Both read pages on their own: the crawler as they stream by and without fragments, the checker with
//! fragments and places. What one takes for a link of some kind the other must as well, except for the
//! differences that are listed here.

use std::collections::BTreeSet;

use clewline::extract::{Extractor, PageExtractor, PageHead};
use clewline::{CrawlUrl, Headers};
use clewline_check::facts::{FactRow, ReferenceTarget, of_text};
use clewline_core::key::{Key, Keyer};
use clewline_job::config::ExtractConfig;
use proptest::prelude::*;

const PAGE: &str = "https://h.test/d/p?q";

type Targets = BTreeSet<(u8, String)>;

/// What the crawler finds: kind and URL.
fn by_crawler(html: &str) -> (Targets, Vec<CrawlUrl>) {
    let url = CrawlUrl::parse(PAGE).expect("a URL");
    let mut headers = Headers::default();
    headers.push("Content-Type", b"text/html; charset=utf-8");
    let extractor = PageExtractor::new(&ExtractConfig::default(), "clewline");
    let head = PageHead {
        url: &url,
        status: 200,
        headers: &headers,
        sitemap: false,
    };
    let mut page = extractor.begin(head);
    page.feed(html.as_bytes());
    let links = page.finish().links.to_vec();
    let keyer = Keyer::default();
    let targets = links
        .iter()
        .map(|link| (link.kind as u8, keyer.key(&link.url).to_string()));
    (
        targets.collect(),
        links.into_iter().map(|link| link.url).collect(),
    )
}

/// What the checker finds, without what the crawler never follows: places within the page, other
/// schemes, and what is no URL.
fn by_checker(facts: &FactRow) -> Targets {
    let keyer = Keyer::default();
    let key = |target: &ReferenceTarget| -> Option<Key> {
        match target {
            ReferenceTarget::Own(key) => Some(*key),
            ReferenceTarget::Foreign(url) => Some(keyer.key(url)),
            ReferenceTarget::Itself
            | ReferenceTarget::Scheme(_)
            | ReferenceTarget::Malformed(_) => None,
        }
    };
    let references = facts.references.iter();
    let targets =
        references.filter_map(|one| Some((one.kind as u8, key(&one.target)?.to_string())));
    targets.collect()
}

fn check(html: &str) {
    let (expected, urls) = by_crawler(html);
    let url = CrawlUrl::parse(PAGE).expect("a URL");
    let found = by_checker(&of_text(&Keyer::default(), &url, html));
    assert_eq!(found, expected, "{html}\nthe crawler found {urls:?}");
}

#[test]
fn elements_refer_to_the_same() {
    for html in [
        "<a href=x><a href='//o.test/y#z'><a href='?a&amp;b'><a href='/é ü'><a href='../../x'>",
        "<a href=' x '><a href='x\n'><a href='HTTP://H.test:443/a/../b'><a href='http:/x'>",
        "<area href=x><iframe src=x></iframe><frameset><frame src=y></frameset>",
        "<img src=x srcset='a 1x, b 2x' data-src=/lazy data-srcset='c 1x' data-lazy=true>",
        "<picture><source srcset='a,b 1x' data-srcset=c></picture><image src=x>",
        "<video src=a poster=b><source src=c><track src=d></video><audio src=e></audio>",
        "<object data=a></object><embed src=b><input type=image src=c><input src=d>",
        "<script src=a></script><script>'<a href=b>'</script><style>a{b:url(c)}@import 'd';</style>",
        "<p style='a:url(b)' background=c><table background=d><td background=e>",
        "<link rel=stylesheet href=a><link rel='alternate stylesheet' href=b><link rel=icon href=c>",
        "<link rel=preload as=image href=a imagesrcset='b 1x'><link rel=preload as=font href=c>",
        "<link rel=preconnect href=//o.test><link rel=dns-prefetch href=//o.test><link href=x>",
        "<link rel=canonical href=a><link rel=next href=b><link rel=prev href=c><link rel=author href=d>",
        "<link rel=alternate hreflang=de href=a><link rel=manifest href=b><link rel=modulepreload href=c>",
        "<meta http-equiv=refresh content='5; url=x'><meta http-equiv=refresh content=5><meta content=x>",
        "<svg><a xlink:href=a></a><use href=b></use><image href=c></image><script href=d></script></svg>",
        "<svg><font-face-uri href=a></font-face-uri><filter href=b></filter><title><a href=c></title></svg>",
        "<math><mi><a href=x></a></mi></math><svg><foreignObject><a href=y></a></foreignObject></svg>",
        "<base href=/b/><a href=x><base href=/c/><a href=y>",
        "<a href=x><base href='//o.test/d/e'><img src=y>",
        "<base href='data:x'><a href=x>",
        "<base target=x><base href=http://o.test/><a href=x>",
        "<!-- <a href=a> --><![CDATA[<a href=b>]]><?x <a href=c> ?>",
        "<template><a href=a></template><noscript><a href=b><img src=c></noscript>",
        "<textarea><a href=a></textarea><title><a href=b></title><xmp><a href=c></xmp>",
        "<a href=javascript:x><a href=mailto:a@b><a href=tel:1><a href=data:,x><a href=ftp://h/x>",
        "<a href='http://'><a href='http://a b/'><a href='http://[::1'><a href='//'><a href='///o.test/x'>",
        "<a href='x #y'><a href='#'><a href=''><a href='x#y'><a href='x?#y'>",
        "<iframe srcdoc='<a href=a><img src=b><link rel=canonical href=c>'></iframe>",
        "<a HREF=x HREF=y><A hREF='z'>",
        "<a href=x",
        "<plaintext><a href=x>",
    ] {
        check(html);
    }
}

/// A mere fragment is relative to the base that a document names; the crawler passes over it, since
/// the base is a page that others link to if anybody should go there.
#[test]
fn fragments_of_another_base_lead_there() {
    let html = "<base href=/b/><a href='#x'>";
    assert!(by_crawler(html).0.is_empty());
    let url = CrawlUrl::parse(PAGE).expect("a URL");
    assert_eq!(by_checker(&of_text(&Keyer::default(), &url, html)).len(), 1);
}

#[rustfmt::skip]
const PIECES: [&str; 40] = [
    "<a href=a>", "<a href='b#c'>", "</a>", "<img src=d>", "<img srcset='e 1x, f'>", "<p>", "</p>",
    "<svg>", "</svg>", "<use href=g>", "<math>", "</math>", "<mi>", "</mi>", "<template>", "</template>",
    "<style>", "</style>", "url(h)", "<script src=i>", "</script>", "<title>", "</title>", "<textarea>",
    "</textarea>", "<noscript>", "</noscript>", "<!--", "-->", "text", "&amp;", "<iframe src=j>", "</iframe>",
    "<link rel=stylesheet href=k>", "<meta http-equiv=refresh content='0;l'>", "<table background=m>",
    "<b style='n:url(o)'>", "<video poster=q>", "<a href=//o.test/>", "<foreignObject>",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn pieces_in_any_order_refer_to_the_same(
        pieces in prop::collection::vec(0..PIECES.len(), 0..30),
    ) {
        let html: String = pieces.into_iter().map(|piece| PIECES[piece]).collect();
        // The crawler reads a style sheet within a drawing, as a browser does; the checker passes it over.
        prop_assume!(!(html.contains("<svg>") && html.contains("<style>")));
        check(&html);
    }
}
