//! Style sheets, XML, feeds and header fields.

use super::super::{css, refresh, srcset};
use super::{Case, shown};

#[test]
fn style_sheets() {
    for (sheet, expected) in [
        ("a{b:url(x)}", &["css-url x"][..]),
        ("a{b:URL( 'x y' )}", &["css-url x y"]),
        ("a{b:url(\"x\\\"y\")}", &["css-url x\"y"]),
        ("a{b:url(x\\29 y)}", &["css-url x)y"]),
        ("a{b:url(\\78\\0079z)}", &["css-url xyz"]),
        ("a{b:url( x )url(y)}", &["css-url x", "css-url y"]),
        ("a{b:url(x y)}c{d:url(z)}", &["css-url z"]),
        ("a{b:url(x'y)}c{d:url(z)}", &["css-url z"]),
        ("/* url(x) */a{b:url(y)}", &["css-url y"]),
        ("/* url(x)", &[]),
        ("a{content:'url(x)'}", &[]),
        ("a{content:'bad\nurl(x)}", &["css-url x"]),
        ("a{b:curl(x) -url(x) \\url(x)}", &[]),
        (
            "@import 'x';@IMPORT/**/url(y) screen;@import\turl('z');",
            &["css-import x", "css-import y", "css-import z"],
        ),
        ("@importx 'y';@imports", &[]),
        ("@namespace url(http://n.test/);a{b:url(x)}", &["css-url x"]),
        (
            "@font-face{src:url(f.woff2)format('woff2'),url(f.woff)}",
            &["css-url f.woff2", "css-url f.woff"],
        ),
        ("a{b:url(x", &["css-url x"]),
        ("a{b:url('x", &["css-url x"]),
        ("a{b:'\\\ny'url(é\\é)}", &["css-url éé"]),
        ("\\", &[]),
    ] {
        let mut found = Vec::new();
        css::references(sheet, |raw, kind| {
            found.push(format!("{} {raw}", kind.name()));
        });
        assert_eq!(found, expected, "{sheet}");
    }
}

#[test]
fn style_sheets_as_pages() {
    let body = b"@charset \"windows-1251\";@import 'a';b{c:url(\xe4)}";
    let found = Case::typed("text/css").extract(body);
    assert_eq!(shown(&found), ["css-import /d/a", "css-url /d/%D0%B4"]);
    assert_eq!(found.charset, Some("windows-1251"));
}

#[test]
fn refresh_values() {
    for (value, expected) in [
        ("0;url=x", Some("x")),
        ("0; URL = 'x'y", Some("x")),
        (" 5.5 , url=\"x y\"", Some("x y")),
        ("0 x", Some("x")),
        ("0;x", Some("x")),
        (".5;x", Some("x")),
        ("0;url", Some("url")),
        ("0;url=", None),
        ("0", None),
        ("x;url=y", None),
        ("-1;url=y", None),
        ("0x;url=y", None),
        ("", None),
        ("0;'x", Some("x")),
        ("0;é", Some("é")),
    ] {
        assert_eq!(refresh::target(value), expected, "{value}");
    }
}

#[test]
fn source_sets() {
    for (value, expected) in [
        ("a", &["a"][..]),
        ("a 1x, b 2x", &["a", "b"]),
        ("a,b 1x,, c", &["a,b", "c"]),
        ("a,, b,", &["a", "b"]),
        ("a (1,2) 3x, b", &["a", "b"]),
        ("a (1,2, b", &["a"]),
        (" , ,", &[]),
        (
            "data:image/png;base64,AA== 1x,\nb\t2w",
            &["data:image/png;base64,AA==", "b"],
        ),
    ] {
        let mut found = Vec::new();
        srcset::candidates(value, |raw| found.push(raw.to_owned()));
        assert_eq!(found, expected, "{value}");
    }
}

#[test]
fn header_fields() {
    for (name, value, expected) in [
        ("Link", "<x>; rel=next", &["next /d/x"][..]),
        (
            "link",
            "<x>;rel=\"prev\" ; title=\"a, b; <c>\", </y>; REL=Canonical",
            &["prev /d/x", "canonical /y"],
        ),
        (
            "Link",
            "<x>; rel=preload; as=style, <y>; rel=preconnect",
            &["style /d/x"],
        ),
        ("Link", "<x>; rel=\"a \\\"b\\\" next\"", &["next /d/x"]),
        ("Link", "<x>; rel=next; anchor=\"#a\", <y>", &[]),
        ("Link", "<x>; rel=next; rel=prev", &["next /d/x"]),
        ("Link", "<x; rel=next", &[]),
        ("Link", "garbage, <x> nonsense; rel=next", &["next /d/x"]),
        (
            "Link",
            "<x>; rel=alternate; hreflang=de;;",
            &["alternate /d/x"],
        ),
        ("Refresh", "3; url=x", &["refresh /d/x"]),
    ] {
        let headers = vec![
            ("Content-Type", &b"text/html"[..]),
            (name, value.as_bytes()),
        ];
        let found = Case {
            headers,
            ..Case::default()
        }
        .extract(b"<base href=/base/>");
        assert_eq!(shown(&found), expected, "{value}");
    }
}

#[test]
fn header_fields_count_whatever_the_body_is() {
    let headers = vec![
        ("Content-Type", &b"application/pdf"[..]),
        ("Link", b"</page>; rel=canonical"),
        ("X-Robots-Tag", b"noindex"),
    ];
    let found = Case {
        headers,
        ..Case::default()
    }
    .extract(b"<a href=x>");
    assert_eq!(shown(&found), ["canonical /page"]);
    assert!(found.noindex && found.charset.is_none());
}

#[test]
fn xml_documents() {
    for (content_type, body, expected) in [
        (
            "application/xhtml+xml",
            "<?xml version='1.0'?><html><head><title>a &amp;amp; b&nbsp;c</title>\
             <script src='s'/></head><body><a href='x?a&amp;b'/></body></html>",
            &["script /d/s", "anchor /d/x?a&b"][..],
        ),
        (
            "text/xml",
            "<h:html xmlns:h='x'><h:a href='y'/></h:html>",
            &["anchor /d/y"],
        ),
        (
            "application/xml",
            "<r><a href='x'/><b xl:href=\"y\"/><c src='z'/></r>",
            &["anchor /d/x", "anchor /d/y"],
        ),
        (
            "image/svg+xml",
            "<svg><image href='i.png'/><a href='x'/></svg>",
            &["image /d/i.png", "anchor /d/x"],
        ),
        (
            "text/xml",
            "<?xml-stylesheet href='s.xsl' type='text/xsl'?><r/>",
            &["style /d/s.xsl"],
        ),
        (
            "application/xhtml+xml",
            "<html><a href='x'></a><a href=y>&<br><a href='z'",
            &["anchor /d/x", "anchor /d/y"],
        ),
        (
            "application/rss+xml",
            "<rss><channel><link>/home</link><image><link>/no</link></image><item>\
             <link>/a</link><pubDate>d</pubDate></item><item><guid>http://h.test/b</guid></item>\
             <item><guid isPermaLink='false'>urn:c</guid>\
             <enclosure url='/e.mp3'/></item></channel></rss>",
            &["related /home", "feed /a", "feed /b", "related /e.mp3"],
        ),
        (
            "application/atom+xml",
            "<feed><link rel='self' href='/f'/><link href='/home'/><link rel='next' href='/2'/>\
             <entry><link rel='edit' href='/no'/><link rel='alternate' href='/a'/>\
             <updated>d</updated></entry></feed>",
            &["related /home", "next /2", "feed /a"],
        ),
        (
            "text/xml",
            "<urlset><url><loc>/x</loc></url></urlset>",
            &["sitemap /x"],
        ),
    ] {
        for piece in [usize::MAX, 1] {
            let found = Case {
                piece,
                ..Case::typed(content_type)
            }
            .extract(body.as_bytes());
            assert_eq!(shown(&found), expected, "{body}");
        }
    }
}

#[test]
fn xhtml_titles_are_decoded_once() {
    for (body, expected) in [
        (
            "<html><title>a &amp;lt; b&nbsp;c&#33;</title></html>",
            "a &lt; b c!",
        ),
        (
            "<html><svg><title>no</title></svg><title><![CDATA[a &amp; b]]></title></html>",
            "a &amp; b",
        ),
    ] {
        let found = Case::typed("application/xhtml+xml").extract(body.as_bytes());
        assert_eq!(found.title.as_deref(), Some(expected));
    }
}

#[test]
fn xml_declares_its_encoding() {
    let body = b"<?xml version='1.0' encoding='windows-1251'?><r href='\xe4?\xe4'/>";
    let found = Case::typed("text/xml").extract(body);
    assert_eq!(shown(&found), ["anchor /d/%D0%B4?%D0%B4"]);
    assert_eq!(found.charset, Some("windows-1251"));
}
