//! What a page says, for users of the feature `content`, and pages as a stream of the ecosystem.

use futures_util::StreamExt as _;
use terrarium::{Page, Site, Web};

use super::crawl_of;

#[tokio::test]
async fn pages_are_a_stream_with_content() {
    let article = "<title>T</title><nav>Menu</nav><main><h1>Head</h1><p>Words and \
        <a class=x href=/b>links</a>.</p></main>";
    let site = Site::new()
        .page("/", Page::html(article))
        .page("/b", Page::html("<p>b</p>"))
        .page("/c", Page::html("<p>c</p>"));
    let web = Web::new().site("a.test", site).start();
    let pages = crawl_of(&web, "a.test/").start().unwrap();
    let mut pages: Vec<clewline::Page> = pages.collect().await;
    pages.sort_by_key(|page| page.url().as_str().len());
    assert_eq!(pages.len(), 2);
    let markdown = pages[0].markdown().unwrap();
    let link = format!("[links]({})", pages[1].url());
    assert!(markdown.starts_with("# Head\n"), "{markdown}");
    assert!(markdown.contains(&link), "{markdown}");
    assert!(!markdown.contains("Menu"), "{markdown}");
    let found = pages[0].select("a.x").unwrap();
    assert_eq!(found[0].text, "links");
    assert_eq!(found[0].attribute("href"), Some("/b"));
    let error = pages[0].select("a[").unwrap_err().to_string();
    assert_eq!(error, "\"a[\" is not a CSS selector");
}

#[tokio::test]
async fn patterns_are_part_of_the_builder() {
    let links = "<a href=/keep/1>1</a><a href=/keep/2>2</a><a href=/other>o</a>";
    let site = Site::new()
        .page("/", Page::html(links))
        .page("/keep/1", Page::html("1"))
        .page("/keep/2", Page::html("2"))
        .page("/other", Page::html("o"));
    let web = Web::new().site("a.test", site).start();
    let crawl = crawl_of(&web, "a.test/").include("/keep/").exclude("/2$");
    let pages = crawl.start().unwrap();
    let paths: Vec<String> = pages
        .map(|page| page.url().path().to_owned())
        .collect()
        .await;
    assert_eq!(paths, ["/", "/keep/1"]);
    let wrong = crawl_of(&web, "a.test/").include("(").start();
    assert!(wrong.is_err(), "a pattern that makes no sense is refused");
}
