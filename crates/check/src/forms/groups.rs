//! Findings as people read them: by rule, and one entry for each cause.
//!
//! Owns the grouping that text, Markdown, annotations and HTML share: a target that many pages link
//! to is one entry, and a rule's most frequent entry stands first. It refuses to write anything.
//! Invariant: the order depends on the findings alone.

use std::collections::HashMap;

use clewline_core::url::CrawlUrl;

use crate::report::{CheckReport, FindingCount, JudgedFinding};
use crate::rule::{CheckRule, Severity};

/// The findings of one rule.
pub(super) struct RuleGroup<'a> {
    pub(super) rule: &'static CheckRule,
    pub(super) severity: Severity,
    pub(super) count: FindingCount,
    pub(super) entries: Vec<IssueEntry<'a>>,
}

/// What has one cause: a target with the pages that refer to it, or a single finding.
pub(super) struct IssueEntry<'a> {
    pub(super) findings: Vec<&'a JudgedFinding>,
    pub(super) count: FindingCount,
}

impl<'a> IssueEntry<'a> {
    /// The first finding, whose target and evidence stand for all.
    pub(super) fn first(&self) -> &'a JudgedFinding {
        self.findings
            .first()
            .expect("an entry is made of a finding")
    }

    /// What it is about: the target, the subject, or the page.
    pub(super) fn about(&self) -> &'a str {
        let finding = &self.first().finding;
        let named = finding.target.as_deref().or(finding.subject.as_deref());
        named.unwrap_or(finding.page.as_str())
    }

    /// Whether the page itself is what it is about.
    pub(super) fn is_of_page(&self) -> bool {
        let finding = &self.first().finding;
        finding.target.is_none() && finding.subject.is_none()
    }

    /// The pages on which it stands that have no finding of their own.
    pub(super) fn samples(&self) -> impl Iterator<Item = &'a CrawlUrl> {
        self.findings
            .iter()
            .flat_map(|one| one.finding.samples.iter())
    }
}

/// The findings that are new, or those that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    New,
    All,
}

/// The findings by rule, the worst first.
pub(super) fn by_rule(report: &CheckReport, wanted: Wanted) -> Vec<RuleGroup<'_>> {
    let mut groups: Vec<RuleGroup<'_>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for one in &report.findings {
        if wanted == Wanted::New && one.known {
            continue;
        }
        // Findings of a rule stand together.
        if groups
            .last()
            .is_none_or(|group| group.rule != one.finding.rule)
        {
            places.clear();
            groups.push(RuleGroup {
                rule: one.finding.rule,
                severity: one.severity,
                count: FindingCount::default(),
                entries: Vec::new(),
            });
        }
        let group = groups.last_mut().expect("a group was just made");
        count(&mut group.count, one);
        let place = match one.finding.target.as_deref() {
            Some(target) => *places.entry(target).or_insert(group.entries.len()),
            None => group.entries.len(),
        };
        if place == group.entries.len() {
            group.entries.push(IssueEntry {
                findings: Vec::new(),
                count: FindingCount::default(),
            });
        }
        let entry = &mut group.entries[place];
        entry.findings.push(one);
        count(&mut entry.count, one);
    }
    for group in &mut groups {
        // A stable sort: entries that are equally frequent keep the order of the findings.
        group
            .entries
            .sort_by_key(|entry| std::cmp::Reverse(entry.count.all()));
    }
    groups
}

fn count(count: &mut FindingCount, one: &JudgedFinding) {
    let side = if one.known {
        &mut count.known
    } else {
        &mut count.new
    };
    *side += one.finding.count;
}
