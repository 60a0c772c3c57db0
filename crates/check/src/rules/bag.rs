//! Findings on their way out.
//!
//! Owns what counts as one cause, and how many findings are kept. It refuses to know rules.
//! Invariants: whatever is left out of the list is in a count; which findings are listed does not depend
//! on the order in which they come, as long as there are fewer than [`MOST_FINDINGS`].

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use clewline_core::url::CrawlUrl;
use xxhash_rust::xxh3::Xxh3;

use crate::finding::{CheckFinding, MOST_SAMPLES};

/// Findings of one cause that are listed one by one; of more only a count is kept.
pub const MOST_LISTED: usize = 200;
/// Findings that are listed in all; after that each is counted at another of its cause or rule.
pub const MOST_FINDINGS: usize = 100_000;
/// Findings of a cause that are held beyond those that will be listed, so that few are sorted often.
const MOST_SPARE: usize = 50;

/// Gathers findings.
#[derive(Debug, Default)]
pub(crate) struct FindingBag {
    causes: Vec<FindingCause>,
    places: HashMap<u64, usize>,
    /// The first cause of each rule.
    first_of_rule: HashMap<&'static str, usize>,
    /// Findings that are held, of all causes.
    held: usize,
}

/// Findings that belong together.
#[derive(Debug, Default)]
struct FindingCause {
    /// Those that come first in the order of findings, and some that may.
    held: Vec<CheckFinding>,
    /// How many of them are listed in the end.
    most: usize,
    /// How often it occurs beyond those that are held.
    beyond: u64,
    /// The first pages on which it occurs beyond those that are held.
    samples: BTreeSet<CrawlUrl>,
}

impl FindingCause {
    /// Counts all but those that are listed.
    fn trim(&mut self) {
        self.held.sort_by(|a, b| order(a).cmp(&order(b)));
        for left_out in self.held.split_off(self.held.len().min(self.most)) {
            self.count(left_out);
        }
    }

    fn count(&mut self, finding: CheckFinding) {
        self.beyond += finding.count;
        self.samples.insert(finding.page);
        self.samples.extend(finding.samples);
        while self.samples.len() > MOST_SAMPLES + 1 {
            self.samples.pop_last();
        }
    }

    /// The findings that are listed; the first counts the rest.
    fn into_listed(mut self) -> Vec<CheckFinding> {
        self.trim();
        if let Some(first) = self.held.first_mut() {
            first.count += self.beyond;
            let known: Vec<CrawlUrl> = first.samples.drain(..).collect();
            self.samples.extend(known);
            self.samples.remove(&first.page);
            first.samples = self.samples.into_iter().take(MOST_SAMPLES).collect();
        }
        self.held
    }
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
        let is_full = self.held >= MOST_FINDINGS;
        let of_rule = self.first_of_rule.get(finding.rule.id).copied();
        let place = match self.places.get(&cause) {
            Some(place) => *place,
            None if is_full && let Some(place) = of_rule => place,
            None => {
                let place = self.causes.len();
                self.causes.push(FindingCause {
                    most,
                    ..FindingCause::default()
                });
                self.places.insert(cause, place);
                self.first_of_rule.entry(finding.rule.id).or_insert(place);
                place
            }
        };
        let known = &mut self.causes[place];
        if is_full && !known.held.is_empty() {
            return known.count(finding);
        }
        known.held.push(finding);
        self.held += 1;
        let held = known.held.len();
        if held > known.most + MOST_SPARE {
            known.trim();
            self.held -= held - known.held.len();
        }
    }

    /// All findings: the worst first, then by rule, page, target and place.
    pub(crate) fn into_findings(self) -> Vec<CheckFinding> {
        let listed = self.causes.into_iter().map(FindingCause::into_listed);
        let mut findings: Vec<CheckFinding> = listed.flatten().collect();
        findings.sort_by(|a, b| order(a).cmp(&order(b)));
        findings
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::registry::links::BROKEN;

    fn finding(page: usize, byte: u32) -> CheckFinding {
        let page = CrawlUrl::parse(&format!("https://h.test/{page:04}")).unwrap();
        CheckFinding::new(&BROKEN, page, "404")
            .with_target("https://h.test/gone")
            .at(byte)
    }

    fn found(pages: impl Iterator<Item = usize>) -> Vec<CheckFinding> {
        let mut bag = FindingBag::default();
        for page in pages {
            bag.list(finding(page, 7));
            bag.gather(finding(page, 7).with_subject("s"));
        }
        bag.into_findings()
    }

    #[test]
    fn the_order_of_the_crawl_changes_nothing() {
        let forth = found(0..900);
        assert_eq!(forth, found((0..900).rev()));
        // 7 and 900 have no common divisor, so each page comes once.
        assert_eq!(forth, found((0..900).map(|page| page * 7 % 900)));
        assert_eq!(forth.len(), MOST_LISTED + 1);
        let total: u64 = forth.iter().map(|finding| finding.count).sum();
        assert_eq!(total, 2 * 900);
        let first = &forth[0];
        assert_eq!(first.page.path(), "/0000");
        assert!(first.samples.len() == MOST_SAMPLES && !first.samples.contains(&first.page));
    }

    #[test]
    fn a_page_that_has_it_again_is_no_sample_of_itself() {
        let mut bag = FindingBag::default();
        for byte in 0..5 {
            bag.gather(finding(1, byte));
        }
        bag.gather(finding(2, 0));
        let found = bag.into_findings();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].count, 6);
        let samples: Vec<_> = found[0].samples.iter().map(CrawlUrl::path).collect();
        assert_eq!(samples, ["/0002"]);
        assert_eq!(found[0].place.as_ref().unwrap().byte, 0);
    }
}
