//! The table of links names where they lead, whether anybody went there or not.

use std::collections::BTreeMap;

use clewline_export::{Form, Options};
use fieldwork::{HOST, config, crawl};
use terrarium::{Page, Site, Web};

use super::{path_of, rows, text_of, written};

#[test]
fn links_that_were_not_followed_have_urls() {
    let home = "<title>Home</title><a href=/a>a</a> <a href=/b?utm_source=x>b</a> \
                <a href=http://elsewhere.test/away>away</a> <img src=//cdn.test/i.png>";
    let site = Site::new()
        .page("/", Page::html(home))
        .under("/", |_| Page::html("<a href=/>home</a>").into());
    let web = Web::new().site(HOST, site).start();
    let place = tempfile::tempdir().unwrap();
    let job = place.path().join("a.crawl");
    let mut config = config(&web, &job);
    config.scope.sitemaps = false;
    config.scope.drop_params = vec!["utm_*".to_owned()];
    let mut begun = config.clone();
    begun.limits.pages = Some(1);
    let named = || {
        let (folder, done) = written(&job, Form::Parquet, &Options::default());
        let links = rows(&folder.join("links.parquet"));
        assert_eq!(links.len() as u64, done.links);
        let named = links.iter().map(|link| {
            let ends = ["target_key", "target_url"].map(|name| text_of(link, name));
            let [key, url] = ends.map(|text| text.expect("the archive tells it"));
            (url, key)
        });
        named.collect::<BTreeMap<String, String>>()
    };
    crawl(begun);
    let root = web.url(HOST, "/");
    let of_root = [
        format!("{root}a"),
        format!("{root}b?utm_source=x"),
        "http://cdn.test/i.png".to_owned(),
        "http://elsewhere.test/away".to_owned(),
    ];
    let before = named();
    assert!(before.keys().eq(&of_root), "{before:?}");
    crawl(config);
    let after = named();
    // What was settled meanwhile is spelled as it was asked for, under the same key.
    for (url, key) in &before {
        let kept = after.iter().find(|(_, found)| *found == key);
        assert!(kept.is_some_and(|(found, _)| found.split('?').next() == url.split('?').next()));
    }
    assert!(after.contains_key(&root), "{after:?}");
}

#[test]
fn links_have_the_words_of_their_pages() {
    let home = "<title>Home</title><link rel='canonical' href=/canon>\
                <a href=/a#part rel='nofollow ugc'>The <b>first</b></a> <a href=/a#other>again</a> \
                <a href=/b?utm_source=x><img src=/i.png alt='A picture'></a> <a href=/c></a>";
    let site = Site::new()
        .page("/", Page::html(home))
        .under("/", |_| Page::html("<p>a page").into());
    let web = Web::new().site(HOST, site).start();
    let place = tempfile::tempdir().unwrap();
    let job = place.path().join("a.crawl");
    let mut config = config(&web, &job);
    config.scope.drop_params = vec!["utm_*".to_owned()];
    crawl(config);
    let (folder, _) = written(&job, Form::Parquet, &Options::default());
    let links = rows(&folder.join("links.parquet"));
    let found: BTreeMap<(String, String), [Option<String>; 3]> = links
        .iter()
        .map(|link| {
            let kind = text_of(link, "kind").unwrap();
            let path = path_of(&text_of(link, "target_url").unwrap());
            (
                (kind, path),
                ["text", "rel", "fragment"].map(|name| text_of(link, name)),
            )
        })
        .collect();
    let said = |kind: &str, path: &str| {
        let key = (kind.to_owned(), path.to_owned());
        let said = found.get(&key);
        let [text, rel, fragment] = said.unwrap_or_else(|| panic!("{key:?} of {found:?}"));
        [text, rel, fragment].map(|it| it.clone().unwrap_or_default())
    };
    assert_eq!(said("anchor", "/a"), ["The first", "nofollow ugc", "part"]);
    assert_eq!(
        said("anchor", "/b?utm_source=x"),
        ["A picture", "", ""],
        "{found:?}"
    );
    assert_eq!(said("image", "/i.png"), ["A picture", "", ""]);
    assert_eq!(said("anchor", "/c"), ["", "", ""]);
    assert_eq!(said("canonical", "/canon"), ["", "canonical", ""]);
}
