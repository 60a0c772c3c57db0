//! `cargo xtask flat`: does memory stay flat while a crawl grows to a hundred million URLs?
//!
//! Owns the words of the command, the table that is made of its figures, and its small brother in
//! CI. It refuses to know how the run goes: that is the program `flat` of bench-client, which
//! fails where a count is not exact.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::Workspace;
use crate::bench::machine;
use crate::cargo;
use crate::passage::{Passage, grouped};
use crate::stage::{Counts, Ending, say};

const HELP: &str = "\
cargo xtask flat [OPTIONS]             grow a crawl without a network, and watch what it takes

  --urls N            distinct URLs, each offered three times [default: 100M]
  --hosts N           hosts that they are on [default: 1M]
  --then-hosts N      hosts in the end, one URL on each [default: 10M]
  --memory BYTES      as --memory of a crawl [default: 512M]
  --result FILE       take what the program flat said in a run by hand, instead of a run
  --save              keep the results in docs/benchmarks
";

/// The table stands between these lines of docs/benchmarks.md.
const PASSAGE: Passage = Passage {
    begin: "<!-- flat: written by cargo xtask flat --save -->",
    end: "<!-- end of flat -->",
};

/// What is asked of the program, in its own words.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Options {
    urls: String,
    hosts: String,
    then_hosts: String,
    memory: String,
    result: Option<String>,
    save: bool,
}

impl Options {
    /// Nothing where help is wanted.
    fn parse(words: &[String]) -> Result<Option<Self>> {
        let mut options = Self {
            urls: "100M".to_owned(),
            hosts: "1M".to_owned(),
            then_hosts: "10M".to_owned(),
            memory: "512M".to_owned(),
            result: None,
            save: false,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let place = match word.as_str() {
                "--help" => return Ok(None),
                "--save" => {
                    options.save = true;
                    continue;
                }
                "--urls" => &mut options.urls,
                "--hosts" => &mut options.hosts,
                "--then-hosts" => &mut options.then_hosts,
                "--memory" => &mut options.memory,
                "--result" => options.result.get_or_insert_default(),
                _ => bail!("flat takes no {word:?}\n\n{HELP}"),
            };
            let value = words.next();
            value
                .with_context(|| format!("{word} needs a number"))?
                .clone_into(place);
        }
        Ok(Some(options))
    }
}

/// Runs the verb with the words after `flat`.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    let Some(options) = Options::parse(words)? else {
        say(HELP);
        return Ok(());
    };
    let arguments = [
        ("--urls", options.urls.as_str()),
        ("--hosts", &options.hosts),
        ("--then-hosts", &options.then_hosts),
        ("--memory", &options.memory),
    ];
    let arguments = arguments.iter().flat_map(|(name, value)| [*name, *value]);
    let result = match &options.result {
        Some(file) => serde_json::from_slice(&fs::read(file).context(file.clone())?)?,
        None => measure(workspace, "dist", &arguments.collect::<Vec<_>>())?,
    };
    let table = table(&result)?;
    say(&table);
    if options.save {
        keep(workspace, result, &table)?;
    }
    Ok(())
}

/// The same with a million URLs, and with fewer that are all fetched in the end; rates are not
/// looked at, for the machine may be busy.
pub(crate) fn check(workspace: &Workspace) -> Result<Ending> {
    let million = "--urls 1M --hosts 10k --then-hosts 30k --memory 32M --rows 10 --check";
    let all_fetched = "--urls 200k --hosts 5k --then-hosts 10k --memory 16M --drain";
    for arguments in [million, all_fetched] {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        measure(workspace, "ci", &arguments)?;
    }
    Ok(Ending::Ran(Counts {
        passed: 2,
        ..Counts::default()
    }))
}

/// Builds the program and runs it; what it says on its way goes to the terminal.
fn measure(workspace: &Workspace, profile: &str, arguments: &[&str]) -> Result<Value> {
    let build = [
        "build",
        "--profile",
        profile,
        "--workspace",
        "--bin",
        "flat",
    ];
    cargo::run(workspace, &build)?;
    let folder: PathBuf = workspace.target.join("flat");
    if folder.exists() {
        fs::remove_dir_all(&folder).context("what an earlier run left")?;
    }
    let output = Command::new(workspace.target.join(profile).join("flat"))
        .arg("--folder")
        .arg(&folder)
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .context("flat does not start")?;
    ensure!(output.status.success(), "flat ended with {}", output.status);
    serde_json::from_slice(&output.stdout).context("what flat says")
}

/// Keeps the figures, with what they hold for.
fn keep(workspace: &Workspace, mut result: Value, table: &str) -> Result<()> {
    result["machine"] = machine::describe();
    let folder = workspace.root.join("docs/benchmarks");
    let text = serde_json::to_string_pretty(&result)? + "\n";
    fs::write(folder.join("flat.json"), text)?;
    let page = workspace.root.join("docs/benchmarks.md");
    PASSAGE.rewrite(&page, table)?;
    say("kept in docs/benchmarks.md and docs/benchmarks/flat.json");
    Ok(())
}

/// The columns: a head, the figure under it, what that is divided by, its digits after the point.
const COLUMNS: [(&str, &str, f64, usize); 12] = [
    ("URLs, M", "urls", 1e6, 1),
    ("hosts, k", "hosts", 1e3, 0),
    ("resident, MB", "resident", 1e6, 0),
    ("at the most", "peak_resident", 1e6, 0),
    ("offered/s", "offered_per_second", 1.0, 0),
    ("new/s", "new_per_second", 1.0, 0),
    ("engine, cores", "engine_cores", 1.0, 2),
    ("background, cores", "background_cores", 1.0, 2),
    (
        "offered per engine second",
        "offered_per_engine_second",
        1.0,
        0,
    ),
    ("new", "new_per_engine_second", 1.0, 0),
    ("key, B/URL", "key_bytes_per_url", 1.0, 1),
    ("queue, B/URL", "queue_bytes_per_url", 1.0, 1),
];

fn table(result: &Value) -> Result<String> {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let mut lines = vec![
        line(&COLUMNS.map(|(head, ..)| head.to_owned())),
        format!("|{}", "--:|".repeat(COLUMNS.len())),
    ];
    let rows = result["rows"].as_array().context("flat has no rows")?;
    for row in rows {
        let mut cells = Vec::new();
        for (_, name, unit, digits) in COLUMNS {
            let figure = row[name].as_f64().with_context(|| format!("no {name}"))?;
            cells.push(format!("{:.digits$}", figure / unit));
        }
        lines.push(line(&cells));
    }
    let restart = result["restart_seconds"].as_f64();
    let restart = restart.context("flat did not restart")?;
    lines.push(format!("\n{}", memory(result, rows)?));
    lines.push(format!("Restart to the first job: {restart:.1} s."));
    // What somebody who ran it by hand has to say of the run.
    lines.extend(result["note"].as_str().map(|note| format!("\n{note}")));
    Ok(lines.join("\n"))
}

/// What the run took of the memory, and how that grew from a tenth of the URLs to all of them.
fn memory(result: &Value, rows: &[Value]) -> Result<String> {
    let number = |value: &Value| value.as_f64().context("a figure is missing");
    let urls = number(&result["plan"]["urls"])?;
    let (mut most, mut tenth, mut whole) = (0.0_f64, None, 0.0);
    for row in rows {
        let (known, peak) = (number(&row["urls"])?, number(&row["peak_resident"])?);
        most = most.max(peak);
        if known >= urls / 10.0 && tenth.is_none() {
            tenth = Some(peak);
        }
        // A row is taken with a page's links, a few of which may lie beyond the goal.
        if known <= urls * 1.001 {
            whole = peak;
        }
    }
    let tenth = tenth.context("there is no row at a tenth of the URLs")?;
    Ok(format!(
        "With `--memory` of {:.0} MB, {} hosts active. Most that was resident: {:.0} MB before a \
         tenth of the URLs, {:.0} MB ({:+.0} %) before all of them, {:.0} MB ever.",
        number(&result["memory"])? / 1e6,
        grouped(number(&result["lanes"])?),
        tenth / 1e6,
        whole / 1e6,
        (whole / tenth - 1.0) * 100.0,
        most / 1e6,
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn options_are_read() {
        let parse = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            Options::parse(&words)
        };
        let from_file = parse("--result a.json").unwrap().unwrap();
        assert_eq!(from_file.result.as_deref(), Some("a.json"));
        let options = parse("--urls 5M --save").unwrap().unwrap();
        assert_eq!((options.urls.as_str(), options.save), ("5M", true));
        assert_eq!(options.hosts, "1M");
        assert_eq!(parse("--help").unwrap(), None);
        for wrong in ["--url 5M", "--urls", "5M"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn figures_become_a_table() {
        let row = json!({
            "urls": 2_500_000, "hosts": 1200, "resident": 400_000_000, "peak_resident": 500_000_000,
            "offered_per_second": 90_000.0, "new_per_second": 30_000.0,
            "engine_cores": 0.5, "background_cores": 0.25,
            "offered_per_engine_second": 180_000, "new_per_engine_second": 60_000,
            "key_bytes_per_url": 17.0, "queue_bytes_per_url": 30.0,
        });
        let mut result = json!({
            "plan": {"urls": 2_500_000}, "memory": 64_000_000, "lanes": 3200,
            "rows": [row], "restart_seconds": 1.25,
        });
        let text = table(&result).unwrap();
        let line =
            "| 2.5 | 1 | 400 | 500 | 90000 | 30000 | 0.50 | 0.25 | 180000 | 60000 | 17.0 | 30.0 |";
        assert!(text.contains(line) && text.ends_with("1.2 s."), "{text}");
        let memory = "500 MB before a tenth of the URLs, 500 MB (+0 %) before all of them";
        assert!(
            text.contains(memory) && text.contains("3,200 hosts"),
            "{text}"
        );
        result["note"] = json!("It was stopped.");
        assert!(table(&result).unwrap().ends_with("\nIt was stopped."));
        result["rows"][0]["peak_resident"] = Value::Null;
        assert!(table(&result).is_err());
    }

    #[test]
    fn only_the_table_is_replaced() {
        let Passage { begin, end } = PASSAGE;
        let page = format!("a\n{begin}\nold\n{end}\nz\n");
        let expected = format!("a\n{begin}\nnew\n{end}\nz\n");
        assert_eq!(PASSAGE.replaced(&page, "new").unwrap(), expected);
        assert!(PASSAGE.replaced("a", "new").is_err());
    }
}
