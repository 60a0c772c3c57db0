//! The frontier: one decision, one settlement, one batch of links.
//!
//! Each path begins with the same number of pages on the same hosts, prepared as in a crawl;
//! only what happens then is counted.

use std::hint::black_box;
use std::net::IpAddr;
use std::time::Duration;

use clewline_core::frontier::{
    Ending, Frontier, JobId, MemoryStore, Moment, Next, Offer, Offers, Settlement, Work,
};
use clewline_core::key::Keyer;
use clewline_core::link::{Link, LinkKind};
use clewline_core::url::CrawlUrl;
use frontier_alone::{NOW, answered, rules};

const HOSTS: usize = 50;
const PAGES: usize = 2000;
/// Batches of links that are made ready; the most rounds of `admit`.
const BATCHES: usize = 200;
const LINKS: usize = 100;
/// One link of so many is new.
const NEW: usize = 10;

/// Hands out a page; `rounds` may not exceed [`PAGES`].
pub(crate) fn decide(rounds: usize) {
    let mut frontier = prepared();
    for _ in 0..rounds {
        black_box(page(&mut frontier).expect("there are as many pages as rounds"));
    }
}

/// Settles a page; `rounds` may not exceed [`PAGES`].
pub(crate) fn settle(rounds: usize) {
    let mut frontier = prepared();
    let settlements: Vec<Settlement> = std::iter::from_fn(|| page(&mut frontier))
        .map(|job| answered(job, Offers::default()))
        .collect();
    for mut settlement in settlements.into_iter().take(rounds) {
        black_box(frontier.settle(&mut settlement, NOW)).expect("memory does not fail");
    }
}

/// Settles a page with links; `rounds` may not exceed [`BATCHES`].
pub(crate) fn admit(rounds: usize) {
    let mut frontier = prepared();
    let keyer = frontier.rules().keyer.clone();
    let jobs: Vec<JobId> = std::iter::from_fn(|| page(&mut frontier))
        .take(BATCHES)
        .collect();
    let settlements: Vec<Settlement> = jobs
        .into_iter()
        .enumerate()
        .map(|(batch, job)| answered(job, links(&keyer, batch)))
        .collect();
    for mut settlement in settlements.into_iter().take(rounds) {
        black_box(frontier.settle(&mut settlement, NOW)).expect("memory does not fail");
    }
}

fn links(keyer: &Keyer, batch: usize) -> Offers {
    let offer = |number: usize| {
        let url = if number.is_multiple_of(NEW) {
            url(number % HOSTS, PAGES + batch * LINKS + number)
        } else {
            url(number % HOSTS, number % HOSTS)
        };
        Offer {
            key: keyer.key(&url),
            link: Link::new(url, LinkKind::Anchor),
        }
    };
    (0..LINKS).map(offer).collect()
}

fn url(host: usize, page: usize) -> CrawlUrl {
    let text = format!(
        "http://h{host}.example.org/section-{}/page-{page}.html",
        page % 17
    );
    CrawlUrl::parse(&text).expect("a made-up URL parses")
}

/// All hosts resolved and no limit in the way: every page could be handed out at once.
fn prepared() -> Frontier<MemoryStore> {
    let mut frontier = Frontier::new(rules(), MemoryStore::default());
    for page in 0..PAGES {
        let admitted = frontier.admit_root(url(page % HOSTS, page), false, Moment::ZERO);
        admitted.expect("memory does not fail");
    }
    for _ in 0..HOSTS {
        resolve_next(&mut frontier);
    }
    frontier
}

fn resolve_next(frontier: &mut Frontier<MemoryStore>) {
    let next = frontier.next(Moment::ZERO).expect("memory does not fail");
    let Next::Start(job) = next else {
        unreachable!("every host begins with its name: {next:?}");
    };
    assert!(matches!(job.work, Work::Resolve { .. }));
    let mut settlement = Settlement {
        job: job.id,
        ending: Ending::Resolved {
            addresses: vec![IpAddr::from([203, 0, 113, 7])],
            ttl: Duration::from_hours(1),
            trusted: true,
        },
    };
    let settled = frontier.settle(&mut settlement, Moment::ZERO);
    settled.expect("memory does not fail");
}

fn page(frontier: &mut Frontier<MemoryStore>) -> Option<JobId> {
    match frontier.next(NOW).expect("memory does not fail") {
        Next::Start(job) => {
            assert!(matches!(job.work, Work::Page { .. }));
            Some(job.id)
        }
        _ => None,
    }
}
