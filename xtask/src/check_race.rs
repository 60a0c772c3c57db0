//! `cargo xtask check-race`: link checkers over a web whose truth is known, as one table.
//!
//! Owns which checkers of others are fetched, the running of the test that races them, and where the
//! table is saved. What is raced, and what must be found, is told in `crates/cli/tests/cli/checking`.
//! Invariant: a checker that cannot be had is named, and the race goes on without it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail, ensure};

use crate::stage::say;
use crate::{Workspace, cargo, tools};

/// The start of a line of the table.
const LINE: &str = "check-race: ";
/// Pages, links and hosts of the web, unless `--size` says otherwise.
const SIZE: &str = "2000,20000,3000";
/// Where the table is saved.
const SAVED: &str = "docs/benchmarks/check-race.txt";
/// The longest that npm may take, in seconds.
const INSTALLING: &str = "300";

/// Races all checkers that can be had.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    let (mut is_saved, mut size) = (false, SIZE.to_owned());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--save" => is_saved = true,
            "--size" => {
                let given = words.next();
                size.clone_from(given.context("--size needs PAGES,LINKS,HOSTS")?);
            }
            _ => bail!("check-race takes --save and --size PAGES,LINKS,HOSTS"),
        }
    }
    let rivals: Vec<String> = [
        ("linkinator", linkinator(workspace)),
        ("linkchecker", linkchecker(workspace)),
    ]
    .into_iter()
    .filter_map(|(name, found)| match found {
        Ok(path) => Some(format!("{name}={}", path.display())),
        Err(error) => {
            say(&format!("SKIPPED: {name}: {error:#}"));
            None
        }
    })
    .collect();
    let rows = race(workspace, &size, &rivals.join(","))?;
    if is_saved {
        let path = workspace.root.join(SAVED);
        let numbers: Vec<&str> = size.split(',').collect();
        let [pages, links, hosts] = numbers[..] else {
            bail!("--size is PAGES,LINKS,HOSTS");
        };
        let head = format!("{links} links to {hosts} hosts on {pages} pages");
        let text = format!("{head}\n\n{}\n", rows.join("\n"));
        fs::write(&path, text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

fn race(workspace: &Workspace, size: &str, rivals: &str) -> Result<Vec<String>> {
    let mut child = cargo::command(workspace)
        .args(["test", "--profile", "ci", "--workspace", "--test", "cli"])
        .args(["--", "checking::race", "--nocapture"])
        .env("CLEWLINE_RACE_SIZE", size)
        .env("CLEWLINE_RACE_RIVALS", rivals)
        .stdout(Stdio::piped())
        .spawn()
        .context("cargo does not start")?;
    let output = child.stdout.take().context("the output is piped")?;
    let mut rows = Vec::new();
    for line in BufReader::new(output).lines() {
        let line = line.context("reading what the test prints")?;
        if let Some(at) = line.find(LINE) {
            let row = line.get(at + LINE.len()..).unwrap_or_default();
            say(row);
            rows.push(row.to_owned());
        }
    }
    let status = child.wait().context("waiting for cargo")?;
    ensure!(status.success(), "ours did not win its own race");
    Ok(rows)
}

fn linkchecker(workspace: &Workspace) -> Result<PathBuf> {
    let folder = tools::from_pypi(workspace, "linkchecker", "LinkChecker")?;
    Ok(folder.join("linkchecker"))
}

fn linkinator(workspace: &Workspace) -> Result<PathBuf> {
    let npm = tools::program(&["npm"]).context("npm is not here")?;
    let folder = workspace.target.join("packages/linkinator");
    let program = folder.join("node_modules/.bin/linkinator");
    if !program.is_file() {
        fs::create_dir_all(&folder)?;
        let status = tools::within(INSTALLING, &npm)
            .args(["install", "--silent", "--prefix"])
            .arg(&folder)
            .arg("linkinator")
            .status()
            .context("npm does not start")?;
        ensure!(status.success(), "npm ended with {status}");
    }
    Ok(program)
}
