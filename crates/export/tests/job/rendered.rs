//! Pages that say nothing without a browser, exported as a browser showed them.

use std::path::Path;

use super::*;

/// What a server sends for every page of an application.
const SHELL: &str = "<title>App</title><div id=root></div><script>run()</script>";

/// What a browser shows; of one page it knows no more than the server.
fn shown(url: &str) -> String {
    let (title, body) = match path_of(url).as_str() {
        "/" => (
            "Start",
            "<a href=/one>the first</a><a href=/two>the second</a>",
        ),
        "/one" => ("One", "<h1>One</h1><p>caf\u{e9} words of the first"),
        _ => ("Two", "<h1>Two</h1><p>other words of the second"),
    };
    format!("<html lang=en><title>{title}</title><body><div id=root>{body}</div>")
}

fn application() -> (tempfile::TempDir, PathBuf) {
    let shell = || Page::html(SHELL);
    let site = Site::new()
        .page("/", shell())
        .page("/one", shell())
        .page("/two", shell())
        .page("/robots.txt", Page::empty(404))
        .page("/sitemap.xml", Page::empty(404));
    let web = Web::new().site(HOST, site).start();
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a.crawl");
    fieldwork::crawl_rendered(config(&web, &folder), shown);
    (place, folder)
}

#[test]
fn tables_hold_what_a_browser_showed() {
    let (_place, job) = application();
    let (text, done) = streamed(&job, Form::Jsonl, &Options::default());
    let rows = json_lines(&text);
    for (path, title, word) in [("/one", "One", "caf\u{e9}"), ("/two", "Two", "second")] {
        let row = &rows[path];
        for name in ["title", "html_title", "h1"] {
            assert_eq!(row[name], title, "{path} {name}");
        }
        for name in ["text", "markdown"] {
            let text = row[name].as_str().unwrap();
            assert!(text.contains(word), "{path} {name}: {text}");
        }
        assert_eq!(row["rendered"], true, "{path}");
        assert!(
            row.get("duplicate_of").is_none(),
            "the same bytes are no duplicates here"
        );
    }
    assert_eq!(done.duplicates, 0);
    let (csv, _) = streamed(&job, Form::Csv, &Options::default());
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    let at = header.iter().position(|name| *name == "rendered").unwrap();
    let one = csv.lines().find(|line| line.contains("/one,")).unwrap();
    assert_eq!(one.split(',').nth(at), Some("true"), "{one}");
}

#[test]
fn links_that_only_a_browser_shows_have_their_words() {
    let (place, job) = application();
    let tables = place.path().join("tables");
    let options = Options::default();
    let output = Output::Path(&tables, ExistingOutput::Replace);
    export(&job, Form::Parquet, output, &options, &mut |_| {}).unwrap();
    let links = rows(&tables.join("links.parquet"));
    let said: BTreeSet<_> = links
        .iter()
        .map(|row| text_of(row, "text").unwrap())
        .collect();
    let expected = ["the first", "the second"].map(ToOwned::to_owned);
    assert_eq!(said, BTreeSet::from(expected));
}

#[test]
fn passages_and_documents_are_those_of_the_rendered_page() {
    let (_place, job) = application();
    for form in [Form::Chunks, Form::Markdown, Form::Text] {
        let (text, _) = streamed(&job, form, &Options::default());
        assert!(text.contains("words of the first"), "{form:?}: {text}");
        assert!(text.contains("words of the second"), "{form:?}: {text}");
    }
}

/// What was sent is still what was sent.
#[test]
fn numbered_files_hold_the_answers() {
    let (place, job) = application();
    let folder = place.path().join("numbered");
    let output = Output::Path(&folder, ExistingOutput::Replace);
    export(
        &job,
        Form::Numbered,
        output,
        &Options::default(),
        &mut |_| {},
    )
    .unwrap();
    let files = tree(&folder);
    let pages = files
        .iter()
        .filter(|(name, _)| Path::new(name).extension() == Some("html".as_ref()));
    let texts: Vec<_> = pages
        .map(|(_, bytes)| String::from_utf8_lossy(bytes))
        .collect();
    assert_eq!(texts.len(), 3);
    assert!(texts.iter().all(|text| text.ends_with(SHELL)), "{texts:?}");
}
