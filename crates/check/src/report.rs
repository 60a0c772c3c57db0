//! What a check came to.
//!
//! Owns the judgement over findings: how bad each is by the settings, which are known, which are
//! ignored, in which order they stand, and how the run ends. It refuses to know how they are shown.
//! Invariants: the order of the findings depends on nothing but them, and a check that could not be
//! finished, or that had nothing to check, never ends well.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clewline_core::url::CrawlUrl;
use serde::Serialize;

use crate::baseline::{Baseline, BaselineEntry};
use crate::finding::CheckFinding;
use crate::ignores::{CalendarDay, FindingIgnores};
use crate::rule::{CheckRule, Severity};
use crate::settings::{CheckFailOn, RuleSeverities};
use crate::verdict::CheckVerdict;

/// What the caller knows of a check beside its findings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CheckFacts {
    /// The version of the program.
    pub version: String,
    /// What was checked, as it was named: a URL, a folder, a file.
    pub subject: String,
    /// When the pages were fetched: UTC, RFC 3339; empty where nothing was.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub captured_at: String,
    /// Pages that were read.
    pub pages: u64,
    /// URLs of the site that are known, pages and parts of pages.
    pub urls: u64,
    /// Hosts of the site.
    pub hosts: u64,
    /// Distinct links to other hosts.
    pub external: u64,
    /// What was said of each distinct link. A verdict that was given to none may be left out.
    pub verdicts: BTreeMap<CheckVerdict, u64>,
    /// URLs that were not checked, by reason in words.
    pub skipped: BTreeMap<String, u64>,
    /// Why the check could not be finished, each as a sentence; empty where it was.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unfinished: Vec<String>,
    /// What the reader of the findings should know, such as keys that were passed over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The fewest pages that count as a check.
    pub min_pages: u64,
}

impl CheckFacts {
    /// Distinct links of which something is said.
    pub fn links(&self) -> u64 {
        self.verdicts.values().sum()
    }

    fn count(&self, verdict: CheckVerdict) -> u64 {
        self.verdicts.get(&verdict).copied().unwrap_or(0)
    }

    /// Links that nobody asked.
    pub fn unchecked(&self) -> u64 {
        self.count(CheckVerdict::Unchecked)
    }
}

/// What decides over findings.
#[derive(Debug, Default)]
pub struct CheckDecisions {
    /// How bad those of each rule are.
    pub severities: RuleSeverities,
    /// Those that are not wanted.
    pub ignores: FindingIgnores,
    /// Those that are known, and today, which says for how long.
    pub baseline: Option<(Baseline, CalendarDay)>,
    /// From which severity on the run fails.
    pub fail_on: CheckFailOn,
}

/// A finding, and what the settings make of it.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedFinding {
    /// What was found.
    pub finding: CheckFinding,
    /// How bad it is.
    pub severity: Severity,
    /// It stands in the baseline.
    pub known: bool,
    /// The file in which it is, if that is known.
    pub file: Option<String>,
}

/// How many findings there are of something: places, not entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FindingCount {
    /// That are new.
    pub new: u64,
    /// That are known.
    pub known: u64,
}

impl FindingCount {
    /// All of them.
    pub const fn all(self) -> u64 {
        self.new + self.known
    }
}

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckOutcome {
    /// Nothing that fails a run was found.
    Passed,
    /// Something was.
    Failed,
    /// Nothing was found so far, but the check could not be finished.
    Unfinished,
}

/// Everything that is said of a site.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckReport {
    /// What was checked.
    pub facts: CheckFacts,
    /// The rules that were asked, by name, with their severities.
    pub rules: Vec<(&'static CheckRule, Severity)>,
    /// What was found: the worst first, then by rule, page and target.
    pub findings: Vec<JudgedFinding>,
    /// Findings that were ignored.
    pub ignored: u64,
    /// What the baseline knows and nobody found; `None` without a baseline.
    pub gone: Option<Vec<BaselineEntry>>,
    /// From which severity on the run fails.
    pub fail_on: CheckFailOn,
}

impl CheckReport {
    /// Judges the findings of a run.
    pub fn new(
        facts: CheckFacts,
        rules: &[&'static CheckRule],
        findings: Vec<CheckFinding>,
        decisions: CheckDecisions,
    ) -> Self {
        let CheckDecisions {
            severities,
            mut ignores,
            baseline,
            fail_on,
        } = decisions;
        let mut asked: Vec<_> = rules
            .iter()
            .filter_map(|rule| Some((*rule, severities.of(rule)?)))
            .collect();
        asked.sort_by_key(|(rule, _)| rule.id);
        let is_judged = |id: &str| asked.iter().any(|(rule, _)| rule.id == id);
        // A finding is gone when it is not found, not when somebody ignores it.
        let gone = baseline
            .as_ref()
            .filter(|_| facts.unfinished.is_empty())
            .map(|(baseline, _)| baseline.gone(&findings, &is_judged));
        let gone = gone.or_else(|| baseline.as_ref().map(|_| Vec::new()));
        let mut ignored = 0;
        let mut judged = Vec::with_capacity(findings.len());
        for finding in findings {
            let Some(severity) = severities.of(finding.rule) else {
                continue;
            };
            if ignores.take(&finding) {
                ignored += 1;
                continue;
            }
            let known = baseline
                .as_ref()
                .is_some_and(|(baseline, today)| baseline.knows(&finding, *today));
            judged.push(JudgedFinding {
                finding,
                severity,
                known,
                file: None,
            });
        }
        judged.sort_by(|left, right| order(left).cmp(&order(right)));
        let mut facts = facts;
        facts.remarks.extend(ignores.remarks());
        Self {
            facts,
            rules: asked,
            findings: judged,
            ignored,
            gone,
            fail_on,
        }
    }

    /// Says in which files the findings are. Pages are asked in the order of the findings.
    pub fn name_files(&mut self, file: &dyn Fn(&CrawlUrl) -> Option<String>) {
        let mut last: Option<(CrawlUrl, Option<String>)> = None;
        for one in &mut self.findings {
            let page = &one.finding.page;
            if last.as_ref().is_none_or(|(known, _)| known != page) {
                last = Some((page.clone(), file(page)));
            }
            one.file = last.as_ref().and_then(|(_, file)| file.clone());
        }
    }

    /// How many findings there are of a severity.
    pub fn count(&self, severity: Severity) -> FindingCount {
        let found = self.findings.iter();
        sum(found.filter(|one| one.severity == severity))
    }

    /// How many findings there are of each rule that was asked.
    pub fn by_rule(&self) -> BTreeMap<&'static str, FindingCount> {
        let mut counts: BTreeMap<_, _> = self
            .rules
            .iter()
            .map(|(rule, _)| (rule.id, FindingCount::default()))
            .collect();
        for one in &self.findings {
            add(counts.entry(one.finding.rule.id).or_default(), one);
        }
        counts
    }

    /// The distinct targets that are dead, and the pages that link to them.
    pub fn dead(&self) -> DeadLinks {
        let dead = self.findings.iter().filter(|one| is_dead(one.finding.rule));
        let (mut targets, mut new, mut pages) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        let mut unnamed = 0;
        for one in dead {
            let finding = &one.finding;
            let target = finding.target.as_deref().unwrap_or(finding.page.as_str());
            targets.insert(target);
            if !one.known {
                new.insert(target);
            }
            pages.insert(finding.page.as_str());
            pages.extend(finding.samples.iter().map(CrawlUrl::as_str));
            unnamed += finding
                .count
                .saturating_sub(1 + finding.samples.len() as u64);
        }
        DeadLinks {
            targets: targets.len() as u64,
            new: new.len() as u64,
            pages: pages.len() as u64 + unnamed,
        }
    }

    /// Whether a finding fails the run.
    pub fn fails(&self, one: &JudgedFinding) -> bool {
        !one.known && self.fail_on.fails(one.severity)
    }

    /// Why the check does not count as one that was finished; empty where it does.
    pub fn unfinished(&self) -> Vec<String> {
        let facts = &self.facts;
        let mut reasons = facts.unfinished.clone();
        let fewest = facts.min_pages.max(1);
        if facts.pages < fewest {
            let pages = clewline_job::report::figures::plural(facts.pages, "page");
            reasons.push(format!(
                "{pages} could be read, and a check needs {fewest} (--min-pages)"
            ));
        } else if facts.links() == 0 {
            reasons
                .push("no link was found: is this the site, or a page that scripts make?".into());
        }
        reasons
    }

    /// How the run ends.
    pub fn outcome(&self) -> CheckOutcome {
        if self.findings.iter().any(|one| self.fails(one)) {
            CheckOutcome::Failed
        } else if self.unfinished().is_empty() {
            CheckOutcome::Passed
        } else {
            CheckOutcome::Unfinished
        }
    }
}

/// The links of a site that lead nowhere.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeadLinks {
    /// Distinct targets.
    pub targets: u64,
    /// Those of them that the baseline does not know on some page.
    pub new: u64,
    /// Pages that link to them.
    pub pages: u64,
}

/// Whether a rule finds links that lead nowhere.
fn is_dead(rule: &CheckRule) -> bool {
    matches!(
        rule.id,
        "links/broken" | "links/broken-part" | "links/broken-external"
    )
}

fn order(one: &JudgedFinding) -> impl Ord + '_ {
    let finding = &one.finding;
    let byte = finding.place.as_ref().map(|place| place.byte);
    (
        std::cmp::Reverse(one.severity),
        finding.rule.id,
        &finding.page,
        &finding.target,
        &finding.subject,
        (byte, &finding.evidence),
    )
}

fn add(count: &mut FindingCount, one: &JudgedFinding) {
    let side = if one.known {
        &mut count.known
    } else {
        &mut count.new
    };
    *side += one.finding.count;
}

fn sum<'a>(findings: impl Iterator<Item = &'a JudgedFinding>) -> FindingCount {
    let mut count = FindingCount::default();
    findings.for_each(|one| add(&mut count, one));
    count
}

/// The folder and the command that a form names at its end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckPointers {
    /// The report that holds everything.
    pub report: Option<PathBuf>,
    /// What to do next, as a command.
    pub next: Option<String>,
    /// The file that is named where a finding has none: the configuration file.
    pub location: Option<String>,
}

#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod tests;
