//! Limits of groups that come and go in the middle of a crawl.

use super::*;
use crate::politeness::GroupPace;

/// The next page, if one may be asked for now; it is in flight from here on.
fn next_page(hand: &mut Hand) -> Option<FetchJob> {
    match hand.next("93.0.0.1") {
        Next::Start(job) => Some(job),
        Next::Waiting | Next::Idle | Next::WaitUntil(_) => None,
        other => panic!("{other:?}"),
    }
}

fn adopt(hand: &mut Hand, change: impl Fn(&mut Politeness)) {
    let mut rules = hand.frontier.rules().clone();
    let mut host = (*rules.host).clone();
    change(&mut host.politeness);
    rules.host = Arc::new(host);
    hand.frontier.adopt(&rules, hand.now).unwrap();
}

#[test]
fn what_started_without_a_limit_neither_takes_nor_frees_a_place() {
    let one = GroupPace {
        rate: None,
        in_flight: 1,
    };
    let limits: [fn(&mut Politeness, GroupPace); 2] = [
        |politeness, pace| politeness.domain = pace,
        |politeness, pace| politeness.address = pace,
    ];
    for limit in limits {
        let mut hand = Hand::new(|_| {});
        for host in 1..=5 {
            hand.root(&format!("http://h{host}.a.test/"), false);
        }
        let uncounted = [next_page(&mut hand), next_page(&mut hand)].map(Option::unwrap);
        adopt(&mut hand, |politeness| limit(politeness, one));
        let counted = next_page(&mut hand).expect("nobody that counts is in flight");
        for job in &uncounted {
            assert!(next_page(&mut hand).is_none(), "one is in flight");
            hand.answer(job, 200);
        }
        assert!(next_page(&mut hand).is_none(), "one is in flight still");
        hand.answer(&counted, 200);
        let fourth = next_page(&mut hand).expect("nobody is in flight");
        assert!(next_page(&mut hand).is_none(), "one is in flight again");
        adopt(&mut hand, |politeness| {
            limit(politeness, GroupPace::UNLIMITED);
        });
        hand.answer(&fourth, 200);
        let last = next_page(&mut hand).expect("there is no limit any more");
        hand.answer(&last, 200);
        let end = hand.frontier.next(hand.now).unwrap();
        assert!(matches!(end, Next::Done(End::Finished)), "{end:?}");
    }
}

#[test]
fn a_limit_that_shrinks_below_what_is_in_flight_lets_lanes_wait() {
    let of = |in_flight| GroupPace {
        rate: None,
        in_flight,
    };
    let mut hand = Hand::new(|_| {});
    adopt(&mut hand, |politeness| politeness.address = of(3));
    for host in 1..=6 {
        hand.root(&format!("http://h{host}.a.test/"), false);
    }
    let started: Vec<FetchJob> = std::iter::from_fn(|| next_page(&mut hand)).collect();
    assert_eq!(started.len(), 3);
    adopt(&mut hand, |politeness| politeness.address = of(1));
    for job in &started {
        // With two in flight, three lanes that wait are not to be asked in a circle.
        assert!(next_page(&mut hand).is_none(), "others are in flight");
        hand.answer(job, 200);
    }
    for _ in 0..2 {
        let job = next_page(&mut hand).expect("nobody is in flight");
        assert!(next_page(&mut hand).is_none(), "one is in flight");
        hand.answer(&job, 200);
    }
    assert!(next_page(&mut hand).is_some(), "the sixth");
}
