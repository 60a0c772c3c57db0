//! `cargo xtask rendering`: renderings in large, and what they cost.
//!
//! Owns how much is tried and where the result is kept. The trials are test programs, which every test run
//! runs in small: browsers that are killed during a crawl, a referee over a web of scripts, the price of a
//! page. It refuses to know how a browser is driven. Invariant: a trial that fails keeps nothing.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::rivals::{self, Rival};
use super::{documentation, prepare, promises};
use crate::bench::machine;
use crate::passage::Passage;
use crate::stage::say;
use crate::words::{ask_for_help, number};
use crate::{Workspace, cargo};

const HELP: &str = "\
cargo xtask rendering [OPTIONS]   kill browsers, watch a rendered web, and tell what a page costs

  --kills N     browsers that are killed during one crawl [default: 50]
  --hosts N     hosts of the web that the referee watches [default: 100]
  --pages N     pages of each kind whose cost is taken [default: 20]
  --rounds N    crawls of the documentation site, each way [default: 5]
  --rivals      let others crawl the same application; installs them
  --save        keep the result in docs/rendering.md
";

/// The result stands between these lines of the page.
const PASSAGE: Passage = Passage {
    begin: "<!-- figures: written by cargo xtask rendering --save -->",
    end: "<!-- end of figures -->",
};
const PAGE: &str = "docs/rendering.md";

/// Everything that was asked for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    kills: u32,
    hosts: u32,
    pages: u32,
    rounds: u32,
    rivals: bool,
    save: bool,
}

impl Options {
    fn parse(words: &[String]) -> Result<Self> {
        let mut options = Self {
            kills: 50,
            hosts: 100,
            pages: 20,
            rounds: 5,
            rivals: false,
            save: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--kills" => options.kills = number(word, &mut words)?,
                "--hosts" => options.hosts = number(word, &mut words)?,
                "--pages" => options.pages = number(word, &mut words)?,
                "--rounds" => options.rounds = number(word, &mut words)?,
                "--rivals" => options.rivals = true,
                "--save" => options.save = true,
                _ => bail!("{word} is not known to rendering\n\n{HELP}"),
            }
        }
        Ok(options)
    }
}

/// Runs the verb with the words after `rendering`.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    if ask_for_help(words) {
        say(HELP);
        return Ok(());
    }
    let options = Options::parse(words)?;
    prepare(workspace)?;
    let trial = Trial { workspace };
    let mut result = about();
    result.push_str(&trial.kills(options.kills)?);
    result.push_str(&trial.referee(options.hosts)?);
    result.push_str(&trial.costs(options.pages)?);
    result.push_str(&documentation::cost(workspace, options.rounds)?);
    if options.rivals {
        let rivals: Vec<Rival> = rivals::race(workspace)?;
        result.push_str(&rivals::table(&rivals));
    }
    say(&result);
    if options.save {
        PASSAGE.rewrite(&workspace.root.join(PAGE), result.trim_end())?;
        say(&format!("kept in {PAGE}"));
    }
    Ok(())
}

fn about() -> String {
    let machine = machine::describe();
    let text = |name: &str| machine[name].as_str().unwrap_or("unknown").to_owned();
    format!(
        "{}, {}, {} cores, with other work on the machine; chromium-headless-shell.\n\n",
        text("date"),
        text("processor"),
        text("cores")
    )
}

/// The test programs, asked for more than usual.
struct Trial<'a> {
    workspace: &'a Workspace,
}

impl Trial<'_> {
    /// Runs a test, which must pass; answers what it says.
    fn pass(&self, program: &str, test: &str, environment: &[(&str, String)]) -> Result<String> {
        say(&format!("{program}: {test}"));
        // With the rest of the workspace, so that no crate is built with other features than in the tests.
        let output = cargo::command(self.workspace)
            .args(["test", "--quiet", "--profile", "ci", "--workspace"])
            .args(["--test", program, "--", "--nocapture", test])
            .envs(promises(self.workspace))
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .output()
            .context("cargo does not start")?;
        let talk = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "{test} failed:\n{talk}");
        ensure!(!talk.contains("SKIPPED"), "{test} was skipped:\n{talk}");
        Ok(talk)
    }

    /// Runs a test that leaves a file behind.
    fn report(
        &self,
        program: &str,
        test: &str,
        asked: [(&str, u32); 1],
        file: &str,
    ) -> Result<String> {
        let path = self.workspace.target.join("rendering.report");
        let [(name, number)] = asked;
        let environment = [
            (name, number.to_string()),
            (file, path.display().to_string()),
        ];
        self.pass(program, test, &environment)?;
        let report = fs::read_to_string(&path).context("the test left no report")?;
        fs::remove_file(&path)?;
        Ok(report)
    }

    fn kills(&self, kills: u32) -> Result<String> {
        let asked = [("CLEWLINE_BROWSER_KILLS", kills)];
        let report = self.report("torture", "browsers::", asked, "CLEWLINE_REPORT")?;
        let report: Value = serde_json::from_str(&report)?;
        let number = |name: &str| report[name].as_u64().unwrap_or_default();
        let mebibytes = |name: &str| number(name) >> 20;
        Ok(format!(
            "**Faults.** {} processes of browsers were killed at random moments of one crawl of {} rendered \
             pages: no URL was lost, recorded or asked for twice, and {} pages are as they were answered, \
             because their rendering failed. All browsers held at most {} MB, the crawler {} MB.\n\n",
            number("kills"),
            number("pages"),
            number("lost"),
            mebibytes("browsers"),
            mebibytes("crawler"),
        ))
    }

    fn referee(&self, hosts: u32) -> Result<String> {
        let environment = [("CLEWLINE_RENDERED_HOSTS", hosts.to_string())];
        let talk = self.pass("internet", "rendered_politely", &environment)?;
        let mut lines = talk
            .lines()
            .skip_while(|line| !line.contains(" requests to "));
        let requests = lines.next().context("the referee said nothing")?;
        let (_, requests) = requests.split_once(": ").unwrap_or(("", requests));
        Ok(format!(
            "**Referee.** A web whose every page is empty before its script has asked for its links, at its own \
             host, at another one and where robots.txt may forbid it: {requests}, all that the oracle foretells \
             and nothing else, none sooner than 100 ms after the one before, 0 violations.\n\n"
        ))
    }

    fn costs(&self, pages: u32) -> Result<String> {
        let asked = [("CLEWLINE_COST_PAGES", pages)];
        let report = self.report("rendering", "costs::", asked, "CLEWLINE_COSTS")?;
        let mut table = "| page, processor time of all processes | in a new browser, its start included | in one that runs |\n|---|--:|--:|\n".to_owned();
        let mut memory = Vec::new();
        for line in report.lines() {
            if let Some(tabs) = line.strip_prefix("tabs ") {
                memory.push(tabs.replacen(' ', ": ", 1) + " MB");
            } else {
                table.push_str(line);
                table.push('\n');
            }
        }
        Ok(format!(
            "{table}\nMemory of all browsers by pages at the same time: {}.\n\n",
            memory.join(", ")
        ))
    }
}

/// Where the command lies that was built with the tests.
pub(super) fn binary(workspace: &Workspace) -> PathBuf {
    workspace.target.join("ci/clewline")
}
