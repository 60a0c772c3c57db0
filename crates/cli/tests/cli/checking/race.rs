//! The race of link checkers over a web whose truth is known.
//!
//! Owns how others are run beside ours and how their answers are read. `cargo xtask check-race` runs it
//! large and with others; the suite has a smaller web for ours alone. Invariant: ours and theirs see a web of the
//! same seed, each a fresh one, so that nobody profits from what another asked.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use terrarium::{LinkTruth, LinkWeb, LinkWebConfig, LiveLinkWeb, WebLink};

use super::{check_list, remembered, way};
use crate::place::Place;

/// The start of a line of the table.
const LINE: &str = "check-race: ";
/// The size of the web, `PAGES,LINKS,HOSTS`.
const SIZE: &str = "CLEWLINE_RACE_SIZE";
/// Programs of others, `NAME=PATH` with commas between.
const RIVALS: &str = "CLEWLINE_RACE_RIVALS";
/// The longest that another checker may take, in seconds.
const LONGEST: &str = "900";

/// What a checker said.
struct Answers {
    broken: BTreeSet<String>,
    took: Duration,
}

/// What came of it.
#[derive(Default)]
struct Score {
    false_alarms: usize,
    found: usize,
    dead: usize,
    breaches: usize,
    requests: usize,
}

fn size() -> LinkWebConfig {
    let text = std::env::var(SIZE).unwrap_or_default();
    let numbers: Vec<u32> = text
        .split(',')
        .filter_map(|part| part.parse().ok())
        .collect();
    match numbers[..] {
        [pages, links, hosts] => LinkWebConfig {
            pages,
            links,
            hosts,
            seed: 7,
        },
        _ => LinkWebConfig {
            pages: 20,
            links: 400,
            hosts: 200,
            seed: 7,
        },
    }
}

fn score(links: &[WebLink], answers: &Answers, web: &LiveLinkWeb) -> Score {
    let mut score = Score {
        breaches: web.breaches().len(),
        requests: web.requests(),
        ..Score::default()
    };
    for link in links {
        let is_called_broken = answers.broken.contains(link.target());
        match link.truth {
            LinkTruth::Dead(_) => {
                score.dead += 1;
                score.found += usize::from(is_called_broken);
            }
            _ => score.false_alarms += usize::from(is_called_broken),
        }
    }
    score
}

#[expect(clippy::print_stdout, reason = "the table is what the race is run for")]
fn told(name: &str, score: &Score, took: Duration) {
    let percent = 100.0 * score.found as f64 / score.dead.max(1) as f64;
    println!(
        "{LINE}{name:14} {:6} {:6} of {:6} {percent:6.1} % {:8} {:9} {:6.0} s",
        score.false_alarms,
        score.found,
        score.dead,
        score.breaches,
        score.requests,
        took.as_secs_f64()
    );
}

#[test]
fn nobody_alive_is_called_broken_and_nobody_dead_is_missed() {
    if std::env::var_os(SIZE).is_none() {
        eprintln!("SKIPPED: the race is run by cargo xtask check-race");
        return;
    }
    println!(
        "{LINE}{:14} {:>6} {:>16} {:>8} {:>8} {:>9} {:>8}",
        "checker", "false", "dead found", "", "breaches", "requests", "time"
    );
    let config = size();
    let web = LinkWeb::new(config).start();
    let links = web.links();
    let place = Place::new().with_file("ca.pem", web.ca_pem());
    let urls: Vec<String> = links.iter().map(|link| link.url.clone()).collect();
    let mut flags = way(&web);
    flags.extend(["--unsure-for".to_owned(), "0s".to_owned()]);
    for run in 1..=3 {
        let began = Instant::now();
        check_list(&place, &flags, &urls);
        let broken = remembered(&place)
            .into_iter()
            .filter(|(_, line)| line["verdict"] == "broken")
            .map(|(url, _)| url)
            .collect();
        let answers = Answers {
            broken,
            took: began.elapsed(),
        };
        let scored = score(&links, &answers, &web);
        told(&format!("clewline {run}"), &scored, answers.took);
        assert_eq!(scored.false_alarms, 0, "run {run}");
        assert_eq!(scored.breaches, 0, "{:?}", web.breaches());
        if run == 3 {
            let share = scored.found as f64 / scored.dead as f64;
            assert!(share >= 0.995, "{} of {}", scored.found, scored.dead);
        }
    }
    drop(web);
    for (name, program) in rivals() {
        let web = LinkWeb::new(config).start();
        let links = web.links();
        let answers = run_rival(&name, &program, &web, &links);
        told(&name, &score(&links, &answers, &web), answers.took);
    }
}

fn rivals() -> BTreeMap<String, PathBuf> {
    let text = std::env::var(RIVALS).unwrap_or_default();
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, path)| (name.to_owned(), PathBuf::from(path)))
        .collect()
}

/// Runs another checker over the same site. Names are told it by a file of hosts that only it sees.
fn run_rival(name: &str, program: &Path, web: &LiveLinkWeb, links: &[WebLink]) -> Answers {
    let place = Place::new().with_file("hosts", &hosts(web, links));
    let root = web.root();
    let arguments: Vec<String> = match name {
        "linkinator" => ["--recurse", "--format", "json", "--timeout", "20000", &root]
            .map(str::to_owned)
            .to_vec(),
        "linkchecker" => [
            "--check-extern",
            "--no-warnings",
            "--no-status",
            "--timeout",
            "20",
            "--output",
            "csv",
            &root,
        ]
        .map(str::to_owned)
        .to_vec(),
        _ => vec![root.clone()],
    };
    let mut words = vec![program.to_string_lossy().into_owned()];
    words.extend(arguments);
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let script = format!(
        "mount --bind hosts /etc/hosts && exec timeout {LONGEST} {}",
        quoted.join(" ")
    );
    let began = Instant::now();
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script])
        .current_dir(place.path("."))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let broken = match name {
        "linkinator" => linkinator(&text),
        _ => linkchecker(&text),
    };
    Answers {
        broken,
        took: began.elapsed(),
    }
}

fn hosts(web: &LiveLinkWeb, links: &[WebLink]) -> String {
    let mut text = "127.0.0.1 localhost\n".to_owned();
    for (name, address) in web.names(links) {
        let _ = writeln!(text, "{address} {name}");
    }
    text
}

fn linkinator(text: &str) -> BTreeSet<String> {
    let report: Value = serde_json::from_str(text).unwrap_or_default();
    let links = report["links"].as_array().cloned().unwrap_or_default();
    links
        .iter()
        .filter(|link| link["state"] == "BROKEN")
        .filter_map(|link| link["url"].as_str())
        .map(without_fragment)
        .collect()
}

/// Lines of the broken links: `urlname;parentname;baseref;result;…;url;…`.
fn linkchecker(text: &str) -> BTreeSet<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split(';').find(|field| field.starts_with("http")))
        .map(without_fragment)
        .collect()
}

fn without_fragment(url: &str) -> String {
    url.split('#').next().unwrap_or_default().to_owned()
}
