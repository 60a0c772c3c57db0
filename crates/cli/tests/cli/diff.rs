//! `clewline diff`: two crawls of a site that changed, and the site as it is now.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;
use terrarium::{LiveWeb, Page, Request, Site, Web, links};

use crate::place::{HOST, Place, Ran, web_of};

/// A site that changes when its state does.
struct Town {
    place: Place,
    web: LiveWeb,
    state: Arc<AtomicU32>,
}

fn page(title: &str, text: &str, footer: &str) -> String {
    let footer = format!("<footer><p>{footer}</p></footer>");
    format!("<title>{title}</title><main><h1>{title}</h1><p>{text}</p></main>{footer}")
}

fn answer(path: &str, state: u32) -> Option<String> {
    let long =
        "enough words on a page that it is known by them again wherever it may be found later";
    let is_new = state > 0;
    let footer = if is_new { "New Limited" } else { "Old Limited" };
    let moved = if is_new { "/moved" } else { "/old" };
    match path {
        "/" => {
            let list = links(["/a", "/b", "/same", "/gone", "/error", moved]);
            Some(page("Home", &list, footer))
        }
        "/a" => Some(page(
            "A",
            if is_new { "other words" } else { "some words" },
            footer,
        )),
        "/b" => Some(page("B", "words of b", footer)),
        "/same" => Some("<title>Same</title><p>As ever".to_owned()),
        "/gone" if !is_new => Some(page("Gone", "words", footer)),
        path if path == moved => Some(page("Mover", long, footer)),
        _ => None,
    }
}

impl Town {
    fn new() -> Self {
        let state = Arc::new(AtomicU32::new(0));
        let now = Arc::clone(&state);
        let served = move |request: &Request| {
            let state = now.load(Ordering::SeqCst);
            if request.path() == "/error" && state > 0 {
                return Page::html("<p>down").status(500).into();
            }
            let found = answer(request.path(), state);
            let found = found.or((request.path() == "/error").then(|| page("E", "e", "f")));
            found
                .map_or(Page::html("none").status(404), Page::html)
                .into()
        };
        Self {
            place: Place::new(),
            web: web_of(Site::new().under("/", served)),
            state,
        }
    }

    fn crawl(&self, folder: &str, more: &[&str]) -> Ran {
        let url = self.web.url(HOST, "/");
        let mut line = vec!["-q", &url, "-o", folder, "--tries", "1"];
        line.extend(more);
        let ran = self.place.run(&line);
        assert_eq!(ran.code, 0, "{}", ran.talk);
        ran
    }

    fn changed() -> Self {
        let town = Self::new();
        town.crawl("a.crawl", &[]);
        town.state.store(1, Ordering::SeqCst);
        town.crawl("b.crawl", &["--update-from", "a.crawl"]);
        town
    }
}

fn lines(ran: &Ran) -> Vec<Value> {
    let lines = ran.out.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn kinds(lines: &[Value]) -> Vec<(&str, u64)> {
    let entries = lines.iter().filter(|line| line["type"] == "entry");
    entries
        .map(|line| {
            (
                line["kind"].as_str().unwrap(),
                line["pages"].as_u64().unwrap(),
            )
        })
        .collect()
}

#[test]
fn each_change_is_told_once_and_a_failure_is_none() {
    let town = Town::changed();
    let ran = town
        .place
        .run(&["diff", "a.crawl", "b.crawl", "--format", "jsonl"]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    let found = lines(&ran);
    // The footer is one entry; of /a there is one more.
    let expected = [("gone", 1), ("moved", 1), ("changed", 4), ("changed", 1)];
    assert_eq!(kinds(&found), expected, "{}", ran.out);
    assert_eq!(found[0]["counts"]["unreadable"], 1);
    let fails = |kinds: &str| {
        town.place
            .run(&["diff", "a.crawl", "b.crawl", "--fail-on", kinds])
            .code
    };
    assert_eq!(
        (fails("gone,new"), fails("status"), fails("any")),
        (1, 0, 1)
    );
    let same = town
        .place
        .run(&["diff", "b.crawl", "b.crawl", "--fail-on", "any"]);
    assert_eq!(same.code, 0);
    assert!(same.out.contains("Nothing changed"), "{}", same.out);
}

#[test]
fn the_counts_are_those_of_an_update() {
    let town = Town::new();
    town.crawl("a.crawl", &[]);
    town.state.store(1, Ordering::SeqCst);
    let report = town.crawl("b.crawl", &["--update-from", "a.crawl", "--format", "json"]);
    let report: Value = serde_json::from_str(&report.out).unwrap();
    let ran = town
        .place
        .run(&["diff", "a.crawl", "b.crawl", "--format", "jsonl"]);
    let payload = lines(&ran)[0]["payload"].clone();
    for (name, count) in [("new", 1), ("changed", 3), ("unchanged", 1), ("gone", 2)] {
        assert_eq!(payload[name], count, "{name} {payload}");
        assert_eq!(
            report["update"][name]["count"], count,
            "{name} {}",
            report["update"]
        );
    }
}

#[test]
fn the_site_as_it_is_now_is_crawled() {
    let town = Town::new();
    town.crawl("a.crawl", &[]);
    town.state.store(1, Ordering::SeqCst);
    let line = ["diff", "a.crawl", "--live", "--format", "jsonl"];
    let ran = town.place.run(&line);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    let first = kinds(&lines(&ran))
        .iter()
        .map(|it| it.0.to_owned())
        .collect::<Vec<_>>();
    assert_eq!(
        first,
        ["gone", "moved", "changed", "changed"],
        "{}",
        ran.out
    );
    assert_eq!(town.place.names("."), ["a.crawl"]);
    let mut named = line.to_vec();
    named.extend(["-o", "now.crawl"]);
    assert_eq!(town.place.run(&named).out, ran.out);
    assert_eq!(town.place.names("."), ["a.crawl", "now.crawl"]);
}

#[test]
fn forms_go_to_files_and_redirects_to_the_server() {
    let town = Town::changed();
    let ran = town.place.run(&[
        "diff",
        "a.crawl",
        "b.crawl",
        "--redirects",
        "nginx",
        "--redirects",
        "csv=moved.csv",
        "--report",
        "html=diff.html",
        "--report",
        "markdown=diff.md",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    assert!(
        ran.out.contains("\"/old\" \"/moved\"; # sure: same text"),
        "{}",
        ran.out
    );
    let file = |name: &str| fs::read_to_string(town.place.path(name)).unwrap();
    assert!(file("moved.csv").starts_with("from,to,certainty,reason\r\n"));
    assert!(file("diff.html").contains("<p class=run>New</p>"));
    assert!(file("diff.md").contains("`New`"), "{}", file("diff.md"));
}

#[test]
fn archives_and_folders_of_them_are_compared_and_wrong_flags_are_told() {
    let town = Town::changed();
    let old = "a.crawl/archive";
    let ran = town
        .place
        .run(&["diff", old, "b.crawl/archive", "--format", "jsonl"]);
    let of_jobs = town
        .place
        .run(&["diff", "a.crawl", "b.crawl", "--format", "jsonl"]);
    assert_eq!(kinds(&lines(&ran)), kinds(&lines(&of_jobs)), "{}", ran.out);
    for (line, expected) in [
        (&["a.crawl", "b.crawl", "--map", "x"][..], "--map"),
        (
            &["a.crawl", "b.crawl", "--ignore-selector", "p["][..],
            "is not a CSS selector",
        ),
        (
            &["a.crawl", "b.crawl", "--ignore-text", "("][..],
            "--ignore-text",
        ),
        (&["a.crawl", "b.crawl", "--report", "html"][..], "FORM=FILE"),
        (
            &["a.crawl", "b.crawl", "--redirects", "apache"][..],
            "nginx, netlify, csv",
        ),
        (&["a.crawl", "b.crawl", "--fail-on", "much"][..], "any"),
        (&["a.crawl"][..], "--live"),
    ] {
        let mut whole = vec!["diff"];
        whole.extend(line);
        let ran = town.place.run(&whole);
        assert_eq!(ran.code, 2, "{line:?} {}", ran.talk);
        assert!(ran.talk.contains(expected), "{}", ran.talk);
    }
    let missing = town.place.run(&["diff", "a.crawl", "none.crawl"]);
    assert!(
        missing.code != 0 && missing.talk.contains("none.crawl"),
        "{}",
        missing.talk
    );
}

/// Pages of an application are the same bytes for ever; a browser shows what changed.
#[test]
fn what_changed_on_rendered_pages_is_what_a_browser_shows() {
    let app = "<title>App</title><div id=root></div><script>run()</script>";
    let site = Site::new().page("/", Page::html(app));
    let web = Web::new().site(fieldwork::HOST, site).start();
    let place = Place::new();
    let crawl = |name: &str, shown: fn(&str) -> String| {
        fieldwork::crawl_rendered(fieldwork::config(&web, &place.path(name)), shown);
    };
    crawl("old.crawl", |_| {
        "<title>App</title><p>Open from nine to five</p>".to_owned()
    });
    crawl("new.crawl", |_| {
        "<title>App</title><p>Open from ten to five</p>".to_owned()
    });
    let ran = place.run(&["diff", "old.crawl", "new.crawl"]);
    assert!(
        ran.out.contains("nine") && ran.out.contains("ten"),
        "{}{}",
        ran.out,
        ran.talk
    );
}

#[test]
fn the_comparison_opens_in_the_browser() {
    let town = Town::changed();
    let place = town.place.with_browser();
    let line = ["diff", "a.crawl", "b.crawl", "--open"];
    let ran = Ran::from(place.command_with_browser(&line).output().unwrap());
    assert_eq!(ran.code, 0, "{}", ran.talk);
    let made = place.opened();
    let page = fs::read_to_string(&made).unwrap();
    assert!(page.contains("<html") && page.contains("a.crawl"), "{made}");
    let named = [&line[..], &["--report", "html=diff.html"]].concat();
    place.command_with_browser(&named).output().unwrap();
    assert_eq!(place.opened(), place.path("diff.html").to_string_lossy());
}
