//! Records on stdout while a crawl runs, and messages for programs.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use clewline_job::record::Record;
use serde_json::Value;
use terrarium::{Page, Site};

use crate::place::{HOST, Place, Ran, web_of};

#[test]
fn each_line_is_the_record_of_the_folder() {
    let site = Site::new()
        .page("/", Page::html(terrarium::links(["/a", "/missing"])))
        .page("/a", Page::html("<title>A</title>"));
    let web = web_of(site);
    let place = Place::new();
    let ran = place.run(&[&web.url(HOST, "/"), "--stream", "jsonl", "-o", "x.crawl"]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    let lines = ran.out.lines().map(serde_json::from_str);
    let printed: Vec<Record> = lines.map(Result::unwrap).collect();
    assert_eq!(printed, place.records("x.crawl"));
    assert!(printed.len() >= 3, "{}", ran.out);
}

#[cfg(unix)]
#[test]
fn a_crawl_ends_when_nobody_reads_its_records() {
    let site = Site::new().handler(|request| {
        // A site without end: only the closed pipe can stop this crawl.
        let number: u64 = request.path().trim_start_matches('/').parse().unwrap_or(0);
        Page::html(format!("<p>{number}<a href=/{}>next</a>", number + 1)).into()
    });
    let web = web_of(site);
    let place = Place::new();
    let root = web.url(HOST, "/0");
    let line = [
        &root,
        "--stream",
        "jsonl",
        "--no-output",
        "--no-trap-detection",
    ];
    let mut child = place
        .command(&line)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    let first: Record = serde_json::from_str(&out.next().unwrap().unwrap()).unwrap();
    assert_eq!(first.depth, 0);
    drop(out);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(
        ran.code, 0,
        "whoever closed the pipe has read enough: {}",
        ran.talk
    );
}

#[test]
fn stdout_has_one_use() {
    let ran = Place::new().run(&["a.test", "--stream", "jsonl", "--list"]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.talk.contains("--stream: takes stdout for records"),
        "{}",
        ran.talk
    );
}

#[test]
fn messages_can_be_json() {
    let site = Site::new().page("/docs/x", Page::html("x"));
    let web = web_of(site);
    let root = web.url(HOST, "/docs/x");
    let ran = Place::new().run(&[&root, "--no-output", "-v", "--log-format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    let lines: Vec<Value> = (ran.talk.lines().map(serde_json::from_str))
        .collect::<Result<_, _>>()
        .unwrap();
    let says = |level: &str, words: &str| {
        lines
            .iter()
            .any(|line| line["level"] == level && line["message"].as_str().unwrap().contains(words))
    };
    assert!(
        says("note", "to stay below /docs/ add --no-parent"),
        "{}",
        ran.talk
    );
    assert!(says("info", &format!("200 {root}")), "{}", ran.talk);
    let ran = Place::new().run(&[&root, "--log-format", "json", "--scope", "any"]);
    let error: Value = serde_json::from_str(ran.talk.trim()).unwrap();
    assert_eq!((ran.code, &error["level"]), (2, &Value::from("error")));
    assert!(
        error["hints"][0]
            .as_str()
            .unwrap()
            .starts_with("add --contact"),
        "{error}"
    );
}
