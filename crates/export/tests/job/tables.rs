//! Every column of every table against the field that it is made from.
//!
//! What is expected is put together here, from `urls.jsonl`, `links/` and the pages as they were
//! served. A column that is swapped with another, constant or missing fails.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use clewline_content::{Content, ContentLimits, ItemRules, page_links};
use clewline_export::{Form, Options};
use clewline_job::log::LinksReader;
use clewline_warc::Moment;
use fieldwork::{HOST, config, crawl, tree};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use terrarium::{Page, Reply, Site, Web, links};

use super::{path_of, rows, streamed, written};

/// A table: each row by the names of its columns; what is empty is left out.
type Table = Vec<Map<String, Value>>;

const RULES: &str = "[[rule]]\nname = 'figures'\nselect = 'li'\nlist = true\ntype = 'number'\n\
                     [[rule]]\nname = 'words'\nselect = 'b'\n";

/// Columns of which a record has the field under the same name.
const OF_RECORDS: [&str; 25] = [
    "url",
    "key",
    "outcome",
    "status",
    "content_type",
    "charset",
    "depth",
    "kind",
    "found_on",
    "redirect_to",
    "reason",
    "failure",
    "error",
    "wire_bytes",
    "body_bytes",
    "truncated",
    "links",
    "new_links",
    "tries",
    "address",
    "digest",
    "lastmod",
    "noindex",
    "fetched_at",
    "canonical",
];

fn pages() -> BTreeMap<&'static str, String> {
    let article = "<html lang=de-AT><title>The title</title><meta name=author content='A. Writer'>\
        <meta name=description content='What it is about'>\
        <meta property=article:published_time content=2024-01-02>\
        <meta property=article:modified_time content=2025-03-04><h1>Heading</h1><h2>Second</h2>\
        <main><p>Some <b>words</b> that people read, and more of them<li>1.5<li>2</main>";
    let other = "<title>Other</title><h1>Other heading</h1><p>Different words, and <b>fewer</b>\
        <a href='/article#part' rel='help nofollow'>an article</a><img src=/i.png alt=Picture>";
    let deep = format!("<title>Deep</title>{}", "<div>".repeat(600));
    BTreeMap::from([
        ("/article", article.to_owned()),
        ("/article?again", article.to_owned()),
        ("/other", other.to_owned()),
        (
            "/named",
            "<title>N</title><link rel=canonical href=/other>".to_owned(),
        ),
        (
            "/hidden",
            "<meta name=robots content=noindex><p>Hidden".to_owned(),
        ),
        ("/untitled", "<h1>Only a heading</h1><p>Text".to_owned()),
        ("/deep", deep),
    ])
}

fn job() -> (TempDir, PathBuf) {
    let pages = pages();
    let mut site = Site::new()
        .robots("User-agent: *\nDisallow: /secret\n")
        .page("/old", Page::redirect(301, "/other"));
    for (path, html) in &pages {
        let mut page = Page::html(html.clone());
        if *path == "/other" {
            page = page.header("last-modified", "Tue, 04 Mar 2025 10:00:00 GMT");
        }
        site = site.page(path, page);
    }
    let others = ["/old", "/gone", "/secret", "/broken", "/long", "/latin"];
    let all = pages.keys().copied().chain(others);
    site = site
        .page(
            "/",
            Page::html(format!("<title>Home</title>{}", links(all))),
        )
        .page("/broken", Reply::raw(b"nonsense\r\n\r\n".to_vec()))
        .page("/long", Page::text("x".repeat(20_000)))
        .page(
            "/latin",
            Page::charset("windows-1252", b"<title>caf\xe9</title>".to_vec()),
        );
    let web = Web::new().site(HOST, site).start();
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a.crawl");
    let mut config = config(&web, &folder);
    config.fetch.max_body = 10_000;
    crawl(config);
    (place, folder)
}

fn options() -> Options {
    Options {
        rules: Some(ItemRules::parse(RULES).unwrap()),
        ..Options::default()
    }
}

fn records(job: &Path) -> Vec<Value> {
    let text = fs::read_to_string(job.join("urls.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap().to_owned()
}

/// The columns of pages that do without their words.
fn plain_columns(record: &Value, original: Option<&String>) -> Map<String, Value> {
    let mut row = Map::new();
    for name in OF_RECORDS {
        if let Some(value) = record.get(name) {
            row.insert(name.to_owned(), value.clone());
        }
    }
    for flag in ["truncated", "noindex"] {
        row.entry(flag).or_insert(json!(false));
    }
    row.insert("rendered".into(), json!(false));
    row.insert("host".into(), json!(HOST));
    row.insert("schema_version".into(), json!(2));
    if let Some(total) = record["timings"].get("total") {
        row.insert("milliseconds".into(), total.clone());
    }
    if let Some(original) = original {
        row.insert("duplicate_of".into(), json!(original));
    }
    if let Some(title) = record.get("title") {
        row.insert("html_title".into(), title.clone());
        row.insert("title".into(), title.clone());
    }
    row
}

/// The columns that a page's words make.
fn add_words(row: &mut Map<String, Value>, html: &str, url: &str) {
    let url = url.parse().unwrap();
    let content = match Content::from_html(html, &url, &ContentLimits::default()) {
        Ok(content) => content,
        Err(refusal) => {
            row.insert("unreadable".into(), json!(refusal.to_string()));
            return;
        }
    };
    let (main, told) = (content.main.unwrap(), content.metadata);
    let headings: Vec<String> = told.headings.iter().map(|it| it.text.clone()).collect();
    let items = ItemRules::parse(RULES).unwrap();
    let items = items.items(html, &url, &ContentLimits::default()).unwrap();
    let columns = [
        ("title", json!(told.title)),
        ("html_title", json!(told.html_title)),
        ("h1", json!(told.h1)),
        ("html_lang", json!(told.language)),
        ("language", json!(content.language)),
        ("description", json!(told.description)),
        ("author", json!(told.author)),
        ("published", json!(told.published)),
        ("modified", json!(told.modified)),
        ("headings", json!(headings.join("\n"))),
        ("words", json!(main.words)),
        (
            "text_hash",
            json!(format!("{:016x}", content.fingerprint.exact)),
        ),
        (
            "simhash",
            json!(format!("{:016x}", content.fingerprint.near)),
        ),
        ("text", json!(main.text)),
        ("markdown", json!(main.markdown)),
        ("items", json!(items.items)),
    ];
    for (name, value) in columns {
        match value {
            Value::Null => row.remove(name),
            value => row.insert(name.to_owned(), value),
        };
    }
}

/// What the table of pages must hold, for pages that are HTML; of others, their plain columns.
fn expected_pages(job: &Path) -> Vec<(Map<String, Value>, bool)> {
    let served = pages();
    let original = |url: &str| {
        let same = path_of(url) == "/article?again";
        same.then(|| url.replace("?again", ""))
    };
    let each = records(job).into_iter().map(|record| {
        let url = text(&record, "url");
        let mut row = plain_columns(&record, original(&url).as_ref());
        let html = served.get(path_of(&url).as_str());
        if let Some(html) = html {
            add_words(&mut row, html, &url);
        }
        (row, html.is_some())
    });
    each.collect()
}

fn as_json(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Str(text) => json!(text),
        Field::Int(number) => json!(number),
        Field::Long(number) => json!(number),
        Field::Double(number) => json!(number),
        Field::Bool(flag) => json!(flag),
        Field::TimestampMillis(at) => json!({ "milliseconds": at }),
        other => panic!("no table has {other:?}"),
    }
}

fn parquet_table(path: &Path) -> Table {
    let row = |row: parquet::record::Row| {
        let columns = row.get_column_iter();
        let columns = columns.map(|(name, field)| (name.clone(), as_json(field)));
        columns.filter(|(_, value)| !value.is_null()).collect()
    };
    rows(path).into_iter().map(row).collect()
}

/// The columns of a Parquet file.
fn parquet_columns(path: &Path) -> BTreeSet<String> {
    let reader = SerializedFileReader::new(fs::File::open(path).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr();
    schema
        .columns()
        .iter()
        .map(|it| it.name().to_owned())
        .collect()
}

/// Fields of a line; there is no quote in quotes in this crawl.
fn csv_fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_quoted = false;
    for c in line.chars() {
        match c {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => fields.push(String::new()),
            c => fields.last_mut().unwrap().push(c),
        }
    }
    fields
}

/// No column is as another one, and only those that must be are constant.
fn check_columns(table: &Table, constant: &[&str]) {
    let names: BTreeSet<&String> = table.iter().flat_map(Map::keys).collect();
    let mut seen: HashMap<Vec<Option<&Value>>, &String> = HashMap::new();
    for name in names {
        let column: Vec<Option<&Value>> = table.iter().map(|row| row.get(name)).collect();
        let is_constant = column.iter().all(|value| *value == column[0]);
        assert_eq!(
            is_constant,
            constant.contains(&name.as_str()),
            "{name}: {column:?}"
        );
        if let Some(other) = seen.insert(column, name) {
            panic!("this crawl cannot tell {name} from {other}");
        }
    }
}

#[test]
fn every_column_of_pages_is_the_field_of_its_record() {
    let (_place, job) = job();
    let expected = expected_pages(&job);
    let mut is_html = Vec::new();
    let mut expected: Table = expected
        .into_iter()
        .map(|(row, html)| {
            is_html.push(html);
            row
        })
        .collect();
    check_columns(&expected, &["host", "rendered", "schema_version"]);
    let columns: BTreeSet<String> = expected
        .iter()
        .flat_map(|row| row.keys().cloned())
        .collect();

    let lines = streamed(&job, Form::Jsonl, &options()).0;
    let lines: Table = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (folder, _) = written(&job, Form::Parquet, &options());
    let file = folder.join("pages.parquet");
    assert_eq!(parquet_columns(&file), columns, "every column is compared");
    let table = parquet_table(&file);
    assert_eq!((lines.len(), table.len()), (expected.len(), expected.len()));
    for (number, expected) in expected.iter_mut().enumerate() {
        let (mut line, mut row) = (lines[number].clone(), table[number].clone());
        if !is_html[number] {
            // Texts that are no HTML have words as well, which other tests compare.
            line.retain(|name, _| expected.contains_key(name));
            row.retain(|name, _| expected.contains_key(name));
        }
        assert_eq!(line, *expected, "jsonl");
        let at = Moment::parse(expected["fetched_at"].as_str().unwrap()).unwrap();
        expected.insert(
            "fetched_at".into(),
            json!({ "milliseconds": at.milliseconds() }),
        );
        if let Some(items) = expected.get_mut("items") {
            *items = json!(items.to_string());
        }
        assert_eq!(row, *expected, "parquet");
    }
}

#[test]
fn every_column_of_csv_is_the_field_of_its_record() {
    let (_place, job) = job();
    let (csv, _) = streamed(&job, Form::Csv, &options());
    let mut lines = csv.lines();
    let names = csv_fields(lines.next().unwrap());
    let records = records(&job);
    let mut table = Table::new();
    for (line, record) in lines.zip(&records) {
        let url = text(record, "url");
        let original = url.strip_suffix("?again").map(ToOwned::to_owned);
        let expected = plain_columns(record, original.as_ref());
        let fields = csv_fields(line);
        assert_eq!(fields.len(), names.len(), "{line}");
        for (name, field) in names.iter().zip(&fields) {
            let value = match expected.get(name) {
                None => String::new(),
                Some(Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
            };
            assert_eq!(*field, value, "{url} {name}");
        }
        assert!(
            expected.keys().all(|name| names.contains(name)),
            "{names:?}"
        );
        table.push(expected);
    }
    assert_eq!(table.len(), records.len());
    // Without words the two titles are one.
    for row in &mut table {
        row.remove("title");
    }
    check_columns(&table, &["host", "rendered", "schema_version"]);
}

#[test]
fn every_column_of_links_is_what_pages_and_logs_say() {
    let (_place, job) = job();
    let (folder, _) = written(&job, Form::Parquet, &options());
    let records = records(&job);
    let by_key: HashMap<String, String> = records
        .iter()
        .map(|record| (text(record, "key"), text(record, "url")))
        .collect();
    let served = pages();
    let mut expected = Table::new();
    for link in LinksReader::open(&job).unwrap() {
        let (source, target, kind) = link.unwrap();
        let (source, target) = (source.to_string(), target.to_string());
        let page = &by_key[&source];
        let mut row = Map::new();
        for (name, value) in [
            ("source_url", page),
            ("source_key", &source),
            ("target_key", &target),
        ] {
            row.insert(name.into(), json!(value));
        }
        row.insert("kind".into(), json!(kind.name()));
        row.insert("schema_version".into(), json!(2));
        let own = page_links(
            served
                .get(path_of(page).as_str())
                .map_or("", String::as_str),
            &page.parse().unwrap(),
            &ContentLimits::default(),
        );
        let own = own.unwrap();
        let known = by_key.get(&target);
        // What was not settled is named by its page alone: the picture.
        let named = |url: &str| known.map_or(url.ends_with("/i.png"), |known| known == url);
        let said = own
            .iter()
            .find(|it| named(it.url.as_str().split('#').next().unwrap()));
        let url = known.cloned().or_else(|| said.map(|it| it.url.to_string()));
        row.insert("target_url".into(), json!(url.unwrap()));
        if let Some(said) = said {
            let parts = [
                ("text", said.text.as_deref()),
                ("rel", said.rel.as_deref()),
                ("fragment", said.url.fragment()),
            ];
            for (name, value) in parts {
                row.extend(value.map(|value| (name.to_owned(), json!(value))));
            }
        } else if path_of(page) == "/" {
            row.insert("text".into(), json!(path_of(known.unwrap())));
        }
        expected.push(row);
    }
    check_columns(&expected, &["schema_version"]);
    let file = folder.join("links.parquet");
    let table = parquet_table(&file);
    let columns: BTreeSet<String> = expected
        .iter()
        .flat_map(|row| row.keys().cloned())
        .collect();
    assert_eq!(parquet_columns(&file), columns);
    // What the links of the home page are called is the affair of whoever wrote it.
    let without_home = |table: Table| -> Table {
        let strip = |mut row: Map<String, Value>| {
            if path_of(row["source_url"].as_str().unwrap()) == "/" {
                row.remove("text");
            }
            row
        };
        table.into_iter().map(strip).collect()
    };
    assert_eq!(without_home(table), without_home(expected));
}

#[test]
fn every_column_of_items_is_what_rules_find() {
    let (_place, job) = job();
    let (folder, _) = written(&job, Form::Parquet, &options());
    let served = pages();
    let rules = ItemRules::parse(RULES).unwrap();
    let mut expected = Table::new();
    for record in &records(&job) {
        let url = text(record, "url");
        let Some(html) = served.get(path_of(&url).as_str()) else {
            continue;
        };
        let Ok(found) = rules.items(html, &url.parse().unwrap(), &ContentLimits::default()) else {
            continue;
        };
        for (rule, value) in found.items {
            let members = value.as_array().cloned().unwrap_or_else(|| vec![value]);
            for (number, member) in members.iter().filter(|it| !it.is_null()).enumerate() {
                let row = json!({ "url": url, "rule": rule, "number": number,
                                  "item": member.to_string(), "schema_version": 2 });
                expected.push(row.as_object().unwrap().clone());
            }
        }
    }
    check_columns(&expected, &["schema_version"]);
    let file = folder.join("items.parquet");
    let columns: BTreeSet<String> = expected[0].keys().cloned().collect();
    assert_eq!(parquet_columns(&file), columns);
    assert_eq!(parquet_table(&file), expected);
}

/// The number of threads changes nothing that is written.
#[test]
fn exports_are_the_same_with_one_thread_and_with_many() {
    let (_place, job) = job();
    let made = |threads: usize| {
        let options = Options {
            threads: NonZero::new(threads),
            ..options()
        };
        let forms = [Form::Parquet, Form::Markdown, Form::Numbered];
        let folders = forms.map(|form| tree(&written(&job, form, &options).0));
        (folders, streamed(&job, Form::Jsonl, &options).0)
    };
    let one = made(1);
    assert!(one.0[0].contains_key("links.parquet"));
    for threads in [2, 7] {
        assert!(made(threads) == one, "{threads} threads");
    }
}
