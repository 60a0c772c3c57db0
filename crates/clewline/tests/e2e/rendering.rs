//! Pages that are rendered: what they ask for obeys every rule, and what they bring is kept.
//!
//! The browser here is a script in the page itself: each line of it is an order.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use clewline::{Crawl, CrawlError, Event};
use clewline_core::link::LinkKind;
use clewline_core::url::CrawlUrl;
use clewline_job::config::{Config, RenderUse, Root, Speed};
use clewline_job::pages::{Job, PageNeeds};
use clewline_job::record::{OutcomeKind, Record};
use clewline_job::report::StoppedBy;
use clewline_render::{
    PartAnswer, PartFetcher, PartKind, PartRefusal, PartRequest, RenderError, RenderInput,
    Rendering, RequestFate, RequestedUrl,
};
use clewline_warc::RecordKind;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use terrarium::{LiveWeb, Page, Site, Web, numbered_links};

use super::archive::{Found, records};
use super::support::{Crawled, PATIENCE, check_gaps, config, millis, place_of, records_in, run_as};

pub(crate) type Browser = Arc<
    dyn Fn(RenderInput, Arc<dyn PartFetcher>) -> BoxFuture<'static, Result<Rendering, RenderError>>
        + Send
        + Sync,
>;

/// Does what the script of a page says, line by line.
pub(crate) fn browser() -> Browser {
    Arc::new(|page, parts| render(page, parts).boxed())
}

async fn render(page: RenderInput, parts: Arc<dyn PartFetcher>) -> Result<Rendering, RenderError> {
    let base = CrawlUrl::parse(&page.url).unwrap();
    let script = String::from_utf8_lossy(&page.body).into_owned();
    let mut rendering = Rendering {
        title: Some("rendered".into()),
        ..Rendering::default()
    };
    for line in script.lines() {
        let (order, rest) = line.split_once(' ').unwrap_or((line, ""));
        let kind = match order {
            "crash" => return Err(RenderError::Crashed),
            "show" => {
                rendering.html.push_str(rest);
                continue;
            }
            "data" => PartKind::Fetch,
            "script" | "head" => PartKind::Script,
            "style" => PartKind::Style,
            _ => continue,
        };
        let url = base.join(rest).unwrap().to_string();
        let request = PartRequest {
            url: url.clone(),
            kind,
            is_head: order == "head",
        };
        let fate = match parts.fetch(request).await {
            PartAnswer::Response { body, .. } => {
                rendering.html.push_str(&String::from_utf8_lossy(&body));
                RequestFate::Answered
            }
            PartAnswer::Refused(PartRefusal::Limit) => {
                rendering.over_limit += 1;
                RequestFate::Refused
            }
            PartAnswer::Refused(_) => {
                rendering.refused += 1;
                RequestFate::Refused
            }
            PartAnswer::Failed(_) => RequestFate::Failed,
        };
        rendering.requested.push(RequestedUrl {
            url,
            method: "GET".into(),
            kind,
            fate,
        });
    }
    Ok(rendering)
}

/// A page that is empty without its script.
pub(crate) fn shell(script: &str) -> Page {
    Page::html(format!("<div id=root></div><script>\n{script}\n</script>"))
}

pub(crate) fn text(links: &str) -> Page {
    Page::html(format!(
        "<p>{}</p>{links}",
        "A page with words. ".repeat(60)
    ))
}

pub(crate) fn site() -> Site {
    Site::new()
        .page("/robots.txt", Page::empty(404))
        .page("/sitemap.xml", Page::empty(404))
}

pub(crate) fn live(site: Site) -> LiveWeb {
    Web::new().site("a.test", site).start()
}

pub(crate) fn rendering(web: &LiveWeb, when: RenderUse) -> Config {
    let mut config = config(web, &["a.test/"]);
    config.render.when = when;
    config
}

fn crawl(web: &LiveWeb, when: RenderUse) -> Crawled {
    run_as(web, rendering(web, when), |crawl| {
        crawl.rendered_by(browser())
    })
}

pub(crate) fn rendered(record: &Record) -> &clewline_job::record::RenderedPage {
    record.rendered.as_ref().unwrap()
}

#[test]
fn a_page_that_is_empty_without_scripts_is_rendered_and_its_links_are_followed() {
    let web = live(
        site()
            .page("/", shell("data /list"))
            .page("/list", Page::html("<a href=/x>x</a> <a href=/y>y</a>"))
            .page("/x", text(""))
            .page("/y", shell("show <p>nothing more</p>")),
    );
    let crawled = crawl(&web, RenderUse::Auto);
    crawled.check_requested(&["a.test/", "a.test/list", "a.test/x", "a.test/y"]);
    let root = crawled.record("a.test/");
    assert!(root.shell);
    assert_eq!((root.links, root.new_links, root.tries), (2, 2, 1));
    assert_eq!(root.title.as_deref(), Some("rendered"));
    let facts = rendered(root);
    assert_eq!(
        (facts.new_links, facts.parts, facts.incomplete),
        (2, 1, false)
    );
    assert_eq!(crawled.record("a.test/x").kind, LinkKind::Rendered);
    assert!(crawled.record("a.test/y").shell);
    let (shells, rendered) = (crawled.report.tally.shells, crawled.report.tally.rendered);
    assert_eq!((shells, rendered.done), (2, 3), "one page is a sample");
}

#[test]
fn without_a_wish_nothing_is_rendered_but_the_empty_pages_are_counted() {
    let web = live(site().page("/", shell("data /list")));
    let crawled = run_as(&web, config(&web, &["a.test/"]), |crawl| crawl);
    crawled.check_requested(&["a.test/"]);
    let root = crawled.record("a.test/");
    assert!(root.shell && root.rendered.is_none());
    assert_eq!(crawled.report.tally.shells, 1);
}

#[test]
fn what_robots_forbid_is_refused_and_what_is_out_of_scope_is_asked_politely() {
    let script = |other: &str| format!("data /private/x\ndata {other}\ndata http://10.0.0.1/");
    let other = Site::new()
        .robots("User-agent: *\nDisallow: /no\n")
        .page("/lib", Page::text("lib"));
    let web = Web::new()
        .site(
            "a.test",
            site().robots("User-agent: *\nDisallow: /private/\n"),
        )
        .site("b.test", other)
        .start();
    web.put("a.test", "/", shell(&script(&web.url("b.test", "/lib"))));
    let crawled = crawl(&web, RenderUse::Auto);
    crawled.check_requested(&["a.test/", "b.test/lib"]);
    assert_eq!(crawled.count("/robots.txt"), 2);
    let facts = rendered(crawled.record("a.test/"));
    assert_eq!((facts.refused, facts.parts, facts.incomplete), (2, 1, true));
    assert!(crawled.records_of("b.test/lib").is_empty());
}

#[test]
fn parts_keep_the_pace_of_their_host() {
    let gap = millis(60);
    let parts = (0..6).map(|number| format!("data /part/{number}"));
    let script: Vec<String> = parts.collect();
    let crawled = check_gaps(&[("a.test", gap)], || {
        let web = live(
            site()
                .page("/", shell(&script.join("\n")))
                .under("/part/", |_| Page::text("x").into()),
        );
        let mut config = rendering(&web, RenderUse::Auto);
        config.politeness.delay = Some(gap);
        run_as(&web, config, |crawl| crawl.rendered_by(browser()))
    });
    assert_eq!(rendered(crawled.record("a.test/")).parts, 6);
}

#[test]
fn a_rendering_that_fails_leaves_the_page_as_it_was_answered() {
    let page = Page::html("<a href=/x>x</a><div id=root></div><script>\ncrash\n</script>");
    let web = live(site().page("/", page).page("/x", text("")));
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let browser: Browser = Arc::new(move |page, parts| {
        counted.fetch_add(1, Ordering::Relaxed);
        render(page, parts).boxed()
    });
    let mut config = rendering(&web, RenderUse::Auto);
    config.render.limit = Some(1);
    let crawled = run_as(&web, config, |crawl| crawl.rendered_by(browser));
    crawled.check_requested(&["a.test/", "a.test/x"]);
    let root = crawled.record("a.test/");
    assert_eq!((root.outcome, root.links), (OutcomeKind::Fetched, 1));
    let error = rendered(root).error.as_deref();
    assert_eq!(error, Some("the browser crashed"));
    assert_eq!(tries.load(Ordering::Relaxed), 3);
    assert!(
        crawled.record("a.test/x").rendered.is_none(),
        "the limit is one"
    );
}

#[test]
fn parts_that_serve_many_pages_are_asked_for_once() {
    let script = "script /app.js\ndata /now";
    let web = live(
        site()
            .page("/", shell("show <a href=/p/1>1</a><a href=/p/2>2</a>"))
            .under("/p/", move |_| shell(script).into())
            .page("/app.js", Page::bytes("text/javascript", "x()"))
            .page("/now", Page::text("now")),
    );
    let mut config = rendering(&web, RenderUse::Auto);
    config.render.tabs = Some(1);
    config.limits.concurrency = 1;
    let crawled = run_as(&web, config, |crawl| crawl.rendered_by(browser()));
    assert_eq!(crawled.report.tally.rendered.done, 3);
    // Two pages may ask before the first answer is there.
    assert!(crawled.count("/app.js") <= 2);
    assert_eq!(crawled.count("/now"), 2);
}

#[test]
fn a_template_whose_rendering_brings_nothing_is_left_alone() {
    let links = numbered_links("/doc/p", 30);
    let web = live(site().page("/", text(&links)).under("/doc/", |_| {
        text("<script>\nshow <p>same\n</script>").into()
    }));
    let crawled = crawl(&web, RenderUse::Auto);
    let tally = &crawled.report.tally;
    assert_eq!(tally.pages, 31);
    assert_eq!(tally.rendered.done, 3, "the root, and two of its kind");
    assert_eq!(tally.shells, 0);
}

#[test]
fn the_archive_keeps_the_answer_what_it_asked_for_and_the_dom() {
    let web = live(
        site()
            .page("/", shell("data /list\nshow <i>done</i>"))
            .page("/list", Page::text("listed")),
    );
    let mut config = rendering(&web, RenderUse::Auto);
    config.output.archive.write = true;
    let crawled = run_as(&web, config, |crawl| crawl.rendered_by(browser()));
    let files = std::fs::read_dir(crawled.folder().join("archive")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let files = files.filter(|file| file.to_string_lossy().contains(".warc"));
    let found: Vec<Found> = files.flat_map(|file| records(&file)).collect();
    let of = |kind: RecordKind, target: &str| {
        let mut all = found
            .iter()
            .filter(|one| one.header.kind() == kind && one.header.target() == Some(target));
        let one = all
            .next()
            .unwrap_or_else(|| panic!("no {kind:?} of {target}"));
        assert!(all.next().is_none(), "several {kind:?} of {target}");
        one.text()
    };
    let (root, list) = (web.url("a.test", "/"), web.url("a.test", "/list"));
    assert!(of(RecordKind::Response, &root).contains("<div id=root></div>"));
    assert!(of(RecordKind::Response, &list).ends_with("listed"));
    let dom = of(RecordKind::Resource, &format!("urn:rendered:{root}"));
    assert_eq!(dom, "listed<i>done</i>");
}

#[test]
fn whoever_reads_the_pages_gets_what_the_browser_made_beside_the_answers() {
    let web = live(
        site()
            .page("/", shell("show <a href=/x>x</a>\nshow <a href=/y>y</a>"))
            .page("/x", shell("crash"))
            .page("/y", Page::text("no page of HTML")),
    );
    let mut config = rendering(&web, RenderUse::Auto);
    config.output.archive.write = true;
    let crawled = run_as(&web, config, |crawl| crawl.rendered_by(browser()));
    let needs = PageNeeds {
        body: Some(1000),
        rendered: true,
        links: false,
    };
    let folder = Job::open(&crawled.folder()).unwrap();
    let archive = Job::open(&crawled.folder().join("archive")).unwrap();
    for job in [folder, archive] {
        let mut seen = BTreeMap::new();
        for page in job.pages(needs).unwrap().map(Result::unwrap) {
            let answer = page.answer.unwrap();
            seen.insert(place_of(&page.record.url), answer.ok());
        }
        let dom = |place: &str| seen[place].as_ref().and_then(|it| it.rendered.clone());
        let shown = b"<a href=/x>x</a><a href=/y>y</a>".to_vec();
        assert_eq!(dom("a.test/"), Some(shown), "{:?}", job.source());
        assert_eq!((dom("a.test/x"), dom("a.test/y")), (None, None));
        let root = seen["a.test/"].as_ref().unwrap();
        assert!(root.body.starts_with(b"<div id=root>"), "the answer stays");
    }
}

#[test]
fn pages_that_look_empty_are_told_of_while_the_crawl_runs() {
    const PAGES: u64 = 3;
    let web = live(site().handler(|_| {
        let next = next_number();
        Page::html(format!(
            "<a href=/p/{next}>on</a><div id=root></div><script>run()</script>"
        ))
        .into()
    }));
    for when in [RenderUse::Never, RenderUse::Auto] {
        let (tell, told) = channel();
        let mut config = rendering(&web, when);
        config.roots = self::config(&web, &["a.test/p/first"]).roots;
        config.scope.sitemaps = false;
        let mut crawl = Crawl::from_config(config).observe(move |event| {
            if let Event::Progress(progress) = event
                && progress.done >= PAGES
            {
                let _ = tell.send(progress.empty_pages);
            }
        });
        if when == RenderUse::Auto {
            crawl = crawl.rendered_by(browser());
        }
        let place = tempfile::tempdir().unwrap();
        let running = crawl.folder(place.path().join("job")).run().unwrap();
        let empty = told.recv_timeout(PATIENCE).unwrap();
        running.control().stop(Duration::ZERO);
        running.wait().unwrap();
        match when {
            RenderUse::Never => assert!(empty >= PAGES, "{empty}"),
            _ => assert_eq!(empty, 0, "what a browser showed is not empty"),
        }
    }
}

/// Another number each time.
fn next_number() -> usize {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    LAST.fetch_add(1, Ordering::Relaxed)
}

/// Tells when a page begins to be rendered, which never ends.
fn stuck(begun: Sender<()>) -> Browser {
    Arc::new(move |_, _| {
        begun.send(()).unwrap();
        std::future::pending().boxed()
    })
}

#[test]
fn a_page_whose_rendering_is_cut_off_is_fetched_again_by_the_next_run() {
    let web = live(
        site()
            .page("/", shell("show <a href=/x>x</a>"))
            .page("/x", text("")),
    );
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("job");
    let config = rendering(&web, RenderUse::Auto);
    let (begun, begins) = channel();
    let crawl = |browser| {
        Crawl::from_config(config.clone())
            .folder(&folder)
            .rendered_by(browser)
            .run()
            .unwrap()
    };
    let running = crawl(stuck(begun));
    begins.recv().unwrap();
    running.control().stop(Duration::from_secs(20));
    let report = running.wait().unwrap().report;
    assert_eq!(report.facts.stopped_by, StoppedBy::Interrupted);
    assert_eq!((report.tally.done, report.facts.todo), (0, 1));
    let report = crawl(browser()).wait().unwrap().report;
    assert_eq!(report.facts.stopped_by, StoppedBy::Finished);
    assert_eq!(report.check(), Ok(()));
    assert_eq!((report.tally.pages, report.facts.todo), (2, 0));
    assert_eq!(web.log().count("/"), 2);
    assert_eq!(web.log().count("/x"), 1);
}

/// The browser of this machine, where there is one.
#[test]
fn a_real_browser_sees_what_scripts_build_and_asks_only_what_it_may() {
    let script = "<!doctype html><title>Shop</title><div id=root></div><script type=module>\
                  const list = await (await fetch('/api/list')).json();\
                  document.getElementById('root').innerHTML =\
                  list.map(name => `<a href='/item/${name}'>${name}</a>`).join(' ');\
                  fetch('/private/x').catch(() => {});\
                  fetch('http://10.0.0.1/').catch(() => {});\
                  document.title = 'Shop of ' + list.length;</script>";
    let web = live(
        site()
            .robots("User-agent: *\nDisallow: /private/\n")
            .page("/", Page::html(script))
            .page(
                "/api/list",
                Page::bytes("application/json", r#"["one","two","three"]"#),
            )
            .under("/item/", |_| text("").into()),
    );
    let mut config = rendering(&web, RenderUse::Auto);
    config.limits.time = None;
    config.render.limit = Some(1);
    let place = tempfile::tempdir().unwrap();
    match Crawl::from_config(config.clone())
        .folder(place.path().join("probe"))
        .run()
    {
        Ok(running) => drop(running.wait().unwrap()),
        Err(error @ CrawlError::Browser(_)) => {
            eprintln!("SKIPPED: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    }
    let asked_before = web.log().len();
    let crawled = run_as(&web, config, |crawl| crawl);
    let root = crawled.record("a.test/");
    assert_eq!(root.title.as_deref(), Some("Shop of 3"), "{root:?}");
    let facts = rendered(root);
    assert_eq!(
        (facts.error.as_deref(), facts.new_links),
        (None, 5),
        "{facts:?}"
    );
    assert!(facts.incomplete && facts.refused >= 2, "{facts:?}");
    for item in ["one", "two", "three"] {
        let place = format!("a.test/item/{item}");
        assert_eq!(crawled.record(&place).kind, LinkKind::Rendered);
    }
    assert_eq!(crawled.count("/private/x"), 0);
    assert_eq!(web.log().count("/api/list"), 2, "once in each crawl");
    assert!(web.log().len() > asked_before);
}

/// What the process that is killed needs to know: folder, root and names.
const KILLED: [&str; 3] = [
    "CLEWLINE_KILLED_FOLDER",
    "CLEWLINE_KILLED_ROOT",
    "CLEWLINE_KILLED_NAMES",
];

/// Never comes to an end with a page that asks for data.
fn endless() -> Browser {
    Arc::new(|page, parts| {
        async move {
            let asks = String::from_utf8_lossy(&page.body).contains("data ");
            let rendering = render(page, parts).await;
            if asks {
                std::future::pending::<()>().await;
            }
            rendering
        }
        .boxed()
    })
}

/// Alone this does nothing: the next test starts it as a process of its own, and kills it.
#[tokio::test]
async fn whoever_reads_pages_while_a_crawl_runs_gets_what_the_browser_made() {
    let web = live(
        site()
            .page("/", shell("show <a href=/x>x</a><p>caf\u{e9}"))
            .page("/x", text("")),
    );
    let crawl = Crawl::from_config(rendering(&web, RenderUse::Auto));
    let mut reader = crawl.rendered_by(browser()).start().unwrap();
    let mut pages = Vec::new();
    while let Some(page) = reader.next().await {
        pages.push(page);
    }
    let page = |path: &str| {
        let mut pages = pages.iter();
        pages.find(|page| place_of(page.url()) == path).unwrap()
    };
    let root = page("a.test/");
    assert!(root.text().contains("<div id=root>"), "{}", root.text());
    assert_eq!(root.shown(), "<a href=/x>x</a><p>caf\u{e9}");
    // Of a page that is only a sample, the browser here shows nothing.
    assert_eq!(page("a.test/x").rendered.as_deref(), Some(&b""[..]));
}

#[test]
fn crawls_until_it_is_killed() {
    let [Ok(folder), Ok(root), Ok(names)] = KILLED.map(std::env::var) else {
        return;
    };
    let mut config = Config {
        roots: vec![Root::parse(&root).unwrap()],
        ..Config::default()
    };
    config.fetch.resolve = names.split(',').map(str::to_owned).collect();
    config.politeness.speed = Some(Speed::Max);
    config.render.when = RenderUse::Auto;
    let crawl = Crawl::from_config(config).folder(folder);
    let running = crawl.rendered_by(endless()).run().unwrap();
    running.wait().unwrap();
}

#[test]
fn a_kill_in_the_middle_of_a_rendering_loses_nothing_and_brings_nothing_twice() {
    let web = live(
        site()
            .page("/", text("<a href=/app>app</a><a href=/x>x</a>"))
            .page("/app", shell("data /list"))
            .page("/list", Page::html("<a href=/y>y</a>"))
            .page("/x", text(""))
            .page("/y", text("")),
    );
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("job");
    let values = [
        folder.to_string_lossy().into_owned(),
        web.url("a.test", "/"),
        web.resolve_args().join(","),
    ];
    for kills in 1..=4 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "rendering::crawls_until_it_is_killed"])
            .envs(KILLED.iter().zip(&values))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let is_asked = web.wait_for(|log| log.count("/list") >= kills, PATIENCE);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_asked, "kill {kills}: {:?}", web.log());
    }
    let config = rendering(&web, RenderUse::Auto);
    let crawl = Crawl::from_config(config).folder(&folder);
    let running = crawl.rendered_by(browser()).run().unwrap();
    let report = running.wait().unwrap().report;
    assert_eq!(report.facts.stopped_by, StoppedBy::Finished);
    assert_eq!(report.check(), Ok(()));
    assert_eq!((report.tally.pages, report.facts.todo), (4, 0));
    let records = records_in(&folder);
    let mut places: Vec<String> = records.iter().map(|record| place_of(&record.url)).collect();
    places.retain(|place| !place.ends_with("sitemap.xml"));
    places.sort_unstable();
    assert_eq!(places, ["a.test/", "a.test/app", "a.test/x", "a.test/y"]);
    assert_eq!(web.log().count("/app"), 5, "each run asked once");
}
