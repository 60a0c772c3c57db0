//! The accessibility rules that fire on HTML files, for `tests/check/axe.py`.
//!
//! Prints a line for each file and rule: the path, the rule and how often it fires.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;

use clewline_check::facts::of_text;
use clewline_core::key::Keyer;
use clewline_core::url::CrawlUrl;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = CrawlUrl::parse("http://h.test/")?;
    let mut out = std::io::stdout().lock();
    for path in std::env::args().skip(1) {
        let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        let facts = of_text(&Keyer::default(), &url, &text);
        let marks = facts.html.map_or(Vec::new(), |html| html.marks);
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for rule in marks
            .iter()
            .filter_map(|mark| mark.rule.strip_prefix("a11y/"))
        {
            *counts.entry(rule).or_default() += 1;
        }
        for (rule, count) in counts {
            writeln!(out, "{path}\t{rule}\t{count}")?;
        }
    }
    Ok(())
}
