//! A small site as files.

use super::*;
use crate::open::tests::write;

const HTML: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=iso-8859-1\r\n\r\n";
const CSS: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/css\r\n\r\n";
const PNG: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n";
const MOVED: &[u8] = b"HTTP/1.1 301 Moved\r\nLocation: /d/\r\n\r\n";
const GONE: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n";

fn mirrored(folder: &Path) -> PathBuf {
    let path = folder.join("a.warc.gz");
    let page = b"<base href=/><link rel=stylesheet href=s.css crossorigin><a href=old#x>d</a>\
        <a href=gone>g</a><a href=//b.test/>b</a><img src=none.png><img src='i.png?v=1'>\xe4";
    write(
        &path,
        &[
            ("https://a.test/", "2020", HTML, b"before"),
            ("https://a.test/", "2021", HTML, page),
            (
                "https://a.test/s.css",
                "2020",
                CSS,
                b"p{background:url(i.png?v=1)}",
            ),
            ("https://a.test/i.png?v=1", "2020", PNG, b"\x89PNG"),
            ("https://a.test/old", "2020", MOVED, b""),
            ("https://a.test/d/", "2020", HTML, b"<a href=../>up</a>"),
            ("https://a.test/gone", "2020", GONE, b"no"),
        ],
    );
    let archive = Archive::open(&[path]).unwrap();
    let out = folder.join("out");
    let mut complaints = Vec::new();
    let done = export(&archive, &out, Existing::Keep, &mut |text| {
        complaints.push(text.to_owned());
    });
    assert_eq!(done.unwrap().files, 4);
    assert!(complaints.is_empty(), "{complaints:?}");
    let again = export(&archive, &out, Existing::Keep, &mut |_| {});
    assert!(matches!(again, Err(MirrorError::Occupied { .. })));
    export(&archive, &out, Existing::Replace, &mut |_| {}).unwrap();
    out
}

#[test]
fn links_lead_from_file_to_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = mirrored(folder.path());
    let page = fs::read(out.join("a.test/index.html")).unwrap();
    let text = String::from_utf8_lossy(&page);
    let image = text.split("<img src=\"").nth(2).unwrap();
    let image = image.split('"').next().unwrap();
    assert!(out.join("a.test").join(image).is_file(), "{text}");
    assert!(page.ends_with(b"\xe4"));
    for expected in [
        "<meta charset=\"windows-1252\"><link rel=stylesheet href=s.css>",
        "<a href=\"d/index.html#x\">",
        "<a href=\"https://a.test/gone\">",
        "<a href=\"https://b.test/\">",
        "<img src=\"data:,\">",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
    let sheet = fs::read_to_string(out.join("a.test/s.css")).unwrap();
    assert_eq!(sheet, format!("p{{background:url(\"{image}\")}}"));
    let inner = fs::read_to_string(out.join("a.test/d/index.html")).unwrap();
    assert!(
        inner.contains("<a href=\"../index.html\">up</a>"),
        "{inner}"
    );
    let entry = fs::read_to_string(out.join("index.html")).unwrap();
    assert!(entry.contains("<a href=\"a.test/d/index.html\">https://a.test/d/</a>"));
}
