//! A rung: a program that crawls and reports on itself.
//!
//! Owns its command line and the reading of what it says. The memory of the kernel is looked at
//! from outside, since no process is told of it.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::Ground;
use super::site::Site;

/// So often the memory of the kernel is looked at.
const BEAT: Duration = Duration::from_millis(100);

/// One program and how it is started.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rung {
    pub(crate) name: &'static str,
    program: &'static str,
    /// One request after the other.
    pub(crate) is_alone: bool,
}

/// What a crawl of the site took and found.
pub(crate) struct Crawled {
    pub(crate) seconds: f64,
    pub(crate) concurrency: u64,
    pub(crate) missing: u64,
    pub(crate) extra: u64,
}

/// What it took to wait for many answers.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) seconds: f64,
    pub(crate) processor_seconds: f64,
    /// How many the program says were in flight at once.
    pub(crate) concurrency: u64,
    /// How many the server saw at once.
    pub(crate) seen: u64,
    /// Memory of the process when they were that many.
    pub(crate) memory: Option<u64>,
    /// What the kernel's stacks and page tables grew by.
    pub(crate) kernel_memory: Option<u64>,
    pub(crate) trouble: Option<String>,
}

impl Rung {
    pub(crate) const fn new(name: &'static str, program: &'static str) -> Self {
        Self {
            name,
            program,
            is_alone: false,
        }
    }

    pub(crate) const fn alone(name: &'static str, program: &'static str) -> Self {
        Self {
            is_alone: true,
            ..Self::new(name, program)
        }
    }

    fn command(self, ground: &Ground, site: &Site, tasks: u32) -> Command {
        let mut command = Command::new(ground.program(self.program));
        command.args(["--json", "--quiet", "--connect-to", &site.address]);
        command.args(["--max-tasks", &tasks.to_string()]);
        command
    }

    /// Crawls the whole site and compares what was found with the oracle.
    pub(crate) fn crawl(self, ground: &Ground, site: &Site, tasks: u32) -> Result<Crawled> {
        let list = ground.scratch.join("urls.jsonl");
        let mut command = self.command(ground, site, tasks);
        let output = command.arg("--urls").arg(&list).arg(&site.root).output();
        let output = output.context(self.program)?;
        ensure!(
            output.status.success(),
            "{} ended with {}",
            self.name,
            output.status
        );
        let report: Value = serde_json::from_slice(&output.stdout).context(self.program)?;
        let found = fetched(&fs::read_to_string(&list)?)?;
        Ok(Crawled {
            seconds: report["seconds"].as_f64().context("seconds")?,
            concurrency: report["achieved_concurrency"]
                .as_u64()
                .context("concurrency")?,
            missing: site.urls.difference(&found).count() as u64,
            extra: found.difference(&site.urls).count() as u64,
        })
    }

    /// Asks for so many pages at once, follows no link, and looks at what waiting costs.
    pub(crate) fn wait(self, ground: &Ground, site: &Site, count: u32) -> Result<Waiting> {
        let mut command = self.command(ground, site, count);
        command.args(["--max-tries", "1", "--exclude", "."]);
        command.args(site.urls.iter().take(count as usize));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let before = kernel_memory();
        let child = command.spawn().context(self.program)?;
        let ended = thread::spawn(move || child.wait_with_output());
        let mut most = before;
        while !ended.is_finished() {
            most = most.max(kernel_memory());
            thread::sleep(BEAT);
        }
        let output = ended
            .join()
            .ok()
            .context("the thread panicked")?
            .context(self.program)?;
        let talk = String::from_utf8_lossy(&output.stderr);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let failed = report["urls_failed"].as_u64().unwrap_or(u64::from(count));
        let is_whole = output.status.success() && failed == 0;
        let first = talk.lines().find(|line| !line.trim().is_empty());
        let trouble = first
            .map(str::to_owned)
            .or_else(|| (!is_whole).then(|| format!("{}, {failed} failed", output.status)));
        Ok(Waiting {
            seconds: report["seconds"].as_f64().unwrap_or(0.0),
            processor_seconds: report["cpu_seconds"].as_f64().unwrap_or(0.0),
            concurrency: report["achieved_concurrency"].as_u64().unwrap_or(0),
            seen: 0,
            memory: report["waiting_memory"].as_u64(),
            kernel_memory: most.zip(before).map(|(most, before)| most - before),
            trouble,
        })
    }
}

/// The pages that were fetched, of a list of JSON lines.
fn fetched(lines: &str) -> Result<BTreeSet<String>> {
    let mut urls = BTreeSet::new();
    for line in lines.lines() {
        let record: Value = serde_json::from_str(line).context("a line of the list")?;
        // Whatever else became of a URL must not look as if it had been found.
        let is_page = record["outcome"] == "fetched" && record["status"] == 200;
        let url = record["url"].as_str().context("a URL")?;
        urls.insert(if is_page {
            url.to_owned()
        } else {
            record.to_string()
        });
    }
    Ok(urls)
}

/// Bytes of the kernel's stacks and page tables, of all processes.
fn kernel_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let field = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    };
    Some((field("KernelStack:")? + field("PageTables:")?) * 1024)
}

/// Where this machine ends.
pub(crate) fn limits() -> Vec<String> {
    let number = |path: &str| fs::read_to_string(path).ok();
    let files = [
        ("threads in all", "/proc/sys/kernel/threads-max"),
        (
            "processes and threads that have a number",
            "/proc/sys/kernel/pid_max",
        ),
        (
            "memory areas per process, two for each thread",
            "/proc/sys/vm/max_map_count",
        ),
    ];
    let mut limits: Vec<String> = files
        .iter()
        .filter_map(|(what, path)| Some(format!("{what}: {}", number(path)?.trim())))
        .collect();
    let own = number("/proc/self/limits").unwrap_or_default();
    let hard = own.lines().find(|line| line.starts_with("Max open files"));
    let hard = hard.and_then(|line| line.split_whitespace().nth(4));
    limits.extend(hard.map(|hard| format!("open files per process: {hard}")));
    limits
}

/// What the chess exhibition says.
pub(crate) fn chess(ground: &Ground) -> Result<String> {
    let output = Command::new(ground.program("chess"))
        .output()
        .context("chess")?;
    ensure!(
        output.status.success(),
        "chess ended with {}",
        output.status
    );
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_count_as_found() {
        let lines = "{\"url\":\"http://a.test/\",\"outcome\":\"fetched\",\"status\":200}\n\
                     {\"url\":\"http://a.test/b\",\"outcome\":\"failed\",\"status\":null}\n";
        let found = fetched(lines).unwrap();
        assert!(found.contains("http://a.test/") && !found.contains("http://a.test/b"));
        assert_eq!(found.len(), 2, "what failed is extra");
    }
}
