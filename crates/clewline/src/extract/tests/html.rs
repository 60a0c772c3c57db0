//! What is found in HTML, broken or not.

use super::{Case, shown};

/// Every cut of the body must give the same links, so each case is read in several.
fn check(body: &str, expected: &[&str]) {
    for piece in [usize::MAX, 1, 7] {
        let found = Case {
            piece,
            ..Case::default()
        }
        .extract(body.as_bytes());
        assert_eq!(shown(&found), expected, "{body} in pieces of {piece}");
        assert_eq!(found.problem, None, "{body}");
    }
}

#[test]
fn anchors_in_broken_markup() {
    for (body, expected) in [
        ("<a href=x>", &["anchor /d/x"][..]),
        ("<A HREF='X'>", &["anchor /d/X"]),
        ("<a\nhref\n=\n\"x\"\n>", &["anchor /d/x"]),
        ("<a/href=x/y>", &["anchor /d/x/y"]),
        ("<a href=x href=y>", &["anchor /d/x"]),
        (
            "<a href>no</a><a>no</a><a href=''>no</a><a href=' '>no</a>",
            &[],
        ),
        ("<a href=x<b>t", &["anchor /d/x%3Cb"]),
        ("<a title='>' href=x>", &["anchor /d/x"]),
        ("<a href='x>never closed", &[]),
        (
            "<a href=one><a href=two>x</a></a>",
            &["anchor /d/one", "anchor /d/two"],
        ),
        (
            "<table><a href=x><tr><a href=y><td>",
            &["anchor /d/x", "anchor /d/y"],
        ),
        ("<a href=\" \n/x y\t\">", &["anchor /x%20y"]),
        ("<a href=a\0b>", &["anchor /d/a%EF%BF%BDb"]),
        (
            "<a href='//o.test/x'><a href='?q'><a href='..'>",
            &["anchor http://o.test/x", "anchor /d/p?q", "anchor /"],
        ),
        ("<a href=x#one><a href=x#two><a href=./x>", &["anchor /d/x"]),
        (
            "<a href=x rel='external NoFollow'><a href=y rel=ugc><a href=z rel=sponsored>",
            &[
                "anchor /d/x nofollow",
                "anchor /d/y nofollow",
                "anchor /d/z nofollow",
            ],
        ),
        ("<a href=x rel=nofollow><a href=x>", &["anchor /d/x"]),
        (
            "<area href=x><map><area shape=rect HREF=y>",
            &["area /d/x", "area /d/y"],
        ),
        ("</a href=x><a href=y", &[]),
    ] {
        check(body, expected);
    }
}

#[test]
fn text_that_only_looks_like_markup() {
    for (body, expected) in [
        ("<!-- <a href=x> --><a href=y>", &["anchor /d/y"][..]),
        ("<!--><a href=y>", &["anchor /d/y"]),
        ("<!-- --!><a href=y>", &["anchor /d/y"]),
        ("<script>'<a href=x>'</script><a href=y>", &["anchor /d/y"]),
        (
            "<script><!--<script></script><a href=x>--></script><a href=y>",
            &["anchor /d/y"],
        ),
        (
            "<textarea><a href=x></textarea><a href=y>",
            &["anchor /d/y"],
        ),
        ("<title><a href=x></title><a href=y>", &["anchor /d/y"]),
        (
            "<style>a:after{content:'<a href=x>'}</style><a href=y>",
            &["anchor /d/y"],
        ),
        ("<xmp><a href=x></xmp><a href=y>", &["anchor /d/y"]),
        ("<iframe><a href=x></iframe><a href=y>", &["anchor /d/y"]),
        ("<a href=y><plaintext><a href=x>", &["anchor /d/y"]),
        (
            "<select><xmp></xmp><script></script></select><a href=y>",
            &["anchor /d/y"],
        ),
        (
            "<select><option><a href=x></select><a href=y>",
            &["anchor /d/x", "anchor /d/y"],
        ),
        ("<template><a href=x></template>", &["anchor /d/x"]),
        (
            "<svg><![CDATA[<a href=x>]]></svg><a href=y>",
            &["anchor /d/y"],
        ),
        ("<math><a href=x></math>", &["anchor /d/x"]),
        ("<![CDATA[<a href=x>]]><a href=y>", &["anchor /d/y"]),
        ("<?php <a href=x> ?><a href=y>", &["anchor /d/y"]),
    ] {
        check(body, expected);
    }
}

#[test]
fn entities_in_attributes() {
    for (body, expected) in [
        ("<a href='?a=1&amp;b=2'>", "anchor /d/p?a=1&b=2"),
        ("<a href='?a=1&b=2&copy=3'>", "anchor /d/p?a=1&b=2&copy=3"),
        ("<a href='?a=1&amp'>", "anchor /d/p?a=1&"),
        ("<a href='?a&copy;'>", "anchor /d/p?a%C2%A9"),
        ("<a href='&#47;x&#x2F;y'>", "anchor /x/y"),
        ("<a href='&#47x'>", "anchor /x"),
        (
            "<a href='&#0;&#xD800;&#x110000;'>",
            "anchor /d/%EF%BF%BD%EF%BF%BD%EF%BF%BD",
        ),
        ("<a href='/&notit;'>", "anchor /&notit;"),
        ("<a href='&Tab;/x'>", "anchor /x"),
    ] {
        check(body, &[expected]);
    }
}

#[test]
fn bases() {
    for (body, expected) in [
        (
            "<a href=x><base href=/b/><a href=y>",
            &["anchor /b/x", "anchor /b/y"][..],
        ),
        ("<base href=/b/><base href=/c/><a href=x>", &["anchor /b/x"]),
        (
            "<base target=_top><base href=/c/><a href=x>",
            &["anchor /c/x"],
        ),
        // The first one with a reference is the base, or there is none.
        (
            "<base href='http://[bad'><base href=/c/><a href=x>",
            &["anchor /d/x"],
        ),
        ("<base href='javascript:1'><a href=x>", &["anchor /d/x"]),
        ("<base href='data:/,x'><a href=x>", &["anchor /d/x"]),
        (
            "<base href='JavaScript:/x/'><base href=/c/><a href=x>",
            &["anchor /d/x"],
        ),
        (
            "<base href=' ///o.test/b/ '><a href=x>",
            &["anchor http://o.test/b/x"],
        ),
        (
            "<template><base href=/b/></template><a href=x>",
            &["anchor /d/x"],
        ),
        (
            "<template><svg><p></template><base href=/b/><a href=x>",
            &["anchor /b/x"],
        ),
        (
            "<template><template></template><base href=/c/></template><base href=/b/><a href=x>",
            &["anchor /b/x"],
        ),
        ("<svg><base href=/b/></svg><a href=x>", &["anchor /d/x"]),
        ("<math><base href=/b/></math><a href=x>", &["anchor /d/x"]),
        (
            "<svg><foreignObject><base href=/b/></foreignObject></svg><a href=x>",
            &["anchor /b/x"],
        ),
        ("<svg><p><base href=/b/><a href=x>", &["anchor /b/x"]),
        (
            "<base href='//o.test'><a href=x><a href=#f>",
            &["anchor http://o.test/x"],
        ),
    ] {
        check(body, expected);
    }
}

#[test]
fn everything_else_that_names_something() {
    for (body, expected) in [
        (
            "<iframe src=x></iframe><frame src=y>",
            &["frame /d/x", "frame /d/y"][..],
        ),
        (
            "<img src=a srcset='b 1x, c,d 2x'>",
            &["image /d/a", "image /d/b", "image /d/c,d"],
        ),
        (
            "<picture><source srcset=a><img src=b>",
            &["image /d/a", "image /d/b"],
        ),
        ("<image src=a>", &["image /d/a"]),
        (
            "<video src=a poster=b><source src=c><track src=d></video><audio src=e>",
            &[
                "media /d/a",
                "image /d/b",
                "media /d/c",
                "media /d/d",
                "media /d/e",
            ],
        ),
        (
            "<embed src=a><object data=b></object>",
            &["media /d/a", "media /d/b"],
        ),
        (
            "<script src=a></script><input type=IMAGE src=b><input src=c>",
            &["script /d/a", "image /d/b"],
        ),
        (
            "<body background=a><td style='background:url(b)'>",
            &["image /d/a", "css-url /d/b"],
        ),
        (
            "<svg><image xlink:href=a /><use href=b.svg#c /><use xlink:href=#d /><a xlink:href=e>",
            &["image /d/a", "image /d/b.svg", "anchor /d/e"],
        ),
        (
            "<style>@import 'a';p{background:url( \"b\" )}</style>",
            &["css-import /d/a", "css-url /d/b"],
        ),
        (
            "<meta http-equiv=Refresh content='5; URL=\"x\"'>",
            &["refresh /d/x"],
        ),
        ("<meta http-equiv=refresh content=30>", &[]),
        (
            "<form action=x></form><a ping=y><q cite=z><img lowsrc=a longdesc=b>\
             <blockquote cite=c><button formaction=d>",
            &[],
        ),
        (
            "<p style=\"background:image-set('a.png' 1x, url(b.png) 2x)\">",
            &["css-url /d/a.png", "css-url /d/b.png"],
        ),
        (
            "<a href='///o.test/x'><img src='\\\\\\o.test/y'>",
            &["anchor http://o.test/x", "image http://o.test/y"],
        ),
    ] {
        check(body, expected);
    }
}

/// `srcset` and the like of images that scripts put in place.
#[test]
fn lazy_images() {
    for (body, expected) in [
        (
            "<img src=a data-src=b.png>",
            &["image /d/a", "lazy-image /d/b.png"][..],
        ),
        (
            "<img data-srcset='a 1x, b 2x' DATA-LAZY-SRC='c/d' data-original=e.jpg>",
            &[
                "lazy-image /d/c/d",
                "lazy-image /d/e.jpg",
                "lazy-image /d/a",
                "lazy-image /d/b",
            ],
        ),
        (
            "<source data-srcset=a><source data-lazy-srcset='b 1x'>",
            &["lazy-image /d/a", "lazy-image /d/b"],
        ),
        (
            "<img data-lazy=true data-src=''><img data-lazy=x.png>",
            &["lazy-image /d/x.png"],
        ),
        (
            "<div data-src=x.png></div><script data-src=y.js></script>",
            &[],
        ),
    ] {
        check(body, expected);
        let without = Case {
            lazy_images: false,
            ..Case::default()
        };
        let kept: Vec<_> = expected
            .iter()
            .filter(|link| !link.starts_with("lazy"))
            .collect();
        assert_eq!(
            shown(&without.extract(body.as_bytes()))
                .iter()
                .collect::<Vec<_>>(),
            kept
        );
    }
}

#[test]
fn documents_within_documents() {
    for (body, expected) in [
        (
            "<iframe srcdoc='<a href=x><img src=&quot;y&amp;amp;z&quot;>'></iframe>",
            &["anchor /d/x", "image /d/y&z"][..],
        ),
        (
            "<iframe src=s srcdoc='<a href=x>'></iframe><base href=/b/>",
            &["frame /b/s", "anchor /b/x"],
        ),
        (
            "<base href=/b/><iframe srcdoc='<base href=c/><a href=x>'></iframe><a href=y>",
            &["anchor /b/c/x", "anchor /b/y"],
        ),
        (
            "<iframe srcdoc='<title>no</title><link rel=canonical href=n><style>a{b:url(u)}</style>'>",
            &["css-url /d/u"],
        ),
        (
            "<iframe srcdoc='<iframe srcdoc=\"<a href=x>\">'>",
            &["anchor /d/x"],
        ),
        (
            "<svg><iframe srcdoc='<a href=x>'></svg><p srcdoc='<a href=y>'>",
            &["anchor /d/x"],
        ),
    ] {
        check(body, expected);
    }
    let found = Case::default().extract(
        b"<iframe srcdoc='<title>no</title><meta name=robots content=none><link rel=canonical href=n>'>",
    );
    assert_eq!((found.title, found.canonical), (None, None));
    assert!(!found.nofollow && !found.noindex);
}

/// Each level is read again, so that there is an end to it.
#[test]
fn nested_documents_are_not_followed_for_ever() {
    let mut body = "<a href=x>".to_owned();
    for depth in 0..7 {
        let found = Case::default().extract(body.as_bytes());
        assert_eq!(found.links.len(), usize::from(depth <= 3), "{depth}");
        let inner = body.replace('&', "&amp;").replace('\'', "&#39;");
        body = format!("<iframe srcdoc='{inner}'></iframe>");
    }
}

#[test]
fn drawings_within_pages() {
    for (body, expected) in [
        (
            "<svg><script href=a></script><script xlink:href=b /></svg><script href=c></script>",
            &["script /d/a", "script /d/b"][..],
        ),
        (
            "<svg><feImage href=a /><feImage xlink:href=b /><font-face-uri xlink:href=c>",
            &["image /d/a", "image /d/b", "font /d/c"],
        ),
        (
            "<svg><pattern href=a.svg#x /><linearGradient href=#y /><textPath href=b.svg#z>",
            &["image /d/a.svg", "image /d/b.svg"],
        ),
        // These mean nothing outside of a drawing.
        (
            "<img href=a><image href=b><use href=c><feImage href=d><a xlink:href=e>",
            &[],
        ),
        ("<svg></svg><image href=x src=y>", &["image /d/y"]),
        (
            "<svg><foreignObject><image href=x><img src=y>",
            &["image /d/y"],
        ),
    ] {
        check(body, expected);
    }
}

#[test]
fn links_by_relation() {
    for (relation, expected) in [
        ("rel=canonical", "canonical"),
        ("rel=NEXT", "next"),
        ("rel=previous", "prev"),
        ("rel=alternate hreflang=de", "alternate"),
        ("rel='alternate stylesheet'", "style"),
        ("rel='shortcut icon'", "asset"),
        ("rel=manifest", "asset"),
        ("rel=preload as=font", "font"),
        ("rel=preload as=image", "image"),
        ("rel=preload", "asset"),
        ("rel=modulepreload", "script"),
        ("rel=amphtml", "related"),
    ] {
        check(
            &format!("<link {relation} href=x>"),
            &[&format!("{expected} /d/x")],
        );
    }
    check(
        "<link rel=dns-prefetch href=//o.test><link rel=preconnect href=/><link href=x>",
        &[],
    );
    let found = Case::default()
        .extract(b"<base href=/b/><link rel=canonical href=c><link rel=canonical href=d>");
    assert_eq!(found.canonical.unwrap().path(), "/b/c");
}

#[test]
fn noscript_is_read_as_part_of_the_page() {
    for (body, expected) in [
        (
            "<noscript><img src=a></noscript><a href=b>",
            &["image /d/a", "anchor /d/b"][..],
        ),
        (
            "<a href=x><noscript><a href='y&amp;z'></noscript><base href=/b/>",
            &["anchor /b/x", "anchor /b/y&z"],
        ),
        (
            "<noscript><style>p{background:url(a)}</style></noscript>",
            &["css-url /d/a"],
        ),
        (
            "<noscript><!-- <a href=x> --></noscript><noscript><a href=y></noscript>",
            &["anchor /d/y"],
        ),
        (
            "<noscript><p alt='</noscript><a href=y>'>",
            &["anchor /d/y"],
        ),
    ] {
        check(body, expected);
    }
}

#[test]
fn titles() {
    let long = "x ".repeat(3000);
    for (body, expected) in [
        (
            "<title>\n a &amp;\tb\u{1b} </title><title>c</title>",
            Some("a & b\u{1b}"),
        ),
        (
            "<svg><title>no</title></svg><title>yes</title>",
            Some("yes"),
        ),
        ("<title></title><title>second</title>", Some("second")),
        (
            "<title>never closed <a href=x>",
            Some("never closed <a href=x>"),
        ),
        ("<p>none", None),
        (&format!("<title>{long}</title>"), Some(&long[..1000])),
    ] {
        for piece in [usize::MAX, 1, 5] {
            let found = Case {
                piece,
                ..Case::default()
            }
            .extract(body.as_bytes());
            assert_eq!(found.title.as_deref(), expected, "{body}");
        }
    }
}

#[test]
fn what_cannot_be_fetched_is_counted() {
    let body = "<a href=mailto:a@b><a href='JavaScript:void(0)'><img src='data:image/png,x'>\
        <a href='ftp://h.test/'><a href='http://[bad'><a href=ok>";
    let found = Case::default().extract(body.as_bytes());
    assert_eq!(shown(&found), ["anchor /d/ok"]);
    assert_eq!(found.other_references, 5);
}

#[test]
fn robots_directives() {
    for (body, header, nofollow, noindex) in [
        ("", "", false, false),
        (
            "<meta name=robots content='NoFollow, archive'>",
            "",
            true,
            false,
        ),
        ("<meta name=ROBOTS content=none>", "", true, true),
        ("<meta name=Clewline content=noindex>", "", false, true),
        ("<meta name=otherbot content=none>", "", false, false),
        ("", "noindex", false, true),
        ("", "otherbot: noindex, nofollow", false, false),
        ("", "otherbot: noindex, clewline: nofollow", true, false),
        (
            "",
            "unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow",
            true,
            false,
        ),
    ] {
        let headers = vec![
            ("Content-Type", &b"text/html"[..]),
            ("X-Robots-Tag", header.as_bytes()),
        ];
        let found = Case {
            headers,
            ..Case::default()
        }
        .extract(body.as_bytes());
        assert_eq!(
            (found.nofollow, found.noindex),
            (nofollow, noindex),
            "{body} {header}"
        );
    }
}

#[test]
fn media_types_decide_what_is_read() {
    let body = b"<html><a href=x></html>";
    for (content_type, expected) in [
        ("text/html", 1),
        ("TEXT/HTML ; charset=\"utf-8\"", 1),
        ("text/plain", 0),
        ("image/png", 0),
        ("application/json", 0),
        ("", 1),
        ("*/*", 1),
    ] {
        let found = Case::typed(content_type).extract(body);
        assert_eq!(found.links.len(), expected, "{content_type}");
    }
    let unlabelled = Case {
        headers: Vec::new(),
        ..Case::default()
    };
    assert_eq!(unlabelled.extract(body).links.len(), 1);
    assert_eq!(
        unlabelled
            .extract(b" \n<!DOCTYPE HTML><a href=x>")
            .links
            .len(),
        1
    );
    assert_eq!(unlabelled.extract(b"plain <a href=x>").links.len(), 0);
}
