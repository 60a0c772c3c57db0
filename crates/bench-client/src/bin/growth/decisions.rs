//! Hand-outs and settlements with very many hosts.

use std::time::Duration;

use clewline::core::frontier::{
    Ending, Frontier, Job, JobId, MemoryStore, Moment, Next, Settlement, Store, Work,
};
use clewline::core::url::CrawlUrl;
use frontier_alone::{NOW, answered, rules};
use serde_json::{Value, json};

use super::known::address;
use super::processor;

/// Hands out all pages of all hosts, then settles them.
pub(crate) fn measure(hosts: usize, pages: usize) -> Value {
    let mut rules = rules();
    rules.active_lanes = hosts;
    let mut frontier = Frontier::new(rules, MemoryStore::default());
    for page in 0..pages {
        for host in 0..hosts {
            let text = format!("https://www.harbour{host}.org/chapter/page-{page}.html");
            let url = CrawlUrl::parse(&text).expect("a made-up URL parses");
            let admitted = frontier.admit_root(url, false, Moment::ZERO);
            admitted.expect("memory does not fail");
        }
    }
    let mut jobs = Vec::with_capacity(hosts * pages);
    prepare(&mut frontier, hosts, &mut jobs);
    let begun = processor();
    let before = jobs.len();
    while let Some(job) = page(&mut frontier) {
        jobs.push(job);
    }
    let handing_out = per_second(jobs.len() - before, begun);
    assert_eq!(jobs.len(), hosts * pages, "every page is handed out");
    let settlements: Vec<Settlement> = jobs
        .into_iter()
        .map(|job| answered(job, Vec::new()))
        .collect();
    let begun = processor();
    let count = settlements.len();
    for settlement in settlements {
        let settled = frontier.settle(settlement, NOW);
        settled.expect("memory does not fail");
    }
    json!({
        "hosts": hosts,
        "pages": count,
        "decisions_per_second": handing_out,
        "settlements_per_second": per_second(count, begun),
    })
}

/// Resolves all hosts, which is once per host and no decision about a page. The first pages are
/// handed out meanwhile.
fn prepare(frontier: &mut Frontier<MemoryStore>, hosts: usize, jobs: &mut Vec<JobId>) {
    let mut resolved = 0;
    while resolved < hosts {
        let job = start(frontier, Moment::ZERO).expect("a host that is not resolved has work");
        match job.work {
            Work::Resolve { url } => {
                resolve(frontier, job.id, &url);
                resolved += 1;
            }
            _ => jobs.push(job.id),
        }
    }
}

/// Answers for a name.
pub(crate) fn resolve<S: Store>(frontier: &mut Frontier<S>, job: JobId, url: &CrawlUrl) {
    let settlement = Settlement {
        job,
        ending: Ending::Resolved {
            addresses: vec![address(url.host())],
            ttl: Duration::from_hours(24),
            trusted: true,
        },
    };
    let settled = frontier.settle(settlement, Moment::ZERO);
    settled.expect("a name is settled");
}

fn start(frontier: &mut Frontier<MemoryStore>, now: Moment) -> Option<Job> {
    match frontier.next(now).expect("memory does not fail") {
        Next::Start(job) => Some(job),
        _ => None,
    }
}

fn page(frontier: &mut Frontier<MemoryStore>) -> Option<JobId> {
    start(frontier, NOW).map(|job| job.id)
}

fn per_second(count: usize, begun: Duration) -> f64 {
    let spent = processor().saturating_sub(begun).as_secs_f64();
    (count as f64 / spent.max(1e-9)).round()
}

#[cfg(test)]
mod tests {
    #[test]
    fn all_pages_are_handed_out_and_settled() {
        let figures = super::measure(50, 9);
        assert_eq!(figures["pages"], 450);
        assert!(figures["decisions_per_second"].as_f64() > Some(0.0));
        assert!(figures["settlements_per_second"].as_f64() > Some(0.0));
    }
}
