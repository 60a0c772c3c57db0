//! Hosts that ask for a pause while requests to them are on their way.

use super::*;

const PAUSE: Duration = Duration::from_secs(7);

fn withheld(until: Moment) -> Ending {
    Ending::Withheld {
        until,
        sent_at: None,
    }
}

#[test]
fn a_request_that_was_not_sent_costs_no_try_and_holds_its_host() {
    let mut hand = Hand::new(|rules| rules.limits.tries = 1);
    hand.root("http://a.test/0", false);
    hand.root("http://a.test/1", false);
    hand.root("http://b.test/", false);
    for round in 1..=3 {
        let first = hand.job("93.0.0.1");
        hand.now += Duration::from_millis(10);
        let until = hand.now + PAUSE;
        let settled = hand.settle(first.id, withheld(until));
        assert!(matches!(settled, Settled::Again(at) if at == until));
        if round == 1 {
            // The other page of the host was not handed out yet, and the other host is free.
            let other = hand.job("93.0.0.2");
            let Work::Page { url, .. } = &other.work else {
                panic!("a page")
            };
            assert_eq!((url.host(), hand.now < until), ("b.test", true));
            hand.answer(&other, 200);
        }
        let next = hand.next("93.0.0.1");
        assert!(
            matches!(next, Next::WaitUntil(at) if at == until),
            "round {round}: {next:?}"
        );
    }
    for _ in 0..2 {
        let job = hand.job("93.0.0.1");
        assert_eq!(outcome_of(hand.answer(&job, 200)), Outcome::Fetched);
    }
    assert_eq!(hand.frontier.counts().todo(), 0);
}

#[test]
fn a_robots_file_that_was_not_asked_for_is_asked_for_after_the_pause() {
    let mut hand = Hand::new(ask_robots);
    hand.root("http://a.test/", false);
    let job = hand.job("93.0.0.1");
    assert!(matches!(job.work, Work::Robots { .. }));
    let until = hand.now + PAUSE;
    hand.settle(job.id, withheld(until));
    let job = hand.job("93.0.0.1");
    assert!(matches!(job.work, Work::Robots { .. }));
    assert_eq!(hand.now, until);
    hand.answer(&job, 404);
    let job = hand.job("93.0.0.1");
    assert_eq!(outcome_of(hand.answer(&job, 200)), Outcome::Fetched);
}

#[test]
fn what_an_outage_forgives_does_not_end_a_pause() {
    let hosts = ["a.test", "b.test", "c.test", "d.test"];
    let mut hand = Hand::new(|rules| {
        rules.scope = Scope::new(Reach::Any, false, &[], &[]).unwrap();
    });
    for host in hosts {
        for page in 0..3 {
            hand.root(&format!("http://{host}/{page}"), false);
        }
    }
    let mut jobs: Vec<FetchJob> = (0..12).map(|_| hand.job("93.0.0.1")).collect();
    let mut take = |host: &str| {
        let of_host =
            |job: &FetchJob| matches!(&job.work, Work::Page { url, .. } if url.host() == host);
        let at = jobs.iter().position(of_host).unwrap();
        jobs.remove(at)
    };
    for host in hosts {
        let job = take(host);
        hand.answer(&job, 200);
    }
    let until = hand.now + Duration::from_mins(10);
    for host in hosts {
        let job = take(host);
        hand.settle(job.id, failure(FailureClass::Connect));
        if host == "a.test" {
            let job = take(host);
            hand.settle(job.id, withheld(until));
        }
    }
    assert!(
        hand.frontier.is_network_away(),
        "the others failed together"
    );
    for host in &hosts[1..] {
        let job = take(host);
        hand.settle(job.id, failure(FailureClass::Connect));
    }
    let mut others = 0;
    loop {
        let job = hand.job("93.0.0.1");
        let Work::Page { url, .. } = &job.work else {
            panic!("a page")
        };
        if url.host() == "a.test" {
            break;
        }
        others += 1;
        hand.answer(&job, 200);
    }
    assert_eq!(others, 6, "the other hosts are well again");
    assert!(hand.now >= until, "{:?}", hand.now);
}

#[test]
fn a_request_that_may_be_lost_keeps_its_distance() {
    let delay = Duration::from_secs(2);
    for delay in [None, Some(delay)] {
        let mut hand = Hand::new(|rules| {
            let mut host = (*rules.host).clone();
            host.politeness.host.delay = delay;
            rules.host = Arc::new(host);
            rules.limits.tries = 1;
        });
        hand.root("http://a.test/", false);
        let job = hand.job("93.0.0.1");
        assert_eq!(job.work.is_spaced(), delay.is_some());
        let sent_at = hand.now + Duration::from_millis(300);
        hand.now += Duration::from_millis(310);
        let ending = Ending::Withheld {
            until: hand.now,
            sent_at: Some(sent_at),
        };
        assert!(matches!(hand.settle(job.id, ending), Settled::Again(_)));
        let job = hand.job("93.0.0.1");
        assert!(hand.now >= sent_at + delay.unwrap_or_default());
        assert_eq!(outcome_of(hand.answer(&job, 200)), Outcome::Fetched);
    }
}

/// Starts of the pages of one host whose answers take so long, counted from the first.
fn starts(hand: &mut Hand, answer: Duration) -> Vec<Duration> {
    let mut starts: Vec<Moment> = Vec::new();
    while hand.frontier.counts().todo() > 0 {
        let job = hand.job("93.0.0.1");
        starts.push(hand.now);
        // Even when the distance is kept, there is never a second one in flight.
        let limit = hand.now + answer;
        while let Next::WaitUntil(at) = hand.next("93.0.0.1") {
            if at >= limit {
                break;
            }
            hand.now = at;
        }
        hand.now = limit;
        assert!(
            matches!(hand.next("93.0.0.1"), Next::Waiting),
            "one at a time"
        );
        hand.answer(&job, 200);
    }
    starts
        .iter()
        .map(|start| start.saturating_sub(starts[0]))
        .collect()
}

#[test]
fn a_delay_is_kept_from_start_to_start_and_one_at_a_time() {
    let millis = Duration::from_millis;
    for (answer, expected) in [(millis(300), [0, 400, 800]), (millis(900), [0, 900, 1800])] {
        let mut hand = Hand::new(|rules| {
            let rules = Arc::make_mut(&mut rules.host);
            rules.politeness.host.delay = Some(millis(400));
        });
        for page in 0..3 {
            hand.root(&format!("http://a.test/{page}"), false);
        }
        assert_eq!(
            starts(&mut hand, answer),
            expected.map(millis),
            "{answer:?}"
        );
    }
}

#[test]
fn a_crawl_delay_means_one_at_a_time() {
    let mut hand = Hand::new(ask_robots);
    for page in 0..3 {
        hand.root(&format!("http://a.test/{page}"), false);
    }
    let job = hand.job("93.0.0.1");
    assert!(matches!(job.work, Work::Robots { .. }));
    let robots = Robots::parse(b"User-agent: *\nCrawl-delay: 2\n", &["clewline"]);
    let answer = Answer {
        status: 200,
        robots: Some(Box::new(robots)),
        ..Answer::default()
    };
    hand.settle(job.id, Ending::Answered(Box::new(answer)));
    let seconds = [0, 5, 10].map(Duration::from_secs);
    assert_eq!(starts(&mut hand, Duration::from_secs(5)), seconds);
}

#[test]
fn a_pause_of_one_host_holds_no_other() {
    let mut hand = Hand::new(|rules| {
        rules.scope = Scope::new(Reach::Any, false, &[], &[]).unwrap();
    });
    hand.root("http://a.test/", false);
    hand.root("http://b.test/", false);
    let first = hand.job("93.0.0.1");
    assert_eq!(url_of(&first), "http://a.test/");
    let answer = Answer {
        status: 503,
        retry_after: Some(PAUSE),
        ..Answer::default()
    };
    hand.settle(first.id, Ending::Answered(Box::new(answer)));
    let before = hand.now;
    let other = hand.job("93.0.0.2");
    assert_eq!((url_of(&other), hand.now), ("http://b.test/", before));
    hand.answer(&other, 200);
    let again = hand.job("93.0.0.1");
    assert_eq!(url_of(&again), "http://a.test/");
    assert!(hand.now >= before + PAUSE, "{:?}", hand.now);
}
