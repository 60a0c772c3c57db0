//! Style sheets, XML, feeds and header fields.

use super::{Case, shown};

#[test]
fn style_sheets_as_pages() {
    let body = b"@charset \"windows-1251\";@import 'a';b{c:url(\xe4)}";
    let found = Case::typed("text/css").extract(body);
    assert_eq!(shown(&found), ["css-import /d/a", "css-url /d/%D0%B4"]);
    assert_eq!(found.charset, Some("windows-1251"));
}

/// Half a URL leads somewhere, too.
#[test]
fn what_a_cut_leaves_of_the_last_reference_is_none() {
    for (content_type, body, whole, cut) in [
        ("text/css", "a{b:url(x)}c{d:url(yy", 2, 1),
        ("text/css", "@import 'x", 1, 0),
        ("text/css", "a{b:url(x)", 1, 0),
        ("text/css", "a{b:url(x)}", 1, 1),
        ("text/html", "<style>a{b:url(x)}c{d:url(yy", 2, 1),
        ("text/html", "<style>a{b:url(x)</style><p>", 1, 1),
        ("text/html", "<a href=x><a href=yy", 1, 1),
        ("application/xhtml+xml", "<html><style>a{b:url(x", 1, 0),
    ] {
        for (is_cut, expected) in [(false, whole), (true, cut)] {
            let case = Case {
                is_cut,
                ..Case::typed(content_type)
            };
            assert_eq!(
                case.extract(body.as_bytes()).links.len(),
                expected,
                "{body} {is_cut}"
            );
        }
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

fn check(content_type: &str, body: &str, expected: &[&str]) {
    for piece in [usize::MAX, 1] {
        let found = Case {
            piece,
            ..Case::typed(content_type)
        }
        .extract(body.as_bytes());
        assert_eq!(shown(&found), expected, "{body}");
    }
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
        check(content_type, body, expected);
    }
}

#[test]
fn drawings_and_what_is_in_them() {
    for (content_type, body, expected) in [
        (
            "image/svg+xml",
            "<?xml-stylesheet href='s.css'?><s:svg xmlns:s='x'><s:script xl:href='a.js'/>\
             <s:font-face-uri xlink:href='f.ttf'/><s:feImage href='b.png'/><s:use href='#c'/>\
             <s:style>@import 'i.css';</s:style><s:title>t</s:title>\
             <s:foreignObject><base href='/no/'/><h:img src='d.png' href='no'/>\
             <h:a href='e'/></s:foreignObject><s:image src='no' href='g.png'/></s:svg>",
            &[
                "style /no/s.css",
                "script /no/a.js",
                "font /no/f.ttf",
                "image /no/b.png",
                "css-import /no/i.css",
                "image /no/d.png",
                "anchor /no/e",
                "image /no/g.png",
            ][..],
        ),
        (
            "application/xhtml+xml",
            "<?xml-stylesheet href='s.css'?><html><template><base href='/b/'/></template>\
             <svg><base href='/c/'/><script href='a'/></svg><img href='no'/><a href='x'/></html>",
            &["style /d/s.css", "script /d/a", "anchor /d/x"],
        ),
    ] {
        check(content_type, body, expected);
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

#[test]
fn strings_of_scripts_are_links_if_that_is_wanted() {
    let page =
        "<a href=x>x</a><script>go('/a')</script><script type='application/json'>{\"n\":\"/b\"}";
    for (content_type, body, expected) in [
        (
            "text/html",
            page,
            &["anchor /d/x", "script-text /a", "script-text /b"][..],
        ),
        (
            "text/html",
            "<title>'/t'</title><textarea>'/u'</textarea>",
            &[],
        ),
        ("text/javascript", "a='../c.html'", &["script-text /c.html"]),
        (
            "application/vnd.api+json; charset=utf-8",
            r#"{"next":"http:\/\/h.test\/n"}"#,
            &["script-text /n"],
        ),
        ("text/plain", "'/a'", &[]),
    ] {
        let mut case = Case {
            script_links: true,
            ..Case::typed(content_type)
        };
        assert_eq!(shown(&case.extract(body.as_bytes())), expected, "{body}");
        case.script_links = false;
        let without = shown(&case.extract(body.as_bytes()));
        assert!(
            !without.iter().any(|link| link.starts_with("script")),
            "{body}"
        );
    }
}

#[test]
fn half_a_string_of_a_script_is_none() {
    for (is_cut, expected) in [(false, 1), (true, 0)] {
        let case = Case {
            script_links: true,
            is_cut,
            ..Case::typed("text/javascript")
        };
        let found = case.extract(b"// see http://h.test/half");
        assert_eq!(found.links.len(), expected, "{is_cut}");
    }
}

#[test]
fn strings_of_scripts_are_bounded() {
    let lines: Vec<String> = (0..5000).map(|number| format!("'/p/{number}'\n")).collect();
    let body = lines.concat();
    let case = Case {
        script_links: true,
        ..Case::typed("text/javascript")
    };
    assert_eq!(case.extract(body.as_bytes()).links.len(), 2000);
}
