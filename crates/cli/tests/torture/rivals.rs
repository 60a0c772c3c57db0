//! Other crawlers on the same graph, killed as ours is: how much they lose and repeat.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use mutate::Dice;
use serde_json::json;
use terrarium::LiveWeb;

use crate::graph::{Graph, HOST, ROOT};
use crate::run::number;

/// A run of a rival that takes longer hangs.
const PATIENCE: Duration = Duration::from_mins(5);

/// Starts a rival: the words of its command, with the places filled in.
fn start(words: &str, web: &LiveWeb, out: &Path) -> Child {
    let url = web.url(HOST, ROOT);
    let fill = |word: &str| {
        word.replace("{url}", &url)
            .replace("{out}", &out.display().to_string())
    };
    let mut words = words.split_whitespace().map(fill);
    Command::new(words.next().unwrap())
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until the server was asked so many times more, or the rival has ended.
fn wait(child: &mut Child, web: &LiveWeb, requests: usize) -> bool {
    let target = web.log().len().saturating_add(requests);
    let began = std::time::Instant::now();
    loop {
        if web.wait_for(|log| log.len() >= target, Duration::from_millis(200)) {
            return true;
        }
        if child.try_wait().unwrap().is_some() || began.elapsed() > PATIENCE {
            return false;
        }
    }
}

/// One crawl of a rival with kills: what it lost, what it asked more than once.
fn ordeal(first: &str, again: &str, kills: usize, dice: &mut Dice) -> serde_json::Value {
    let graph = Graph::new(number("CLEWLINE_RIVAL_PAGES", 600));
    let place = tempfile::tempdir().unwrap();
    let web = graph.serve();
    let mut done = 0;
    for run in 0..=kills {
        let words = if run == 0 { first } else { again };
        let mut child = start(words, &web, place.path());
        let requests = if run < kills {
            graph.pages() as usize / 12 + dice.below(graph.pages() as usize / 8)
        } else {
            usize::MAX
        };
        if wait(&mut child, &web, requests) {
            done += 1;
        }
        child.kill().ok();
        child.wait().unwrap();
    }
    let mut asked: BTreeMap<String, usize> = BTreeMap::new();
    for hit in web.log().iter().filter(|hit| hit.status != Some(500)) {
        *asked.entry(hit.target.clone()).or_default() += 1;
    }
    let expected = graph.expected();
    let pages = || expected.iter().filter(|(_, fate)| fate.1.is_some());
    let lost = pages().filter(|(path, _)| !asked.contains_key(*path));
    let repeats: usize = pages()
        .filter_map(|(path, _)| asked.get(path))
        .map(|count| count - 1)
        .sum();
    json!({"pages": pages().count(), "kills": done, "lost": lost.count(), "repeats": repeats})
}

/// This crawler by the same rules, so that they are tried in every test run.
fn ourselves() -> String {
    let program = env!("CARGO_BIN_EXE_clewline");
    let words = format!("{program} {{url}} --quiet --no-sitemaps --output {{out}}/a.crawl");
    format!("clewline\t{words}\t{words}")
}

/// The crawlers in `CLEWLINE_RIVALS`: a line each of name, first command and the one that goes
/// on. `cargo xtask torture --rivals` names them and reads the figures.
#[test]
fn crawlers_are_measured_by_what_they_lose() {
    let rivals = std::env::var("CLEWLINE_RIVALS").unwrap_or_else(|_| ourselves());
    let mut dice = Dice(number("CLEWLINE_SEED", 0x5eed));
    let mut results = Vec::new();
    for line in rivals.lines() {
        let mut parts = line.split('\t');
        let mut part = || parts.next().unwrap();
        let (name, first, again) = (part(), part(), part());
        for kills in [0, 1, 3] {
            let mut result = ordeal(first, again, kills, &mut dice);
            assert!(name != "clewline" || result["lost"] == 0, "{result}");
            result["name"] = json!(name);
            eprintln!("{result}");
            results.push(result);
        }
    }
    if let Some(path) = std::env::var_os("CLEWLINE_REPORT") {
        std::fs::write(path, json!(results).to_string()).unwrap();
    }
}
