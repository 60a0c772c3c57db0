//! Slots: silent hosts beside good ones, in virtual time.

use super::*;

/// The time after which a silent request is given up, as the fetcher has it.
const FULL_TIME: Duration = Duration::from_secs(20);
const SECOND: Duration = Duration::from_secs(1);
/// What a good host takes to answer.
const QUICK: Duration = Duration::from_millis(20);
const GOOD: &str = "http://good.test/";

/// How a host behaves.
#[derive(Clone, Copy)]
pub(super) enum Manner {
    /// The first byte comes after this time.
    After(Duration),
    /// Nothing ever comes.
    Silent,
    /// A robots.txt comes, and no page ever.
    OnlyRobots,
}

enum Event {
    End(Box<Ending>),
    /// The request looks whether to give way, and later again after this time.
    Look(Duration),
}

/// The frontier, the slots and a web in which some hosts are silent.
pub(super) struct Sim {
    pub(super) frontier: Frontier<MemoryStore>,
    slots: usize,
    pub(super) now: Moment,
    hosts: HashMap<String, Manner>,
    /// The links of pages.
    pub(super) links: HashMap<String, Vec<String>>,
    events: BTreeMap<(Moment, u64), (u64, Event)>,
    numbered: u64,
    flights: HashMap<u64, (String, Moment)>,
    /// Requests that gave way, and how many may have.
    given: u64,
    wanted: u64,
    pub(super) starts: Vec<(Moment, String)>,
    seen: BTreeMap<String, Vec<Seen>>,
    pub(super) finished: Vec<Finished>,
    most_silent: usize,
}

impl Sim {
    pub(super) fn new(slots: usize, change: impl FnOnce(&mut Rules)) -> Self {
        let mut rules = with_politeness(rules(), Politeness::for_speed(Speed::Max));
        rules.limits.concurrency = slots as u32;
        change(&mut rules);
        Self {
            frontier: Frontier::new(rules, MemoryStore::default()),
            slots,
            now: Moment::ZERO,
            hosts: HashMap::new(),
            links: HashMap::new(),
            events: BTreeMap::new(),
            numbered: 0,
            flights: HashMap::new(),
            given: 0,
            wanted: 0,
            starts: Vec::new(),
            seen: BTreeMap::new(),
            finished: Vec::new(),
            most_silent: 0,
        }
    }

    pub(super) fn host(&mut self, url: &str, manner: Manner) {
        let url = CrawlUrl::parse(url).unwrap();
        self.hosts.insert(url.host().into(), manner);
    }

    pub(super) fn root(&mut self, url: &str, manner: Manner) {
        self.host(url, manner);
        let url = CrawlUrl::parse(url).unwrap();
        self.frontier.admit_root(url, false, self.now).unwrap();
    }

    fn silent_roots(&mut self, count: u64, manner: Manner) {
        for number in 0..count {
            self.root(&format!("http://s{number}.x{number}.test/"), manner);
        }
    }

    /// The good host: a page with links to 300 others.
    fn good_root(&mut self) {
        self.root(GOOD, Manner::After(QUICK));
        let pages = (0..300).map(|page| format!("{GOOD}{page}"));
        self.links.insert(GOOD.into(), pages.collect());
    }

    /// Runs to the end, or for so long.
    pub(super) fn run(&mut self, most: Duration) -> Option<End> {
        while self.now < most {
            let next = if self.flights.len() < self.slots {
                self.frontier.next(self.now).unwrap()
            } else {
                Next::Waiting
            };
            let wake = match next {
                Next::Start(job) => {
                    self.start(&job);
                    continue;
                }
                Next::Settled(finished) => {
                    self.finished.push(*finished);
                    continue;
                }
                Next::WaitUntil(at) => Some(at),
                Next::Waiting | Next::Idle => None,
                Next::Done(end) => return Some(end),
            };
            self.wanted = self.frontier.slots_wanted(self.now);
            let event = self.events.keys().next().map(|(at, _)| *at);
            self.now = wake.into_iter().chain(event).min().expect("it waits");
            while let Some(first) = self.events.first_entry()
                && first.key().0 <= self.now
            {
                let (job, event) = first.remove();
                self.happen(job, event);
            }
        }
        None
    }

    fn add(&mut self, after: Duration, job: u64, event: Event) {
        self.numbered += 1;
        let key = (self.now + after, self.numbered);
        self.events.insert(key, (job, event));
    }

    fn start(&mut self, job: &FetchJob) {
        let url = url_of(job).to_owned();
        let id = job.id.0;
        self.flights.insert(id, (url.clone(), self.now));
        let host = CrawlUrl::parse(&url).unwrap().host().to_owned();
        let (answer, comes) = match (&job.work, self.hosts[&host]) {
            (Work::Resolve { .. }, _) => (resolved(&host), Some(Duration::ZERO)),
            (_, Manner::After(time)) => (self.page(&url), Some(time)),
            (Work::Robots { .. }, Manner::OnlyRobots) => (self.page(&url), Some(QUICK)),
            _ => (failure(FailureClass::Timeout), None),
        };
        let comes = comes.filter(|time| *time < FULL_TIME);
        let ending = match comes {
            Some(_) => answer,
            None => failure(FailureClass::Timeout),
        };
        self.add(comes.unwrap_or(FULL_TIME), id, Event::End(Box::new(ending)));
        if job.patience == Patience::GivesWay {
            self.add(SECOND, id, Event::Look(SECOND));
        }
        if !matches!(job.work, Work::Resolve { .. }) {
            self.starts.push((self.now, url));
        }
        let flights = self.flights.values();
        let silent = flights.filter(|(url, _)| self.is_silent(url)).count();
        self.most_silent = self.most_silent.max(silent);
    }

    fn is_silent(&self, url: &str) -> bool {
        let url = CrawlUrl::parse(url).unwrap();
        !matches!(self.hosts[url.host()], Manner::After(_))
    }

    fn page(&self, url: &str) -> Ending {
        let links = self.links.get(url).into_iter().flatten().map(|link| {
            let link = Link::new(CrawlUrl::parse(link).unwrap(), LinkKind::Anchor);
            let key = self.frontier.rules().keyer.key(&link.url);
            Offer { link, key }
        });
        Ending::Answered(Box::new(Answer {
            status: 200,
            first_byte: QUICK,
            links: links.collect(),
            ..Answer::default()
        }))
    }

    fn happen(&mut self, job: u64, event: Event) {
        if !self.flights.contains_key(&job) {
            return;
        }
        let ending = match event {
            Event::End(ending) => *ending,
            Event::Look(pause) if self.given >= self.wanted => {
                return self.add(pause, job, Event::Look(pause * 2));
            }
            Event::Look(_) => {
                self.given += 1;
                Ending::CutShort {
                    wire: 0,
                    sent_at: Some(self.now.saturating_sub(SECOND)),
                }
            }
        };
        let (url, start) = self.flights.remove(&job).unwrap();
        if !matches!(ending, Ending::Resolved { .. }) {
            let host = CrawlUrl::parse(&url).unwrap().host().to_owned();
            self.seen.entry(host).or_default().push(Seen {
                start,
                end: self.now,
                robots: url.ends_with("/robots.txt"),
            });
        }
        let mut settlement = Settlement {
            job: JobId(job),
            ending,
        };
        let settled = self.frontier.settle(&mut settlement, self.now).unwrap();
        if let Settled::Done(finished) = settled {
            self.finished.push(*finished);
        }
    }

    /// When the last request to the good host started, of so many.
    fn good_pages_started(&self, requests: usize) -> Moment {
        let good = self.starts.iter().filter(|(_, url)| url.starts_with(GOOD));
        let seen: Vec<_> = good.clone().collect();
        assert_eq!(seen.len(), requests, "at {:?}: {seen:?}", self.now);
        good.map(|(at, _)| *at).max().unwrap()
    }

    /// How often a URL was asked for.
    fn requests(&self, url: &str) -> usize {
        self.starts.iter().filter(|(_, other)| other == url).count()
    }

    fn outcome(&self, url: &str) -> &Outcome {
        let of_url = |finished: &&Finished| finished.entry.url.as_str() == url;
        &self.finished.iter().find(of_url).expect(url).outcome
    }
}

fn resolved(host: &str) -> Ending {
    Ending::Resolved {
        addresses: vec![address_of(host)],
        ttl: Duration::from_hours(1),
        trusted: false,
    }
}

/// When the good host's last page starts beside others.
fn last_start(manner: Option<Manner>, good_first: bool) -> Moment {
    let mut sim = Sim::new(100, |_| {});
    if good_first {
        sim.good_root();
    }
    if let Some(manner) = manner {
        sim.silent_roots(150, manner);
    }
    if !good_first {
        sim.good_root();
    }
    sim.run(Duration::from_secs(15));
    // Its robots.txt, its root and 300 pages.
    sim.good_pages_started(302)
}

#[test]
fn silent_hosts_hardly_slow_a_good_one() {
    let alone = last_start(None, true);
    for manner in [Manner::Silent, Manner::OnlyRobots] {
        for good_first in [true, false] {
            let beside = last_start(Some(manner), good_first);
            let most = alone * 2 + Duration::from_secs(2);
            assert!(beside <= most, "{beside:?} instead of {alone:?}");
        }
    }
}

#[test]
fn silent_hosts_leave_a_quarter_of_the_slots_and_all_come_to_an_end() {
    for slots in [1, 2, 3, 4, 8, 40] {
        let mut sim = Sim::new(slots, |_| {});
        sim.silent_roots(50, Manner::Silent);
        sim.good_root();
        let end = sim.run(Duration::from_hours(200));
        assert_eq!(end, Some(End::Finished), "{slots} slots");
        assert!(sim.most_silent <= (slots - slots / 4).max(1));
        assert_eq!(sim.frontier.counts().todo(), 0);
        assert_eq!(*sim.outcome(GOOD), Outcome::Fetched);
        let silent = sim
            .finished
            .iter()
            .filter(|one| one.entry.url.path() == "/");
        assert_eq!(silent.count(), 51, "{slots} slots");
    }
}

#[test]
fn hosts_that_are_slow_but_honest_are_fetched_with_one_request_more() {
    let mut sim = Sim::new(20, |rules| {
        Arc::make_mut(&mut rules.host).robots = false;
    });
    sim.silent_roots(40, Manner::Silent);
    let slow: Vec<String> = (0..20).map(|n| format!("http://slow{n}.test/")).collect();
    for url in &slow {
        sim.root(url, Manner::After(Duration::from_secs(3)));
        sim.links.insert(url.clone(), vec![format!("{url}next")]);
    }
    sim.run(Duration::from_hours(1));
    for url in slow {
        assert_eq!(*sim.outcome(&url), Outcome::Fetched);
        assert!(sim.requests(&url) <= 2, "{url}");
        let next = format!("{url}next");
        assert_eq!(*sim.outcome(&next), Outcome::Fetched);
        assert_eq!(sim.requests(&next), 1, "it is known to answer");
    }
}

#[test]
fn without_somebody_who_waits_nobody_gives_way() {
    let mut sim = Sim::new(100, |rules| {
        Arc::make_mut(&mut rules.host).robots = false;
    });
    sim.silent_roots(76, Manner::After(Duration::from_secs(3)));
    sim.run(Duration::from_mins(1));
    assert_eq!(sim.given, 1, "one waits: the 76th");
}

#[test]
fn a_host_that_is_found_late_is_asked_soon() {
    let mut sim = Sim::new(100, |_| {});
    sim.silent_roots(500, Manner::Silent);
    sim.good_root();
    let late = "http://late.test/";
    sim.host(late, Manner::After(QUICK));
    sim.run(Duration::from_secs(25));
    assert!(sim.most_silent > 50);
    // By now every silent host was asked, and those with their full time are in flight.
    let found = sim.now;
    let url = CrawlUrl::parse(late).unwrap();
    sim.frontier.admit_root(url, false, found).unwrap();
    sim.run(found + Duration::from_secs(5));
    let asked = sim.starts.iter().find(|(_, url)| url.starts_with(late));
    let (asked, _) = asked.expect("it is asked");
    assert!(
        *asked <= found + SECOND * 2,
        "{asked:?}, found at {found:?}"
    );
}

#[test]
fn giving_way_stays_polite() {
    let politeness = Politeness::for_speed(Speed::Polite);
    let mut sim = Sim::new(10, |rules| {
        *rules = with_politeness(rules.clone(), Politeness::for_speed(Speed::Polite));
    });
    sim.silent_roots(30, Manner::Silent);
    sim.good_root();
    sim.run(Duration::from_hours(3));
    assert!(sim.given > 20, "{} gave way", sim.given);
    for (host, seen) in &mut sim.seen {
        seen.sort_by_key(|one| one.start);
        let (gap, most) = extremes(seen);
        let rate = politeness.host.most_rate.unwrap();
        assert!(gap >= rate.interval(), "{host}: {gap:?}");
        assert!(most <= politeness.host.most_in_flight as usize, "{host}");
    }
}

#[test]
fn a_host_that_gave_pages_in_an_earlier_run_is_proven() {
    let rules = || with_politeness(rules(), Politeness::for_speed(Speed::Max));
    for (pages, patience) in [(0, Patience::GivesWay), (3, Patience::Full)] {
        let mut store = MemoryStore::default();
        let url = CrawlUrl::parse(GOOD).unwrap();
        let host = rules().keyer.key(&url).host();
        let row = LaneRow {
            pages,
            ..LaneRow::default()
        };
        store.save_lane(host, row).unwrap();
        let mut frontier = Frontier::new(rules(), store);
        frontier.admit_root(url, false, Moment::ZERO).unwrap();
        let Next::Start(job) = frontier.next(Moment::from_secs(1)).unwrap() else {
            panic!("nothing starts");
        };
        assert_eq!(job.patience, patience, "{pages} pages");
    }
}

#[test]
fn a_first_byte_that_takes_far_too_long_ends_a_try_that_does_not_count() {
    let mut hand = Hand::new(|rules| rules.limits.tries = 1);
    for page in 0..30 {
        hand.root(&format!("{GOOD}{page}"), false);
    }
    for _ in 0..21 {
        let job = hand.job("93.0.0.1");
        assert_ne!(job.patience, Patience::FirstByte(Duration::from_secs(5)));
        hand.answer(&job, 200);
    }
    let cut = hand.job("93.0.0.1");
    let other = hand.job("93.0.0.1");
    assert_eq!(cut.patience, Patience::FirstByte(Duration::from_secs(5)));
    let ending = Ending::CutShort {
        wire: 0,
        sent_at: None,
    };
    let url = url_of(&cut).to_owned();
    assert!(matches!(hand.settle(cut.id, ending), Settled::Again(_)));
    // The host may have become slow: nothing else is cut before it answers as it did.
    let next = hand.job("93.0.0.1");
    assert_eq!(next.patience, Patience::Full);
    hand.answer(&other, 200);
    let mut jobs = vec![next];
    while jobs.last().is_none_or(|job| url_of(job) != url) {
        jobs.push(hand.job("93.0.0.1"));
    }
    let again = jobs.pop().unwrap();
    assert_eq!(again.patience, Patience::Full, "it has its full time");
    assert!(matches!(jobs[1].patience, Patience::FirstByte(_)));
    let settled = hand.answer(&again, 200);
    let Settled::Done(finished) = settled else {
        panic!("not done: {settled:?}");
    };
    assert_eq!(
        (finished.entry.tries, finished.outcome),
        (1, Outcome::Fetched)
    );
}

/// A host that answered, then times out while nothing else of it answers, is silent; one slow
/// page among others is not.
#[test]
fn a_proven_host_that_falls_silent_loses_its_standing() {
    use crate::frontier::slots::HostStanding;
    for answers_meanwhile in [false, true] {
        let mut hand = Hand::new(|_| {});
        for page in 0..3 {
            hand.root(&format!("{GOOD}{page}"), false);
        }
        let first = hand.job("93.0.0.1");
        hand.answer(&first, 200);
        let (slow, quick) = (hand.job("93.0.0.1"), hand.job("93.0.0.1"));
        if answers_meanwhile {
            hand.answer(&quick, 200);
        }
        hand.settle(slow.id, failure(FailureClass::Timeout));
        let lane = hand.frontier.lanes.values().next().unwrap();
        let silent = lane.standing == HostStanding::Silent;
        assert_eq!(silent, !answers_meanwhile);
    }
}
