//! Crawls in a process of their own, whose memory and descriptors can be measured and taken.
//!
//! The web lives in the parent. The child is this very test program, run for the one test
//! [`the_crawl_of_a_parent`], which does nothing unless a parent says what to crawl.

use std::process::Command;
use std::time::Duration;

use clewline::Crawl;
use clewline_job::config::{Config, Root};
use clewline_job::report::StoppedBy;
use rustix::process::{Resource, Rlimit, setrlimit};
use terrarium::{Coding, LiveWeb, Page, Reply, Site, Web};

use crate::trial::{beside, outcome, read_records};

/// What a parent tells its child.
const ROOTS: &str = "HOSTILE_ROOTS";
const DNS: &str = "HOSTILE_DNS";
const FOLDER: &str = "HOSTILE_FOLDER";
const FILES: &str = "HOSTILE_FILES";
const MEMORY: &str = "HOSTILE_MEMORY";

/// Larger than the nested page, small enough for a quick test.
const LARGEST_BODY: u64 = 3 << 20;

#[test]
fn the_crawl_of_a_parent() {
    let Ok(roots) = std::env::var(ROOTS) else {
        return;
    };
    let told = |name: &str| std::env::var(name).unwrap();
    let files: u64 = told(FILES).parse().unwrap();
    let limit = Rlimit {
        current: Some(files),
        maximum: Some(files),
    };
    setrlimit(Resource::Nofile, limit).unwrap();
    let roots = roots.split(' ').map(|root| Root::parse(root).unwrap());
    let mut config = Config {
        roots: roots.collect(),
        ..Config::default()
    };
    config.fetch.dns = Some(told(DNS).parse().unwrap());
    config.limits.concurrency = 1000;
    config.limits.tries = 2;
    config.limits.time = Some(Duration::from_mins(1));
    config.politeness.retry_delay = Some(Duration::from_millis(2));
    config.fetch.timeout = Duration::from_secs(20);
    config.fetch.max_body = LARGEST_BODY;
    let crawl = Crawl::from_config(config).folder(told(FOLDER));
    let summary = crawl.run().unwrap().wait().unwrap();
    summary.report.check().unwrap();
    assert_eq!(summary.report.facts.stopped_by, StoppedBy::Finished);
    let memory: u64 = told(MEMORY).parse().unwrap();
    let most = peak_memory();
    assert!(most <= memory, "the crawl took {} MiB", most >> 20);
}

/// The most memory this process ever held, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("there is a status");
    let mut lines = status.lines();
    let most = lines.find_map(|line| line.strip_prefix("VmHWM:"));
    let most = most.map(|most| most.trim().trim_end_matches(" kB").parse());
    let kibibytes: u64 = most
        .expect("the peak is told")
        .expect("it is a number of KiB");
    kibibytes << 10
}

/// What a child may have.
struct Allowance {
    files: u64,
    memory: u64,
}

/// Crawls sites of a web in a child and answers the outcomes by URL.
fn crawl_in_child(web: &LiveWeb, sites: &[String], allowance: &Allowance) -> Vec<(String, String)> {
    let place = tempfile::tempdir().expect("there is room for a folder");
    let folder = place.path().join("job");
    let roots: Vec<String> = sites.iter().map(|site| web.url(site, "/")).collect();
    let child = Command::new(std::env::current_exe().expect("a test knows its program"))
        .args(["child::the_crawl_of_a_parent", "--exact", "--nocapture"])
        .env(ROOTS, roots.join(" "))
        .env(DNS, web.dns_addr().to_string())
        .env(FOLDER, &folder)
        .env(FILES, allowance.files.to_string())
        .env(MEMORY, allowance.memory.to_string())
        .output()
        .expect("a child can be started");
    let said = String::from_utf8_lossy(&child.stdout).into_owned()
        + &String::from_utf8_lossy(&child.stderr);
    assert!(child.status.success(), "{said}");
    read_records(&folder)
        .into_iter()
        .map(|(url, record)| (url, outcome(&record)))
        .collect()
}

/// Far more than a crawl needs, far less than any of the attacks would take.
const ENOUGH_MEMORY: u64 = 192 << 20;

#[test]
fn hostile_bodies_do_not_take_memory() {
    let zeros = |coding| Page::bomb(coding, 1024).into();
    let attacks: Vec<(&str, Reply)> = vec![
        ("gzip", zeros(Coding::Gzip)),
        ("brotli", zeros(Coding::Brotli)),
        ("zstd", zeros(Coding::Zstd)),
        (
            "window",
            Page::bytes("text/html", terrarium::zstd_bomb(1024, 31))
                .header("Content-Encoding", "zstd")
                .verbatim()
                .into(),
        ),
        ("endless", Reply::endless_body()),
        ("headers", Reply::endless_headers()),
        ("length", Reply::claimed_length("1000000000000000000", "x")),
        (
            "nested",
            Page::html(terrarium::nested(200_000, "/bottom")).into(),
        ),
    ];
    let mut web = Web::new();
    let names: Vec<String> = attacks
        .iter()
        .map(|(name, _)| format!("{name}.test"))
        .collect();
    for (name, (_, reply)) in names.iter().zip(attacks) {
        web = web.site(name, beside(["/bad"]).page("/bad", reply));
    }
    let web = web.start();
    let allowance = Allowance {
        files: 1024,
        memory: ENOUGH_MEMORY,
    };
    let outcomes = crawl_in_child(&web, &names, &allowance);
    let bad = outcomes.iter().filter(|(url, _)| url.ends_with("/bad"));
    assert_eq!(bad.count(), names.len());
    assert!(
        outcomes.iter().any(|(url, _)| url.ends_with("/bottom")),
        "depth hides no link"
    );
    let good = outcomes.iter().filter(|(url, _)| url.contains("/good/"));
    assert!(good.clone().all(|(_, outcome)| outcome == "fetched 200"));
    assert_eq!(good.count(), names.len() * 5);
}

/// A thousand requests at once are asked for, and there are descriptors for a few.
#[test]
fn too_few_descriptors_cost_time_and_no_url() {
    let names: Vec<String> = (0..40).map(|number| format!("host{number}.test")).collect();
    let site = || {
        let paths: Vec<String> = (0..8).map(|number| format!("/{number}")).collect();
        let front = Page::html(terrarium::links(&paths));
        let page = |_: &_| Page::html("x").delay(Duration::from_millis(5)).into();
        Site::new()
            .page("/", front)
            .page("/robots.txt", Page::empty(404))
            .handler(page)
    };
    let web = names
        .iter()
        .fold(Web::new(), |web, name| web.site(name, site()))
        .start();
    for files in [48, 64] {
        let allowance = Allowance {
            files,
            memory: u64::MAX,
        };
        let outcomes = crawl_in_child(&web, &names, &allowance);
        let fetched = outcomes
            .iter()
            .filter(|(_, outcome)| outcome == "fetched 200");
        assert_eq!(
            fetched.count(),
            outcomes.len(),
            "{files} descriptors: {outcomes:?}"
        );
        assert_eq!(
            outcomes.len(),
            40 * 10,
            "front, eight pages and sitemap.xml each"
        );
    }
}
