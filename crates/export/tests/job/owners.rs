//! What owners of a site look for: missing titles, languages, sitemaps of one origin.

use std::fs;

use clewline_export::{ExistingOutput, ExportError, Form, Options, Output, export};
use clewline_job::config::Root;
use fieldwork::{HOST, config, crawl, crawled};
use terrarium::{Page, Site, Web, links};

use super::{elements, json_lines, path_of, streamed, tree};

const GERMAN: &str = "Die Würde des Menschen ist unantastbar. Sie zu achten und zu schützen ist \
    Verpflichtung aller staatlichen Gewalt.";

#[test]
fn missing_titles_and_languages_are_told_apart() {
    let site = Site::new()
        .page("/", Page::html(links(["/notitle", "/both", "/declared"])))
        .page(
            "/notitle",
            Page::html(format!("<h1>No title here</h1><p>{GERMAN}")),
        )
        .page(
            "/both",
            Page::html("<title>T</title><h1>H</h1><h1>Second</h1>"),
        )
        .page(
            "/declared",
            Page::html("<html lang=eng-GB><title>T</title><p>words"),
        );
    let (_place, job) = crawled(&Web::new().site(HOST, site).start());
    let rows = json_lines(&streamed(&job, Form::Jsonl, &Options::default()).0);
    for (path, title, html_title, h1) in [
        (
            "/notitle",
            Some("No title here"),
            None,
            Some("No title here"),
        ),
        ("/both", Some("T"), Some("T"), Some("H")),
        ("/declared", Some("T"), Some("T"), None),
    ] {
        let value = |name: &str| rows[path].get(name).and_then(|it| it.as_str());
        let found = (value("title"), value("html_title"), value("h1"));
        assert_eq!(found, (title, html_title, h1), "{path}");
    }
    assert_eq!(rows["/notitle"]["language"], "de");
    assert_eq!(rows["/declared"]["language"], "en");
    assert_eq!(rows["/declared"]["html_lang"], "eng-GB");
    let (csv, _) = streamed(&job, Form::Csv, &Options::default());
    let header: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
    assert_eq!(
        header[header.len() - 3..],
        ["html_title", "title", "schema_version"]
    );
    let row = csv.lines().find(|line| line.contains("/notitle,")).unwrap();
    assert!(row.ends_with(",,,2"), "{row}");
}

#[test]
fn a_sitemap_is_of_one_origin_and_of_pages_that_are_there() {
    let other = Site::new().page("/x", Page::html("<title>X</title>x"));
    let gone = Page::html("<title>Page not found | A</title><p>Sorry");
    let site = Site::new()
        .page("/", Page::html(links(["/ok", "/soft"])))
        .page("/ok", Page::html("<title>OK</title>ok"))
        .page("/soft", gone);
    let web = Web::new().site(HOST, site).site("b.test", other).start();
    let place = tempfile::tempdir().unwrap();
    let job = place.path().join("a.crawl");
    let mut config = config(&web, &job);
    config
        .roots
        .push(Root::parse(&web.url("b.test", "/x")).unwrap());
    crawl(config);
    let folder = place.path().join("out");
    let path = folder.join("sitemap.xml");
    let output = Output::Path(&path, ExistingOutput::Keep);
    let done = export(
        &job,
        Form::Sitemap,
        output,
        &Options::default(),
        &mut |_| {},
    )
    .unwrap();
    let files = tree(&folder);
    let listed = |name: &str| {
        let found = files.iter().find(|(file, _)| file.starts_with(name));
        let text = String::from_utf8(found.unwrap().1.clone()).unwrap();
        elements(&text, "loc")
    };
    let first = listed("sitemap.xml");
    assert!(first.iter().all(|url| url.contains(HOST)), "{first:?}");
    let paths: Vec<String> = first.iter().map(|url| path_of(url)).collect();
    assert!(paths.contains(&"/ok".to_owned()) && !paths.contains(&"/soft".to_owned()));
    assert_eq!(listed("sitemap-b.test"), [web.url("b.test", "/x")]);
    assert_eq!((files.len(), done.rows as usize), (2, first.len() + 1));
    let mut out = Vec::new();
    let output = Output::Stream(&mut out);
    let refused = export(
        &job,
        Form::Sitemap,
        output,
        &Options::default(),
        &mut |_| {},
    );
    assert!(matches!(refused, Err(ExportError::SeveralOrigins { .. })));
    assert!(fs::read(&path).is_ok());
}
