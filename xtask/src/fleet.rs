//! `cargo xtask fleet`: a large fleet of real processes on a database, killed again and again.
//!
//! Owns the figures of the large run. What is crawled, what is killed and what must hold is told in
//! `crates/cli/tests/fleet`; the usual tests run it small.

use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::stage::say;
use crate::{Workspace, tools};

/// What the test asks for, and how much of it makes a large run.
const FIGURES: [(&str, &str, u64); 5] = [
    ("--workers", "CLEWLINE_FLEET_WORKERS", 16),
    ("--hosts", "CLEWLINE_FLEET_HOSTS", 400),
    ("--pages", "CLEWLINE_FLEET_PAGES", 60),
    ("--kills", "CLEWLINE_FLEET_KILLS", 20),
    ("--database-kills", "CLEWLINE_FLEET_DATABASE_KILLS", 2),
];

/// Runs it; flags change the figures.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    tools::database()?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(&workspace.root);
    for (_, variable, usual) in FIGURES {
        cargo.env(variable, usual.to_string());
    }
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let Some((_, variable, _)) = FIGURES.iter().find(|(flag, ..)| flag == word) else {
            let all: Vec<&str> = FIGURES.iter().map(|(flag, ..)| *flag).collect();
            bail!(
                "fleet takes no {word:?}, only {} with a number",
                all.join(", ")
            );
        };
        let value = words
            .next()
            .with_context(|| format!("{word} needs a number"))?;
        let value: u64 = value
            .parse()
            .with_context(|| format!("{word} needs a number"))?;
        cargo.env(variable, value.to_string());
    }
    say("workers and the database are killed; this takes some minutes");
    let what = [
        "test",
        "--profile",
        "ci",
        "--workspace",
        "--test",
        "fleet",
        "--",
    ];
    let status = cargo
        .args(what)
        .args(["workers_and_the_database", "--nocapture"])
        .status()
        .context("cargo does not start")?;
    ensure!(status.success(), "something was lost, or asked too often");
    Ok(())
}
