//! What `--render` costs where nearly no page needs it.
//!
//! Owns crawls of a real documentation site, in turns with and without, and the comparison of the crawler's
//! own processor time. What remains without the samples is taken from crawls whose browser fails at each
//! sample, so that they are spent at no cost. It refuses to know how samples are chosen.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
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

/// Starts, and renders no page.
const FAILING_BROWSER: &str = "tests/render-refusal/browser.py";

/// How often the site is served, so that its samples are few among its pages.
const COPIES: u32 = 4;

/// Samples of one host.
const MOST_SAMPLES: u64 = 20;

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

/// The ways to crawl the site.
#[derive(Debug, Clone, Copy)]
enum Way {
    Without,
    /// With a browser that starts and renders nothing.
    WithoutSamples,
    With,
}

impl Way {
    const ALL: [Self; 3] = [Self::Without, Self::WithoutSamples, Self::With];

    const fn name(self) -> &'static str {
        match self {
            Self::Without => "without --render",
            Self::WithoutSamples => "with --render, every sample failing",
            Self::With => "with --render",
        }
    }

    fn flags(self, workspace: &Workspace) -> Vec<OsString> {
        match self {
            Self::Without => vec!["--render=never".into()],
            Self::With => vec!["--render=auto".into()],
            Self::WithoutSamples => {
                let browser = workspace.root.join(FAILING_BROWSER);
                vec!["--render=auto".into(), "--browser".into(), browser.into()]
            }
        }
    }
}

/// A folder with the site so often, and a page that links to each.
fn copies(workspace: &Workspace) -> Result<PathBuf> {
    let pages = tools::unpacked(workspace, "openjdk-17-doc")?
        .join("usr/share/doc/openjdk-17-jre-headless/api");
    let folder = workspace.target.join("rendering-copies");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let mut home = "<!doctype html><title>Copies</title>".to_owned();
    for copy in 1..=COPIES {
        std::os::unix::fs::symlink(&pages, folder.join(copy.to_string()))?;
        writeln!(home, "<a href=/{copy}/index.html>{copy}</a>")?;
    }
    fs::write(folder.join("index.html"), home)?;
    Ok(folder)
}

/// Crawls the site so often in each way; answers a passage about it.
pub(super) fn cost(workspace: &Workspace, rounds: u32) -> Result<String> {
    let files = Files::serving(workspace, copies(workspace)?)?;
    let server = Server::start(&files, &workspace.target.join("rendering-site"))?;
    let mut taken = Way::ALL.map(|_| Vec::new());
    for round in 0..rounds {
        let mut ways: Vec<_> = taken.iter_mut().zip(Way::ALL).collect();
        // Whoever comes first has no favour of it.
        if round % 2 == 1 {
            ways.reverse();
        }
        for (taken, way) in ways {
            let cost = crawl(workspace, &server, way)?;
            say(&format!(
                "round {round}: {} {:.2} s",
                way.name(),
                cost.seconds
            ));
            taken.push(cost);
        }
    }
    let [without, spent, with] = taken.map(Series::of);
    let [without, spent, with] = [without?, spent?, with?];
    ensure!(
        without.pages == spent.pages && without.pages == with.pages,
        "{without:?}, {spent:?} and {with:?} differ"
    );
    ensure!(
        spent.browser == 0,
        "the browser rendered something: {spent:?}"
    );
    ensure!(
        (1..=MOST_SAMPLES).contains(&spent.rendered) && spent.rendered == with.rendered,
        "not the samples of a host: {spent:?}, {with:?}"
    );
    Ok(passage(rounds, (&without, &spent, &with)))
}

fn passage(rounds: u32, (without, spent, with): (&Series, &Series, &Series)) -> String {
    let more = |ours: f64, than: f64| (ours / than - 1.0) * 100.0;
    let each = |seconds: f64| seconds * 1e3 / with.rendered as f64;
    let mut text = format!(
        "**A site that needs no browser.** openjdk-17-doc {COPIES} times over, {} pages, {rounds} crawls each way in turns. In the \
         middle row the browser fails at each sample, so that what is left is what the other pages cost.\n\n\
         | | processor time of the crawler, median | least | most |\n|---|--:|--:|--:|\n",
        without.pages,
    );
    for (way, series) in Way::ALL.into_iter().zip([without, spent, with]) {
        writeln!(
            text,
            "| {} | {:.2} s ({:+.1} %) | {:.2} s ({:+.1} %) | {:.2} s |",
            way.name(),
            series.median,
            more(series.median, without.median),
            series.least,
            more(series.least, without.least),
            series.most,
        )
        .expect("a string takes all text");
    }
    write!(
        text,
        "\nThe {} samples are the difference of the last two rows: {:.0} ms of the crawler for each by the medians, \
         and {:.0} ms of the browser.\n\n",
        with.rendered,
        each(with.median - spent.median),
        with.browser as f64 / with.rendered as f64,
    )
    .expect("a string takes all text");
    text
}

/// What the crawls of one way took.
#[derive(Debug)]
struct Series {
    least: f64,
    median: f64,
    most: f64,
    pages: u64,
    rendered: u64,
    browser: u64,
}

impl Series {
    fn of(mut costs: Vec<CrawlCost>) -> Result<Self> {
        costs.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
        let least = costs.first().context("at least one round is needed")?;
        ensure!(
            costs.iter().all(|cost| cost.pages == least.pages),
            "crawls of one site differ: {costs:?}"
        );
        Ok(Self {
            least: least.seconds,
            median: costs[costs.len() / 2].seconds,
            most: costs[costs.len() - 1].seconds,
            pages: least.pages,
            rendered: least.rendered,
            browser: least.browser,
        })
    }
}

fn crawl(workspace: &Workspace, server: &Server, way: Way) -> Result<CrawlCost> {
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
        .args(["--format", "json", "--noproxy", "*", "--speed", "max"])
        // Copies are taken for a trap.
        .arg("--no-trap-detection")
        .args(way.flags(workspace))
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
