//! URLs as a list, one per line.
//!
//! Owns the reading of the list, and what is told of it: each URL stands for itself. It refuses to judge
//! an answer.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use clewline_check::facts::fragment_hash;
use clewline_check::report::CheckFacts;
use clewline_check::rules;
use clewline_check::{CheckFinding, CheckVerdict};
use clewline_job::config::Root;
use percent_encoding::percent_decode_str;

use super::plan::CheckPlan;
use super::probe::{ProbeWish, ProbeWishes, Probes};

/// More lines than this are not read.
const MOST_LINES: usize = 5_000_000;

/// Reads a list; `#` at the beginning of a line makes it a comment.
pub(crate) fn read(lines: impl BufRead) -> io::Result<ProbeWishes> {
    let mut wishes = ProbeWishes::new();
    for line in lines.lines().take(MOST_LINES) {
        let line = line?;
        let text = line.trim();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let root = Root::parse(text).map_err(|error| {
            let shown = clewline_job::escape::visible(text);
            io::Error::new(io::ErrorKind::InvalidData, format!("{shown}: {error}"))
        })?;
        let key = root.url.as_str().to_owned();
        let (_, wish) = wishes
            .entry(key)
            .or_insert((root.url, ProbeWish::default()));
        if let Some((_, fragment)) = text.split_once('#')
            && names_an_element(fragment)
        {
            let decoded = percent_decode_str(fragment).decode_utf8_lossy();
            wish.ids.insert(fragment_hash(fragment));
            wish.ids.insert(fragment_hash(&decoded));
        }
    }
    Ok(wishes)
}

/// Whether a fragment is the id of an element: it is no place in a text, and no route of a script.
fn names_an_element(fragment: &str) -> bool {
    let is_other = fragment.starts_with([':', '!', '/']) || fragment.eq_ignore_ascii_case("top");
    !fragment.is_empty() && !is_other
}

/// The findings about a list: each URL is its own page.
pub(crate) fn told(
    wishes: &ProbeWishes,
    probed: &Probes,
    plan: &CheckPlan,
) -> anyhow::Result<(Vec<CheckFinding>, CheckFacts)> {
    let mut findings = Vec::new();
    let mut verdicts: BTreeMap<CheckVerdict, u64> = BTreeMap::new();
    for (url, _) in wishes.values() {
        let row = probed.table.row(url);
        let verdict = row.map_or(CheckVerdict::Unchecked, clewline_check::ProbeRow::verdict);
        *verdicts.entry(verdict).or_default() += 1;
        let id = match verdict {
            CheckVerdict::Broken => "links/broken-external",
            CheckVerdict::Blocked => "links/blocked-external",
            CheckVerdict::Unsure => "links/unsure",
            CheckVerdict::Ok | CheckVerdict::Moved | CheckVerdict::Unchecked => continue,
        };
        let rule = rules::find(id)?;
        let evidence = row.map_or_else(String::new, clewline_check::ProbeRow::evidence);
        findings.push(CheckFinding::new(rule, url.clone(), evidence).with_target(url.as_str()));
    }
    let facts = CheckFacts {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pages: wishes.len() as u64,
        urls: wishes.len() as u64,
        external: wishes.len() as u64,
        verdicts,
        min_pages: plan.settings.min_pages.unwrap_or(1),
        remarks: plan.remarks.clone(),
        ..CheckFacts::default()
    };
    Ok((findings, facts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_line_by_line() {
        let text = "# mine\nhttps://a.test/x#one\n\nhttps://a.test/x#s%C3%A4\nb.test#:~:text=a\n";
        let wishes = read(text.as_bytes()).unwrap();
        let urls: Vec<&String> = wishes.keys().collect();
        assert_eq!(urls, ["https://a.test/x", "https://b.test/"]);
        // One spelling of the first, two of the second.
        assert_eq!(wishes["https://a.test/x"].1.ids.len(), 3);
        assert!(wishes["https://b.test/"].1.ids.is_empty());
        assert!(read("mailto:x".as_bytes()).is_err());
    }
}
