//! `clewline export` of data, and the views that a crawl makes of itself.

use std::fs;

use fieldwork::tree;
use terrarium::{LiveWeb, Page, Site, links};

use crate::place::{HOST, Place, web_of};

fn site() -> Site {
    let page = |title: &str, text: &str| Page::html(format!("<title>{title}</title><p>{text}"));
    Site::new()
        .page("/", Page::html(links(["/a", "/b", "/c", "/gone"])))
        .page("/a", page("=A", "words of a"))
        .page("/b", page("B\u{1b}[2J", "words of b"))
        .page("/c", page("C", "words of c"))
}

fn crawled() -> (Place, LiveWeb) {
    let (place, web) = (Place::new(), web_of(site()));
    let ran = place.run(&["-q", &web.url(HOST, "/"), "-o", "a.crawl"]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    (place, web)
}

#[test]
fn data_goes_to_a_stream_or_a_place() {
    let (place, _web) = crawled();
    let ran = place.run(&["export", "--to", "csv", "-o", "-", "--where", "status=200"]);
    assert_eq!((ran.code, ran.out.lines().count()), (0, 5), "{}", ran.talk);
    assert!(ran.out.contains(",\"'=A\","), "{}", ran.out);
    assert!(!ran.out.contains('\u{1b}'));
    assert!(ran.talk.contains("csv: 4 pages"), "{}", ran.talk);
    let export = ["export", "a.crawl", "--to", "markdown", "-o", "pages"];
    let ran = place.run(&export);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""), "{}", ran.talk);
    let again = place.run(&export);
    assert_eq!(again.code, 2);
    assert!(again.talk.contains("--overwrite"), "{}", again.talk);
    let mut replace = export.to_vec();
    replace.push("--overwrite");
    assert_eq!(place.run(&replace).code, 0);
    fs::remove_file(place.path("pages/export.json")).unwrap();
    let ran = place.run(&replace);
    assert!(
        ran.code == 2 && ran.talk.contains("no export made it"),
        "{}",
        ran.talk
    );
}

#[test]
fn what_is_wrong_with_an_export_is_told() {
    let (place, _web) = crawled();
    for (line, expected) in [
        (
            &["--to", "csv", "-o", "-", "--where", "status=many"][..],
            "a number such as 200",
        ),
        (&["--to", "numbered", "-o", "-"][..], "several files"),
        (
            &["--to", "mirror", "-o", "-"][..],
            "cannot be written to a stream",
        ),
        (
            &["--to", "wacz", "-o", "-"][..],
            "cannot be written to a stream",
        ),
        (
            &["--to", "jsonl", "-o", "-", "--rules", "none.toml"][..],
            "none.toml",
        ),
        (
            &["--to", "wacz", "-o", "a.wacz", "--where", "status=200"][..],
            "means nothing to mirror",
        ),
        (
            &["missing.crawl", "--to", "csv", "-o", "-"][..],
            "is not a job folder",
        ),
    ] {
        let line: Vec<&str> = ["export"].into_iter().chain(line.iter().copied()).collect();
        let ran = place.run(&line);
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (2, ""),
            "{line:?}: {}",
            ran.talk
        );
        assert!(ran.talk.contains(expected), "{line:?}: {}", ran.talk);
    }
}

#[test]
fn a_crawl_makes_its_views_whenever_a_run_ends() {
    let (place, web) = (Place::new(), web_of(site()));
    let root = web.url(HOST, "/");
    let flags = [
        "-o",
        "a.crawl",
        "--to",
        "markdown,parquet",
        "--to",
        "index",
        "-n",
        "2",
    ];
    let ran = place.run(&[&[root.as_str()][..], &flags].concat());
    assert_eq!(ran.code, 0, "{}", ran.talk);
    assert!(ran.talk.contains("markdown: "), "{}", ran.talk);
    let begun = tree(&place.path("a.crawl/views/markdown")).len();
    // What is to be made is known to the job.
    let ran = place.run(&["resume", "-n", "100"]);
    assert_eq!(ran.code, 0, "{}", ran.talk);
    let view = tree(&place.path("a.crawl/views/markdown"));
    assert!(view.len() > begun, "{:?}", view.keys());
    for form in ["markdown", "parquet"] {
        let ran = place.run(&["export", "--to", form, "-o", form]);
        assert_eq!(ran.code, 0, "{}", ran.talk);
        let view = tree(&place.path("a.crawl/views").join(form));
        assert!(view == tree(&place.path(form)), "{form}");
    }
    assert!(place.path("a.crawl/index/meta.json").exists());
    fs::remove_dir_all(place.path("a.crawl/views")).unwrap();
    let ran = place.run(&["resume"]);
    assert!(
        ran.code == 0 && ran.talk.contains("parquet: "),
        "{}",
        ran.talk
    );
    assert!(tree(&place.path("a.crawl/views/markdown")) == view);
}

#[test]
fn views_that_cannot_be_are_refused_before_the_crawl() {
    for (flags, expected) in [
        (
            &["--to", "pictures"][..],
            "`pictures` is no view; there are index, jsonl",
        ),
        (
            &["--to", "markdown", "--no-archive"][..],
            "markdown is made of the archive",
        ),
        (&["--to", "csv", "--no-output"][..], "needs a job folder"),
    ] {
        let line = [&["http://127.0.0.1:9/"][..], flags].concat();
        let ran = Place::new().run(&line);
        assert_eq!(ran.code, 2, "{flags:?}: {}", ran.talk);
        assert!(ran.talk.contains(expected), "{flags:?}: {}", ran.talk);
    }
}
