//! An application that is crawled by us and by others.
//!
//! Owns the application behind nginx, the programs that crawl it, and what each took with all of its
//! processes, browsers included. It refuses to know what the programs do. Invariant: everybody gets the
//! same browser and two pages at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::verb::binary;
use super::{APPLICATIONS, BROWSER, INSTALLING};
use crate::bench::measure::{below, processor_seconds};
use crate::real_site::{Files, Server, TEMPORARY_PATHS};
use crate::stage::say;
use crate::{Workspace, tools};

/// Items and tags of the application, as `tests/render-apps` has them.
const ITEMS: usize = 20;
const TAGS: usize = 5;
/// Its routes: the list, a page about it, items and tags. One more is behind a click.
const ROUTES: usize = 2 + ITEMS + TAGS;
/// How often processes are looked at.
const GLANCE: Duration = Duration::from_millis(20);
/// The longest crawl, in seconds.
const LONGEST: &str = "300";

/// What a program took.
#[derive(Debug)]
pub(super) struct Rival {
    name: &'static str,
    routes: usize,
    /// Seconds that passed, and of processor time of all processes.
    wall: f64,
    processor: f64,
}

/// Has the application crawled by everybody that can be installed.
pub(super) fn race(workspace: &Workspace) -> Result<Vec<Rival>> {
    let folder = workspace.target.join("rendering-rivals");
    let pages = application(workspace)?;
    let files = Files::serving(workspace, pages)?;
    let server = Server::start_as(&files, &folder, &configuration)?;
    let browser = tools::installed(&[BROWSER], &[BROWSER])?;
    let mut rivals = vec![run("Clewline", &mut ours(workspace, &server), &folder)?];
    let entrants = [
        ("scrapy-playwright", scrapy(workspace)),
        ("Crawlee with Playwright", crawlee(workspace)),
    ];
    for (name, command) in entrants {
        match command {
            Ok(mut command) => {
                command.arg(server.root()).arg(&browser);
                rivals.push(run(name, &mut command, &folder)?);
            }
            Err(error) => say(&format!("SKIPPED: {name}: {error:#}")),
        }
    }
    Ok(rivals)
}

/// The passage about them.
pub(super) fn table(rivals: &[Rival]) -> String {
    let mut text = format!(
        "**Others.** The application made with React, {ROUTES} routes without a click, two pages at a time, the \
         same browser:\n\n| | routes | processor time per route | time |\n|---|--:|--:|--:|\n"
    );
    for rival in rivals {
        let each = rival.processor * 1e3 / rival.routes.max(1) as f64;
        writeln!(
            text,
            "| {} | {} | {each:.0} ms | {:.1} s |",
            rival.name, rival.routes, rival.wall
        )
        .expect("a string takes all text");
    }
    text
}

fn run(name: &'static str, command: &mut Command, folder: &Path) -> Result<Rival> {
    say(name);
    let log = folder.join("access.log");
    fs::write(&log, "")?;
    let began = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(folder.join("stderr"))?)
        .spawn()
        .with_context(|| format!("{name} does not start"))?;
    let mut seconds: BTreeMap<u32, f64> = BTreeMap::new();
    let status = loop {
        for process in below(child.id()) {
            let now = processor_seconds(process).unwrap_or(0.0);
            let known = seconds.entry(process).or_default();
            *known = known.max(now);
        }
        if let Some(status) = child.try_wait()? {
            break status;
        }
        thread::sleep(GLANCE);
    };
    let talk = fs::read_to_string(folder.join("stderr")).unwrap_or_default();
    ensure!(status.success(), "{name} ended with {status}: {talk}");
    let log = fs::read_to_string(log)?;
    let paths = log.lines().filter_map(|line| line.split(' ').next());
    let routes: BTreeSet<&str> = paths.filter(|path| is_route(path)).collect();
    Ok(Rival {
        name,
        routes: routes.len(),
        wall: began.elapsed().as_secs_f64(),
        processor: seconds.values().sum(),
    })
}

fn is_route(path: &str) -> bool {
    matches!(path, "/" | "/about") || path.starts_with("/item/") || path.starts_with("/tag/")
}

fn ours(workspace: &Workspace, server: &Server) -> Command {
    let mut command = tools::within(LONGEST, &binary(workspace));
    command
        .args([
            "crawl",
            "--no-config",
            "--quiet",
            "--overwrite",
            "--no-archive",
        ])
        .args(["--noproxy", "*", "--speed", "max", "--no-sitemaps"])
        .args(["--render=always", "--render-tabs", "2", "--output"])
        .arg(workspace.target.join("rendering-rivals.crawl"))
        .arg(server.root());
    command
}

fn scrapy(workspace: &Workspace) -> Result<Command> {
    let python = tools::installed(&["python3"], &["python3", "python3-venv"])?;
    let wanted = ["scrapy", "scrapy-playwright"];
    let programs = tools::python_environment(workspace, "scrapy-playwright", &python, &wanted)?;
    let mut command = tools::within(LONGEST, &programs.join("python"));
    command.arg(workspace.root.join("tests/render-rivals/scrapy_app.py"));
    Ok(command)
}

fn crawlee(workspace: &Workspace) -> Result<Command> {
    let npm = tools::installed(&["npm"], &["npm"])?;
    let node = tools::installed(&["node"], &["nodejs"])?;
    let folder = workspace.target.join("crawlee");
    fs::create_dir_all(&folder)?;
    if !folder.join("node_modules/@crawlee/playwright").is_dir() {
        let mut install = tools::within(INSTALLING, &npm);
        install
            .args(["install", "--silent", "--no-audit", "--no-fund"])
            // The package `crawlee` brings other crawlers along, and packages that some registries lack.
            .args(["@crawlee/playwright", "playwright"])
            .env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")
            .env("PUPPETEER_SKIP_DOWNLOAD", "1")
            .current_dir(&folder);
        tools::quiet(&mut install)?;
    }
    let script = folder.join("crawlee_app.mjs");
    fs::copy(
        workspace.root.join("tests/render-rivals/crawlee_app.mjs"),
        &script,
    )?;
    let mut command = tools::within(LONGEST, &node);
    command.arg(script).current_dir(&folder);
    Ok(command)
}

/// The files of the application; answers their folder.
fn application(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target.join("rendering-application");
    let data = folder.join("api");
    fs::create_dir_all(&data)?;
    let bundle = workspace.target.join(APPLICATIONS).join("bundles/react.js");
    fs::copy(bundle, folder.join("app.js"))?;
    let shell =
        "<!DOCTYPE html><title>App</title><body><div id=root></div><script src=/app.js></script>";
    fs::write(folder.join("index.html"), shell)?;
    let items: Vec<String> = (0..ITEMS).map(|item| item.to_string()).collect();
    fs::write(data.join("items.json"), format!("[{}]", items.join(",")))?;
    for item in 0..ITEMS {
        let tag = format!("{{\"tag\": \"t{}\"}}", item % TAGS);
        fs::write(data.join(format!("item-{item}.json")), tag)?;
    }
    Ok(folder)
}

/// Every path that is no file is a route.
fn configuration(pages: &Path, port: u16) -> String {
    format!(
        r#"daemon off;
master_process off;
pid nginx.pid;
events {{ worker_connections 512; }}
http {{
  log_format path '$request_uri';
  access_log access.log path;
  {TEMPORARY_PATHS}
  types {{ text/html html; text/javascript js; application/json json; }}
  server {{
    listen 127.0.0.1:{port};
    root "{}";
    location = /robots.txt {{ return 404; }}
    location / {{ try_files $uri /index.html; }}
  }}
}}
"#,
        pages.display()
    )
}
