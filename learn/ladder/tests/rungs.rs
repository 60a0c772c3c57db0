//! Every rung as a program, on a small site with bad habits.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use terrarium::{Door, Fault, LiveWeb, Page, Reply, Site, Web, links, numbered_links};

/// How long a server waits for a rung to come.
const PATIENCE: Duration = Duration::from_secs(30);

const RUNGS: &[(&str, &str)] = &[
    ("blocking", env!("CARGO_BIN_EXE_blocking")),
    ("busy", env!("CARGO_BIN_EXE_busy")),
    ("callbacks", env!("CARGO_BIN_EXE_callbacks")),
    ("coroutines", env!("CARGO_BIN_EXE_coroutines")),
    ("queue", env!("CARGO_BIN_EXE_queue")),
    #[cfg(feature = "clew")]
    ("clew", env!("CARGO_BIN_EXE_clew")),
];

fn program(name: &str) -> &'static str {
    RUNGS.iter().find(|rung| rung.0 == name).unwrap().1
}

fn run(program: &str, words: &[&str]) -> Output {
    Command::new(program).args(words).output().unwrap()
}

/// Runs a rung; answers its report and what became of each URL.
fn crawl(name: &str, test: &str, words: &[&str]) -> (Value, BTreeMap<String, String>) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let list = folder.join(format!("{test}-{name}-{}.jsonl", std::process::id()));
    let flags = ["--json", "--quiet", "--urls", list.to_str().unwrap()];
    let output = run(program(name), &[&flags, words].concat());
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {talk}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let lines = fs::read_to_string(&list).unwrap();
    fs::remove_file(&list).unwrap();
    let mut found = BTreeMap::new();
    for line in lines.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let outcome = record["outcome"].as_str().unwrap();
        let status = record["status"]
            .as_u64()
            .map_or(String::new(), |status| format!(" {status}"));
        let url = record["url"].as_str().unwrap().to_owned();
        let again = found.insert(url, format!("{outcome}{status}"));
        assert_eq!(again, None, "{name}: one record per URL");
    }
    (report, found)
}

/// A site with a reset, a redirect loop, a page that works the second time, and pages that no
/// crawler must see.
fn odd_site() -> LiveWeb {
    let home = [
        "/a",
        "/a#again",
        "b/",
        "/old",
        "/loop/1",
        "/reset",
        "/flaky",
        "/text",
        "/missing",
        "/skip/this",
        "http://elsewhere.test/",
        "mailto:x@y.test",
    ];
    let site = Site::new()
        .page("/", Page::html(links(home)))
        .page("/a", Page::html("<a href='/a?q=1&amp;r=2'>"))
        .page("/a?q=1&r=2", Page::html("<A HREF=/>"))
        .page("/b/", Page::html("<a href=../c>"))
        .page("/c", Page::charset("iso-8859-1", "<a href='/a'>\u{e9}"))
        .page("/old", Page::redirect(301, "/moved"))
        .page("/moved", Page::html(""))
        .redirect_loop("/loop", 3)
        .page("/reset", Reply::reset())
        .page(
            "/flaky",
            Reply::flaky(1, Fault::Reset, Page::html("<a href=/behind>")),
        )
        .page("/behind", Page::html(""))
        .page("/text", Page::text("<a href=/never>"))
        .page("/skip/this", Page::html(""));
    let dead = Site::new().door(Door::Refused);
    Web::new()
        .site("127.0.0.1", site)
        .site("127.0.0.2", dead)
        .start()
}

#[test]
fn every_rung_finds_the_same_on_an_odd_site() {
    for (name, _) in RUNGS {
        let web = odd_site();
        let (home, dead) = (web.url("127.0.0.1", "/"), web.url("127.0.0.2", "/"));
        let words = [
            "--max-tries=3",
            "--max-tasks=4",
            "--exclude=/skip/",
            &home,
            &dead,
        ];
        let (report, found) = crawl(name, "odd", &words);
        let expected = [
            ("", "fetched 200"),
            ("a", "fetched 200"),
            ("a?q=1&r=2", "fetched 200"),
            ("b/", "fetched 200"),
            ("behind", "fetched 200"),
            ("c", "fetched 200"),
            ("flaky", "fetched 200"),
            ("loop/1", "redirected 302"),
            ("loop/2", "redirected 302"),
            // The library calls a circle of redirects a failure where it closes.
            (
                "loop/3",
                if *name == "clew" {
                    "failed 302"
                } else {
                    "redirected 302"
                },
            ),
            ("missing", "fetched 404"),
            ("moved", "fetched 200"),
            ("old", "redirected 301"),
            ("reset", "failed"),
            ("text", "fetched 200"),
        ];
        let expected = expected.map(|(path, outcome)| (format!("{home}{path}"), outcome));
        let mut expected = BTreeMap::from(expected);
        expected.insert(dead, "failed");
        let found: BTreeMap<String, &str> = found
            .iter()
            .map(|(url, outcome)| (url.clone(), outcome.as_str()))
            .collect();
        assert_eq!(found, expected, "{name}");
        let circles = i32::from(*name == "clew");
        assert_eq!(report["urls_fetched"], 14 - circles, "{name}: {report}");
        assert_eq!(report["urls_failed"], 2 + circles, "{name}: {report}");
        let log = web.log();
        // The library asks again at once if a kept connection may just have been dead.
        let most = if *name == "clew" { 6 } else { 3 };
        let resets = log.count("/reset");
        assert!(
            (3..=most).contains(&resets),
            "{name}: --max-tries=3, asked {resets} times"
        );
        assert_eq!(log.count("/flaky"), 2, "{name}: one failure, one success");
        assert_eq!(log.count("/moved"), 1, "{name}: each URL once");
    }
}

#[test]
fn every_rung_holds_as_much_as_it_is_told_to() {
    for (name, _) in RUNGS {
        let site = Site::new()
            .page("/", Page::html(numbered_links("/p/", 40)))
            .under("/p/", |_| {
                Page::html("").delay(Duration::from_millis(60)).into()
            });
        let web = Web::new().site("127.0.0.1", site).start();
        let home = web.url("127.0.0.1", "/");
        let (report, found) = crawl(name, "holds", &["--max-tasks=8", &home]);
        assert_eq!(found.len(), 41, "{name}");
        assert_eq!(report["achieved_concurrency"], 8, "{name}: {report}");
        let host = web.addr("127.0.0.1").ip();
        let most = web.log().greatest_concurrency_at(host);
        assert!((2..=8).contains(&most), "{name}: the server saw {most}");
        for figure in ["seconds", "peak_memory", "cpu_seconds"] {
            assert!(
                report[figure].as_f64().unwrap() > 0.0,
                "{name}: {figure} in {report}"
            );
        }
    }
}

#[test]
fn every_rung_gives_up_what_never_answers() {
    let check = |name: &str| {
        let site = Site::new()
            .page("/", Page::html(links(["/stalls", "/fine"])))
            .page("/stalls", Page::html("half of it").stall_after(3))
            .page("/fine", Page::html(""));
        let web = Web::new().site("127.0.0.1", site).start();
        let home = web.url("127.0.0.1", "/");
        let (_, found) = crawl(name, "late", &["--timeout=3", "--max-tries=1", &home]);
        assert_eq!(found[&format!("{home}stalls")], "failed", "{name}");
        assert_eq!(found[&format!("{home}fine")], "fetched 200", "{name}");
    };
    // They wait together, as this is about waiting.
    std::thread::scope(|scope| {
        for (name, _) in RUNGS {
            scope.spawn(|| check(name));
        }
    });
}

#[test]
fn the_plainest_rung_fetches_one_page_after_the_other() {
    let site = Site::new().page("/", Page::html(numbered_links("/p", 5)));
    let web = Web::new().site("127.0.0.1", site).start();
    let (report, found) = crawl("blocking", "one", &[&web.url("127.0.0.1", "/")]);
    assert_eq!(
        (found.len(), &report["achieved_concurrency"]),
        (6, &Value::from(1))
    );
    let address = web.addr("127.0.0.1").ip();
    assert_eq!(web.log().greatest_concurrency_at(address), 1);
}

/// Callbacks lose who asked; coroutines keep it.
#[test]
fn traces_end_at_the_loop_or_keep_their_context() {
    let site = Site::new().page("/", Reply::reset());
    let web = Web::new().site("127.0.0.1", site).start();
    let home = web.url("127.0.0.1", "/");
    let talk = |name: &str| {
        let output = run(program(name), &["--json", "--max-tries=1", &home]);
        String::from_utf8(output.stderr).unwrap()
    };
    // How functions are called depends on the build; how many there are does not.
    let broken = talk("callbacks");
    assert!(broken.contains("  in "), "{broken}");
    assert!(
        broken.contains("fail") && !broken.contains("fetch"),
        "who asked is gone: {broken}"
    );
    let whole = talk("coroutines");
    let suspended = whole.matches("{async").count() + whole.matches("{{closure}}").count();
    assert!(suspended >= 3, "read_to_end, fetch and visit in {whole}");
    let context = format!("cannot visit {home}: no answer: ");
    assert!(whole.contains(&context), "{context} in {whole}");
}

#[test]
fn the_queue_keeps_its_connections() {
    let site = Site::new()
        .page("/", Page::html(numbered_links("/p/", 9)))
        .under("/p/", |request| {
            let page = Page::html("x".repeat(10_000));
            let chunked = request.target().ends_with(['1', '5']);
            if chunked {
                page.chunked(999).into()
            } else {
                page.into()
            }
        });
    let web = Web::new().site("127.0.0.1", site).start();
    let home = web.url("127.0.0.1", "/");
    let (_, found) = crawl("queue", "alive", &["--max-tasks=1", &home]);
    assert_eq!(found.len(), 10);
    assert_eq!(web.log().connections(), 1);
}

#[test]
fn interrupted_the_queue_still_reports() {
    let site = Site::new()
        .page("/", Page::html(links(["/late"])))
        .page("/late", Page::html("").delay(PATIENCE));
    let web = Web::new().site("127.0.0.1", site).start();
    let child = Command::new(program("queue"))
        .arg(web.url("127.0.0.1", "/"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    assert!(web.wait_for(|log| log.count("/late") == 1, PATIENCE));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let (report, talk) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert!(talk.contains("Interrupted"), "{talk}");
    for line in ["Finished 1 urls", "status_200: 1", "Todo: 1", "Done: 1"] {
        assert!(report.contains(line), "{line} in {report}");
    }
}

#[test]
fn without_a_root_there_is_a_hint() {
    for (name, program) in RUNGS {
        let output = run(program, &[]);
        assert!(output.status.success(), "{name}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("--help"),
            "{name}"
        );
        let refused = run(program, &["ftp://a.test/"]);
        assert_eq!(refused.status.code(), Some(2), "{name}");
    }
}

#[test]
fn the_exhibition_is_over_after_an_hour() {
    let output = run(env!("CARGO_BIN_EXE_chess"), &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert!(
        lines[1].starts_with("synchronous: 12.0 hours (12:00:00)"),
        "{text}"
    );
    assert!(
        lines[2].starts_with("asynchronous: 1.0 hours (1:00:55)"),
        "{text}"
    );
}
