use super::*;
use crate::report::samples;

fn page_of(report: &CheckReport, site: SiteView<'_>) -> String {
    let mut out = Vec::new();
    write(report, site, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn site_page(number: u64) -> SitePage {
    SitePage {
        url: samples::url(&format!(
            "https://example.com/section-{}/{number}",
            number % 7
        )),
        status: Some(200),
        title: format!("Page {number}"),
        depth: 2,
        bytes: number * 100,
        millis: Some(number as f64),
        links_in: number % 9,
        links_out: 12,
    }
}

fn site(pages: u64) -> SiteView<'static> {
    let redirect = SiteRedirect {
        from: samples::url("https://example.com/old"),
        to: "https://example.com/new".into(),
        status: 301,
        links_in: 4,
    };
    SiteView {
        pages: Box::new((0..pages).map(|number| Ok(site_page(number)))),
        redirects: vec![redirect],
        crawl: vec![("Requests in flight".into(), "12".into())],
    }
}

/// What stands between two marks.
fn between<'a>(page: &'a str, start: &str, end: &str) -> &'a str {
    let rest = page.split_once(start).expect(start).1;
    rest.split_once(end).expect(end).0
}

#[test]
fn the_policy_names_style_and_script() {
    let page = page_of(&samples::report(), site(3));
    let style = between(&page, "<style>", "</style>");
    let script = between(&page, "<script>", "</script>");
    assert!(page.contains(&format!("style-src '{}';", policy_source(style))));
    assert!(page.contains(&format!("script-src '{}';", policy_source(script))));
    // The policy forbids these, and a browser would say so in its console.
    assert!(!page.contains(" style=") && !page.contains(" onclick="));
    for text in [super::style(), super::script()] {
        assert!(!text.contains("</") && !text.contains("<!--"));
    }
}

#[test]
fn nothing_is_loaded_and_no_colour_is_written_twice() {
    let page = page_of(&samples::report(), site(3));
    for loader in [" src=", "<link", "@import", "url(", "<img", "<iframe"] {
        assert!(!page.contains(loader), "{loader}");
    }
    let is_colour =
        |word: &str| word.len() >= 3 && word.bytes().take(3).all(|byte| byte.is_ascii_hexdigit());
    let mut words = LIST_STYLE.split('#').skip(1);
    let colour = words.find(|word| is_colour(word));
    assert_eq!(colour, None);
}

#[test]
fn the_page_opens_with_the_site() {
    let page = page_of(&samples::report(), site(3));
    assert!(page.contains("<h1>3 links are dead on 5 pages; 2 are new.</h1>"));
    assert!(
        page.matches("<dt>").count() <= 5,
        "four figures and one of the crawl"
    );
    let order = [
        "id=overview",
        "id=issues",
        "id=pages",
        "id=redirects",
        "id=skipped",
        "id=crawl",
    ];
    let places = order.map(|name| page.find(name).expect(name));
    assert!(places.is_sorted(), "{places:?}");
    assert!(page.contains("line 12") && page.contains("About us"));
    assert!(page.contains("https://example.com/old https://example.com/new\n"));
}

#[test]
fn foreign_text_is_text() {
    let attack = samples::ATTACK;
    let mut report = samples::report_of(vec![samples::hostile()]);
    report.name_files(&|_| Some(attack.to_owned()));
    report.facts.subject = attack.into();
    report.facts.version = attack.into();
    report.facts.captured_at = attack.into();
    report.facts.remarks = vec![attack.into()];
    report.facts.unfinished = vec![attack.into()];
    report.facts.skipped = [(attack.to_owned(), 3)].into();
    let mut hostile = site_page(1);
    hostile.title = attack.into();
    hostile.url = samples::hostile().page;
    let view = SiteView {
        pages: Box::new(std::iter::once(Ok(hostile.clone()))),
        redirects: vec![SiteRedirect {
            from: hostile.url.clone(),
            to: attack.into(),
            status: 301,
            links_in: 1,
        }],
        crawl: vec![(attack.into(), attack.into())],
    };
    let page = page_of(&report, view);
    assert_eq!(page.matches("<script").count(), 3);
    assert_eq!(page.matches("</script").count(), 3);
    let is_ours = |c: char| c == '\n';
    assert!(!page.chars().any(|c| !is_ours(c) && escape::is_steering(c)));
    for id in ["findings", "rows"] {
        let data = between(&page, &format!("id={id}>"), "</script>");
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        assert!(data.to_string().contains("alert(1)"), "{id}");
    }
}

#[test]
fn data_is_what_was_found() {
    let report = samples::report();
    let page = page_of(&report, site(30));
    let data = between(&page, "id=findings>", "</script>");
    let data: serde_json::Value = serde_json::from_str(data).unwrap();
    let rows = data["rows"].as_array().unwrap();
    assert_eq!(rows.len(), report.findings.len());
    for (row, one) in rows.iter().zip(&report.findings) {
        let text = |at: usize| {
            data["texts"][row[at].as_u64().unwrap() as usize]
                .as_str()
                .unwrap()
        };
        let rule = &data["rules"][row[0].as_u64().unwrap() as usize];
        assert_eq!(rule[0], one.finding.rule.id);
        assert_eq!(rule[1], one.severity.name());
        assert_eq!(text(1), one.finding.page.as_str());
        let about = one.finding.target.as_ref().or(one.finding.subject.as_ref());
        assert_eq!(text(2), about.map_or("", |about| about));
        assert_eq!(text(3), one.finding.evidence);
        let line = one.finding.place.as_ref().map_or(0, |place| place.line);
        assert_eq!(row[4], line);
        assert_eq!(row[7], one.finding.count);
        assert_eq!(row[8], u64::from(one.known));
        assert_eq!(
            row.as_array().unwrap().len(),
            10 + one.finding.samples.len()
        );
    }
    let rows = between(&page, "id=rows>", "</script>");
    let rows: Vec<Vec<serde_json::Value>> = serde_json::from_str(rows).unwrap();
    assert_eq!(rows.len(), 30);
    assert_eq!(rows[0][0], "https://example.com");
    assert_eq!(rows[29][0], 0);
    assert_eq!(rows[29][1], "/section-1/29");
    assert_eq!(rows[29][6], 2_900);
    // The slowest and the heaviest stand first, without a script.
    let slow = between(&page, "<h2>Slow pages</h2>", "</ol>");
    assert_eq!(slow.matches("<li>").count(), 20);
    assert!(slow.find("/29\"") < slow.find("/28\""));
}

#[test]
fn lists_are_bounded_and_say_so() {
    let mut findings = Vec::new();
    for number in 0..3_000 {
        let page = samples::url(&format!("https://example.com/{number}"));
        findings.push(crate::CheckFinding::new(&samples::TITLE, page, "none"));
    }
    let page = page_of(&samples::report_of(findings), site(0));
    assert_eq!(page.matches("class=entry").count(), 100);
    assert!(page.contains("and 2,900 more"));
    assert!(page.contains("No pages are listed here"));
}

#[test]
fn a_site_without_findings_has_a_page() {
    let page = page_of(&samples::report_of(vec![]), SiteView::default());
    assert!(page.contains("No link is dead on 20 pages, and nothing else is wrong."));
    assert!(page.contains("Nothing to mend."));
    assert!(page.contains("<span class=\"badge good\">passed</span>"));
}

#[test]
fn an_error_of_the_pages_is_passed_on() {
    let view = SiteView {
        pages: Box::new(std::iter::once(Err(io::Error::other("lost")))),
        ..SiteView::default()
    };
    let error = write(&samples::report(), view, &mut Vec::new()).unwrap_err();
    assert_eq!(error.to_string(), "lost");
}

/// Writes pages to the folder named by `CLEWLINE_SAMPLE_SITES`, to look at them in a browser.
#[test]
fn samples_can_be_looked_at() {
    let folder = std::env::var_os("CLEWLINE_SAMPLE_SITES").map(std::path::PathBuf::from);
    let (most_findings, most_pages) = match folder {
        Some(_) => (50_000, 100_000),
        None => (500, 1_000),
    };
    let samples = [
        ("none", samples::report_of(vec![]), 2_000),
        ("few", samples::report(), 20),
        ("hostile", hostile_report(), 300),
        ("many", samples::report_of(many(most_findings)), most_pages),
    ];
    for (name, report, pages) in samples {
        let mut view = site(pages);
        if name == "hostile" {
            view.pages = Box::new((0..pages).map(|number| Ok(hostile_page(number))));
        }
        let page = page_of(&report, view);
        assert!(page.ends_with("</html>\n"), "{name}");
        if let Some(folder) = &folder {
            std::fs::write(folder.join(format!("{name}.html")), page).unwrap();
            for form in crate::forms::CheckForm::ALL {
                let mut out = Vec::new();
                let context = crate::forms::FormContext::default();
                crate::forms::write(form, &report, &context, &mut out).unwrap();
                if form != crate::forms::CheckForm::Html {
                    std::fs::write(folder.join(format!("{name}.{form}")), out).unwrap();
                }
            }
        }
    }
}

/// Texts from right to left and in wide letters, and one without a blank.
const TEXTS: [&str; 3] = [
    "عنوان الصفحة التي لا توجد",
    "存在しないページへのリンク",
    "averylongsegmentaverylongsegmentaverylongsegmentaverylongsegmentaverylongsegmentaverylong",
];

fn hostile_page(number: u64) -> SitePage {
    let text = TEXTS[(number % 3) as usize];
    SitePage {
        url: samples::url(&format!("https://example.com/{text}/{number}")),
        status: (!number.is_multiple_of(5)).then_some(503),
        title: format!("{text} {}", samples::ATTACK),
        bytes: u64::from(u32::MAX) * number,
        millis: None,
        ..site_page(number)
    }
}

/// A report with long URLs and titles from right to left and in wide letters.
fn hostile_report() -> CheckReport {
    let long = "a-very-long-segment-".repeat(15);
    let mut findings = vec![samples::hostile()];
    for text in TEXTS {
        let page = samples::url(&format!("https://example.com/{long}/{text}"));
        let finding = crate::CheckFinding::new(&samples::BROKEN, page, "404 Not Found");
        let mut finding = finding.with_target(format!("https://example.org/{long}/{text}"));
        finding.place = Some(crate::FindingPlace {
            byte: 1,
            line: 123_456,
            column: 1,
            text: text.into(),
        });
        findings.push(finding);
    }
    let mut report = samples::report_of(findings);
    report.facts.subject = format!("https://example.com/{long}");
    report.facts.unfinished = vec!["--max-time ended the check after 600 s".into()];
    report
}

/// Findings as a large site has them.
fn many(number: u32) -> Vec<crate::CheckFinding> {
    let findings = (0..number).map(|at| {
        let page = samples::url(&format!("https://example.com/section-{}/{at}", at % 7));
        let rule = samples::RULES[(at % 5) as usize];
        let mut finding = crate::CheckFinding::new(rule, page, "404 Not Found");
        if at % 5 < 2 {
            finding = finding.with_target(format!("https://gone.example/{}", at % 40));
        }
        finding.place = Some(crate::FindingPlace {
            byte: at,
            line: at % 900 + 1,
            column: 4,
            text: format!("Link {at}"),
        });
        finding
    });
    findings.collect()
}
