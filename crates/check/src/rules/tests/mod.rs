//! A page that fires and a near miss for every rule, and the false positives of other tools.

mod cases_of_content;
mod cases_of_index;
mod cases_of_links;
mod cases_of_pages;
mod registry;
mod test_site;

use std::collections::BTreeSet;

use super::{JudgeOptions, all, judge};
use crate::rule::Severity;
use test_site::TestSite;

/// A rule, a site that breaks it, and one that nearly does.
struct RuleCase {
    rule: &'static str,
    fires: TestSite,
    passes: TestSite,
}

impl RuleCase {
    fn new(rule: &'static str, fires: TestSite, passes: TestSite) -> Self {
        Self {
            rule,
            fires,
            passes,
        }
    }
}

fn cases() -> Vec<RuleCase> {
    let mut cases = cases_of_links::cases();
    cases.extend(cases_of_pages::cases());
    cases.extend(cases_of_content::cases());
    cases.extend(cases_of_index::cases());
    cases
}

#[test]
fn every_rule_fires_and_spares_a_near_miss() {
    let mut faults = Vec::new();
    let mut proven = BTreeSet::new();
    for case in cases() {
        let (fires, passes) = (case.fires.rules(), case.passes.rules());
        proven.insert(case.rule);
        if !fires.contains(case.rule) {
            faults.push(format!("{} does not fire; {fires:?} do", case.rule));
        }
        if passes.contains(case.rule) {
            let findings = case.passes.judged();
            let findings = findings.iter().filter(|found| found.rule.id == case.rule);
            let found: Vec<_> = findings.collect();
            faults.push(format!("{} fires on its near miss: {found:?}", case.rule));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let known: BTreeSet<_> = all().iter().map(|rule| rule.id).collect();
    let silent: Vec<_> = known.difference(&proven).collect();
    assert!(silent.is_empty(), "rules that nothing proves: {silent:?}");
}

#[test]
fn a_clean_site_has_no_finding() {
    let site = TestSite::clean();
    let findings = site.judged();
    assert!(findings.is_empty(), "{findings:#?}");
}

#[test]
fn findings_come_in_one_order_whatever_was_found() {
    let mut site = TestSite::clean();
    for number in 0..30 {
        let body = format!("<a href=/gone/{number}>x</a><a href=/old#n>y</a><img src=/i.png>");
        site = site.page(&format!("/page/{number}"), &body);
        site = site.status(&format!("/gone/{number}"), 404);
    }
    let site = site
        .redirect("/old", 301, "/new")
        .page("/new", "words")
        .status("/i.png", 404);
    let findings = site.judged();
    assert_eq!(findings, site.judged());
    let severities: Vec<_> = findings.iter().map(|found| found.rule.severity).collect();
    assert!(severities.is_sorted_by(|a, b| a >= b), "{severities:?}");
    assert_eq!(severities.first(), Some(&Some(Severity::Error)));
}

#[test]
fn of_one_cause_so_many_are_listed_and_the_rest_counted() {
    let mut site = TestSite::clean().status("/gone", 404);
    let pages = super::MOST_LISTED + 50;
    for number in 0..pages {
        site = site.page(&format!("/page/{number}"), "<a href=/gone>x</a>");
    }
    let findings = site.judged();
    let broken: Vec<_> = findings
        .iter()
        .filter(|found| found.rule.id == "links/broken")
        .collect();
    assert_eq!(broken.len(), super::MOST_LISTED);
    let counted: u64 = broken.iter().map(|found| found.count).sum();
    assert_eq!(counted, pages as u64);
}

#[test]
fn the_same_header_on_many_pages_is_one_finding() {
    let mut site = TestSite::clean();
    for number in 0..40 {
        site = site
            .page(&format!("/page/{number}"), "")
            .without("content-security-policy");
    }
    let findings = site.judged();
    let found: Vec<_> = findings
        .iter()
        .filter(|found| found.rule.id == "header/csp")
        .collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].count, 40);
    assert_eq!(found[0].page.as_str(), "https://site.example/");
}

#[test]
fn nothing_is_judged_without_pages() {
    let site = TestSite::new();
    assert!(
        judge(&site.table(), &site.probes, &JudgeOptions::default())
            .unwrap()
            .is_empty()
    );
}
