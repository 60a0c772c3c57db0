//! Ports of one host, of which some are dead.

use super::*;

/// Crawls a host whose port 81 refuses every connection; answers when it was over, the tries of
/// every URL there, and the outcomes of the pages beside them.
fn crawl(links: usize, robots: bool) -> (Moment, Vec<u32>, Vec<Outcome>) {
    let mut hand = Hand::new(|rules| {
        rules.host = Arc::new(HostRules {
            robots,
            politeness: Politeness::for_speed(Speed::Max),
            near: None,
            pages: None,
        });
        // The port is no part of the reach.
        rules.scope = Scope::new(Reach::Any, false, &[], &[]).unwrap();
    });
    hand.root("http://a.test/", false);
    let (mut tries, mut outcomes) = (Vec::new(), Vec::new());
    loop {
        match hand.frontier.next(hand.now).unwrap() {
            Next::Start(job) => {
                let settled = match &job.work {
                    Work::Resolve { .. } => hand.resolve(job.id, "93.0.0.1"),
                    Work::Page { url, .. } | Work::Robots { url, .. } if url.port() == 81 => {
                        hand.settle(job.id, failure(FailureClass::Connect))
                    }
                    Work::Robots { .. } => hand.answer(&job, 404),
                    Work::Page { url, .. } if url.path() == "/" => {
                        let dead = |page| format!("http://a.test:81/{page}");
                        let well = |page| format!("http://a.test/{page}");
                        let urls = (0..links).flat_map(|page| [dead(page), well(page)]);
                        let urls: Vec<String> = urls.collect();
                        let found = urls.iter().map(|url| (url.as_str(), LinkKind::Anchor));
                        hand.page(&job, &found.collect::<Vec<_>>())
                    }
                    Work::Page { .. } | Work::Errand { .. } => hand.answer(&job, 200),
                };
                if let Settled::Done(finished) = settled {
                    if finished.entry.url.port() == 81 {
                        assert_eq!(finished.outcome, Outcome::Failed(FailureClass::Connect));
                        tries.push(finished.entry.tries);
                    } else {
                        outcomes.push(finished.outcome);
                    }
                }
            }
            Next::Settled(finished) => panic!("{finished:?}"),
            Next::WaitUntil(at) => hand.now = at,
            Next::Done(end) => {
                assert_eq!(end, End::Finished);
                return (hand.now, tries, outcomes);
            }
            Next::Waiting | Next::Idle => panic!("nothing is in flight"),
        }
    }
}

#[test]
fn a_dead_port_holds_up_nobody() {
    for robots in [false, true] {
        let (end, tries, outcomes) = crawl(2, robots);
        assert_eq!(tries, [4, 4], "robots {robots}");
        assert_eq!(outcomes, vec![Outcome::Fetched; 3], "robots {robots}");
        // The waits of a URL alone: a second, two and four, and a quarter more at most.
        let most = Politeness::for_speed(Speed::Max).retry_delay * 7 * 5 / 4;
        assert!(end <= Moment::ZERO + most, "robots {robots}: {end:?}");
    }
}

#[test]
fn a_dead_port_with_many_links_is_not_tried_again_and_again() {
    let (_, tries, outcomes) = crawl(50, false);
    assert_eq!(tries.len(), 50);
    assert_eq!(outcomes.len(), 51);
    let all: u32 = tries.iter().sum();
    assert!(all <= 62, "{all} tries");
}

/// What holds the crawl while it waits, each answer once, in order.
fn holds(mut hand: Hand, end: impl Fn(&mut Hand, &FetchJob) -> Settled) -> Vec<(String, HoldKind)> {
    let mut holds = Vec::new();
    loop {
        match hand.next("93.0.0.1") {
            Next::Start(job) => drop(end(&mut hand, &job)),
            Next::Settled(_) => {}
            Next::WaitUntil(at) => {
                let hold = hand.frontier.hold(hand.now).unwrap();
                assert_eq!(hold.until, at);
                holds.push((hold.host.into(), hold.by));
                hand.now = at;
            }
            Next::Done(_) => return holds,
            Next::Waiting | Next::Idle => panic!("nothing is in flight"),
        }
    }
}

fn retries(host: &str, tried: &[u32]) -> Vec<(String, HoldKind)> {
    let retry = |tried| HoldKind::Retry { tried, most: 4 };
    let named = tried.iter().map(|tried| (host.to_owned(), retry(*tried)));
    named.collect()
}

#[test]
fn without_a_limit_of_rate_it_is_the_retry_that_is_waited_for() {
    let mut hand = Hand::new(|rules| {
        rules.scope = Scope::new(Reach::Any, false, &[], &[]).unwrap();
    });
    hand.root("http://a.test/", false);
    let dead_port = holds(hand, |hand, job| match url_of(job) {
        "http://a.test/" => hand.page(job, &[("http://a.test:81/", LinkKind::Anchor)]),
        _ => hand.settle(job.id, failure(FailureClass::Connect)),
    });
    assert_eq!(dead_port, retries("a.test:81", &[1, 2, 3]));
    let mut hand = Hand::new(|_| {});
    hand.root("http://a.test/", false);
    let dead_host = holds(hand, |hand, job| {
        hand.settle(job.id, failure(FailureClass::Connect))
    });
    assert_eq!(dead_host, retries("a.test", &[1, 2, 3]));
    let mut hand = Hand::new(|_| {});
    hand.root("http://a.test/", false);
    let failing_page = holds(hand, |hand, job| hand.answer(job, 500));
    assert_eq!(failing_page, retries("a.test", &[1, 2, 3]));
}
