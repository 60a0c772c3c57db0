//! `cargo xtask ladder`: every rung of the ladder on the same site, measured.
//!
//! Owns which rungs there are, what is measured and in which order. Each rung is a program that
//! reports on itself; what it fetched is compared with what the oracle foretells, and how much
//! it held at once is what the server saw. Invariant: no figure is printed that was not taken in
//! this run.

mod chart;
mod options;
mod rung;
mod site;
mod table;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::Workspace;
use crate::cargo;
use crate::stage::say;
use options::Options;
use rung::{Rung, Waiting};
use site::Site;

/// What an answer takes while pages are fetched.
const DELAY: Duration = Duration::from_millis(100);
/// What an answer takes while the processor time of waiting is measured.
const LONG_DELAY: Duration = Duration::from_secs(3);
/// What an answer takes while as many as possible wait: all must have come before the first
/// goes.
const LONGEST_DELAY: Duration = Duration::from_secs(8);

/// The rungs, lowest first. The first one has company on the second row.
const RUNGS: [Rung; 7] = [
    Rung::alone("blocking, one by one", "blocking"),
    Rung::new("blocking, threads", "blocking"),
    Rung::new("busy", "busy"),
    Rung::new("callbacks", "callbacks"),
    Rung::new("coroutines", "coroutines"),
    Rung::new("queue", "queue"),
    Rung::new("clew", "clew"),
];

/// What was measured of a rung.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) is_alone: bool,
    /// Seconds for all pages.
    pub(crate) seconds: f64,
    pub(crate) concurrency: u64,
    /// Pages that it should have found and did not, and those that it should not have found.
    pub(crate) missing: u64,
    pub(crate) extra: u64,
    /// Share of one processor while requests wait.
    pub(crate) processor: f64,
    /// Holding as many requests as possible.
    pub(crate) most: Option<Held>,
}

/// As many requests as possible.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    /// How many the server saw at once.
    pub(crate) count: u64,
    /// Bytes of the process for each of them, if the system tells.
    pub(crate) bytes: Option<f64>,
    /// Bytes of the kernel's stacks and page tables for each of them.
    pub(crate) kernel_bytes: Option<f64>,
    /// How it ended, if not well.
    pub(crate) trouble: Option<String>,
}

/// Everything that was measured.
pub(crate) struct Results {
    pub(crate) pages: usize,
    pub(crate) tasks: u32,
    pub(crate) hold: u32,
    pub(crate) rows: Vec<Row>,
    pub(crate) limits: Vec<String>,
    /// What the chess exhibition says.
    pub(crate) chess: String,
}

/// Runs the verb with the words after `ladder`.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    let options = Options::parse(words)?;
    if options.help {
        say(options::HELP);
        return Ok(());
    }
    cargo::run(
        workspace,
        &[
            "build",
            "--profile",
            &options.build,
            "-p",
            "ladder",
            "-p",
            "terrarium",
            "--bins",
        ],
    )?;
    let ground = Ground::new(workspace, &options)?;
    let results = measure(&ground, &options)?;
    publish(workspace, &ground, &options, &results)?;
    let exact = results.rows.iter().all(|row| row.missing + row.extra == 0);
    ensure!(
        exact,
        "not every rung found exactly the pages of the oracle"
    );
    Ok(())
}

/// Where the programs are, and where files go.
pub(crate) struct Ground {
    programs: PathBuf,
    pub(crate) scratch: PathBuf,
}

impl Ground {
    fn new(workspace: &Workspace, options: &Options) -> Result<Self> {
        let folder = match options.build.as_str() {
            "dev" => "debug",
            profile => profile,
        };
        let scratch = workspace.target.join("ladder");
        fs::create_dir_all(&scratch).context("making a folder below target")?;
        Ok(Self {
            programs: workspace.target.join(folder),
            scratch,
        })
    }

    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }
}

fn measure(ground: &Ground, options: &Options) -> Result<Results> {
    let mut rows = Vec::new();
    let mut pages = 0;
    for rung in RUNGS {
        let tasks = if rung.is_alone { 1 } else { options.tasks };
        say(&format!("{}: {} pages", rung.name, options.pages));
        let site = Site::start(ground, options.pages, DELAY)?;
        pages = site.urls.len();
        let crawl = rung.crawl(ground, &site, tasks)?;
        site.stop()?;
        say(&format!("{}: {tasks} requests that wait", rung.name));
        let few = wait(ground, rung, tasks, LONG_DELAY)?;
        let most = if rung.is_alone {
            None
        } else {
            say(&format!(
                "{}: {} requests that wait",
                rung.name, options.hold
            ));
            Some(hold(ground, rung, options, &few)?)
        };
        rows.push(Row {
            name: rung.name,
            is_alone: rung.is_alone,
            seconds: crawl.seconds,
            concurrency: crawl.concurrency,
            missing: crawl.missing,
            extra: crawl.extra,
            processor: few.processor_seconds / few.seconds,
            most,
        });
    }
    Ok(Results {
        pages,
        tasks: options.tasks,
        hold: options.hold,
        rows,
        limits: rung::limits(),
        chess: rung::chess(ground)?,
    })
}

/// Lets so many requests wait at once on a site of their own.
fn wait(ground: &Ground, rung: Rung, count: u32, delay: Duration) -> Result<Waiting> {
    let site = Site::start(ground, count, delay)?;
    let mut waiting = rung.wait(ground, &site, count)?;
    waiting.seen = site.stop()?;
    Ok(waiting)
}

/// What a request costs is the difference between few and many of them: what the program has
/// anyway is in both.
fn hold(ground: &Ground, rung: Rung, options: &Options, few: &Waiting) -> Result<Held> {
    let many = wait(ground, rung, options.hold, LONGEST_DELAY)?;
    let more = many.concurrency.saturating_sub(few.concurrency).max(1) as f64;
    let bytes = many.memory.zip(few.memory);
    let kernel = many.kernel_memory.zip(few.kernel_memory);
    let each = |(many, few): (u64, u64)| many.saturating_sub(few) as f64 / more;
    Ok(Held {
        count: many.seen,
        bytes: bytes.map(each),
        kernel_bytes: kernel.map(each),
        trouble: many.trouble,
    })
}

/// Prints the table, writes it and the picture below `target`, and keeps them if asked to.
fn publish(
    workspace: &Workspace,
    ground: &Ground,
    options: &Options,
    results: &Results,
) -> Result<()> {
    let table = table::markdown(results);
    let picture = chart::svg(results);
    say(&table);
    fs::write(ground.scratch.join("ladder.md"), &table)?;
    fs::write(ground.scratch.join("ladder.svg"), &picture)?;
    if options.save {
        let docs = workspace.root.join("docs");
        let walk = docs.join("ladder.md");
        table::PASSAGE.rewrite(&walk, &format!("\n{table}"))?;
        fs::write(docs.join("ladder.svg"), &picture)?;
    }
    Ok(())
}
