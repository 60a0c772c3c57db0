//! `cargo xtask app-costs`: what the app costs a crawl, and its machine.
//!
//! Owns the table that is made of the figures, and where it is kept. How they are measured is told in
//! `tests/api/costs.py`. Invariant: what is compared with each other
//! was measured in one run.

use std::fs;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::bench::machine;
use crate::passage::{Passage, grouped};
use crate::stage::say;
use crate::{Workspace, real_site, tools};

const HELP: &str = "\
cargo xtask app-costs [OPTIONS]        what a dashboard costs a crawl; with scrapes, hosts and readers

  --result FILE       take what tests/api/costs.py said in a run by hand, instead of a run
  --save              keep the results in docs/benchmarks and docs/dashboard.md

It measures target/ci/clewline, which `cargo xtask test build` makes. CLEWLINE_SCALE=0.01 is a short try.
";

/// The table stands between these lines of docs/dashboard.md.
const PASSAGE: Passage = Passage {
    begin: "<!-- costs: written by cargo xtask app-costs --save -->",
    end: "<!-- end of costs -->",
};
const KEPT: &str = "docs/benchmarks/app.json";
/// The longest that all of it may take, in seconds.
const LONGEST: &str = "3600";

/// Runs the verb with the words after `app-costs`.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    let (mut saves, mut file) = (false, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--help" => {
                say(HELP);
                return Ok(());
            }
            "--save" => saves = true,
            "--result" => file = Some(words.next().context("--result needs a file")?),
            _ => bail!("app-costs takes no {word:?}\n\n{HELP}"),
        }
    }
    let mut result: Value = match file {
        Some(file) => serde_json::from_slice(&fs::read(file).context(file.clone())?)?,
        None => measured(workspace)?,
    };
    let table = table(&result)?;
    say(&table);
    if saves {
        result["machine"] = machine::describe();
        let text = serde_json::to_string_pretty(&result)? + "\n";
        fs::write(workspace.root.join(KEPT), text).context(KEPT)?;
        PASSAGE.rewrite(&workspace.root.join("docs/dashboard.md"), &table)?;
    }
    Ok(())
}

fn measured(workspace: &Workspace) -> Result<Value> {
    let binary = workspace.target.join("ci/clewline");
    ensure!(binary.is_file(), "there is no {}", binary.display());
    let python = tools::installed(&["python3"], &["python3"])?;
    let nginx = real_site::nginx(workspace)?;
    let output = tools::within(LONGEST, &python)
        .arg("-B")
        .arg(workspace.root.join("tests/api/costs.py"))
        .args([binary, nginx, workspace.target.join("app-costs")])
        .stderr(Stdio::inherit())
        .output()
        .context("python does not start")?;
    ensure!(output.status.success(), "it ended with {}", output.status);
    serde_json::from_slice(&output.stdout).context("no figures came")
}

/// The figures, each with its goal.
fn table(result: &Value) -> Result<String> {
    let number = |place: &str| {
        let value = result.pointer(place).and_then(Value::as_f64);
        value.with_context(|| format!("there is no {place}"))
    };
    let percent = |place: &str| Ok::<_, anyhow::Error>(format!("{:+.1} %", number(place)?));
    let rows = [
        (
            "processor time of a page, dashboard that nobody looks at".to_owned(),
            percent("/viewers/unwatched_percent")?,
            "0 %",
        ),
        (
            "… with ten viewers".to_owned(),
            percent("/viewers/watched_percent")?,
            "2 %",
        ),
        (
            format!(
                "processor time of a scrape, {} URLs known",
                grouped(number("/scrape/known_urls")?)
            ),
            format!("{:.1} ms", number("/scrape/millis_of_processor")?),
            "5 ms",
        ),
        (
            format!(
                "processor time of a page of hosts, {} met and {} listed",
                grouped(number("/hosts/hosts")?),
                grouped(number("/hosts/listed")?)
            ),
            format!("{:.0} ms", number("/hosts/millis_of_processor")?),
            "200 ms",
        ),
        (
            format!(
                "memory of a server, {} requests and {} readers that read nothing",
                grouped(number("/readers/requests")?),
                grouped(number("/readers/slow_readers")?)
            ),
            format!(
                "{:.0} → {:.0} MB",
                number("/readers/megabytes_before")?,
                number("/readers/megabytes_after")?
            ),
            "no growth",
        ),
    ];
    let rows = rows.map(|(what, measured, goal)| format!("| {what} | {measured} | {goal} |"));
    let head = "| | measured | goal |\n|---|---:|---:|";
    Ok(format!("{head}\n{}", rows.join("\n")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_table_has_every_figure_or_none() {
        let mut result = json!({
            "viewers": {"unwatched_percent": 0.04, "watched_percent": 1.26},
            "scrape": {"known_urls": 1_000_123, "millis_of_processor": 1.23},
            "hosts": {"hosts": 100_000, "listed": 90_000, "millis_of_processor": 87.4},
            "readers": {"requests": 100_000, "slow_readers": 200,
                "megabytes_before": 41.2, "megabytes_after": 41.4},
        });
        let table = table(&result).unwrap();
        assert!(table.contains("| +1.3 % | 2 % |"), "{table}");
        assert!(table.contains("1,000,123 URLs known | 1.2 ms"), "{table}");
        result["hosts"] = Value::Null;
        assert!(super::table(&result).is_err());
    }
}
