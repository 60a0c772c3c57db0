//! What a check is given, what it leaves, and how it ends.

use std::fs;

use serde_json::Value;
use terrarium::{LiveWeb, Page, Site};

use crate::place::{HOST, Place, Ran, garden, web_of};

/// Runs a check that prints findings as lines.
pub(super) fn check(place: &Place, words: &[&str]) -> (Ran, Vec<Value>) {
    let mut line = vec!["check"];
    line.extend(words);
    line.extend([
        "--format",
        "jsonl",
        "--no-external",
        "--retry-delay",
        "10ms",
    ]);
    let ran = place.run(&line);
    let findings = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let findings = findings.collect();
    (ran, findings)
}

fn of<'a>(findings: &'a [Value], rule: &str) -> Vec<&'a Value> {
    findings.iter().filter(|one| one["rule"] == rule).collect()
}

/// The name under which a check keeps the job of a web.
pub(super) fn job_of(web: &LiveWeb) -> String {
    format!("{HOST}-{}.crawl", web.addr(HOST).port())
}

#[test]
fn a_site_is_checked_again_and_again_in_its_own_job() {
    let web = web_of(garden());
    let place = Place::new();
    let root = web.url(HOST, "/");
    let (ran, first) = check(&place, &[&root]);
    assert_eq!(ran.code, 1, "{}", ran.talk);
    assert!(
        ran.talk.starts_with("checking the site http://"),
        "{}",
        ran.talk
    );
    let broken = of(&first, "links/broken");
    assert_eq!(broken.len(), 1, "{first:?}");
    assert_eq!(broken[0]["target"], web.url(HOST, "/gone"));
    assert_eq!(broken[0]["page"], web.url(HOST, "/a"));
    assert_eq!(broken[0]["place"]["line"], 1);
    let job = job_of(&web);
    assert_eq!(place.names("."), [job.as_str()]);
    let (captured, again) = check(&place, &[&job]);
    assert_eq!((captured.code, &again), (1, &first), "{}", captured.talk);

    let asked = web.log().count("/a");
    web.put(HOST, "/gone", Page::html("<title>Back</title>"));
    for _ in 0..2 {
        let (ran, findings) = check(&place, &[&root]);
        assert!(of(&findings, "links/broken").is_empty(), "{findings:?}");
        assert!(!ran.talk.contains("overwrite"), "{}", ran.talk);
        assert_eq!(place.names("."), [job.as_str()]);
    }
    assert!(web.log().count("/a") > asked, "it was asked again");
    let (_, updated) = check(&place, &[&root]);
    let (_, whole) = check(&place, &[&root, "--output", "whole.crawl"]);
    assert_eq!(updated, whole, "an update finds what a whole crawl finds");
}

#[test]
fn an_update_that_is_killed_is_finished_by_the_next_check() {
    let site = Site::new().pages([
        (
            "/",
            "<title>Home</title><a href=/a>a</a><a href=/gone>gone</a>",
        ),
        ("/a", "<title>A</title><a href=/>home</a>"),
    ]);
    let web = web_of(site);
    let root = web.url(HOST, "/");
    let place = Place::new();
    let (_, expected) = check(&place, &[&root]);
    let mut killed = 0;
    for passing in 1..40 {
        let line = ["check", &root, "--no-external", "--format", "jsonl"];
        let mut command = place.command(&line);
        command.env("CLEWLINE_KILL_AT", format!("before-rename:{passing}"));
        let output = command.output().unwrap();
        if output.status.code().is_some() {
            break;
        }
        killed += 1;
        let (ran, findings) = check(&place, &[&root]);
        assert_eq!(ran.code, 1, "killed at {passing}: {}", ran.talk);
        assert_eq!(findings, expected, "killed at {passing}");
        assert_eq!(place.names("."), [job_of(&web)], "killed at {passing}");
    }
    assert!(killed > 5, "{killed} kills");
}

#[test]
fn a_built_site_names_files_and_lines() {
    let place = Place::new();
    fs::create_dir_all(place.path("public/blog")).unwrap();
    fs::write(
        place.path("public/index.html"),
        "<!doctype html><html lang=en><title>Home</title>\n<a href=blog/>b</a>\n<a href=gone>g</a>\n",
    )
    .unwrap();
    fs::write(
        place.path("public/blog/index.html"),
        "<!doctype html><html lang=en><title>Blog</title><a href=/about#team>a</a>",
    )
    .unwrap();
    fs::write(
        place.path("public/about.html"),
        "<!doctype html><html lang=en><title>About</title><a href=/>home</a>",
    )
    .unwrap();
    let (ran, findings) = check(&place, &["public/"]);
    assert_eq!(ran.code, 1, "{}", ran.talk);
    assert!(
        ran.talk.starts_with("checking the built site in public/"),
        "{}",
        ran.talk
    );
    let broken = of(&findings, "links/broken");
    assert_eq!(broken.len(), 1, "{findings:?}");
    assert_eq!(broken[0]["file"], "public/index.html");
    assert_eq!(broken[0]["place"]["line"], 3);
    let fragments = of(&findings, "links/fragment");
    assert_eq!(fragments.len(), 1, "{findings:?}");
    assert_eq!(fragments[0]["file"], "public/blog/index.html");
    assert_eq!(place.names("."), ["public"], "nothing is left");
}

#[test]
fn documents_are_checked_as_a_forge_shows_them() {
    let place = Place::new();
    fs::create_dir_all(place.path("docs")).unwrap();
    let readme = "# Read me\n\nSee [one](docs/a.md#first-part) and\n[two](docs/gone.md),\n\
                  and [here](#read-me).\n";
    fs::write(place.path("README.md"), readme).unwrap();
    let page = "# A\n\n## First part\n\n[back](../README.md#nowhere)\n";
    fs::write(place.path("docs/a.md"), page).unwrap();
    let (ran, findings) = check(&place, &["README.md", "docs"]);
    assert_eq!(ran.code, 1, "{}", ran.talk);
    let broken = of(&findings, "links/broken");
    assert_eq!(broken.len(), 1, "{findings:?}");
    assert_eq!(broken[0]["file"], "README.md");
    assert_eq!(broken[0]["place"]["line"], 4);
    let fragments = of(&findings, "links/fragment");
    assert_eq!(fragments.len(), 1, "{findings:?}");
    assert_eq!(fragments[0]["file"], "docs/a.md");
    assert_eq!(fragments[0]["place"]["line"], 5);
}

#[test]
fn what_fails_a_run_can_be_chosen() {
    let web = web_of(garden());
    let place = Place::new();
    let root = web.url(HOST, "/");
    let code = |words: &[&str]| {
        let (ran, _) = check(&place, &[&[root.as_str(), "--no-output"], words].concat());
        ran.code
    };
    assert_eq!(code(&[]), 1);
    assert_eq!(code(&["--fail-on", "never"]), 0);
    assert_eq!(code(&["--skip", "links"]), 0);
    assert_eq!(code(&["--only", "links/broken"]), 1);
    assert_eq!(code(&["--only", "no/such-rule"]), 2);
    assert_eq!(code(&["--fail-on", "never", "--min-pages", "1000"]), 1);
    assert_eq!(code(&["--baseline", "known.json", "--update-baseline"]), 1);
    assert_eq!(code(&["--baseline", "known.json"]), 0);
    assert_eq!(place.names("."), ["known.json"], "nothing else is left");
    let (ran, _) = check(
        &place,
        &["http://127.0.0.1:1/", "--no-output", "--tries", "1"],
    );
    assert_eq!(ran.code, 3, "{}", ran.talk);
    assert_eq!(check(&place, &["./nowhere"]).0.code, 2);
}

#[test]
fn rules_explain_themselves() {
    let place = Place::new();
    let listed = place.run(&["check", "--list-rules"]);
    assert_eq!(listed.code, 0, "{}", listed.talk);
    assert!(
        listed
            .out
            .lines()
            .any(|line| line.starts_with("links/broken ")),
        "{}",
        listed.out
    );
    let told = place.run(&["check", "--explain", "links/fragment"]);
    assert!(told.out.contains("How to mend it:"), "{}", told.out);
    assert_eq!(place.run(&["check", "--explain", "links/fragmant"]).code, 2);
}

#[test]
fn workflows_of_github_get_annotations_and_a_summary() {
    let web = web_of(garden());
    let place = Place::new();
    let root = web.url(HOST, "/");
    let mut command = place.command(&["check", &root, "--no-output", "--no-external"]);
    command
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", place.path("summary.md"));
    let ran = Ran::from(command.output().unwrap());
    assert!(ran.talk.contains("::error file="), "{}", ran.talk);
    assert!(!ran.out.contains("::error"), "{}", ran.out);
    let summary = fs::read_to_string(place.path("summary.md")).unwrap();
    assert!(summary.contains("links/broken"), "{summary}");
}

#[test]
fn the_report_opens_in_the_browser() {
    let web = web_of(garden());
    let place = Place::new().with_browser();
    let root = web.url(HOST, "/");
    let run = |words: &[&str]| {
        let line = ["check", &root, "--no-external", "--open"];
        let mut command = place.command_with_browser(&[&line[..], words].concat());
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(ran.code, 1, "{}", ran.talk);
        place.opened()
    };
    let report = place.path(&job_of(&web)).join("report.html");
    assert_eq!(run(&[]), report.to_string_lossy());
    assert!(report.is_file());
    let named = place.path("mine.html");
    assert_eq!(
        run(&["--no-output", "--report", "html=mine.html"]),
        named.to_string_lossy()
    );
    let made = run(&["--no-output"]);
    let page = fs::read_to_string(&made).unwrap();
    assert!(page.contains(&web.url(HOST, "/gone")), "{made}");
}
