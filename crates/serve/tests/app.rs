//! Jobs on loopback, looked at and steered as a browser, a program and a stranger do.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are tests, but clippy knows only functions"
)]

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use clewline::{Change, Crawl, Running, StoredJob};
use clewline_job::status::State;
use clewline_serve::pages::FleetWorker;
use clewline_serve::{
    AccessToken, AppConfig, Dashboard, FleetCounts, FleetStanding, FleetSteer, JobCommands, Mode,
    NewJob, ReadAccess, Scripts, ServeConfig, ServeError, ServeNotice, ServedFleet, serve,
    serve_fleet,
};
use fieldwork::{HOST, config, crawl};
use serde_json::{Value, json};
use tempfile::TempDir;
use terrarium::{LiveWeb, Page, Site, Web, links};

const TOKEN: &str = "a-token-of-enough-characters";
/// Markup where titles are.
const EVIL: &str = "<title>&lt;script&gt;alert(1)&lt;/script&gt;\u{202e}\u{1b}[2J</title><p>evil";

fn web() -> LiveWeb {
    let pages: Vec<String> = (0..30).map(|number| format!("/page{number}")).collect();
    let others = ["/evil", "/gone", "/\"><script>alert(2)</script>"].map(str::to_owned);
    let all = pages.iter().cloned().chain(others);
    let mut site = Site::new()
        .page("/", Page::html(links(all)))
        .page("/evil", Page::html(EVIL));
    for page in &pages {
        site = site.page(page, Page::html("<title>Page</title><p>words"));
    }
    Web::new().site(HOST, site).start()
}

struct Served {
    address: SocketAddr,
}

fn served(paths: &[PathBuf], app: AppConfig) -> Result<Served, ServeError> {
    let config = ServeConfig {
        address: "127.0.0.1:0".parse().unwrap(),
        mode: Mode::Pages,
        scripts: Scripts::Blocked,
        at: None,
    };
    let paths = paths.to_vec();
    let (told, listening) = mpsc::channel();
    let failed = told.clone();
    thread::spawn(move || {
        let Err(error) = serve(&paths, config, app, &mut |notice| {
            if let ServeNotice::Listening { address, .. } = notice {
                told.send(Ok(address)).unwrap();
            }
            Ok(())
        });
        failed.send(Err(error)).ok();
    });
    let address = listening.recv().unwrap()?;
    Ok(Served { address })
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    fn field(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

impl Served {
    fn connect(&self, request: &str, fields: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let host = self.address;
        let length = body.len();
        let head = format!(
            "{request} HTTP/1.0\r\nHost: {host}\r\nContent-Length: {length}\r\n{fields}\r\n{body}"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    fn send(&self, request: &str, fields: &str, body: &str) -> Answer {
        let mut answer = String::new();
        let mut stream = self.connect(request, fields, body);
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        Answer {
            status: head.split(' ').nth(1).unwrap().parse().unwrap(),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    fn ask(&self, target: &str) -> Answer {
        self.send(&format!("GET {target}"), "", "")
    }

    /// A change as a program with the token asks for it.
    fn order(&self, request: &str, body: &Value) -> Answer {
        let fields = format!("Authorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n");
        self.send(request, &fields, &body.to_string())
    }
}

/// Commands that crawl within this process.
fn commands(web: &LiveWeb) -> JobCommands {
    let (root, resolve) = (web.url(HOST, "/"), web.resolve_args());
    let start = move |new: &NewJob| {
        let mut config = clewline_job::config::Config {
            roots: vec![clewline_job::config::Root::parse(&root).unwrap()],
            ..Default::default()
        };
        config.fetch.resolve.clone_from(&resolve);
        config.politeness.rate = Some(2.0);
        config.output.folder = Some(new.folder.clone());
        let running = Crawl::from_config(config)
            .run()
            .map_err(|error| error.to_string())?;
        thread::spawn(move || running.wait());
        Ok(())
    };
    JobCommands {
        start: Box::new(start),
        resume: Box::new(|_| Err("not here".to_owned())),
        figure: Box::new(|name, value| match (name, value.parse()) {
            ("max-pages", Ok(pages)) => Ok(Change::MaxPages(Some(pages))),
            _ => Err(format!("{name} is none")),
        }),
    }
}

fn operated(web: &LiveWeb) -> AppConfig {
    AppConfig {
        token: Some(AccessToken::new(TOKEN).unwrap()),
        commands: Some(commands(web)),
        ..AppConfig::default()
    }
}

/// A finished crawl in a folder of crawls.
fn place(web: &LiveWeb) -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("jobs");
    fs::create_dir(&folder).unwrap();
    crawl(config(web, &folder.join("a.test.crawl")));
    (place, folder)
}

/// A crawl that goes on for a while.
fn slow(web: &LiveWeb, folder: &Path) -> Running {
    let mut config = config(web, folder);
    config.politeness.speed = None;
    config.politeness.rate = Some(1.0);
    config.limits.time = None;
    Crawl::from_config(config).run().unwrap()
}

const JOB: &str = "/api/v1/jobs/a.test.crawl";

#[test]
fn programs_read_jobs() {
    let web = web();
    let (_place, folder) = place(&web);
    let stored = StoredJob::read(&folder.join("a.test.crawl")).unwrap();
    let pages = stored.status().unwrap().pages;
    assert!(pages > 30);
    let served = served(&[folder], AppConfig::default()).unwrap();
    let jobs = served.ask("/api/v1/jobs").json();
    assert_eq!(
        (&jobs["total"], &jobs["jobs"][0]["id"]),
        (&json!(1), &json!("a.test.crawl"))
    );
    assert_eq!(jobs["jobs"][0]["running"], false);
    let status = served.ask(&format!("{JOB}/status")).json();
    assert_eq!(
        (&status["state"], &status["pages"]),
        (&json!("finished"), &json!(pages))
    );
    assert!(status.get("folder").is_none(), "{status}");
    let hosts = served.ask(&format!("{JOB}/hosts?sort=done")).json();
    let done = status["done"].as_u64();
    assert_eq!(hosts["matching"], 1);
    assert_eq!(hosts["rows"][0]["done"].as_u64(), done);
    let none = served.ask(&format!("{JOB}/hosts?q=other")).json();
    assert_eq!(none["matching"], 0);
    let why = web.url(HOST, "/gone");
    let why = served.ask(&format!("{JOB}/why?url={why}")).json();
    assert_eq!(
        (&why["fate"], &why["record"]["status"]),
        (&json!("recorded"), &json!(404))
    );
    assert_eq!(why["referrer_count"], 1);
    let gone = served.ask(&format!("{JOB}/urls?status=404")).json();
    assert!(!gone["rows"].as_array().unwrap().is_empty());
    for row in gone["rows"].as_array().unwrap() {
        assert_eq!(row["status"], 404);
    }
    let described = served.ask("/api/v1/openapi.json").json();
    assert_eq!(described["openapi"], "3.1.0");
    for (target, status) in [
        ("/api/v1", 404),
        ("/api/v1/nothing", 404),
        ("/api/v1/jobs/other", 404),
        ("/api/v1/jobs/..", 404),
        ("/api/v1/jobs/%2e%2e", 404),
        (&format!("{JOB}/hosts?sort=size"), 400),
        (&format!("{JOB}/hosts?limit=0"), 400),
        (&format!("{JOB}/hosts?cursor=x"), 404),
        (&format!("{JOB}/urls?cursor=7"), 404),
        (&format!("{JOB}/urls?sort=depth&cursor=0-7x"), 404),
        (&format!("{JOB}/urls?sort=size"), 400),
        (&format!("{JOB}/why"), 400),
        (&format!("{JOB}/why?url=%07"), 422),
        (&format!("{JOB}/urls?broken=null"), 400),
        (&format!("{JOB}/urls?status=099"), 400),
    ] {
        let answer = served.ask(target);
        assert_eq!(answer.status, status, "{target}");
        let kind = answer.field("Content-Type");
        assert_eq!(kind, Some("application/problem+json"), "{target}");
        assert_eq!(answer.json()["status"], status);
    }
}

/// Cursors lead through all URLs, each once, in both directions.
#[test]
fn cursors_lead_through_all_urls() {
    let web = web();
    let (_place, folder) = place(&web);
    let served = served(&[folder], AppConfig::default()).unwrap();
    let walk = |sort: &str| {
        let mut urls: Vec<String> = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = served
                .ask(&format!("{JOB}/urls?limit=7&sort={sort}{cursor}"))
                .json();
            let rows = page["rows"].as_array().unwrap();
            urls.extend(
                rows.iter()
                    .map(|row| row["url"].as_str().unwrap().to_owned()),
            );
            match page["cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return urls,
            }
        }
    };
    let oldest = walk("oldest");
    let mut newest = walk("newest");
    newest.reverse();
    assert!(oldest.len() > 30);
    assert_eq!(oldest, newest);
}

/// In every order each URL comes once, and the order is that of the column.
#[test]
fn urls_are_sorted_on_the_server() {
    let web = web();
    let (_place, folder) = place(&web);
    let served = served(&[folder], AppConfig::default()).unwrap();
    let all = served.ask(&format!("{JOB}/urls?limit=1000")).json();
    let all = all["rows"].as_array().unwrap().len();
    for (sort, place) in [
        ("url", "/url"),
        ("depth", "/depth"),
        ("bytes", "/body_bytes"),
        ("millis", "/timings/first_byte"),
    ] {
        for order in ["up", "down"] {
            let target = format!("{JOB}/urls?limit=7&sort={sort}&order={order}");
            let mut rows = rows(&served, &target);
            assert_eq!(rows.len(), all, "{target}");
            if order == "down" {
                rows.reverse();
            }
            let number = |row: &Value| row.pointer(place).and_then(Value::as_f64).unwrap_or(0.0);
            let text = |row: &Value| {
                row.pointer(place)
                    .and_then(Value::as_str)
                    .map(str::to_owned)
            };
            for pair in rows.windows(2) {
                let [one, other] = [&pair[0], &pair[1]];
                assert!(number(one) <= number(other), "{target}: {one} {other}");
                assert!(text(one) <= text(other), "{target}: {one} {other}");
            }
        }
    }
    let broken = rows(&served, &format!("{JOB}/urls?broken=true&sort=url"));
    assert!(!broken.is_empty() && broken.len() < all);
    let page = served.ask("/jobs/a.test.crawl/pages?sort=bytes&order=down&q=page");
    assert!(page.body.contains("aria-sort=descending"), "{}", page.body);
}

#[test]
fn an_answer_that_is_known_is_not_sent_again() {
    let web = web();
    let (_place, folder) = place(&web);
    let served = served(&[folder], AppConfig::default()).unwrap();
    let target = format!("GET {JOB}/status");
    let first = served.send(&target, "", "");
    let tag = first.field("Etag").unwrap().to_owned();
    let again = served.send(&target, &format!("If-None-Match: \"x\", {tag}\r\n"), "");
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    let other = served.send(&target, "If-None-Match: \"x\"\r\n", "");
    assert_eq!(other.status, 200);
}

/// Every page is there, and nothing of a site is code in it.
#[test]
fn people_see_pages_and_no_page_is_code() {
    let web = web();
    let (_place, folder) = place(&web);
    let several = served(std::slice::from_ref(&folder), AppConfig::default()).unwrap();
    let alone = served(&[folder.join("a.test.crawl")], AppConfig::default()).unwrap();
    let gone = web.url(HOST, "/gone");
    for (served, base) in [(&several, "/jobs/a.test.crawl"), (&alone, "")] {
        for page in [
            "/",
            "/hosts",
            "/pages",
            "/issues",
            "/changes",
            "/captures",
            "/search",
            "/pages?is=broken",
            "/pages?q=%22%3E%3Cscript%3E",
            "/hosts?q=%3Cscript%3E&sort=host&order=up",
            &format!("/why?url={gone}"),
            &format!("/captures/of?url={gone}"),
        ] {
            let answer = served.ask(&format!("{base}{page}"));
            let is_making = page == "/search" && answer.status == 503;
            assert!(
                answer.status == 200 || is_making,
                "{base}{page}: {}",
                answer.body
            );
            let policy = answer.field("Content-Security-Policy").unwrap();
            assert!(policy.starts_with("default-src 'none'"), "{policy}");
            assert!(!policy.contains("unsafe"), "{policy}");
            assert!(!answer.body.contains("<script>alert"), "{page}");
            assert!(!answer.body.contains('\u{1b}'), "{page}");
            assert!(!answer.body.contains("method=post"), "{page}");
        }
    }
    let home = several.ask("/");
    assert!(
        home.body.contains("href=\"/jobs/a.test.crawl/\""),
        "{}",
        home.body
    );
    for file in ["/-/app.css", "/-/app.js"] {
        assert_eq!(alone.ask(file).status, 200, "{file}");
    }
    assert_eq!(alone.ask("/start").status, 403);
}

#[test]
fn strangers_change_nothing() {
    let web = web();
    let (_place, folder) = place(&web);
    let readable = served(std::slice::from_ref(&folder), AppConfig::default()).unwrap();
    let body = r#"{"action":"pause"}"#;
    let json = "Content-Type: application/json\r\n";
    let target = format!("POST {JOB}/actions");
    assert_eq!(readable.send(&target, json, body).status, 403);
    let served = served(std::slice::from_ref(&folder), operated(&web)).unwrap();
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    let own = format!("Origin: http://{}\r\n", served.address);
    let check = |request: &str, fields: &[&str], status: u16| {
        let answer = served.send(request, &fields.concat(), body);
        assert_eq!(
            answer.status, status,
            "{request} {fields:?}: {}",
            answer.body
        );
    };
    check(&target, &[json], 401);
    check(
        &target,
        &[json, &bearer, "Origin: http://evil.test\r\n"],
        403,
    );
    check(
        &target,
        &[json, &bearer, "Sec-Fetch-Site: cross-site\r\n"],
        403,
    );
    check(
        &target,
        &[json, &bearer, "Sec-Fetch-Site: same-site\r\n"],
        403,
    );
    check(&target, &[&bearer], 415);
    check(&target, &[&bearer, "Content-Type: text/plain\r\n"], 415);
    check(&target, &[json, &bearer, &bearer], 400);
    check(&format!("PUT {JOB}/actions"), &[json, &bearer], 405);
    check("POST /api/v1/version", &[json, &bearer], 405);
    // A form without the signs of an own page is none.
    check("POST /jobs/a.test.crawl/actions", &[&bearer], 403);
    check("POST /jobs/a.test.crawl/actions", &[&own], 401);
    // Nothing runs, so the word reaches nobody.
    check(&target, &[json, &bearer, &own], 409);
    let deep = "[".repeat(100_000);
    let answer = served.send(&target, &format!("{json}{bearer}"), &deep);
    assert_eq!(answer.status, 400);
    let large = format!("{{\"action\":\"{}\"}}", "x".repeat(1024 * 1024));
    let answer = served.send(&target, &format!("{json}{bearer}"), &large);
    assert_eq!(answer.status, 413);
    let settings = json!({"url": "http://a.test/", "settings": {"output": "/tmp/x"}});
    assert_eq!(served.order("POST /api/v1/jobs", &settings).status, 422);
    let named = json!({"url": "http://a.test/", "name": "../x"});
    assert_eq!(served.order("POST /api/v1/jobs", &named).status, 422);
    assert_eq!(
        fs::read_dir(&folder).unwrap().count(),
        2,
        "the job and audit.log"
    );
}

#[test]
fn addresses_that_others_reach_need_a_token() {
    let place = tempfile::tempdir().unwrap();
    let address = "0.0.0.0:0".parse().unwrap();
    let refused = Dashboard::start(place.path(), address, AppConfig::default());
    assert!(matches!(refused, Err(ServeError::OpenToAll(_))));
    let app = AppConfig {
        token: Some(AccessToken::new(TOKEN).unwrap()),
        reading: ReadAccess::ByToken,
        ..AppConfig::default()
    };
    let served = served(&[place.path().to_owned()], app).unwrap();
    for target in ["/", "/api/v1/jobs", "/metrics", "/web/2020/http://a.test/"] {
        assert_eq!(served.ask(target).status, 401, "{target}");
    }
    assert_eq!(served.ask("/healthz").status, 200);
    // A browser gets a cookie for the token, and is in.
    let session = served.ask(&format!("/session?token={TOKEN}"));
    assert_eq!(session.status, 200);
    let cookie = session.field("Set-Cookie").unwrap();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    let cookie = cookie.split(';').next().unwrap();
    let answer = served.send("GET /api/v1/jobs", &format!("Cookie: {cookie}\r\n"), "");
    assert_eq!(answer.status, 200);
    for _ in 0..10 {
        let wrong = served.send("GET /", "Authorization: Bearer wrong\r\n", "");
        assert_eq!(wrong.status, 401);
    }
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    assert_eq!(served.send("GET /", &bearer, "").status, 429);
}

/// Start, watch, pause, go on, change, add, stop, delete: all by requests.
#[test]
fn a_crawl_is_started_steered_and_deleted() {
    let web = web();
    let (_place, folder) = place(&web);
    let served = served(std::slice::from_ref(&folder), operated(&web)).unwrap();
    let order = json!({"url": web.url(HOST, "/"), "settings": {"max-pages": 20}});
    let fields = format!(
        "Authorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\nIdempotency-Key: k1\r\n"
    );
    let started = served.send("POST /api/v1/jobs", &fields, &order.to_string());
    assert_eq!(started.status, 201, "{}", started.body);
    let id = started.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(id, "a.test-2.crawl");
    assert_eq!(
        started.field("Location"),
        Some(&*format!("/api/v1/jobs/{id}"))
    );
    let again = served.send("POST /api/v1/jobs", &fields, &order.to_string());
    assert_eq!((again.status, &again.json()["id"]), (200, &json!(id)));
    let job = format!("/api/v1/jobs/{id}");
    let state = || served.ask(&format!("{job}/status")).json()["state"].clone();
    let act = |word: &str| served.order(&format!("POST {job}/actions"), &json!({"action": word}));
    // A crawl that is paused before its first page has nothing queued.
    until(|| served.ask(&format!("{job}/status")).json()["queued"].as_u64() >= Some(20));
    for word in ["pause", "pause"] {
        let answer = act(word);
        assert_eq!(
            (answer.status, &answer.json()["state"]),
            (202, &json!("paused"))
        );
    }
    until(|| state() == "paused");
    let hosts = served.ask(&format!("{job}/hosts")).json();
    assert!(
        hosts["rows"][0]["active"]["queued"].as_u64().is_some(),
        "{hosts}"
    );
    let changed = served.order(&format!("PATCH {job}/settings"), &json!({"max-pages": 25}));
    assert_eq!(changed.status, 200, "{}", changed.body);
    assert_eq!(changed.json()["settings"]["max_pages"], 25);
    let wrong = served.order(&format!("PATCH {job}/settings"), &json!({"proxy": "x"}));
    assert_eq!(wrong.status, 422);
    // What the first page brought is looked at when it is durable.
    let preview = || served.ask(&format!("{job}/exclude?pattern=/page1")).json();
    until(|| preview()["takes"].as_u64() >= Some(5));
    let preview = preview();
    assert!(
        preview["samples"][0].as_str().unwrap().contains("/page1"),
        "{preview}"
    );
    assert_eq!(served.ask(&format!("{job}/exclude?pattern=(")).status, 422);
    let excluded = json!({"exclude+": "/page1"});
    let changed = served.order(&format!("PATCH {job}/settings"), &excluded);
    assert_eq!(changed.json()["changed"][0], "exclude /page1");
    assert_eq!(act("continue").json()["state"], "running");
    // What was queued is left out, too.
    until(|| {
        let skipped = served
            .ask(&format!("{job}/urls?outcome=skipped&q=/page1"))
            .json();
        skipped["rows"][0]["reason"] == "excluded"
    });
    let metrics = served.ask("/metrics").body;
    assert!(metrics.contains(&format!(
        "clewline_job_state{{job=\"{id}\",state=\"running\"}} 1"
    )));
    let early = served.order(&format!("DELETE {job}?confirm={id}"), &json!({}));
    assert_eq!(early.status, 409);
    // A form of an own page stops it.
    let page = format!(
        "Authorization: Bearer {TOKEN}\r\nSec-Fetch-Site: same-origin\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n"
    );
    let stopped = served.send(&format!("POST /jobs/{id}/actions"), &page, "action=stop");
    assert_eq!(stopped.field("Location"), Some(&*format!("/jobs/{id}/")));
    until(|| matches!(state().as_str(), Some("unfinished" | "finished")));
    let unsure = served.order(&format!("DELETE {job}?confirm=other"), &json!({}));
    assert_eq!(unsure.status, 422);
    let deleted = served.order(&format!("DELETE {job}?confirm={id}"), &json!({}));
    assert_eq!(deleted.status, 200, "{}", deleted.body);
    assert!(!folder.join(&id).exists());
    audit_names(&folder, &id);
}

/// The log tells of every change of a job, the first to the last.
fn audit_names(folder: &Path, id: &str) {
    let audit = fs::read_to_string(folder.join("audit.log")).unwrap();
    for (action, at) in [("start", 0), ("pause", 1)] {
        let line: Value = serde_json::from_str(audit.lines().nth(at).unwrap()).unwrap();
        assert_eq!(line["action"], action, "{audit}");
        assert_eq!(line["job"], json!(id));
    }
    assert!(audit.lines().last().unwrap().contains("\"delete\""));
}

/// Waits for something that happens soon.
fn until(mut happened: impl FnMut() -> bool) {
    while !happened() {
        thread::yield_now();
    }
}

/// The next event of a kind: its data.
fn event(lines: &mut impl Iterator<Item = String>, kind: &str) -> (String, Value) {
    let named = format!("event: {kind}");
    lines.find(|line| *line == named).unwrap();
    let mut id = String::new();
    loop {
        let line = lines.next().unwrap();
        if let Some(text) = line.strip_prefix("id: ") {
            text.clone_into(&mut id);
        }
        if let Some(data) = line.strip_prefix("data: ") {
            return (id, serde_json::from_str(data).unwrap());
        }
    }
}

fn events(served: &Served, job: &str, fields: &str) -> impl Iterator<Item = String> + use<> {
    let stream = served.connect(&format!("GET /api/v1/jobs/{job}/events"), fields, "");
    BufReader::new(stream).lines().map_while(Result::ok)
}

/// The dashboard of a crawl tells what happens, and goes away with it.
#[test]
fn a_crawl_is_watched_in_its_own_process() {
    let web = web();
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a.crawl");
    let address = "127.0.0.1:0".parse().unwrap();
    let dashboard = Dashboard::start(&folder, address, AppConfig::default()).unwrap();
    let served = Served {
        address: dashboard.address(),
    };
    let running = slow(&web, &folder);
    until(|| StoredJob::read(&folder).is_ok_and(|job| job.status().is_ok()));
    let mut heard = events(&served, "a.crawl", "");
    let (_, first) = event(&mut heard, "status");
    assert_eq!(first["state"], "running");
    assert!(first["figures"].is_object(), "the first one is whole");
    let (_, url) = event(&mut heard, "url");
    assert!(url["url"].as_str().unwrap().contains(HOST));
    running.control().pause();
    let (id, state) = event(&mut heard, "state");
    assert_eq!(state["state"], "paused");
    // Whoever comes back hears what was said meanwhile, and nothing twice.
    let mut back = events(&served, "a.crawl", &format!("Last-Event-ID: {id}\r\n"));
    let (_, status) = event(&mut back, "status");
    assert!(status.get("figures").is_none(), "{status}");
    assert!(served.ask("/").body.contains("paused"));
    running.control().stop(Duration::ZERO);
    running.wait().unwrap();
    drop(dashboard);
    assert!(TcpStream::connect(served.address).is_err());
}

/// A port that is taken means the next one.
#[test]
fn a_taken_port_means_the_next_one() {
    let place = tempfile::tempdir().unwrap();
    let first = Dashboard::start(
        place.path(),
        "127.0.0.1:0".parse().unwrap(),
        AppConfig::default(),
    );
    let first = first.unwrap();
    let second = Dashboard::start(place.path(), first.address(), AppConfig::default()).unwrap();
    assert!(second.address().port() > first.address().port());
}

/// Readers that take nothing cost the others nothing, and end with their connections.
#[test]
fn slow_readers_hold_nobody_up() {
    let web = web();
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a.crawl");
    let running = slow(&web, &folder);
    until(|| StoredJob::read(&folder).is_ok_and(|job| job.status().is_ok()));
    let served = served(std::slice::from_ref(&folder), AppConfig::default()).unwrap();
    let slow: Vec<TcpStream> = (0..200)
        .map(|_| served.connect("GET /api/v1/jobs/a.crawl/events", "", ""))
        .collect();
    for _ in 0..20 {
        assert_eq!(served.ask("/api/v1/jobs/a.crawl/status").status, 200);
    }
    drop(slow);
    let mut heard = events(&served, "a.crawl", "");
    assert_eq!(event(&mut heard, "status").1["state"], "running");
    running.control().stop(Duration::ZERO);
    running.wait().unwrap();
}

/// The state of a job that does not run is opened to look into it, and many may look at once.
#[test]
fn many_look_into_a_job_at_once() {
    let web = web();
    let (_place, folder) = place(&web);
    let served = served(&[folder], AppConfig::default()).unwrap();
    let gone = web.url(HOST, "/gone");
    let targets = [
        "/jobs/a.test.crawl/hosts".to_owned(),
        format!("{JOB}/hosts"),
        format!("{JOB}/status"),
        format!("{JOB}/why?url={gone}"),
    ];
    thread::scope(|scope| {
        for turn in 0..16 {
            let (served, target) = (&served, &targets[turn % targets.len()]);
            scope.spawn(move || assert_eq!(served.ask(target).status, 200, "{target}"));
        }
    });
}

/// Each path of the description is answered, and each that is answered is described.
#[test]
fn the_description_names_every_path() {
    let web = web();
    let (_place, folder) = place(&web);
    let served = served(&[folder], AppConfig::default()).unwrap();
    let described = served.ask("/api/v1/openapi.json").json();
    for (path, item) in described["paths"].as_object().unwrap() {
        let url = web.url(HOST, "/");
        let target = format!("/api/v1{path}?url={url}&pattern=x&with=a.test.crawl")
            .replace("{id}", "a.test.crawl");
        if path.ends_with("/events") {
            continue;
        }
        let expected = match item.get("get") {
            // Only a crawl that runs has a queue to look through.
            Some(_) if path.ends_with("/exclude") => 409,
            // It is no fleet.
            Some(_) if path.ends_with("/fleet") => 404,
            Some(_) => 200,
            None => 405,
        };
        until(|| served.ask(&target).status != 202);
        assert_eq!(served.ask(&target).status, expected, "{target}");
    }
    for path in [
        "status", "fleet", "hosts", "urls", "log", "why", "events", "actions", "settings",
        "findings", "changes",
    ] {
        let known = described["paths"].get(format!("/jobs/{{id}}/{path}"));
        assert!(known.is_some(), "{path}");
    }
}

#[test]
fn metrics_have_one_family_per_name() {
    let web = web();
    let (_place, folder) = place(&web);
    crawl(config(&web, &folder.join("b.test.crawl")));
    let served = served(&[folder], AppConfig::default()).unwrap();
    let answer = served.ask("/metrics");
    assert_eq!(
        answer.field("Content-Type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    let mut families = Vec::new();
    for line in answer.body.lines() {
        if let Some(name) = line.strip_prefix("# TYPE ") {
            let name = name.split(' ').next().unwrap();
            assert!(!families.contains(&name), "{name} twice");
            families.push(name);
        } else if !line.starts_with('#') {
            let name = line.split(['{', ' ']).next().unwrap();
            let family = families.last().unwrap();
            let part = name.strip_prefix(family);
            let parts = [Some(""), Some("_bucket"), Some("_sum"), Some("_count")];
            assert!(parts.contains(&part), "{line}");
        }
    }
    let fetched = "clewline_urls_total{job=\"b.test.crawl\",outcome=\"fetched\"} ";
    let count = answer
        .body
        .lines()
        .find_map(|line| line.strip_prefix(fetched))
        .unwrap();
    assert!(count.parse::<u64>().unwrap() > 30, "{count}");
    // Every fetched URL has a total, and all buckets up to the last are sums.
    let total = "clewline_request_duration_seconds_bucket{job=\"b.test.crawl\",phase=\"total\",le=";
    let lines = answer
        .body
        .lines()
        .filter_map(|line| line.strip_prefix(total));
    let counts: Vec<u64> = lines
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(counts.len(), 16, "{}", answer.body);
    assert!(counts.is_sorted() && counts[15] > 30, "{counts:?}");
    // The crawl is finished, was never checked, and this is the second request.
    let value = |answer: &Answer, sample: &str| {
        let mut lines = answer.body.lines();
        let found = lines.find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
        found.map(|value| value.parse::<f64>().unwrap())
    };
    let finished = "clewline_job_last_success_timestamp_seconds{job=\"b.test.crawl\"}";
    let started = value(&answer, "process_start_time_seconds").unwrap();
    assert!(value(&answer, finished).is_some_and(|at| at > 1.7e9 && started > 1.7e9));
    assert!(
        !answer.body.contains("clewline_findings{"),
        "{}",
        answer.body
    );
    let again = served.ask("/metrics");
    let asked = "http_server_request_duration_seconds_count\
        {method=\"GET\",route=\"/metrics\",code=\"200\"}";
    assert_eq!(value(&again, asked), Some(1.0), "{}", again.body);
}

/// A board or a rule that asks for a name which nobody tells shows nothing, for ever.
#[test]
fn boards_and_rules_ask_for_metrics_that_there_are() {
    let web = web();
    let (_place, folder) = place(&web);
    let served = served(&[folder], AppConfig::default()).unwrap();
    let told = served.ask("/metrics").body;
    let told: BTreeSet<&str> = told
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    for asking in [
        include_str!("../../../docs/dashboard/grafana.json"),
        include_str!("../../../docs/dashboard/alerts.yml"),
    ] {
        let words = asking.split(|c: char| !(c.is_ascii_lowercase() || c == '_'));
        let names = words.filter(|word| {
            ["clewline_", "process_", "http_server_"]
                .iter()
                .any(|first| word.starts_with(first))
        });
        let names: BTreeSet<&str> = names
            .map(|name| name.strip_suffix("_bucket").unwrap_or(name))
            .map(|name| name.strip_suffix("_count").unwrap_or(name))
            .map(|name| name.strip_suffix("_sum").unwrap_or(name))
            .collect();
        assert!(names.len() > 5, "{names:?}");
        let unknown: Vec<_> = names.difference(&told).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}

/// What is made while somebody waits.
fn made(served: &Served, target: &str) -> Answer {
    until(|| served.ask(target).status != 202);
    served.ask(target)
}

/// All rows of a list that has cursors.
fn rows(served: &Served, target: &str) -> Vec<Value> {
    let mut rows = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = made(served, &format!("{target}{cursor}")).json();
        rows.extend(page["rows"].as_array().unwrap().iter().cloned());
        let Some(next) = page["cursor"].as_str() else {
            assert_eq!(page["total"], json!(rows.len()));
            return rows;
        };
        cursor = format!("&cursor={next}");
    }
}

/// A crawl that nobody checked is checked by what it holds; the findings of a check win.
#[test]
fn findings_are_those_of_the_last_check() {
    let web = web();
    let (_place, folder) = place(&web);
    let served = served(std::slice::from_ref(&folder), AppConfig::default()).unwrap();
    let findings = format!("{JOB}/findings");
    let all = rows(&served, &format!("{findings}?limit=2"));
    let gone = web.url(HOST, "/gone");
    let is_gone = |row: &&Value| row["rule"] == "links/broken" && row["target"] == json!(gone);
    assert_eq!(all.iter().filter(is_gone).count(), 1, "{all:?}");
    let errors = rows(&served, &format!("{findings}?severity=error"));
    assert!(!errors.is_empty() && errors.len() < all.len());
    assert!(errors.iter().all(|row| row["severity"] == "error"));
    for (query, status) in [
        ("rule=links/none", 404),
        ("severity=bad", 400),
        ("cursor=1-2", 404),
    ] {
        assert_eq!(made(&served, &format!("{findings}?{query}")).status, status);
    }
    let page = served.ask("/jobs/a.test.crawl/issues");
    assert!(page.body.contains("links to other sites were not asked"));
    assert!(page.body.contains("href=\"http"), "{}", page.body);
    // A check keeps what it found: here one of the rows, under another severity.
    let mut kept = errors[0].clone();
    kept["severity"] = json!("notice");
    kept["count"] = json!(7);
    let check = folder.join("a.test.crawl/check");
    fs::create_dir_all(&check).unwrap();
    fs::write(check.join("findings.jsonl"), format!("{kept}\nnot one\n")).unwrap();
    let known = rows(&served, &format!("{findings}?limit=9"));
    assert_eq!(known, [kept]);
    let page = served.ask("/jobs/a.test.crawl/issues").body;
    assert!(page.contains("Checked on 20"), "{page}");
    assert!(page.contains("1 finding of rules that this version does not know"));
    assert!(served.ask("/").body.contains("data-name=Issues>7"));
}

/// Two crawls of a site that changed between them are compared, one by the name of the other or as
/// the one that it updates.
#[test]
fn changes_are_those_between_two_crawls() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("jobs");
    fs::create_dir(&folder).unwrap();
    let page = |about: &str| Page::html(format!("<title>{about}</title><p>{about} is here"));
    let site = Site::new()
        .page("/", Page::html(links(["/same", "/before"])))
        .page("/same", page("same"))
        .page("/before", page("The first"));
    let web = Web::new().site(HOST, site).start();
    crawl(config(&web, &folder.join("one.crawl")));
    web.put(HOST, "/", Page::html(links(["/same", "/before", "/after"])));
    web.put(HOST, "/before", Page::html("gone").status(404));
    web.put(HOST, "/after", page("Another one of other words"));
    let mut later = config(&web, &folder.join("two.crawl"));
    later.output.archive.update_from = Some(folder.join("one.crawl"));
    crawl(later);
    let served = served(std::slice::from_ref(&folder), AppConfig::default()).unwrap();
    let changes = "/api/v1/jobs/two.crawl/changes";
    for query in ["?limit=1", "?with=one.crawl&limit=1"] {
        let all = rows(&served, &format!("{changes}{query}"));
        let urls = |kind: &str| -> Vec<String> {
            let of_kind = all.iter().filter(|row| row["kind"] == kind);
            let urls = of_kind.map(|row| row["urls"][0].as_str().unwrap().to_owned());
            urls.collect()
        };
        assert!(urls("gone")[0].ends_with("/before"), "{all:?}");
        assert!(urls("new")[0].ends_with("/after"), "{all:?}");
    }
    let new = rows(&served, &format!("{changes}?kind=new"));
    assert_eq!(new.len(), 1);
    for (target, status) in [
        (format!("{changes}?kind=none"), 400),
        (format!("{changes}?with=other.crawl"), 404),
        (format!("{changes}?with=../one.crawl"), 404),
        ("/api/v1/jobs/one.crawl/changes".to_owned(), 409),
    ] {
        assert_eq!(made(&served, &target).status, status, "{target}");
    }
    let page = served.ask("/jobs/two.crawl/changes").body;
    assert!(page.contains("/after</span>"), "{page}");
    assert!(page.contains("From one.crawl to two.crawl."));
    let page = served.ask("/jobs/one.crawl/changes").body;
    assert!(page.contains("Choose an earlier crawl."), "{page}");
}

/// How a fleet stands that somebody else looks at.
fn standing(state: State) -> FleetStanding {
    let json = json!({"phase": "run", "paused": state == State::Paused, "job": {"name": "News"}});
    let worker = |live: bool, number: u64| FleetWorker {
        name: format!("{number:016x}"),
        live,
        heard: if live {
            "seen 0:01 ago"
        } else {
            "silent for 2:10"
        }
        .to_owned(),
        shards: 4,
        in_flight: 7,
        pages: 90,
        folder: "/srv/<script>alert(1)</script>".to_owned(),
    };
    FleetStanding {
        state,
        told: "running: its roots come first".to_owned(),
        done: "180 done, 20 queued; 180 pages, 1.2 MB read, 0:10 spent".to_owned(),
        pace: "18 pages/s, about 0:01 left".to_owned(),
        budget: String::new(),
        shares: "8 of 8 shards have an owner".to_owned(),
        waits: vec!["links for 0:40 to be read".to_owned()],
        workers: vec![worker(false, 1), worker(true, 2)],
        counts: FleetCounts {
            pages: 180,
            queued: 20,
            shards: 8,
            owned: 8,
            mail: 3,
            ..FleetCounts::default()
        },
        json: json.as_object().unwrap().clone(),
    }
}

/// A server of a fleet that remembers what it was told, and how often it was looked at.
struct ServedNews {
    served: Served,
    told: Arc<Mutex<Vec<FleetSteer>>>,
    looks: Arc<AtomicUsize>,
    /// Where the audit log lies.
    _place: TempDir,
}

fn served_news(app: AppConfig) -> ServedNews {
    let (told, looks) = (Arc::<Mutex<Vec<FleetSteer>>>::default(), Arc::default());
    let place = tempfile::tempdir().unwrap();
    let fleet = ServedFleet {
        name: "News".to_owned(),
        audit_folder: place.path().to_owned(),
        look: Box::new({
            let (told, looks) = (Arc::clone(&told), Arc::<AtomicUsize>::clone(&looks));
            move || {
                looks.fetch_add(1, Ordering::Relaxed);
                let is_paused = told.lock().unwrap().contains(&FleetSteer::Pause);
                let state = if is_paused {
                    State::Paused
                } else {
                    State::Running
                };
                Ok(standing(state))
            }
        }),
        obey: Box::new({
            let told = Arc::clone(&told);
            move |steer| {
                told.lock().unwrap().push(steer.clone());
                Ok("done".to_owned())
            }
        }),
    };
    let (sender, listening) = mpsc::channel();
    thread::spawn(move || {
        let address = "127.0.0.1:0".parse().unwrap();
        serve_fleet(fleet, address, app, &mut |notice| {
            if let ServeNotice::Listening { address, .. } = notice {
                sender.send(address).unwrap();
            }
            Ok(())
        })
    });
    ServedNews {
        served: Served {
            address: listening.recv().unwrap(),
        },
        told,
        looks,
        _place: place,
    }
}

#[test]
fn a_fleet_is_shown_as_one_job() {
    let ServedNews {
        served,
        looks,
        _place,
        ..
    } = served_news(AppConfig::default());
    let page = served.ask("/");
    assert_eq!(page.status, 200);
    for words in [
        "180 done, 20 queued; 180 pages, 1.2 MB read, 0:10 spent",
        "18 pages/s, about 0:01 left",
        "running: its roots come first",
        "8 of 8 shards have an owner",
        "links for 0:40 to be read",
        "0000000000000002",
        "silent for 2:10",
        "clewline fleet merge",
        "data-events=\"/api/v1/jobs/news/events\"",
    ] {
        assert!(page.body.contains(words), "{words}: {}", page.body);
    }
    let (live, dead) = ("0000000000000002", "0000000000000001");
    assert!(
        page.body.find(live) < page.body.find(dead),
        "the live come first"
    );
    assert!(!page.body.contains("<script>alert") && !page.body.contains("method=post"));
    for path in [
        "/search",
        "/hosts",
        "/pages",
        "/captures",
        "/why?url=x",
        "/start",
        "/x",
    ] {
        let missing = served.ask(path);
        assert_eq!(missing.status, 404, "{path}");
        assert!(missing.body.contains("clewline fleet merge"), "{path}");
        assert!(
            !page.body.contains(&format!("href=\"{path}")),
            "{path} is offered"
        );
    }
    let list = served.ask("/api/v1/jobs").json();
    assert_eq!(
        (&list["total"], &list["jobs"][0]["id"]),
        (&json!(1), &json!("news"))
    );
    let fleet = served.ask("/api/v1/jobs/news/fleet").json();
    assert_eq!(fleet["job"]["name"], "News");
    for (path, status) in [
        ("status", 409),
        ("hosts", 409),
        ("urls", 409),
        ("nothing", 404),
    ] {
        let answer = served.ask(&format!("/api/v1/jobs/news/{path}"));
        assert_eq!(answer.status, status, "{path}");
    }
    assert_eq!(served.ask("/api/v1/jobs/other").status, 404);
    let metrics = served.ask("/metrics").body;
    for line in [
        "clewline_pages_total{job=\"news\"} 180",
        "clewline_requests_in_flight{job=\"news\"} 7",
        "clewline_fleet_workers{job=\"news\",state=\"live\"} 1",
        "clewline_fleet_workers{job=\"news\",state=\"silent\"} 1",
        "clewline_fleet_mail{job=\"news\"} 3",
        "clewline_job_state{job=\"news\",state=\"running\"} 1",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    let before = looks.load(Ordering::Relaxed);
    for _ in 0..50 {
        served.ask("/metrics");
    }
    let more = looks.load(Ordering::Relaxed) - before;
    assert!(more < 50, "each of many viewers costs a look");
}

#[test]
fn events_of_a_fleet_begin_with_how_it_stands() {
    let ServedNews { served, _place, .. } = served_news(AppConfig::default());
    let stream = served.connect("GET /api/v1/jobs/news/events", "", "");
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "event: status"));
    let data = lines.find(|line| line.starts_with("data: ")).unwrap();
    assert!(data.contains("\"phase\":\"run\""), "{data}");
}

/// A server of a fleet that whoever has the token may steer.
fn steered_news() -> ServedNews {
    let commands = JobCommands {
        start: Box::new(|_| panic!("no crawl is started")),
        resume: Box::new(|_| panic!("no crawl is started")),
        figure: Box::new(|name, value| match (name, value) {
            ("rate", "5/s") => Ok(Change::Rate(5.0)),
            _ => Err(format!("{name} {value}?")),
        }),
    };
    served_news(AppConfig {
        token: Some(AccessToken::new(TOKEN).unwrap()),
        reading: ReadAccess::Open,
        commands: Some(commands),
        origin: None,
    })
}

#[test]
fn a_fleet_is_steered_by_whoever_has_the_token_only() {
    let ServedNews {
        served,
        told,
        _place,
        ..
    } = steered_news();
    let pause = json!({"action": "pause"});
    let open = served.send(
        "POST /api/v1/jobs/news/actions",
        "Content-Type: application/json\r\n",
        &pause.to_string(),
    );
    assert_eq!(open.status, 401);
    let answer = served.order("POST /api/v1/jobs/news/actions", &pause);
    assert_eq!(
        (answer.status, &answer.json()["state"]),
        (202, &json!("paused"))
    );
    let answer = served.order("PATCH /api/v1/jobs/news/settings", &json!({"rate": "5/s"}));
    assert_eq!(
        (answer.status, &answer.json()["changed"]),
        (200, &json!(["rate 5/s"]))
    );
    for (request, body, status) in [
        (
            "POST /api/v1/jobs/news/actions",
            json!({"action": "start"}),
            409,
        ),
        (
            "POST /api/v1/jobs/news/actions",
            json!({"action": "leap"}),
            422,
        ),
        (
            "PATCH /api/v1/jobs/news/settings",
            json!({"rate": "x"}),
            422,
        ),
        (
            "PATCH /api/v1/jobs/news/settings",
            json!({"exclude+": ["/a"]}),
            422,
        ),
        ("DELETE /api/v1/jobs/news", json!({}), 409),
        ("POST /api/v1/jobs", json!({"url": "http://a.test/"}), 405),
    ] {
        let answer = served.order(request, &body);
        assert_eq!(answer.status, status, "{request} {body}: {}", answer.body);
    }
    let expected = [FleetSteer::Pause, FleetSteer::Change(Change::Rate(5.0))];
    assert_eq!(*told.lock().unwrap(), expected);
}

#[test]
fn a_fleet_is_steered_by_forms_of_its_page_only() {
    let ServedNews {
        served,
        told,
        _place,
        ..
    } = steered_news();
    let fields = format!(
        "Authorization: Bearer {TOKEN}\r\nSec-Fetch-Site: same-origin\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n"
    );
    for (path, form, status) in [
        ("/actions", "action=stop", 303),
        ("/roots", "url=http%3A%2F%2Fb.test%2F", 303),
        ("/roots", "url=file%3A%2F%2F%2Fetc", 422),
        ("/delete", "name=news", 404),
    ] {
        let answer = served.send(&format!("POST {path}"), &fields, form);
        assert_eq!(answer.status, status, "{path} {form}");
    }
    let foreign = fields.replace("same-origin", "cross-site");
    assert_eq!(
        served
            .send("POST /actions", &foreign, "action=pause")
            .status,
        403
    );
    let expected = [
        FleetSteer::Stop,
        FleetSteer::Add("http://b.test/".to_owned()),
    ];
    assert_eq!(*told.lock().unwrap(), expected);
    let page = served.send("GET /", &format!("Authorization: Bearer {TOKEN}\r\n"), "");
    assert!(page.body.contains("value=pause") && page.body.contains("value=stop"));
    assert!(
        !page.body.contains("name=pattern"),
        "a fleet takes no patterns"
    );
}
