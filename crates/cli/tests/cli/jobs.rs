//! A job that is there: going on, looking at it, steering it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use serde_json::Value;
use terrarium::{LiveWeb, Page, Site, Web, numbered_links};

use crate::place::{HOST, Place, Ran, garden, masked, web_of};
use crate::signals::{PATIENCE, Running, endless, wait_for_requests};

/// How often a crawl is asked again until it says what it will say in a moment.
const ASKED: usize = 2000;

fn status(place: &Place) -> Value {
    let ran = place.run(&["status", "--json"]);
    assert_eq!((ran.code, ran.talk.as_str()), (0, ""));
    serde_json::from_str(&ran.out).unwrap()
}

/// Asks until the answer is as expected.
fn until(place: &Place, line: &[&str], fits: impl Fn(&str) -> bool) -> String {
    let mut last = String::new();
    for _ in 0..ASKED {
        let ran = place.run(line);
        last = format!("{}{}", ran.out, ran.talk);
        if fits(&last) {
            return last;
        }
    }
    panic!("{line:?} never answers so: {last}");
}

/// Everything in a job folder that is not the store's own business.
fn results(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = ["job.toml", "urls.jsonl", "links/00000.links", "report.html"];
    let read = |name: &&str| ((*name).to_owned(), fs::read(folder.join(name)).unwrap());
    files.iter().map(read).collect()
}

/// A site whose root links to twenty pages.
fn twenty() -> Site {
    Site::new()
        .page("/", Page::html(numbered_links("/p/", 20)))
        .under("/p/", |_| Page::html("leaf").into())
}

/// The first page of a crawl, so that something is left to do.
fn begun(web: &LiveWeb, more: &[&str]) -> Place {
    let place = Place::new();
    let root = web.url(HOST, "/");
    let mut line = vec!["-q", "-n", "1", "--no-sitemaps", "-o", "a.crawl", &root];
    line.extend(more);
    let ran = place.run(&line);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    place
}

fn check(ran: &Ran, code: i32, talk: &str) {
    assert_eq!((ran.code, ran.talk.as_str()), (code, talk), "{}", ran.out);
}

#[test]
fn resume_needs_no_command_and_takes_flags() {
    let web = web_of(twenty());
    let place = begun(&web, &[]);
    assert_eq!(place.run(&["resume", "-q"]).code, 0);
    assert_eq!(
        web.log().count("/"),
        1,
        "the budget of the folder still counts"
    );
    assert_eq!(status(&place)["pages"], 1);
    assert_eq!(place.run(&["resume", "-q", "-n", "5"]).code, 0);
    assert_eq!(status(&place)["pages"], 5, "a flag raises it");
    assert_eq!(status(&place)["figures"]["max_pages"], 5, "and it is kept");
    assert_eq!(place.run(&["resume", "a.crawl", "-q", "-n", "100"]).code, 0);
    assert_eq!(place.records("a.crawl").len(), 21);
    let finished = place.run(&["resume"]);
    let expected = "note: a.crawl holds a finished crawl: nothing is left to do\n\
                    note: to bring it up to date, give the command that made it with \
                    --update-from a.crawl -o a-";
    assert_eq!(finished.code, 0);
    assert!(finished.talk.starts_with(expected), "{}", finished.talk);
    assert_eq!(status(&place)["state"], "finished");
    assert_eq!(web.log().count("/p/3"), 1);
}

/// The time for a connection is never longer than the whole, unless somebody wrote it so.
#[test]
fn resume_takes_up_a_crawl_with_a_short_timeout() {
    let web = web_of(twenty());
    let place = begun(&web, &["-T", "5s"]);
    assert_eq!(place.run(&["resume", "-q", "-n", "2"]).code, 0);
    assert_eq!(place.run(&["resume", "-q", "-n", "3", "-T", "3s"]).code, 0);
    let ran = place.run(&["resume", "--connect-timeout", "4s"]);
    check(
        &ran,
        2,
        "error: --connect-timeout: is longer than --timeout, which covers it\n",
    );
    assert_eq!(status(&place)["pages"], 3);
}

/// Damage is told with the file's name and a way on, and `--repair` is that way.
#[test]
fn what_is_lost_of_a_job_is_named_and_repaired() {
    let web = web_of(twenty());
    let place = begun(&web, &[]);
    let log = place.path("a.crawl/urls.jsonl");
    let before = fs::read(&log).unwrap();
    fs::remove_file(&log).unwrap();
    let ran = place.run(&["resume", "-n", "2"]);
    assert_eq!(ran.code, 3);
    assert!(ran.talk.contains("a.crawl/urls.jsonl"), "{}", ran.talk);
    assert!(ran.talk.contains("--repair makes it again"), "{}", ran.talk);
    let ran = place.run(&["resume", "-n", "2", "--repair"]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    assert!(
        ran.talk.contains("made again from the archive"),
        "{}",
        ran.talk
    );
    assert!(fs::read(&log).unwrap().starts_with(&before));
    let store = place.path("a.crawl/state/store");
    for entry in fs::read_dir(store.join("keyspaces")).unwrap() {
        fs::remove_dir_all(entry.unwrap().path()).unwrap();
    }
    let ran = place.run(&["resume", "-n", "3"]);
    assert_eq!(ran.code, 3);
    assert!(ran.talk.contains("a.crawl/state/store"), "{}", ran.talk);
    assert!(
        !ran.talk.contains("Error:") && !ran.talk.contains("Storage("),
        "{}",
        ran.talk
    );
}

#[test]
fn resume_refuses_another_scope_and_another_place() {
    let web = web_of(twenty());
    let place = begun(&web, &["--exclude", "nothing'\"here"]);
    let ran = place.run(&["resume", "--scope", "domain"]);
    check(
        &ran,
        2,
        "error: a.crawl holds an unfinished crawl of another scope:\n  reach: \"host\" → \
         \"domain\"\n\nhint: go on with the old scope, or say --rescope to go on with the new \
         one\n",
    );
    let ran = place.run(&["resume", "-o", "b", "--overwrite"]);
    check(
        &ran,
        2,
        "error: --output: belongs to a new crawl, not to `resume`\nerror: --overwrite: belongs \
         to a new crawl, not to `resume`\n",
    );
    assert_eq!(
        place
            .run(&["resume", "-q", "--scope", "domain", "--rescope"])
            .code,
        0
    );
    assert_eq!(place.names("."), ["a.crawl"]);
}

#[test]
fn secrets_are_asked_for_again() {
    let web = web_of(twenty());
    let secrets = ["-H", "X-Key: hunter2", "-u", "me:hunter2"];
    let place = begun(&web, &secrets);
    let stored = fs::read_to_string(place.path("a.crawl/job.toml")).unwrap();
    assert!(
        stored.contains("X-Key") && !stored.contains("hunter2"),
        "{stored}"
    );
    let expected = "\
error: --header: is not kept in the job folder; give it again: -H 'X-Key: …'
error: --user: is not kept in the job folder; give it again: -u USER:PASS
";
    check(&place.run(&["resume"]), 2, expected);
    let asked = web.log().len();
    let line = [&["resume", "-q", "-n", "100"][..], &secrets].concat();
    assert_eq!(place.run(&line).code, 0);
    assert!(web.log().len() > asked);
}

#[test]
fn the_folder_may_be_left_out() {
    let place = Place::new();
    for verb in [
        &["status"][..],
        &["resume"],
        &["why", "http://a.test/"],
        &["ctl", "pause"],
    ] {
        let expected = "error: DIR: is missing, and there is no *.crawl folder here\n\n\
                        hint: name the job folder\n";
        check(&place.run(verb), 2, expected);
    }
    let web = web_of(twenty());
    let place = begun(&web, &[]);
    assert_eq!(status(&place)["folder"], "a.crawl");
    fs::create_dir(place.path("empty.crawl")).unwrap();
    assert_eq!(status(&place)["folder"], "a.crawl", "it is no job");
    fs::create_dir(place.path("b.crawl")).unwrap();
    fs::copy(
        place.path("a.crawl/job.toml"),
        place.path("b.crawl/job.toml"),
    )
    .unwrap();
    let written = |name: &str, seconds: u64| {
        let file = fs::File::options().write(true).open(place.path(name));
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        file.unwrap().set_modified(at).unwrap();
    };
    written("a.crawl/job.toml", 1000);
    written("a.crawl/urls.jsonl", 3000);
    for (at, expected) in [(2000, "a"), (4000, "b")] {
        written("b.crawl/job.toml", at);
        let ran = place.run(&["status"]);
        assert!(ran.out.starts_with(expected), "{}", ran.out);
        let note = format!(
            "note: taking {expected}.crawl, the newest of the 2 crawls here; \
             name the folder to take another\n"
        );
        assert_eq!((ran.code, ran.talk), (0, note));
    }
    let ran = place.run(&["status", "nowhere"]);
    check(
        &ran,
        2,
        "error: nowhere is not a job folder\n\nhint: a crawl makes one: clewline URL\n",
    );
}

#[test]
fn a_stopped_crawl_is_looked_at_and_not_changed() {
    let web = web_of(twenty());
    let place = begun(&web, &["--delay", "1ms"]);
    let before = results(&place.path("a.crawl"));
    let ran = place.run(&["status"]);
    assert_eq!((ran.code, ran.talk.as_str()), (0, ""));
    let text = masked(&ran.out, &web);
    assert!(
        text.starts_with(
            "a.crawl: not running, unfinished; stopped by --max-pages\n1 done, 20 queued"
        ),
        "{text}"
    );
    assert!(text.contains("\n127.0.0.1 "), "{text}");
    let figures = status(&place);
    assert_eq!(figures["hosts"][0]["queued"], 20);
    assert_eq!(figures["hosts"][0]["interval"], 0.001);
    assert!(
        place
            .run(&["why", &web.url(HOST, "/p/1")])
            .out
            .contains("queued")
    );
    assert_eq!(results(&place.path("a.crawl")), before);
    check(
        &place.run(&["ctl", "rate", "5/s"]),
        3,
        "error: no crawl runs in a.crawl\n\nhint: clewline resume continues it, with new \
         limits if you give flags\n",
    );
    assert_eq!(place.run(&["resume", "-q", "-n", "100"]).code, 0);
    assert_eq!(
        place.records("a.crawl").len(),
        21,
        "nothing was lost by looking"
    );
}

#[test]
fn a_stopped_crawl_has_its_own_speed() {
    let named = Web::new().site("a.test", twenty()).start();
    let root = named.url("a.test", "/");
    let place_of = &named.resolve_args()[0];
    let place = Place::new();
    let line = ["-q", "-n", "1", "--no-sitemaps", "-o", "a.crawl", &root];
    let ran = place.run(&[&line[..], &["--resolve", place_of]].concat());
    assert_eq!(ran.code, 0, "{}", ran.talk);
    let near = status(&place);
    assert_eq!(near["hosts"][0]["queued"], 20);
    assert_eq!(
        (&near["hosts"][0]["interval"], &near["left"]),
        (&0.0.into(), &0.0.into())
    );
    assert!(
        !place.run(&["status"]).out.contains("left;"),
        "no time is left"
    );
    let web = web_of(twenty());
    assert_eq!(status(&begun(&web, &[]))["left"], 0.0);
    let slow = status(&begun(&web, &["--speed", "polite"]));
    assert!(slow["left"].as_f64().unwrap() > 1.0, "{slow}");
}

#[test]
fn a_running_crawl_answers_and_obeys() {
    let web = web_of(endless());
    let place = Place::new();
    let root = web.url(HOST, "/");
    let line = ["-o", "a.crawl", "--no-sitemaps", "--max-time", "5m", &root];
    let mut running = Running::start(&place, &line);
    wait_for_requests(&web, 5);
    assert_eq!(status(&place)["state"], "running");
    until(&place, &["status", "--json"], |text| {
        !text.contains("\"done\":0,")
    });

    let ran = place.run(&["ctl", "pause"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (0, "paused until `clewline ctl continue`\n")
    );
    until(&place, &["status"], |text| text.contains("0 in flight"));
    let asked = web.log().len();
    let text = place.run(&["status"]).out;
    assert!(text.starts_with("a.crawl: paused; "), "{text}");
    assert_eq!(web.log().len(), asked, "nothing is asked during a pause");

    for (order, told) in [
        (["rate", "300/m"], "rate 5/s"),
        (["concurrency", "7"], "concurrency 7"),
        (["max-pages", "100_000"], "max-pages 100000"),
    ] {
        let ran = place.run(&["ctl", "a.crawl", order[0], order[1]]);
        let expected = format!("{told}, from now on and in later runs (job.toml)\n");
        assert_eq!((ran.code, ran.out), (0, expected), "{}", ran.talk);
    }
    let all = status(&place);
    let figures = &all["figures"];
    assert_eq!(
        (&figures["rate"], &figures["concurrency"]),
        (&5.0.into(), &7.into())
    );
    let stored = fs::read_to_string(place.path("a.crawl/job.toml")).unwrap();
    assert!(
        stored.contains("rate = 5.0") && stored.contains("pages = 100000"),
        "{stored}"
    );
    let ran = place.run(&["ctl", "rate", "none"]);
    check(
        &ran,
        2,
        "error: --rate: `none` is not a rate such as 5/s or 30/m\n",
    );

    assert_eq!(place.run(&["ctl", "continue"]).code, 0);
    wait_for_requests(&web, asked + 2);
    assert_eq!(place.run(&["ctl", "stop"]).code, 0);
    let _talk = running.wait_for_line("note: stopped with");
    assert_eq!(running.end().0, Some(130));
    let text = place.run(&["status"]).out;
    assert!(
        text.starts_with("a.crawl: not running, unfinished; interrupted\n"),
        "{text}"
    );
    assert!(!place.path("a.crawl/state/control").exists());
}

/// A crawl that asks once and then waits for longer than any test lasts.
fn with_an_hour_between(place: &Place, root: &str) -> Running {
    let line = [
        "-q",
        "-o",
        "a.crawl",
        "--no-sitemaps",
        "--ignore-robots",
        "--delay",
        "1h",
        root,
    ];
    Running::start(place, &line)
}

#[test]
fn a_change_counts_at_once() {
    let web = web_of(twenty());
    let place = Place::new();
    let root = web.url(HOST, "/");
    let running = with_an_hour_between(&place, &root);
    let text = until(&place, &["status"], |text| text.contains("20 queued"));
    assert!(
        text.contains("about 19h") && text.contains("127.0.0.1 takes longest"),
        "{text}"
    );
    assert!(
        text.contains("100 % waiting for the delay of 127.0.0.1"),
        "{text}"
    );
    let text = place.run(&["why", &web.url(HOST, "/p/7")]).out;
    assert!(
        text.contains("verdict      queued, not settled yet"),
        "{text}"
    );
    assert!(
        text.contains(&format!("linked from  {root} (anchor)")),
        "{text}"
    );
    assert_eq!(place.run(&["ctl", "delay", "0s"]).code, 0);
    assert_eq!(running.end().0, Some(0));
    assert_eq!(place.records("a.crawl").len(), 21);
}

#[test]
fn a_crawl_delay_is_named() {
    let site = Site::new()
        .robots("User-agent: *\nCrawl-delay: 100\n")
        .under("/", |_| Page::html("x").into());
    let web = web_of(site);
    let place = Place::new();
    let roots: Vec<String> = (0..5)
        .map(|page| web.url(HOST, &format!("/{page}")))
        .collect();
    let mut line = vec!["-q", "-o", "a.crawl", "--no-sitemaps"];
    line.extend(roots.iter().map(String::as_str));
    let running = Running::start(&place, &line);
    assert!(web.wait_for(|log| log.count("/robots.txt") > 0, PATIENCE));
    let expected = "100 % waiting for the crawl delay of 127.0.0.1";
    let text = until(&place, &["status"], |text| text.contains(expected));
    assert!(text.contains("5 queued"), "{text}");
    assert!(
        text.contains("about 8m") || text.contains("about 7m"),
        "{text}"
    );
    assert_eq!(place.run(&["ctl", "stop"]).code, 0);
    assert_eq!(running.end().0, Some(130));
}

#[test]
fn a_killed_crawl_says_so_and_goes_on() {
    let web = web_of(twenty());
    let place = Place::new();
    let root = web.url(HOST, "/");
    let running = with_an_hour_between(&place, &root);
    until(&place, &["status"], |text| {
        text.contains("1 done, 20 queued")
    });
    running.signal(Signal::KILL);
    running.ended();
    assert!(
        place.path("a.crawl/state/control").exists(),
        "the socket is left behind"
    );
    let text = place.run(&["status"]).out;
    assert!(
        text.starts_with("a.crawl: not running, unfinished; its last run was killed\n1 done, 20"),
        "{text}"
    );
    let left = status(&place)["left"].as_f64().unwrap();
    assert!(
        left > 19.5 * 3600.0,
        "the gap before the next request counts on: {left}"
    );
    assert_eq!(place.run(&["ctl", "pause"]).code, 3);
    assert_eq!(place.run(&["resume", "-q", "--delay", "0s"]).code, 0);
    assert_eq!(place.records("a.crawl").len(), 21);
}

/// A finished crawl of the garden, with a page that fails once and a parameter that is dropped.
fn walked() -> (LiveWeb, Place) {
    let calls = AtomicU32::new(0);
    let flaky = move || match calls.fetch_add(1, Ordering::Relaxed) {
        0 => 500,
        _ => 200,
    };
    let site = garden()
        .page(
            "/a",
            Page::html("<a href=/gone>gone</a><a href=/flaky?sid=1>f</a>"),
        )
        .under("/flaky", move |_| Page::html("f").status(flaky()).into());
    let web = web_of(site);
    let place = Place::new();
    let root = web.url(HOST, "/");
    let mut line = vec!["-q", "-o", "a.crawl", "--retry-delay", "1ms"];
    line.extend(["--drop-params", "sid", &root]);
    assert_eq!(place.run(&line).code, 0);
    (web, place)
}

/// What `why` says of a path holds all of these; `HOST` stands for the site.
fn check_why((web, place): &(LiveWeb, Place), path: &str, expected: &[&str]) {
    let ran = place.run(&["why", &web.url(HOST, path)]);
    assert_eq!((ran.code, ran.talk.as_str()), (0, ""), "{path}");
    let text = masked(&ran.out, web).replace("http://127.0.0.1:PORT", "HOST");
    for line in expected {
        assert!(text.contains(line), "{path}: {line:?} is not in\n{text}");
    }
}

#[test]
fn why_tells_the_whole_trail() {
    let walked = walked();
    let check = |path: &str, expected: &[&str]| check_why(&walked, path, expected);
    check(
        "/",
        &[
            "verdict      fetched\n",
            "found        as root, depth 0\n",
            "try 1        DATE status 200",
        ],
    );
    check(
        "/a",
        &[
            "linked from  HOST/ (anchor)\n",
            "pointed to   by 1 redirect: HOST/old\n",
            "queued       DATE\n",
            "digest       xxh3:",
        ],
    );
    check(
        "/old",
        &["verdict      redirected\n", "redirects to HOST/a (200)\n"],
    );
    check(
        "/gone",
        &[
            "try 1        DATE status 404",
            "found        on HOST/a (anchor), depth 2\n",
        ],
    );
    check(
        "/flaky?sid=2",
        &[
            "try 1        DATE status 500\n",
            "try 2        DATE status 200",
            "dropped      sid=2 (--drop-params)\n",
            "known as     HOST/flaky\n",
            "asked as     HOST/flaky?sid=1\n",
        ],
    );
}

#[test]
fn why_names_the_rule_that_refuses() {
    let walked = walked();
    let check = |path: &str, expected: &[&str]| check_why(&walked, path, expected);
    check(
        "/secret/",
        &["skipped, robots.txt disallows it: robots.txt line 2: Disallow: /secret/\n"],
    );
    check(
        "/secret/x",
        &["would be refused, robots.txt disallows it: robots.txt line 2"],
    );
    check(
        "/nobody",
        &[
            "unknown: nothing speaks against it",
            "no page of this crawl links to it",
        ],
    );
    let (web, place) = &walked;
    let away = place.run(&["why", "a.crawl", "http://elsewhere.test/"]).out;
    let expected = "refused, it lies outside the scope of the crawl: --scope host";
    assert!(away.contains(expected), "{away}");
    assert!(away.contains("linked from  http://127.0.0.1"), "{away}");
    let json = place.run(&["why", "--json", &web.url(HOST, "/old")]).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["fate"], "recorded");
    assert_eq!(json["record"]["status"], 301);
}
