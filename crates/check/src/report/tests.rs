use super::samples::*;
use super::*;
use crate::ignores::IgnoreEntry;
use crate::settings::CheckSettings;

fn settings(text: &str) -> CheckSettings {
    CheckSettings::from_toml("c.toml", text).unwrap()
}

fn outcome(text: &str, findings: Vec<CheckFinding>) -> CheckOutcome {
    let settings = settings(text);
    let decisions = CheckDecisions {
        severities: RuleSeverities::new(&settings, &RULES).unwrap(),
        ignores: FindingIgnores::new(settings.ignore, day("2026-11-18")),
        baseline: None,
        fail_on: settings.fail_on.unwrap_or_default(),
    };
    CheckReport::new(facts(), &RULES, findings, decisions).outcome()
}

#[test]
fn the_worst_severity_decides() {
    use CheckOutcome::{Failed, Passed};
    let page = || url("https://example.com/");
    let warning = || vec![CheckFinding::new(&TITLE, page(), "none")];
    let error = || vec![CheckFinding::new(&BROKEN, page(), "404")];
    for (settings, findings, expected) in [
        ("", vec![], Passed),
        ("", warning(), Passed),
        ("", error(), Failed),
        ("[check]\nfail-on = 'warning'", warning(), Failed),
        ("[check]\nfail-on = 'never'", error(), Passed),
        ("[check]\nseverity = { links = 'warning' }", error(), Passed),
        ("[check]\nseverity = { title = 'error' }", warning(), Failed),
        ("[check]\nskip = 'links'", error(), Passed),
        ("[[check.ignore]]\nrule = 'links'", error(), Passed),
        (
            "[[check.ignore]]\nrule = 'links'\nuntil = '2026-11-18'",
            error(),
            Passed,
        ),
        (
            "[[check.ignore]]\nrule = 'links'\nuntil = '2026-11-17'",
            error(),
            Failed,
        ),
        ("[[check.ignore]]\npage = 'example\\.org'", error(), Failed),
        ("[[check.ignore]]\ntarget = 'x'", error(), Failed),
    ] {
        assert_eq!(outcome(settings, findings), expected, "{settings}");
    }
}

#[test]
fn a_check_that_was_not_finished_is_never_green() {
    use CheckFailOn::{Error, Never};
    use CheckOutcome::{Failed, Passed, Unfinished};

    let check = |change: &dyn Fn(&mut CheckFacts), fail_on, findings, expected| {
        let mut facts = facts();
        change(&mut facts);
        let decisions = CheckDecisions {
            fail_on,
            ..decisions()
        };
        let report = CheckReport::new(facts, &RULES, findings, decisions);
        assert_eq!(report.outcome(), expected, "{:?}", report.unfinished());
    };
    check(&|_| {}, Error, vec![], Passed);
    check(&|facts| facts.min_pages = 20, Error, vec![], Passed);
    check(&|facts| facts.min_pages = 21, Error, vec![], Unfinished);
    check(&|facts| facts.min_pages = 21, Never, vec![], Unfinished);
    check(&|facts| facts.pages = 0, Error, vec![], Unfinished);
    check(&|facts| facts.verdicts.clear(), Error, vec![], Unfinished);
    let budget = |facts: &mut CheckFacts| facts.unfinished.push("--max-time ended it".into());
    check(&budget, Error, vec![], Unfinished);
    check(&budget, Error, findings(), Failed);
}

#[test]
fn known_findings_are_told_and_do_not_fail() {
    let findings = findings();
    let baseline = Baseline::from_findings(&findings, None);
    let check = |baseline: &Baseline, expected| {
        let decisions = CheckDecisions {
            baseline: Some((baseline.clone(), day("2026-11-18"))),
            ..decisions()
        };
        let report = CheckReport::new(facts(), &RULES, findings.clone(), decisions);
        assert_eq!(report.outcome(), expected);
        report
    };
    let report = check(&baseline, CheckOutcome::Passed);
    assert_eq!(
        report.count(Severity::Error),
        FindingCount { new: 0, known: 7 }
    );
    assert_eq!(
        report.count(Severity::Notice),
        FindingCount { new: 0, known: 15 }
    );
    assert_eq!(
        report.dead(),
        DeadLinks {
            targets: 3,
            new: 0,
            pages: 5
        }
    );
    let without_one = Baseline::from_findings(&findings[1..], None);
    let report = check(&without_one, CheckOutcome::Failed);
    assert_eq!(report.dead().new, 1);
    assert_eq!(report.gone, Some(vec![]));
}

#[test]
fn an_unfinished_check_calls_nothing_gone() {
    let baseline = Baseline::from_findings(&findings(), None);
    let gone = |facts: CheckFacts, rules: &[&'static CheckRule]| {
        let settings = CheckSettings::default();
        let decisions = CheckDecisions {
            baseline: Some((baseline.clone(), day("2026-11-18"))),
            severities: RuleSeverities::new(&settings, rules).unwrap(),
            ..CheckDecisions::default()
        };
        let report = CheckReport::new(facts, rules, vec![], decisions);
        report.gone.unwrap().len()
    };
    assert_eq!(gone(facts(), &RULES), 9);
    // Rules that were not asked found nothing, and that says nothing.
    assert_eq!(gone(facts(), &RULES[2..]), 2);
    let mut stopped = facts();
    stopped.unfinished.push("it was stopped".into());
    assert_eq!(gone(stopped, &RULES), 0);
}

#[test]
fn ignores_that_do_nothing_are_told() {
    let text = "[[check.ignore]]\nrule = 'title'\n[[check.ignore]]\ntarget = 'nowhere'\n\
                [[check.ignore]]\npage = 'b$'\nuntil = '2026-01-31'\n";
    let entries: Vec<IgnoreEntry> = settings(text).ignore;
    let decisions = CheckDecisions {
        ignores: FindingIgnores::new(entries, day("2026-11-18")),
        ..decisions()
    };
    let report = CheckReport::new(facts(), &RULES, findings(), decisions);
    assert_eq!(report.ignored, 1);
    assert_eq!(
        report.facts.remarks,
        [
            "check.ignore (target nowhere) matches no finding: remove it",
            "check.ignore (page b$) ended on 2026-01-31: mend what it names, or give it another day",
        ]
    );
}

#[test]
fn the_order_does_not_depend_on_the_order_of_the_rules() {
    let mut turned = findings();
    turned.reverse();
    assert_eq!(report_of(findings()), report_of(turned));
    let report = report_of(findings());
    let severities: Vec<_> = report.findings.iter().map(|one| one.severity).collect();
    assert!(severities.is_sorted_by(|left, right| left >= right));
}

#[test]
fn a_day_is_read_and_written() {
    let moment = clewline_warc::Moment::parse("2026-11-18T23:59:59Z").unwrap();
    assert_eq!(CalendarDay::from_moment(moment), day("2026-11-18"));
    assert!(day("2026-11-18") < day("2027-01-01"));
    for wrong in [
        "",
        "2026",
        "2026-02-30",
        "18.11.2026",
        "2026-11-18T00:00:00Z",
    ] {
        assert!(wrong.parse::<CalendarDay>().is_err(), "{wrong}");
    }
}
