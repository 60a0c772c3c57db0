//! Made-up records and a whole report, for tests.

use std::time::Duration;

use clewline_core::key::{Key, Keyer};
use clewline_core::link::LinkKind;
use clewline_core::outcome::{FailureClass, SkipReason};
use clewline_core::url::CrawlUrl;

use super::{Broken, Report, RunFacts, StoppedBy, Tally};
use crate::record::{FORMAT, OutcomeKind, PhaseMillis, Record};

pub(crate) fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).unwrap()
}

/// A fetched HTML page of 1,000 bytes.
pub(crate) fn record(text: &str) -> Record {
    let url = url(text);
    Record {
        v: FORMAT,
        key: Keyer::default().key(&url),
        url,
        outcome: OutcomeKind::Fetched,
        status: Some(200),
        redirect_to: None,
        reason: None,
        failure: None,
        error: None,
        wire_bytes: 600,
        body_bytes: 1000,
        truncated: false,
        content_type: Some("text/html".into()),
        charset: Some("utf-8".into()),
        links: 5,
        new_links: 2,
        depth: 1,
        kind: LinkKind::Anchor,
        found_on: None,
        tries: 1,
        earlier: Vec::new(),
        timings: PhaseMillis {
            first_byte: Some(20.0),
            total: Some(24.0),
            ..PhaseMillis::default()
        },
        address: None,
        title: None,
        canonical: None,
        lastmod: None,
        digest: None,
        noindex: false,
        shell: false,
        rendered: None,
        protocol: None,
        fetched_at: "2026-11-15T10:00:00.000Z".into(),
    }
}

/// An answer with another status and type.
pub(crate) fn answer(text: &str, status: u16, content_type: Option<&str>) -> Record {
    Record {
        status: Some(status),
        content_type: content_type.map(str::to_owned),
        charset: None,
        ..record(text)
    }
}

pub(crate) fn redirect(text: &str, to: &str) -> Record {
    Record {
        outcome: OutcomeKind::Redirected,
        redirect_to: Some(to.to_owned()),
        ..answer(text, 301, None)
    }
}

pub(crate) fn failed(text: &str, class: FailureClass) -> Record {
    Record {
        outcome: OutcomeKind::Failed,
        status: None,
        failure: Some(class),
        timings: PhaseMillis::default(),
        body_bytes: 0,
        tries: 4,
        earlier: Vec::new(),
        ..record(text)
    }
}

pub(crate) fn skipped(text: &str, reason: SkipReason) -> Record {
    Record {
        outcome: OutcomeKind::Skipped,
        status: None,
        reason: Some(reason),
        timings: PhaseMillis::default(),
        wire_bytes: 0,
        body_bytes: 0,
        tries: 0,
        ..record(text)
    }
}

/// A record and the pages it links to.
pub(crate) fn linked(record: Record, links: &[(&str, LinkKind)]) -> Linked {
    let keyer = Keyer::default();
    let links = links
        .iter()
        .map(|(text, kind)| (keyer.key(&url(text)), *kind));
    (record, links.collect())
}

/// A record and the keys of the pages it links to.
pub(crate) type Linked = (Record, Vec<(Key, LinkKind)>);

/// A crawl of some size with a bit of everything, the same each time.
pub(crate) fn report() -> Report {
    let mut tally = Tally::default();
    let mut number = 0;
    for tenth in 0..123_u64 {
        let wave = (tenth as f64 / 9.0).sin();
        let latency = 40.0 + 25.0 * wave + (tenth * 37 % 11) as f64;
        for _ in 0..(90.0 - 14.0 * wave) as u64 - tenth * 29 % 13 {
            tally.add(&sample(number, latency));
            number += 1;
        }
        tally.tick(
            Duration::from_millis((tenth + 1) * 100),
            60 + (tenth % 40) as u32,
        );
    }
    tally.refuse(SkipReason::OutOfScope, 48_211);
    tally.refuse(SkipReason::Requisite, 20_377);
    tally.refuse(SkipReason::Nofollow, 12);
    let admitted = tally.done + 214;
    let facts = RunFacts {
        version: "0.1.0".into(),
        started_at: "2026-11-15T10:00:00Z".into(),
        finished_at: "2026-11-15T10:00:12Z".into(),
        seconds: 12.3,
        folder: Some("example.com.crawl".into()),
        roots: vec![url("https://example.com/")],
        joined_hosts: vec!["www.example.com".into()],
        concurrency: 100,
        peak_in_flight: 99,
        admitted,
        todo: 214,
        resumable: true,
        withheld: 0,
        traps: Vec::new(),
        empty_root: None,
        stopped_by: StoppedBy::Budget("--max-time".into()),
        notes: vec!["robots.txt was ignored (--ignore-robots)".into()],
    };
    let mut report = Report::build(None, tally, facts).unwrap();
    report.broken.truncate(40);
    for (at, broken) in report.broken.iter_mut().enumerate() {
        spread(at, broken);
    }
    super::broken::sort(&mut report.broken);
    report
}

fn spread(at: usize, broken: &mut Broken) {
    for page in 0..at % 6 {
        let page = url(&format!("https://example.com/guide/chapter-{page}"));
        broken.referrers.push((page, LinkKind::Anchor));
    }
    broken.referrer_count = broken.referrers.len() as u64 + if at % 7 == 6 { 1_204 } else { 0 };
}

fn sample(number: u64, first_byte: f64) -> Record {
    let host = match number % 50 {
        0 => "cdn.example.com",
        1..=3 => "docs.example.com",
        4 => "blog.example.com",
        _ => "example.com",
    };
    let text = format!("https://{host}/guide/{}/page-{number}", number % 13);
    let mut record = match number % 500 {
        7 | 311 => answer(&text, 404, Some("text/html")),
        99 => answer(&text, 500, Some("text/html")),
        123 => failed(&text, FailureClass::Timeout),
        124 if number > 5000 => failed(&text, FailureClass::Reset),
        150..=160 => redirect(&text, "https://example.com/"),
        200..=206 => skipped(&text, SkipReason::Robots),
        210..=230 => answer(&text, 200, Some("application/pdf")),
        231..=240 => answer(&text, 200, Some("application/json")),
        241..=243 => answer(&text, 200, Some("text/plain")),
        _ => record(&text),
    };
    record.depth = [0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5][(number % 13) as usize];
    record.found_on = Some(url(&format!("https://example.com/guide/{}", number % 13)));
    record.body_bytes *= 20 + number % 17;
    record.wire_bytes *= 8 + number % 5;
    let slow = if host == "docs.example.com" { 3.0 } else { 1.0 };
    record.timings.first_byte = record.timings.first_byte.map(|_| first_byte * slow);
    record
}
