//! `cargo xtask fleet`: a large fleet of real processes on a database: killed again and again, and
//! measured while it grows.
//!
//! Owns the figures of the large run and where its result is kept. What is crawled, what is killed,
//! what must hold and how it is measured is told in `crates/cli/tests/fleet`; the usual tests run it
//! small.

mod table;

use std::fs;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::bench::machine;
use crate::passage::Passage;
use crate::stage::say;
use crate::words::ask_for_help;
use crate::{Workspace, cargo, tools};

const HELP: &str = "\
cargo xtask fleet [OPTIONS]   kill workers and the database, then measure how a fleet grows

  --workers N          workers that are killed and replaced [default: 16]
  --hosts N            hosts of their web [default: 10000]
  --pages N            pages of each host [default: 30]
  --kills N            workers killed with -9 [default: 20]
  --seconds N          between two kills; 0: by progress [default: 30]
  --delay N            milliseconds between two requests to a host [default: 15000]
  --database-kills N   kills of the database [default: 2]
  --most N             measure 1, 2, 4 … workers up to this [default: 16]
  --measured N         pages of each worker in a measurement [default: 2000]
  --only PART          torture or scaling
  --save               keep the results in docs/reliability.md and docs/benchmarks.md
";

/// What the test asks for, and how much of it makes a large run.
const FIGURES: [(&str, &str, u64); 9] = [
    ("--workers", "CLEWLINE_FLEET_WORKERS", 16),
    ("--hosts", "CLEWLINE_FLEET_HOSTS", 10_000),
    ("--pages", "CLEWLINE_FLEET_PAGES", 30),
    ("--kills", "CLEWLINE_FLEET_KILLS", 20),
    ("--seconds", "CLEWLINE_FLEET_SECONDS", 30),
    ("--delay", "CLEWLINE_FLEET_DELAY", 15_000),
    ("--database-kills", "CLEWLINE_FLEET_DATABASE_KILLS", 2),
    ("--most", "CLEWLINE_FLEET_MOST", 16),
    ("--measured", "CLEWLINE_FLEET_MEASURED", 2_000),
];

/// A part of the run: its name, its test, where its result stands and how it is written.
struct Part {
    name: &'static str,
    test: &'static str,
    page: &'static str,
    passage: Passage,
    table: fn(&Value, &Value) -> String,
}

const PARTS: [Part; 2] = [
    Part {
        name: "torture",
        test: "workers_and_the_database",
        page: "docs/reliability.md",
        passage: Passage {
            begin: "<!-- fleet: written by cargo xtask fleet --save -->",
            end: "<!-- end of fleet -->",
        },
        table: table::torture,
    },
    Part {
        name: "scaling",
        test: "workers_share_the_work",
        page: "docs/benchmarks.md",
        passage: Passage {
            begin: "<!-- fleet: written by cargo xtask fleet --save -->",
            end: "<!-- end of fleet -->",
        },
        table: table::scaling,
    },
];

/// Everything that was asked for.
struct Options {
    figures: Vec<(&'static str, u64)>,
    only: Option<String>,
    save: bool,
}

impl Options {
    fn parse(words: &[String]) -> Result<Self> {
        let figures = FIGURES.map(|(_, variable, usual)| (variable, usual));
        let mut options = Self {
            figures: figures.to_vec(),
            only: None,
            save: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if word == "--save" {
                options.save = true;
                continue;
            }
            let value = words.next();
            let value = value.with_context(|| format!("{word} needs a value\n\n{HELP}"))?;
            if word == "--only" {
                let is_known = PARTS.iter().any(|part| part.name == value);
                ensure!(is_known, "there is no part {value:?}\n\n{HELP}");
                options.only = Some(value.clone());
                continue;
            }
            let Some(at) = FIGURES.iter().position(|(flag, ..)| flag == word) else {
                bail!("fleet takes no {word:?}\n\n{HELP}");
            };
            let number = value.parse();
            options.figures[at].1 = number.with_context(|| format!("{word} needs a number"))?;
        }
        Ok(options)
    }
}

/// Runs it; flags change the figures.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    if ask_for_help(words) {
        say(HELP);
        return Ok(());
    }
    let options = Options::parse(words)?;
    tools::database()?;
    let is_wanted = |part: &&Part| options.only.as_deref().is_none_or(|name| name == part.name);
    for part in PARTS.iter().filter(is_wanted) {
        say(&format!("{}: this takes some minutes", part.name));
        let figures = measure(workspace, part, &options)?;
        let text = (part.table)(&machine::describe(), &figures);
        say(&text);
        if options.save {
            part.passage
                .rewrite(&workspace.root.join(part.page), &text)?;
            say(&format!("kept in {}", part.page));
        }
    }
    Ok(())
}

/// Runs the test of a part, which must pass, and reads what it saw.
fn measure(workspace: &Workspace, part: &Part, options: &Options) -> Result<Value> {
    fs::create_dir_all(&workspace.target)?;
    let path = workspace.target.join("fleet.json");
    let figures = options.figures.iter();
    let status = cargo::command(workspace)
        .envs(figures.map(|(variable, value)| (variable, value.to_string())))
        .env("CLEWLINE_FLEET_FIRST", "1")
        .env("CLEWLINE_REPORT", &path)
        .args(["test", "--profile", "ci", "--workspace", "--test", "fleet"])
        .args(["--", part.test, "--nocapture"])
        .status()
        .context("cargo does not start")?;
    ensure!(status.success(), "the {} failed; see above", part.name);
    let text = fs::read_to_string(&path).context("the test left no report")?;
    fs::remove_file(&path)?;
    Ok(serde_json::from_str(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_how_much() {
        let parsed = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            Options::parse(&words)
        };
        let more = parsed("--hosts 7 --only scaling --save").unwrap();
        assert!(more.save && more.figures.contains(&("CLEWLINE_FLEET_HOSTS", 7)));
        for line in ["--hosts", "--hosts many", "--only half", "--gently 1"] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
