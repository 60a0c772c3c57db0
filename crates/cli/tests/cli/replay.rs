//! Archives of crawls shown again: served, mirrored, packed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};

use fieldwork::tree;
use terrarium::{Page, Site};

use crate::place::{HOST, Place, web_of};

/// A server that ends with the test.
pub(crate) struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    pub(crate) fn new(place: &Place, line: &[&str]) -> Self {
        let line = [&["serve", "--port", "0"], line].concat();
        let mut child = place.command(&line).stdout(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        let out = child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut first).unwrap();
        let address = first.split("http://").last().unwrap();
        let address = address.trim_start_matches("HTTP proxy at ");
        let end = address.find(['/', ';']).unwrap();
        Self {
            address: address[..end].to_owned(),
            child,
        }
    }

    /// The head and the body of an answer.
    pub(crate) fn ask(&self, target: &str) -> (String, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = &self.address;
        write!(stream, "GET {target} HTTP/1.0\r\nHost: {host}\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap()
            + 4;
        let body = answer.split_off(end);
        (String::from_utf8(answer).unwrap(), body)
    }

    /// Follows everything that a replayed page refers to; answers the statuses by path.
    fn walk(&self, start: &str) -> BTreeMap<String, u16> {
        // What stands in a base is no link.
        let link =
            regex::Regex::new(r##"(?:[^e] href=|src=|url\(|@import )"(/web/[^"#]+)"##).unwrap();
        let mut statuses = BTreeMap::new();
        let mut todo = BTreeSet::from([start.to_owned()]);
        while let Some(path) = todo.pop_first() {
            let (head, body) = self.ask(&path);
            let status = head.split(' ').nth(1).unwrap().parse().unwrap();
            statuses.insert(path, status);
            let mut found: Vec<String> = Vec::new();
            found.extend(
                head.lines()
                    .find_map(|line| line.strip_prefix("Location: "))
                    .map(Into::into),
            );
            let text = String::from_utf8_lossy(&body);
            found.extend(link.captures_iter(&text).map(|link| link[1].to_owned()));
            let is_new =
                |path: &String| !path.starts_with("/web/*") && !statuses.contains_key(path);
            todo.extend(found.into_iter().filter(is_new));
        }
        statuses
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn site() -> Site {
    let home = "<title>Home</title><link rel=stylesheet href=/s.css><a href=a>a</a> \
        <a href=/old>old</a><img src=i.png?v=1><a href='?q=ü'>query</a>";
    let image = Page::bytes("image/png", "\x01PNG");
    let style = "@import 't.css'; body { background: url(i.png?v=1) }";
    let css = |text: &str| Page::bytes("text/css", text);
    Site::new()
        .page("/", Page::html(home))
        .page("/?q=%C3%BC", Page::html("<a href=/>home</a>"))
        .page("/a", Page::html("<base href=/d/><a href=b>b</a>"))
        .page(
            "/d/b",
            Page::html("<meta http-equiv=refresh content='9; url=/a'>"),
        )
        .page("/old", Page::redirect(301, "/a"))
        .page("/s.css", css(style))
        .page("/t.css", css("p { color: red }"))
        .page("/i.png?v=1", image)
}

/// Crawls the site, which is gone afterwards; answers the URL of its home.
fn crawled(place: &Place) -> String {
    let web = web_of(site());
    let home = web.url(HOST, "/");
    let ran = place.run(&[&home, "-q", "-p", "-o", "job"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    home
}

#[test]
fn every_link_of_a_replayed_site_leads_to_a_capture() {
    let place = Place::new();
    let home = crawled(&place);
    let packed = place.run(&["export", "job", "--to", "wacz", "-o", "job.wacz"]);
    assert_eq!(packed.code, 0, "{packed:?}");
    for source in ["job", "job/archive", "job.wacz"] {
        let serving = Serving::new(&place, &[source]);
        let statuses = serving.walk(&format!("/web/{home}"));
        assert!(
            statuses.values().all(|status| matches!(status, 200 | 302)),
            "{statuses:#?}"
        );
        let shown = |ending: &str| {
            let found = |(path, status): (&String, &u16)| path.ends_with(ending) && *status == 200;
            statuses.iter().any(found)
        };
        for ending in ["/a", "/d/b", "/s.css", "/t.css", "/i.png?v=1", "/?q=%C3%BC"] {
            assert!(shown(ending), "{ending} in {statuses:#?}");
        }
        let (head, body) = serving.ask("/");
        assert!(head.starts_with("HTTP/1.0 200 ") && !body.is_empty());
        // Only a crawl has an index.
        let body = String::from_utf8_lossy(&body);
        assert_eq!(body.contains("href=\"/search\""), source == "job", "{body}");
    }
    let proxy = Serving::new(&place, &["--proxy", "job"]);
    let (head, body) = proxy.ask(&format!("{home}t.css"));
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(body, b"p { color: red }");
}

#[test]
fn an_address_may_name_its_port() {
    let place = Place::new();
    crawled(&place);
    // The port that the server is started with anyway.
    let serving = Serving::new(&place, &["--bind", "localhost:0", "job"]);
    let (head, _) = serving.ask("/");
    assert!(
        head.starts_with("HTTP/1.1 200") || head.starts_with("HTTP/1.0 200"),
        "{head}"
    );
    for (line, expected) in [
        (
            &["--bind", "127.0.0.1:1", "--port", "2"][..],
            "--bind names the port 1",
        ),
        (&["--bind", "example.test:80"], "try 127.0.0.1:8080"),
        (&["--bind", "[::1]:many"], "no number from 0 to 65535"),
    ] {
        let ran = place.run(&[&["serve", "job"], line].concat());
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.talk.contains(expected), "{ran:?}");
    }
}

#[test]
fn every_link_of_a_mirror_leads_to_a_file() {
    let place = Place::new();
    crawled(&place);
    let export = ["export", "job", "--to", "mirror", "-o", "copy"];
    let ran = place.run(&export);
    assert_eq!(ran.code, 0, "{ran:?}");
    let again = place.run(&export);
    assert_eq!(again.code, 3, "{again:?}");
    assert!(again.talk.contains("--overwrite"), "{}", again.talk);
    let link = regex::Regex::new(r##"(?:href=|src=|url\()"?([^"#> ]+)"##).unwrap();
    let mut checked = 0;
    let mut todo = vec![place.path("copy")];
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(
                fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            continue;
        }
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        for found in link.captures_iter(&text) {
            let target = path.parent().unwrap_or(Path::new("")).join(&found[1]);
            assert!(target.is_file(), "{} in {}", &found[1], path.display());
            checked += 1;
        }
    }
    assert!(checked >= 10, "{checked}");
}

/// The logs and views of a folder: those that a crawl wrote, and those that are made of it.
fn views(place: &Place, source: &str, index: &str) -> Vec<(String, BTreeMap<String, Vec<u8>>)> {
    let (copy, package) = (format!("{source}-copy"), format!("{source}-package"));
    let packed = format!("{package}/all.wacz");
    for line in [
        ["export", source, "--to", "mirror", "-o", &copy],
        ["export", source, "--to", "wacz", "-o", &packed],
    ] {
        let ran = place.run(&line);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let found = place.run(&["search", "--format", "jsonl", source, "home"]);
    assert_eq!((found.code, found.out.lines().count()), (0, 2), "{found:?}");
    let mut views = vec![
        ("mirror".to_owned(), tree(&place.path(&copy))),
        ("package".to_owned(), tree(&place.path(&package))),
        ("links".to_owned(), tree(&place.path(source).join("links"))),
    ];
    for name in ["urls.jsonl", index] {
        let bytes = fs::read(place.path(source).join(name)).unwrap();
        let name = name.rsplit('/').next().unwrap().to_owned();
        views.push((name, BTreeMap::from([(String::new(), bytes)])));
    }
    let hits = BTreeMap::from([(String::new(), found.out.into_bytes())]);
    views.push(("hits".to_owned(), hits));
    views
}

#[test]
fn every_view_is_made_of_warc_files_alone() {
    let place = Place::new();
    crawled(&place);
    let expected = views(&place, "job", "archive/index.cdxj");
    fs::create_dir(place.path("bare")).unwrap();
    for (name, bytes) in tree(&place.path("job/archive")) {
        if name.contains(".warc") {
            fs::write(place.path("bare").join(name), bytes).unwrap();
        }
    }
    let ran = place.run(&["warc", "rebuild", "bare"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for (found, expected) in views(&place, "bare", "index.cdxj").iter().zip(&expected) {
        assert!(found == expected, "{} differs", expected.0);
    }
}
