//! `clewline check`: sites, folders and lists, against a web on loopback.

mod inputs;
mod race;
mod updates;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;
use terrarium::{FragmentTruth, LinkTruth, LinkWeb, LinkWebConfig, LiveLinkWeb, WebLink};

use crate::place::{Place, Ran};

/// Flags that lead a check into a link web.
fn way(web: &LiveLinkWeb) -> Vec<String> {
    vec![
        "--no-config".to_owned(),
        "--dns".to_owned(),
        web.dns_addr().to_string(),
        "--allow-private=127.0.0.0/8".to_owned(),
        "--speed".to_owned(),
        "max".to_owned(),
        "--retry-delay".to_owned(),
        "200ms".to_owned(),
        "--robots-retry".to_owned(),
        "200ms".to_owned(),
        "--cacert".to_owned(),
        "ca.pem".to_owned(),
    ]
}

/// Checks a list of URLs.
fn check_list(place: &Place, flags: &[String], urls: &[String]) -> Ran {
    let mut line = vec!["check", "-", "--cache", "external.jsonl"];
    line.extend(flags.iter().map(String::as_str));
    let mut command = place.command(&line);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let text = urls.join("\n");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    Ran::from(child.wait_with_output().unwrap())
}

/// What the memory says of each URL.
fn remembered(place: &Place) -> BTreeMap<String, Value> {
    let text = std::fs::read_to_string(place.path("external.jsonl")).unwrap();
    let line = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        (value["url"].as_str().unwrap().to_owned(), value)
    };
    text.lines().map(line).collect()
}

/// Holds what a check remembers against the truth: how many dead links it found and how many there
/// are.
fn judge(links: &[WebLink], found: &BTreeMap<String, Value>) -> (usize, usize) {
    let (mut dead_found, mut dead) = (0, 0);
    for link in links {
        let line = &found[link.target()];
        let verdict = line["verdict"].as_str().unwrap();
        let is_broken = verdict == "broken";
        match link.truth {
            LinkTruth::Dead(_) => {
                dead += 1;
                dead_found += usize::from(is_broken);
            }
            LinkTruth::Live => {
                // A host that limits its rate may want to be left alone for longer than a check waits.
                let is_limited = verdict == "blocked" && line["status"] == 429;
                let is_good = matches!(verdict, "ok" | "moved");
                assert!(is_good || is_limited, "{link:?} {line}");
            }
            LinkTruth::Walled | LinkTruth::Forbidden => {
                assert_eq!(verdict, "blocked", "{link:?} {line}");
            }
            LinkTruth::Soft => assert_eq!(verdict, "unsure", "{link:?} {line}"),
        }
    }
    (dead_found, dead)
}

#[test]
fn no_live_link_is_called_broken_and_the_dead_ones_are_found() {
    let web = LinkWeb::new(LinkWebConfig {
        pages: 20,
        links: 240,
        hosts: 120,
        seed: 3,
    })
    .start();
    let links = web.links();
    let place = Place::new().with_file("ca.pem", web.ca_pem());
    let urls: Vec<String> = links.iter().map(|link| link.url.clone()).collect();
    let mut flags = way(&web);
    flags.extend(["--unsure-for".to_owned(), "0s".to_owned()]);
    for run in 1..=3 {
        let began = std::time::Instant::now();
        let ran = check_list(&place, &flags, &urls);
        let (found, dead) = judge(&links, &remembered(&place));
        println!(
            "run {run}: {found} of {dead} dead links, {:?}",
            began.elapsed()
        );
        let proven = links.iter().filter(|link| match link.truth {
            LinkTruth::Dead(death) => death.is_proven_at_once(),
            _ => false,
        });
        let expected = if run < 3 { proven.count() } else { dead };
        assert_eq!(found, expected, "run {run}: {}", ran.talk);
    }
    let breaches = web.breaches();
    assert!(breaches.is_empty(), "{breaches:?}");
    let missing = links
        .iter()
        .filter(|link| link.fragment == FragmentTruth::Missing);
    assert!(missing.count() > 2, "the web has links with fragments");
}
