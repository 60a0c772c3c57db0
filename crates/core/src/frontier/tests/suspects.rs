//! URLs under suspicion, and URLs that wait for a robots.txt to the end.

use super::*;

fn hand(suspicions: &[(&str, Suspicion)]) -> Hand {
    let mut hand = Hand::new(|rules| {
        rules.scope = Scope::new(Reach::Any, false, &[], &[]).unwrap();
    });
    for url in ["http://a.test/0", "http://a.test/1", "http://b.test/0"] {
        hand.root(url, false);
    }
    for (url, suspicion) in suspicions {
        let key = Keyer::new(1, &[]).key(&CrawlUrl::parse(url).unwrap());
        hand.frontier.suspect(key, *suspicion);
    }
    hand
}

#[test]
fn what_is_guilty_is_not_asked() {
    let mut hand = hand(&[("http://a.test/0", Suspicion::Guilty)]);
    let Next::Settled(finished) = hand.frontier.next(hand.now).unwrap() else {
        panic!("it has reached its end")
    };
    assert_eq!(finished.entry.url.as_str(), "http://a.test/0");
    assert_eq!(finished.outcome, Outcome::Failed(FailureClass::Internal));
    assert!(finished.error.unwrap().contains("died three times"));
}

#[test]
fn what_is_watched_is_asked_alone_and_last() {
    let watched = ("http://a.test/0", Suspicion::Watched);
    let mut hand = hand(&[watched, ("http://b.test/0", Suspicion::Watched)]);
    // Both lanes resolve first, so that something is in flight when the heads are looked at.
    let mut asked = Vec::new();
    let mut open: Vec<FetchJob> = Vec::new();
    loop {
        match hand.frontier.next(hand.now).unwrap() {
            Next::Start(job) => {
                if let Work::Page { url, .. } = &job.work {
                    let suspect = url.path() == "/0";
                    assert!(!suspect || open.is_empty(), "{url} is not alone");
                    asked.push(url.as_str().to_owned());
                }
                open.push(job);
            }
            Next::Waiting | Next::Idle => {
                let job = open.remove(0);
                match job.work {
                    Work::Resolve { .. } => drop(hand.resolve(job.id, "93.0.0.1")),
                    _ => assert_eq!(outcome_of(hand.answer(&job, 200)), Outcome::Fetched),
                }
            }
            Next::Done(end) => {
                assert_eq!(end, End::Finished);
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    asked.sort_unstable();
    assert_eq!(
        asked,
        ["http://a.test/0", "http://a.test/1", "http://b.test/0"]
    );
}

#[test]
fn a_lease_names_its_page() {
    let mut hand = hand(&[]);
    let job = hand.job("93.0.0.1");
    let Work::Page { url, .. } = &job.work else {
        panic!("a page")
    };
    let key = Keyer::new(1, &[]).key(url);
    assert_eq!(hand.frontier.leased(job.id), Some(key));
    hand.answer(&job, 200);
    assert_eq!(hand.frontier.leased(job.id), None);
}

#[test]
fn urls_without_robots_wait_to_the_end_of_the_run() {
    let mut hand = Hand::new(|rules| {
        rules.scope = Scope::new(Reach::Any, false, &[], &[]).unwrap();
        rules.robots_retry = Duration::from_secs(1);
        rules.limits.pages = Some(2);
        ask_robots(rules);
    });
    for url in ["http://dumb.test/0", "http://a.test/0", "http://a.test/1"] {
        hand.root(url, false);
    }
    hand.root("http://a.test/2", false);
    let mut pages = 0;
    let end = loop {
        match hand.frontier.next(hand.now).unwrap() {
            Next::Start(job) => match &job.work {
                Work::Resolve { .. } => drop(hand.resolve(job.id, "93.0.0.1")),
                Work::Robots { url, .. } => {
                    let status = if url.host() == "dumb.test" { 500 } else { 404 };
                    hand.answer(&job, status);
                }
                Work::Page { .. } | Work::Errand { .. } => {
                    // Slow enough for the robots.txt to be given up before the budget is spent.
                    hand.now += Duration::from_secs(10);
                    while let Next::Start(robots) = hand.frontier.next(hand.now).unwrap() {
                        hand.answer(&robots, 500);
                    }
                    pages += 1;
                    hand.answer(&job, 200);
                }
            },
            Next::WaitUntil(at) => hand.now = at,
            Next::Done(end) => break end,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((pages, end), (2, End::Budget(Budget::Pages)));
    assert_eq!(
        hand.frontier.counts().todo(),
        2,
        "the URL without robots is still to do, for the next run"
    );
}
