//! What renderings cost, measured from outside: processor time and memory of all processes of a browser.
//!
//! Nothing is demanded of the figures but that they are there. `cargo xtask rendering` asks for more pages
//! (`CLEWLINE_COST_PAGES`) and keeps what is written to the file that `CLEWLINE_COSTS` names.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clewline_render::{BrowserOptions, BrowserPool, PartFetcher, RenderInput};
use fieldwork::processes::{memory, processor_time, tree};
use futures_util::future::join_all;

use crate::apps::{ORIGIN, SHELL, web};
use crate::support::{PAGE, Web, html, pool, run};

/// Says to this test that it runs in a process of its own, where no other test's browsers are.
const ALONE: &str = "CLEWLINE_COSTS_ALONE";

/// A page to be rendered again and again.
struct Subject {
    name: &'static str,
    page: RenderInput,
    web: Arc<Web>,
}

fn subjects() -> Vec<Subject> {
    let small =
        "<body><ul id=list></ul><script>for (let i = 0; i < 60; i++) list.insertAdjacentHTML(
                 'beforeend', `<li><a href=/item/${i}>item ${i}</a>`)</script>";
    let mut subjects = vec![Subject {
        name: "a page that a script of its own writes",
        page: html(PAGE, small),
        web: Arc::default(),
    }];
    let Some(folder) = std::env::var_os("CLEWLINE_RENDER_APPS") else {
        return subjects;
    };
    for (name, file) in [
        ("an application made with React", "react.js"),
        ("an application made with Vue", "vue.js"),
        ("an application made with Angular", "angular.js"),
    ] {
        let script = std::fs::read_to_string(Path::new(&folder).join(file)).unwrap();
        subjects.push(Subject {
            name,
            page: html(&format!("{ORIGIN}/"), SHELL),
            web: Arc::new(web(&script)),
        });
    }
    subjects
}

/// Processor time of everything that this process started and that still runs.
fn spent() -> Duration {
    let all = tree(std::process::id()).into_iter();
    let started = all.filter(|process| *process != std::process::id());
    started.map(processor_time).sum()
}

fn held() -> u64 {
    let all = tree(std::process::id()).into_iter();
    let started = all.filter(|process| *process != std::process::id());
    started.map(memory).sum()
}

async fn render(pool: &BrowserPool, subject: &Subject) {
    let parts: Arc<dyn PartFetcher> = subject.web.clone();
    let rendering = pool.render(subject.page.clone(), parts).await.unwrap();
    assert!(rendering.html.contains("/item/"), "{}", rendering.html);
}

/// Milliseconds of one page in a browser that is started for it.
fn new_browser(subject: &Subject, rounds: u32) -> Option<f64> {
    let mut least = f64::INFINITY;
    for _ in 0..rounds.min(5) {
        let pool = pool(BrowserOptions::default())?;
        run(render(&pool, subject));
        least = least.min(spent().as_secs_f64() * 1e3);
    }
    Some(least)
}

/// Milliseconds of one page of many in a browser that runs.
fn running_browser(subject: &Subject, pages: u32) -> Option<f64> {
    let pool = pool(BrowserOptions::default())?;
    run(async {
        render(&pool, subject).await;
        let before = spent();
        for _ in 0..pages {
            render(&pool, subject).await;
        }
        let spent = spent().saturating_sub(before);
        Some(spent.as_secs_f64() * 1e3 / f64::from(pages))
    })
}

/// Mebibytes of browsers that render so many pages at a time.
fn memory_of(tabs: usize, subject: &Subject) -> Option<f64> {
    let options = BrowserOptions {
        tabs,
        ..BrowserOptions::default()
    };
    let pool = pool(options)?;
    run(async {
        for _ in 0..3 {
            join_all((0..tabs).map(|_| render(&pool, subject))).await;
        }
    });
    Some(held() as f64 / f64::from(1 << 20))
}

#[test]
fn renderings_have_a_price() {
    if std::env::var_os(ALONE).is_none() {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "costs::renderings_have_a_price", "--nocapture"])
            .env(ALONE, "1");
        assert!(command.status().unwrap().success());
        return;
    }
    let pages = std::env::var("CLEWLINE_COST_PAGES");
    let pages = pages.map_or(2, |pages| pages.parse().unwrap());
    let mut report = String::new();
    for subject in &subjects() {
        let Some(new) = new_browser(subject, pages) else {
            return;
        };
        let running = running_browser(subject, pages).unwrap();
        assert!(
            new > 0.0 && running > 0.0,
            "{}: {new} {running}",
            subject.name
        );
        let name = subject.name;
        writeln!(report, "| {name} | {new:.0} ms | {running:.0} ms |").unwrap();
    }
    let all = subjects();
    let subject = all.get(1).unwrap_or(&all[0]);
    for tabs in [1, 2, 4] {
        let mebibytes = memory_of(tabs, subject).unwrap();
        assert!(mebibytes > 0.0);
        writeln!(report, "tabs {tabs} {mebibytes:.0}").unwrap();
    }
    eprint!("{report}");
    if let Some(path) = std::env::var_os("CLEWLINE_COSTS") {
        std::fs::write(path, report).unwrap();
    }
}
