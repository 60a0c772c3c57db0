//! What the first command costs somebody with a fresh machine: a clean build, crate by crate.
//!
//! Owns the build into a folder of its own and the table of what each crate takes. Cargo itself
//! measures; here its report is read. It asserts nothing: the machine may be busy, so processor
//! time stands beside the time by the clock.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::Workspace;
use crate::bench::machine;
use crate::cargo;
use crate::passage::Passage;
use crate::stage::say;

/// Crates that have a row of their own.
const ROWS: usize = 20;

/// Clock ticks of a second in `/proc`, the same on every Linux that Rust runs on.
const TICKS: f64 = 100.0;

const PASSAGE: Passage = Passage {
    begin: "<!-- build cost -->",
    end: "<!-- end of build cost -->",
};

/// What a clean build took.
struct Cost {
    seconds: f64,
    processor_seconds: f64,
    /// Seconds that units of a crate were at work, by crate.
    crates: BTreeMap<String, f64>,
    units: usize,
}

/// Runs the verb with the words after it.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    let save = match words {
        [] => false,
        [flag] if flag == "--save" => true,
        [other, ..] => bail!("build-cost takes no {other:?}, only --save"),
    };
    let table = table(&measure(workspace)?);
    say(&table);
    if save {
        let machine = machine::describe();
        let of = |name: &str| machine[name].as_str().unwrap_or("?").to_owned();
        let conditions = ["date", "processor", "cores", "system", "rustc", "commit"].map(of);
        let kept = format!("{table}\n{}", conditions.join(", "));
        PASSAGE.rewrite(&workspace.root.join("docs/benchmarks.md"), &kept)?;
        say("kept in docs/benchmarks.md");
    }
    Ok(())
}

fn measure(workspace: &Workspace) -> Result<Cost> {
    let target = workspace.target.join("build-cost");
    if target.exists() {
        fs::remove_dir_all(&target).context("what an earlier run left")?;
    }
    let build = ["build", "--release", "--timings"];
    let (begun, before) = (Instant::now(), children_seconds()?);
    let place = ("CARGO_TARGET_DIR", target.as_os_str());
    cargo::run_with(workspace, &build, place)?;
    let seconds = begun.elapsed().as_secs_f64();
    let processor_seconds = children_seconds()? - before;
    let page = fs::read_to_string(target.join("cargo-timings/cargo-timing.html"))
        .context("cargo left no timings")?;
    let units = units(&page).context("cargo's timings are not what they were")?;
    fs::remove_dir_all(&target).context("the build")?;
    Ok(Cost {
        seconds,
        processor_seconds,
        units: units.len(),
        crates: by_crate(&units),
    })
}

/// Processor time of all programs that were waited for.
fn children_seconds() -> Result<f64> {
    let stat = fs::read_to_string(Path::new("/proc/self/stat")).context("/proc/self/stat")?;
    // The name in parentheses may hold anything; the fields follow the last one.
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
    let (user, system) = (ticks(13), ticks(14));
    let sum = user.zip(system).map(|(user, system)| user + system);
    Ok(sum.context("the processor time of programs")? / TICKS)
}

/// The units of a build, out of the page that cargo makes.
fn units(page: &str) -> Option<Vec<Value>> {
    let (_, rest) = page.split_once("UNIT_DATA = ")?;
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Vec<Value>>();
    values.next()?.ok()
}

fn by_crate(units: &[Value]) -> BTreeMap<String, f64> {
    let mut crates = BTreeMap::new();
    for unit in units {
        let name = unit["name"].as_str().unwrap_or("?").to_owned();
        *crates.entry(name).or_insert(0.0) += unit["duration"].as_f64().unwrap_or(0.0);
    }
    crates
}

fn table(cost: &Cost) -> String {
    let mut rows: Vec<(&String, &f64)> = cost.crates.iter().collect();
    rows.sort_by(|left, right| right.1.total_cmp(left.1));
    let (shown, rest) = rows.split_at(rows.len().min(ROWS));
    let mut text = format!(
        "`cargo build --release` from nothing: {:.0} s by the clock, {:.0} s of processor time, {} \
         units of {} crates.\n\n| crate | seconds at work |\n|---|--:|\n",
        cost.seconds,
        cost.processor_seconds,
        cost.units,
        cost.crates.len(),
    );
    for (name, seconds) in shown {
        let _ = writeln!(text, "| {name} | {seconds:.1} |");
    }
    // The sum of nothing is -0.0.
    let others = 0.0 + rest.iter().map(|(_, seconds)| **seconds).sum::<f64>();
    let _ = writeln!(text, "| {} others | {others:.1} |", rest.len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_of_cargo_becomes_a_table() {
        let page = "<script>\nconst UNIT_DATA = [{\"name\":\"a\",\"duration\":1.5},\
                    {\"name\":\"b\",\"duration\":3.0},{\"name\":\"a\",\"duration\":2.0}];\n\
                    const OTHER = [];</script>";
        let units = units(page).unwrap();
        let cost = Cost {
            seconds: 4.4,
            processor_seconds: 6.0,
            units: units.len(),
            crates: by_crate(&units),
        };
        assert_eq!(
            table(&cost),
            "`cargo build --release` from nothing: 4 s by the clock, 6 s of processor time, 3 \
             units of 2 crates.\n\n| crate | seconds at work |\n|---|--:|\n| a | 3.5 |\n\
             | b | 3.0 |\n| 0 others | 0.0 |\n"
        );
        assert!(super::units("no data").is_none());
        assert!(children_seconds().unwrap() >= 0.0);
    }
}
