//! What `--render` costs where nearly no page needs it.
//!
//! Owns crawls of a real documentation site, in turns with and without, and the comparison of the crawler's
//! own processor time. The browser's time is that of its samples and told apart. It refuses to know how
//! samples are chosen.

use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::verb::binary;
use crate::bench::measure::processor_seconds;
use crate::real_site::{Files, Server};
use crate::stage::say;
use crate::{Workspace, tools};

/// How often the processor time of the crawler is read; it is gone with the process.
const GLANCE: Duration = Duration::from_millis(5);

/// What one crawl took.
#[derive(Debug, Default)]
struct CrawlCost {
    /// Seconds of processor time of the crawler alone.
    seconds: f64,
    pages: u64,
    rendered: u64,
    /// Milliseconds of the browser.
    browser: u64,
}

/// Crawls the site so often in each way; answers a passage about it.
pub(super) fn cost(workspace: &Workspace, rounds: u32) -> Result<String> {
    let pages = tools::unpacked(workspace, "openjdk-17-doc")?
        .join("usr/share/doc/openjdk-17-jre-headless/api");
    let files = Files::serving(workspace, pages)?;
    let server = Server::start(&files, &workspace.target.join("rendering-site"))?;
    let ways = ["--render=never", "--render=auto"];
    let mut least = ways.map(|_| CrawlCost {
        seconds: f64::INFINITY,
        ..CrawlCost::default()
    });
    for round in 0..rounds {
        for (least, way) in least.iter_mut().zip(ways) {
            let cost = crawl(workspace, &server, way)?;
            say(&format!("round {round}: {way} {:.2} s", cost.seconds));
            if cost.seconds < least.seconds {
                *least = cost;
            }
        }
    }
    let [without, with] = &least;
    ensure!(
        without.pages == with.pages,
        "{without:?} and {with:?} differ"
    );
    let more = (with.seconds / without.seconds - 1.0) * 100.0;
    let mut text = String::new();
    write!(
        text,
        "**A site that needs no browser.** openjdk-17-doc, {} pages, crawls in turns, the least of {rounds}: the \
         crawler took {:.2} s of processor time without and {:.2} s with `--render` ({more:+.1} %). The browser \
         took {:.1} s for its {} samples.\n\n",
        without.pages,
        without.seconds,
        with.seconds,
        with.browser as f64 / 1e3,
        with.rendered,
    )?;
    Ok(text)
}

fn crawl(workspace: &Workspace, server: &Server, way: &str) -> Result<CrawlCost> {
    let folder = workspace.target.join("rendering-site.crawl");
    let report = folder.with_extension("json");
    let mut crawler = Command::new(binary(workspace))
        .args([
            "crawl",
            "--no-config",
            "--quiet",
            "--overwrite",
            "--no-archive",
        ])
        .args(["--format", "json", "--noproxy", "*", "--speed", "max", way])
        .arg("--output")
        .arg(&folder)
        .arg(server.root())
        .stdin(Stdio::null())
        .stdout(fs::File::create(&report)?)
        .spawn()
        .context("the crawl does not start")?;
    let mut cost = CrawlCost::default();
    let status = loop {
        // A process that has ended keeps its time until it is waited for.
        cost.seconds = processor_seconds(crawler.id())
            .unwrap_or(0.0)
            .max(cost.seconds);
        if let Some(status) = crawler.try_wait()? {
            break status;
        }
        thread::sleep(GLANCE);
    };
    ensure!(status.success(), "the crawl ended with {status}");
    let report: Value = serde_json::from_str(&fs::read_to_string(report)?)?;
    let tally = &report["tally"];
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    cost.pages = number(&tally["pages"]);
    cost.rendered = number(&tally["rendered"]["done"]);
    cost.browser = number(&tally["rendered"]["cpu_millis"]);
    ensure!(cost.pages > 0, "no page in {report}");
    Ok(cost)
}
