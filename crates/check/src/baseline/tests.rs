use super::*;
use crate::report::samples::{self, day};

fn read(text: &str) -> Baseline {
    Baseline::parse(Path::new("known.json"), text).unwrap()
}

#[test]
fn what_is_written_is_read() {
    let mut findings = samples::findings();
    findings.push(samples::hostile());
    let baseline = Baseline::from_findings(&findings, None);
    let text = baseline.to_text();
    assert_eq!(read(&text), baseline);
    assert_eq!(read(&text).to_text(), text);
    assert_eq!(baseline.len(), findings.len());
    assert!(
        !text
            .chars()
            .any(|c| c != '\n' && clewline_job::escape::is_steering(c))
    );
    let whole: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(whole["findings"].as_array().unwrap().len(), findings.len());
    findings.reverse();
    assert_eq!(Baseline::from_findings(&findings, None).to_text(), text);
    assert_eq!(read(&Baseline::default().to_text()), Baseline::default());
}

#[test]
fn one_finding_is_one_line() {
    let findings = samples::findings();
    let all = Baseline::from_findings(&findings, None).to_text();
    let fewer = Baseline::from_findings(&findings[1..], None).to_text();
    let fewer: std::collections::HashSet<&str> = fewer.lines().collect();
    let new: Vec<_> = all.lines().filter(|line| !fewer.contains(line)).collect();
    assert_eq!(new.len(), 1, "{new:?}");
    assert!(new[0].starts_with(r#"{"rule":"links/broken","page":"https://example.com/a""#));
}

#[test]
fn what_people_wrote_stays() {
    let findings = samples::findings();
    let text = Baseline::from_findings(&findings, None).to_text();
    let (head, rest) = text.split_once("\"}").unwrap();
    let by_hand = format!("{head}\",\"until\":\"2027-01-31\",\"reason\":\"moves\"}}{rest}");
    let before = read(&by_hand);
    assert!(before.knows(&findings[0], day("2027-01-31")));
    assert!(!before.knows(&findings[0], day("2027-02-01")));
    assert!(before.knows(&findings[1], day("2027-02-01")));
    let next = Baseline::from_findings(&findings, Some(&before)).to_text();
    assert_eq!(next, by_hand);
}

#[test]
fn rules_that_were_not_asked_keep_their_entries() {
    let findings = samples::findings();
    let before = Baseline::from_findings(&findings, None);
    let is_judged = |id: &str| id == "title/missing";
    let mut next = Baseline::from_findings([], Some(&before));
    next.keep_unjudged(&before, &is_judged);
    assert_eq!(next.len(), before.len() - 1);
}

#[test]
fn a_job_folder_is_a_baseline() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FINDINGS);
    assert!(matches!(
        Baseline::open(folder.path()),
        Err(BaselineError::Unreadable(..))
    ));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let report = samples::report_of(samples::findings());
    let mut lines = Vec::new();
    let context = crate::forms::FormContext::default();
    crate::forms::write(
        crate::forms::CheckForm::Jsonl,
        &report,
        &context,
        &mut lines,
    )
    .unwrap();
    std::fs::write(&path, lines).unwrap();
    let baseline = Baseline::open(folder.path()).unwrap();
    let expected = Baseline::from_findings(&samples::findings(), None);
    assert_eq!(baseline, expected);
    let file = folder.path().join("known.json");
    baseline.write(&file).unwrap();
    assert_eq!(Baseline::open(&file).unwrap(), expected);
}

#[test]
fn what_is_no_baseline_is_refused_with_its_line() {
    for (text, expected) in [
        ("{\"v\":2,\"findings\":[\n]}\n", "has version 2"),
        (
            "{\"v\":1,\"findings\":[\nnonsense\n]}\n",
            "known.json:2 is no finding",
        ),
        ("[]", "known.json:1 is no finding"),
        ("{\"rule\":\"a/b\"}", "missing field `page`"),
    ] {
        let error = Baseline::parse(Path::new("known.json"), text).unwrap_err();
        assert!(error.to_string().contains(expected), "{text}: {error}");
        assert!(error.to_string().contains("--update-baseline") || expected.contains("version"));
    }
}

#[test]
fn a_merge_does_no_harm() {
    let findings = samples::findings();
    let text = Baseline::from_findings(&findings, None).to_text();
    let merged = text.replace("},\n", "}\n");
    assert_eq!(read(&merged), read(&text));
}
