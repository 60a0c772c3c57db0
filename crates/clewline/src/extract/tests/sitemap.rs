//! Sitemaps, as they are published.

use std::fmt::Write as _;
use std::io::Write as _;

use clewline_core::link::LinkKind;
use clewline_core::url::CrawlUrl;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::super::body::BodyBuffer;
use super::{Case, base64, conformance, shown};

/// Cases that differ on purpose, by their index in the data. It may only shrink.
/// 37 wants another namespace refused, and namespaces are ignored here.
const FAILURES: &[usize] = &[37];

fn sitemap() -> Case<'static> {
    let headers = vec![("Content-Type", &b"application/xml"[..])];
    Case {
        headers,
        sitemap: true,
        ..Case::default()
    }
}

/// Whether a sitemap may not speak for a URL, by the letter of the protocol. The crawler does
/// not ask this, the conformance data does.
fn is_outside(sitemap: &CrawlUrl, url: &CrawlUrl<&str>) -> bool {
    let folder = sitemap
        .path()
        .rfind('/')
        .map_or("/", |end| &sitemap.path()[..=end]);
    url.origin() != sitemap.origin() || !url.path().starts_with(folder)
}

#[test]
fn sitemaps_conform() {
    let Some(data) = conformance("sitemaps.json") else {
        return;
    };
    let cases = data["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 43);
    let mut wrong = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        let url = CrawlUrl::parse(case["url"].as_str().unwrap()).unwrap();
        let content_type = case["content_type"].as_str().unwrap_or_default();
        let body = base64(case["body_b64"].as_str().unwrap());
        let reader = Case {
            url: url.as_str(),
            sitemap: true,
            ..Case::typed(content_type)
        };
        let found = reader.extract(&body);
        let is_refused = case["result_type"].as_str().unwrap().starts_with("EXC:");
        let is_strict = case["strict"] == true && case["is_index"] == false;
        let wanted = |kind| matches!(kind, LinkKind::Sitemap | LinkKind::SitemapFile);
        let urls: Vec<&str> = found
            .links
            .iter()
            .filter(|link| wanted(link.kind) && !(is_strict && is_outside(&url, &link.url)))
            .map(|link| *link.url.text())
            .collect();
        let expected: Vec<String> = case["urls"]
            .as_array()
            .unwrap()
            .iter()
            .map(|url| {
                CrawlUrl::parse(url.as_str().unwrap())
                    .unwrap()
                    .as_str()
                    .to_owned()
            })
            .collect();
        let is_equal = urls == expected && (!is_refused || found.problem.is_some());
        if is_equal == FAILURES.contains(&index) {
            wrong.push(format!(
                "{index}: {:?} {urls:?} not {expected:?}",
                found.problem
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn entries_in_odd_shapes() {
    for (body, expected) in [
        (
            "<urlset><url><loc>/x</loc></url></urlset>",
            &["sitemap /x"][..],
        ),
        (
            "<URLSET><URL><LOC> http://h.test/x\n</LOC></URL></URLSET>",
            &["sitemap /x"],
        ),
        (
            "<urlset><url><loc>http://h.test/?a&amp;b&#38;c</loc></url>",
            &["sitemap /?a&b&c"],
        ),
        (
            "<urlset><url><loc>http://h.test/?a&b</loc></url>",
            &["sitemap /?a&b"],
        ),
        (
            "<urlset><url><loc>http://h.test/x</loc></url><url><loc>http://h.test/cu",
            &["sitemap /x"],
        ),
        ("<urlset><url><loc>relative</loc></url></urlset>", &[]),
        (
            "<sitemapindex><sitemap><loc>/a.xml.gz</loc></sitemap>",
            &["sitemap-file /a.xml.gz"],
        ),
        (
            "http://h.test/a\r\n\r\n  http://h.test/b\nnonsense",
            &["sitemap /a", "sitemap /b"],
        ),
        (
            "<urlset><url><loc>/x</loc><image:image><image:loc>/i</image:loc></image:image>\
             <xhtml:link rel='alternate' hreflang='de' href='/de'/></url></urlset>",
            &["image /i", "alternate /de", "sitemap /x"],
        ),
        (
            "<feed><link rel='self' href='/f'/><entry><link href='/e'/></entry></feed>",
            &["sitemap /e"],
        ),
    ] {
        for piece in [usize::MAX, 1] {
            let found = Case { piece, ..sitemap() }.extract(body.as_bytes());
            assert_eq!(shown(&found), expected, "{body}");
        }
    }
}

/// The last line of a list that was cut off is half a URL, which may well lead somewhere.
#[test]
fn half_a_line_is_no_entry() {
    let list = "http://h.test/a\nhttp://h.test/b\r\nhttp://h.test/c";
    for (is_cut, body, expected) in [
        (false, list, 3),
        (true, list, 2),
        (true, "http://h.test/a\n", 1),
        (true, "http://h.test/a", 0),
        (
            true,
            "<urlset><url><loc>http://h.test/a</loc></url><url><loc>http://h.test/b",
            1,
        ),
    ] {
        let case = Case {
            is_cut,
            ..sitemap()
        };
        assert_eq!(
            case.extract(body.as_bytes()).links.len(),
            expected,
            "{body}"
        );
    }
    // One that is too large is cut here, too.
    let long = format!("http://h.test/{}\n", "x".repeat(2000)).repeat(30_000);
    let found = sitemap().extract(long.as_bytes());
    assert_eq!(
        found.problem,
        Some("the content is too large to be read whole")
    );
    assert_eq!(found.links.len(), 1);
}

#[test]
fn lastmod_is_kept_as_written() {
    let body = "<urlset><url><lastmod>2024-01-02</lastmod><loc>/a</loc></url>\
        <url><loc>/b</loc><lastmod> Tuesday </lastmod></url><url><loc>/c</loc></url></urlset>";
    let found = sitemap().extract(body.as_bytes());
    let dates: Vec<_> = found.links.iter().map(|link| link.lastmod).collect();
    assert_eq!(dates, [Some("2024-01-02"), Some("Tuesday"), None]);
}

#[test]
fn what_is_no_sitemap_is_said() {
    for body in [
        "<!DOCTYPE html><html><a href='/x'>",
        "no URL at all",
        "<other/>",
    ] {
        let found = sitemap().extract(body.as_bytes());
        assert_eq!(found.problem, Some("this is no sitemap"), "{body}");
        assert_eq!(shown(&found), [""; 0], "{body}");
    }
}

#[test]
fn entities_are_not_expanded() {
    let body = "<!DOCTYPE urlset [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'>\
        <!ENTITY x SYSTEM 'http://127.0.0.1/'>]><urlset><url><loc>/&b;</loc></url>\
        <url><loc>&x;</loc></url></urlset>";
    let found = sitemap().extract(body.as_bytes());
    assert_eq!(shown(&found), ["sitemap /&b;"]);
}

#[test]
fn packed_sitemaps_are_unpacked() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder
        .write_all(b"<urlset><url><loc>/x</loc></url></urlset>")
        .unwrap();
    let packed = encoder.finish().unwrap();
    for piece in [usize::MAX, 1] {
        assert_eq!(
            shown(&Case { piece, ..sitemap() }.extract(&packed)),
            ["sitemap /x"]
        );
    }
    let cut = sitemap().extract(&packed[..packed.len() - 9]);
    assert_eq!(cut.problem, Some("the gzip data is damaged"));
}

#[test]
fn bombs_stop_at_the_limit() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&vec![b' '; 200_000]).unwrap();
    let bomb = encoder.finish().unwrap();
    for piece in [bomb.len(), 1] {
        let mut body = BodyBuffer::perhaps_gzip(&bomb, 1000);
        bomb.chunks(piece).for_each(|piece| body.push(piece));
        let (bytes, problem) = body.finish();
        assert_eq!(bytes.len(), 1000);
        assert_eq!(problem, Some("the content is too large to be read whole"));
    }
}

#[test]
fn more_urls_than_the_protocol_allows_are_counted() {
    let mut body = String::from("<urlset>");
    for number in 0..50_010 {
        write!(body, "<url><loc>/{number}</loc></url>").unwrap();
    }
    let found = sitemap().extract(body.as_bytes());
    assert_eq!(found.links.len(), 50_000);
    assert_eq!(found.dropped_links, 10);
}
