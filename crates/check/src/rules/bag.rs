//! Findings on their way out.
//!
//! Owns what counts as one cause, and how many findings are kept. It refuses to know rules.
//! Invariant: whatever is left out of the list is in a count.

use std::cmp::Reverse;
use std::collections::HashMap;

use xxhash_rust::xxh3::Xxh3;

use crate::finding::CheckFinding;

/// Findings of one cause that are listed one by one; of more only a count is kept.
pub const MOST_LISTED: usize = 200;
/// Findings that are listed in all; after that each is counted at another of its rule.
pub const MOST_FINDINGS: usize = 100_000;

/// Gathers findings.
#[derive(Debug, Default)]
pub(crate) struct FindingBag {
    findings: Vec<CheckFinding>,
    causes: HashMap<u64, FindingCause>,
    /// The first finding of each rule.
    first_of_rule: HashMap<&'static str, usize>,
}

/// Findings that belong together.
#[derive(Debug, Clone, Copy)]
struct FindingCause {
    first: usize,
    listed: usize,
}

impl FindingBag {
    /// Lists a finding. Those of one rule and target, or of one rule and host where there is no
    /// target, share a cause: beyond [`MOST_LISTED`] of them, the first counts the rest.
    pub(crate) fn list(&mut self, finding: CheckFinding) {
        let target = finding.target.as_deref();
        let cause = cause(&[finding.rule.id, target.unwrap_or(finding.page.host())]);
        self.add(cause, MOST_LISTED, finding);
    }

    /// Takes in a finding of which there is one for each host and subject, with a count.
    pub(crate) fn gather(&mut self, finding: CheckFinding) {
        let target = finding.target.as_deref().unwrap_or_default();
        let subject = finding.subject.as_deref().unwrap_or_default();
        let cause = cause(&[finding.rule.id, finding.page.host(), target, subject]);
        self.add(cause, 1, finding);
    }

    fn add(&mut self, cause: u64, most: usize, finding: CheckFinding) {
        let is_full = self.findings.len() >= MOST_FINDINGS;
        match self.causes.get_mut(&cause) {
            Some(known) if known.listed >= most || is_full => {
                note_again(&mut self.findings[known.first], &finding);
            }
            Some(known) => {
                known.listed += 1;
                self.findings.push(finding);
            }
            None if is_full && self.first_of_rule.contains_key(finding.rule.id) => {
                let first = self.first_of_rule[finding.rule.id];
                note_again(&mut self.findings[first], &finding);
            }
            None => {
                let first = self.findings.len();
                self.causes.insert(cause, FindingCause { first, listed: 1 });
                self.first_of_rule.entry(finding.rule.id).or_insert(first);
                self.findings.push(finding);
            }
        }
    }

    /// All findings: the worst first, then by rule, page, target and place.
    pub(crate) fn into_findings(self) -> Vec<CheckFinding> {
        let mut findings = self.findings;
        findings.sort_by(|a, b| order(a).cmp(&order(b)));
        findings
    }
}

/// The same thing once more: on another page, or again on the last one.
fn note_again(first: &mut CheckFinding, again: &CheckFinding) {
    let last = first.samples.last().unwrap_or(&first.page);
    if *last == again.page {
        first.count += 1;
    } else {
        first.also_on(&again.page);
    }
}

fn order(finding: &CheckFinding) -> impl Ord + '_ {
    let byte = finding.place.as_ref().map_or(0, |place| place.byte);
    (
        Reverse(finding.rule.severity),
        finding.rule.id,
        &finding.page,
        (&finding.target, &finding.subject, byte),
    )
}

fn cause(parts: &[&str]) -> u64 {
    let mut hash = Xxh3::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update(b"\n");
    }
    hash.digest()
}
