//! `cargo xtask traps`: how much a crawl finds beside each trap, as one table.
//!
//! Owns the running of the test program `traps` and the reading of its lines. What is crawled,
//! and what must be found, is told in `crates/clewline/tests/traps`. Invariant: the table has
//! every line that the program printed, whether its test passed or not.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail, ensure};

use crate::stage::say;
use crate::{Workspace, cargo};

/// The start of a line of the table.
const LINE: &str = "traps: ";

/// Crawls all sites, or those whose tests have this in their names; fails if one of them fails.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let filter = match arguments {
        [] => None,
        [filter] if !filter.starts_with('-') => Some(filter.as_str()),
        _ => bail!("traps takes a part of a test's name at most, such as calendar or dense_1"),
    };
    let mut child = cargo::command(workspace)
        .args(["test", "--profile", "ci", "--package", "clewline"])
        .args(["--test", "traps", "--"])
        .args(["--nocapture", "--test-threads", "1"])
        .args(filter)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cargo does not start")?;
    // What fails is told in full by the tests themselves; here it would tear the table apart.
    let talk = child.stderr.take().context("the talk is piped")?;
    let talk =
        std::thread::spawn(move || BufReader::new(talk).lines().map_while(Result::ok).last());
    let output = child.stdout.take().context("the output is piped")?;
    let mut count = 0;
    for line in BufReader::new(output).lines() {
        let line = line.context("reading what the tests print")?;
        if let Some(row) = row(&line) {
            count += 1;
            say(row);
        } else if line.starts_with("test result: ") {
            say(&line);
        }
    }
    let status = child.wait().context("waiting for cargo")?;
    let last = talk.join().ok().flatten().unwrap_or_default();
    ensure!(count > 0, "nothing was crawled: {last}");
    ensure!(
        status.success(),
        "too little was found in some of these sites"
    );
    Ok(())
}

/// The row in a line, which may stand behind a test's name.
fn row(line: &str) -> Option<&str> {
    line.find(LINE).and_then(|at| line.get(at + LINE.len()..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_behind_names() {
        assert_eq!(row("traps: facets 1"), Some("facets 1"));
        assert_eq!(
            row("test facets::dense_1 ... traps: facets 1"),
            Some("facets 1")
        );
        assert_eq!(row("test facets::dense_1 ... ok"), None);
    }
}
