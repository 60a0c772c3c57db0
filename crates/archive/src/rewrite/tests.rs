//! References in pages and style sheets, one by one.

use encoding_rs::{Encoding, UTF_8};
use url::Url;

use super::*;

struct Marked;

impl Guide for Marked {
    fn lead(&self, url: &Url, purpose: Use) -> String {
        let mark = match purpose {
            Use::Navigation => "N",
            Use::Requisite => "R",
        };
        format!("/{mark}/{url}")
    }
}

fn page() -> Url {
    Url::parse("http://a.test/d/p").unwrap()
}

fn rewritten(bytes: &[u8], encoding: Option<&'static Encoding>) -> Vec<u8> {
    let document = HtmlDocument {
        bytes,
        url: &page(),
        encoding,
    };
    html(document, Banner(""), &Marked).unwrap().0
}

#[test]
fn references_of_pages_are_led() {
    for (html, expected) in [
        ("<a href=x>", r#"<a href="/N/http://a.test/d/x">"#),
        (
            "<a href='/?a&amp;b#c'>",
            r#"<a href="/N/http://a.test/?a&amp;b#c">"#,
        ),
        (
            "<a href='#top'><a href='mailto:x'><a href=''>",
            "<a href='#top'><a href='mailto:x'><a href=''>",
        ),
        ("<a href=' javascript:x() '>", "<a href=' javascript:x() '>"),
        ("<img src=//b.test/i>", r#"<img src="/R/http://b.test/i">"#),
        (
            "<img srcset='a 1x, b,c 2x,d'>",
            r#"<img srcset="/R/http://a.test/d/a 1x, /R/http://a.test/d/b,c 2x,/R/http://a.test/d/d">"#,
        ),
        (
            "<link rel=stylesheet href=s integrity=x><link rel=canonical href=c>",
            r#"<link rel=stylesheet href="/R/http://a.test/d/s"><link rel=canonical href="/N/http://a.test/d/c">"#,
        ),
        ("<link rel=preconnect href=//b.test>x", "x"),
        (
            "<form action=f><button formaction=g>",
            r#"<form action="/N/http://a.test/d/f"><button formaction="/N/http://a.test/d/g">"#,
        ),
        ("<object data=o>", r#"<object data="/R/http://a.test/d/o">"#),
        (
            "<svg><image xlink:href=i>",
            r#"<svg><image xlink:href="/R/http://a.test/d/i">"#,
        ),
        (
            "<p style='background:url(b)'>",
            r#"<p style="background:url(&quot;/R/http://a.test/d/b&quot;)">"#,
        ),
        (
            "<style>p{background:url(b)}</style>",
            r#"<style>p{background:url("/R/http://a.test/d/b")}</style>"#,
        ),
        (
            "<noscript><img src=i></noscript>",
            r#"<noscript><img src="/R/http://a.test/d/i"></noscript>"#,
        ),
        (
            "<meta http-equiv=Refresh content='3; URL=\"n\"'>",
            r#"<meta http-equiv=Refresh content="3; URL=/N/http://a.test/d/n">"#,
        ),
        (
            "<meta http-equiv=refresh content=5>",
            "<meta http-equiv=refresh content=5>",
        ),
        (
            "<meta http-equiv=refresh content='0url=n'>",
            "<meta http-equiv=refresh content='0url=n'>",
        ),
        (
            "<iframe srcdoc='<a href=&quot;x?a&amp;amp;b&quot;>&amp;lt;</a>'>",
            r#"<iframe srcdoc="<a href=&quot;/N/http://a.test/d/x?a&amp;amp;b&quot;>&amp;lt;</a>">"#,
        ),
        (
            "<base href=/e/><iframe srcdoc='<img src=i>'>",
            r#"<base href="/N/http://a.test/e/"><iframe srcdoc="<img src=&quot;/R/http://a.test/e/i&quot;>">"#,
        ),
        ("<meta http-equiv=Content-Security-Policy content=x>y", "y"),
        (
            "<base href=/e/><a href=x><base href=/f/>",
            r#"<base href="/N/http://a.test/e/"><a href="/N/http://a.test/e/x"><base href="/N/http://a.test/f/">"#,
        ),
        (
            "<script>'<a href=x>'</script><!--<a href=x>-->",
            "<script>'<a href=x>'</script><!--<a href=x>-->",
        ),
        ("<a href='http://['>", "<a href='http://['>"),
    ] {
        let found = String::from_utf8(rewritten(html.as_bytes(), Some(UTF_8))).unwrap();
        assert_eq!(found, expected, "{html}");
    }
}

#[test]
fn pages_keep_their_encoding() {
    let latin = b"<meta charset=iso-8859-1><p>\xe4</p><a href='?\xe4'>";
    let expected = b"<meta charset=iso-8859-1><p>\xe4</p><a href=\"/N/http://a.test/d/p?%E4\">";
    assert_eq!(rewritten(latin, None), expected);
    let wide: Vec<u8> = "\u{feff}<a href=x>ä"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let expected = "<a href=\"/N/http://a.test/d/x\">ä".as_bytes();
    assert_eq!(rewritten(&wide, None), expected);
}

#[test]
fn a_banner_stands_first_in_the_body_or_last() {
    for (html, expected) in [
        ("<body class=x><p>", "<body class=x>[b]<p>"),
        ("<p>text", "<p>text[b]"),
        ("", "[b]"),
    ] {
        let document = HtmlDocument {
            bytes: html.as_bytes(),
            url: &page(),
            encoding: None,
        };
        let (found, _) = super::html(document, Banner("[b]"), &Marked).unwrap();
        assert_eq!(String::from_utf8(found).unwrap(), expected);
    }
}

#[test]
fn references_of_style_sheets_are_led() {
    let lead = |raw: &str| (!raw.starts_with("data:")).then(|| format!("<{raw}>"));
    for (sheet, expected) in [
        ("a{b:url(x)}", r#"a{b:url("\3c x>")}"#),
        ("a{b:URL( 'x y' )}", r#"a{b:url("\3c x y>")}"#),
        ("@import 'x';", r#"@import "\3c x>";"#),
        (
            "@import/**/url(x) print;",
            r#"@import/**/url("\3c x>") print;"#,
        ),
        ("a{b:url(data:x)}", "a{b:url(data:x)}"),
        ("/*url(x)*/'url(x)' myurl(x)", "/*url(x)*/'url(x)' myurl(x)"),
        (r"a{b:url(x\29 y)}", r#"a{b:url("\3c x)y>")}"#),
        ("a{b:url(x", r#"a{b:url("\3c x>")"#),
        ("a{b:url(x'y)}", "a{b:url(x'y)}"),
        // A quote in a broken one opens no string.
        (
            "a{b:url(x'y)}c{d:url(z)}",
            r#"a{b:url(x'y)}c{d:url("\3c z>")}"#,
        ),
        ("a{b:url(x y)url(z)}", r#"a{b:url(x y)url("\3c z>")}"#),
        ("a{b:url('x' y)}", "a{b:url('x' y)}"),
        ("@namespace url(x);", "@namespace url(x);"),
        ("\\", "\\"),
        ("é url(é)\\é", "é url(\"\\3c é>\")\\é"),
    ] {
        assert_eq!(put::sheet(sheet, lead), expected, "{sheet}");
    }
}
