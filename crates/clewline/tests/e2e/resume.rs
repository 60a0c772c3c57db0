//! Going on: what was stopped is taken up where it was, and the books cover all runs.

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use clewline::{Crawl, CrawlError, Event, Summary};
use clewline_job::config::{Config, MinFree, Reach};
use clewline_job::folder::{FolderError, Remedy};
use clewline_job::report::StoppedBy;
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
    config.limits.pages = Some(6);
    run(&config);
    let after = std::fs::read(&file).unwrap();
    assert!(after.starts_with(&whole) && !after.windows(5).any(|window| window == b"\"torn"));
    let tails: Vec<_> = std::fs::read_dir(folder.join("state/tails"))
        .unwrap()
        .collect();
    assert_eq!(tails.len(), 1);
    let tail = std::fs::read(tails[0].as_ref().unwrap().path()).unwrap();
    assert_eq!(tail, b"{\"torn");
    // Whoever is at the end needs no tails.
    config.limits.pages = None;
    assert_eq!(run(&config).report.facts.stopped_by, StoppedBy::Finished);
    assert!(!folder.join("state/tails").exists());
}

/// A job that was stopped in the middle, with an archive of several files.
fn stopped() -> (LiveWeb, tempfile::TempDir, Config) {
    let web = site();
    let (place, mut config) = job(&web);
    config.output.archive.file_size = 2_000;
    for pages in [3, 6, 9] {
        config.limits.pages = Some(pages);
        run(&config);
    }
    config.limits.pages = None;
    (web, place, config)
}

fn warcs(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.join("archive")).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with(".warc.gz"));
    files.sort();
    files
}

fn keys(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("urls.jsonl")).unwrap();
    let key = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["key"].as_str().unwrap().to_owned()
    };
    text.lines().map(key).collect()
}

fn refused(config: &Config) -> (String, Remedy) {
    let error = Crawl::from_config(config.clone()).run().unwrap_err();
    let CrawlError::Folder(FolderError::Damaged { remedy, .. }) = &error else {
        panic!("{error}");
    };
    (error.to_string(), *remedy)
}

#[test]
fn a_lost_file_of_the_archive_is_noticed_and_recorded() {
    for damage in ["gone", "short", "last gone", "last short", "flipped"] {
        let (_web, place, mut config) = stopped();
        let folder = place.path().join("job");
        let files = warcs(&folder);
        assert!(files.len() > 2, "{files:?}");
        let hit = if damage.starts_with("last") {
            files.last().unwrap()
        } else {
            &files[0]
        };
        let bytes = std::fs::read(hit).unwrap();
        let before = std::fs::read(folder.join("urls.jsonl")).unwrap();
        match damage {
            "gone" | "last gone" => std::fs::remove_file(hit).unwrap(),
            "flipped" => {
                let mut bytes = bytes.clone();
                let middle = bytes.len() / 2;
                bytes[middle] ^= 0x55;
                std::fs::write(hit, bytes).unwrap();
                // Only who reads it can notice that.
                std::fs::remove_file(folder.join("archive/index.cdxj")).unwrap();
            }
            _ => std::fs::write(hit, &bytes[..bytes.len() / 2]).unwrap(),
        }
        let (message, remedy) = refused(&config);
        let name = hit.file_name().unwrap().to_str().unwrap();
        assert!(message.contains(name), "{damage}: {message}");
        assert_eq!(remedy, Remedy::GoWithout, "{damage}: {message}");
        let after = std::fs::read(folder.join("urls.jsonl")).unwrap();
        assert!(before == after, "{damage}: nothing is touched");
        config.output.repair = true;
        config.limits.pages = Some(12);
        let report = run(&config).report;
        assert!(
            report
                .facts
                .notes
                .iter()
                .any(|note| note.contains("missing.txt")),
            "{damage}: {:?}",
            report.facts.notes
        );
        let missing = std::fs::read_to_string(folder.join("archive/missing.txt")).unwrap();
        assert!(missing.contains(name), "{damage}: {missing}");
        if damage != "flipped" {
            assert!(missing.contains("\nhttp://"), "{damage}: {missing}");
        }
        let mut files = missing.lines().filter(|line| line.starts_with('#'));
        assert!(files.all(|line| line.contains(name)), "{damage}: {missing}");
        // The loss is known now.
        config.output.repair = false;
        config.limits.pages = None;
        assert_eq!(run(&config).report.facts.stopped_by, StoppedBy::Finished);
        let index = std::fs::read_to_string(folder.join("archive/index.cdxj")).unwrap();
        if damage.ends_with("gone") {
            assert!(!index.contains(name), "{damage}: the index leads nowhere");
        }
        let keys = keys(&folder);
        let once: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(once.len(), keys.len(), "{damage}");
    }
}

#[test]
fn a_lost_log_is_made_again_from_the_archive() {
    for damage in ["gone", "short", "flipped", "links"] {
        let (_web, place, mut config) = stopped();
        let folder = place.path().join("job");
        let log = folder.join("urls.jsonl");
        let before = std::fs::read(&log).unwrap();
        let mut flipped = before.clone();
        flipped[5] = b'\x01';
        match damage {
            "gone" => std::fs::remove_file(&log).unwrap(),
            "short" => std::fs::write(&log, &before[..before.len() / 2]).unwrap(),
            "flipped" => std::fs::write(&log, flipped).unwrap(),
            _ => std::fs::remove_dir_all(folder.join("links")).unwrap(),
        }
        if damage != "flipped" {
            let (message, remedy) = refused(&config);
            assert_eq!(remedy, Remedy::MakeAgain, "{damage}: {message}");
        }
        config.output.repair = true;
        config.limits.pages = Some(9);
        run(&config);
        let after = std::fs::read(&log).unwrap();
        assert!(after.starts_with(&before), "{damage}: byte for byte");
        config.output.repair = false;
        config.limits.pages = None;
        let report = run(&config).report;
        assert_eq!(report.facts.stopped_by, StoppedBy::Finished);
        assert_eq!(report.tally.done as usize, keys(&folder).len(), "{damage}");
        assert_eq!(report.tally.statuses.get(&200), Some(&20), "{damage}");
    }
}

/// A state that is not this folder's, or an older one, is named before anything is cut.
#[test]
fn a_foreign_or_older_state_is_refused_and_nothing_is_touched() {
    let copy = |from: &Path, to: &Path| {
        std::fs::remove_dir_all(to).ok();
        let copied = std::process::Command::new("cp")
            .arg("-r")
            .args([from, to])
            .status();
        assert!(copied.unwrap().success());
    };
    let content = |folder: &Path| {
        let mut all: Vec<_> = warcs(folder);
        all.push(folder.join("urls.jsonl"));
        all.iter()
            .map(|path| std::fs::read(path).unwrap())
            .collect::<Vec<_>>()
    };
    for archived in [true, false] {
        let web = site();
        let (place, mut config) = job(&web);
        config.output.archive.write = archived;
        let folder = place.path().join("job");
        let old = place.path().join("old-state");
        config.limits.pages = Some(3);
        run(&config);
        copy(&folder.join("state"), &old);
        config.limits.pages = Some(9);
        run(&config);
        let new = place.path().join("new-state");
        copy(&folder.join("state"), &new);
        let before = content_of(archived, &folder, &content);
        copy(&old, &folder.join("state"));
        let (message, remedy) = refused(&config);
        // The archive holds what a state is made of; without one there is only the way back.
        let helps = if archived {
            Remedy::RemakeState
        } else {
            Remedy::GoBack
        };
        assert_eq!(remedy, helps, "{message}");
        assert!(before == content_of(archived, &folder, &content), "older");
        let (other_place, mut other) = job(&web);
        other.output.archive.write = archived;
        other.limits.pages = Some(9);
        run(&other);
        copy(&other_place.path().join("job/state"), &folder.join("state"));
        let (message, remedy) = refused(&config);
        assert_eq!(remedy, Remedy::PutBack, "{message}");
        assert!(message.contains("another crawl"), "{message}");
        let mut repair = config.clone();
        repair.output.repair = true;
        assert_eq!(refused(&repair).1, Remedy::PutBack);
        assert!(before == content_of(archived, &folder, &content), "foreign");
        copy(&new, &folder.join("state"));
        config.limits.pages = None;
        assert_eq!(run(&config).report.facts.stopped_by, StoppedBy::Finished);
    }
}

/// Without an archive there is only the log of URLs.
fn content_of(
    archived: bool,
    folder: &Path,
    content: &dyn Fn(&Path) -> Vec<Vec<u8>>,
) -> Vec<Vec<u8>> {
    if archived {
        content(folder)
    } else {
        vec![std::fs::read(folder.join("urls.jsonl")).unwrap()]
    }
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
