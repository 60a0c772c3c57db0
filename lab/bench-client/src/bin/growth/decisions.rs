//! Hand-outs and settlements with very many hosts.

use std::time::Duration;

use clewline_core::frontier::{
    Ending, FetchJob, Frontier, JobId, MemoryStore, Moment, Next, Offers, Settlement, Store, Work,
};
use clewline_core::url::CrawlUrl;
use frontier_alone::{NOW, answered, rules};
use serde_json::{Value, json};

use super::known::address;
use super::processor;

/// Pages in flight at a time, at the most: as many as a crawler should carry with ease.
const IN_FLIGHT: usize = 10_000;

/// Hands out all pages of all hosts and settles them, so many at a time.
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
    prepare(&mut frontier, hosts);
    let mut jobs = Vec::with_capacity(IN_FLIGHT);
    let (mut all, mut handing_out, mut settling) = (0, Duration::ZERO, Duration::ZERO);
    loop {
        let begun = processor();
        jobs.extend(std::iter::from_fn(|| page(&mut frontier)).take(IN_FLIGHT));
        handing_out += processor().saturating_sub(begun);
        if jobs.is_empty() {
            break;
        }
        all += jobs.len();
        settling += settle(&mut frontier, &mut jobs);
    }
    let done = frontier.counts().settled as usize;
    assert_eq!(done, hosts * pages, "every page is handed out and settled");
    json!({
        "hosts": hosts,
        "pages": done,
        "decisions_per_second": per_second(all, handing_out),
        "settlements_per_second": per_second(all, settling),
    })
}

/// Settles pages; answers the processor time that it took.
fn settle(frontier: &mut Frontier<MemoryStore>, jobs: &mut Vec<JobId>) -> Duration {
    let answers = jobs.drain(..).map(|job| answered(job, Offers::default()));
    let answers: Vec<Settlement> = answers.collect();
    let begun = processor();
    for mut settlement in answers {
        let settled = frontier.settle(&mut settlement, NOW);
        settled.expect("memory does not fail");
    }
    processor().saturating_sub(begun)
}

/// Resolves all hosts, which is once per host and no decision about a page. The first pages are
/// handed out meanwhile.
fn prepare(frontier: &mut Frontier<MemoryStore>, hosts: usize) {
    let mut resolved = 0;
    while resolved < hosts {
        let job = start(frontier, Moment::ZERO).expect("a host that is not resolved has work");
        if let Work::Resolve { url } = job.work {
            resolve(frontier, job.id, &url);
            resolved += 1;
        } else {
            settle(frontier, &mut vec![job.id]);
        }
    }
}

/// Answers for a name.
pub(crate) fn resolve<S: Store>(frontier: &mut Frontier<S>, job: JobId, url: &CrawlUrl) {
    let mut settlement = Settlement {
        job,
        ending: Ending::Resolved {
            addresses: vec![address(url.host())],
            ttl: Duration::from_hours(24),
            trusted: true,
        },
    };
    let settled = frontier.settle(&mut settlement, Moment::ZERO);
    settled.expect("a name is settled");
}

fn start(frontier: &mut Frontier<MemoryStore>, now: Moment) -> Option<FetchJob> {
    match frontier.next(now).expect("memory does not fail") {
        Next::Start(job) => Some(job),
        _ => None,
    }
}

fn page(frontier: &mut Frontier<MemoryStore>) -> Option<JobId> {
    start(frontier, NOW).map(|job| job.id)
}

fn per_second(count: usize, spent: Duration) -> f64 {
    (count as f64 / spent.as_secs_f64().max(1e-9)).round()
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
