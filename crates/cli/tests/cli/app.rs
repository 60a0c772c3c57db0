//! The app of the command: crawls that outlive their server, the dashboard, and who is refused.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::place::{HOST, Place, web_of};
use crate::signals::{Running, endless, wait_for_requests};

/// A server of a folder of crawls, that is killed with the test.
struct AppServer {
    child: Child,
    address: String,
    token: String,
}

impl AppServer {
    fn start(place: &Place, more: &[&str]) -> Self {
        let line = [&["serve", ".", "--port", "0", "--control"], more].concat();
        let mut child = place.command(&line).stdout(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        let out = child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut first).unwrap();
        let (address, rest) = first
            .strip_prefix("open http://")
            .unwrap()
            .split_once('/')
            .unwrap();
        let token = rest
            .strip_prefix("session?token=")
            .unwrap()
            .split(' ')
            .next()
            .unwrap();
        Self {
            child,
            address: address.to_owned(),
            token: token.to_owned(),
        }
    }

    fn ask(&self, request: &str, body: &Value) -> (u16, Value) {
        let (host, token, body) = (&self.address, &self.token, body.to_string());
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "{request} HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        (status, serde_json::from_str(body).unwrap())
    }

    fn read(&self, path: &str) -> Value {
        self.ask(&format!("GET {path}"), &Value::Null).1
    }
}

impl Drop for AppServer {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// How often the server is killed: a few times, or as often as this variable says.
fn kills() -> usize {
    let asked = std::env::var("CLEWLINE_SERVER_KILLS").ok();
    asked.map_or(10, |number| number.parse().unwrap())
}

/// The server is killed without a word, again and again, and the crawl goes on.
#[test]
fn a_crawl_outlives_the_server_that_started_it() {
    let (web, place) = (web_of(endless()), Place::new());
    let server = AppServer::start(&place, &["--allow-private"]);
    let order = json!({
        "url": web.url(HOST, "/"),
        "name": "mine",
        "settings": {"rate": "20/s", "max-time": "30m", "no-sitemaps": true},
    });
    let (status, started) = server.ask("POST /api/v1/jobs", &order);
    assert_eq!((status, &started["id"]), (201, &json!("mine")), "{started}");
    wait_for_requests(&web, 3);
    drop(server);
    for _ in 0..kills() {
        let before = web.log().len();
        let server = AppServer::start(&place, &[]);
        let found = server.read("/api/v1/jobs");
        assert_eq!(found["jobs"][0]["running"], true, "{found}");
        wait_for_requests(&web, before + 1);
    }
    let server = AppServer::start(&place, &[]);
    let (status, stopped) =
        server.ask("POST /api/v1/jobs/mine/actions", &json!({"action": "stop"}));
    assert_eq!((status, &stopped["state"]), (202, &json!("stopping")));
    while server.read("/api/v1/jobs/mine/status")["state"] != "unfinished" {}
    // It goes on where it was.
    let (status, again) = server.ask(
        "POST /api/v1/jobs/mine/actions",
        &json!({"action": "start"}),
    );
    assert_eq!(
        (status, &again["state"]),
        (202, &json!("running")),
        "{again}"
    );
    let before = web.log().len();
    wait_for_requests(&web, before + 2);
    server.ask("POST /api/v1/jobs/mine/actions", &json!({"action": "stop"}));
    while server.read("/api/v1/jobs/mine/status")["state"] != "unfinished" {}
    let records = place.records("mine");
    let mut urls: Vec<&str> = records.iter().map(|record| record.url.as_str()).collect();
    let count = urls.len();
    urls.sort_unstable();
    urls.dedup();
    assert_eq!(urls.len(), count, "a URL has two records");
}

/// A request leads no crawl to this machine or its network.
#[test]
fn a_crawl_that_a_request_starts_asks_nothing_private() {
    let (web, place) = (web_of(endless()), Place::new());
    let server = AppServer::start(&place, &[]);
    let order = json!({"url": web.url(HOST, "/"), "settings": {"max-pages": 3}});
    let (status, problem) = server.ask("POST /api/v1/jobs", &order);
    assert!(matches!(status, 201 | 422), "{problem}");
    while server.read("/api/v1/jobs")["jobs"][0]["running"] == true {}
    assert_eq!(web.log().len(), 0, "{problem}");
    let wrong = json!({"url": web.url(HOST, "/"), "settings": {"max-pages": "many"}});
    let (status, problem) = server.ask("POST /api/v1/jobs", &wrong);
    assert_eq!(status, 422);
    assert!(
        problem["detail"].as_str().unwrap().contains("max-pages"),
        "{problem}"
    );
}

#[test]
fn a_dashboard_is_shown_by_the_crawl_itself() {
    let (web, place) = (web_of(endless()), Place::new().with_browser());
    let root = web.url(HOST, "/");
    let line = [
        "--dashboard",
        "--bind",
        "127.0.0.1:0",
        "--open",
        "--no-sitemaps",
        "-o",
        "a.crawl",
        &root,
    ];
    let running = Running::from_command(place.command_with_browser(&line));
    let page = place.opened();
    let address = page.strip_prefix("http://").unwrap().trim_end_matches('/');
    wait_for_requests(&web, 2);
    let mut stream = TcpStream::connect(address).unwrap();
    let target = "/api/v1/jobs/a.crawl/status";
    write!(stream, "GET {target} HTTP/1.0\r\nHost: {address}\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("\"state\":\"running\""), "{answer}");
    running.signal(Signal::INT);
    assert_eq!(running.end().0, Some(130));
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn what_others_reach_needs_a_token() {
    let place = Place::new().with_file("short", "secret\n");
    for (line, hint) in [
        (
            &["serve", ".", "--bind", "0.0.0.0:0"][..],
            "others can reach",
        ),
        (&["serve", ".", "--token-file", "short"], "22 to 1024"),
        (&["serve", ".", "--token-file", "none"], "cannot be read"),
        (
            &["serve", ".", "--control", "--origin", "crawl.example.com"],
            "is no origin",
        ),
        (
            &["a.test", "--dashboard", "--bind", "0.0.0.0:0"],
            "others can reach",
        ),
    ] {
        let ran = place.run(line);
        assert_eq!(ran.code, 2, "{line:?}: {}", ran.talk);
        assert!(ran.talk.contains(hint), "{line:?}: {}", ran.talk);
    }
}
