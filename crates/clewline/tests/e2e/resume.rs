//! Going on: what was stopped is taken up where it was, and the books cover all runs.

use std::sync::mpsc::channel;
use std::time::Duration;

use clewline::config::{Config, MinFree, Reach};
use clewline::report::StoppedBy;
use clewline::{Crawl, CrawlError, Event, FolderError, Summary};
use tempfile::TempDir;
use terrarium::{LiveWeb, Page, Site, Web, numbered_links};

use super::support::config;

fn site() -> LiveWeb {
    let site = Site::new()
        .robots("User-agent: *\nDisallow: /p/7\n")
        .page(
            "/",
            Page::html(numbered_links("/p/", 20)).header("Set-Cookie", "visit=1"),
        )
        .under("/p/", |request| {
            // Only a crawl that remembers its cookies gets in.
            let status = if request.has_cookie("visit") {
                200
            } else {
                403
            };
            Page::html("<a href=/>home</a>").status(status).into()
        });
    Web::new().site("a.test", site).start()
}

/// A configuration with a job folder of its own; the folder goes with the first.
fn job(web: &LiveWeb) -> (TempDir, Config) {
    let place = tempfile::tempdir().unwrap();
    let mut config = config(web, &["a.test/"]);
    config.output.folder = Some(place.path().join("job"));
    (place, config)
}

fn run(config: &Config) -> Summary {
    Crawl::from_config(config.clone())
        .run()
        .unwrap()
        .wait()
        .unwrap()
}

#[test]
fn a_budget_is_raised_run_by_run() {
    let web = site();
    let (_place, mut config) = job(&web);
    let mut done = 0;
    for pages in [1, 4, 11] {
        config.limits.pages = Some(pages);
        let report = run(&config).report;
        assert_eq!(report.check(), Ok(()));
        assert_eq!(report.tally.pages, pages);
        assert_eq!(
            report.facts.stopped_by,
            StoppedBy::Budget("--max-pages".into())
        );
        assert!(report.tally.done > done);
        done = report.tally.done;
    }
    config.limits.pages = None;
    let report = run(&config).report;
    assert_eq!(report.facts.stopped_by, StoppedBy::Finished);
    assert_eq!(
        report.tally.statuses.get(&200),
        Some(&20),
        "cookies carry on"
    );
    assert_eq!((report.facts.todo, report.tally.outcomes.skipped), (0, 2));
    for path in ["/", "/p/3", "/robots.txt", "/sitemap.xml"] {
        assert_eq!(web.log().count(path), 1, "{path} was asked again");
    }
    assert_eq!(
        web.log().count("/p/7"),
        0,
        "robots.txt is obeyed in every run"
    );
}

#[test]
fn another_scope_is_refused_unless_asked_for() {
    let web = site();
    let (_place, mut config) = job(&web);
    config.limits.pages = Some(1);
    run(&config);
    config.limits.pages = None;
    config.scope.reach = Reach::Domain;
    let error = Crawl::from_config(config.clone()).run().unwrap_err();
    let CrawlError::Folder(FolderError::Rescoped { differences, .. }) = &error else {
        panic!("{error}");
    };
    assert_eq!(differences, &["reach: \"host\" → \"domain\""]);
    config.output.rescope = true;
    assert_eq!(run(&config).report.facts.stopped_by, StoppedBy::Finished);
}

#[test]
fn two_crawls_do_not_share_a_folder() {
    let web = site();
    let (_place, mut config) = job(&web);
    config.politeness.delay = Some(Duration::from_hours(1));
    let first = Crawl::from_config(config.clone()).run().unwrap();
    let error = Crawl::from_config(config).run().unwrap_err();
    assert!(
        matches!(error, CrawlError::Folder(FolderError::InUse { .. })),
        "{error}"
    );
    first.control().stop(Duration::ZERO);
    first.wait().unwrap();
}

#[test]
fn a_log_that_lost_its_end_is_refused_by_name() {
    let web = site();
    let (place, mut config) = job(&web);
    let folder = place.path().join("job");
    config.limits.pages = Some(5);
    run(&config);
    let file = folder.join("urls.jsonl");
    let length = std::fs::metadata(&file).unwrap().len();
    let log = std::fs::OpenOptions::new().write(true).open(&file).unwrap();
    log.set_len(length - 10).unwrap();
    let error = Crawl::from_config(config).run().unwrap_err();
    assert!(
        matches!(error, CrawlError::Folder(FolderError::Damaged { .. })),
        "{error}"
    );
    assert!(error.to_string().contains("urls.jsonl"), "{error}");
}

#[test]
fn a_tail_behind_the_last_commit_is_cut_and_kept() {
    let web = site();
    let (place, mut config) = job(&web);
    let folder = place.path().join("job");
    config.limits.pages = Some(5);
    run(&config);
    let file = folder.join("urls.jsonl");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, [whole.as_slice(), b"{\"torn"].concat()).unwrap();
    config.limits.pages = None;
    assert_eq!(run(&config).report.facts.stopped_by, StoppedBy::Finished);
    let after = std::fs::read(&file).unwrap();
    assert!(after.starts_with(&whole) && !after.windows(5).any(|window| window == b"\"torn"));
    let tails: Vec<_> = std::fs::read_dir(folder.join("state/tails"))
        .unwrap()
        .collect();
    assert_eq!(tails.len(), 1);
    let tail = std::fs::read(tails[0].as_ref().unwrap().path()).unwrap();
    assert_eq!(tail, b"{\"torn");
}

#[test]
fn a_disk_that_is_nearly_full_pauses_the_crawl() {
    let web = site();
    let (_place, mut config) = job(&web);
    config.output.min_free = MinFree(i64::MAX as u64);
    let (sender, receiver) = channel();
    let observer = move |event: Event<'_>| {
        if let Event::NoRoom(why) = event {
            sender.send(why.to_owned()).ok();
        }
    };
    let running = Crawl::from_config(config.clone())
        .observe(observer)
        .run()
        .unwrap();
    let why = receiver.recv_timeout(Duration::from_secs(20)).unwrap();
    assert!(why.contains("free on the disk"), "{why}");
    running.control().stop(Duration::ZERO);
    let report = running.wait().unwrap().report;
    assert_eq!(
        (report.facts.stopped_by, report.facts.todo),
        (StoppedBy::Interrupted, 1)
    );
    assert!(
        web.log().is_empty(),
        "nothing is fetched that could not be kept"
    );
    config.output.min_free = MinFree::default();
    assert_eq!(run(&config).report.facts.stopped_by, StoppedBy::Finished);
}
