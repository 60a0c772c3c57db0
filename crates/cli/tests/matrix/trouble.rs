//! Servers and names that fail now and then: everything ends, and what can be had is had.

use std::time::Duration;

use clewline_core::outcome::FailureClass;
use clewline_job::record::OutcomeKind;
use terrarium::{Dns, Page, Reply, Site, Step, Web};

use crate::ground::{Ground, HOST, check_all_fetched, number, page, tree};

/// Whether the first request for this page is among the five in a hundred.
const fn is_unlucky(number: u64) -> bool {
    number % 20 == 7
}

#[test]
fn resets_of_five_in_a_hundred_requests_cost_no_page() {
    let pages = 600;
    let site = Site::new()
        .delay(Duration::from_millis(1))
        .handler(move |request| {
            if request.path() == "/robots.txt" {
                return Page::empty(404).into();
            }
            page(number(request.path()), pages).into()
        });
    let unlucky = (0..pages).filter(|page| is_unlucky(*page));
    let site = unlucky.fold(site, |site, unlucky| {
        let reset = Reply::Script(vec![Step::Reset]);
        let twice = vec![reset, page(unlucky, pages).into()];
        site.page(&format!("/{unlucky}"), Reply::Sequence(twice))
    });
    let web = Web::new().site(HOST, site).start();
    let ground = Ground::new();
    let line = ground.line(&["--concurrency", "16"], &[web.url(HOST, "/0")]);
    let (code, talk) = ground.start(&line).end();
    assert_eq!(code, Some(0), "{talk}");
    check_all_fetched(&ground.records(), pages as usize);
    let most = ground.records().iter().map(|record| record.tries).max();
    assert!(most <= Some(4), "retries stay within the limit");
}

#[test]
fn names_that_fail_for_a_tenth_of_the_hosts_hold_nobody_up() {
    let (hosts, pages) = (20, 10);
    let mut web = Web::new();
    for host in 0..hosts {
        let name = format!("h{host}.site{host}.test");
        web = web.site(&name, tree(pages, Duration::from_millis(1)));
        if host % 10 == 3 {
            web = web.name(&name, Dns::servfail());
        }
    }
    let web = web.start();
    let roots: Vec<String> = (0..hosts)
        .map(|host| web.url(&format!("h{host}.site{host}.test"), "/0"))
        .collect();
    let ground = Ground::new();
    let dns = web.dns_addr().to_string();
    let flags = [
        "--dns",
        &dns,
        "--speed",
        "max",
        "--allow-private",
        "127.0.0.0/8",
    ];
    let line = ground.line(&flags, &roots);
    let (code, talk) = ground.start(&line).end();
    assert_eq!(code, Some(0), "{talk}");
    let records = ground.records();
    let (mut fetched, mut failed) = (0, 0);
    for record in &records {
        match (record.outcome, record.failure) {
            (OutcomeKind::Fetched, _) => fetched += 1,
            (OutcomeKind::Failed, Some(FailureClass::Dns)) => failed += 1,
            other => panic!("{} ended as {other:?}", record.url),
        }
    }
    assert_eq!((fetched, failed), (18 * 10, 2), "each URL ended once");
}
