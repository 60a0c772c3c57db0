//! Cargo's part: building, testing, linting, documenting.
//!
//! Owns the flags and the reading of test results. Everything uses the profile `ci`, so that
//! what the lints compiled the tests need not compile again.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::Workspace;
use crate::stage::{Counts, Ending, say};
use crate::{foreign, rendering};

/// The start of the line that ends each test program.
const RESULT: &str = "test result: ";

/// The program: the one that runs this task, if one does.
pub(crate) fn program() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| "cargo".into(), PathBuf::from)
}

/// Cargo itself, in the workspace.
pub(crate) fn command(workspace: &Workspace) -> Command {
    let mut command = Command::new(program());
    command.current_dir(&workspace.root);
    command
}

/// Runs cargo as one check.
pub(crate) fn run(workspace: &Workspace, arguments: &[&str]) -> Result<Ending> {
    finish(command(workspace).args(arguments))
}

/// Runs cargo as one check, with a variable in its environment.
pub(crate) fn run_with(
    workspace: &Workspace,
    arguments: &[&str],
    (name, value): (&str, &OsStr),
) -> Result<Ending> {
    finish(command(workspace).args(arguments).env(name, value))
}

/// Clippy over everything, warnings are errors.
pub(crate) fn clippy(workspace: &Workspace) -> Result<Ending> {
    let what = ["clippy", "--profile", "ci", "--workspace", "--all-targets"];
    finish(command(workspace).args(what).args(["--", "-D", "warnings"]))
}

/// Rustdoc over the libraries, warnings are errors. The binary has the name of the library, and
/// their pages would overwrite each other.
pub(crate) fn doc(workspace: &Workspace) -> Result<Ending> {
    let what = [
        "doc",
        "--profile",
        "ci",
        "--workspace",
        "--no-deps",
        "--lib",
    ];
    finish(
        command(workspace)
            .args(what)
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}

fn finish(command: &mut Command) -> Result<Ending> {
    let status = command.status().context("cargo does not start")?;
    if !status.success() {
        bail!("cargo ended with {status}");
    }
    Ok(Ending::Ran(Counts::PASSED))
}

/// Runs the tests of some targets and counts them. Those that pass are not named.
pub(crate) fn test(workspace: &Workspace, targets: &[&str]) -> Result<Ending> {
    let what = ["test", "--profile", "ci", "--workspace", "--no-fail-fast"];
    let mut child = command(workspace)
        .args(what)
        .args(targets)
        .env(foreign::KEPT, foreign::kept(workspace))
        .envs(rendering::promises(workspace))
        .stdout(Stdio::piped())
        .spawn()
        .context("cargo does not start")?;
    let mut counts = Counts::default();
    let output = child.stdout.take().context("the output is piped")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("reading what cargo prints")?;
        let line = String::from_utf8_lossy(&line);
        counts += counts_of(&line).unwrap_or_default();
        if !line.ends_with("... ok") && !line.trim().is_empty() {
            say(&line);
        }
    }
    let status = child.wait().context("waiting for cargo")?;
    // A test program that does not compile or dies has no line of its own.
    if !status.success() && counts.failed == 0 {
        counts += Counts::FAILED;
    }
    Ok(Ending::Ran(counts))
}

/// What the last line of a test program says.
fn counts_of(line: &str) -> Option<Counts> {
    let figures = line.strip_prefix(RESULT)?;
    let figure = |name: &str| {
        let part = figures
            .split(';')
            .find_map(|part| part.strip_suffix(name))?;
        part.split_whitespace().next_back()?.parse().ok()
    };
    Some(Counts {
        passed: figure(" passed")?,
        failed: figure(" failed")?,
        skipped: figure(" ignored")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_counted() {
        let check = |line: &str, expected: Option<(u64, u64, u64)>| {
            let found = counts_of(line).map(|found| (found.passed, found.failed, found.skipped));
            assert_eq!(found, expected, "{line}");
        };
        check(
            "test result: ok. 24 passed; 0 failed; 1 ignored; 0 measured; 162 filtered out; \
             finished in 0.74s",
            Some((24, 0, 1)),
        );
        check(
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
            Some((3, 2, 0)),
        );
        check("test result: unheard of", None);
        check("test a::passed ... FAILED", None);
    }
}
