//! Crawls on loopback, indexed and searched: made, continued, lost and made again.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are tests, but clippy knows only functions"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use clewline_search::{
    FOLDER, Freshness, Index, Query, Results, SearchError, Updated, open_updated, rebuild, update,
};
use clewline_warc::{Block, Effort, Encoder, Moment, RecordDraft, RecordId, WarcCompression};
use fieldwork::{HOST, config, crawl, crawl_rendered, crawled};
use terrarium::{LiveWeb, Page, Reply, Request, Site, Web, links};

fn web() -> LiveWeb {
    let page = |title: &str, body: &str| {
        Page::html(format!(
            "<html lang=en><title>{title}</title><h1>{title}</h1><p>{body}</p>"
        ))
    };
    let site = Site::new()
        .page(
            "/",
            Page::html(links([
                "/hash",
                "/tree",
                "/copy",
                "/hidden",
                "/old",
                "/notes.txt",
            ])),
        )
        .page(
            "/hash",
            page(
                "Hash maps",
                "<a href=/tree>trees</a> pairs of keys and values",
            ),
        )
        .page("/tree", page("Trees", "ordered keys, balanced"))
        .page("/copy", page("Trees", "ordered keys, balanced"))
        .page(
            "/hidden",
            page("Hidden", "<meta name=robots content=noindex> secret keys"),
        )
        .page("/old", Reply::from(Page::redirect(301, "/tree")))
        .page("/notes.txt", Page::text("plain keys without markup"));
    Web::new().site(HOST, site).start()
}

fn updated(folder: &Path) -> Updated {
    update(folder, &mut |_| {}).unwrap()
}

fn search(folder: &Path, query: &str) -> Results {
    let index = Index::open(folder).unwrap();
    index.search(&Query::parse(query).unwrap()).unwrap()
}

/// The paths that a query finds, sorted.
fn paths(folder: &Path, query: &str) -> Vec<String> {
    let mut paths: Vec<String> = search(folder, query)
        .hits
        .into_iter()
        .map(|hit| format!("/{}", hit.url.splitn(4, '/').nth(3).unwrap_or_default()))
        .collect();
    paths.sort();
    paths
}

#[test]
fn what_was_crawled_is_found() {
    let (_place, folder) = crawled(&web());
    assert!(matches!(Index::open(&folder), Err(SearchError::NoIndex(_))));
    let first = updated(&folder);
    assert!(first.is_new && first.damaged == 0, "{first:?}");
    assert_eq!((first.pages, first.left_out), (5, 1));
    assert_eq!(paths(&folder, "pairs"), ["/hash"]);
    assert_eq!(paths(&folder, "plain type:text"), ["/notes.txt"]);
    assert_eq!(
        paths(&folder, "secret"),
        [""; 0],
        "it asks not to be indexed"
    );
    let trees = search(&folder, "balanced");
    assert_eq!(
        (trees.total, trees.hits.len(), trees.hits[0].also.len()),
        (2, 1, 1)
    );
    assert_eq!(trees.hits[0].title, "Trees");
    assert!(
        trees.hits[0].snippet.text.contains("balanced"),
        "a copy has words, too"
    );
    let linked = search(&folder, "url:tree");
    assert_eq!(linked.hits[0].inlinks, 2, "the root and /hash");
}

/// A page is ranked by the links that people follow to it, whatever else names it.
#[test]
fn ranks_count_only_links_that_people_follow() {
    let shown = "<img src=/shown><script src=/shown></script><link rel=stylesheet href=/shown>\
                 <link rel=alternate href=/shown><link rel=icon href=/shown>\
                 <video src=/shown></video><style>p { background: url(/shown) }</style>";
    let page = |title: &str, body: &str| Page::html(format!("<title>{title}</title><p>{body}"));
    let mut site = Site::new()
        .page("/shown", page("shown", "target"))
        .page("/followed", page("followed", "target"));
    let names: Vec<String> = (0..8).map(|number| format!("/p{number}")).collect();
    let all = names.iter().map(String::as_str);
    site = site.page("/", Page::html(links(all.chain(["/shown", "/followed"]))));
    for name in &names {
        let body = format!("{name} {shown} <a href=/followed>f</a><a href=/followed>again</a>");
        site = site.page(name, page(name, &body));
    }
    let (_place, folder) = crawled(&Web::new().site(HOST, site).start());
    updated(&folder);
    let results = search(&folder, "target");
    let hit = |title: &str| results.hits.iter().find(|hit| hit.title == title).unwrap();
    assert_eq!(
        hit("followed").inlinks,
        9,
        "the root and eight pages, each once"
    );
    assert_eq!(hit("shown").inlinks, 1, "the root alone");
    assert_eq!(results.hits[0].title, "followed");
    assert!(hit("followed").score > hit("shown").score);
}

/// Whoever searches gets an answer while others make the index, bring it up to date and begin it
/// anew.
#[test]
fn searches_do_not_fail_while_indexers_compete() {
    let (_place, folder) = crawled(&web());
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for number in 0..3 {
            let (folder, is_over) = (&folder, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let done = match number {
                        0 => update(folder, &mut |_| {}),
                        _ => rebuild(folder, &mut |_| {}),
                    };
                    match done {
                        Ok(_) | Err(SearchError::Busy(_)) => {}
                        Err(error) => panic!("indexer {number}: {error}"),
                    }
                }
            });
        }
        let searched = (0..40).try_for_each(|_| {
            let (index, _) = open_updated(&folder, &mut |_| {})?;
            // What is there may be nothing yet, but it can be asked.
            index.search(&Query::parse("balanced").unwrap()).map(drop)
        });
        // The indexers end also when a search failed.
        is_over.store(true, Ordering::Relaxed);
        searched.unwrap();
    });
    let (index, freshness) = open_updated(&folder, &mut |_| {}).unwrap();
    assert_eq!(freshness, Freshness::Current);
    let results = index.search(&Query::parse("balanced").unwrap()).unwrap();
    assert_eq!(results.total, 2);
}

#[test]
fn an_index_that_is_up_to_date_is_left_alone_and_a_lost_one_made_again() {
    let (_place, folder) = crawled(&web());
    updated(&folder);
    let again = updated(&folder);
    assert_eq!((again.seen, again.pages, again.is_new), (0, 0, false));
    let before = search(&folder, "keys");
    fs::remove_dir_all(folder.join(FOLDER)).unwrap();
    assert!(updated(&folder).is_new);
    let spoilt = folder.join(FOLDER).join("meta.json");
    fs::write(&spoilt, b"{").unwrap();
    assert!(updated(&folder).is_new, "a damaged index is made anew");
    rebuild(&folder, &mut |_| {}).unwrap();
    let mut after = search(&folder, "keys");
    after.took = before.took;
    assert_eq!(after, before);
}

#[test]
fn an_index_goes_on_where_it_stands() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a.crawl");
    let web = web();
    let mut begun = config(&web, &folder);
    begun.limits.pages = Some(2);
    crawl(begun);
    let first = updated(&folder);
    assert_eq!(first.pages, 2, "{first:?}");
    crawl(config(&web, &folder));
    let second = updated(&folder);
    assert!(!second.is_new);
    assert_eq!(first.pages + second.pages, 5);
    let mut whole = search(&folder, "keys");
    rebuild(&folder, &mut |_| {}).unwrap();
    let fresh = search(&folder, "keys");
    whole.took = fresh.took;
    let urls = |results: &Results| {
        let mut urls: Vec<String> = results.hits.iter().map(|hit| hit.url.clone()).collect();
        urls.sort();
        urls
    };
    assert_eq!((urls(&whole), whole.total), (urls(&fresh), fresh.total));
}

#[test]
fn folders_without_an_archive_are_told_so() {
    let place = tempfile::tempdir().unwrap();
    let failed = update(place.path(), &mut |_| {}).unwrap_err();
    assert!(
        failed.to_string().contains("is not a job folder"),
        "{failed}"
    );
    let folder = place.path().join("a.crawl");
    // It serves until it is dropped.
    let web = web();
    let mut config = config(&web, &folder);
    config.output.archive.write = false;
    crawl(config);
    let failed = update(&folder, &mut |_| {}).unwrap_err();
    assert!(failed.to_string().contains("--no-archive"), "{failed}");
}

#[test]
fn a_page_that_repeats_the_robots_file_has_words() {
    // Whatever it is asked for, it answers with the same page, as many an application does.
    let page = |_: &Request| Page::html("<title>App</title><p>one page for all").into();
    let web = Web::new().site(HOST, Site::new().handler(page)).start();
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a.crawl");
    let mut config = config(&web, &folder);
    config.scope.sitemaps = false;
    crawl(config);
    assert_eq!(updated(&folder).pages, 1);
    assert_eq!(paths(&folder, "\"page for all\""), ["/"]);
}

/// A page that says by its entity tag that it is as it was.
fn tagged(request: &Request, body: &str) -> Reply {
    let tag = "\"tag\"";
    if request.header("if-none-match") == Some(tag) {
        return Page::html("").status(304).header("ETag", tag).into();
    }
    Page::html(body.to_owned()).header("ETag", tag).into()
}

#[test]
fn pages_that_did_not_change_are_found_in_a_later_crawl() {
    let page = |request: &Request| match request.path() {
        "/" => tagged(request, &links(["/deep", "/hidden"])),
        "/deep" => tagged(request, "<title>Deep</title><p>words of old"),
        _ => tagged(request, "<meta name=robots content=noindex>secret words"),
    };
    let web = Web::new().site(HOST, Site::new().under("/", page)).start();
    let place = tempfile::tempdir().unwrap();
    let crawled = |name: &str, update: Option<&str>, dedup: Option<&str>| {
        let folder = |name: &str| place.path().join(name);
        let mut config = config(&web, &folder(name));
        config.scope.sitemaps = false;
        config.output.archive.update_from = update.map(folder);
        config.output.archive.dedup_from = dedup.map(folder).into_iter().collect();
        crawl(config);
        folder(name)
    };
    crawled("first", None, None);
    // The third one finds bodies two crawls back; the last one has none of its own, either.
    let later = [
        crawled("second", Some("first"), None),
        crawled("third", Some("second"), None),
        crawled("fourth", None, Some("first")),
    ];
    for folder in later {
        let made = updated(&folder);
        assert_eq!((made.pages, made.left_out), (2, 1), "{}", folder.display());
        assert_eq!(paths(&folder, "old"), ["/deep"]);
        let found = search(&folder, "words");
        assert_eq!(found.total, 1);
        assert!(found.hits[0].snippet.text.contains("words of old"));
    }
}

/// WARC files of a crawl in a folder of their own.
fn bare(folder: &Path) -> PathBuf {
    let bare = folder.with_extension("warcs");
    fs::create_dir(&bare).unwrap();
    for entry in fs::read_dir(folder.join("archive")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "gz") {
            fs::copy(&path, bare.join(path.file_name().unwrap())).unwrap();
        }
    }
    bare
}

#[test]
fn a_folder_of_warc_files_is_enough() {
    let (_place, folder) = crawled(&web());
    let bare = bare(&folder);
    let made = updated(&bare);
    assert_eq!((made.pages, made.left_out, made.damaged), (5, 1, 0));
    updated(&folder);
    // Without the log of links another page may stand for those like it.
    let all = |folder: &Path, query: &str| {
        let hits = search(folder, query).hits.into_iter();
        let urls = hits.flat_map(|hit| [vec![hit.url], hit.also].concat());
        urls.collect::<BTreeSet<String>>()
    };
    for query in ["pairs", "plain type:text", "secret", "balanced"] {
        assert_eq!(all(&bare, query), all(&folder, query), "{query}");
    }
    assert_eq!(updated(&bare).seen, 0, "nothing is new");
}

#[test]
fn files_of_others_are_indexed_by_their_answers() {
    let place = tempfile::tempdir().unwrap();
    let date = Moment::from_timestamp("20240102030405").unwrap();
    let html = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    let answers = [
        ("robots.txt", "HTTP/1.1 404 No\r\n\r\n", "no keys"),
        ("one", html, "<title>One</title>first keys"),
        (
            "two",
            html,
            "<title>Two</title><meta name=robots content=noindex>keys",
        ),
        ("three", "HTTP/1.1 302 No\r\nLocation: /one\r\n\r\n", "keys"),
        (
            "four",
            html,
            "<meta charset=iso-8859-1><title>Four</title>Schl\u{fc}ssel",
        ),
    ];
    for (number, (name, head, body)) in (1..).zip(answers) {
        // Names without serial numbers, in another order.
        let path = place
            .path()
            .join(format!("{}.warc.gz", ["c", "b", "a"][number % 3]));
        let mut file = fs::File::options()
            .create(true)
            .append(true)
            .open(path)
            .unwrap();
        let body: Vec<u8> = body.chars().map(|letter| letter as u8).collect();
        let url = format!("http://a.test/{name}");
        let id = RecordId::numbered([5; 16], number as u64);
        let block = Block::message(head.as_bytes()).bytes(&body);
        let draft = RecordDraft::response(id, date, &url, block);
        let mut encoder = Encoder::new(WarcCompression::default());
        encoder.encode(&draft, Effort::Usual, &mut file).unwrap();
    }
    let made = updated(place.path());
    assert_eq!((made.pages, made.left_out, made.damaged), (2, 1, 0));
    assert_eq!(paths(place.path(), "keys"), ["/one"]);
    assert_eq!(paths(place.path(), "schl\u{fc}ssel"), ["/four"]);
    assert_eq!(updated(place.path()).seen, 0, "nothing is new");
    let one = search(place.path(), "first");
    assert_eq!(one.hits[0].title, "One");
}

/// Two pages of an application are the same bytes, and are found by what a browser shows.
#[test]
fn rendered_pages_are_found_by_what_a_browser_shows() {
    let shell = || Page::html("<title>App</title><div id=root></div><script>run()</script>");
    let site = Site::new()
        .page("/", shell())
        .page("/one", shell())
        .page("/two", shell())
        .page("/robots.txt", Page::empty(404))
        .page("/sitemap.xml", Page::empty(404));
    let web = Web::new().site(HOST, site).start();
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a.crawl");
    crawl_rendered(config(&web, &folder), |url| {
        let body = match url.rsplit('/').next() {
            Some("") => links(["/one", "/two"]),
            name => format!("<title>Page {name:?}</title><p>caf\u{e9} words, all of them shared"),
        };
        format!("<div id=root>{body}</div>")
    });
    updated(&folder);
    assert_eq!(paths(&folder, "caf\u{e9}"), ["/one", "/two"]);
    let found = search(&folder, "shared");
    assert!(found.hits[0].title.starts_with("Page "), "{:?}", found.hits);
    assert!(found.hits[0].snippet.text.contains("shared"));
}
