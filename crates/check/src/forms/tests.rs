use super::*;
use crate::CheckFinding;
use crate::report::samples;
use crate::settings::CheckFailOn;

fn written(form: CheckForm, report: &CheckReport, context: &FormContext) -> String {
    let mut out = Vec::new();
    write(form, report, context, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn context(width: usize) -> FormContext {
    FormContext {
        pointers: samples::pointers(),
        style: TextStyle {
            colour: false,
            width,
        },
    }
}

/// Compares a form with its file in `tests/forms`; `UPDATE_SNAPSHOTS=1` writes it.
fn snapshot(name: &str, text: &str) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/forms");
    let path = folder.join(name);
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "{} differs:\n{text}", path.display());
}

#[test]
fn every_form_looks_as_it_did() {
    let report = samples::report();
    for form in CheckForm::ALL {
        let name = match form {
            // It is long, and has tests of its own.
            CheckForm::Html => continue,
            CheckForm::Text => "text-80.txt".to_owned(),
            CheckForm::Csv => "findings.csv".to_owned(),
            other => format!("{other}.txt"),
        };
        snapshot(&name, &written(form, &report, &context(80)));
    }
    snapshot(
        "text-120.txt",
        &written(CheckForm::Text, &report, &context(120)),
    );
    snapshot("summary.md", &github_summary(&report, &samples::pointers()));
    let clean = samples::report_of(vec![]);
    snapshot(
        "text-clean.txt",
        &written(CheckForm::Text, &clean, &FormContext::default()),
    );
}

#[test]
fn equal_reports_make_equal_bytes() {
    let mut turned = samples::findings();
    turned.reverse();
    let (one, other) = (
        samples::report_of(samples::findings()),
        samples::report_of(turned),
    );
    for form in CheckForm::ALL {
        let context = context(80);
        assert_eq!(
            written(form, &one, &context),
            written(form, &other, &context),
            "{form}"
        );
    }
}

#[test]
fn nothing_foreign_steers_a_form() {
    let mut report = samples::report_of(vec![samples::hostile()]);
    report.name_files(&|_| Some(samples::ATTACK.to_owned()));
    report.facts.remarks = vec![samples::ATTACK.into()];
    report.facts.unfinished = vec![samples::ATTACK.into()];
    for form in CheckForm::ALL {
        let text = written(form, &report, &context(80));
        let steers = |c: char| !matches!(c, '\n' | '\r') && clewline_job::escape::is_steering(c);
        assert!(!text.chars().any(steers), "{form}: {text}");
        assert!(form == CheckForm::Csv || !text.contains('\r'), "{form}");
    }
    let text = written(CheckForm::Github, &report, &context(80));
    assert_eq!(text.lines().count(), 1, "{text}");
    let properties = text.strip_prefix("::error ").unwrap();
    let properties = properties.split_once("::").unwrap().0;
    assert_eq!(properties.split(',').count(), 4, "{properties}");
    let xml = written(CheckForm::Junit, &report, &context(80));
    assert!(!xml.contains("]]>") && !xml.contains('\u{ffff}'), "{xml}");
    let markdown = written(CheckForm::Markdown, &report, &context(80));
    let outside = without_code(&markdown);
    assert!(!outside.contains("@all"), "{outside}");
    assert!(!outside.contains("<script"), "{outside}");
    let csv = written(CheckForm::Csv, &report, &context(80));
    assert_eq!(csv.matches("\r\n").count(), 2, "{csv}");
}

/// Markdown without its code spans: what stands between two equal rows of grave accents.
fn without_code(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '\\']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with('\\') {
            // An escaped accent opens nothing.
            let (escaped, after) = rest.split_at(2);
            out.push_str(escaped);
            rest = after;
            continue;
        }
        let row = rest.len() - rest.trim_start_matches('`').len();
        let (fence, after) = rest.split_at(row);
        let mut ends = after.match_indices(fence).map(|(end, _)| end);
        let is_row =
            |end: &usize| !after[end + row..].starts_with('`') && !after[..*end].ends_with('`');
        match ends.find(is_row) {
            Some(end) => rest = &after[end + row..],
            None => rest = after,
        }
    }
    out + rest
}

#[test]
fn code_is_told_from_text() {
    assert_eq!(without_code("a `b` c ``d ` @e`` \\`f"), "a  c  \\`f");
}

#[test]
fn json_holds_every_finding_and_every_field() {
    let report = samples::report();
    let whole: serde_json::Value =
        serde_json::from_str(&written(CheckForm::Json, &report, &context(80))).unwrap();
    let lines = written(CheckForm::Jsonl, &report, &context(80));
    let lines: Vec<serde_json::Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(whole["findings"].as_array().unwrap(), &lines);
    assert_eq!(lines.len(), report.findings.len());
    for (line, one) in lines.iter().zip(&report.findings) {
        let finding = &one.finding;
        assert_eq!(line["rule"], finding.rule.id);
        assert_eq!(line["page"], finding.page.as_str());
        assert_eq!(line["target"].as_str(), finding.target.as_deref());
        assert_eq!(line["mend"].as_str(), finding.mend.as_deref());
        assert_eq!(line["file"].as_str(), one.file.as_deref());
        assert_eq!(line["count"], finding.count);
        assert_eq!(line["known"], one.known);
        assert_eq!(
            line["samples"].as_array().map_or(0, Vec::len),
            finding.samples.len()
        );
    }
    assert_eq!(whole["outcome"], "failed");
    assert_eq!(whole["rules"]["mixed/active"]["new"], 0);
    assert_eq!(whole["rules"]["links/broken"]["known"], 1);
}

fn errors(number: u32) -> Vec<CheckFinding> {
    let findings = (0..number).map(|at| {
        let page = samples::url(&format!("https://example.com/{at}"));
        CheckFinding::new(&samples::BROKEN, page, "404 Not Found")
            .with_target(format!("https://example.com/gone/{at}"))
    });
    findings.collect()
}

#[test]
fn github_shows_ten_of_each_kind_and_counts_the_rest() {
    let mut findings = errors(25);
    for at in 0..12 {
        let page = samples::url(&format!("https://example.com/t/{at}"));
        findings.push(CheckFinding::new(&samples::TITLE, page, "none"));
    }
    findings.extend(samples::findings().pop());
    let text = written(
        CheckForm::Github,
        &samples::report_of(findings),
        &context(80),
    );
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 20);
    assert!(
        lines[..10]
            .iter()
            .all(|line| line.starts_with("::error file=clewline.toml,line=1,"))
    );
    assert!(
        lines[10..]
            .iter()
            .all(|line| line.starts_with("::warning "))
    );
    assert!(
        lines[9].ends_with("15 more errors are in the report"),
        "{}",
        lines[9]
    );
    assert!(
        lines[19].ends_with("2 more warnings are in the report"),
        "{}",
        lines[19]
    );
    assert!(!lines[8].contains("more errors"));
    let ten = written(
        CheckForm::Github,
        &samples::report_of(errors(10)),
        &context(80),
    );
    assert!(!ten.contains("more errors"), "{ten}");
}

#[test]
fn markdown_keeps_its_limit_and_counts_the_rest() {
    let report = samples::report_of(errors(3_000));
    let text = written(CheckForm::Markdown, &report, &context(80));
    assert!(text.len() <= 64 * 1024, "{}", text.len());
    let listed = text.matches("\n- ").count();
    let left = format!("{}", 3_000 - listed);
    let left = format!("{},{}", &left[..1], &left[1..]);
    assert!(text.contains(&format!("no room for {left} ")), "{listed}");
    let summary = github_summary(&report, &samples::pointers());
    assert!(summary.len() <= 1024 * 1024 && summary.len() > text.len());
    let summary = github_summary(&samples::report_of(errors(20_000)), &samples::pointers());
    assert!(summary.len() <= 1024 * 1024 && summary.len() > 1_000_000);
}

#[test]
fn sarif_keeps_its_limits() {
    let report = samples::report_of(errors(25_010));
    let text = written(CheckForm::Sarif, &report, &context(80));
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let run = &file["runs"][0];
    assert_eq!(run["results"].as_array().unwrap().len(), 25_000);
    for rule in run["tool"]["driver"]["rules"].as_array().unwrap() {
        assert!(rule["properties"]["tags"].as_array().unwrap().len() <= 20);
        assert!(
            rule["help"]["markdown"]
                .as_str()
                .unwrap()
                .contains("**Why.**")
        );
    }
}

#[test]
fn sarif_names_files_relatively() {
    for (file, expected) in [
        ("docs/a.md", "docs/a.md"),
        ("./docs/a b#c.md", "docs/a%20b%23c.md"),
        ("/etc/x", "etc/x"),
        ("docs\\ü.md", "docs/%C3%BC.md"),
        ("c:x?y%", "c%3Ax%3Fy%25"),
    ] {
        let mut report = samples::report_of(errors(1));
        report.name_files(&|_| Some(file.to_owned()));
        let text = written(CheckForm::Sarif, &report, &context(80));
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        let place = &read["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], expected);
    }
}

#[test]
fn gitlab_drops_no_finding_for_its_fingerprint() {
    let mut findings = errors(3);
    let again = findings[0].clone().at(900);
    findings.push(again);
    let text = written(
        CheckForm::Gitlab,
        &samples::report_of(findings),
        &context(80),
    );
    let issues: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let names: std::collections::HashSet<_> = issues
        .iter()
        .map(|issue| issue["fingerprint"].as_str().unwrap())
        .collect();
    assert_eq!((issues.len(), names.len()), (4, 4));
}

#[test]
fn junit_counts_what_fails() {
    let counts = |report: &CheckReport| {
        let text = written(CheckForm::Junit, report, &context(80));
        let head = text.lines().nth(1).unwrap().to_owned();
        let failures = text.matches("<failure").count();
        let skipped = text.matches("<skipped").count();
        let cases = text.matches("<testcase").count();
        assert!(
            head.contains(&format!("tests=\"{cases}\" failures=\"{failures}\"")),
            "{head}"
        );
        (cases, failures, skipped)
    };
    let mut report = samples::report();
    // Pages of links/broken, links/broken-external, title, header, and the rule without findings.
    assert_eq!(counts(&report), (5 + 1 + 1 + 1 + 1, 6, 0));
    report.fail_on = CheckFailOn::Warning;
    assert_eq!(counts(&report).1, 7);
    report.fail_on = CheckFailOn::Never;
    assert_eq!(counts(&report).1, 0);
    for one in &mut report.findings {
        one.known = true;
    }
    assert_eq!(counts(&report).2, 8);
}

#[test]
fn text_is_no_wider_than_the_terminal_unless_a_word_is() {
    let long = format!("https://example.com/{}", "x".repeat(200));
    let mut findings = samples::findings();
    let page = samples::url("https://example.com/b");
    findings.push(
        CheckFinding::new(
            &samples::MIXED,
            page,
            "is loaded over http, which browsers refuse to do",
        )
        .with_target(long.clone()),
    );
    for width in [40, 80, 120] {
        let report = samples::report_of(findings.clone());
        let text = written(CheckForm::Text, &report, &context(width));
        let lines: Vec<_> = text.lines().collect();
        for line in &lines[..lines.len() - 3] {
            let is_one_word = line
                .trim()
                .split(' ')
                .filter(|word| word.len() > 20)
                .count()
                == 1;
            assert!(
                line.chars().count() <= width || is_one_word,
                "{width}: {line}"
            );
        }
        assert!(text.contains(&long), "nothing is cut");
    }
}

#[test]
fn the_last_three_lines_are_verdict_report_and_next_command() {
    for report in [
        samples::report(),
        samples::report_of(vec![]),
        samples::report_of(errors(500)),
    ] {
        let text = written(CheckForm::Text, &report, &context(80));
        let lines: Vec<_> = text.lines().rev().take(3).collect();
        assert!(lines[2].contains(" dead on "), "{lines:?}");
        assert_eq!(lines[1], "report: example.com.crawl/report.html");
        assert_eq!(lines[0], "next: clewline check --explain links/broken");
    }
}

#[test]
fn colour_is_only_where_it_is_asked_for() {
    let mut coloured = context(80);
    coloured.style.colour = true;
    let text = written(CheckForm::Text, &samples::report(), &coloured);
    assert!(text.contains("\u{1b}[31m"));
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    assert_eq!(
        plain,
        written(CheckForm::Text, &samples::report(), &context(80))
    );
}

#[test]
fn ten_entries_of_a_rule_are_named() {
    let text = written(
        CheckForm::Text,
        &samples::report_of(errors(25)),
        &context(80),
    );
    assert_eq!(text.matches("404 Not Found").count(), 10);
    assert!(text.contains("  and 15 more\n"));
}

#[test]
fn sentences_say_what_matters() {
    let check = |report: &CheckReport, expected: &str| assert_eq!(sentence(report), expected);
    check(&samples::report(), "3 links are dead on 5 pages; 2 are new");
    check(&samples::report_of(errors(1)), "1 link is dead on 1 page");
    check(
        &samples::report_of(vec![]),
        "No link is dead on 20 pages, and nothing else is wrong",
    );
    let title = samples::findings().remove(7);
    check(
        &samples::report_of(vec![title]),
        "No link is dead on 20 pages; 1 warning",
    );
    let mut report = samples::report_of(vec![]);
    report.facts.pages = 0;
    check(
        &report,
        "Not finished: no link is dead on 0 pages, and nothing else is wrong",
    );
}

#[test]
fn forms_are_named() {
    for form in CheckForm::ALL {
        assert_eq!(form.name().parse(), Ok(form));
    }
    let error = "xml\u{1b}".parse::<CheckForm>().unwrap_err().to_string();
    assert!(
        error.starts_with("`xml\\x1b` is no form: write text, json"),
        "{error}"
    );
}
