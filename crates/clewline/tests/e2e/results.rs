//! What a crawl leaves behind: logs that agree with the web, a report that adds up, a folder that
//! is nobody else's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use clewline::CrawlError;
use clewline_core::link::LinkKind;
use clewline_job::config::{Config, Secret};
use clewline_job::folder::FolderError;
use clewline_job::log::LinksReader;
use clewline_job::record::{OutcomeKind, Record};
use clewline_job::report::StoppedBy;
use terrarium::{LiveWeb, Page, Reply, Site, Web, links};

use super::support::{config, crawl, millis, place_of, records_in, refusal};

/// How many pages the generated site has.
const PAGES: usize = 60;

/// Where a page of the generated site points; every path from 1 on is reached from 0.
fn targets(page: usize) -> BTreeSet<usize> {
    [page + 1, page * 2, page * 7 + 3]
        .map(|number| number % PAGES)
        .into()
}

fn generated() -> LiveWeb {
    let site = (0..PAGES).fold(Site::new().robots(""), |site, page| {
        let mut paths: Vec<String> = targets(page)
            .iter()
            .map(|page| format!("/{page}"))
            .collect();
        paths.push("{{b.test}}/outside".into());
        site.page(&format!("/{page}"), Page::html(links(paths)))
    });
    let sitemap = Page::empty(404);
    Web::new()
        .site("a.test", site.page("/sitemap.xml", sitemap))
        .site("b.test", Site::new())
        .start()
}

#[test]
fn logs_agree_with_the_web() {
    let web = generated();
    let crawled = crawl(&web, &["a.test/0"], |_| {});
    let expected: BTreeSet<String> = (0..PAGES).map(|page| format!("a.test/{page}")).collect();
    let requested = crawled.requested();
    assert_eq!(requested.len(), PAGES, "every page is requested once");
    assert_eq!(BTreeSet::from_iter(requested), expected);
    let fetched = crawled
        .records
        .iter()
        .filter(|record| record.outcome == OutcomeKind::Fetched);
    let recorded: Vec<String> = fetched.map(|record| place_of(&record.url)).collect();
    assert_eq!(recorded.len(), PAGES, "every page is recorded once");
    assert_eq!(BTreeSet::from_iter(recorded), expected);
    let sent: u64 = crawled.log.iter().map(|hit| hit.bytes_sent).sum();
    let robots: u64 = crawled
        .log
        .iter()
        .filter(|hit| hit.target == "/robots.txt")
        .map(|hit| hit.bytes_sent)
        .sum();
    assert_eq!(crawled.report.tally.wire_bytes, sent - robots);
}

#[test]
fn the_link_log_agrees_with_the_web() {
    let web = generated();
    let crawled = crawl(&web, &["a.test/0"], |_| {});
    let names: BTreeMap<_, _> = crawled
        .records
        .iter()
        .map(|record| (record.key, record.url.path().to_owned()))
        .collect();
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut outside = BTreeSet::new();
    let mut rows = 0;
    for row in LinksReader::open(&crawled.folder()).unwrap() {
        let (source, target, kind) = row.unwrap();
        assert_eq!(kind, LinkKind::Anchor);
        rows += 1;
        match names.get(&target) {
            Some(path) => drop(
                found
                    .entry(names[&source].clone())
                    .or_default()
                    .insert(path.clone()),
            ),
            None => drop(outside.insert(target)),
        }
    }
    let expected: BTreeMap<String, BTreeSet<String>> = (0..PAGES)
        .map(|page| {
            (
                format!("/{page}"),
                targets(page)
                    .iter()
                    .map(|page| format!("/{page}"))
                    .collect(),
            )
        })
        .collect();
    assert_eq!(found, expected);
    assert_eq!(
        outside.len(),
        1,
        "a link that was not followed is in the log too"
    );
    assert_eq!(rows, crawled.report.tally.links);
}

#[test]
fn totals_say_what_happened() {
    let site = Site::new()
        .robots("User-agent: *\nDisallow: /denied\n")
        .page(
            "/",
            Page::html(links(["/moved", "/missing", "/denied", "/pic", "/half"])),
        )
        .page("/moved", Page::redirect(301, "/pic"))
        .page("/pic", Page::bytes("image/png", "12345"))
        .page("/half", Page::html("1234").close_after(2));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |config| config.scope.sitemaps = false);
    let tally = &crawled.report.tally;
    let outcomes = tally.outcomes.rows().map(|(_, count)| count);
    assert_eq!(outcomes, [3, 1, 0, 1, 1]);
    assert_eq!(
        tally.statuses,
        BTreeMap::from([(200, 2), (301, 1), (404, 1)])
    );
    assert_eq!(
        (tally.html.count, tally.other.count, tally.error.count),
        (1, 1, 1)
    );
    assert_eq!((tally.other.bytes, tally.broken), (5, 2));
    assert_eq!(tally.depths, [1, 5]);
    assert_eq!(tally.hosts["a.test"].requests, 1 + 1 + 1 + 1 + 4);
    assert_eq!(crawled.report.facts.stopped_by, StoppedBy::Finished);
}

#[test]
fn the_report_stands_alone() {
    let web = Web::new()
        .site("a.test", Site::new().page("/", Page::html("")))
        .start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    let html = fs::read_to_string(crawled.folder().join("report.html")).unwrap();
    assert!(html.starts_with("<!doctype html>") && html.contains("a.test"));
    for outside in ["<script src", "<link ", "<img", "@import", "url("] {
        assert!(
            !html.contains(outside),
            "the report loads something: {outside}"
        );
    }
}

#[test]
fn broken_targets_name_every_page_that_links_to_them() {
    let site = Site::new()
        .page(
            "/",
            Page::html(links(["/a", "/b", "/missing", "/missing#again"])),
        )
        .page(
            "/a",
            Page::html("<iframe src=/missing></iframe><a href=/gone>g</a>"),
        )
        .page("/b", Page::html("<a href=/missing>m</a><a href=/a>a</a>"))
        .page("/gone", Page::empty(410));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    let broken: Vec<_> = crawled
        .report
        .broken
        .iter()
        .map(|broken| {
            let referrers = broken
                .referrers
                .iter()
                .map(|(url, kind)| (url.path(), *kind));
            let referrers: BTreeSet<_> = referrers.collect();
            (
                broken.url.path(),
                broken.status,
                broken.referrer_count,
                referrers,
            )
        })
        .collect();
    let from = |paths: &[(&'static str, LinkKind)]| paths.iter().copied().collect::<BTreeSet<_>>();
    let (anchor, frame) = (LinkKind::Anchor, LinkKind::Frame);
    let missing = from(&[("/", anchor), ("/a", frame), ("/b", anchor)]);
    let expected = [
        ("/missing", Some(404), 3, missing),
        ("/gone", Some(410), 1, from(&[("/a", anchor)])),
    ];
    assert_eq!(broken, expected);
}

#[test]
fn bytes_of_all_tries_are_counted() {
    let site = Site::new().page(
        "/",
        Reply::sequence([
            Page::html(vec![b'x'; 5000]).status(500).into(),
            Page::html(vec![b'x'; 9000]).close_after(3000).into(),
            Page::html("fine").into(),
        ]),
    );
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |config| config.scope.sitemaps = false);
    let record = crawled.record("a.test/");
    assert_eq!((record.tries, record.body_bytes), (3, 4));
    let sent: u64 = crawled
        .log
        .iter()
        .filter(|hit| hit.target == "/")
        .map(|hit| hit.bytes_sent)
        .sum();
    assert_eq!(record.wire_bytes, sent);
}

/// What browsers show is not lost, and what is not whole is marked.
#[test]
fn sloppy_servers_are_read_as_browsers_read_them() {
    let body = "<title>t</title><a href=/more>m</a>";
    let twice = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\
        Transfer-Encoding: chunked\r\n\r\n5\r\n<a hr\r\n8\r\nef=/two>\r\n0\r\n\r\n";
    let site = Site::new()
        .page("/", Page::html(links(["/charset", "/twice", "/part"])))
        .page(
            "/charset",
            Page::html(body).header("Content-Encoding", "utf-8"),
        )
        .page("/twice", Reply::raw(twice))
        .page("/part", Page::html("<a href=/three>3</a>").status(206))
        .under("/", |_| Page::html("").into());
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    for (place, is_truncated) in [
        ("a.test/charset", false),
        ("a.test/twice", false),
        ("a.test/part", true),
        ("a.test/more", false),
        ("a.test/two", false),
        ("a.test/three", false),
    ] {
        let record = crawled.record(place);
        assert_eq!(record.outcome, OutcomeKind::Fetched, "{place}");
        assert_eq!(record.truncated, is_truncated, "{place}");
    }
    assert_eq!(crawled.record("a.test/charset").title.as_deref(), Some("t"));
}

#[test]
fn equal_bodies_have_equal_digests() {
    let site = Site::new()
        .page("/", Page::html(links(["/a", "/b", "/c"])))
        .page("/a", Page::html("same").coded(terrarium::Coding::Gzip))
        .page("/b", Page::html("same").chunked(1))
        .page("/c", Page::html("other"));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    let digest = |place| crawled.record(place).digest.clone().unwrap();
    assert_eq!(digest("a.test/a"), digest("a.test/b"));
    assert_ne!(digest("a.test/a"), digest("a.test/c"));
    assert!(digest("a.test/a").starts_with("xxh3:"));
}

/// A crawl of one page, for tests of what was in its folder before.
fn small(web: &LiveWeb) -> Config {
    config(web, &["a.test/"])
}

fn one_page() -> LiveWeb {
    let site = Site::new()
        .page("/", Page::html("<a href=/x>x</a>"))
        .page("/x", Page::html(""));
    Web::new().site("a.test", site).start()
}

#[test]
fn a_finished_folder_is_refused_or_replaced() {
    let web = one_page();
    let crawled = crawl(&web, &["a.test/"], |_| {});
    let before = web.log().len();
    let error = refusal(small(&web), &crawled.folder());
    assert!(
        matches!(error, CrawlError::Folder(FolderError::Finished(_))),
        "{error}"
    );
    assert_eq!(
        web.log().len(),
        before,
        "nothing is asked for a crawl that cannot be kept"
    );
    assert_eq!(records_in(&crawled.folder()), crawled.records);
    let mut again = small(&web);
    again.output.overwrite = true;
    again.limits.pages = Some(1);
    let running = clewline::Crawl::from_config(again)
        .folder(crawled.folder())
        .run();
    running.unwrap().wait().unwrap();
    assert_eq!(records_in(&crawled.folder()).len(), 1);
}

#[test]
fn an_unfinished_folder_without_state_is_refused() {
    let web = one_page();
    let crawled = crawl(&web, &["a.test/"], |config| {
        config.limits.pages = Some(1);
        config.output.in_memory = true;
    });
    let error = refusal(small(&web), &crawled.folder());
    assert!(
        matches!(error, CrawlError::Folder(FolderError::Unfinished(_))),
        "{error}"
    );
}

#[test]
fn a_foreign_folder_is_never_touched() {
    let web = one_page();
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("thesis"), "years of work").unwrap();
    let mut config = small(&web);
    config.output.overwrite = true;
    let error = refusal(config, place.path());
    assert!(
        matches!(error, CrawlError::Folder(FolderError::Foreign(_))),
        "{error}"
    );
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1);
    assert!(web.log().is_empty());
}

/// Every file below a folder.
fn files(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push((path.display().to_string(), fs::read(&path).unwrap()));
        }
    }
}

fn holds(bytes: &[u8], word: &str) -> bool {
    bytes
        .windows(word.len())
        .any(|window| window == word.as_bytes())
}

#[test]
fn no_secret_stays_behind() {
    let home = Reply::handler(|request| {
        let here = request.header("host").unwrap_or_default();
        let link =
            format!("<a href=http://link:hunter2@{here}/x>x</a><a href={{{{b.test}}}}/>b</a>");
        Page::html(link)
            .header("Set-Cookie", "s=hunter2cookie")
            .into()
    });
    let web = Web::new()
        .site(
            "a.test",
            Site::new().page("/", home).page("/x", Page::html("")),
        )
        .site("b.test", Site::new().page("/", Page::html("")))
        .start();
    let crawled = crawl(&web, &["a.test/"], |config| {
        config.scope.reach = clewline_job::config::Reach::Any;
        config.fetch.contact = Some("https://operator.test/".into());
        config.fetch.user = Some(Secret::new("me:hunter2"));
        config.fetch.headers = vec![("X-Key".into(), Secret::new("hunter2key"))];
    });
    assert_eq!(crawled.count("/x"), 1);
    let sent = |host: &str, name: &str| {
        let log = crawled.log.of(host);
        log.iter()
            .find(|hit| hit.target == "/")
            .unwrap()
            .header(name)
            .map(str::to_owned)
    };
    assert_eq!(
        sent("a.test", "authorization").as_deref(),
        Some("Basic bWU6aHVudGVyMg==")
    );
    assert_eq!(sent("a.test", "x-key").as_deref(), Some("hunter2key"));
    assert_eq!(
        sent("b.test", "authorization"),
        None,
        "credentials are for the roots' origins"
    );
    let mut found = Vec::new();
    files(&crawled.folder(), &mut found);
    assert!(
        found.iter().any(|(name, _)| name.ends_with("job.toml")),
        "{found:?}"
    );
    assert!(found.len() >= 4);
    for (name, bytes) in &found {
        // Cookies must survive a restart: they live in the state, which nobody else can read.
        let words: &[&str] = if name.contains("/state/") {
            &["me:hunter2", "link:hunter2", "hunter2key", "bWU6"]
        } else {
            &["hunter2", "bWU6"]
        };
        for word in words {
            assert!(!holds(bytes, word), "{name} holds {word}");
        }
    }
    let state = fs::metadata(crawled.folder().join("state")).unwrap();
    assert_eq!(
        state.permissions().mode() & 0o077,
        0,
        "others cannot read the state"
    );
}

#[test]
fn times_and_addresses_are_recorded() {
    let site = Site::new().page("/", Page::html("").delay(millis(40)));
    let web = Web::new().site("a.test", site).start();
    let crawled = crawl(&web, &["a.test/"], |config| config.scope.sitemaps = false);
    let record: &Record = crawled.record("a.test/");
    let first_byte = record.timings.first_byte.unwrap();
    let total = record.timings.total.unwrap();
    assert!(
        (39.0..5000.0).contains(&first_byte) && total >= first_byte,
        "{:?}",
        record.timings
    );
    assert_eq!(record.address, Some(web.addr("a.test").ip()));
    assert_eq!(crawled.report.slowest_hosts[0].host, "a.test");
}

#[test]
fn a_root_that_nobody_answers_is_said() {
    let web = Web::new()
        .site("a.test", Site::new().door(terrarium::Door::Refused))
        .site("b.test", Site::new().door(terrarium::Door::Reset))
        .start();
    let roots = ["a.test/", "b.test/"];
    let crawled = crawl(&web, &roots, |config| config.limits.tries = 2);
    crawled.check_requested(&[]);
    assert_eq!(crawled.failed_roots.len(), 2);
    for place in roots {
        let record = crawled.record(place);
        assert_eq!(
            (record.outcome, record.tries),
            (OutcomeKind::Failed, 2),
            "{record:?}"
        );
        assert!(record.error.is_some());
    }
}
