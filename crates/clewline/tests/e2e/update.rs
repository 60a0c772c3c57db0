//! Crawls that know an earlier one: what has not changed is neither sent nor stored again.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use clewline::AnswerReader;
use clewline::extract::{Extraction, Extractor, PageExtractor, PageHead};
use clewline::{Crawl, CrawlError};
use clewline_job::config::Config;
use clewline_job::log::records;
use clewline_job::rebuild::Existing;
use clewline_job::record::{OutcomeKind, PhaseMillis, Record};
use clewline_job::report::{Listed, Report};
use clewline_warc::RecordKind;
use clewline_warc::read::{Header, WarcReader};
use clewline_warc::verify::Verifier;
use tempfile::TempDir;
use terrarium::{LiveWeb, Page, Reply, Site, Web, links};

use super::support::config;

/// A site that changes from crawl to crawl, and says when it does not.
struct Town {
    web: LiveWeb,
    /// How often it was rebuilt.
    state: Arc<AtomicU32>,
    place: TempDir,
}

/// A page with an entity tag, sent whole only to who does not have it.
fn tagged(request: &terrarium::Request, tag: &str, body: String) -> Reply {
    let tag = format!("\"{tag}\"");
    if request.header("if-none-match") == Some(tag.as_str()) {
        return Page::html("")
            .status(304)
            .header("ETag", tag.as_str())
            .into();
    }
    Page::html(body).header("ETag", tag.as_str()).into()
}

impl Town {
    fn new() -> Self {
        let state = Arc::new(AtomicU32::new(1));
        let now = Arc::clone(&state);
        let page = move |request: &terrarium::Request| {
            let state = now.load(Ordering::SeqCst);
            match request.path() {
                // It never changes, and all others hang on it.
                "/" => tagged(request, "root", links(["/news", "/deep", "/dated", "/old"])),
                "/deep" => tagged(request, "deep", links(["/deeper"])),
                "/deeper" => tagged(request, "deeper", "the end".repeat(50)),
                "/news" => {
                    let more = links([format!("/item/{state}")]);
                    tagged(request, &format!("news-{state}"), more)
                }
                "/dated" => {
                    let date = "Sun, 01 Nov 2026 10:00:00 GMT";
                    let is_known = request.header("if-modified-since") == Some(date);
                    let status = if is_known { 304 } else { 200 };
                    let body = if is_known { "" } else { "dated" };
                    let page = Page::html(body).status(status);
                    page.header("Last-Modified", date).into()
                }
                "/old" if state > 1 => Page::html("gone").status(410).into(),
                _ => Page::html(format!("{} and nothing to know it by", request.path())).into(),
            }
        };
        let site = Site::new().under("/", page);
        Self {
            web: Web::new().site("a.test", site).start(),
            state,
            place: tempfile::tempdir().unwrap(),
        }
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn crawl(&self, name: &str, change: impl FnOnce(&mut Config)) -> Report {
        let mut config = config(&self.web, &["a.test/"]);
        config.output.folder = Some(self.folder(name));
        config.scope.sitemaps = false;
        change(&mut config);
        let summary = Crawl::from_config(config).run().unwrap().wait().unwrap();
        assert!(summary.error.is_none(), "{:?}", summary.error);
        assert_eq!(summary.report.check(), Ok(()));
        summary.report
    }

    fn update(&self, name: &str, earlier: &str) -> Report {
        self.crawl(name, |config| {
            config.output.archive.update_from = Some(self.folder(earlier));
        })
    }

    fn record(&self, name: &str, path: &str) -> Record {
        let url = self.web.url("a.test", path);
        let mut all = records(&self.folder(name).join("urls.jsonl")).unwrap();
        let found = all.find(|record| record.as_ref().unwrap().url.as_str() == url);
        found
            .unwrap_or_else(|| panic!("{name} has no {path}"))
            .unwrap()
    }

    fn paths(&self, list: &Listed) -> String {
        let root = self.web.url("a.test", "/");
        let paths = list.urls.iter().map(|url| &url[root.len()..]);
        paths.collect::<Vec<_>>().join(" ")
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("archive")).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    files
        .filter(|path| path.to_string_lossy().contains(".warc"))
        .collect()
}

/// The headers of all revisits; the archive must be sound.
fn revisits(folder: &Path) -> Vec<Header> {
    let mut found = Vec::new();
    let mut verifier = Verifier::default();
    for path in files(folder) {
        let mut tell = |finding| panic!("{finding:?}");
        verifier
            .verify(File::open(&path).unwrap(), &mut tell)
            .unwrap();
        let mut reader = WarcReader::new(File::open(&path).unwrap());
        while let Some(header) = reader.next_record() {
            found.extend(Some(header.unwrap()).filter(|it| it.kind() == RecordKind::Revisit));
        }
    }
    found
}

#[test]
fn what_has_not_changed_is_not_sent_again_and_leads_on() {
    let town = Town::new();
    let first = town.crawl("first", |_| {});
    assert_eq!(first.update, None);
    town.state.store(2, Ordering::SeqCst);
    let second = town.update("second", "first");
    let update = second.update.unwrap();
    assert_eq!(town.paths(&update.new), "item/2");
    assert_eq!(town.paths(&update.changed), "news");
    assert_eq!(town.paths(&update.unchanged), " dated deep deeper");
    assert_eq!(town.paths(&update.gone), "item/1 old");
    assert_eq!(second.tally.outcomes.unmodified, 4);
    let page = fs::read_to_string(town.folder("second").join("report.html")).unwrap();
    assert!(
        page.contains("1 changed") && page.contains("/item/2"),
        "{page}"
    );

    let (before, deep) = (
        town.record("first", "/deep"),
        town.record("second", "/deep"),
    );
    assert_eq!(
        (deep.outcome, deep.status),
        (OutcomeKind::Unmodified, Some(304))
    );
    assert_eq!((deep.links, &deep.digest), (1, &before.digest));
    assert_eq!(deep.content_type, before.content_type);
    let revisits = revisits(&town.folder("second"));
    assert_eq!(revisits.len(), 4);
    let deep = revisits
        .iter()
        .find(|it| it.target().unwrap().ends_with("/deep"));
    let deep = deep.unwrap();
    assert!(
        deep.value("WARC-Profile")
            .unwrap()
            .ends_with("server-not-modified")
    );
    assert_eq!(deep.uri("WARC-Refers-To-Target-URI"), deep.target());
    assert!(deep.value("WARC-Refers-To-Date") < deep.value("WARC-Date"));

    // The third one finds the bodies of unchanged pages nowhere, and their links in the notes.
    let third = town.update("third", "second");
    let update = third.update.unwrap();
    assert_eq!(
        (update.new.count, update.changed.count, update.gone.count),
        (0, 0, 0)
    );
    assert_eq!(third.tally.outcomes.unmodified, 5);
    assert_eq!(
        town.record("third", "/deeper").digest,
        town.record("first", "/deeper").digest
    );

    let made = town.place.path().join("made");
    let rebuilt = AnswerReader::default()
        .rebuild(
            &files(&town.folder("second")),
            &made,
            Existing::Kept,
            &mut |_| {},
        )
        .unwrap();
    assert_eq!(rebuilt.faults, 0);
    for (name, original) in [
        ("urls.jsonl", "urls.jsonl"),
        ("index.cdxj", "archive/index.cdxj"),
    ] {
        let original = fs::read(town.folder("second").join(original)).unwrap();
        assert!(fs::read(made.join(name)).unwrap() == original, "{name}");
    }
}

/// Counts the pages that it reads, under a fingerprint of its own.
struct Counting {
    inner: PageExtractor,
    fingerprint: Option<u64>,
    begun: Arc<AtomicU32>,
}

impl Extractor for Counting {
    fn begin(&self, head: PageHead<'_>) -> Box<dyn Extraction> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        self.inner.begin(head)
    }

    fn fingerprint(&self) -> Option<u64> {
        self.fingerprint
    }
}

/// Lines of `urls.jsonl` in order, without what depends on the moment.
fn settled(folder: &Path) -> Vec<String> {
    let all = records(&folder.join("urls.jsonl")).unwrap();
    let lines = all.map(|record| {
        let record = Record {
            // Notes have no dates of links.
            lastmod: None,
            fetched_at: String::new(),
            timings: PhaseMillis::default(),
            ..record.unwrap()
        };
        serde_json::to_string(&record).unwrap()
    });
    let mut lines: Vec<String> = lines.collect();
    lines.sort_unstable();
    lines
}

/// The links that the archive notes of each page, as they are written.
fn noted(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for path in files(folder) {
        let mut reader = WarcReader::new(File::open(&path).unwrap());
        while let Some(header) = reader.next_record() {
            let header = header.unwrap();
            if header.kind() == RecordKind::Metadata {
                let mut block = String::new();
                reader.block().read_to_string(&mut block).unwrap();
                let links = block.lines().filter(|line| line.starts_with("outlink:"));
                let links: Vec<&str> = links.collect();
                found.insert(header.target().unwrap().to_owned(), links.join("\n"));
            }
        }
    }
    found
}

#[test]
fn links_of_unchanged_pages_are_read_anew_only_by_another_extractor() {
    let extracting = links(["/nofollow", "/style.css", "/feed", "/base/", "/shell"]);
    let kinds = move |request: &terrarium::Request| {
        let page = |kind: &str, body: &str| -> Reply {
            if request.header("if-none-match") == Some("\"1\"") {
                return Page::html("").status(304).header("ETag", "\"1\"").into();
            }
            let page = Page::bytes(kind, body);
            page.header("ETag", "\"1\"").into()
        };
        match request.path() {
            "/" => page("text/html", &extracting),
            "/nofollow" => page(
                "text/html; charset=iso-8859-1",
                "<title>caf\u{e9}</title><meta name=robots content='nofollow, noindex'><a href=/a>",
            ),
            "/style.css" => page("text/css", "a{b:url(/c.png)}@import '/d.css';"),
            "/feed" => page(
                "application/atom+xml",
                "<feed><entry><link href='/dated'/><updated>2026-11-01T00:00:00Z</updated></entry></feed>",
            ),
            "/base/" => page(
                "text/html",
                "<base href=/other/><link rel=canonical href=x><a href=y rel=nofollow><img src=z><a href=y>",
            ),
            "/shell" => page(
                "text/html",
                "<div id=root></div><script src=/app.js></script>",
            ),
            _ => Page::html("the end").into(),
        }
    };
    let web = Web::new()
        .site("a.test", Site::new().under("/", kinds))
        .start();
    let place = tempfile::tempdir().unwrap();
    let folder = |name: &str| place.path().join(name);
    let crawl = |name: &str, earlier: Option<&str>, fingerprint: Option<u64>, most: u64| {
        let mut config = config(&web, &["a.test/"]);
        config.output.folder = Some(folder(name));
        config.output.archive.update_from = earlier.map(folder);
        config.scope.sitemaps = false;
        config.scope.page_requisites = true;
        config.fetch.max_body = most;
        let begun = Arc::new(AtomicU32::new(0));
        let extractor = Counting {
            inner: PageExtractor::new(&config.extract, "clewline"),
            fingerprint,
            begun: Arc::clone(&begun),
        };
        let run = Crawl::from_config(config).extractor(extractor).run();
        let summary = run.unwrap().wait().unwrap();
        assert!(summary.error.is_none(), "{:?}", summary.error);
        begun.load(Ordering::SeqCst)
    };
    let most = 1 << 20;
    let all = crawl("first", None, Some(1), most);
    let unchanged = 6;
    // The feed's links have dates, which the notes do not hold.
    assert_eq!(
        crawl("same", Some("first"), Some(1), most),
        all - unchanged + 1
    );
    for (name, fingerprint, most) in [
        ("another", Some(2), most),
        ("none", None, most),
        ("less", Some(1), most - 1),
    ] {
        assert_eq!(crawl(name, Some("first"), fingerprint, most), all, "{name}");
        assert_eq!(settled(&folder(name)), settled(&folder("same")), "{name}");
        assert_eq!(noted(&folder(name)), noted(&folder("same")), "{name}");
    }
    // Those that were read anew are noted as such: their bodies lie elsewhere from here on.
    assert_eq!(
        crawl("again", Some("another"), Some(2), most),
        all - unchanged
    );
    assert_eq!(settled(&folder("again")), settled(&folder("same")));
    // What nobody vouches for is still all that is known.
    assert_eq!(crawl("other", Some("none"), Some(1), most), all - unchanged);
    assert_eq!(settled(&folder("other")), settled(&folder("same")));
}

#[test]
fn a_crawl_that_was_stopped_calls_nothing_gone_that_it_did_not_ask_for() {
    let town = Town::new();
    town.crawl("first", |_| {});
    let part = town.crawl("part", |config| {
        config.output.archive.update_from = Some(town.folder("first"));
        config.limits.pages = Some(1);
    });
    let update = part.update.unwrap();
    assert_eq!((update.unchanged.count, update.gone.count), (1, 0));
}

#[test]
fn an_earlier_crawl_without_an_archive_is_refused() {
    let town = Town::new();
    town.crawl("bare", |config| config.output.archive.write = false);
    let start = |change: &dyn Fn(&mut Config)| {
        let mut config = config(&town.web, &["a.test/"]);
        config.output.folder = Some(town.folder("next"));
        change(&mut config);
        match Crawl::from_config(config).run() {
            Err(CrawlError::Config(problems)) => problems[0].to_string(),
            other => panic!("{other:?}"),
        }
    };
    let text = start(&|config| config.output.archive.update_from = Some(town.folder("bare")));
    assert!(
        text.starts_with("update-from: ") && text.contains("warc rebuild"),
        "{text}"
    );
    let text = start(&|config| config.output.archive.dedup_from = vec![town.folder("bare")]);
    assert!(text.starts_with("dedup-from: "), "{text}");
    town.crawl("kept", |_| {});
    let text = start(&|config| {
        config.output.archive.update_from = Some(town.folder("kept"));
        config.output.folder = Some(town.folder("kept"));
        config.output.overwrite = true;
    });
    assert!(text.contains("is the folder of this crawl"), "{text}");
    assert!(town.folder("kept").join("archive/index.cdxj").is_file());
    let text = start(&|config| {
        config.output.archive.update_from = Some(town.folder("bare"));
        config.output.archive.write = false;
    });
    assert!(text.contains("needs an archive"), "{text}");
}

#[test]
fn what_earlier_crawls_stored_is_not_stored_again() {
    let town = Town::new();
    town.crawl("first", |_| {});
    town.state.store(2, Ordering::SeqCst);
    town.crawl("second", |_| {});
    town.crawl("third", |config| {
        config.output.archive.dedup_from = vec![town.folder("first"), town.folder("second")];
    });
    let (third, ours) = (town.folder("third"), "identical-payload-digest");
    let revisits = revisits(&third);
    assert!(
        revisits
            .iter()
            .all(|it| it.value("WARC-Profile").unwrap().ends_with(ours))
    );
    // Everything: the first crawl has all but the news, the item and the page that is gone.
    let responses = fs::read_to_string(third.join("archive/index.cdxj")).unwrap();
    let stored = responses
        .lines()
        .filter(|line| !line.contains("warc/revisit"));
    let stored: Vec<&str> = stored.collect();
    assert!(stored.is_empty(), "{stored:?}");
    let date = |name: &str| town.record(name, "/").fetched_at;
    let root = town.web.url("a.test", "/");
    let root = revisits
        .iter()
        .find(|it| it.target() == Some(root.as_str()))
        .unwrap();
    assert!(root.value("WARC-Refers-To-Date").unwrap() <= date("first").as_str());
}
