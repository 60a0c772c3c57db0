//! Crawls on loopback, exported in every form, and read back.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are tests, but clippy knows only functions"
)]

mod earlier;
mod links;
mod owners;
mod rendered;
mod tables;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use clewline_content::ItemRules;
use clewline_export::{
    ExistingOutput, ExportError, Exported, Filter, Fold, Form, Options, Output, ViewRules, export,
    update, view_path,
};
use fieldwork::{HOST, config, crawl, crawled, tree};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, Row};
use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::Value;
use terrarium::{LiveWeb, Page, Reply, Site, Web, links};

/// A title that is a formula, markup, YAML and an order to a terminal.
const HOSTILE: &str = "=cmd|' /C calc'!A0 \"]]></title\u{1b}[2J\u{202e}: - #";

/// Numbers of lists.
const RULES: &str = "[[rule]]\nname = 'figures'\nselect = 'li'\nlist = true\ntype = 'number'\n";

/// A text of which one word is another one.
fn long(changed: &str) -> String {
    let words: Vec<String> = (0..8000)
        .map(|n| format!("word{}", n * 7919 % 10_007))
        .collect();
    let (before, after) = words.split_at(4000);
    format!("{} {changed} {}", before.join(" "), after.join(" "))
}

fn web() -> LiveWeb {
    let page = |title: &str, body: &str| {
        Page::html(format!(
            "<html lang=en><title>{title}</title><h1>{title}</h1><p>{body}</p>"
        ))
    };
    let hostile = HOSTILE.replace('<', "&lt;").replace('\u{1b}', "&#x1b;");
    let paths = [
        "/hash",
        "/tree",
        "/tree/",
        "/copy",
        "/print",
        "/near",
        "/hidden",
        "/old",
        "/notes.txt",
        "/gone",
        "/hostile",
        "/pixel.png",
    ];
    let site = Site::new()
        .page(
            "/",
            Page::html(format!("<title>Home</title>{}", links(paths))),
        )
        .page(
            "/hash",
            page("Hash maps", "<a href=/tree>trees</a> pairs <li>1.5<li>2"),
        )
        .page("/tree", page("Trees", &long("one")))
        .page("/tree/", page("Trees", &long("two")))
        .page("/copy", page("Trees", &long("one")))
        .page(
            "/print",
            Page::html("<title>Hash maps</title><link rel=canonical href=/hash><p>pairs"),
        )
        .page("/near", page("Shrubs", &long("three")))
        .page(
            "/hidden",
            page("Hidden", "<meta name=robots content=noindex> secret"),
        )
        .page("/old", Reply::from(Page::redirect(301, "/tree")))
        .page("/notes.txt", Page::text("plain | text * without markup\n"))
        .page("/hostile", page(&hostile, "a, b"))
        .page("/pixel.png", Page::bytes("image/png", b"\x89PNG".to_vec()));
    Web::new().site(HOST, site).start()
}

fn written(job: &Path, form: Form, options: &Options) -> (PathBuf, Exported) {
    let path = job.with_file_name(format!("out-{}", form.name()));
    let output = Output::Path(&path, ExistingOutput::Replace);
    let done = export(job, form, output, options, &mut |_| {}).unwrap();
    (path, done)
}

fn streamed(job: &Path, form: Form, options: &Options) -> (String, Exported) {
    let mut out = Vec::new();
    let done = export(job, form, Output::Stream(&mut out), options, &mut |_| {}).unwrap();
    (String::from_utf8(out).unwrap(), done)
}

fn filtered(filters: &[&str]) -> Options {
    Options {
        filters: filters
            .iter()
            .map(|one| Filter::parse(one).unwrap())
            .collect(),
        ..Options::default()
    }
}

/// The path of a URL of the web.
fn path_of(url: &str) -> String {
    format!("/{}", url.splitn(4, '/').nth(3).unwrap())
}

fn json_lines(text: &str) -> HashMap<String, Value> {
    let rows = text.lines().map(|line| serde_json::from_str(line).unwrap());
    rows.map(|row: Value| (path_of(row["url"].as_str().unwrap()), row))
        .collect()
}

#[test]
fn json_lines_hold_every_url_and_the_text_of_pages() {
    let (_place, job) = crawled(&web());
    let (text, done) = streamed(&job, Form::Jsonl, &Options::default());
    let rows = json_lines(&text);
    let lines = fs::read_to_string(job.join("urls.jsonl")).unwrap();
    let count = lines.lines().count();
    assert_eq!((done.rows as usize, rows.len()), (count, count));
    assert!(
        !text.contains(['\u{1b}', '\u{202e}']),
        "no terminal is steered"
    );
    let hash = &rows["/hash"];
    assert!(hash["text"].as_str().unwrap().contains("pairs"));
    assert!(hash["markdown"].as_str().unwrap().contains("# Hash maps"));
    assert_eq!(
        (hash["title"].as_str(), hash["language"].as_str()),
        (Some("Hash maps"), Some("en"))
    );
    assert_eq!(
        (rows["/gone"]["status"].as_u64(), rows["/gone"].get("text")),
        (Some(404), None)
    );
    assert!(
        rows["/notes.txt"]["text"]
            .as_str()
            .unwrap()
            .contains("without markup")
    );
    assert!(rows["/pixel.png"].get("text").is_none());
    let original = |path: &str| {
        rows[path]
            .get("duplicate_of")
            .map(|url| path_of(url.as_str().unwrap()))
    };
    assert_eq!(original("/print").as_deref(), Some("/hash"), "canonical");
    // Of three that are one, the first of the two shortest stands for all.
    let trees = ["/tree", "/copy", "/tree/"].map(original);
    let standing: Vec<_> = trees.iter().flatten().collect();
    assert!(
        standing.len() == 2 && standing[0] == standing[1],
        "{trees:?}"
    );
    assert!(trees[2].is_some(), "{trees:?}");
    assert_eq!(original("/near"), None, "what is near is no duplicate");
    let near = done.near.unwrap();
    // /near is near the page that stands for the trees; its copies are duplicates.
    assert_eq!((near.clusters, near.pages), (1, 1), "{near:?}");
}

#[test]
fn csv_is_safe_and_has_a_row_for_each_url() {
    let (_place, job) = crawled(&web());
    let (text, done) = streamed(&job, Form::Csv, &Options::default());
    assert_eq!(text.lines().count() as u64, done.rows + 1);
    assert!(text.starts_with("url,key,host,outcome,status,"));
    let hostile = text
        .lines()
        .find(|line| line.contains("/hostile,"))
        .unwrap();
    assert!(
        hostile.contains("\"'=cmd|' /C calc'!A0 \"\"]]>"),
        "{hostile}"
    );
    assert!(!text.contains(['\u{1b}', '\u{202e}']));
    let (text, done) = streamed(&job, Form::Csv, &filtered(&["status>=400"]));
    assert!(done.rows >= 1 && text.contains("/gone,") && !text.contains("/hash,"));
    let (_, done) = streamed(&job, Form::Csv, &filtered(&["status=200", "url~/tree/?$"]));
    assert_eq!((done.rows, done.duplicates), (2, 1));
}

fn rows(path: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    reader
        .get_row_iter(None)
        .unwrap()
        .map(Result::unwrap)
        .collect()
}

fn field(row: &Row, name: &str) -> Field {
    let mut columns = row.get_column_iter();
    columns
        .find(|(column, _)| *column == name)
        .unwrap()
        .1
        .clone()
}

fn text_of(row: &Row, name: &str) -> Option<String> {
    match field(row, name) {
        Field::Str(text) => Some(text),
        Field::Null => None,
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn parquet_holds_pages_links_and_items() {
    let (_place, job) = crawled(&web());
    let options = Options {
        rules: Some(ItemRules::parse(RULES).unwrap()),
        ..Options::default()
    };
    let (folder, done) = written(&job, Form::Parquet, &options);
    let pages = rows(&folder.join("pages.parquet"));
    let lines = json_lines(&streamed(&job, Form::Jsonl, &options).0);
    assert_eq!(pages.len(), lines.len());
    for page in &pages {
        let path = path_of(&text_of(page, "url").unwrap());
        for name in [
            "text",
            "markdown",
            "title",
            "html_title",
            "h1",
            "language",
            "html_lang",
            "text_hash",
            "simhash",
            "duplicate_of",
            "content_type",
        ] {
            let expected = lines[&path]
                .get(name)
                .map(|value| value.as_str().unwrap().to_owned());
            assert_eq!(text_of(page, name), expected, "{path} {name}");
        }
        assert!(
            matches!(field(page, "fetched_at"), Field::TimestampMillis(at) if at > 1_700_000_000_000)
        );
        assert!(matches!(field(page, "depth"), Field::Int(_)));
        assert_eq!(field(page, "schema_version"), Field::Int(2));
        let hashes = ["text_hash", "simhash"].map(|name| text_of(page, name));
        let is_fixed = |hash: &String| hash.len() == 16 && u64::from_str_radix(hash, 16).is_ok();
        assert!(hashes.iter().flatten().all(is_fixed), "{hashes:?}");
    }
    let edges = rows(&folder.join("links.parquet"));
    assert_eq!(edges.len() as u64, done.links);
    let ends: BTreeSet<(String, String)> = edges
        .iter()
        .filter_map(|link| {
            let target = text_of(link, "target_url")?;
            Some((path_of(&text_of(link, "source_url")?), path_of(&target)))
        })
        .collect();
    assert!(ends.contains(&("/hash".to_owned(), "/tree".to_owned())));
    assert!(ends.contains(&("/".to_owned(), "/hash".to_owned())));
    let items = rows(&folder.join("items.parquet"));
    assert_eq!(items.len() as u64, done.items);
    let found: BTreeSet<_> = items
        .iter()
        .filter_map(|item| text_of(item, "item"))
        .collect();
    assert!(found.contains("1.5") && found.contains("2"), "{found:?}");
    let single = job.with_file_name("only.parquet");
    let output = Output::Path(&single, ExistingOutput::Keep);
    export(
        &job,
        Form::Parquet,
        output,
        &Options::default(),
        &mut |_| {},
    )
    .unwrap();
    assert_eq!(rows(&single).len(), pages.len());
}

#[test]
fn documents_have_safe_names_and_front_matter() {
    let (_place, job) = crawled(&web());
    let (folder, done) = written(&job, Form::Markdown, &Options::default());
    let files = tree(&folder);
    assert_eq!(files.len() as u64, done.rows + 1, "and the marker");
    let file = |ending: &str| {
        let found = files.iter().find(|(name, _)| name.ends_with(ending));
        String::from_utf8(found.unwrap().1.clone()).unwrap()
    };
    let hash = file("/hash.md");
    assert!(hash.starts_with("---\nurl: \"http://a.test:"), "{hash}");
    assert!(hash.contains("\ntitle: \"Hash maps\"\n") && hash.contains("\n---\n\n# Hash maps\n"));
    let hostile = file("/hostile.md");
    assert!(
        hostile.contains("\ntitle: \"=cmd|' /C calc'!A0 \\\"]]>"),
        "{hostile}"
    );
    assert!(!hostile.contains('\u{1b}'));
    assert!(file("/notes.md").contains("```\nplain | text * without markup\n```\n"));
    assert!(
        !files
            .keys()
            .any(|name| name.contains("print") || name.contains("pixel"))
    );
    assert_eq!(done.duplicates, 3, "/print, /tree/ and /copy or /tree");
    let apart = Options {
        fold: Fold::Apart,
        ..Options::default()
    };
    let (_, all) = written(&job, Form::Markdown, &apart);
    assert_eq!(all.rows, done.rows + done.duplicates);
    let (folder, texts) = written(&job, Form::Text, &Options::default());
    assert_eq!(texts.rows, done.rows);
    let texts = tree(&folder);
    let hash = texts
        .iter()
        .find(|(name, _)| name.ends_with("/hash.txt"))
        .unwrap();
    assert!(String::from_utf8_lossy(hash.1).contains("pairs"));
    let (stream, _) = streamed(&job, Form::Text, &Options::default());
    assert_eq!(stream.matches('\u{c}').count() as u64, done.rows);
}

#[test]
fn numbered_files_hold_url_depth_and_content() {
    let (_place, job) = crawled(&web());
    let (folder, done) = written(&job, Form::Numbered, &Options::default());
    let records = json_lines(&fs::read_to_string(job.join("urls.jsonl")).unwrap());
    let mut seen = BTreeSet::new();
    for number in 1..=done.rows {
        let text = fs::read_to_string(folder.join(format!("{number}.html"))).unwrap();
        let mut lines = text.splitn(3, '\n');
        let path = path_of(lines.next().unwrap());
        let depth: u64 = lines.next().unwrap().parse().unwrap();
        assert_eq!(records[&path]["depth"].as_u64(), Some(depth), "{path}");
        let body = lines.next().unwrap();
        assert_eq!(
            records[&path]["body_bytes"].as_u64(),
            Some(body.len() as u64),
            "{path}"
        );
        seen.insert(path);
    }
    assert!(seen.contains("/") && seen.contains("/copy") && !seen.contains("/gone"));
    let mut out = Vec::new();
    let stream = Output::Stream(&mut out);
    let failed = export(
        &job,
        Form::Numbered,
        stream,
        &Options::default(),
        &mut |_| {},
    );
    assert!(matches!(
        failed,
        Err(ExportError::NotAStream(Form::Numbered))
    ));
}

/// The texts of elements of a name, in a document that must be sound.
fn elements(xml: &str, name: &str) -> Vec<String> {
    let mut reader = Reader::from_str(xml);
    let (mut found, mut is_open) = (Vec::new(), false);
    loop {
        match reader.read_event().unwrap() {
            Event::Start(start) if start.name().as_ref() == name => {
                is_open = true;
                found.push(String::new());
            }
            Event::End(_) => is_open = false,
            Event::Text(text) if is_open => {
                found.last_mut().unwrap().push_str(&text);
            }
            Event::Eof => return found,
            _ => {}
        }
    }
}

#[test]
fn a_sitemap_lists_pages_that_may_be_found() {
    let (_place, job) = crawled(&web());
    let (xml, done) = streamed(&job, Form::Sitemap, &Options::default());
    let found: Vec<String> = elements(&xml, "loc")
        .iter()
        .map(|url| path_of(url))
        .collect();
    assert_eq!(found.len() as u64, done.rows);
    for (path, expected) in [
        ("/", true),
        ("/hash", true),
        ("/notes.txt", true),
        ("/hidden", false),
        ("/print", false),
        ("/old", false),
        ("/gone", false),
        ("/pixel.png", false),
    ] {
        assert_eq!(found.contains(&path.to_owned()), expected, "{path}");
    }
}

#[test]
fn a_graph_has_nodes_edges_and_ranks() {
    let (_place, job) = crawled(&web());
    let (folder, done) = written(&job, Form::Graph, &filtered(&["outcome=fetched"]));
    let nodes = fs::read_to_string(folder.join("nodes.csv")).unwrap();
    let edges = fs::read_to_string(folder.join("edges.csv")).unwrap();
    let graph = fs::read_to_string(folder.join("graph.graphml")).unwrap();
    let counts = (
        nodes.lines().count() as u64 - 1,
        edges.lines().count() as u64 - 1,
    );
    assert_eq!(counts, (done.rows, done.links));
    assert_eq!(graph.matches("<node ").count() as u64, done.rows);
    assert_eq!(graph.matches("<edge ").count() as u64, done.links);
    elements(&graph, "data");
    let row = |path: &str| {
        let found = nodes
            .lines()
            .find(|line| line.contains(&format!("{path},")))
            .unwrap();
        found.split(',').map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    let (tree, near) = (row("/tree"), row("/near"));
    assert_eq!((tree[4].as_str(), near[4].as_str()), ("2", "1"), "inlinks");
    let rank = |row: &[String]| row[6].parse::<f64>().unwrap();
    assert!(rank(&tree) > rank(&near));
    let ranks = nodes
        .lines()
        .skip(1)
        .map(|line| line.rsplit(',').next().unwrap());
    let sum: f64 = ranks.map(|rank| rank.parse::<f64>().unwrap()).sum();
    assert!((sum - done.rows as f64).abs() < 1e-3, "{sum}");
    let (single, _) = streamed(&job, Form::Graph, &filtered(&["outcome=fetched"]));
    assert_eq!(single, graph);
}

#[test]
fn duplicates_are_listed_in_clusters() {
    let (_place, job) = crawled(&web());
    let (text, done) = streamed(&job, Form::Duplicates, &Options::default());
    let mut found: BTreeMap<String, BTreeSet<(String, String)>> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let member = (path_of(cells[2]), cells[1].to_owned());
        found.entry(cells[0].to_owned()).or_default().insert(member);
    }
    assert_eq!((found.len(), done.rows), (2, 6), "{text}");
    let sizes: BTreeSet<usize> = found.values().map(BTreeSet::len).collect();
    assert_eq!(
        sizes,
        BTreeSet::from([2, 4]),
        "hash and print; trees and shrubs"
    );
    let members: BTreeSet<_> = found.into_values().flatten().collect();
    assert!(members.contains(&("/print".to_owned(), "same".to_owned())));
    assert!(members.contains(&("/hash".to_owned(), "original".to_owned())));
    let near = done.near.unwrap();
    let listed = members
        .iter()
        .filter(|(_, relation)| relation == "near")
        .count();
    assert_eq!((near.clusters, near.pages as usize), (1, listed));
    let (_, tables) = streamed(&job, Form::Jsonl, &Options::default());
    assert_eq!(tables.near, Some(near), "every form counts the same");
}

#[test]
fn outputs_are_the_same_each_time_and_nothing_is_overwritten() {
    let (_place, job) = crawled(&web());
    for form in Form::ALL {
        let (path, _) = written(&job, form, &Options::default());
        let read = |path: &Path| {
            if path.is_dir() {
                tree(path)
            } else {
                BTreeMap::from([(String::new(), fs::read(path).unwrap())])
            }
        };
        let first = read(&path);
        let output = Output::Path(&path, ExistingOutput::Keep);
        let refused = export(&job, form, output, &Options::default(), &mut |_| {});
        assert!(matches!(refused, Err(ExportError::Occupied(_))), "{form}");
        written(&job, form, &Options::default());
        assert!(read(&path) == first, "{form} differs");
    }
}

#[test]
fn views_follow_a_crawl_and_equal_a_later_export() {
    let place = tempfile::tempdir().unwrap();
    let job = place.path().join("a.crawl");
    let web = web();
    let mut begun = config(&web, &job);
    begun.limits.pages = Some(3);
    crawl(begun);
    for form in [Form::Markdown, Form::Csv] {
        assert!(update(&job, form, None, &mut |_| {}).unwrap().is_some());
        assert!(
            update(&job, form, None, &mut |_| {}).unwrap().is_none(),
            "{form} is up to date"
        );
    }
    let before = tree(&view_path(&job, Form::Markdown)).len();
    crawl(config(&web, &job));
    for form in [Form::Markdown, Form::Csv, Form::Parquet] {
        assert!(update(&job, form, None, &mut |_| {}).unwrap().is_some());
        assert!(update(&job, form, None, &mut |_| {}).unwrap().is_none());
    }
    let view = tree(&view_path(&job, Form::Markdown));
    assert!(view.len() > before);
    let (later, _) = written(&job, Form::Markdown, &Options::default());
    assert!(view == tree(&later));
    let view = tree(&view_path(&job, Form::Parquet));
    assert!(view == tree(&written(&job, Form::Parquet, &Options::default()).0));
    let rules = ViewRules::parse(RULES).unwrap();
    let made_by_rules = || update(&job, Form::Parquet, Some(&rules), &mut |_| {}).unwrap();
    assert!(
        made_by_rules().is_some_and(|done| done.items > 0),
        "other rules, another view"
    );
    assert!(made_by_rules().is_none());
    let csv = fs::read(view_path(&job, Form::Csv)).unwrap();
    assert!(csv == fs::read(written(&job, Form::Csv, &Options::default()).0).unwrap());
    fs::remove_dir_all(view_path(&job, Form::Markdown)).unwrap();
    assert!(
        update(&job, Form::Markdown, None, &mut |_| {})
            .unwrap()
            .is_some(),
        "made again"
    );
}

#[test]
fn folders_that_cannot_be_exported_are_told_so() {
    let place = tempfile::tempdir().unwrap();
    let options = Options::default();
    let failed = |job: &Path, form| {
        let mut out = Vec::new();
        let output = Output::Stream(&mut out);
        let result = export(job, form, output, &options, &mut |_| {});
        result.unwrap_err().to_string()
    };
    assert!(failed(place.path(), Form::Csv).contains("is not a job folder"));
    let job = place.path().join("a.crawl");
    // It serves until it is dropped.
    let web = web();
    let mut config = config(&web, &job);
    config.output.archive.write = false;
    crawl(config);
    let error = failed(&job, Form::Jsonl);
    assert!(error.contains("only csv, sitemap and graph"), "{error}");
    // An archive alone has no records, whichever form is asked for.
    let file = place.path().join("a.warc");
    fs::write(&file, b"WARC/1.1\r\n").unwrap();
    for form in [Form::Csv, Form::Jsonl, Form::Graph] {
        let error = failed(&file, form);
        assert!(error.contains("is not a job folder"), "{error}");
    }
    assert!(streamed(&job, Form::Csv, &options).1.rows > 5);
}
