//! Browsers that die while pages are rendered: no URL is lost, none is recorded twice.
//!
//! `CLEWLINE_BROWSER_KILLS` says how many are killed; `cargo xtask rendering` kills fifty. Without a
//! browser on the machine the test says that it is skipped, unless one was promised.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use clewline_job::log::records;
use clewline_job::record::{OutcomeKind, Record};
use fieldwork::processes::{browsers_of, kill, memory};
use mutate::Dice;
use serde_json::json;
use terrarium::{Hit, LiveWeb, Page, Request, Site, Web, numbered_links};

use crate::run::{ended, number};

/// Pages that are rendered, for each browser that is killed: the crawl must outlast the kills.
const PAGES_PER_KILL: u64 = 12;
/// Pages at the same time.
const TABS: u64 = 2;
/// The longest wait between two kills, in milliseconds.
const LONGEST_WAIT: usize = 600;
/// The bound on the memory of all processes of one browser.
const BROWSER_MEMORY: u64 = 1 << 30;
/// What the crawler itself may hold beside `--memory`.
const CRAWLER_MEMORY: u64 = 256 << 20;

/// A page whose script asks for what it says.
fn shell(request: &Request) -> Page {
    let name = request.path().trim_start_matches("/app/").to_owned();
    Page::html(format!(
        "<title>{name}</title><div id=root></div><script>fetch('/data/{name}').then(data => data.text())\
         .then(text => {{ document.getElementById('root').innerHTML = text }})</script>"
    ))
}

fn site(pages: u64) -> LiveWeb {
    let links = numbered_links("/app/", pages as usize);
    let words = "A page with words. ".repeat(60);
    let data = |request: &Request| {
        let name = request.path().trim_start_matches("/data/").to_owned();
        Page::html(format!("<a href=/leaf/{name}>leaf</a>"))
            .delay(Duration::from_millis(20))
            .into()
    };
    let leaf = words.clone();
    let site = Site::new()
        .page("/robots.txt", Page::empty(404))
        .page("/", Page::html(format!("<p>{words}</p>{links}")))
        .under("/app/", |request| shell(request).into())
        .under("/data/", data)
        .under("/leaf/", move |_| Page::html(leaf.clone()).into());
    Web::new().site("127.0.0.1", site).start()
}

fn start(folder: &Path, web: &LiveWeb) -> Child {
    Command::new(env!("CARGO_BIN_EXE_clewline"))
        .args([&*web.url("127.0.0.1", "/"), "--quiet", "--no-sitemaps"])
        .args(["--speed", "max", "--memory", "64M", "--render"])
        .args(["--render-tabs", &TABS.to_string()])
        .arg("--output")
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Whether a page that is rendered has asked for something, now or soon.
fn has_begun(web: &LiveWeb) -> bool {
    let is_data = |hit: &Hit| hit.target.starts_with("/data/");
    web.wait_for(|log| log.iter().any(is_data), Duration::from_millis(100))
}

/// What was done to the browsers of a crawl, and what they held of the memory.
#[derive(Debug, Default)]
struct Slaughter {
    kills: u64,
    browsers: u64,
    crawler: u64,
}

/// Kills browsers of the crawl at random moments, until it ends or there was enough of it.
fn slaughter(crawl: &mut Child, kills: u64) -> Slaughter {
    let mut dice = Dice(number("CLEWLINE_SEED", 0x5eed));
    let mut done = Slaughter::default();
    let root = crawl.id();
    while crawl.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(dice.below(LONGEST_WAIT) as u64));
        let browsers: Vec<u32> = browsers_of(root).into_iter().collect();
        let held = browsers.iter().map(|process| memory(*process)).sum();
        done.browsers = done.browsers.max(held);
        done.crawler = done.crawler.max(memory(root));
        if let Some(victim) = browsers.get(dice.below(browsers.len()))
            && done.kills < kills
        {
            kill(*victim);
            done.kills += 1;
        }
    }
    done
}

/// All records of a folder by path; a path that has two fails the test.
fn recorded(folder: &Path, web: &LiveWeb) -> BTreeMap<String, Record> {
    let origin = web.url("127.0.0.1", "");
    let mut all = BTreeMap::new();
    for record in records(&folder.join("urls.jsonl")).unwrap() {
        let record = record.unwrap();
        let path = record.url.as_str()[origin.trim_end_matches('/').len()..].to_owned();
        let twice = all.insert(path, record);
        assert!(twice.is_none(), "recorded twice: {twice:?}");
    }
    all
}

/// Whether the crawl could not even begin, because nothing renders here.
fn has_no_browser(talk: &str) -> bool {
    let is_promised = std::env::var_os("CLEWLINE_BROWSER_TESTS").is_some();
    let is_missing = talk.contains("no browser") || talk.contains("no sandbox");
    assert!(!(is_missing && is_promised), "{talk}");
    is_missing
}

#[test]
fn browsers_killed_during_a_crawl_lose_no_url_and_bring_none_twice() {
    let kills = number("CLEWLINE_BROWSER_KILLS", 4);
    let pages = kills * PAGES_PER_KILL;
    let web = site(pages);
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a.crawl");
    let mut crawl = start(&folder, &web);
    // A crawl whose first browser does not start is none.
    while crawl.try_wait().unwrap().is_none() && !has_begun(&web) {}
    let done = slaughter(&mut crawl, kills);
    let (output, talk) = ended(crawl);
    if has_no_browser(&talk) {
        eprintln!("SKIPPED, although it matters: {talk}");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{talk}");
    let found = recorded(&folder, &web);
    let mut expected = BTreeSet::from(["/".to_owned()]);
    let mut lost = 0;
    let mut errors: BTreeMap<&str, u64> = BTreeMap::new();
    for page in 0..pages {
        let (app, leaf) = (format!("/app/{page}"), format!("/leaf/{page}"));
        let record = &found[&app];
        assert_eq!(record.outcome, OutcomeKind::Fetched, "{record:?}");
        assert_eq!(web.log().count(&app), 1, "{app} was asked for again");
        let rendered = record.rendered.as_ref().unwrap();
        // A page that three browsers died of is as it was answered.
        if let Some(error) = &rendered.error {
            lost += 1;
            *errors.entry(error).or_default() += 1;
        } else {
            expected.insert(leaf);
        }
        expected.insert(app);
    }
    let paths: BTreeSet<String> = found.keys().cloned().collect();
    assert_eq!(paths, expected);
    eprintln!("{done:?}, {lost} of {pages} pages were not rendered: {errors:?}");
    assert_eq!(done.kills, kills, "the crawl was over too soon");
    assert!(lost <= kills, "{lost} renderings were lost");
    assert!(done.browsers <= TABS * BROWSER_MEMORY, "{done:?}");
    assert!(done.crawler <= CRAWLER_MEMORY, "{done:?}");
    if let Some(path) = std::env::var_os("CLEWLINE_REPORT") {
        let report = json!({
            "kills": done.kills, "pages": pages, "lost": lost,
            "browsers": done.browsers, "crawler": done.crawler,
        });
        std::fs::write(path, report.to_string()).unwrap();
    }
}
