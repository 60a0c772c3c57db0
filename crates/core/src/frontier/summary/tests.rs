//! Summaries and changes of a small frontier in virtual time.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use super::super::{
    Answer, Ending, FetchJob, HostRules, MemoryStore, Next, Rules, Settlement, Work,
};
use super::*;
use crate::key::Keyer;
use crate::politeness::Politeness;
use crate::robots::Robots;
use crate::scope::{Reach, Scope};

const SECOND: Duration = Duration::from_secs(1);

fn rules(delay: Option<Duration>, robots: bool) -> Rules {
    let scope = Scope::new(Reach::Any, false, &[], &[]).unwrap();
    let mut politeness = Politeness::default();
    politeness.host.delay = delay;
    let host = HostRules {
        robots,
        ..HostRules::new(politeness)
    };
    Rules {
        sitemaps: false,
        host: Arc::new(host),
        ..Rules::new(scope, Keyer::new(1, &[]))
    }
}

/// A frontier with so many pages of a host to do.
fn frontier(rules: Rules, pages: u64) -> Frontier<MemoryStore> {
    let mut frontier = Frontier::new(rules, MemoryStore::default());
    for page in 0..pages {
        let url = CrawlUrl::parse(&format!("http://a.test/{page}")).unwrap();
        frontier.admit_root(url, false, Moment::ZERO).unwrap();
    }
    frontier
}

fn start(frontier: &mut Frontier<MemoryStore>, now: Moment) -> FetchJob {
    match frontier.next(now).unwrap() {
        Next::Start(job) => job,
        other => panic!("{other:?}"),
    }
}

fn resolve(frontier: &mut Frontier<MemoryStore>) {
    let job = start(frontier, Moment::ZERO);
    let ending = Ending::Resolved {
        addresses: vec![IpAddr::from(Ipv4Addr::new(93, 1, 1, 1))],
        ttl: SECOND * 3600,
        trusted: false,
    };
    settle(frontier, &job, ending, Moment::ZERO);
}

fn settle(frontier: &mut Frontier<MemoryStore>, job: &FetchJob, ending: Ending, now: Moment) {
    let mut settlement = Settlement {
        job: job.id,
        ending,
    };
    frontier.settle(&mut settlement, now).unwrap();
}

fn answered(robots: Option<Robots>) -> Ending {
    Ending::Answered(Box::new(Answer {
        status: 200,
        robots: robots.map(Box::new),
        ..Answer::default()
    }))
}

fn only(frontier: &Frontier<MemoryStore>, now: Moment) -> HostSummary {
    let summary = frontier.summary(now, 5);
    assert_eq!(summary.waits.len(), 1, "{:?}", summary.waits);
    assert_eq!(summary.waits[0].urls, frontier.counts().todo());
    summary.hosts[0].clone()
}

#[test]
fn a_host_waits_for_one_thing_after_the_other() {
    let mut frontier = frontier(rules(None, true), 10);
    assert_eq!(only(&frontier, Moment::ZERO).cause, Cause::Turn);
    let job = start(&mut frontier, Moment::ZERO);
    assert!(matches!(job.work, Work::Resolve { .. }));
    assert_eq!(only(&frontier, Moment::ZERO).cause, Cause::Name);
    let ending = Ending::Resolved {
        addresses: vec![IpAddr::from(Ipv4Addr::new(93, 1, 1, 1))],
        ttl: SECOND * 3600,
        trusted: false,
    };
    settle(&mut frontier, &job, ending, Moment::ZERO);
    let job = start(&mut frontier, Moment::ZERO);
    assert!(matches!(job.work, Work::Robots { .. }));
    assert_eq!(only(&frontier, Moment::ZERO).cause, Cause::Robots);
    let robots = Robots::parse(b"User-agent: *\nCrawl-delay: 20", &["clewline"]);
    settle(&mut frontier, &job, answered(Some(robots)), SECOND);
    let host = only(&frontier, SECOND);
    assert_eq!(
        (host.cause, host.until),
        (Cause::CrawlDelay, Some(SECOND * 19))
    );
    assert_eq!((host.queued, host.interval), (10, SECOND * 20));
    assert_eq!(host.left, SECOND * (19 + 9 * 20));
    let summary = frontier.summary(SECOND, 5);
    assert_eq!(
        (summary.left, summary.slowest.as_deref()),
        (host.left, Some("a.test"))
    );
}

#[test]
fn queues_are_counted_down_to_nothing() {
    let mut frontier = frontier(rules(Some(SECOND), false), 3);
    resolve(&mut frontier);
    let mut now = Moment::ZERO;
    for left in [3, 2, 1] {
        assert_eq!(only(&frontier, now).queued, left);
        let job = start(&mut frontier, now);
        settle(&mut frontier, &job, answered(None), now);
        now += SECOND;
    }
    assert_eq!(frontier.summary(now, 5), FrontierSummary::default());
}

#[test]
fn the_domain_decides_where_its_hosts_together_take_longer() {
    let mut frontier = Frontier::new(rules(None, false), MemoryStore::default());
    for host in 0..50 {
        for page in 0..4 {
            let url = CrawlUrl::parse(&format!("http://h{host}.a.test/{page}")).unwrap();
            frontier.admit_root(url, false, Moment::ZERO).unwrap();
        }
    }
    let summary = frontier.summary(Moment::ZERO, 7);
    // Four pages at two a second take a host two seconds, 200 pages at 20 a second take ten.
    assert!(
        summary.left > SECOND * 9 && summary.left < SECOND * 11,
        "{:?}",
        summary.left
    );
    assert_eq!(summary.hosts.len(), 7);
}

#[test]
fn another_delay_counts_from_the_last_request() {
    let check = |before: u32, after: u32, due: u32| {
        let mut frontier = frontier(rules(Some(SECOND * before), false), 5);
        resolve(&mut frontier);
        let job = start(&mut frontier, SECOND);
        settle(&mut frontier, &job, answered(None), SECOND);
        assert!(!matches!(
            frontier.next(SECOND * 2).unwrap(),
            Next::Start(_)
        ));
        let changed = rules(Some(SECOND * after), false);
        frontier.adopt(&changed, SECOND * 2).unwrap();
        let early = Duration::from_millis(u64::from(due) * 1000 - 1);
        assert!(
            !matches!(frontier.next(early).unwrap(), Next::Start(_)),
            "{before} {after}"
        );
        start(&mut frontier, SECOND * due);
    };
    check(3600, 5, 6);
    check(10, 60, 61);
}

#[test]
fn a_crawl_delay_outlives_every_change() {
    let mut frontier = frontier(rules(None, true), 3);
    resolve(&mut frontier);
    let job = start(&mut frontier, Moment::ZERO);
    let robots = Robots::parse(b"User-agent: *\nCrawl-delay: 20", &["clewline"]);
    settle(&mut frontier, &job, answered(Some(robots)), Moment::ZERO);
    frontier.adopt(&rules(Some(SECOND), true), SECOND).unwrap();
    assert_eq!(only(&frontier, SECOND).interval, SECOND * 20);
    assert!(!matches!(
        frontier.next(SECOND * 19).unwrap(),
        Next::Start(_)
    ));
    start(&mut frontier, SECOND * 20);
}

#[test]
fn a_raised_budget_lets_go_on() {
    let mut limited = rules(Some(SECOND), false);
    limited.limits.pages = Some(1);
    limited.limits.pages_per_host = Some(1);
    let mut frontier = frontier(limited, 2);
    resolve(&mut frontier);
    let job = start(&mut frontier, Moment::ZERO);
    assert!(matches!(frontier.next(SECOND * 5).unwrap(), Next::Waiting));
    frontier
        .adopt(&rules(Some(SECOND), false), SECOND * 5)
        .unwrap();
    settle(&mut frontier, &job, answered(None), SECOND * 5);
    start(&mut frontier, SECOND * 6);
}

#[test]
fn figures_survive_as_json() {
    let mut frontier = frontier(rules(Some(SECOND), false), 3);
    resolve(&mut frontier);
    let summary = frontier.summary(Moment::ZERO, 5);
    let json = serde_json::to_string(&summary).unwrap();
    assert!(json.contains("\"interval\":1.0"), "{json}");
    assert_eq!(
        serde_json::from_str::<FrontierSummary>(&json).unwrap(),
        summary
    );
}
