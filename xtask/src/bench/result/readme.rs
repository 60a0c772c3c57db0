//! The sentence of the README that quotes the benchmark.
//!
//! Owns which rows are quoted. A test compares the README with the saved results, so that no
//! figure in it grows old.

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::passage::{Passage, grouped};

/// The figures stand between these lines of README.md.
pub(crate) const PASSAGE: Passage = Passage {
    begin: "<!-- figures: written by cargo xtask bench --save -->",
    end: "<!-- end of figures -->",
};

/// What a page costs Clewline and others, in words.
pub(crate) fn figures(record: &Value) -> Result<String> {
    let cost = |who: &str| {
        let mut rows = record["rows"].as_array().into_iter().flatten();
        let row = rows.find(|row| row["site"] == "docs" && row["who"] == who);
        let micros = row.and_then(|row| row["cpu_micros_per_page"]["median"].as_f64());
        micros
            .map(grouped)
            .with_context(|| format!("no row {who:?} in the results"))
    };
    Ok(format!(
        "Crawling a real documentation site on one core, Clewline spends {} µs of CPU time per page with\n\
         durable state and logs, or {} µs with the WARC archive. In the same run, wget2 needs {} µs just to\n\
         save files, and wget needs {} µs to write a WARC.",
        cost("clewline")?,
        cost("clewline, with archive gzip")?,
        cost("wget2")?,
        cost("wget --warc-file")?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_quotes_the_saved_results() {
        let record: Value =
            serde_json::from_str(include_str!("../../../../docs/benchmarks/results.json")).unwrap();
        let page = include_str!("../../../../README.md");
        let expected = PASSAGE.replaced(page, &figures(&record).unwrap()).unwrap();
        assert_eq!(page, expected);
    }
}
