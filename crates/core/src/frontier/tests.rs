//! The frontier alone, in virtual time, against a referee that knows only the rules.

mod doors;
mod errands;
mod groups;
mod levels;
mod outage;
mod parts;
mod pauses;
mod refusals;
mod replay;
mod slots;
mod suspects;
mod trouble;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use mutate::Dice;

use super::flights::JobKind;
use super::*;
use crate::key::Keyer;
use crate::link::{Link, LinkKind};
use crate::outcome::{FailureClass, Outcome};
use crate::politeness::{Politeness, Rate, Speed};
use crate::robots::Robots;
use crate::scope::{Reach, Scope};
use crate::url::CrawlUrl;

/// What a run is configured with.
struct Setup {
    seed: u64,
    hosts: u64,
    pages_per_host: u64,
    rules: Rules,
    troubles: bool,
}

/// One request as the referee saw it.
struct Seen {
    start: Moment,
    end: Moment,
    robots: bool,
}

/// The simulated web and everything that was observed in it.
struct World {
    setup_hosts: u64,
    pages_per_host: u64,
    troubles: bool,
    dice: Dice,
    keyer: Keyer,
    frontier: Frontier<MemoryStore>,
    flights: BinaryHeap<Reverse<(Moment, u64)>>,
    endings: HashMap<u64, Ending>,
    by_host: BTreeMap<String, Vec<Seen>>,
    by_domain: BTreeMap<String, Vec<Seen>>,
    by_address: BTreeMap<IpAddr, Vec<Seen>>,
    finished: Vec<(CrawlUrl, Outcome)>,
    most_in_flight: usize,
    most_lanes: usize,
    /// From when to when the network is away.
    away: Option<(Moment, Moment)>,
    /// Pages that are settled later, in some runs.
    renderings: errands::Renderings,
}

fn rules() -> Rules {
    let scope = Scope::new(Reach::Any, false, &[], &[]).unwrap();
    Rules {
        sitemaps: false,
        ..Rules::new(scope, Keyer::new(1, &[]))
    }
}

fn with_politeness(mut rules: Rules, politeness: Politeness) -> Rules {
    let host = HostRules::new(politeness);
    rules.host = Arc::new(host);
    rules
}

fn host_name(number: u64) -> String {
    // Five hosts to a domain.
    format!("h{number}.d{}.test", number / 5)
}

fn address_of(host: &str) -> IpAddr {
    let hash = xxhash_rust::xxh3::xxh3_64(host.as_bytes());
    // A quarter of the hosts share sixteen addresses.
    if hash.is_multiple_of(4) {
        Ipv4Addr::new(93, 0, 0, (hash >> 8) as u8 & 15).into()
    } else {
        Ipv4Addr::new(
            94,
            (hash >> 24) as u8,
            (hash >> 16) as u8,
            (hash >> 8) as u8,
        )
        .into()
    }
}

/// All pages of every third host say the same, as those of a trap do.
fn look_of(url: &CrawlUrl) -> Look {
    let of_host = xxhash_rust::xxh3::xxh3_64(url.host().as_bytes());
    let text = if of_host.is_multiple_of(3) {
        of_host
    } else {
        xxhash_rust::xxh3::xxh3_64(url.as_str().as_bytes())
    };
    Look {
        pieces: vec![(text >> 32) as u32],
        text,
        links: 0,
        cost: 1,
    }
}

impl World {
    fn new(setup: Setup) -> Self {
        let keyer = setup.rules.keyer.clone();
        let mut frontier = Frontier::new(setup.rules, MemoryStore::default());
        let root = CrawlUrl::parse(&format!("http://{}/0", host_name(0))).unwrap();
        frontier.admit_root(root, false, Moment::ZERO).unwrap();
        Self {
            setup_hosts: setup.hosts,
            pages_per_host: setup.pages_per_host,
            troubles: setup.troubles,
            dice: Dice(setup.seed),
            keyer,
            frontier,
            flights: BinaryHeap::new(),
            endings: HashMap::new(),
            by_host: BTreeMap::new(),
            by_domain: BTreeMap::new(),
            by_address: BTreeMap::new(),
            finished: Vec::new(),
            most_in_flight: 0,
            most_lanes: 0,
            away: None,
            renderings: errands::Renderings::default(),
        }
    }

    /// Runs to the end and says when and why that was.
    fn run(&mut self, room: usize) -> (Moment, End) {
        let mut now = Moment::ZERO;
        self.frontier.set_slots(room);
        for _ in 0..20_000_000u64 {
            let wake_at = if self.frontier.counts().in_flight as usize >= room {
                None
            } else {
                match self.frontier.next(now).unwrap() {
                    Next::Start(job) => {
                        self.start(job, now);
                        continue;
                    }
                    Next::Settled(finished) => {
                        self.finished.push((finished.entry.url, finished.outcome));
                        continue;
                    }
                    Next::WaitUntil(at) => {
                        assert!(at > now, "a wake-up in the past would spin");
                        Some(at)
                    }
                    Next::Waiting | Next::Idle => None,
                    Next::Done(end) => return (now, end),
                }
            };
            now = self.advance(now, wake_at);
        }
        panic!("the crawl does not end");
    }

    /// Goes on to the next end of a job or the wake-up, whichever comes first.
    fn advance(&mut self, now: Moment, wake_at: Option<Moment>) -> Moment {
        match (self.flights.peek(), wake_at) {
            (Some(Reverse((end, _))), wake) if wake.is_none_or(|wake| *end <= wake) => {
                let Some(Reverse((end, job))) = self.flights.pop() else {
                    unreachable!()
                };
                let ending = self.endings.remove(&job).unwrap();
                let mut settlement = Settlement {
                    job: JobId(job),
                    ending,
                };
                if self
                    .renderings
                    .takes(&mut self.frontier, &mut settlement, end)
                {
                    let took = Duration::from_millis(200 + self.dice.roll(20_000));
                    self.endings.insert(job, settlement.ending);
                    self.flights.push(Reverse((end + took, job)));
                    return end.max(now);
                }
                let settled = self.frontier.settle(&mut settlement, end).unwrap();
                self.renderings
                    .heed(&mut self.frontier, JobId(job), &settled);
                if let Settled::Done(finished) = settled {
                    self.finished.push((finished.entry.url, finished.outcome));
                }
                end.max(now)
            }
            (_, Some(wake)) => wake,
            (_, None) => panic!("waiting for nothing"),
        }
    }

    fn start(&mut self, job: FetchJob, now: Moment) {
        let mut took = Duration::from_millis(5 + self.dice.roll(400));
        let cut = self.cut_off(now, now + took);
        if let Some((lost, _)) = &cut {
            took = *lost;
        }
        let end = now + took;
        if let Some((_, class)) = cut {
            if let Some((url, address)) = job.work.request() {
                self.observe(url, address, now, end);
            }
            self.endings.insert(job.id.0, failure(class));
            self.flights.push(Reverse((end, job.id.0)));
            return;
        }
        let ending = match job.work {
            Work::Resolve { url } => self.resolve(&url),
            Work::Page { url, address, .. } => {
                self.observe(&url, address, now, end);
                self.answer(&url, took)
            }
            Work::Robots { url, address, .. } => {
                self.observe(&url, address, now, end);
                self.robots(&url)
            }
            Work::Errand { url, address, .. } => {
                self.observe(&url, address, now, end);
                self.part(&url, took)
            }
        };
        self.endings.insert(job.id.0, ending);
        self.flights.push(Reverse((end, job.id.0)));
        self.most_in_flight = self.most_in_flight.max(self.flights.len());
        self.most_lanes = self.most_lanes.max(self.frontier.lanes.len());
    }

    fn observe(&mut self, url: &CrawlUrl, address: Option<IpAddr>, start: Moment, end: Moment) {
        let robots = url.path() == "/robots.txt";
        let seen = || Seen { start, end, robots };
        self.by_host
            .entry(url.host().into())
            .or_default()
            .push(seen());
        let domain = crate::domain::registrable(url.host());
        self.by_domain
            .entry(domain.into())
            .or_default()
            .push(seen());
        self.by_address
            .entry(address.unwrap())
            .or_default()
            .push(seen());
    }

    fn resolve(&mut self, url: &CrawlUrl) -> Ending {
        if self.troubles && self.dice.chance(2) {
            return failure(FailureClass::Dns);
        }
        let addresses = vec![address_of(url.host())];
        Ending::Resolved {
            addresses,
            ttl: Duration::from_mins(1),
            trusted: false,
        }
    }

    fn robots(&mut self, url: &CrawlUrl) -> Ending {
        if self.troubles && self.dice.chance(10) {
            return self.trouble();
        }
        let number = xxhash_rust::xxh3::xxh3_64(url.host().as_bytes()) % 10;
        let body = match number {
            0 => "User-agent: *\nDisallow: /1",
            1 => "User-agent: *\nCrawl-delay: 3",
            _ => "",
        };
        let robots = Some(Box::new(Robots::parse(body.as_bytes(), &["clewline"])));
        Ending::Answered(Box::new(Answer {
            status: 200,
            robots,
            ..Answer::default()
        }))
    }

    /// What a page asks for while it waits.
    fn part(&mut self, url: &CrawlUrl, took: Duration) -> Ending {
        let number = xxhash_rust::xxh3::xxh3_64(url.host().as_bytes()) % 10;
        let is_refused = number == 0 && url.path().starts_with("/1");
        assert!(!is_refused, "robots.txt disallows {url}");
        if self.troubles && self.dice.chance(15) {
            return self.trouble();
        }
        Ending::Answered(Box::new(Answer {
            status: 200,
            first_byte: took,
            wire: 100,
            ..Answer::default()
        }))
    }

    fn answer(&mut self, url: &CrawlUrl, took: Duration) -> Ending {
        if self.troubles && self.dice.chance(15) {
            return self.trouble();
        }
        let mut answer = Answer {
            status: 200,
            first_byte: took,
            wire: 1000,
            look: Some(Box::new(look_of(url))),
            ..Answer::default()
        };
        if self.troubles && self.dice.chance(5) {
            answer.status = 302;
            answer.location = Some(self.random_url());
        } else {
            for _ in 0..self.dice.roll(8) {
                let link = Link::new(self.random_url(), LinkKind::Anchor);
                answer.links.push(link.by_ref(), self.keyer.key(&link.url));
            }
            // The next page of the same host, so that everything is reachable.
            let number: u64 = url.path()[1..].parse().unwrap();
            let next = if number + 1 < self.pages_per_host {
                format!("/{}", number + 1)
            } else {
                let host: u64 = url.host()[1..url.host().find('.').unwrap()]
                    .parse()
                    .unwrap();
                format!("http://{}/0", host_name((host + 1) % self.setup_hosts))
            };
            let link = Link::new(url.join(&next).unwrap(), LinkKind::Anchor);
            answer.links.push(link.by_ref(), self.keyer.key(&link.url));
        }
        Ending::Answered(Box::new(answer))
    }

    fn random_url(&mut self) -> CrawlUrl {
        let host = host_name(self.dice.roll(self.setup_hosts));
        let page = self.dice.roll(self.pages_per_host);
        CrawlUrl::parse(&format!("http://{host}/{page}")).unwrap()
    }

    fn trouble(&mut self) -> Ending {
        match self.dice.roll(6) {
            0 => failure(FailureClass::Timeout),
            1 => failure(FailureClass::Reset),
            2 => failure(FailureClass::Connect),
            3 => Ending::Answered(Box::new(Answer {
                status: 503,
                ..Answer::default()
            })),
            4 => {
                let retry_after = Some(Duration::from_secs(self.dice.roll(100)));
                let answer = Answer {
                    status: 429,
                    retry_after,
                    ..Answer::default()
                };
                Ending::Answered(Box::new(answer))
            }
            _ => failure(FailureClass::Protocol),
        }
    }

    /// Every URL that was let in was settled exactly once, and the counts add up.
    fn check_books(&self) {
        let counts = self.frontier.counts();
        assert_eq!(counts.settled, self.finished.len() as u64);
        assert_eq!(counts.in_flight, 0);
        let urls: HashSet<_> = self.finished.iter().map(|(url, _)| url.as_str()).collect();
        assert_eq!(urls.len(), self.finished.len(), "a URL was settled twice");
    }
}

fn failure(class: FailureClass) -> Ending {
    let message = class.about().into();
    Ending::Failed(Failure {
        class,
        message,
        excuse: None,
        connected: false,
        wire: 0,
        sent_at: None,
    })
}

/// The smallest gap between starts and the most in flight at once.
fn extremes(seen: &[Seen]) -> (Duration, usize) {
    let gap = seen
        .windows(2)
        .map(|pair| pair[1].start.saturating_sub(pair[0].start))
        .min();
    let most = seen
        .iter()
        .map(|one| {
            seen.iter()
                .filter(|other| other.start <= one.start && other.end > one.start)
                .count()
        })
        .max();
    (gap.unwrap_or(Duration::MAX), most.unwrap_or(0))
}

fn check_politeness(world: &World, politeness: &Politeness) {
    let gap_of = |rate: Option<Rate>| rate.map_or(Duration::ZERO, Rate::interval);
    for (host, seen) in &world.by_host {
        let (gap, most) = extremes(seen);
        assert!(gap >= gap_of(politeness.host.most_rate), "{host}: {gap:?}");
        assert!(
            most <= politeness.host.most_in_flight as usize,
            "{host}: {most} in flight"
        );
        if xxhash_rust::xxh3::xxh3_64(host.as_bytes()) % 10 == 1 {
            assert!(most <= 1, "{host}: a Crawl-delay means one at a time");
            // Counted from the request that brought the delay.
            let known = seen.iter().rposition(|one| one.robots).unwrap();
            let after_robots = extremes(&seen[known..]).0;
            assert!(
                after_robots >= Duration::from_secs(3),
                "{host}: {after_robots:?}"
            );
        }
    }
    let groups = world
        .by_domain
        .iter()
        .map(|(name, seen)| (name.clone(), seen, politeness.domain));
    let addresses = world
        .by_address
        .iter()
        .map(|(name, seen)| (name.to_string(), seen, politeness.address));
    for (name, seen, pace) in groups.chain(addresses) {
        let (gap, most) = extremes(seen);
        assert!(gap >= gap_of(pace.rate), "{name}: {gap:?}");
        assert!(most <= pace.in_flight as usize, "{name}: {most} in flight");
    }
}

#[test]
fn thousands_of_hosts_with_trouble_stay_polite_and_end() {
    for seed in 1..=3 {
        let politeness = Politeness::for_speed(Speed::Polite);
        let rules = with_politeness(rules(), politeness.clone());
        let (hosts, pages_per_host) = (2_000, 5);
        let mut world = World::new(Setup {
            seed,
            hosts,
            pages_per_host,
            rules,
            troubles: true,
        });
        let (_, end) = world.run(500);
        assert_eq!(end, End::Finished);
        assert_eq!(world.frontier.counts().todo(), 0);
        assert!(
            world.finished.len() > 5_000,
            "only {} URLs were reached",
            world.finished.len()
        );
        assert!(world.most_in_flight > 100, "lanes run beside each other");
        world.check_books();
        check_politeness(&world, &politeness);
    }
}

#[test]
fn few_lanes_in_memory_reach_every_host() {
    let politeness = Politeness::for_speed(Speed::Polite);
    let rules = with_politeness(rules(), politeness.clone());
    let rules = Rules {
        active_lanes: 20,
        ..rules
    };
    let (hosts, pages_per_host) = (500, 4);
    let mut world = World::new(Setup {
        seed: 5,
        hosts,
        pages_per_host,
        rules,
        troubles: true,
    });
    let (_, end) = world.run(64);
    assert_eq!(end, End::Finished);
    assert_eq!(world.frontier.counts().todo(), 0);
    assert!(
        world.finished.len() > 1_000,
        "only {} URLs were reached",
        world.finished.len()
    );
    assert!(world.most_lanes <= 20 + 8, "{} lanes", world.most_lanes);
    world.check_books();
    check_politeness(&world, &politeness);
}

#[test]
fn without_trouble_every_page_is_fetched() {
    for speed in [Speed::Gentle, Speed::Fast, Speed::Max] {
        let politeness = Politeness::for_speed(speed);
        let rules = with_politeness(rules(), politeness.clone());
        let (hosts, pages_per_host) = (200, 10);
        let mut world = World::new(Setup {
            seed: 9,
            hosts,
            pages_per_host,
            rules,
            troubles: false,
        });
        let (_, end) = world.run(64);
        assert_eq!(end, End::Finished, "{speed:?}");
        assert!(world.most_in_flight <= 64);
        world.check_books();
        check_politeness(&world, &politeness);
        let skipped = world
            .finished
            .iter()
            .filter(|(_, outcome)| *outcome != Outcome::Fetched);
        let only_robots = skipped
            .inspect(|(url, _)| assert!(url.path().starts_with("/1"), "{url}"))
            .count();
        assert!(only_robots > 0, "some robots.txt disallow");
        // The chain through a host with a disallowed page is cut there, so links must help.
        assert!(world.finished.len() as u64 > hosts * pages_per_host * 9 / 10);
    }
}

#[test]
fn page_budgets_are_exact() {
    for pages in [1, 7, 100] {
        let mut rules = with_politeness(rules(), Politeness::for_speed(Speed::Max));
        rules.limits.pages = Some(pages);
        let mut world = World::new(Setup {
            seed: 4,
            hosts: 50,
            pages_per_host: 20,
            rules,
            troubles: true,
        });
        let (_, end) = world.run(64);
        assert_eq!(end, End::Budget(Budget::Pages));
        let fetched = world
            .finished
            .iter()
            .filter(|(_, outcome)| *outcome == Outcome::Fetched);
        assert_eq!(fetched.count() as u64, pages);
        assert!(world.frontier.counts().todo() > 0);
        world.check_books();
    }
}

#[test]
fn host_byte_and_time_budgets_hold() {
    let mut rules = with_politeness(rules(), Politeness::for_speed(Speed::Max));
    rules.limits.pages_per_host = Some(3);
    let mut world = World::new(Setup {
        seed: 4,
        hosts: 50,
        pages_per_host: 20,
        rules,
        troubles: false,
    });
    assert_eq!(world.run(64).1, End::Budget(Budget::PagesPerHost));
    let mut per_host: HashMap<_, u32> = HashMap::new();
    for (url, outcome) in &world.finished {
        if *outcome == Outcome::Fetched {
            *per_host.entry(url.host()).or_default() += 1;
        }
    }
    assert!(per_host.values().all(|pages| *pages <= 3), "{per_host:?}");

    let mut rules = with_politeness(self::rules(), Politeness::for_speed(Speed::Max));
    rules.limits.bytes = Some(20_000);
    let mut world = World::new(Setup {
        seed: 4,
        hosts: 50,
        pages_per_host: 20,
        rules,
        troubles: false,
    });
    assert_eq!(world.run(8).1, End::Budget(Budget::Bytes));
    assert!(world.frontier.counts().wire <= 20_000 + 8 * 1000);

    let mut rules = with_politeness(self::rules(), Politeness::for_speed(Speed::Polite));
    rules.limits.time = Some(Duration::from_secs(20));
    let mut world = World::new(Setup {
        seed: 4,
        hosts: 50,
        pages_per_host: 20,
        rules,
        troubles: false,
    });
    let (now, end) = world.run(64);
    assert_eq!(end, End::Budget(Budget::Time));
    assert!(now < Duration::from_secs(22), "{now:?}");
}

#[test]
fn depth_is_the_shortest_path() {
    let mut rules = with_politeness(rules(), Politeness::for_speed(Speed::Max));
    rules.limits.depth = Some(4);
    let mut world = World::new(Setup {
        seed: 11,
        hosts: 100,
        pages_per_host: 10,
        rules,
        troubles: false,
    });
    let mut depths = Vec::new();
    let mut now = Moment::ZERO;
    loop {
        match world.frontier.next(now).unwrap() {
            Next::Start(job) => {
                if let Work::Page { .. } = &job.work
                    && let JobKind::Page(entry) = &world.frontier.flights.get(job.id).unwrap().kind
                {
                    depths.push(entry.depth);
                }
                world.start(job, now);
            }
            Next::Settled(finished) => world.finished.push((finished.entry.url, finished.outcome)),
            Next::WaitUntil(at) => now = world.advance(now, Some(at)),
            Next::Waiting | Next::Idle => now = world.advance(now, None),
            Next::Done(end) => {
                assert_eq!(end, End::Finished);
                break;
            }
        }
    }
    assert!(depths.is_sorted(), "levels are handed out in order");
    assert_eq!(depths.last(), Some(&4));
    world.check_books();
}

/// A frontier at full speed without robots, driven by hand.
struct Hand {
    frontier: Frontier<MemoryStore>,
    now: Moment,
}

/// Hosts are asked for their robots.txt.
fn ask_robots(rules: &mut Rules) {
    Arc::make_mut(&mut rules.host).robots = true;
}

impl Hand {
    fn new(change: impl FnOnce(&mut Rules)) -> Self {
        let scope = Scope::new(Reach::Host, false, &[], &[]).unwrap();
        let mut rules = Rules::new(scope, Keyer::new(1, &[]));
        rules.sitemaps = false;
        rules.host = Arc::new(HostRules {
            politeness: Politeness::for_speed(Speed::Max),
            near: None,
            robots: false,
            pages: None,
        });
        change(&mut rules);
        Self {
            frontier: Frontier::new(rules, MemoryStore::default()),
            now: Moment::ZERO,
        }
    }

    fn root(&mut self, url: &str, guessed: bool) {
        self.frontier
            .admit_root(CrawlUrl::parse(url).unwrap(), guessed, self.now)
            .unwrap();
    }

    /// What is next beside resolving; names resolve to this address.
    fn next(&mut self, address: &str) -> Next {
        loop {
            match self.frontier.next(self.now).unwrap() {
                Next::Start(FetchJob {
                    id,
                    work: Work::Resolve { .. },
                    ..
                }) => drop(self.resolve(id, address)),
                other => return other,
            }
        }
    }

    /// The next job that is not resolving, whenever it is due.
    fn job(&mut self, address: &str) -> FetchJob {
        loop {
            match self.next(address) {
                Next::Start(job) => return job,
                Next::WaitUntil(at) => self.now = at,
                other => panic!("no job but {other:?}"),
            }
        }
    }

    fn settle(&mut self, job: JobId, ending: Ending) -> Settled {
        self.frontier
            .settle(&mut Settlement { job, ending }, self.now)
            .unwrap()
    }

    fn resolve(&mut self, job: JobId, address: &str) -> Settled {
        let ending = Ending::Resolved {
            addresses: vec![address.parse().unwrap()],
            ttl: Duration::from_hours(1),
            trusted: false,
        };
        self.settle(job, ending)
    }

    /// Answers with a page that links to these places.
    fn page(&mut self, job: &FetchJob, links: &[(&str, LinkKind)]) -> Settled {
        let offers = links.iter().map(|(url, kind)| {
            let link = Link::new(CrawlUrl::parse(url).unwrap(), *kind);
            let key = self.frontier.rules().keyer.key(&link.url);
            Offer { link, key }
        });
        let answer = Answer {
            status: 200,
            links: offers.collect(),
            ..Answer::default()
        };
        self.settle(job.id, Ending::Answered(Box::new(answer)))
    }

    fn redirect(&mut self, job: &FetchJob, to: &str, cookie: bool) -> Settled {
        let location = Some(CrawlUrl::parse(to).unwrap());
        let answer = Answer {
            status: 302,
            location,
            cookie,
            ..Answer::default()
        };
        self.settle(job.id, Ending::Answered(Box::new(answer)))
    }

    fn answer(&mut self, job: &FetchJob, status: u16) -> Settled {
        self.settle(
            job.id,
            Ending::Answered(Box::new(Answer {
                status,
                ..Answer::default()
            })),
        )
    }
}

fn url_of(job: &FetchJob) -> &str {
    job.work.url().as_str()
}

fn outcome_of(settled: Settled) -> Outcome {
    match settled {
        Settled::Done(finished) => finished.outcome,
        other => panic!("not done but {other:?}"),
    }
}

#[test]
fn a_root_without_scheme_falls_back_to_http() {
    let mut hand = Hand::new(|_| {});
    hand.root("https://a.test/x", true);
    let job = hand.job("93.0.0.1");
    assert!(job.work.is_guess());
    assert!(matches!(
        hand.settle(job.id, failure(FailureClass::Connect)),
        Settled::Again(_)
    ));
    let job = hand.job("93.0.0.1");
    assert_eq!(url_of(&job), "http://a.test/x");
    assert!(!job.work.is_guess());
    assert_eq!(outcome_of(hand.answer(&job, 200)), Outcome::Fetched);
    assert_eq!(hand.frontier.counts().todo(), 0);
}

#[test]
fn a_bad_certificate_is_no_reason_to_ask_in_the_clear() {
    for class in [FailureClass::Certificate, FailureClass::Dns] {
        let mut hand = Hand::new(|_| {});
        hand.root("https://a.test/x", true);
        for _ in 0..3 {
            let job = hand.job("93.0.0.1");
            assert_eq!(url_of(&job), "https://a.test/x");
            let settled = hand.settle(job.id, failure(class));
            assert!(matches!(settled, Settled::Again(_)), "{class:?}");
        }
        let job = hand.job("93.0.0.1");
        let settled = hand.settle(job.id, failure(class));
        assert_eq!(outcome_of(settled), Outcome::Failed(class));
        assert_eq!(hand.frontier.notes().count(), 0);
    }
}

#[test]
fn https_is_given_up_only_after_all_addresses() {
    let asked = |classes: &[FailureClass]| {
        let mut hand = Hand::new(|_| {});
        hand.root("https://a.test/x", true);
        let Next::Start(job) = hand.frontier.next(hand.now).unwrap() else {
            panic!("a name to resolve");
        };
        let ending = Ending::Resolved {
            addresses: vec!["93.0.0.1".parse().unwrap(), "93.0.0.2".parse().unwrap()],
            ttl: Duration::from_hours(1),
            trusted: false,
        };
        hand.settle(job.id, ending);
        let tries = classes.iter().map(|class| {
            let job = hand.job("93.0.0.1");
            let Work::Page { url, address, .. } = &job.work else {
                panic!("a page");
            };
            let asked = (url.scheme(), address.unwrap().to_string());
            hand.settle(job.id, failure(*class));
            asked
        });
        let tries: Vec<String> = tries
            .map(|(scheme, address)| format!("{} {address}", scheme.as_str()))
            .collect();
        tries.join(", ")
    };
    let (connect, certificate) = (FailureClass::Connect, FailureClass::Certificate);
    assert_eq!(
        asked(&[connect, connect, connect]),
        "https 93.0.0.1, https 93.0.0.2, http 93.0.0.1"
    );
    assert_eq!(
        asked(&[certificate, connect, connect]),
        "https 93.0.0.1, https 93.0.0.2, https 93.0.0.1"
    );
}

#[test]
fn a_guessed_scheme_is_known_to_be_one_until_it_answers() {
    for guessed in [true, false] {
        let mut hand = Hand::new(ask_robots);
        hand.root("https://a.test/x", guessed);
        let job = hand.job("93.0.0.1");
        assert_eq!(url_of(&job), "https://a.test/robots.txt");
        assert_eq!(job.work.is_guess(), guessed);
        hand.settle(job.id, failure(FailureClass::Connect));
        let job = hand.job("93.0.0.1");
        let scheme = if guessed { "http" } else { "https" };
        assert_eq!(url_of(&job), format!("{scheme}://a.test/robots.txt"));
        assert!(!job.work.is_guess());
    }
}

#[test]
fn redirects_end_at_the_limit_and_in_loops() {
    let mut hand = Hand::new(|rules| rules.limits.redirects = 2);
    hand.root("http://a.test/0", false);
    for hop in 1..=3 {
        let job = hand.job("93.0.0.1");
        let settled = hand.redirect(&job, &format!("http://a.test/{hop}"), false);
        assert!(matches!(outcome_of(settled), Outcome::Redirected(_)));
    }
    assert!(matches!(
        hand.frontier.next(hand.now).unwrap(),
        Next::Done(End::Finished)
    ));
    let refused: HashMap<_, _> = hand.frontier.refused().collect();
    assert_eq!(refused[&SkipReason::RedirectLimit], 1);

    let mut hand = Hand::new(|_| {});
    hand.root("http://a.test/0", false);
    let job = hand.job("93.0.0.1");
    hand.redirect(&job, "http://a.test/1", false);
    let job = hand.job("93.0.0.1");
    let looped = Outcome::Failed(FailureClass::RedirectLoop);
    let settled = hand.redirect(&job, "http://a.test/0", false);
    assert_eq!(outcome_of(settled), looped);
    assert!(matches!(
        hand.frontier.next(hand.now).unwrap(),
        Next::Done(End::Finished)
    ));

    // Both are linked, so neither is behind the other's redirect.
    let mut hand = Hand::new(|_| {});
    hand.root("http://a.test/", false);
    let job = hand.job("93.0.0.1");
    let both = ["http://a.test/0", "http://a.test/1"];
    hand.page(&job, &both.map(|url| (url, LinkKind::Anchor)));
    let outcomes = both.map(|_| {
        let job = hand.job("93.0.0.1");
        let other = if url_of(&job) == both[0] {
            both[1]
        } else {
            both[0]
        };
        outcome_of(hand.redirect(&job, other, false))
    });
    assert!(matches!(outcomes[0], Outcome::Redirected(_)));
    assert_eq!(outcomes[1], looped);
}

#[test]
fn a_cookie_wall_is_passed_once() {
    let mut hand = Hand::new(|_| {});
    hand.root("http://a.test/", false);
    let job = hand.job("93.0.0.1");
    // It is the same URL once more, so that it ends once.
    let settled = hand.redirect(&job, "http://a.test/", true);
    assert!(matches!(settled, Settled::Again(_)), "{settled:?}");
    let job = hand.job("93.0.0.1");
    assert_eq!(url_of(&job), "http://a.test/");
    let settled = hand.redirect(&job, "http://a.test/", true);
    assert_eq!(
        outcome_of(settled),
        Outcome::Failed(FailureClass::RedirectLoop)
    );
    assert!(matches!(
        hand.frontier.next(hand.now).unwrap(),
        Next::Done(End::Finished)
    ));
}

#[test]
fn the_host_a_root_redirects_to_joins_the_roots() {
    let mut hand = Hand::new(|_| {});
    hand.root("http://a.test/", false);
    let job = hand.job("93.0.0.1");
    hand.redirect(&job, "http://b.test/home", false);
    let job = hand.job("93.0.0.2");
    hand.page(&job, &[("http://b.test/next", LinkKind::Anchor)]);
    assert_eq!(url_of(&hand.job("93.0.0.2")), "http://b.test/next");
    let notes: Vec<_> = hand.frontier.notes().collect();
    assert!(
        notes.contains(&Note::HostJoined {
            host: "b.test".into()
        }),
        "{notes:?}"
    );
}

#[test]
fn private_addresses_are_refused_except_for_roots() {
    let mut hand =
        Hand::new(|rules| rules.scope = Scope::new(Reach::Any, false, &[], &[]).unwrap());
    hand.root("http://a.test/", false);
    let job = hand.job("127.0.0.1");
    hand.page(&job, &[("http://b.test/", LinkKind::Anchor)]);
    let Next::Start(resolve) = hand.frontier.next(hand.now).unwrap() else {
        panic!("resolve")
    };
    hand.resolve(resolve.id, "127.0.0.2");
    let Next::Settled(finished) = hand.frontier.next(hand.now).unwrap() else {
        panic!("refused")
    };
    assert_eq!(
        finished.outcome,
        Outcome::Skipped(SkipReason::PrivateAddress)
    );
}

#[test]
fn roots_that_others_wrote_may_not_be_private_and_are_not_asked_faster() {
    let check = |foreign_roots: bool, expected: &[SkipReason]| {
        let mut hand = Hand::new(|rules| {
            rules.foreign_roots = foreign_roots;
            rules.host = Arc::new(HostRules {
                near: Some(NearPoliteness::default()),
                ..HostRules::new(Politeness::default())
            });
        });
        hand.root("http://a.test/", false);
        let Next::Start(resolve) = hand.frontier.next(hand.now).unwrap() else {
            panic!("resolve")
        };
        hand.resolve(resolve.id, "127.0.0.1");
        let refused = match hand.frontier.next(hand.now).unwrap() {
            Next::Settled(finished) => match finished.outcome {
                Outcome::Skipped(reason) => vec![reason],
                other => panic!("{other:?}"),
            },
            _ => Vec::new(),
        };
        assert_eq!(refused, expected);
        let is_near = |note: &Note| matches!(note, Note::Near { .. });
        assert_eq!(
            hand.frontier.notes().any(|note| is_near(&note)),
            !foreign_roots
        );
    };
    check(false, &[]);
    check(true, &[SkipReason::PrivateAddress]);
}

#[test]
fn a_dead_host_costs_its_head_one_try_at_a_time_and_is_given_up() {
    let mut hand = Hand::new(|_| {});
    for page in 0..10 {
        hand.root(&format!("http://a.test/{page}"), false);
    }
    let (mut failed, mut skipped, mut tries) = (0, 0, 0);
    loop {
        match hand.frontier.next(hand.now).unwrap() {
            Next::Start(job) => {
                tries += u32::from(!matches!(job.work, Work::Resolve { .. }));
                let settled = match job.work {
                    Work::Resolve { .. } => hand.resolve(job.id, "93.0.0.1"),
                    _ => hand.settle(job.id, failure(FailureClass::Connect)),
                };
                if let Settled::Done(finished) = settled {
                    assert_eq!(finished.outcome, Outcome::Failed(FailureClass::Connect));
                    assert_eq!(finished.entry.tries, 4);
                    failed += 1;
                }
            }
            Next::Settled(finished) => {
                assert_eq!(
                    finished.outcome,
                    Outcome::Skipped(SkipReason::HostUnreachable)
                );
                skipped += 1;
            }
            Next::WaitUntil(at) => hand.now = at,
            Next::Done(_) => break,
            Next::Waiting | Next::Idle => panic!("nothing is in flight"),
        }
    }
    assert_eq!(tries, 12, "the host, not every URL, is tried");
    assert_eq!(failed + skipped, 10);
}

#[test]
fn robots_that_cannot_be_read_are_tried_three_times_over_ten_minutes() {
    let mut hand = Hand::new(ask_robots);
    hand.root("http://a.test/", false);
    let mut at = Vec::new();
    loop {
        match hand.frontier.next(hand.now).unwrap() {
            Next::Start(job) => match job.work {
                Work::Resolve { .. } => drop(hand.resolve(job.id, "93.0.0.1")),
                Work::Robots { .. } => {
                    at.push(hand.now);
                    hand.answer(&job, 500);
                }
                Work::Page { .. } | Work::Errand { .. } => panic!("a page without robots"),
            },
            Next::WaitUntil(until) => hand.now = until,
            Next::Settled(finished) => {
                assert_eq!(
                    finished.outcome,
                    Outcome::Skipped(SkipReason::RobotsUnreachable)
                );
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(
        at,
        [Moment::ZERO, Moment::from_mins(5), Moment::from_mins(10)]
    );
}

#[test]
fn robots_redirects_go_through_the_other_hosts_lane() {
    let mut hand = Hand::new(ask_robots);
    hand.root("http://a.test/secret", false);
    let job = hand.job("93.0.0.1");
    assert_eq!(url_of(&job), "http://a.test/robots.txt");
    hand.redirect(&job, "http://b.test/r.txt", false);
    let job = hand.job("93.0.0.2");
    assert_eq!(url_of(&job), "http://b.test/r.txt");
    let robots = Some(Box::new(Robots::parse(
        b"User-agent: *\nDisallow: /secret",
        &["clewline"],
    )));
    let answer = Answer {
        status: 200,
        robots,
        ..Answer::default()
    };
    hand.settle(job.id, Ending::Answered(Box::new(answer)));
    let Next::Settled(finished) = hand.frontier.next(hand.now).unwrap() else {
        panic!("denied")
    };
    assert_eq!(finished.outcome, Outcome::Skipped(SkipReason::Robots));
    assert_eq!(
        finished.error.as_deref(),
        Some("robots.txt line 2: Disallow: /secret")
    );
}

#[test]
fn a_shortage_of_this_machine_costs_no_try() {
    let mut hand = Hand::new(|rules| rules.limits.tries = 1);
    hand.root("http://a.test/", false);
    for _ in 0..10 {
        let job = hand.job("93.0.0.1");
        let message = "too many open files".into();
        let class = FailureClass::Connect;
        let failure = Failure {
            class,
            message,
            excuse: Some(Excuse::Shortage),
            connected: false,
            wire: 0,
            sent_at: None,
        };
        assert!(matches!(
            hand.settle(job.id, Ending::Failed(failure)),
            Settled::Again(_)
        ));
    }
    let job = hand.job("93.0.0.1");
    assert_eq!(outcome_of(hand.answer(&job, 200)), Outcome::Fetched);
}
