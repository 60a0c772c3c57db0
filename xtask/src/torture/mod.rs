//! `cargo xtask torture`: hundreds of kills, and what came of them.
//!
//! Owns how much torture there is and where its result is kept. The torture itself is the test
//! program `torture` of the command, which every test run runs in small; here it is told by the
//! environment to do more, and says what it saw in a file.

mod rivals;
mod table;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::bench::machine;
use crate::passage::Passage;
use crate::stage::say;
use crate::words::{ask_for_help, number};
use crate::{Workspace, cargo};

const HELP: &str = "\
cargo xtask torture [OPTIONS]   kill crawls and compare the ledgers

  --kills N     kills, at the least [default: 200]
  --crawls N    crawls, at the least [default: 20]
  --pages N     pages of each crawl [default: 20000]
  --seed N      other moments [default: 24301]
  --rivals      kill Scrapy, wget and HTTrack, too; installs them
  --save        keep the result in docs/reliability.md
";

/// The result stands between these lines of the page.
const PASSAGE: Passage = Passage {
    begin: "<!-- torture: written by cargo xtask torture --save -->",
    end: "<!-- end of torture -->",
};

/// That of others stands between these: a run without them leaves it as it is.
const RIVALS: Passage = Passage {
    begin: "<!-- rivals: written by cargo xtask torture --rivals --save -->",
    end: "<!-- end of rivals -->",
};

const PAGE: &str = "docs/reliability.md";

/// Tests that go with the large torture, as they are: each has its own measure.
const BESIDE: [(&str, &str); 3] = [
    ("named fail points", "points::"),
    ("loss of power", "power::"),
    ("flipped bits and lost ends", "flips::"),
];

/// Everything that was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    kills: u64,
    crawls: u64,
    pages: u64,
    seed: u64,
    rivals: bool,
    save: bool,
}

impl Options {
    fn parse(words: &[String]) -> Result<Self> {
        let mut options = Self {
            kills: 200,
            crawls: 20,
            pages: 20_000,
            seed: 0x5eed,
            rivals: false,
            save: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--kills" => options.kills = number(word, &mut words)?,
                "--crawls" => options.crawls = number(word, &mut words)?,
                "--pages" => options.pages = number(word, &mut words)?,
                "--seed" => options.seed = number(word, &mut words)?,
                "--rivals" => options.rivals = true,
                "--save" => options.save = true,
                _ => bail!("{word} is not known to torture\n\n{HELP}"),
            }
        }
        ensure!(
            options.crawls > 0 && options.pages > 0,
            "there must be something to kill"
        );
        Ok(options)
    }
}

/// Runs the verb with the words after `torture`.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    if ask_for_help(words) {
        say(HELP);
        return Ok(());
    }
    work(workspace, &Options::parse(words)?)
}

fn work(workspace: &Workspace, options: &Options) -> Result<()> {
    say(&format!("seed {}", options.seed));
    let test = Test { workspace, options };
    let own = test.report("large::", &[])?;
    let mut beside = Vec::new();
    for (name, filter) in BESIDE {
        test.pass(
            filter,
            &[("CLEWLINE_FLIPS", "200"), ("CLEWLINE_POWER_ROUNDS", "20")],
        )?;
        beside.push(name);
    }
    let others = if options.rivals {
        let lines = rivals::commands(workspace)?;
        let wanted = [
            ("CLEWLINE_RIVALS", &*lines),
            ("CLEWLINE_RIVAL_PAGES", "4000"),
        ];
        test.report("rivals::", &wanted)?
    } else {
        Value::Null
    };
    let machine = machine::describe();
    let result = table::own(&machine, options.seed, &own);
    let others = table::others(&machine, &others);
    say(&result);
    if let Some(others) = &others {
        say(others);
    }
    say(&format!("passed beside it: {}", beside.join(", ")));
    if options.save {
        let page = workspace.root.join(PAGE);
        PASSAGE.rewrite(&page, &result)?;
        if let Some(others) = &others {
            RIVALS.rewrite(&page, others)?;
        }
        say(&format!("kept in {PAGE}"));
    }
    Ok(())
}

/// The test program, asked for more than usual.
struct Test<'a> {
    workspace: &'a Workspace,
    options: &'a Options,
}

impl Test<'_> {
    /// Runs some of the tests; each must pass.
    fn pass(&self, filter: &str, environment: &[(&str, &str)]) -> Result<()> {
        let status = cargo::command(self.workspace)
            .args([
                "test",
                "--quiet",
                "--profile",
                "ci",
                "--package",
                "clewline-cli",
            ])
            .args(["--test", "torture", "--", "--nocapture", filter])
            .env("CLEWLINE_KILLS", self.options.kills.to_string())
            .env("CLEWLINE_CRAWLS", self.options.crawls.to_string())
            .env("CLEWLINE_TORTURE_PAGES", self.options.pages.to_string())
            .env("CLEWLINE_SEED", self.options.seed.to_string())
            .envs(environment.iter().copied())
            .status()
            .context("cargo does not start")?;
        ensure!(status.success(), "the tests {filter} failed; see above");
        Ok(())
    }

    /// As before, and what they saw.
    fn report(&self, filter: &str, environment: &[(&str, &str)]) -> Result<Value> {
        let path = self.report_path();
        fs::create_dir_all(&self.workspace.target)?;
        let place = path.to_string_lossy();
        let mut all = vec![("CLEWLINE_REPORT", &*place)];
        all.extend_from_slice(environment);
        self.pass(filter, &all)?;
        let text = fs::read_to_string(&path).context("the tests left no report")?;
        fs::remove_file(&path)?;
        Ok(serde_json::from_str(&text)?)
    }

    fn report_path(&self) -> PathBuf {
        self.workspace.target.join("torture.json")
    }
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
        let usual = parsed("").unwrap();
        assert_eq!((usual.kills, usual.crawls, usual.pages), (200, 20, 20_000));
        let more = parsed("--kills 1000 --rivals --save --seed 7").unwrap();
        assert!(more.kills == 1_000 && more.rivals && more.save && more.seed == 7);
        for line in ["--kills", "--kills many", "--crawls 0", "gently"] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }

    #[test]
    fn only_the_result_is_replaced() {
        let Passage { begin, end } = PASSAGE;
        let page = format!("a\n{begin}\nold\n{end}\nz\n");
        let expected = format!("a\n{begin}\nnew\n{end}\nz\n");
        assert_eq!(PASSAGE.replaced(&page, "new").unwrap(), expected);
        assert!(PASSAGE.replaced("a", "new").is_err());
    }
}
