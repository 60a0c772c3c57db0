//! What came out: printed, and kept if that was asked for.

mod chart;
mod record;
pub(crate) mod table;

use std::fs;

use anyhow::{Context, Result};

use super::ground::Ground;
use super::options::{Care, Options};
use super::race::Results;
use crate::stage::say;

/// The results of the harness stand between these lines of docs/benchmarks.md.
const BEGIN: &str = "<!-- results: written by cargo xtask bench --save -->";
const END: &str = "<!-- end of results -->";

/// Prints the table, writes the JSON, and keeps both in the tree if they are worth it.
pub(crate) fn publish(ground: &Ground, options: &Options, results: &Results) -> Result<()> {
    let record = record::of(ground, results);
    let tables = table::markdown(&results.rows) + &table::checks(&results.checks);
    say(&format!("\n{tables}"));
    say(&record::caption(&record));
    if options.care == Care::Quick || ground.profile() != "release" {
        say("not to be quoted: a quick run, or not the release build");
    }
    let text = serde_json::to_string_pretty(&record)? + "\n";
    let picture = chart::svg(&results.rows, "docs");
    fs::write(ground.scratch.join("results.json"), &text)?;
    fs::write(ground.scratch.join("docs.svg"), &picture)?;
    if !options.save {
        return Ok(());
    }
    let folder = ground.workspace.root.join("docs/benchmarks");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("results.json"), &text)?;
    fs::write(folder.join("docs.svg"), picture)?;
    let page = ground.workspace.root.join("docs/benchmarks.md");
    let results = format!("{}\n\n{}", record::caption(&record), tables);
    fs::write(&page, replaced(&fs::read_to_string(&page)?, &results)?)?;
    say("kept in docs/benchmarks.md and docs/benchmarks");
    Ok(())
}

/// The page with new results.
fn replaced(page: &str, results: &str) -> Result<String> {
    let (before, rest) = page
        .split_once(BEGIN)
        .context("docs/benchmarks.md has no results")?;
    let (_, after) = rest.split_once(END).context("the results have no end")?;
    Ok(format!("{before}{BEGIN}\n{results}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_results_are_replaced() {
        let page = format!("a\n{BEGIN}\nold\n{END}\nz\n");
        let expected = format!("a\n{BEGIN}\nnew\n{END}\nz\n");
        assert_eq!(replaced(&page, "new").unwrap(), expected);
        assert!(replaced("a", "new").is_err());
    }
}
