//! Findings for tests: some of each kind, with hostile texts.

use std::path::PathBuf;

use clewline_core::url::CrawlUrl;

use super::*;
use crate::finding::FindingPlace;
use crate::rule::RuleHelp;

const HELP: RuleHelp = RuleHelp {
    why: "Readers who follow it see an error.",
    found: "The answer is asked for twice.",
    mend: "Point it at a page that exists.",
    false_alarms: "A server that answers crawlers otherwise than people.",
};

const fn rule(id: &'static str, severity: Option<Severity>, summary: &'static str) -> CheckRule {
    CheckRule {
        id,
        severity,
        summary,
        help: HELP,
    }
}

pub(crate) static BROKEN: CheckRule = rule(
    "links/broken",
    Some(Severity::Error),
    "a link of the site leads nowhere",
);
pub(crate) static EXTERNAL: CheckRule = rule(
    "links/broken-external",
    Some(Severity::Error),
    "a link to another site leads nowhere",
);
pub(crate) static TITLE: CheckRule = rule(
    "title/missing",
    Some(Severity::Warning),
    "a page that search engines show has no title",
);
pub(crate) static CSP: CheckRule = rule(
    "header/csp",
    Some(Severity::Notice),
    "no policy says what a page may load",
);
pub(crate) static MIXED: CheckRule = rule(
    "mixed/active",
    Some(Severity::Error),
    "an https page loads a script or a style sheet over http",
);
pub(crate) static RULES: [&CheckRule; 5] = [&BROKEN, &EXTERNAL, &TITLE, &CSP, &MIXED];

/// Text that tries everything.
pub(crate) const ATTACK: &str =
    "]]>\u{1b}[2J\r\n::error::x\u{202e}<script>alert(1)</script>`@all` #1 |%0A\"'&\u{ffff}=1+1";

pub(crate) fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

pub(crate) fn day(text: &str) -> CalendarDay {
    text.parse().unwrap()
}

fn placed(mut finding: CheckFinding, line: u32, column: u32, text: &str) -> CheckFinding {
    finding.place = Some(FindingPlace {
        byte: line * 100,
        line,
        column,
        text: text.into(),
    });
    finding
}

/// A few findings of each kind.
pub(crate) fn findings() -> Vec<CheckFinding> {
    let gone = "https://example.com/gone";
    let mut found = Vec::new();
    for (page, line) in [("a", 3), ("b", 12), ("c", 7), ("d/", 1), ("e", 90)] {
        let page = url(&format!("https://example.com/{page}"));
        let finding = CheckFinding::new(&BROKEN, page, "404 Not Found").with_target(gone);
        found.push(placed(finding, line, 5, "About us"));
    }
    let page = || url("https://example.com/b");
    found.push(placed(
        CheckFinding::new(&BROKEN, page(), "410 Gone")
            .with_target("https://example.com/old")
            .with_mend("https://example.com/new"),
        44,
        9,
        "old page",
    ));
    found.push(placed(
        CheckFinding::new(&EXTERNAL, page(), "no such host").with_target("https://dead.example/"),
        13,
        1,
        "",
    ));
    found.push(CheckFinding::new(
        &TITLE,
        url("https://example.com/d/"),
        "no title element",
    ));
    let mut header = CheckFinding::new(&CSP, url("https://example.com/"), "no such field")
        .with_subject("content-security-policy");
    for page in 0..14 {
        header.also_on(&url(&format!("https://example.com/{page}")));
    }
    found.push(header);
    found
}

/// A finding with an attack in each of its texts.
pub(crate) fn hostile() -> CheckFinding {
    let page = url("https://example.com/%3Cscript%3E'?`a|b=,:%0A%00");
    let finding = CheckFinding::new(&BROKEN, page, ATTACK)
        .with_target(format!("https://x.test/{ATTACK}"))
        .with_subject(ATTACK)
        .with_mend(ATTACK);
    placed(finding, 2, 3, ATTACK)
}

pub(crate) fn facts() -> CheckFacts {
    CheckFacts {
        version: "0.1.0".into(),
        subject: "https://example.com/".into(),
        captured_at: "2026-11-18T10:00:00Z".into(),
        pages: 20,
        urls: 31,
        hosts: 1,
        external: 7,
        verdicts: [
            (CheckVerdict::Ok, 40),
            (CheckVerdict::Broken, 3),
            (CheckVerdict::Unchecked, 2),
        ]
        .into(),
        skipped: [("denied by robots.txt".to_owned(), 4)].into(),
        unfinished: Vec::new(),
        remarks: Vec::new(),
        min_pages: 1,
    }
}

pub(crate) fn decisions() -> CheckDecisions {
    CheckDecisions {
        severities: RuleSeverities::new(&crate::CheckSettings::default(), &RULES).unwrap(),
        ..CheckDecisions::default()
    }
}

pub(crate) fn report_of(findings: Vec<CheckFinding>) -> CheckReport {
    CheckReport::new(facts(), &RULES, findings, decisions())
}

/// A report with known findings, files and a remark.
pub(crate) fn report() -> CheckReport {
    let findings = findings();
    let mut baseline = Baseline::from_findings(&findings[5..6], None);
    let old = CheckFinding::new(&BROKEN, url("https://example.com/z"), "404").with_target("x");
    let known: Vec<_> = findings[5..6].iter().cloned().chain([old]).collect();
    baseline = Baseline::from_findings(&known, Some(&baseline));
    let mut facts = facts();
    facts
        .remarks
        .push("lychee.toml: method: links are asked with GET".into());
    let decisions = CheckDecisions {
        baseline: Some((baseline, day("2026-11-18"))),
        ..decisions()
    };
    let mut report = CheckReport::new(facts, &RULES, findings, decisions);
    report.name_files(&|page| {
        let path = page.path().trim_start_matches('/');
        (path == "b").then(|| "docs/b.md".to_owned())
    });
    report
}

pub(crate) fn pointers() -> CheckPointers {
    CheckPointers {
        report: Some(PathBuf::from("example.com.crawl/report.html")),
        next: Some("clewline check --explain links/broken".into()),
        location: None,
    }
}
