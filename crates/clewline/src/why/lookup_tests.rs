//! The lookup against passes over the logs, for every URL of a small crawl.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clewline_core::url::CrawlUrl;
use tempfile::TempDir;
use terrarium::{LiveWeb, Page, Site, Web, links};

use clewline_core::key::Keyer;
use clewline_job::lookup::{LogPlaces, MOST_PLACES, log_ends};

use super::*;
use crate::config::{Config, Root, Speed};
use crate::log::urls;
use crate::record::Record;
use crate::why::{Fate, Why};
use crate::{Crawl, StoredJob};

/// Where the lookup of a job is.
fn folder(job: &Path) -> PathBuf {
    job.join("state/lookup")
}

/// Many small parts.
const SMALL: LookupPlan = LookupPlan { tail: 0, facts: 40 };

/// No parts at all.
const NONE: LookupPlan = LookupPlan {
    tail: u64::MAX,
    facts: 0,
};

const PAGES: usize = 24;

/// Pages that all link to each other, redirects to one of them, a chain, and things refused.
fn web() -> LiveWeb {
    let page = |number: usize| format!("/p/{number}");
    let old = |number: usize| format!("/old/{number}");
    let mut body = links((0..PAGES).map(page).chain((0..PAGES / 2).map(old)));
    body.push_str("<a href=/chain/1>c</a><a href=/q?sid=7>q</a><a href=/q?sid=8&a=1>q</a>");
    body.push_str("<a href=/secret/x>s</a><a href=http://away.test/>a</a><a href=/gone>g</a>");
    let mut site = Site::new()
        .robots("User-agent: *\nDisallow: /secret/\n")
        .page("/", Page::html(body.clone()))
        .page("/chain/1", Page::redirect(301, "/chain/2"))
        .page("/chain/2", Page::redirect(302, "/p/0?sid=1"))
        .page("/p/0?sid=1", Page::html("p"))
        .under("/q", |_| Page::html("q").into());
    for number in 0..PAGES {
        let mut own = body.clone();
        write!(own, "<p>{number}<img src=/i/{number}.png>").unwrap();
        site = site.page(&page(number), Page::html(own));
    }
    for number in 0..PAGES / 2 {
        site = site.page(&old(number), Page::redirect(301, "/p/0"));
    }
    Web::new().site("a.test", site).start()
}

struct Crawled {
    place: TempDir,
    urls: Vec<CrawlUrl>,
}

impl Crawled {
    fn new() -> Self {
        let web = web();
        let mut config = Config {
            roots: vec![Root::parse(&web.url("a.test", "/")).unwrap()],
            ..Config::default()
        };
        config.fetch.resolve = web.resolve_args();
        config.politeness.speed = Some(Speed::Max);
        config.scope.drop_params = vec!["sid".into()];
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("job");
        let running = Crawl::from_config(config).folder(&folder).run();
        running.and_then(crate::Running::wait).unwrap();
        let log = urls::records(&folder.join(urls::FILE)).unwrap();
        let mut urls: Vec<CrawlUrl> = log.map(|record| record.unwrap().url).collect();
        for path in ["/secret/x", "/i/3.png", "/nobody", "/q?sid=9"] {
            urls.push(CrawlUrl::parse(&web.url("a.test", path)).unwrap());
        }
        urls.push(CrawlUrl::parse("http://away.test/").unwrap());
        Self { place, urls }
    }

    fn folder(&self) -> PathBuf {
        self.place.path().join("job")
    }

    fn ask(&self, plan: LookupPlan) -> Vec<Why> {
        let job = StoredJob::read(&self.folder()).unwrap();
        let asked = self.urls.iter().map(|url| job.why_with(url, plan));
        asked.map(Result::unwrap).collect()
    }

    /// The answers of the logs and of the state themselves.
    fn ask_plainly(&self) -> Vec<Why> {
        let job = StoredJob::read(&self.folder()).unwrap();
        let asked = self.urls.iter().map(|url| {
            Lookup::remove(&self.folder());
            job.why_with(url, NONE)
        });
        asked.map(Result::unwrap).collect()
    }

    fn parts(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(folder(&self.folder())).unwrap();
        let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        files.sort();
        files.retain(|file| !file.ends_with("finished"));
        files
    }

    fn lookup(&self, plan: LookupPlan) -> Lookup {
        let job = StoredJob::read(&self.folder()).unwrap();
        let ends = log_ends(&self.folder(), &[]);
        Lookup::open(&self.folder(), &job.file().keyer(), ends, plan)
    }
}

fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn answers_are_the_same_with_the_lookup_and_without() {
    let crawled = Crawled::new();
    let expected = crawled.ask_plainly();
    assert!(!folder(&crawled.folder()).join("0-0").exists());
    let of_path = |path: &str| {
        let url = |why: &&Why| why.url.path_and_query() == path;
        expected.iter().find(url).unwrap()
    };
    let (page, secret) = (of_path("/p/0"), of_path("/secret/x"));
    assert!(page.referrer_count > MOST_PLACES as u64, "more than named");
    assert!(page.redirected_from_count > MOST_PLACES as u64);
    assert_eq!(of_path("/chain/1").after.len(), 2);
    assert_eq!(of_path("/nobody").fate, Fate::Unknown);
    assert!(!secret.robots.as_ref().unwrap().allowed);
    for round in ["made", "found"] {
        let asked = crawled.ask(SMALL);
        for (asked, expected) in asked.iter().zip(&expected) {
            assert_eq!(asked, expected, "{}, {round}", expected.url);
        }
        assert!(crawled.parts().len() > 3, "{:?}", crawled.parts());
    }
    assert_eq!(crawled.lookup(NONE).end(), log_ends(&crawled.folder(), &[]));
}

#[test]
fn a_lookup_goes_on_where_it_ended() {
    let crawled = Crawled::new();
    Lookup::remove(&crawled.folder());
    let whole = LookupPlan {
        tail: 0,
        facts: 1 << 20,
    };
    let ends = log_ends(&crawled.folder(), &[]);
    let job = StoredJob::read(&crawled.folder()).unwrap();
    let log = fs::read(crawled.folder().join(urls::FILE)).unwrap();
    let half = log[..log.len() / 2].iter().rposition(|byte| *byte == b'\n');
    let early = LogPlaces {
        urls: half.unwrap() as u64 + 1,
        links: 0,
    };
    Lookup::open(&crawled.folder(), &job.file().keyer(), early, whole);
    let first = crawled.parts();
    assert_eq!(first.len(), 1);
    let content = fs::read(&first[0]).unwrap();
    assert_eq!(crawled.lookup(whole).end(), ends);
    assert_eq!(crawled.parts().len(), 2);
    assert_eq!(fs::read(&first[0]).unwrap(), content);
    assert_eq!(crawled.ask(whole), crawled.ask_plainly());
}

#[test]
fn what_does_not_fit_the_logs_is_not_used() {
    let crawled = Crawled::new();
    let whole = LookupPlan {
        tail: 0,
        facts: 1 << 20,
    };
    crawled.lookup(whole);
    let log = crawled.folder().join(urls::FILE);
    let mut lines: Vec<String> = fs::read_to_string(&log)
        .unwrap()
        .lines()
        .map(ToOwned::to_owned)
        .collect();
    let last: Record = serde_json::from_str(&lines.pop().unwrap()).unwrap();
    // Another line of the same length, as after a repair.
    let other = Record {
        depth: last.depth ^ 1,
        ..last
    };
    lines.push(serde_json::to_string(&other).unwrap());
    fs::write(&log, lines.join("\n") + "\n").unwrap();
    assert_eq!(crawled.lookup(NONE).end(), LogPlaces::default());
    assert_eq!(crawled.ask(whole), crawled.ask_plainly());

    // Keys that are made otherwise lead elsewhere.
    crawled.lookup(whole);
    let ends = log_ends(&crawled.folder(), &[]);
    let keyer = Keyer::new(1, &[]);
    let lookup = Lookup::open(&crawled.folder(), &keyer, ends, NONE);
    assert_eq!(lookup.end(), LogPlaces::default());
}

#[test]
fn damage_is_noticed_and_mended() {
    let crawled = Crawled::new();
    let expected = crawled.ask_plainly();
    crawled.ask(SMALL);
    for (number, part) in crawled.parts().iter().enumerate() {
        let length = fs::metadata(part).unwrap().len() as usize;
        // The head of some parts, the rows of others.
        flip(part, if number % 2 == 0 { length - 9 } else { 20 });
    }
    flip(&folder(&crawled.folder()).join("finished"), 40);
    assert_eq!(crawled.ask(SMALL), expected);
    assert_eq!(crawled.ask(NONE), expected, "and made again");
    assert_eq!(crawled.lookup(NONE).end(), log_ends(&crawled.folder(), &[]));
}

#[test]
fn where_nothing_can_be_written_the_logs_answer() {
    let crawled = Crawled::new();
    let expected = crawled.ask_plainly();
    Lookup::remove(&crawled.folder());
    fs::write(folder(&crawled.folder()), b"in the way").unwrap();
    assert_eq!(crawled.ask(SMALL), expected);
}

#[test]
fn the_copy_of_a_finished_state_is_used_until_the_state_changes() {
    let crawled = Crawled::new();
    assert_eq!(FinishedState::read(&crawled.folder()), None);
    crawled.ask(NONE);
    let copy = FinishedState::read(&crawled.folder()).unwrap();
    assert_eq!(copy.ends.len(), 2);
    assert_eq!(copy.robots.len(), 1);
    let marker = crawled.folder().join("job.toml");
    let text = fs::read_to_string(&marker).unwrap();
    fs::write(&marker, text.clone() + "\n").unwrap();
    assert_eq!(FinishedState::read(&crawled.folder()), None);
    fs::write(&marker, text).unwrap();
    assert!(FinishedState::read(&crawled.folder()).is_some());
    let journal = crawled.folder().join("state/store/0.jnl");
    let length = fs::metadata(&journal).unwrap().len();
    let file = fs::File::options().write(true).open(journal).unwrap();
    file.set_len(length + 1).unwrap();
    assert_eq!(FinishedState::read(&crawled.folder()), None);
}
