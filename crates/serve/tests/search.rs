//! A crawl on loopback, served and searched as a browser and as a program ask.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are tests, but clippy knows only functions"
)]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use clewline_serve::{AppConfig, Mode, Scripts, ServeConfig, ServeNotice, serve};
use fieldwork::{HOST, PATIENCE, crawled};
use serde_json::Value;
use tempfile::TempDir;
use terrarium::{LiveWeb, Page, Site, Web, links};

/// Markup and controls where titles and words are.
const EVIL: &str = "<title>&lt;script&gt;alert(1)&lt;/script&gt; \u{1b}]0;owned\u{7} \u{202e}keys</title>\
    <p>evil &lt;img src=x onerror=alert(2)&gt; keys";

fn words(topic: &str, count: usize) -> String {
    let words: Vec<String> = (0..count)
        .map(|number| format!("{topic}{number}"))
        .collect();
    words.join(" ")
}

/// Pages that are alike in every way there is, pages with nothing in common, and bad ones.
fn web() -> LiveWeb {
    let page = |title: &str, body: &str| {
        Page::html(format!(
            "<html lang=en><title>{title}</title><p>keys {body}</p>"
        ))
    };
    let long = words("lorem", 400);
    let nearly = long.replacen("lorem200 ", "changed ", 1);
    let paths = [
        "/evil",
        "/same1",
        "/same2",
        "/near1",
        "/near2",
        "/d/",
        "/d/index.html",
        "/n.txt",
    ];
    let all = (0..30).map(|number| format!("/page{number}"));
    let all = paths
        .into_iter()
        .map(str::to_owned)
        .chain(all)
        .collect::<Vec<_>>();
    let mut site = Site::new()
        .page("/", Page::html(links(all)))
        .page("/evil", Page::html(EVIL))
        .page("/same1", page("Same", "equal"))
        .page("/same2", page("Same", "equal"))
        .page("/near1", page("Near", &long))
        .page("/near2", page("Near", &nearly))
        .page("/d/", page("Folder", "folders now"))
        .page("/d/index.html", page("Folder", "folders then"))
        .page("/n.txt", Page::text("keys in a text"));
    for number in 0..30 {
        let body = words(&format!("topic{number}x"), 50);
        site = site.page(
            &format!("/page{number}"),
            page(&format!("Page {number}"), &body),
        );
    }
    Web::new().site(HOST, site).start()
}

struct Served {
    address: SocketAddr,
    _place: TempDir,
}

fn served(place: TempDir, job: &Path) -> Served {
    let config = ServeConfig {
        address: "127.0.0.1:0".parse().unwrap(),
        mode: Mode::Pages,
        scripts: Scripts::Blocked,
        at: None,
    };
    let paths = [job.to_owned()];
    let (told, listening) = mpsc::channel();
    thread::spawn(move || {
        serve(&paths, config, AppConfig::default(), &mut |notice| {
            if let ServeNotice::Listening {
                address,
                has_search,
            } = notice
            {
                told.send((address, has_search)).unwrap();
            }
            Ok(())
        })
    });
    let (address, has_search) = listening.recv().unwrap();
    assert!(has_search);
    Served {
        address,
        _place: place,
    }
}

impl Served {
    /// A server whose index is there.
    fn new() -> Self {
        let (place, job) = crawled(&web());
        clewline_search::update(&job, &mut |_| {}).unwrap();
        served(place, &job)
    }

    /// The status, the head and the body of an answer.
    fn ask(&self, target: &str, fields: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let host = self.address;
        let head = format!("GET {target} HTTP/1.0\r\nHost: {host}\r\n{fields}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head.to_owned(), body.to_owned())
    }

    fn page(&self, target: &str) -> String {
        let (status, _, body) = self.ask(target, "");
        assert_eq!(status, 200, "{target}: {body}");
        body
    }

    fn json(&self, target: &str) -> (u16, Value) {
        let (status, head, body) = self.ask(target, "");
        assert!(head.contains("Content-Type: application/json"), "{head}");
        (status, serde_json::from_str(&body).unwrap())
    }

    fn found(&self, query: &str) -> Value {
        let (status, value) = self.json(&format!("/api/search?{query}"));
        assert_eq!(status, 200, "{query}: {value}");
        value
    }
}

/// The values of an attribute, as a browser understands them.
fn attributes<'a>(page: &'a str, start: &'a str) -> impl Iterator<Item = String> + 'a {
    let values = page.split(start).skip(1);
    values.map(|rest| {
        rest.split('"')
            .next()
            .unwrap_or_default()
            .replace("&amp;", "&")
    })
}

#[test]
fn results_are_pages_with_facets_and_captures() {
    let served = Served::new();
    let home = served.page("/");
    assert!(home.contains("<a href=\"/search\">"), "{home}");
    let page = served.page("/search?q=topic7x3");
    assert!(page.contains("<b>1 page</b> matches"), "{page}");
    assert!(page.contains("<mark>topic7x3</mark>"), "{page}");
    let capture = attributes(&page, "class=hit href=\"").next().unwrap();
    let (status, head, _) = served.ask(&capture, "");
    assert!(
        status == 200 || head.contains("Location: /web/"),
        "{capture}: {head}"
    );
    let live = attributes(&page, "<a href=\"http").next().unwrap();
    assert!(live.ends_with("/page7"), "{live}");
    // A facet leads to exactly as many pages as it says.
    let page = served.page("/search?q=keys");
    let text = attributes(&page, "<a href=\"").find(|link| link.contains("type=text%2Fplain"));
    let narrowed = served.page(&text.unwrap());
    assert!(narrowed.contains("<b>1 page</b> matches"), "{narrowed}");
    assert!(narrowed.contains("<input type=hidden name=type value=\"text/plain\">"));
    let wide = attributes(&narrowed, "<li class=chosen><a href=\"").next();
    assert_eq!(wide.as_deref(), Some("/search?q=keys"));
    let all = served.page("/search");
    assert!(
        all.contains("<b>39 pages</b>") && all.contains("autofocus"),
        "{all}"
    );
}

#[test]
fn pages_that_are_alike_are_folded() {
    let served = Served::new();
    for (word, alike) in [("equal", "same"), ("lorem3", "near"), ("folders", "/d/")] {
        let folded = served.found(&format!("q={word}"));
        let hits = folded["hits"].as_array().unwrap();
        assert_eq!(
            (hits.len(), &folded["total"]),
            (1, &Value::from(2)),
            "{folded}"
        );
        assert_eq!(hits[0]["alike"], 1, "{folded}");
        assert!(
            hits[0]["also"][0].as_str().unwrap().contains(alike),
            "{folded}"
        );
        let each = served.found(&format!("q={word}&fold=no"));
        assert_eq!(each["hits"].as_array().unwrap().len(), 2, "{each}");
        assert_eq!(each["hits"][0]["alike"], 0);
    }
    let page = served.page("/search?q=equal");
    assert!(page.contains("<summary>and 1 alike</summary>"), "{page}");
    assert!(
        page.contains("href=\"/search?q=equal&amp;fold=no\""),
        "{page}"
    );
}

#[test]
fn pages_of_results_follow_each_other() {
    let served = Served::new();
    let mut urls = Vec::new();
    for number in 1.. {
        let found = served.found(&format!("q=keys&fold=no&page={number}"));
        assert_eq!(
            (&found["page"], &found["total"]),
            (&number.into(), &38.into())
        );
        let hits = found["hits"].as_array().unwrap();
        urls.extend(
            hits.iter()
                .map(|hit| hit["url"].as_str().unwrap().to_owned()),
        );
        if found["has_next"] == false {
            assert_eq!((number, hits.len()), (4, 8));
            break;
        }
        assert_eq!(hits.len(), 10);
    }
    urls.sort();
    urls.dedup();
    assert_eq!(urls.len(), 38);
    let empty = served.page("/search?q=keys&page=100");
    assert!(empty.contains("Nothing was found"), "{empty}");
}

#[test]
fn what_pages_hold_stays_text() {
    let served = Served::new();
    let page = served.page("/search?q=evil");
    assert!(
        page.contains("&lt;script&gt;alert(1)&lt;/script&gt; ]0;owned"),
        "{page}"
    );
    assert!(
        page.contains("&lt;img src=x onerror=alert(2)&gt;"),
        "{page}"
    );
    assert!(!page.contains("<img") && !page.contains(['\u{1b}', '\u{7}', '\u{202e}']));
    assert_eq!(page.matches("<script>").count(), 1);
    let (_, head, _) = served.ask("/search?q=evil", "");
    let policy = head
        .lines()
        .find_map(|line| line.strip_prefix("Content-Security-Policy: "));
    let policy = policy.unwrap();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'sha256-"),
        "{policy}"
    );
    assert!(
        !policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"),
        "{policy}"
    );
}

#[test]
fn bad_questions_are_told_what_is_wrong() {
    let served = Served::new();
    let long = "x".repeat(5000);
    for (query, word) in [
        ("q=%22open", "a quote is opened and not closed"),
        ("q=colour:red", "there is no field"),
        ("q=a+AND", "need something to join"),
        ("q=keys&page=101", "from 1 to 100"),
        ("q=keys&page=x", "from 1 to 100"),
        (&format!("q={long}"), "at most"),
        (&format!("q=keys&host={long}"), "at most 255 bytes"),
    ] {
        let (status, value) = served.json(&format!("/api/search?{query}"));
        let error = value["error"].as_str().unwrap();
        assert!(status == 400 && error.contains(word), "{query}: {error}");
        let (status, _, page) = served.ask(&format!("/search?{query}"), "");
        assert!(status == 400 && page.contains(word), "{query}: {page}");
    }
    let (_, value) = served.json("/api/search?q=keys+colour:red");
    assert_eq!(value["column"], 6);
    // What is half written is no mistake while somebody types.
    assert_eq!(served.found("q=topic7x&typing=1")["total"], 1);
    assert_eq!(served.found("q=topic7x")["total"], 0);
}

#[test]
fn strangers_are_refused() {
    let served = Served::new();
    for target in ["/search?q=keys", "/api/search?q=keys"] {
        let (status, ..) = served.ask(target, "Origin: http://evil.test\r\n");
        assert_eq!(status, 403);
        let own = format!("Origin: http://{}\r\n", served.address);
        assert_eq!(served.ask(target, &own).0, 200);
        let mut stream = TcpStream::connect(served.address).unwrap();
        let port = served.address.port();
        write!(
            stream,
            "GET {target} HTTP/1.0\r\nHost: evil.test:{port}\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.0 403 "), "{answer}");
    }
}

#[test]
fn an_index_is_made_where_there_is_none() {
    let (place, job) = crawled(&web());
    let served = served(place, &job);
    let began = Instant::now();
    loop {
        let (status, value) = served.json("/api/search?q=keys");
        if status == 200 {
            assert_eq!(value["total"], 38);
            break;
        }
        let error = value["error"].as_str().unwrap();
        assert!(status == 503 && error.contains("is being made"), "{error}");
        assert!(began.elapsed() < PATIENCE, "the index is never there");
        thread::yield_now();
    }
}

#[test]
fn an_index_that_cannot_be_made_is_told() {
    let (place, job) = crawled(&web());
    // A file where the folder belongs.
    fs::write(job.join(clewline_search::FOLDER), b"").unwrap();
    let served = served(place, &job);
    let began = Instant::now();
    loop {
        let (status, _, page) = served.ask("/search?q=keys", "");
        if status == 500 {
            assert!(
                page.contains("index") && page.contains("role=status"),
                "{page}"
            );
            break;
        }
        assert!(status == 503 && began.elapsed() < PATIENCE, "{page}");
        thread::yield_now();
    }
}
