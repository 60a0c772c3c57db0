use clewline_core::link::LinkKind;
use clewline_core::outcome::{FailureClass, SkipReason};

use super::*;
use crate::log::{LinksLog, UrlsLog, records, urls};
use crate::record::Record;

fn small() -> (Vec<Record>, RunFacts) {
    let mut missing = samples::answer("http://a.test/missing", 404, Some("text/html"));
    missing.found_on = Some(samples::url("http://a.test/"));
    let records = vec![
        samples::record("http://a.test/"),
        missing,
        samples::redirect("http://a.test/old", "http://a.test/"),
        samples::answer("http://a.test/a.pdf", 200, Some("application/pdf")),
        samples::failed("http://b.test/", FailureClass::Timeout),
        samples::skipped("http://a.test/private", SkipReason::Robots),
    ];
    let facts = RunFacts {
        version: "0.1.0".into(),
        started_at: "2026-11-15T10:00:00Z".into(),
        finished_at: "2026-11-15T10:00:02Z".into(),
        seconds: 2.0,
        roots: vec![samples::url("http://a.test/")],
        concurrency: 10,
        peak_in_flight: 4,
        admitted: 8,
        todo: 2,
        stopped_by: StoppedBy::Interrupted,
        notes: vec!["robots.txt was ignored (--ignore-robots)".into()],
        ..RunFacts::default()
    };
    (records, facts)
}

fn small_report() -> Report {
    let (records, facts) = small();
    let mut tally = Tally::default();
    for record in &records {
        tally.add(record);
    }
    tally.refuse(SkipReason::OutOfScope, 1_234);
    tally.refuse(SkipReason::Depth, 0);
    Report::build(None, tally, facts).unwrap()
}

fn shown(report: &Report, style: TextStyle) -> String {
    let mut out = String::new();
    text(report, &mut out, style).unwrap();
    out
}

#[test]
fn totals_add_up() {
    let mut report = samples::report();
    assert_eq!(report.check(), Ok(()));
    report.facts.todo += 1;
    assert!(matches!(report.check(), Err(Imbalance::Admitted { .. })));
    report.facts.admitted += 1;
    report.tally.outcomes.fetched += 1;
    assert!(matches!(report.check(), Err(Imbalance::Done { .. })));
    report.tally.outcomes.fetched -= 2;
    report.tally.outcomes.failed += 1;
    assert!(matches!(report.check(), Err(Imbalance::Reasons { .. })));
}

#[test]
fn each_record_counts_once() {
    let tally = small_report().tally;
    let outcomes = tally.outcomes.rows().map(|(_, count)| count);
    assert_eq!(
        (tally.done, outcomes, tally.broken),
        (6, [3, 1, 0, 1, 1], 2)
    );
    assert_eq!(
        tally.statuses.into_iter().collect::<Vec<_>>(),
        [(200, 2), (301, 1), (404, 1)]
    );
    assert_eq!(
        (tally.html.count, tally.other.count, tally.error.count),
        (1, 1, 1)
    );
    assert_eq!(tally.failures[&FailureClass::Timeout], 1);
    assert_eq!(tally.skipped[&SkipReason::Robots], 1);
    assert_eq!(
        tally.refused.into_iter().collect::<Vec<_>>(),
        [(SkipReason::OutOfScope, 1_234)]
    );
    assert_eq!((tally.wire_bytes, tally.body_bytes), (3_000, 4_000));
    let host = tally.hosts["b.test"];
    assert_eq!(
        (host.requests, host.failures, host.first_byte_mean()),
        (4, 1, None)
    );
    assert_eq!(tally.hosts["a.test"].first_byte_mean(), Some(20.0));
    assert_eq!(tally.depths, [0, 6]);
    assert_eq!(
        tally
            .series
            .points
            .iter()
            .map(|point| point.done)
            .sum::<u64>(),
        6
    );
}

#[test]
fn a_tally_is_bounded() {
    let mut tally = Tally::default();
    let long_host = "a".repeat(300);
    for number in 0..MOST_HOSTS + 100 {
        let mut record = samples::answer(&format!("http://h{number}.test/"), 200, None);
        record.content_type = Some(format!("x/{number}"));
        record.depth = number as u32;
        record.timings.first_byte = Some(f64::NAN);
        tally.add(&record);
    }
    tally.add(&samples::record(&format!("http://{long_host}.test/")));
    assert_eq!(
        (tally.hosts.len(), tally.other_hosts.done),
        (MOST_HOSTS, 101)
    );
    assert_eq!(tally.depths.len(), MOST_DEPTHS);
    assert_eq!(tally.types.len() as u64 + tally.other_types, tally.done);
    assert_eq!(tally.types.len(), 500);
    assert_eq!(tally.hosts["h0.test"].timed, 0);
}

#[test]
fn a_tally_goes_on_after_a_restart() {
    let mut tally = samples::report().tally;
    tally.refuse(SkipReason::Robots, 3);
    let stored = serde_json::to_string(&tally).unwrap();
    assert_eq!(serde_json::from_str::<Tally>(&stored).unwrap(), tally);
    assert_eq!(
        serde_json::from_str::<Tally>("{}").unwrap(),
        Tally::default()
    );
}

#[test]
fn what_is_skipped_is_not_broken() {
    let mut guessed = samples::skipped("http://a.test/sitemap.xml", SkipReason::NoSitemap);
    guessed.status = Some(404);
    let mut tally = Tally::default();
    tally.add(&guessed);
    assert_eq!((tally.broken, tally.statuses.get(&404)), (0, None));
    assert_eq!(tally.hosts["a.test"].errors, 0);
}

fn job(entries: &[samples::Linked]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut urls = UrlsLog::open(folder.path()).unwrap();
    let mut links = LinksLog::open(folder.path()).unwrap();
    for (record, targets) in entries {
        urls.add(record).unwrap();
        links.add(record.key, targets).unwrap();
    }
    urls.sync().unwrap();
    links.sync().unwrap();
    folder
}

#[test]
fn broken_targets_know_their_referrers() {
    let missing = "http://a.test/missing";
    let mut entries: Vec<_> = (0..30)
        .map(|page| {
            let record = samples::record(&format!("http://a.test/{page}"));
            samples::linked(
                record,
                &[(missing, LinkKind::Image), (missing, LinkKind::Anchor)],
            )
        })
        .collect();
    let mut found = samples::failed("http://gone.test/", FailureClass::DnsNotFound);
    found.found_on = Some(samples::url("http://a.test/sitemap.xml"));
    found.kind = LinkKind::Sitemap;
    entries.push(samples::linked(samples::answer(missing, 404, None), &[]));
    entries.push(samples::linked(found, &[]));
    let folder = job(&entries);
    // A crash may leave a torn tail behind; it was never committed.
    let path = folder.path().join(urls::FILE);
    let mut torn = std::fs::read(&path).unwrap();
    torn.extend_from_slice(b"{\"v\":1,\"url\":\"http");
    std::fs::write(&path, torn).unwrap();

    let report = Report::build(Some(folder.path()), Tally::default(), RunFacts::default()).unwrap();
    let [first, second] = report.broken.as_slice() else {
        panic!("two broken targets, not {:?}", report.broken);
    };
    assert_eq!(
        (first.url.as_str(), first.what().as_str()),
        (missing, "404")
    );
    assert_eq!(
        (first.referrers.len(), first.referrer_count),
        (MOST_REFERRERS, 30)
    );
    assert_eq!(
        first.referrers[0],
        (samples::url("http://a.test/0"), LinkKind::Anchor)
    );
    assert_eq!(
        (second.what().as_str(), second.referrer_count),
        ("dns-not-found", 1)
    );
    assert_eq!(second.referrers[0].1, LinkKind::Sitemap);

    // A run that met every record itself need not read them again, and finds the same.
    let mut tally = Tally::default();
    for entry in &entries {
        tally.add(&entry.0);
    }
    let met = Report::build(Some(folder.path()), tally.clone(), RunFacts::default()).unwrap();
    assert_eq!(met.broken, report.broken);
    // One that was restored has not met what came before.
    let stored = serde_json::to_string(&tally).unwrap();
    let mut restored: Tally = serde_json::from_str(&stored).unwrap();
    restored.add(&samples::record("http://a.test/later"));
    let read = Report::build(Some(folder.path()), restored, RunFacts::default()).unwrap();
    assert_eq!(read.broken, report.broken);
}

#[test]
fn a_sitemap_that_was_only_looked_for_is_not_broken() {
    let mut tally = Tally::default();
    let mut guessed = samples::skipped("https://a.test/sitemap.xml", SkipReason::NoSitemap);
    guessed.status = Some(404);
    tally.add(&guessed);
    assert_eq!(tally.broken, 0);
    let folder = job(&[samples::linked(guessed, &[])]);
    let report = Report::build(Some(folder.path()), tally, RunFacts::default()).unwrap();
    assert_eq!(report.broken, []);
}

#[test]
fn damage_stops_a_report() {
    let folder = job(&[samples::linked(samples::record("http://a.test/"), &[])]);
    std::fs::write(folder.path().join(urls::FILE), "{}\n").unwrap();
    let built = Report::build(Some(folder.path()), Tally::default(), RunFacts::default());
    assert!(
        built
            .unwrap_err()
            .to_string()
            .contains("urls.jsonl: line 1")
    );
}

#[test]
fn text_reads_well() {
    let expected = "\
outcomes   fetched                    3   50.0 %  ████████████
           redirected                 1   16.7 %  ████
           skipped                    1   16.7 %  ████
           failed                     1   16.7 %  ████

status     200                        2   50.0 %  ████████████
           301                        1   25.0 %  ██████
           404                        1   25.0 %  ██████

types      text/html                  2   66.7 %  ████████████████
           application/pdf            1   33.3 %  ████████

failures   timeout                    1  the answer took too long

skipped    robots                     1  robots.txt disallows it

not queued out-of-scope           1,234  it lies outside the scope of the crawl

slowest    a.test                          20.0 ms mean, 20.0 ms at most, 4 requests

traffic    3.0 kB over the network, 4.0 kB decoded, 1.5 kB/s
in flight  4 at most, 10 allowed
URLs       6 done, 2 to do
note       robots.txt was ignored (--ignore-robots)

broken     404      http://a.test/missing
                    from http://a.test/ (anchor)
           timeout  http://b.test/

3 pages in 2.00 s, 1.5 pages/s, 2 broken
http://a.test/ · interrupted
";
    assert_eq!(shown(&small_report(), TextStyle::default()), expected);
}

#[test]
fn colour_is_only_paint() {
    let report = samples::report();
    let plain = shown(&report, TextStyle::default());
    let colour = TextStyle {
        colour: true,
        ..TextStyle::default()
    };
    let mut painted = shown(&report, colour);
    assert!(painted.contains("\x1b[31m"));
    for code in ["0", "1", "2", "31", "32", "33"] {
        painted = painted.replace(&format!("\x1b[{code}m"), "");
    }
    assert_eq!(painted, plain);
    for width in [0, 20, 40, 80, 400] {
        let out = shown(
            &report,
            TextStyle {
                colour: false,
                width,
            },
        );
        assert!(out.lines().all(|line| line == line.trim_end()), "{width}");
    }
}

#[test]
fn tables_fit_a_narrow_terminal() {
    let style = TextStyle {
        colour: false,
        width: 40,
    };
    let out = shown(&small_report(), style);
    let tables = ["outcomes", "status", "types", "skipped"];
    let (mut is_table, mut rows) = (false, 0);
    for line in out.lines() {
        // A block ends with an empty line.
        is_table =
            tables.iter().any(|name| line.starts_with(name)) || (is_table && !line.is_empty());
        if is_table {
            rows += 1;
            assert!(line.chars().count() <= 40, "{line}");
        }
    }
    assert!(rows > 3, "{out}");
}

#[test]
fn advice_is_whole_at_any_width() {
    let mut report = small_report();
    report.tally.refuse(SkipReason::Requisite, 5);
    for width in [0, 20, 40, 60, 80, 400] {
        let style = TextStyle {
            colour: false,
            width,
        };
        let words: Vec<String> = shown(&report, style)
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        let text = words.join(" ");
        for reason in [SkipReason::Requisite, SkipReason::OutOfScope] {
            assert!(text.contains(reason.about()), "{width}: {text}");
        }
        assert!(text.contains(FailureClass::Timeout.about()), "{width}");
    }
}

#[test]
fn ten_broken_targets_are_named() {
    let mut report = small_report();
    report.tally.broken = 25;
    report.broken = vec![report.broken[0].clone(); 25];
    let out = shown(&report, TextStyle::default());
    assert_eq!(out.matches("  http://a.test/missing").count(), 10);
    assert!(out.contains("and 15 more\n"), "{out}");
    let last: Vec<&str> = out.lines().rev().take(2).collect();
    assert!(last[1].ends_with("25 broken"), "{last:?}");
}

#[test]
fn nothing_steers_the_terminal() {
    let attack = "\u{1b}]0;x\u{7}\u{202e}\r\n";
    let mut tally = Tally::default();
    let mut record = samples::answer("http://a.test/", 404, Some(attack));
    record.redirect_to = Some(attack.into());
    record.charset = Some(attack.into());
    record.error = Some(attack.into());
    tally.add(&record);
    let facts = RunFacts {
        joined_hosts: vec![attack.into()],
        notes: vec![attack.into()],
        stopped_by: StoppedBy::Error(attack.into()),
        folder: Some(attack.into()),
        finished_at: attack.into(),
        ..RunFacts::default()
    };
    let mut lines = Vec::new();
    let all = [record.clone(), samples::redirect("http://a.test/b", attack)];
    list(all.into_iter().map(Ok), &facts, &mut lines).unwrap();
    let report = Report::build(None, tally, facts).unwrap();
    for out in [
        shown(&report, TextStyle::default()),
        String::from_utf8(lines).unwrap(),
        json(&report).unwrap(),
    ] {
        let steers = |c| c != '\n' && crate::escape::is_steering(c);
        assert!(!out.chars().any(steers), "{out:?}");
        assert!(out.contains("]0;x"));
    }
}

#[test]
fn the_list_is_that_of_the_original() {
    let (records, facts) = small();
    let mut out = Vec::new();
    list(records.into_iter().map(Ok), &facts, &mut out).unwrap();
    let expected = "\
*** Report ***
http://a.test/ 200 text/html utf-8 1000 2/5
http://a.test/a.pdf 200 application/pdf None 1000
http://a.test/missing 404 text/html None 1000
http://a.test/old 301 redirect http://a.test/
http://a.test/private skipped robots
http://b.test/ error timeout
Finished 6 urls in 2.000 secs (max_tasks=10) (0.300 urls/sec/task)
         1 error
      1000 error_bytes
         1 fail
         1 fail_timeout
         1 html
      1000 html_bytes
         1 other
      1000 other_bytes
         1 redirect
         1 skip
         1 skip_robots
         1 status_404
Todo: 2
Done: 6
Date: 2026-11-15T10:00:02Z
";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn the_list_reads_a_folder() {
    let (all, facts) = small();
    let entries: Vec<_> = all
        .iter()
        .map(|record| samples::linked(record.clone(), &[]))
        .collect();
    let folder = job(&entries);
    let (mut from_disk, mut from_memory) = (Vec::new(), Vec::new());
    list(
        records(&folder.path().join(urls::FILE)).unwrap(),
        &facts,
        &mut from_disk,
    )
    .unwrap();
    list(all.into_iter().map(Ok), &facts, &mut from_memory).unwrap();
    assert_eq!(from_disk, from_memory);
}

#[test]
fn json_is_one_object() {
    let report = samples::report();
    let parsed: Report = serde_json::from_str(&json(&report).unwrap()).unwrap();
    assert_eq!((parsed.facts, parsed.tally), (report.facts, report.tally));
    assert_eq!(parsed.broken, report.broken);
}
