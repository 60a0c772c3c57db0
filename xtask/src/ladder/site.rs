//! The site that is crawled: one host of terrarium's profile `slow`, in a process of its own.
//!
//! Owns the talk with that process. Each run gets a fresh one, so that what the server saw at
//! its end is what this run did.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::Ground;

/// A site that answers.
pub(crate) struct Site {
    child: Child,
    lines: BufReader<ChildStdout>,
    /// Where it begins.
    pub(crate) root: String,
    /// Where to connect.
    pub(crate) address: String,
    /// Every page that there is to find.
    pub(crate) urls: BTreeSet<String>,
}

impl Site {
    /// Starts a site of so many pages that all take so long.
    pub(crate) fn start(ground: &Ground, pages: u32, delay: Duration) -> Result<Self> {
        let oracle = ground.scratch.join("oracle.jsonl");
        let mut command = Command::new(ground.program("terrarium"));
        command.args([
            "serve",
            "--profile",
            "slow",
            "--hosts",
            "1",
            "--addresses",
            "1",
        ]);
        command.args(["--json", "--quiet", "--scope", "host", "--no-sitemaps"]);
        command.args(["--pages", &pages.to_string()]);
        command.args(["--delay", &format!("{}ms", delay.as_millis())]);
        command.arg("--oracle").arg(&oracle);
        command
            .arg("--cacert")
            .arg(ground.scratch.join("authority.pem"));
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .context("terrarium")?;
        let stdout = child.stdout.take().context("the pipe is there")?;
        let mut site = Self {
            child,
            lines: BufReader::new(stdout),
            root: String::new(),
            address: String::new(),
            urls: BTreeSet::new(),
        };
        // The first word is that it is ready.
        let told = site.line()?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        site.root = text(&told["roots"][0]).context("a root")?;
        let address = text(&told["first_address"]).context("an address")?;
        site.address = format!("{address}:{}", told["port"]);
        site.urls = expected(&fs::read_to_string(&oracle).context("the oracle's list")?)?;
        Ok(site)
    }

    fn line(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        ensure!(!line.is_empty(), "terrarium ended without a word");
        Ok(serde_json::from_str(&line)?)
    }

    /// Ends it; answers how many requests it saw at once.
    pub(crate) fn stop(mut self) -> Result<u64> {
        let id = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status();
        ensure!(
            asked.context("kill")?.success(),
            "terrarium cannot be stopped"
        );
        let told = self.line()?;
        self.child.wait()?;
        told["hosts"]["greatest_in_flight"]
            .as_u64()
            .context("what the referee saw")
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// The pages that the oracle says are fetched.
fn expected(lines: &str) -> Result<BTreeSet<String>> {
    let mut urls = BTreeSet::new();
    for line in lines.lines() {
        let told: Value = serde_json::from_str(line).context("a line of the oracle")?;
        ensure!(
            told["expected"] == "fetched 200",
            "the site has bad habits: {line}"
        );
        urls.insert(told["url"].as_str().context("a URL")?.to_owned());
    }
    Ok(urls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_is_read() {
        let good = "{\"url\":\"http://a.test/\",\"expected\":\"fetched 200\"}\n";
        assert_eq!(expected(good).unwrap().len(), 1);
        assert!(expected(&good.replace("200", "404")).is_err());
    }
}
