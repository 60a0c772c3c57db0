//! The network away in the middle of a crawl, and what must not be mistaken for it.

use super::*;

impl World {
    /// How long a request takes that the network swallows, and how it fails.
    pub(super) fn cut_off(&mut self, start: Moment, end: Moment) -> Option<(Moment, FailureClass)> {
        let (from, to) = self.away?;
        if start >= to || end <= from {
            return None;
        }
        Some(match self.dice.roll(4) {
            0 => (Duration::from_secs(10), FailureClass::Timeout),
            1 => (end.saturating_sub(start), FailureClass::Reset),
            2 => (Duration::from_millis(2), FailureClass::Dns),
            _ => (Duration::from_millis(2), FailureClass::Connect),
        })
    }

    /// Requests that began in this time.
    fn requests(&self, from: Moment, to: Moment) -> usize {
        let all = self.by_host.values().flatten();
        all.filter(|seen| seen.start >= from && seen.start < to)
            .count()
    }
}

fn away_and_back(note: &Note) -> Option<bool> {
    match note {
        Note::NetworkAway { .. } => Some(true),
        Note::NetworkBack { .. } => Some(false),
        _ => None,
    }
}

#[test]
fn two_minutes_without_a_network_cost_nothing() {
    for seed in 1..=5 {
        let politeness = Politeness::for_speed(Speed::Polite);
        let mut world = World::new(Setup {
            seed,
            hosts: 100,
            pages_per_host: 100,
            rules: with_politeness(rules(), politeness.clone()),
            troubles: false,
        });
        let (from, to) = (Moment::from_secs(12), Moment::from_secs(132));
        world.away = Some((from, to));
        let (_, end) = world.run(100);
        assert_eq!(end, End::Finished);
        assert_eq!(world.frontier.counts().todo(), 0);
        world.check_books();
        check_politeness(&world, &politeness);
        for (url, outcome) in &world.finished {
            let fine = matches!(
                outcome,
                Outcome::Fetched | Outcome::Skipped(SkipReason::Robots)
            );
            assert!(fine, "seed {seed}: {url} ended as {outcome:?}");
        }
        let notes: Vec<bool> = world
            .frontier
            .notes()
            .filter_map(|note| away_and_back(&note))
            .collect();
        assert_eq!(notes, [true, false], "seed {seed}: one pause");
        let second = Duration::from_secs(1);
        let before = world.requests(from.saturating_sub(10 * second), from);
        let quiet = world.requests(from + 15 * second, to);
        let after = world.requests(to + 16 * second, to + 26 * second);
        assert!(before > 200, "seed {seed}: {before} requests before");
        assert!(quiet <= 40, "seed {seed}: {quiet} requests while away");
        assert!(after * 10 > before * 7, "seed {seed}: {after} of {before}");
    }
}

/// Starts and ends jobs until the crawl is over: hosts are dead from a moment on.
fn run_dying(hosts: &[&str], dies_at: Moment) -> (Vec<Outcome>, Vec<Note>) {
    let mut hand = Hand::new(|rules| {
        rules.scope = Scope::new(Reach::Any, false, &[], &[]).unwrap();
        rules.host = Arc::new(HostRules {
            politeness: Politeness::for_speed(Speed::Gentle),
            ..(*rules.host).clone()
        });
    });
    for host in hosts {
        for page in 0..30 {
            hand.root(&format!("http://{host}/{page}"), false);
        }
    }
    let (mut outcomes, mut notes) = (Vec::new(), Vec::new());
    loop {
        match hand.frontier.next(hand.now).unwrap() {
            Next::Start(job) => {
                let settled = match job.work {
                    Work::Resolve { url } => hand.settle(
                        job.id,
                        Ending::Resolved {
                            addresses: vec![address_of(url.host())],
                            ttl: Duration::from_hours(9),
                            trusted: false,
                        },
                    ),
                    _ if hand.now >= dies_at => hand.settle(job.id, failure(FailureClass::Connect)),
                    _ => hand.answer(&job, 200),
                };
                if let Settled::Done(finished) = settled {
                    outcomes.push(finished.outcome);
                }
            }
            Next::Settled(finished) => outcomes.push(finished.outcome),
            Next::WaitUntil(at) => {
                assert!(at > hand.now);
                hand.now = at;
            }
            Next::Done(_) => break,
            Next::Waiting | Next::Idle => panic!("nothing is in flight"),
        }
        notes.extend(hand.frontier.notes());
    }
    (outcomes, notes)
}

#[test]
fn few_hosts_are_judged_by_themselves() {
    for hosts in [&["a.test"][..], &["a.test", "b.test"]] {
        let (outcomes, notes) = run_dying(hosts, Moment::from_secs(10));
        assert_eq!(outcomes.len(), hosts.len() * 30);
        assert_eq!(notes.iter().find_map(away_and_back), None);
        let unreachable = Outcome::Skipped(SkipReason::HostUnreachable);
        assert!(outcomes.contains(&unreachable), "the hosts are given up");
    }
}

#[test]
fn hosts_that_never_answered_are_no_outage() {
    let hosts = ["a.test", "b.test", "c.test", "d.test", "e.test"];
    let (outcomes, notes) = run_dying(&hosts, Moment::ZERO);
    assert_eq!(outcomes.len(), hosts.len() * 30);
    assert_eq!(notes.iter().find_map(away_and_back), None);
}

#[test]
fn a_network_that_never_comes_back_ends_the_crawl_too() {
    let hosts = ["a.test", "b.test", "c.test", "d.test", "e.test"];
    let (outcomes, notes) = run_dying(&hosts, Moment::from_secs(10));
    assert_eq!(outcomes.len(), hosts.len() * 30);
    let pauses: Vec<bool> = notes.iter().filter_map(away_and_back).collect();
    assert_eq!(pauses, [true, false], "it waits once, and not for ever");
}

#[test]
fn what_fails_because_the_process_was_stopped_does_not_count() {
    let mut hand = Hand::new(|rules| rules.limits.tries = 1);
    hand.root("http://a.test/", false);
    let job = hand.job("93.0.0.1");
    hand.frontier.excuse(Duration::from_mins(1));
    hand.now += Duration::from_mins(1);
    let settled = hand.settle(job.id, failure(FailureClass::Timeout));
    assert!(matches!(settled, Settled::Again(at) if at == hand.now));
    let job = hand.job("93.0.0.1");
    let settled = hand.settle(job.id, failure(FailureClass::Timeout));
    assert_eq!(
        outcome_of(settled),
        Outcome::Failed(FailureClass::Timeout),
        "only what was in flight is excused"
    );
}

#[test]
fn a_name_that_this_machine_could_not_look_up_costs_no_try() {
    let mut hand = Hand::new(|rules| rules.limits.tries = 1);
    hand.root("http://a.test/", false);
    let Next::Start(job) = hand.frontier.next(hand.now).unwrap() else {
        panic!("a name is looked up")
    };
    let Ending::Failed(shortage) = failure(FailureClass::Dns) else {
        unreachable!()
    };
    let excuse = Some(Excuse::Shortage);
    hand.settle(job.id, Ending::Failed(Failure { excuse, ..shortage }));
    let job = hand.job("93.0.0.1");
    assert_eq!(outcome_of(hand.answer(&job, 200)), Outcome::Fetched);
}

#[test]
fn a_host_that_dies_under_many_requests_fails_once() {
    let mut hand = Hand::new(|rules| rules.limits.tries = 2);
    for page in 0..40 {
        hand.root(&format!("http://a.test/{page}"), false);
    }
    let jobs: Vec<FetchJob> = (0..30).map(|_| hand.job("93.0.0.1")).collect();
    hand.now += Duration::from_secs(1);
    for job in &jobs {
        let settled = hand.settle(job.id, failure(FailureClass::Reset));
        assert!(matches!(settled, Settled::Again(_)), "{settled:?}");
    }
    let mut pages = 0;
    while hand.frontier.counts().todo() > 0 {
        let job = hand.job("93.0.0.1");
        assert_eq!(outcome_of(hand.answer(&job, 200)), Outcome::Fetched);
        pages += 1;
    }
    assert_eq!(pages, 40, "the host was not given up");
}
