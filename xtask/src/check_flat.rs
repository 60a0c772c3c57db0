//! `cargo xtask check-flat`: what a check of many pages takes in memory.
//!
//! Owns the words of the command, the sizes that are compared and where the table is kept. The pages are
//! made by the example `many_pages` of `clewline-check`. Invariant: a check that takes more than `--memory`,
//! or that finds another number of pages, fails the command.

use std::fs;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::bench::measure::{Ended, Stopwatch};
use crate::passage::{Passage, grouped};
use crate::stage::say;
use crate::{Workspace, cargo};

const HELP: &str = "\
cargo xtask check-flat [OPTIONS]       check sites of many pages, and watch memory

  --pages N           pages of the largest site; a tenth of them is checked before [default: 1000000]
  --memory MB         what a check may take [default: 256]
  --profile NAME      how the command is built [default: ci]
  --save              keep the table in docs/check.md
";
/// The table stands between these lines of docs/check.md.
const PASSAGE: Passage = Passage {
    begin: "<!-- pages: written by cargo xtask check-flat --save -->",
    end: "<!-- end of pages -->",
};
/// The longest that one check may take.
const LONGEST: std::time::Duration = std::time::Duration::from_hours(1);

struct Options {
    pages: u64,
    memory: u64,
    profile: String,
    save: bool,
}

/// Checks two sites, and compares.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    let Some(options) = parse(words)? else {
        say(HELP);
        return Ok(());
    };
    let profile = options.profile.as_str();
    let build = ["build", "--profile", profile, "--workspace"];
    let parts = ["--bin", "clewline", "--example", "many_pages"];
    cargo::run(workspace, &[&build[..], &parts].concat())?;
    let mut table = vec![
        "| pages | MB | bytes for each page more | s of processor time |".to_owned(),
        "|--:|--:|--:|--:|".to_owned(),
    ];
    let mut before: Option<(u64, u64)> = None;
    for pages in [options.pages / 10, options.pages] {
        let (peak, seconds) = checked(workspace, profile, pages)?;
        let more = before.map_or_else(String::new, |(fewer, lower)| {
            grouped((peak.saturating_sub(lower) * 1024) as f64 / (pages - fewer) as f64)
        });
        let megabytes = peak as f64 * 1024.0 / 1e6;
        let pages_told = grouped(pages as f64);
        table.push(format!(
            "| {pages_told} | {megabytes:.0} | {more} | {seconds:.1} |"
        ));
        say(table.last().map_or("", String::as_str));
        before = Some((pages, peak));
        ensure!(
            peak <= options.memory * 1024,
            "{pages_told} pages took {megabytes:.0} MB, more than {} MiB",
            options.memory
        );
    }
    if options.save {
        PASSAGE.rewrite(&workspace.root.join("docs/check.md"), &table.join("\n"))?;
    }
    Ok(())
}

/// The largest memory of a check in KiB, and its processor time in seconds.
fn checked(workspace: &Workspace, profile: &str, pages: u64) -> Result<(u64, f64)> {
    let folder = workspace.target.join("check-flat");
    fs::create_dir_all(&folder)?;
    let site = folder.join("many.warc.gz");
    let built = workspace.target.join(profile);
    let cores = format!("0-{}", num_cores() - 1);
    let watch = Stopwatch::new(&folder, LONGEST).on(&cores);
    let word = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let made = watch.run(&[
        word(&built.join("examples/many_pages")),
        word(&site),
        pages.to_string(),
    ])?;
    ensure!(made.ended == Ended::Well, "the pages could not be made");
    let flags = ["--no-config", "--no-external", "--format", "json"];
    let mut command = vec![
        word(&built.join("clewline")),
        "check".to_owned(),
        word(&site),
    ];
    command.extend(flags.map(str::to_owned));
    let cost = watch.run(&command)?;
    let is_good = matches!(cost.ended, Ended::Well | Ended::Badly(1));
    ensure!(is_good, "the check ended badly: {}", watch.complaints()?);
    let report: Value = serde_json::from_str(&watch.words()?).context("what the check says")?;
    let seen = report["facts"]["pages"].as_u64();
    ensure!(seen == Some(pages), "{seen:?} of {pages} pages were seen");
    fs::remove_file(&site)?;
    Ok((cost.peak, cost.user + cost.system))
}

fn num_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn parse(words: &[String]) -> Result<Option<Options>> {
    let mut options = Options {
        pages: 1_000_000,
        memory: 256,
        profile: "ci".to_owned(),
        save: false,
    };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--help" {
            return Ok(None);
        }
        if word == "--save" {
            options.save = true;
            continue;
        }
        let value = words.next();
        let value = value.with_context(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--pages" => options.pages = value.parse()?,
            "--memory" => options.memory = value.parse()?,
            "--profile" => options.profile.clone_from(value),
            _ => bail!("check-flat takes no {word:?}\n\n{HELP}"),
        }
    }
    Ok(Some(options))
}
