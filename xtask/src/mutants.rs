//! `cargo xtask mutants`: which mistakes in the code no test would notice.
//!
//! Owns how the program in `lab/mutants` is run and where its table goes. Refuses to know how
//! mutants are made and judged. Invariant: a table that is saved is of this run, and of all parts.

use std::fs;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};

use crate::stage::say;
use crate::{Workspace, cargo};

const PAGE: &str = "docs/mutants.md";

/// Runs the program over these parts; `--save` writes the page of all of them.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let is_saved = arguments == ["--save"];
    let parts = if is_saved { &[] } else { arguments };
    let output = cargo::command(workspace)
        .args([
            "run",
            "--quiet",
            "--profile",
            "ci",
            "--package",
            "mutants",
            "--",
        ])
        .args(parts)
        .env("CLEWLINE_CONFORMANCE", workspace.conformance())
        .stderr(Stdio::inherit())
        .output()
        .context("cargo does not start")?;
    ensure!(output.status.success(), "the mutants were not judged");
    let table = String::from_utf8(output.stdout)?;
    say(&table);
    if is_saved {
        fs::write(workspace.root.join(PAGE), format!("{HEAD}{table}"))?;
        say(&format!("wrote {PAGE}"));
    }
    Ok(())
}

const HEAD: &str = "\
# Mistakes that no test notices

`cargo xtask mutants [PART…]` puts every mistake that it can think of into one build of a copy of the code: an operator that is taken for another, a `!` that is forgotten, a
guard that always or never holds, a function that does nothing and answers the plainest value. A variable of the environment switches one of them on (mutant schemata, Untch
1993), so a mutant costs the tests that come past it and no build; `cargo mutants` builds for each, which was three to six minutes on the same machine, and two weeks for all. Tests
beside the code and in the `tests` folder of the same crate judge; those of other crates and of the command do not, so what survives here may well be noticed there.
Slow tests get 12 seconds for a mutant. `--save` makes this page.

";
