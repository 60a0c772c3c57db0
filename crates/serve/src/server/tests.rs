//! The server as a browser and as a stranger meets it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;

use clewline_archive::Archive;
use clewline_warc::{Block, Digest, Effort, Encoder, RecordDraft, RecordId, WarcCompression};

use super::*;
use crate::app::JobPlaces;
use crate::app::access::Access;

const HTML: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: a=b\r\n\
    Strict-Transport-Security: max-age=1\r\nContent-Encoding: identity\r\n\r\n";
const CHUNKED: &[u8] =
    b"HTTP/1.1 200 oK\r\ncontent-TYPE: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n";
const MOVED: &[u8] = b"HTTP/1.1 301 Moved\r\nLocation: /new?a=b\r\n\r\n";
const ERROR: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n";
const MEDIA: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: audio/wav\r\nContent-Length: 10\r\n\r\n";
const CHUNKED_MEDIA: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: audio/wav\r\nTransfer-Encoding: chunked\r\n\r\n";
const REFRESHED: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nRefresh: 0; url=\"/new\"\r\n\r\n";
const STYLE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/css\r\n\r\n";

fn moment(digits: &str) -> Moment {
    Moment::from_timestamp(digits).unwrap()
}

/// Writes an archive of messages: URL, time, head and body.
fn write(path: &Path, messages: &[(&str, &str, &[u8], &[u8])]) {
    let mut file = fs::File::create(path).unwrap();
    let mut encoder = Encoder::new(WarcCompression::default());
    for (number, (url, time, head, body)) in messages.iter().enumerate() {
        let id = RecordId::numbered([7; 16], number as u64);
        let block = Block::message(head).bytes(body);
        let draft =
            RecordDraft::response(id, moment(time), url, block).payload_digest(Digest::sha1(body));
        encoder.encode(&draft, Effort::Usual, &mut file).unwrap();
    }
}

/// A small picture, as far as anybody here looks at it.
const SMALL: &[u8] = b"\xff\xd8\xff and so on";

/// Behind an answer: its request would stand between, and what a browser made of the page.
fn write_rendered(path: &Path, url: &str, dom: &str) {
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    let mut encoder = Encoder::new(WarcCompression::default());
    let id = |number| RecordId::numbered([8; 16], number);
    let block = Block::message(HTML).bytes(b"<div id=root></div><script>run()</script>");
    let answer = RecordDraft::response(id(0), moment("2020"), url, block);
    let request = Block::plain(b"GET / HTTP/1.1\r\n\r\n");
    let request = RecordDraft::request(id(1), moment("2020"), url, request);
    let target = format!("urn:rendered:{url}");
    let dom = RecordDraft::resource(id(2), moment("2020"), &target, Block::plain(dom.as_bytes()));
    let target = format!("urn:thumbnail:{url}");
    let small = RecordDraft::resource(id(3), moment("2020"), &target, Block::plain(SMALL));
    let views = [
        dom.content_type("text/html"),
        small.content_type("image/jpeg"),
    ];
    for draft in [answer, request].into_iter().chain(views) {
        encoder.encode(&draft, Effort::Usual, &mut file).unwrap();
    }
}

struct Served {
    address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Served {
    fn new(mode: Mode) -> Self {
        Self::with(mode, Scripts::Blocked)
    }

    fn with(mode: Mode, scripts: Scripts) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.warc.gz");
        write(
            &path,
            &[
                (
                    "https://a.test/",
                    "2020",
                    HTML,
                    b"<body><a href=/p>p</a> old",
                ),
                (
                    "https://a.test/",
                    "2024",
                    HTML,
                    b"<body><a href=/p>p</a> new",
                ),
                (
                    "http://a.test/c",
                    "2020",
                    CHUNKED,
                    b"4;x=y\r\npage\r\n0\r\n\r\n",
                ),
                ("https://a.test/old", "2020", MOVED, b""),
                ("https://a.test/gone", "2020", ERROR, b"<p>gone"),
                ("https://a.test/s.css", "2020", STYLE, b"@import 'd.css'"),
                ("https://a.test/<x>\"", "2020", HTML, b"odd"),
                ("https://a.test/m", "2020", MEDIA, b"0123456789"),
                (
                    "https://a.test/n",
                    "2020",
                    CHUNKED_MEDIA,
                    b"4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n",
                ),
                ("https://a.test/r", "2020", REFRESHED, b"<p>soon"),
            ],
        );
        let dom = "<body><a href=/old>caf\u{e9}</a><img src=/i.png><script>again()</script>";
        write_rendered(&path, "https://a.test/app", dom);
        let config = ServeConfig {
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            mode,
            scripts,
            at: Some(moment("2020")),
        };
        let shelf = ArchiveShelf::fixed(Archive::open(&[path]).unwrap());
        let app = App::new(
            Arc::new(JobPlaces::from_paths(&[])),
            Access::new(None, true, false),
            None,
        );
        let server = HttpServer::bind(shelf, config, app).unwrap();
        let server = server.with_guest(guest());
        let address = server.address();
        std::thread::spawn(|| server.run());
        Self {
            address,
            _folder: folder,
        }
    }

    fn send_for_bytes(&self, request: &str) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        answer
    }

    fn send(&self, request: &str) -> String {
        // An old client is answered in its own version.
        String::from_utf8(self.send_for_bytes(request))
            .unwrap()
            .replacen("HTTP/1.0 ", "HTTP/1.1 ", 1)
    }

    fn ask(&self, target: &str, fields: &str) -> String {
        let host = self.address;
        self.send(&format!(
            "GET {target} HTTP/1.0\r\nHost: {host}\r\n{fields}\r\n"
        ))
    }
}

/// Says what it was asked.
fn guest() -> Guest {
    Guest::new("/guest", "Ask <the> guest", |asked| {
        (asked.path == "/guest").then(|| GuestResponse {
            status: 503,
            content_type: "text/plain",
            policy: "default-src 'none'".to_owned(),
            body: asked.query.into(),
        })
    })
}

fn field<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let (head, _) = answer.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// Whatever a script sets, its page's origin is the address, and the guest's is the name.
#[test]
fn where_scripts_run_pages_and_guest_have_different_origins() {
    let served = Served::with(Mode::Pages, Scripts::Allowed);
    let (address, port) = (served.address, served.address.port());
    let named = |target: &str, fields: &str| {
        let host = format!("localhost:{port}");
        served.send(&format!(
            "GET {target} HTTP/1.0\r\nHost: {host}\r\n{fields}\r\n"
        ))
    };
    for fields in ["", "Referer: http://127.0.0.1/guest\r\n"] {
        let answer = served.ask("/guest?q=secret", fields);
        assert!(!answer.contains("\r\n\r\nq=secret"), "{answer}");
        let there = format!("http://localhost:{port}/guest?q=secret");
        assert_eq!(field(&answer, "Location"), Some(there.as_str()));
    }
    assert!(named("/guest?q=secret", "").ends_with("\r\n\r\nq=secret"));
    let foreign = format!("Origin: http://{address}\r\n");
    assert!(named("/guest?q=secret", &foreign).starts_with("HTTP/1.1 403"));
    let page = "/web/20200101000000/https://a.test/";
    let there = format!("http://{address}{page}");
    assert_eq!(field(&named(page, ""), "Location"), Some(there.as_str()));
    assert!(served.ask(page, "").contains("old"));
    // Without scripts everything is in one place.
    let served = Served::new(Mode::Pages);
    assert!(served.ask("/guest?q=x", "").ends_with("\r\n\r\nq=x"));
}

/// Whoever opens connections and says nothing does not keep others out.
#[test]
fn silent_connections_leave_room_for_others() {
    let served = Served::new(Mode::Pages);
    let silent: Vec<_> = (0..300)
        .map(|_| {
            let mut stream = TcpStream::connect(served.address).unwrap();
            stream.write_all(b"GET / HT").unwrap();
            stream
        })
        .collect();
    for _ in 0..20 {
        let answer = served.ask("/web/20200101000000/https://a.test/", "");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    drop(silent);
}

#[test]
fn pages_are_shown_at_their_time() {
    let served = Served::new(Mode::Pages);
    for (target, expected) in [
        (
            "/web/2021/https://a.test/",
            "/web/20200101000000/https://a.test/",
        ),
        (
            "/web/https://a.test/",
            "/web/20240101000000/https://a.test/",
        ),
        (
            "/web/2024id_/http://a.test",
            "/web/20240101000000id_/https://a.test/",
        ),
        (
            "/web/20200101000000/https://a.test/old",
            "/web/20200101000000/https://a.test/new?a=b",
        ),
    ] {
        let answer = served.ask(target, "");
        assert!(answer.starts_with("HTTP/1.1 302 "), "{answer}");
        assert_eq!(field(&answer, "Location"), Some(expected), "{target}");
    }
    let page = served.ask("/web/20200101000000/https://a.test/", "");
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    assert!(page.contains("<a href=\"/web/20200101000000/https://a.test/p\">p</a> old"));
    assert!(
        page.contains("2020-01-01 00:00:00 UTC") && page.contains("later"),
        "{page}"
    );
    assert!(
        !page.contains("Cookie") && !page.contains("Transport"),
        "{page}"
    );
    let policy = field(&page, "Content-Security-Policy").unwrap();
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("script-src"));
    let framed = served.ask(
        "/web/20200101000000/https://a.test/",
        "Sec-Fetch-Dest: iframe\r\n",
    );
    assert!(!framed.contains("clewline-banner"));
    let raw = served.ask("/web/20200101000000id_/https://a.test/", "");
    assert!(raw.ends_with("\r\n\r\n<body><a href=/p>p</a> old"), "{raw}");
    let plain = served.ask("/web/20200101000000/http://a.test/c", "");
    assert!(plain.ends_with("\r\n\r\npage"), "{plain}");
    let style = served.ask("/web/20200101000000/https://a.test/s.css", "");
    assert!(style.ends_with("@import \"/web/20200101000000/https://a.test/d.css\""));
    let gone = served.ask("/web/20200101000000/https://a.test/gone", "");
    assert!(gone.starts_with("HTTP/1.1 404 ") && gone.contains("<p>gone"));
    let missing = served.ask("/web/2020/https://a.test/%3Cb%3E", "");
    assert!(
        missing.starts_with("HTTP/1.1 404 ") && missing.contains("no capture"),
        "{missing}"
    );
    assert!(!missing.contains("<b>"));
}

#[test]
fn what_a_browser_made_is_shown_on_request() {
    for scripts in [Scripts::Blocked, Scripts::Allowed] {
        let served = Served::with(Mode::Pages, scripts);
        let sent = served.ask("/web/20200101000000/https://a.test/app", "");
        let way = "<a href=\"/web/20200101000000dom_/https://a.test/app\">rendered</a>";
        assert!(
            sent.contains("<div id=root>") && sent.contains(way),
            "{sent}"
        );
        let near = served.ask("/web/2021dom_/https://a.test/app", "");
        let path = "/web/20200101000000dom_/https://a.test/app";
        assert_eq!(field(&near, "Location"), Some(path));
        let page = served.ask(path, "");
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        let policy = field(&page, "Content-Security-Policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("script-src"));
        let link = "<a href=\"/web/20200101000000dom_/https://a.test/old\">caf\u{e9}</a>";
        assert!(page.contains(link), "who follows links goes on so: {page}");
        assert!(page.contains("<img src=\"/web/20200101000000/https://a.test/i.png\">"));
        let back = "<a href=\"/web/20200101000000/https://a.test/app\">as sent</a>";
        assert!(page.contains(back), "{page}");
        let framed = served.ask(path, "Sec-Fetch-Dest: iframe\r\n");
        assert!(framed.contains("caf\u{e9}") && !framed.contains("clewline-banner"));
        // Others are shown as they were sent, and lead nowhere else.
        let plain = served.ask("/web/20200101000000dom_/https://a.test/", "");
        let there = "/web/20200101000000/https://a.test/";
        assert_eq!(field(&plain, "Location"), Some(there));
        assert!(!served.ask(there, "").contains("dom_"));
    }
}

#[test]
fn the_small_picture_of_a_page_is_shown() {
    let served = Served::new(Mode::Pages);
    let host = served.address;
    let target = "/web/20200101000000thumb_/https://a.test/app";
    let shown = served.send_for_bytes(&format!("GET {target} HTTP/1.0\r\nHost: {host}\r\n\r\n"));
    let head = shown.strip_suffix(SMALL).expect("the picture is the body");
    let head = std::str::from_utf8(head).unwrap();
    assert!(head.starts_with("HTTP/1.0 200 OK\r\n"), "{head}");
    assert_eq!(field(head, "Content-Type"), Some("image/jpeg"));
    let none = served.ask("/web/20200101000000thumb_/https://a.test/", "");
    assert!(none.starts_with("HTTP/1.1 404 "), "{none}");
}

#[test]
fn parts_of_media_are_served() {
    let served = Served::new(Mode::Pages);
    for name in ["m", "n"] {
        let path = format!("/web/20200101000000/https://a.test/{name}");
        for (fields, status, range, body) in [
            ("", 200, None, "0123456789"),
            (
                "Range: bytes=0-\r\n",
                206,
                Some("bytes 0-9/10"),
                "0123456789",
            ),
            ("Range: bytes=3-5\r\n", 206, Some("bytes 3-5/10"), "345"),
            ("Range: bytes=-2\r\n", 206, Some("bytes 8-9/10"), "89"),
            ("Range: bytes=10-\r\n", 416, Some("bytes */10"), ""),
            ("Range: bytes=1-2,4-5\r\n", 200, None, "0123456789"),
            (
                "Range: bytes=3-5\r\nIf-Range: \"x\"\r\n",
                200,
                None,
                "0123456789",
            ),
        ] {
            let answer = served.ask(&path, fields);
            let line = format!("HTTP/1.1 {status} ");
            assert!(answer.starts_with(&line), "{name} {fields}: {answer}");
            assert_eq!(field(&answer, "Content-Range"), range, "{name} {fields}");
            assert_eq!(answer.split_once("\r\n\r\n").unwrap().1, body, "{fields}");
        }
    }
    // A page is another one each time it is rewritten, and comes whole.
    let page = "/web/20200101000000/https://a.test/";
    let answer = served.ask(page, "Range: bytes=0-1\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let refreshed = served.ask("/web/20200101000000/https://a.test/r", "");
    let expected = Some("0; url=/web/20200101000000/https://a.test/new");
    assert_eq!(field(&refreshed, "Refresh"), expected);
}

#[test]
fn captures_are_listed() {
    let served = Served::new(Mode::Pages);
    let list = served.ask("/", "");
    // The DOM of a page is no capture of its own.
    assert_eq!(list.matches("<tr><td").count(), 11, "{list}");
    let some = served.ask("/?url=https%3A%2F%2Fa.test%2Fold", "");
    assert_eq!(some.matches("<tr><td").count(), 1, "{some}");
    let none = served.ask("/?url=%22%3Cscript%3E", "");
    assert!(
        none.contains("No capture begins so") && !none.contains("<script>"),
        "{none}"
    );
    let all = served.ask("/web/*/https://a.test/", "");
    assert_eq!(all.matches("<tr><td").count(), 2, "{all}");
    assert!(all.contains("<h2>2020-01</h2>"), "{all}");
    for path in [page::STYLE_PATH, page::PAGE_STYLE_PATH] {
        let style = served.ask(path, "");
        assert_eq!(
            field(&style, "Content-Type"),
            Some("text/css; charset=utf-8")
        );
    }
    assert!(
        !page::style().contains(":root"),
        "the bar leaves the page alone"
    );
    let from = format!(
        "Referer: http://{}/web/2020/https://a.test/d/\r\n",
        served.address
    );
    let astray = served.ask("/img/x.png", &from);
    assert_eq!(
        field(&astray, "Location"),
        Some("/web/2020/https://a.test/img/x.png")
    );
}

#[test]
fn foreign_names_and_pages_are_refused() {
    let served = Served::new(Mode::Pages);
    let address = served.address;
    let port = address.port();
    for (request, status) in [
        (format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n"), 200),
        (
            format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"),
            200,
        ),
        (
            format!("HEAD / HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\n\r\n"),
            200,
        ),
        (
            format!("GET / HTTP/1.1\r\nHost: evil.test:{port}\r\n\r\n"),
            403,
        ),
        ("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".to_owned(), 403),
        (
            format!("GET / HTTP/1.1\r\nHost: {address}\r\nHost: {address}\r\n\r\n"),
            400,
        ),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), 403),
        (
            format!("GET / HTTP/1.1\r\nHost: {address}\r\nOrigin: http://evil.test\r\n\r\n"),
            403,
        ),
        (
            format!("GET / HTTP/1.1\r\nHost: {address}\r\nOrigin: null\r\n\r\n"),
            403,
        ),
        (format!("POST / HTTP/1.1\r\nHost: {address}\r\n\r\n"), 405),
        ("nonsense\r\n\r\n".to_owned(), 400),
    ] {
        let answer = served.send(&request);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request}: {answer}"
        );
    }
    let short = served.send(&format!("HEAD / HTTP/1.1\r\nHost: {address}\r\n\r\n"));
    assert!(short.ends_with("\r\n\r\n"), "{short}");
}

#[test]
fn a_guest_answers_beside_the_archive() {
    let served = Served::new(Mode::Pages);
    let list = served.ask("/", "");
    let link = "<a href=\"/guest\">Ask &lt;the&gt; guest</a>";
    assert!(list.contains(link), "{list}");
    let answer = served.ask("/guest?a=b", "Referer: http://x/guest\r\n");
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.ends_with("\r\n\r\na=b"), "{answer}");
    assert_eq!(field(&answer, "Content-Type"), Some("text/plain"));
    assert_eq!(field(&answer, "X-Content-Type-Options"), Some("nosniff"));
    let policy = field(&answer, "Content-Security-Policy");
    assert_eq!(policy, Some("default-src 'none'"));
    let astray = served.ask("/guest", "Referer: http://x/web/2020/https://a.test/d/\r\n");
    assert_eq!(
        field(&astray, "Location"),
        Some("/web/2020/https://a.test/guest")
    );
    let port = served.address.port();
    let foreign = format!("GET /guest HTTP/1.1\r\nHost: evil.test:{port}\r\n\r\n");
    assert!(served.send(&foreign).starts_with("HTTP/1.1 403 "));
}

#[test]
fn a_proxy_answers_with_the_recorded_bytes() {
    let served = Served::new(Mode::Proxy);
    let exact = served.send("GET http://a.test/c HTTP/1.1\r\nHost: a.test\r\n\r\n");
    let recorded = [CHUNKED, b"4;x=y\r\npage\r\n0\r\n\r\n"].concat();
    assert_eq!(exact.as_bytes(), recorded);
    let secure = served.send("GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n");
    assert!(secure.ends_with("old"), "{secure}");
    for (request, status) in [
        ("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n", 501),
        ("GET http://b.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n", 404),
        ("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", 400),
        ("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", 405),
    ] {
        let answer = served.send(request);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{request}: {answer}"
        );
    }
}
