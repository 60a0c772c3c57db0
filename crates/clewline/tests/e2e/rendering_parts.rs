//! What rendered pages share with others: parts that pages need as well, and pages that did not change.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use clewline::Crawl;
use clewline_core::link::LinkKind;
use clewline_job::archive::Archive;
use clewline_job::config::{PictureArea, RenderUse};
use clewline_job::pages::{Job, PageNeeds};
use clewline_job::record::OutcomeKind;
use futures_util::FutureExt;
use terrarium::{Coding, LiveWeb, Page, Site};

use super::rendering::{Browser, browser, live, rendered, rendering, shell, site, text};
use super::support::{Crawled, place_of, records_in, run_as};

#[test]
fn the_head_of_a_part_is_asked_for_as_such() {
    let app = Page::bytes("text/javascript", "x()").coded(Coding::Gzip);
    let web = live(
        site()
            .page("/", shell("head /app.js\nscript /app.js\nhead /app.js"))
            .page("/app.js", app),
    );
    let mut config = rendering(&web, RenderUse::Auto);
    config.output.archive.write = true;
    let crawled = run_as(&web, config, |crawl| crawl.rendered_by(browser()));
    let hits = crawled.log.iter().filter(|hit| hit.target == "/app.js");
    let methods: Vec<&str> = hits.map(|hit| hit.method.as_str()).collect();
    assert_eq!(
        methods,
        ["HEAD", "GET"],
        "the last one is answered by the GET"
    );
    assert_eq!(rendered(crawled.record("a.test/")).parts, 3);
    let index = crawled.folder().join("archive/index.cdxj");
    let index = std::fs::read_to_string(index).unwrap();
    assert_eq!(
        index.matches("/app.js").count(),
        2,
        "surt and URL once: {index}"
    );
}

/// A site whose page is built by a script and a style sheet, with requisites.
fn with_requisites(site: Site) -> Crawled {
    let web = live(site);
    let mut config = rendering(&web, RenderUse::Auto);
    config.scope.page_requisites = true;
    config.limits.concurrency = 1;
    config.render.tabs = Some(1);
    run_as(&web, config, |crawl| crawl.rendered_by(browser()))
}

fn styled(page: &str) -> Page {
    Page::html(format!("<link rel=stylesheet href=/s.css>{page}"))
}

fn sheet() -> Page {
    Page::bytes("text/css", "body { background: url(/ground.png) }")
}

#[test]
fn what_a_rendering_asked_for_is_not_asked_for_again_as_a_part_of_the_page() {
    let page = styled("<div id=root></div><script>\nstyle /s.css\n</script>");
    let site = site().page("/", page).page("/s.css", sheet());
    let crawled = with_requisites(site.page("/ground.png", Page::bytes("image/png", "x")));
    crawled.check_requested(&["a.test/", "a.test/ground.png", "a.test/s.css"]);
    let record = crawled.record("a.test/s.css");
    assert_eq!(
        (record.outcome, record.status, record.kind),
        (OutcomeKind::Fetched, Some(200), LinkKind::Style)
    );
    assert_eq!(
        (record.body_bytes, record.wire_bytes, record.links),
        (37, 0, 1)
    );
    assert_eq!(record.content_type.as_deref(), Some("text/css"));
}

#[test]
fn what_came_as_a_part_of_a_page_is_not_asked_for_again_by_a_rendering() {
    let words = "A page with words. ".repeat(60);
    let site = site()
        .page("/", styled(&format!("<p>{words}</p><a href=/mid>on</a>")))
        .page("/mid", text("<a href=/app>on</a>"))
        .page("/app", shell("style /s.css"))
        .page("/s.css", sheet());
    let crawled = with_requisites(site);
    assert_eq!(rendered(crawled.record("a.test/app")).parts, 1);
    assert_eq!(crawled.count("/s.css"), 1);
}

#[test]
fn a_part_that_must_not_be_kept_is_asked_for_by_each() {
    let page = styled("<div id=root></div><script>\nstyle /s.css\n</script>");
    let sheet = sheet().header("Cache-Control", "no-store");
    let crawled = with_requisites(site().page("/", page).page("/s.css", sheet));
    assert_eq!(crawled.count("/s.css"), 2);
}

/// An application that never changes and a list that does.
fn changing() -> LiveWeb {
    let state = Arc::new(AtomicUsize::new(0));
    let app = |request: &terrarium::Request| {
        let page = match request.header("if-none-match") {
            Some("\"app\"") => Page::empty(304),
            _ => shell("data /list"),
        };
        page.header("ETag", "\"app\"").into()
    };
    let list = move |_: &terrarium::Request| {
        let now = state.fetch_add(1, Ordering::SeqCst);
        Page::html(format!("<a href=/item/{now}>x</a>")).into()
    };
    let items = |_: &terrarium::Request| text("").into();
    live(
        site()
            .under("/item/", items)
            .under("/list", list)
            .under("/", app),
    )
}

#[test]
fn a_page_that_did_not_change_is_rendered_because_its_data_may_have() {
    let web = changing();
    let place = tempfile::tempdir().unwrap();
    let folder = |name: &str| place.path().join(name);
    let crawl = |name: &str, earlier: Option<&str>| {
        let mut config = rendering(&web, RenderUse::Auto);
        config.output.archive.write = true;
        config.output.archive.update_from = earlier.map(folder);
        let crawl = Crawl::from_config(config).folder(folder(name));
        let summary = crawl.rendered_by(browser()).run().unwrap().wait().unwrap();
        assert_eq!(summary.report.check(), Ok(()));
    };
    crawl("first", None);
    crawl("second", Some("first"));
    let records = records_in(&folder("second"));
    let of = |place: &str| {
        let mut records = records.iter();
        let found = records.find(|record| place_of(&record.url) == place);
        found.unwrap_or_else(|| panic!("no {place}"))
    };
    let root = of("a.test/");
    assert_eq!(
        (root.outcome, root.status),
        (OutcomeKind::Unmodified, Some(304))
    );
    assert_eq!((rendered(root).parts, &rendered(root).error), (1, &None));
    assert_eq!(of("a.test/item/1").kind, LinkKind::Rendered);
    let needs = PageNeeds {
        body: Some(1000),
        rendered: true,
        links: false,
    };
    let job = Job::open(&folder("second")).unwrap();
    let pages = job.pages(needs).unwrap().map(Result::unwrap);
    let mut pages = pages.filter(|page| place_of(&page.record.url) == "a.test/");
    let answer = pages.next().unwrap().answer.unwrap().unwrap();
    assert_eq!(
        answer.rendered.as_deref(),
        Some(&b"<a href=/item/1>x</a>"[..])
    );
    assert!(
        answer.body.starts_with(b"<div id=root>"),
        "the answer is the earlier one"
    );
}

#[test]
fn small_pictures_are_archived_and_stand_in_the_report() {
    let web = live(site().page("/", shell("show <p>done")));
    let mut config = rendering(&web, RenderUse::Auto);
    config.output.archive.write = true;
    config.render.screenshot = Some(PictureArea::Window);
    let small = b"\xff\xd8\xff small".to_vec();
    let taken = small.clone();
    let pictured: Browser = Arc::new(move |page, parts| {
        let (rendered, taken) = (browser()(page, parts), taken.clone());
        async move {
            let mut rendering = rendered.await?;
            rendering.screenshot = Some(b"\x89PNG large".to_vec());
            rendering.thumbnail = Some(taken);
            Ok(rendering)
        }
        .boxed()
    });
    let crawled = run_as(&web, config, |crawl| crawl.rendered_by(pictured));
    let archive = Archive::open(&[crawled.folder()]).unwrap();
    let held = archive.closest(&web.url("a.test", "/"), None).unwrap();
    let held = held.unwrap();
    assert_eq!(archive.thumbnail(&held).unwrap(), Some(small));
    assert!(archive.rendered(&held, 100).unwrap().is_some());
    let captures = archive.list("", "", 100).unwrap();
    assert!(
        captures
            .iter()
            .all(|(_, held)| held.capture.url.starts_with("http"))
    );
    let report = std::fs::read_to_string(crawled.folder().join("report.html")).unwrap();
    assert!(
        report.contains("src=\"data:image/jpeg;base64,/9j/IHNtYWxs\""),
        "{report}"
    );
}

#[test]
fn references_of_the_dom_are_resolved_in_the_encoding_of_the_page() {
    let script = "<div id=root></div><script>\nshow <a href='/s?q=&#1089;'>x</a>\n</script>";
    let web = live(
        site()
            .page("/", Page::charset("windows-1251", script))
            .under("/s", |_| text("").into()),
    );
    let config = rendering(&web, RenderUse::Auto);
    let crawled = run_as(&web, config, |crawl| crawl.rendered_by(browser()));
    crawled.check_requested(&["a.test/", "a.test/s?q=%F1"]);
}
