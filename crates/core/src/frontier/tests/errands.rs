//! Pages that are settled later, and what they ask for meanwhile.

use super::*;

const ADDRESS: &str = "93.0.0.1";

/// The pages of a run that are settled later, and their errands.
#[derive(Default)]
pub(super) struct Renderings {
    /// One page of so many, by these dice; none without them.
    odds: Option<(u64, Dice)>,
    hosts: u64,
    open: HashSet<JobId>,
    waiting: HashMap<u64, JobId>,
    sent: u64,
    pages: u64,
    answered: u64,
    refused: u64,
}

impl Renderings {
    /// Postpones a page now and then and sends its errands.
    pub(super) fn takes(
        &mut self,
        frontier: &mut Frontier<MemoryStore>,
        settlement: &mut Settlement,
        now: Moment,
    ) -> bool {
        let Some((one_in, dice)) = &mut self.odds else {
            return false;
        };
        let page = settlement.job;
        if self.open.contains(&page)
            || dice.roll(*one_in) > 0
            || !frontier.postpone(settlement, now).unwrap()
        {
            return false;
        }
        self.pages += 1;
        self.open.insert(page);
        for _ in 0..dice.roll(8) {
            // Some of them are on hosts that are no part of the crawl.
            let host = host_name(dice.roll(self.hosts * 2));
            let url = format!("http://{host}/{}", dice.roll(40));
            self.sent += 1;
            self.waiting.insert(self.sent, page);
            let errand = Errand::new(page, self.sent, CrawlUrl::parse(&url).unwrap());
            frontier.send_errand(errand, now).unwrap();
        }
        true
    }

    /// Hears of everything that ended.
    pub(super) fn heed(
        &mut self,
        frontier: &mut Frontier<MemoryStore>,
        job: JobId,
        settled: &Settled,
    ) {
        for refused in frontier.refused_errands() {
            let known = self.waiting.remove(&refused.number);
            assert!(known.is_some(), "nobody waits for {refused:?}");
            self.refused += 1;
        }
        if let Settled::Errand(errand) = settled {
            self.answered += u64::from(self.waiting.remove(&errand.number).is_some());
        }
        if self.open.remove(&job) {
            assert!(matches!(settled, Settled::Done(_)), "{settled:?}");
            self.waiting.retain(|_, page| *page != job);
        }
    }
}

#[test]
fn errands_of_many_pages_are_as_polite_as_everything_else() {
    for (seed, lanes) in [(1, 65_536), (2, 65_536), (3, 60)] {
        let politeness = Politeness::for_speed(Speed::Polite);
        let mut rules = with_politeness(rules(), politeness.clone());
        rules.active_lanes = lanes;
        let hosts = 300;
        let mut world = World::new(Setup {
            seed,
            hosts,
            pages_per_host: 5,
            rules,
            troubles: true,
        });
        world.renderings = Renderings {
            odds: Some((3, Dice(seed + 100))),
            hosts,
            ..Renderings::default()
        };
        let (_, end) = world.run(100);
        assert_eq!(end, End::Finished);
        assert_eq!(world.frontier.counts().todo(), 0);
        let Renderings {
            pages,
            sent,
            answered,
            refused,
            ref waiting,
            ..
        } = world.renderings;
        assert!(pages > 200, "{pages} pages were settled later");
        assert!(answered > sent / 3, "{answered} of {sent} errands");
        assert!(refused > 0, "some robots.txt disallow");
        assert_eq!(waiting.len(), 0, "the errands of a page end with it");
        world.check_books();
        check_politeness(&world, &politeness);
    }
}

/// A page that was answered and waits.
fn postponed(hand: &mut Hand, url: &str) -> Settlement {
    let job = hand.job(ADDRESS);
    assert_eq!(url_of(&job), url);
    postpone(hand, &job)
}

fn postpone(hand: &mut Hand, job: &FetchJob) -> Settlement {
    let answer = Answer {
        status: 200,
        wire: 10,
        ..Answer::default()
    };
    let mut settlement = Settlement {
        job: job.id,
        ending: Ending::Answered(Box::new(answer)),
    };
    let is_postponed = hand.frontier.postpone(&mut settlement, hand.now);
    assert_eq!(is_postponed, Ok(true));
    settlement
}

fn send(hand: &mut Hand, page: &Settlement, number: u64, url: &str) {
    let errand = Errand::new(page.job, number, CrawlUrl::parse(url).unwrap());
    hand.frontier.send_errand(errand, hand.now).unwrap();
}

fn refused(hand: &mut Hand) -> Vec<(u64, ErrandRefusal)> {
    let refused = hand.frontier.refused_errands();
    refused.map(|one| (one.number, one.by)).collect()
}

#[test]
fn a_host_that_takes_one_request_at_a_time_answers_the_errands_of_its_page() {
    let mut hand = Hand::new(|rules| {
        let mut politeness = Politeness::for_speed(Speed::Polite);
        politeness.host.most_in_flight = 1;
        Arc::make_mut(&mut rules.host).politeness = politeness;
        rules.limits.pages = Some(1);
    });
    hand.root("http://a.test/", false);
    let mut page = postponed(&mut hand, "http://a.test/");
    assert_eq!(hand.frontier.counts().in_flight, 0);
    assert_eq!(hand.frontier.counts().pages, 0);
    for (number, url) in [(1, "http://a.test/data"), (2, "http://b.test/lib.js")] {
        send(&mut hand, &page, number, url);
    }
    let mut asked = Vec::new();
    for _ in 0..2 {
        let job = hand.job(ADDRESS);
        assert_eq!(hand.frontier.leased(job.id), None);
        asked.push(url_of(&job).to_owned());
        let settled = hand.answer(&job, 200);
        assert!(matches!(settled, Settled::Errand(_)), "{settled:?}");
    }
    asked.sort();
    assert_eq!(asked, ["http://a.test/data", "http://b.test/lib.js"]);
    assert!(matches!(hand.next(ADDRESS), Next::Waiting));
    let settled = hand.frontier.settle(&mut page, hand.now).unwrap();
    let Settled::Done(finished) = settled else {
        panic!("{settled:?}")
    };
    assert_eq!((finished.entry.tries, finished.entry.wire), (1, 10));
    assert_eq!(hand.frontier.counts().pages, 1);
    assert!(matches!(hand.next(ADDRESS), Next::Done(End::Finished)));
}

#[test]
fn what_may_not_be_asked_is_refused_and_nothing_is_sent() {
    let mut hand = Hand::new(ask_robots);
    hand.root("http://a.test/", false);
    let job = hand.job(ADDRESS);
    let robots = Robots::parse(b"User-agent: *\nDisallow: /private", &["clewline"]);
    let answer = Answer {
        status: 200,
        robots: Some(Box::new(robots)),
        ..Answer::default()
    };
    hand.settle(job.id, Ending::Answered(Box::new(answer)));
    let page = postponed(&mut hand, "http://a.test/");
    send(&mut hand, &page, 1, "http://a.test/private/data");
    assert!(matches!(hand.next(ADDRESS), Next::Waiting));
    let robots = ErrandRefusal::Rule(crate::outcome::SkipReason::Robots);
    assert_eq!(refused(&mut hand), [(1, robots)]);
    // An address of the machine's own network, whatever the name says.
    send(&mut hand, &page, 2, "http://inside.test/");
    assert!(matches!(hand.next("10.0.0.1"), Next::Waiting));
    let address = ErrandRefusal::Rule(crate::outcome::SkipReason::PrivateAddress);
    assert_eq!(refused(&mut hand), [(2, address)]);
    // A robots.txt that can't be read.
    send(&mut hand, &page, 3, "http://c.test/x");
    let job = hand.job(ADDRESS);
    assert_eq!(url_of(&job), "http://c.test/robots.txt");
    hand.answer(&job, 500);
    assert!(matches!(hand.next(ADDRESS), Next::Waiting));
    let unread = ErrandRefusal::Rule(crate::outcome::SkipReason::RobotsUnreachable);
    assert_eq!(refused(&mut hand), [(3, unread)]);
}

#[test]
fn a_host_that_cannot_be_reached_fails_its_errands_and_is_not_asked_again_and_again() {
    for class in [
        FailureClass::DnsNotFound,
        FailureClass::Dns,
        FailureClass::Connect,
    ] {
        let mut hand = Hand::new(ask_robots);
        hand.root("http://a.test/", false);
        let job = hand.job(ADDRESS);
        hand.answer(&job, 404);
        let page = postponed(&mut hand, "http://a.test/");
        send(&mut hand, &page, 1, "http://gone.test/x");
        send(&mut hand, &page, 2, "http://gone.test/y");
        let mut requests = 0;
        loop {
            match hand.frontier.next(hand.now).unwrap() {
                Next::Start(job) => {
                    requests += 1;
                    let is_name = matches!(job.work, Work::Resolve { .. });
                    if is_name && class == FailureClass::Connect {
                        hand.resolve(job.id, ADDRESS);
                    } else {
                        hand.settle(job.id, failure(class));
                    }
                }
                Next::WaitUntil(at) => hand.now = at,
                Next::Waiting => break,
                other => panic!("{other:?}"),
            }
        }
        assert!(requests <= 2, "{class:?}: {requests} requests");
        let failed = ErrandRefusal::Failure(class);
        assert_eq!(refused(&mut hand), [(1, failed), (2, failed)]);
    }
}

#[test]
fn errands_of_a_page_that_ended_are_dropped() {
    let mut hand = Hand::new(|_| {});
    hand.root("http://a.test/", false);
    let mut page = postponed(&mut hand, "http://a.test/");
    for number in 0..3 {
        send(&mut hand, &page, number, &format!("http://b.test/{number}"));
    }
    let under_way = hand.job(ADDRESS);
    let late = page.job;
    hand.frontier.settle(&mut page, hand.now).unwrap();
    let errand = Errand::new(late, 9, CrawlUrl::parse("http://c.test/").unwrap());
    hand.frontier.send_errand(errand, hand.now).unwrap();
    assert!(matches!(hand.next(ADDRESS), Next::Waiting));
    // One that was to be tried again is not.
    let cut = Ending::CutShort {
        wire: 0,
        sent_at: None,
    };
    hand.settle(under_way.id, cut);
    assert!(matches!(hand.next(ADDRESS), Next::Done(End::Finished)));
    assert_eq!(refused(&mut hand), []);
}

#[test]
fn a_budget_that_is_spent_refuses_what_waits() {
    let mut hand = Hand::new(|rules| rules.limits.bytes = Some(10));
    hand.root("http://a.test/", false);
    let mut page = postponed(&mut hand, "http://a.test/");
    send(&mut hand, &page, 1, "http://a.test/x");
    assert!(matches!(hand.next(ADDRESS), Next::Waiting));
    assert_eq!(refused(&mut hand), [(1, ErrandRefusal::Budget)]);
    hand.frontier.settle(&mut page, hand.now).unwrap();
    let end = hand.next(ADDRESS);
    assert!(
        matches!(end, Next::Done(End::Budget(Budget::Bytes))),
        "{end:?}"
    );
}

#[test]
fn a_closed_gate_lets_errands_through_and_pages_wait_before_it() {
    let mut hand = Hand::new(|rules| rules.limits.depth = Some(5));
    hand.root("http://a.test/", false);
    hand.root("http://b.test/", false);
    let first = hand.job(ADDRESS);
    let page = postpone(&mut hand, &first);
    let shut = hand.frontier.hand_out(Handout::ErrandsOnly, hand.now);
    assert_eq!(shut, Ok(()));
    assert!(matches!(hand.next(ADDRESS), Next::Waiting));
    send(&mut hand, &page, 1, "http://b.test/part");
    let job = hand.job(ADDRESS);
    assert_eq!(url_of(&job), "http://b.test/part");
    hand.answer(&job, 200);
    assert!(matches!(hand.next(ADDRESS), Next::Waiting));
    let open = hand.frontier.hand_out(Handout::All, hand.now);
    assert_eq!(open, Ok(()));
    let second = hand.job(ADDRESS);
    assert_ne!(url_of(&first), url_of(&second));
}

#[test]
fn a_page_that_is_no_success_is_settled_at_once() {
    // A page that did not change is rendered again: what it asks for may have changed.
    for (status, unmodified, expected) in
        [(404, false, false), (200, false, true), (200, true, true)]
    {
        let mut hand = Hand::new(|_| {});
        hand.root("http://a.test/", false);
        let job = hand.job(ADDRESS);
        let answer = Answer {
            status,
            unmodified,
            ..Answer::default()
        };
        let mut settlement = Settlement {
            job: job.id,
            ending: Ending::Answered(Box::new(answer)),
        };
        let is_postponed = hand.frontier.postpone(&mut settlement, hand.now);
        assert_eq!(is_postponed, Ok(expected), "{status} {unmodified}");
        if !expected {
            assert_eq!(outcome_of(hand.answer(&job, status)), Outcome::Fetched);
        }
    }
}
