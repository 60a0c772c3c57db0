//! Crawls that build on earlier ones: what was not sent again is exported all the same.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use clewline_export::{Form, Options};
use clewline_job::config::Config;
use fieldwork::{HOST, config, crawl, tree};
use terrarium::{LiveWeb, Page, Reply, Request, Site, Web, links};

use super::{json_lines, rows, streamed, text_of, written};

/// Pages that say by an entity tag that they are as they were; the first one never does.
struct Town {
    web: LiveWeb,
    /// Counts up when the first page changes.
    state: Arc<AtomicU32>,
    place: tempfile::TempDir,
}

fn tagged(request: &Request, body: &str) -> Reply {
    let tag = "\"tag\"";
    if request.header("if-none-match") == Some(tag) {
        return Page::html("").status(304).header("ETag", tag).into();
    }
    Page::html(body.to_owned()).header("ETag", tag).into()
}

impl Town {
    fn new() -> Self {
        let state = Arc::new(AtomicU32::new(1));
        let now = Arc::clone(&state);
        let same = "<title>Same</title><p>one body under two names";
        let page = move |request: &Request| match request.path() {
            "/" => {
                let state = now.load(Ordering::SeqCst);
                let more = links(["/deep", "/x", "/copy", "/empty"]);
                Page::html(format!("<title>Home</title><p>edition{state} {more}")).into()
            }
            "/deep" => tagged(
                request,
                "<title>Deep</title><h1>Deep</h1><p>words of old <a href=http://b.test/>b</a>",
            ),
            "/x" | "/copy" => tagged(request, same),
            "/empty" => tagged(request, ""),
            _ => Page::html("gone").status(404).into(),
        };
        Self {
            web: Web::new().site(HOST, Site::new().under("/", page)).start(),
            state,
            place: tempfile::tempdir().unwrap(),
        }
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.place.path().join(name).join("a.crawl")
    }

    fn crawl(&self, name: &str, change: impl FnOnce(&mut Config)) -> PathBuf {
        let folder = self.folder(name);
        std::fs::create_dir(folder.parent().unwrap()).unwrap();
        let mut config = config(&self.web, &folder);
        config.scope.sitemaps = false;
        change(&mut config);
        crawl(config);
        folder
    }

    fn update(&self, name: &str, earlier: &str) -> PathBuf {
        self.crawl(name, |config| {
            config.output.archive.update_from = Some(self.folder(earlier));
        })
    }
}

/// Markdown by name, without the moment at which it was fetched.
fn markdown(job: &Path) -> (BTreeMap<String, String>, u64) {
    let (folder, done) = written(job, Form::Markdown, &Options::default());
    assert_eq!(done.unreadable, 0, "{:?}", done.complaints);
    let files = tree(&folder).into_iter();
    let files = files.filter(|(name, _)| name != "export.json");
    let undated = files.map(|(name, bytes)| {
        let text = String::from_utf8(bytes).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with("fetched: "));
        (name, lines.collect::<Vec<_>>().join("\n"))
    });
    (undated.collect(), done.duplicates)
}

#[test]
fn bodies_of_earlier_crawls_are_exported() {
    let town = Town::new();
    let first = town.crawl("first", |_| {});
    let second = town.update("second", "first");
    // It finds most bodies two crawls back.
    let third = town.update("third", "second");
    // And this one stored nothing that it could find elsewhere.
    let fourth = town.crawl("fourth", |config| {
        config.output.archive.dedup_from = vec![town.folder("first")];
    });
    let expected = markdown(&first);
    assert_eq!((expected.0.len(), expected.1), (4, 1), "{expected:?}");
    for job in [&second, &third, &fourth] {
        assert_eq!(markdown(job), expected, "{}", job.display());
        let (text, done) = streamed(job, Form::Jsonl, &Options::default());
        assert_eq!(done.unreadable, 0, "{:?}", done.complaints);
        let pages = json_lines(&text);
        assert!(
            pages["/deep"]["text"]
                .as_str()
                .unwrap()
                .contains("words of old")
        );
        assert!(
            pages["/copy"]["duplicate_of"]
                .as_str()
                .unwrap()
                .ends_with("/x")
        );
        assert!(pages["/empty"].get("duplicate_of").is_none());
        let (folder, _) = written(job, Form::Parquet, &Options::default());
        let links = rows(&folder.join("links.parquet"));
        let targets = links.iter().filter_map(|link| text_of(link, "target_url"));
        assert!(
            targets
                .collect::<Vec<_>>()
                .contains(&"http://b.test/".to_owned())
        );
        let (folder, done) = written(job, Form::Numbered, &Options::default());
        assert_eq!(done.rows, 5);
        let bodies = tree(&folder).into_values();
        let has_old = |body: &Vec<u8>| String::from_utf8_lossy(body).contains("words of old");
        assert_eq!(bodies.filter(has_old).count(), 1);
    }
    let rows = json_lines(&streamed(&second, Form::Jsonl, &Options::default()).0);
    assert_eq!(rows["/deep"]["status"], 304);
}

#[test]
fn a_page_that_changed_is_the_new_one_also_before_the_end() {
    let town = Town::new();
    town.crawl("first", |_| {});
    town.state.store(2, Ordering::SeqCst);
    // Both may lie in the same second, and the unfinished archive has no index yet.
    let part = town.crawl("part", |config| {
        config.output.archive.update_from = Some(town.folder("first"));
        config.limits.pages = Some(1);
    });
    let rows = json_lines(&streamed(&part, Form::Jsonl, &Options::default()).0);
    let home = rows["/"]["text"].as_str().unwrap();
    assert!(home.contains("edition2"), "{home}");
}
