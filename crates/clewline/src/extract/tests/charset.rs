//! Which encoding is found, and what it does to links.

use encoding_rs::{EUC_JP, Encoding, ISO_2022_JP, SHIFT_JIS, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::super::charset;
use super::{Case, base64, conformance, shown};

/// Cases that a prescan cannot pass, by their index in the data. It may only shrink.
const PRESCAN_FAILURES: &[usize] = &[];

/// Cases that want a declaration in a script or a style to be obeyed, as the prescan of the
/// standard does. Browsers know that it is text, and what they show is what authors see.
const TEXT_OF_ELEMENTS: &[usize] = &[54, 55, 56];

#[test]
fn declarations_conform() {
    let Some(data) = conformance("charset.json") else {
        return;
    };
    let mut count = 0;
    for (index, case) in data["cases"].as_array().unwrap().iter().enumerate() {
        let expected = case["output"].as_str().unwrap();
        let found = if case["fn"] == "encoding-label" {
            Encoding::for_label(case["args"][0].as_str().unwrap().as_bytes())
        } else {
            let bytes = base64(case["args"][0]["b64"].as_str().unwrap());
            let bytes = &bytes[..bytes.len().min(charset::GUESS)];
            charset::byte_order_mark(bytes).or_else(|| charset::declared_in_html(bytes))
        };
        let is_equal = found
            .unwrap_or(WINDOWS_1252)
            .name()
            .eq_ignore_ascii_case(expected);
        let is_listed = PRESCAN_FAILURES.contains(&index) || TEXT_OF_ELEMENTS.contains(&index);
        assert_ne!(
            is_equal, is_listed,
            "case {index}: {expected}, found {found:?}"
        );
        count += 1;
    }
    assert_eq!(count, 310);
}

#[test]
fn sources_in_order() {
    for (content_type, body, expected) in [
        (
            "text/html; charset=koi8-r",
            &b"\xef\xbb\xbf<meta charset=euc-jp>"[..],
            "UTF-8",
        ),
        (
            "text/html; charset=koi8-r",
            b"<meta charset=euc-jp>",
            "KOI8-R",
        ),
        (
            "text/html; charset=nonsense",
            b"<meta charset=euc-jp>",
            "EUC-JP",
        ),
        ("text/html; a=b; charset='gbk'", b"", "GBK"),
        ("text/html; x=\"a;charset=big5\"; charset=gbk", b"", "GBK"),
        ("text/html", b"plain ascii", "UTF-8"),
        ("text/html", "na\u{ef}ve".as_bytes(), "UTF-8"),
        (
            "text/html",
            b"<p>\xcf\xf0\xe8\xe2\xe5\xf2, \xea\xe0\xea \xe4\xe5\xeb\xe0",
            "windows-1251",
        ),
        (
            "text/html",
            b"<?xml version='1.0' encoding='iso-8859-2'?><html>",
            "ISO-8859-2",
        ),
    ] {
        for piece in [usize::MAX, 1] {
            let found = Case {
                piece,
                ..Case::typed(content_type)
            }
            .extract(body);
            assert_eq!(
                found.charset,
                Some(expected),
                "{content_type} {}",
                body.escape_ascii()
            );
        }
    }
}

/// Browsers know what is text, although the prescan of the standard does not.
#[test]
fn what_only_looks_like_a_declaration_declares_nothing() {
    for name in [
        "title", "script", "style", "textarea", "xmp", "iframe", "noframes", "TITLE",
    ] {
        let text = format!("<{name} x=y><meta charset=koi8-r></{name}x></ {name}></{name} >");
        assert_eq!(
            Case::typed("text/html").extract(text.as_bytes()).charset,
            Some("UTF-8"),
            "{name}"
        );
        let body = format!("{text}<meta charset=euc-jp>");
        assert_eq!(
            Case::typed("text/html").extract(body.as_bytes()).charset,
            Some("EUC-JP"),
            "{name}"
        );
    }
    let noscript = b"<noscript><meta charset=koi8-r></noscript>";
    assert_eq!(
        Case::typed("text/html").extract(noscript).charset,
        Some("KOI8-R")
    );
}

#[test]
fn late_declarations_count_where_nothing_else_does() {
    let body = [&b"<p>".repeat(1000)[..], b"<meta charset=koi8-r><p>\xc1"].concat();
    assert_eq!(
        Case::typed("text/html").extract(&body).charset,
        Some("KOI8-R")
    );
}

#[test]
fn queries_are_in_the_encoding_of_the_document() {
    for (encoding, expected) in [
        (WINDOWS_1252, "anchor /%E6%97%A5?q=%26%2326085%3B"),
        (SHIFT_JIS, "anchor /%E6%97%A5?q=%93%FA"),
        (EUC_JP, "anchor /%E6%97%A5?q=%C6%FC"),
        (ISO_2022_JP, "anchor /%E6%97%A5?q=%1B$BF|%1B(B"),
    ] {
        let body = "<title>\u{65e5}</title><a href='/\u{65e5}?q=\u{65e5}'>";
        let (bytes, _, _) = encoding.encode(body);
        let content_type = format!("text/html; charset={}", encoding.name());
        for piece in [usize::MAX, 1] {
            let found = Case {
                piece,
                ..Case::typed(&content_type)
            }
            .extract(&bytes);
            assert_eq!(shown(&found), [expected]);
            assert_eq!(found.title.as_deref(), Some("\u{65e5}"));
        }
    }
}

#[test]
fn utf_16_is_decoded_first() {
    let body = "<a href='\u{65e5}?\u{65e5}'>";
    let little: Vec<u8> = body.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = body.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for (encoding, bytes, mark) in [
        (UTF_16LE, &little, &b"\xff\xfe"[..]),
        (UTF_16BE, &big, b"\xfe\xff"),
    ] {
        for piece in [usize::MAX, 1] {
            let content_type = format!("text/html; charset={}", encoding.name());
            let labelled = Case {
                piece,
                ..Case::typed(&content_type)
            }
            .extract(bytes);
            assert_eq!(shown(&labelled), ["anchor /d/%E6%97%A5?%E6%97%A5"]);
            let marked = Case {
                piece,
                ..Case::typed("text/html")
            }
            .extract(&[mark, bytes].concat());
            assert_eq!(marked.links, labelled.links);
            assert_eq!(marked.charset, Some(encoding.name()));
        }
    }
}

#[test]
fn unsafe_encodings_are_not_decoded() {
    let found = Case::typed("text/html; charset=iso-2022-kr").extract(b"<a href=x>");
    assert_eq!(shown(&found), [""; 0]);
    assert_eq!(found.problem, Some("the encoding is not supported"));
}

#[test]
fn cuts_do_not_change_what_is_decided() {
    let filler = "<p>plain</p>".repeat(8_000);
    for (body, expected) in [
        (
            [filler.as_bytes(), b"<a href='\xc3\xa9'>"].concat(),
            "UTF-8",
        ),
        (
            [
                &b"<a href='?\xcf\xf0\xe8\xe2\xe5\xf2'>"[..],
                filler.as_bytes(),
            ]
            .concat(),
            "windows-1251",
        ),
        (
            [
                &filler.as_bytes()[..1008],
                b"<meta charset=koi8-r>",
                filler.as_bytes(),
            ]
            .concat(),
            "KOI8-R",
        ),
    ] {
        let whole = Case::typed("text/html").extract(&body);
        assert_eq!(whole.charset, Some(expected));
        for piece in [1, 1000, 1024, 1025, 65_536, 65_537] {
            let found = Case {
                piece,
                ..Case::typed("text/html")
            }
            .extract(&body);
            assert_eq!(found, whole, "{piece}");
        }
    }
}
