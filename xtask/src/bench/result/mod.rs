//! What came out: printed, and kept if that was asked for.

mod chart;
mod readme;
mod record;
pub(crate) mod table;

use std::fs;

use anyhow::Result;

use super::ground::Ground;
use super::options::{Care, Options};
use super::race::Results;
use crate::passage::Passage;
use crate::stage::say;

/// The results of the harness stand between these lines of docs/benchmarks.md.
const PASSAGE: Passage = Passage {
    begin: "<!-- results: written by cargo xtask bench --save -->",
    end: "<!-- end of results -->",
};

/// Prints the table, writes the JSON, and keeps both in the tree if they are worth it.
pub(crate) fn publish(ground: &Ground, options: &Options, results: &Results) -> Result<()> {
    let record = record::of(ground, results);
    let tables = table::markdown(&results.rows) + &table::checks(&results.checks);
    say(&format!("\n{tables}"));
    say(&record::caption(&record));
    if options.care == Care::Quick || ground.profile() != "dist" {
        say("not to be quoted: a quick run, or not the dist build");
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
    PASSAGE.rewrite(&page, &results)?;
    // A race of a few rows only has nothing to quote.
    if let Ok(figures) = readme::figures(&record) {
        readme::PASSAGE.rewrite(&ground.workspace.root.join("README.md"), &figures)?;
    }
    say("kept in README.md, docs/benchmarks.md and docs/benchmarks");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_results_are_replaced() {
        let Passage { begin, end } = PASSAGE;
        let page = format!("a\n{begin}\nold\n{end}\nz\n");
        let expected = format!("a\n{begin}\nnew\n{end}\nz\n");
        assert_eq!(PASSAGE.replaced(&page, "new").unwrap(), expected);
        assert!(PASSAGE.replaced("a", "new").is_err());
    }
}
