//! Applications made with the libraries that people use, crawled by rendering.
//!
//! The test command bundles them from `tests/render-apps` with packages of npm and names the folder in
//! `CLEWLINE_RENDER_APPS`. Each shows a list that comes by fetch, pages of items with data of their own,
//! and one route behind a click.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

use clewline_render::{Behavior, BrowserOptions, BrowserPool, PartFetcher, Rendering};

use crate::support::{Web, html, pool, run};

pub(crate) const ORIGIN: &str = "http://app.test";
/// Every page of an application, before its script ran.
pub(crate) const SHELL: &str =
    "<!DOCTYPE html><body><div id=root></div><script src=/app.js></script>";
const ITEMS: usize = 20;
const TAGS: usize = 5;

/// Rendered pages of one application; a crawl that needs more has lost its way.
const MOST_PAGES: usize = 100;

/// Every route of an application.
fn routes() -> BTreeSet<String> {
    let fixed = ["/", "/about", "/hidden"].map(str::to_owned);
    let items = (0..ITEMS).map(|id| format!("/item/{id}"));
    let tags = (0..TAGS).map(|id| format!("/tag/t{id}"));
    fixed.into_iter().chain(items).chain(tags).collect()
}

pub(crate) fn web(script: &str) -> Web {
    let ids: Vec<String> = (0..ITEMS).map(|id| id.to_string()).collect();
    let mut answers = vec![
        (
            format!("{ORIGIN}/app.js"),
            "text/javascript",
            script.to_owned(),
        ),
        (
            format!("{ORIGIN}/api/items.json"),
            "application/json",
            format!("[{}]", ids.join(",")),
        ),
    ];
    answers.extend((0..ITEMS).map(|id| {
        let body = format!("{{\"tag\": \"t{}\"}}", id % TAGS);
        (
            format!("{ORIGIN}/api/item-{id}.json"),
            "application/json",
            body,
        )
    }));
    let answers: Vec<(&str, &'static str, &str)> = answers
        .iter()
        .map(|(url, kind, body)| (url.as_str(), *kind, body.as_str()))
        .collect();
    Web::with(&answers)
}

/// Paths that a rendering leads to.
fn paths(rendering: &Rendering) -> BTreeSet<String> {
    let links = rendering.html.split("<a ").skip(1);
    let targets = links.filter_map(|link| link.split("href=\"").nth(1)?.split('"').next());
    let others = rendering.navigated.iter().chain(&rendering.passing_links);
    let all = targets.chain(others.map(String::as_str));
    all.map(|target| target.trim_start_matches(ORIGIN).to_owned())
        .collect()
}

async fn crawl(pool: &BrowserPool, web: &Arc<Web>) -> BTreeSet<String> {
    let mut known = BTreeSet::from(["/".to_owned()]);
    let mut queue = VecDeque::from(["/".to_owned()]);
    let mut rendered = 0;
    while let Some(path) = queue.pop_front() {
        rendered += 1;
        assert!(rendered <= MOST_PAGES, "{known:?}");
        let parts: Arc<dyn PartFetcher> = web.clone();
        let page = html(&format!("{ORIGIN}{path}"), SHELL);
        let rendering = pool.render(page, parts).await.unwrap();
        for path in paths(&rendering) {
            if known.insert(path.clone()) {
                queue.push_back(path);
            }
        }
    }
    known
}

#[test]
fn applications_show_their_routes() {
    let Some(folder) = std::env::var_os("CLEWLINE_RENDER_APPS") else {
        eprintln!("SKIPPED, although it matters: CLEWLINE_RENDER_APPS names no applications");
        return;
    };
    let options = BrowserOptions {
        behaviors: vec![Behavior::Autoclick],
        ..BrowserOptions::default()
    };
    let Some(pool) = pool(options) else {
        return;
    };
    let expected = routes();
    for name in ["angular", "preact", "react", "svelte", "vue"] {
        let script = Path::new(&folder).join(format!("{name}.js"));
        let script = std::fs::read_to_string(script).unwrap();
        let found = run(crawl(&pool, &Arc::new(web(&script))));
        let recall = found.intersection(&expected).count();
        let lost: Vec<_> = expected.difference(&found).collect();
        eprintln!("{name}: {recall} of {} routes", expected.len());
        assert!(recall * 100 >= expected.len() * 95, "{name} lost {lost:?}");
        let invented: Vec<_> = found.difference(&expected).collect();
        assert!(
            invented.is_empty(),
            "{name} has no such routes: {invented:?}"
        );
    }
}
