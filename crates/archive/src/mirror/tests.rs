//! A small site as files.

use super::*;
use crate::samples::write;

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
    let mut told = 0;
    let mut complain = |text: &str| {
        complaints.push(text.to_owned());
    };
    let done = export(
        &archive,
        &out,
        ExistingOutput::Keep,
        &mut complain,
        &mut |files| told = files,
    );
    assert!((1..=4).contains(&told), "{told}");
    assert_eq!(done.unwrap().files, 4);
    assert!(complaints.is_empty(), "{complaints:?}");
    let again = export(
        &archive,
        &out,
        ExistingOutput::Keep,
        &mut |_| {},
        &mut |_| {},
    );
    assert!(matches!(again, Err(OutputError::FolderNotEmpty { .. })));
    export(
        &archive,
        &out,
        ExistingOutput::Replace,
        &mut |_| {},
        &mut |_| {},
    )
    .unwrap();
    out
}

#[test]
fn a_rendered_page_is_as_a_browser_showed_it_and_runs_no_script() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("a.warc.gz"), folder.path().join("out"));
    let shell = b"<div id=root></div><script src=s.js></script>";
    let dom = "<!DOCTYPE html><html><head><meta charset=iso-8859-1></head>\
        <body><a href=https://a.test/d/#x>\u{fc}</a><script src=s.js></script></body></html>";
    let xhtml = b"HTTP/1.1 200 OK\r\nContent-Type: application/xhtml+xml\r\n\r\n";
    write(
        &path,
        &[
            ("https://a.test/app", "2020", HTML, shell),
            (
                "urn:rendered:https://a.test/app",
                "2020",
                b"",
                dom.as_bytes(),
            ),
            ("https://a.test/d/", "2020", HTML, b"sent\xe4"),
            ("https://a.test/x", "2020", xhtml, b"<p>sent</p>"),
            ("urn:rendered:https://a.test/x", "2020", b"", b"<p>shown"),
        ],
    );
    let archive = Archive::open(&[path]).unwrap();
    let keep = ExistingOutput::Keep;
    let done = export(&archive, &out, keep, &mut |_| {}, &mut |_| {});
    assert_eq!(done.unwrap().files, 3);
    let page = |name: &str| {
        let bytes = fs::read(out.join("a.test").join(name)).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let app = page("app~.html");
    let start = "\u{feff}<!DOCTYPE html><meta http-equiv=\"Content-Security-Policy\" content=\"script-src 'none'\"><html>";
    assert!(app.starts_with(start), "{app}");
    assert!(
        app.contains("<a href=\"d/index.html#x\">\u{fc}</a>"),
        "{app}"
    );
    assert!(!app.contains("id=root"), "{app}");
    assert!(page("d/index.html").contains("sent"));
    assert_eq!(page("x~.xhtml"), "<p>sent</p>");
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
    assert_eq!(entry.matches("<h1>").count(), 1);
}

/// Writes a mirror of these pages over another one.
fn replaced(folder: &Path, urls: &[&str]) {
    let path = folder.join("b.warc.gz");
    let pages: Vec<_> = urls
        .iter()
        .map(|url| (*url, "2020", HTML, &b"text"[..]))
        .collect();
    write(&path, &pages);
    let archive = Archive::open(&[path]).unwrap();
    export(
        &archive,
        &folder.join("out"),
        ExistingOutput::Replace,
        &mut |_| {},
        &mut |_| {},
    )
    .unwrap();
}

/// Every file below a folder, by its path from there, the list left out.
fn files_below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if !path.ends_with(list::LIST) {
                let name = path.strip_prefix(folder).unwrap();
                found.push(name.to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

#[test]
fn another_mirror_takes_away_what_the_last_one_wrote_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    replaced(
        place.path(),
        &[
            "https://a.test/",
            "https://a.test/d/e/f",
            "https://b.test/x/",
        ],
    );
    fs::write(out.join("b.test/notes.txt"), "mine").unwrap();
    fs::create_dir(out.join("a.test/empty")).unwrap();
    replaced(place.path(), &["https://a.test/", "https://c.test/"]);
    let expected = [
        "a.test/index.html",
        "b.test/notes.txt",
        "c.test/index.html",
        "index.html",
    ];
    assert_eq!(files_below(&out), expected);
    assert!(!out.join("b.test/x").exists() && !out.join("a.test/d").exists());
    assert!(out.join("a.test/empty").is_dir());
}

#[cfg(unix)]
#[test]
fn a_list_leads_nowhere_else() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    replaced(place.path(), &["https://a.test/"]);
    let outside = place.path().join("outside");
    fs::create_dir(&outside).unwrap();
    for name in ["index.html", "kept", "linked"] {
        fs::write(outside.join(name), "kept").unwrap();
    }
    std::os::unix::fs::symlink(&outside, out.join("away")).unwrap();
    std::os::unix::fs::symlink(outside.join("linked"), out.join("link")).unwrap();
    fs::create_dir(out.join("folder")).unwrap();
    let absolute = outside.join("kept");
    let names = format!(
        "../outside/kept\n{}\naway/index.html\nfolder\nlink\n\n.\n\u{fffd}\nx/../../outside/kept\n",
        absolute.display()
    );
    fs::write(out.join(list::LIST), names).unwrap();
    replaced(place.path(), &["https://b.test/"]);
    assert_eq!(files_below(&outside), ["index.html", "kept", "linked"]);
    assert!(out.join("folder").is_dir() && !out.join("link").is_symlink());
}

/// What somebody put into the folder leads no file out of it.
#[cfg(unix)]
#[test]
fn a_planted_link_is_not_followed() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    let outside = place.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::create_dir(&out).unwrap();
    std::os::unix::fs::symlink(&outside, out.join("a.test")).unwrap();
    let path = place.path().join("c.warc.gz");
    write(&path, &[("https://a.test/", "2020", HTML, b"text")]);
    let archive = Archive::open(&[path]).unwrap();
    let error = export(
        &archive,
        &out,
        ExistingOutput::Replace,
        &mut |_| {},
        &mut |_| {},
    )
    .unwrap_err();
    assert!(error.to_string().contains("symbolic link"), "{error}");
    assert!(error.to_string().contains("a.test"), "{error}");
    assert_eq!(files_below(&outside), [""; 0]);
    // The same for the folder in which the mirror grows.
    fs::remove_file(out.join("a.test")).unwrap();
    std::os::unix::fs::symlink(&outside, out.join(".clewline-part")).unwrap();
    export(
        &archive,
        &out,
        ExistingOutput::Replace,
        &mut |_| {},
        &mut |_| {},
    )
    .unwrap();
    assert_eq!(files_below(&outside), [""; 0]);
    assert_eq!(files_below(&out), ["a.test/index.html", "index.html"]);
}

/// Whoever is killed leaves nothing that looks like a mirror, and the next one clears it away.
#[test]
fn a_mirror_has_its_names_only_when_it_is_whole() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    let path = place.path().join("d.warc.gz");
    let pages = ["https://a.test/", "https://a.test/b"];
    write(&path, &pages.map(|url| (url, "2020", HTML, &b"text"[..])));
    let archive = Archive::open(&[path]).unwrap();
    let part = out.join(".clewline-part");
    fs::create_dir_all(&part).unwrap();
    fs::write(part.join("half"), "x").unwrap();
    let mut seen = Vec::new();
    archive
        .each(|_, _| {
            seen.extend(files_below(&out));
            Ok::<_, io::Error>(())
        })
        .unwrap();
    assert_eq!(seen.len(), 2, "a killed mirror left this: {seen:?}");
    // What is left of it is no reason to refuse, and goes.
    export(
        &archive,
        &out,
        ExistingOutput::Keep,
        &mut |_| {},
        &mut |_| {},
    )
    .unwrap();
    let found = files_below(&out);
    assert!(!found.iter().any(|name| name.contains("part")), "{found:?}");
    assert_eq!(found.len(), 3, "{found:?}");
}

/// Writes the entry of a mirror to the folder named by `CLEWLINE_SAMPLE_SITES`, to look at it.
#[test]
fn samples_can_be_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let entry = mirrored(folder.path()).join("index.html");
    if let Some(kept) = std::env::var_os("CLEWLINE_SAMPLE_SITES") {
        fs::copy(entry, Path::new(&kept).join("mirror-few.html")).unwrap();
    }
}
