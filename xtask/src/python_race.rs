//! `cargo xtask python-race`: what Python costs beside the Rust library, and whether it holds on to
//! anything.
//!
//! Owns which programs are run, the limits that their figures are held to, and where the figures are kept. It refuses to
//! know how they are measured: the scripts in `python/bench` and a test of leaks do that, and each says
//! its result in a last line. Invariant: a missed limit is an error, after the figures were kept.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::passage::{Passage, grouped};
use crate::stage::say;
use crate::{Workspace, bench::machine, cargo, known_items, python, tools};

/// What is built unless told otherwise: as fast as `dist` within a few percent, and quick to compile.
const USUAL: &str = "release";
/// Python has at least this part of the library's pages per second.
const LEAST_OF_LIBRARY: f64 = 0.8;
/// And so many times those of Scrapy.
const LEAST_OF_SCRAPY: f64 = 20.0;
/// How many of the pages Scrapy fetches: enough for its rate, which takes minutes otherwise.
const SCRAPY_PAGES: &str = "2000";
/// The start of the line that has a result.
const RESULT: &str = "result: ";
/// The longest that each of the programs may take, in seconds.
const LONGEST: &str = "1500";

/// The figures stand between these lines of docs/python.md.
const PASSAGE: Passage = Passage {
    begin: "<!-- race: written by cargo xtask python-race --save -->",
    end: "<!-- end of race -->",
};

/// Builds, races and counts.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    let (is_saved, rest) = match words {
        [word, rest @ ..] if word == "--save" => (true, rest),
        _ => (false, words),
    };
    let profile = match rest {
        [] => USUAL,
        [word, profile] if word == "--build" => profile,
        _ => bail!("python-race takes --save and then --build PROFILE at most"),
    };
    // The test is there for its features, as in the stage of the tests.
    cargo::run(
        workspace,
        &[
            "build",
            "--profile",
            profile,
            "--workspace",
            "--lib",
            "--bin=library_pages",
            "--test=round_trip",
        ],
    )?;
    let python = python::environment(workspace, profile)?.python;
    let race = race(workspace, &python, profile)?;
    let bench = workspace.root.join("python/bench");
    let flat = result_of(bounded(&python).arg("flat.py").current_dir(bench))?;
    let leaks = result_of(
        bounded(&python)
            .args(["-m", "pytest", "-q", "-s", "-p", "no:cacheprovider"])
            .arg("tests/test_leaks.py")
            .current_dir(workspace.root.join("python")),
    )?;
    let race = Raced::read(&race)?;
    let text = format!("{}\n\n{}", race.text(profile)?, memory(&flat, &leaks)?);
    say(&text);
    if is_saved {
        PASSAGE.rewrite(&workspace.root.join("docs/python.md"), &text)?;
    }
    race.judge()
}

fn race(workspace: &Workspace, python: &Path, profile: &str) -> Result<Value> {
    let pages = tools::unpacked(workspace, known_items::PACKAGE)?.join(known_items::PAGES);
    let mut command = bounded(python);
    command
        .arg("race.py")
        .args(["--scrapy-pages", SCRAPY_PAGES])
        .arg("--folder")
        .arg(pages)
        .arg("--library")
        .arg(workspace.target.join(profile).join("library_pages"));
    result_of(command.current_dir(workspace.root.join("python/bench")))
}

fn bounded(program: &Path) -> Command {
    tools::within(LONGEST, program)
}

/// Runs a program, shows what it prints, and reads its result.
fn result_of(command: &mut Command) -> Result<Value> {
    let name = format!("{command:?}");
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("{name} does not start"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    say(text.trim_end());
    ensure!(
        output.status.success(),
        "{name} ended with {}",
        output.status
    );
    let line = text.lines().find_map(|line| line.strip_prefix(RESULT));
    serde_json::from_str(line.with_context(|| format!("{name} says no result"))?)
        .with_context(|| format!("the result of {name}"))
}

/// Who took part in the race; Python comes first.
struct Raced {
    rounds: u64,
    sides: Vec<Side>,
}

/// The medians of one who took part.
struct Side {
    name: String,
    pages: f64,
    per_second: f64,
    per_processor_second: f64,
}

impl Raced {
    fn read(result: &Value) -> Result<Self> {
        let rows = result["rows"].as_array().context("the race has no rows")?;
        let side = |row: &Value| {
            let figure = |name: &str| row[name].as_f64().with_context(|| format!("no {name}"));
            Ok(Side {
                name: row["name"].as_str().context("no name")?.to_owned(),
                pages: figure("pages")?,
                per_second: figure("per_second")?,
                per_processor_second: figure("per_processor_second")?,
            })
        };
        Ok(Self {
            rounds: result["rounds"].as_u64().context("no rounds")?,
            sides: rows.iter().map(side).collect::<Result<_>>()?,
        })
    }

    fn text(&self, profile: &str) -> Result<String> {
        let own = self.sides.first().context("nobody raced")?;
        let mut lines = vec![
            format!(
                "The pages of openjdk-17-doc behind nginx, on loopback: each side fetches all of them, reads \
                 title and links, follows them and keeps nothing. {}, medians of {} rounds in turn. Scrapy runs once, until it has 2,000 pages.",
                conditions(profile), self.rounds
            ),
            String::new(),
            "| | pages | pages/s | processor time a page | Python has of its pages/s | of its pages per processor second |"
                .to_owned(),
            format!("|---|{}", "--:|".repeat(5)),
        ];
        for side in &self.sides {
            lines.push(format!(
                "| {} | {} | {} | {} µs | {} | {} |",
                side.name,
                grouped(side.pages),
                grouped(side.per_second),
                grouped(1e6 / side.per_processor_second),
                times(own.per_second / side.per_second),
                times(own.per_processor_second / side.per_processor_second),
            ));
        }
        Ok(lines.join("\n"))
    }

    /// Whether Python is quick enough by the clock and by the processor.
    fn judge(&self) -> Result<()> {
        let [own, library, scrapy] = &self.sides[..] else {
            bail!("three were to race");
        };
        for (other, least) in [(library, LEAST_OF_LIBRARY), (scrapy, LEAST_OF_SCRAPY)] {
            for (mine, theirs) in [
                (own.per_second, other.per_second),
                (own.per_processor_second, other.per_processor_second),
            ] {
                let ratio = mine / theirs;
                ensure!(
                    ratio >= least,
                    "Python has {ratio:.2} times the pages of {}, at least {least} are promised",
                    other.name
                );
            }
        }
        Ok(())
    }
}

/// 0.85 as `85 %`, 41.5 as `42 times`.
fn times(ratio: f64) -> String {
    if ratio < 2.0 {
        format!("{:.0} %", ratio * 100.0)
    } else {
        format!("{ratio:.0} times")
    }
}

/// The machine, in a few words.
fn conditions(profile: &str) -> String {
    let machine = machine::describe();
    let part = |name: &str| machine[name].as_str().unwrap_or("?").to_owned();
    format!(
        "{}, {} ({} cores), {}, commit {}, build {profile}",
        part("date"),
        part("processor"),
        part("cores"),
        part("rustc"),
        part("commit"),
    )
}

fn memory(flat: &Value, leaks: &Value) -> Result<String> {
    let held = numbers(&flat["held"])?;
    let [_, second, .., last] = held[..] else {
        bail!("too few figures of memory");
    };
    let resident = numbers(&leaks["resident"])?;
    let [first, hundred, .., thousand] = resident[..] else {
        bail!("too few figures of starts");
    };
    let count = |when: &str, at: usize| leaks[when][at].as_u64().context("a count is missing");
    Ok(format!(
        "Memory of the process while it reads {} pages: {second:.0} MB after a fifth, {last:.0} MB at the end. A thousand \
         crawls, started and dropped: {} threads and {} descriptors before, {} and {} after; {:.0} MB before, \
         {:.0} after the first hundred, {:.0} at the end.",
        grouped(flat["pages"].as_f64().context("no pages")?),
        count("before", 0)?,
        count("before", 1)?,
        count("after", 0)?,
        count("after", 1)?,
        first / MEBI,
        hundred / MEBI,
        thousand / MEBI,
    ))
}

const MEBI: f64 = 1024.0 * 1024.0;

fn numbers(list: &Value) -> Result<Vec<f64>> {
    let list = list.as_array().context("a list of figures is missing")?;
    let numbers: Option<Vec<f64>> = list.iter().map(Value::as_f64).collect();
    numbers.context("a figure is no number")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn raced(library: f64, scrapy: f64) -> Raced {
        let row = |name: &str, rate: f64| json!({"name": name, "pages": 10245, "per_second": rate, "per_processor_second": 2.0 * rate});
        let rows = json!([
            row("Python", 8000.0),
            row("library", library),
            row("Scrapy", scrapy)
        ]);
        Raced::read(&json!({"rounds": 5, "rows": rows})).unwrap()
    }

    #[test]
    fn a_missed_ratio_is_an_error() {
        assert!(raced(9000.0, 100.0).judge().is_ok());
        for (library, scrapy) in [(10_100.0, 100.0), (9000.0, 401.0)] {
            assert!(raced(library, scrapy).judge().is_err());
        }
    }

    #[test]
    fn figures_become_text() {
        let text = raced(10_000.0, 100.0).text("release").unwrap();
        let line = "| library | 10,245 | 10,000 | 50 µs | 80 % | 80 % |";
        assert!(
            text.contains(line) && text.contains("| 80 times |"),
            "{text}"
        );
        let flat = json!({"pages": 100_000, "held": [50.0, 61.2, 62.0, 63.4]});
        let leaks = json!({
            "before": [3, 20], "after": [3, 19],
            "resident": [40 * 1024 * 1024, 44 * 1024 * 1024, 45 * 1024 * 1024],
        });
        let text = memory(&flat, &leaks).unwrap();
        let part = "61 MB after a fifth, 63 MB at the end";
        assert!(
            text.contains(part) && text.contains("3 and 19 after; 40 MB"),
            "{text}"
        );
    }
}
