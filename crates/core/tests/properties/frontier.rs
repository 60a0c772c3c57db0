//! Random sequences of admit, next and settle on a web of three hosts.
//!
//! The model knows only the promises: each admitted URL ends once, no lease is given twice,
//! nothing is asked more at once or sooner than allowed, and a crawl without budgets comes to
//! its end. Every ending a task can report may follow any job.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use clewline_core::frontier::{
    Admission, Answer, End, Ending, Errand, Excuse, Failure, FetchJob, Finished, Frontier, Handout,
    HostRules, JobId, Look, MemoryStore, Moment, Next, Offer, Offers, Patience, Rules, Settled,
    Settlement, Work,
};
use clewline_core::key::Keyer;
use clewline_core::link::{Link, LinkKind};
use clewline_core::outcome::FailureClass;
use clewline_core::politeness::{GroupPace, HostPace, Politeness, Rate, Speed};
use clewline_core::robots::Robots;
use clewline_core::scope::{Reach, Scope};
use clewline_core::url::CrawlUrl;
use proptest::prelude::*;

const HOSTS: [&str; 3] = ["one.d.test", "two.d.test", "three.e.test"];
const PAGES: u8 = 4;
/// So few that hosts wait for one; three of them are for hosts that never answered.
const SLOTS: u32 = 4;
const IN_FLIGHT_PER_HOST: usize = 2;
const IN_FLIGHT_PER_GROUP: usize = 3;
/// Between two starts on one host.
const GAP: Duration = Duration::from_millis(100);
/// More than any crawl of twelve URLs needs, however badly it goes.
const MOST_STEPS: usize = 20_000;

#[derive(Debug, Clone)]
enum Step {
    Admit(u8),
    Next,
    Settle(u8, Fate),
    Wait(u16),
    /// To the wake-up that the frontier named last.
    Sleep,
    Later(Delay),
}

/// How a job ends, whatever it was.
#[derive(Debug, Clone)]
enum Fate {
    Fine(Vec<u8>),
    Redirect(u8),
    Status(u16),
    RetryAfter(u32),
    CrawlDelay(u16),
    Failed(FailureClass),
    Local,
    /// It was not sent, because the host asked for a pause of so many seconds.
    Withheld(u16),
    /// It gave its slot to another; a job that has its full time runs into its time-out.
    CutShort,
}

/// What happens to pages that are settled later.
#[derive(Debug, Clone)]
enum Delay {
    /// A page in flight is answered, and settled later.
    Begin(u8),
    /// A page that waits asks for something.
    Send(u8, u8),
    /// A page that waits is settled.
    End(u8),
    /// Pages are held back, or not any more.
    Gate(Handout),
}

fn delays() -> impl Strategy<Value = Delay> {
    prop_oneof![
        4 => any::<u8>().prop_map(Delay::Begin),
        6 => (any::<u8>(), any::<u8>()).prop_map(|(which, page)| Delay::Send(which, page)),
        2 => any::<u8>().prop_map(Delay::End),
        1 => prop::sample::select(vec![Handout::All, Handout::ErrandsOnly]).prop_map(Delay::Gate),
    ]
}

fn fates() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..4).prop_map(Fate::Fine),
        3 => any::<u8>().prop_map(Fate::Redirect),
        2 => prop::sample::select(vec![200, 302, 404, 429, 500, 503]).prop_map(Fate::Status),
        1 => prop::sample::select(vec![1, 60, 100_000]).prop_map(Fate::RetryAfter),
        1 => prop::sample::select(vec![1, 120, 1000]).prop_map(Fate::CrawlDelay),
        3 => prop::sample::select(FailureClass::ALL.to_vec()).prop_map(Fate::Failed),
        1 => Just(Fate::Local),
        1 => prop::sample::select(vec![1, 60, 3600]).prop_map(Fate::Withheld),
        2 => Just(Fate::CutShort),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        1 => any::<u8>().prop_map(Step::Admit),
        4 => Just(Step::Next),
        4 => (any::<u8>(), fates()).prop_map(|(which, end)| Step::Settle(which, end)),
        2 => (0..2000_u16).prop_map(Step::Wait),
        1 => Just(Step::Sleep),
        3 => delays().prop_map(Step::Later),
    ];
    prop::collection::vec(step, 1..80)
}

fn page(number: u8) -> CrawlUrl {
    let host = HOSTS[usize::from(number / PAGES) % HOSTS.len()];
    CrawlUrl::parse(&format!("http://{host}/{}", number % PAGES)).expect("it is a URL")
}

/// Pages say one of four things, so that most look like parts of a trap.
fn said(number: usize) -> Look {
    let piece = 0x9e37_79b9_u32.wrapping_mul(1 + number as u32);
    Look {
        pieces: vec![piece],
        text: u64::from(piece) << 32,
        links: 0,
        cost: 1,
    }
}

/// The first and the last host share an address.
fn address(host: &str) -> IpAddr {
    Ipv4Addr::new(93, 0, 0, u8::from(host == HOSTS[1])).into()
}

fn rules(depth: Option<u32>) -> Rules {
    let scope = Scope::new(Reach::Any, false, &[], &[]).expect("there are no patterns");
    let group = GroupPace {
        rate: Rate::per_second(15.0),
        in_flight: IN_FLIGHT_PER_GROUP as u32,
    };
    let rate = Rate::per_second(1.0 / GAP.as_secs_f64());
    let politeness = Politeness {
        host: HostPace::steady(IN_FLIGHT_PER_HOST as u32, rate),
        domain: group,
        address: group,
        ..Politeness::for_speed(Speed::Polite)
    };
    let host = HostRules::new(politeness);
    let mut rules = Rules {
        host: Arc::new(host),
        sitemaps: false,
        robots_retry: Duration::from_secs(1),
        ..Rules::new(scope, Keyer::new(1, &[]))
    };
    rules.limits.depth = depth;
    rules.limits.concurrency = SLOTS;
    rules.limits.tries = 2;
    rules.limits.host_failures = 3;
    rules.limits.redirects = 2;
    rules
}

/// The frontier and what its user saw.
struct Model {
    frontier: Frontier<MemoryStore>,
    keyer: Keyer,
    now: Moment,
    wake_at: Moment,
    flights: Vec<FetchJob>,
    /// Pages that were answered and are not settled.
    postponed: Vec<Settlement>,
    /// What they asked for and have not got.
    errands: HashMap<u64, JobId>,
    sent: u64,
    leases: HashSet<u64>,
    accepted: u64,
    new_links: u64,
    finished: HashSet<CrawlUrl>,
    last_start: HashMap<String, Moment>,
    delays: HashMap<String, Duration>,
    /// Until when hosts are to be left alone.
    pauses: HashMap<String, Moment>,
    /// Pages whose request gave way once.
    cut: HashSet<CrawlUrl>,
}

impl Model {
    fn new(depth: Option<u32>) -> Self {
        let rules = rules(depth);
        Self {
            keyer: rules.keyer.clone(),
            frontier: Frontier::new(rules, MemoryStore::default()),
            now: Moment::ZERO,
            wake_at: Moment::ZERO,
            flights: Vec::new(),
            postponed: Vec::new(),
            errands: HashMap::new(),
            sent: 0,
            leases: HashSet::new(),
            accepted: 0,
            new_links: 0,
            finished: HashSet::new(),
            last_start: HashMap::new(),
            delays: HashMap::new(),
            pauses: HashMap::new(),
            cut: HashSet::new(),
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Admit(number) => {
                let admission = self.frontier.admit_root(page(number), false, self.now);
                self.accepted += u64::from(admission == Ok(Admission::Accepted));
            }
            Step::Next => {
                if let Some(Next::WaitUntil(at)) = self.next() {
                    self.wake_at = at;
                }
            }
            Step::Settle(which, end) if !self.flights.is_empty() => {
                self.settle(usize::from(which) % self.flights.len(), end);
            }
            Step::Settle(..) => {}
            Step::Wait(milliseconds) => self.now += Duration::from_millis(milliseconds.into()),
            Step::Sleep => self.now = self.now.max(self.wake_at),
            Step::Later(delay) => self.delay(&delay),
        }
        self.check_books();
    }

    fn delay(&mut self, delay: &Delay) {
        match *delay {
            Delay::Begin(which) if !self.flights.is_empty() => {
                let at = usize::from(which) % self.flights.len();
                let job = self.flights[at].clone();
                let mut settlement = Settlement {
                    job: job.id,
                    ending: self.ending(&job.work, Fate::Fine(vec![which])),
                };
                let postponed = self.frontier.postpone(&mut settlement, self.now);
                let is_page = matches!(job.work, Work::Page { .. });
                assert_eq!(postponed, Ok(is_page));
                if is_page {
                    self.flights.swap_remove(at);
                    self.postponed.push(settlement);
                }
            }
            Delay::Send(which, number) if !self.postponed.is_empty() => {
                let page_job = self.postponed[usize::from(which) % self.postponed.len()].job;
                self.sent += 1;
                self.errands.insert(self.sent, page_job);
                let errand = Errand::new(page_job, self.sent, page(number));
                let sent = self.frontier.send_errand(errand, self.now);
                sent.expect("memory does not fail");
                self.take_refusals();
            }
            Delay::End(which) if !self.postponed.is_empty() => {
                self.end_postponed(usize::from(which) % self.postponed.len());
            }
            Delay::Gate(handout) => {
                let gate = self.frontier.hand_out(handout, self.now);
                gate.expect("memory does not fail");
            }
            Delay::Begin(_) | Delay::Send(..) | Delay::End(_) => {}
        }
    }

    fn end_postponed(&mut self, at: usize) {
        let mut settlement = self.postponed.swap_remove(at);
        let settled = self.frontier.settle(&mut settlement, self.now);
        match settled.expect("memory does not fail") {
            Settled::Done(finished) => self.finish(&finished),
            other => panic!("a page that was answered ends: {other:?}"),
        }
        self.errands.retain(|_, page| *page != settlement.job);
    }

    /// Every errand of a page that waits ends once, and those of others are not heard of.
    fn take_refusals(&mut self) {
        for refused in self.frontier.refused_errands() {
            let known = self.errands.remove(&refused.number);
            assert!(known.is_some(), "nobody waits for {refused:?}");
        }
    }

    /// Asks what is next and takes it; what is left is a reason to wait.
    fn next(&mut self) -> Option<Next> {
        match self.frontier.next(self.now).expect("memory does not fail") {
            Next::Start(job) => self.start(job),
            Next::Settled(finished) => self.finish(&finished),
            other => {
                self.take_refusals();
                return Some(other);
            }
        }
        self.take_refusals();
        None
    }

    fn start(&mut self, job: FetchJob) {
        assert!(self.leases.insert(job.id.0), "a lease was given twice");
        if let Work::Page { url, .. } = &job.work {
            assert!(!self.finished.contains(url), "{url} was at its end");
            let twice = self
                .flights
                .iter()
                .any(|other| matches!(&other.work, Work::Page { url: known, .. } if known == url));
            assert!(!twice, "{url} is in flight already");
            let gives_way = job.patience == Patience::GivesWay;
            assert!(
                !(gives_way && self.cut.contains(url)),
                "{url} would give way twice"
            );
        }
        if let Work::Errand { .. } = &job.work {
            let errand = self.frontier.errand(job.id).expect("it is in flight");
            assert!(self.errands.contains_key(&errand.number), "nobody waits");
        }
        if let Some((url, _)) = job.work.request() {
            let host = url.host().to_owned();
            let pause = self.pauses.get(&host).copied().unwrap_or_default();
            assert!(self.now >= pause, "{url} is asked in a pause");
            let gap = self.delays.get(&host).copied().unwrap_or(GAP);
            let last = self.last_start.insert(host, self.now);
            let soonest = last.map_or(Moment::ZERO, |last| last + gap);
            assert!(self.now >= soonest, "{url} is asked too soon");
        }
        self.flights.push(job);
        self.check_limits();
    }

    fn check_limits(&self) {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for (url, address) in self.flights.iter().filter_map(|job| job.work.request()) {
            let domain = url.host().split_once('.').map_or("", |(_, domain)| domain);
            for (name, most) in [
                (url.host().to_owned(), IN_FLIGHT_PER_HOST),
                (domain.to_owned(), IN_FLIGHT_PER_GROUP),
                (format!("{address:?}"), IN_FLIGHT_PER_GROUP),
            ] {
                let count = counts.entry(name.clone()).or_default();
                *count += 1;
                assert!(*count <= most, "{name} has {count} in flight");
            }
        }
    }

    fn settle(&mut self, at: usize, end: Fate) {
        let job = self.flights.swap_remove(at);
        let end = match end {
            Fate::CutShort if job.patience != Patience::GivesWay => {
                Fate::Failed(FailureClass::Timeout)
            }
            other => other,
        };
        let mut settlement = Settlement {
            job: job.id,
            ending: self.ending(&job.work, end),
        };
        let settled = self
            .frontier
            .settle(&mut settlement, self.now)
            .expect("memory does not fail");
        match settled {
            Settled::Done(finished) => self.finish(&finished),
            // Its page may have ended before.
            Settled::Errand(errand) => drop(self.errands.remove(&errand.number)),
            Settled::Again(_) | Settled::Prepared => {}
        }
        self.take_refusals();
    }

    fn finish(&mut self, finished: &Finished) {
        let url = &finished.entry.url;
        self.new_links += u64::from(finished.new_links);
        assert!(self.finished.insert(url.clone()), "{url} ended twice");
    }

    /// Everything that was let in is finished or still to do.
    fn check_books(&self) {
        let counts = self.frontier.counts();
        assert_eq!(counts.admitted, self.accepted + self.new_links);
        assert_eq!(counts.settled, self.finished.len() as u64);
        assert_eq!(counts.admitted, counts.settled + counts.todo());
        assert_eq!(counts.in_flight, self.flights.len() as u64);
    }

    fn ending(&mut self, work: &Work, end: Fate) -> Ending {
        if matches!(end, Fate::CutShort) {
            return self.cut_short(work);
        }
        if let Work::Resolve { url } = work {
            return match end {
                Fate::Failed(class) => failed(class, None),
                Fate::Local | Fate::Withheld(_) => {
                    failed(FailureClass::Dns, Some(Excuse::Shortage))
                }
                _ => Ending::Resolved {
                    addresses: vec![address(url.host())],
                    ttl: Duration::from_mins(1),
                    trusted: false,
                },
            };
        }
        let mut answer = Answer {
            status: 200,
            ..Answer::default()
        };
        match end {
            Fate::Failed(class) => return failed(class, None),
            Fate::Local => return failed(FailureClass::Connect, Some(Excuse::Shortage)),
            Fate::Withheld(seconds) => return self.withheld(work, seconds),
            Fate::CutShort => unreachable!("it was looked at first"),
            Fate::Fine(links) => {
                answer.look = Some(Box::new(said(links.len())));
                answer.links = links.into_iter().map(|link| self.offer(link)).collect();
            }
            Fate::Redirect(number) => {
                answer.status = 302;
                answer.location = Some(page(number));
            }
            Fate::Status(status) => answer.status = status,
            Fate::RetryAfter(seconds) => {
                answer.status = 429;
                answer.retry_after = Some(Duration::from_secs(seconds.into()));
            }
            Fate::CrawlDelay(seconds) => return self.delayed(work, seconds, answer),
        }
        if matches!(work, Work::Robots { .. }) && answer.status == 200 {
            answer.links = Offers::default();
            answer.robots = Some(Box::new(Robots::parse(b"", &["clewline"])));
        }
        Ending::Answered(Box::new(answer))
    }

    /// The request gave way, a page at most once.
    fn cut_short(&mut self, work: &Work) -> Ending {
        if let Work::Page { url, .. } = work {
            assert!(self.cut.insert(url.clone()), "{url} gave way twice");
        }
        Ending::CutShort {
            wire: 0,
            sent_at: None,
        }
    }

    /// The host asked for a pause before the request left.
    fn withheld(&mut self, work: &Work, seconds: u16) -> Ending {
        let until = self.now + Duration::from_secs(seconds.into());
        if let Some((url, _)) = work.request() {
            let known = self.pauses.entry(url.host().to_owned()).or_default();
            *known = until.max(*known);
        }
        Ending::Withheld {
            until,
            sent_at: None,
        }
    }

    /// A robots.txt with a Crawl-delay; the model remembers it for the host's own.
    fn delayed(&mut self, work: &Work, seconds: u16, mut answer: Answer) -> Ending {
        let body = format!("User-agent: *\nCrawl-delay: {seconds}");
        if let Work::Robots { url, .. } = work {
            answer.robots = Some(Box::new(Robots::parse(body.as_bytes(), &["clewline"])));
            if url.path() == "/robots.txt" {
                let delay = Duration::from_secs(seconds.into());
                self.delays.insert(url.host().to_owned(), delay);
            }
        }
        Ending::Answered(Box::new(answer))
    }

    fn offer(&self, number: u8) -> Offer {
        let link = Link::new(page(number), LinkKind::Anchor);
        Offer {
            key: self.keyer.key(&link.url),
            link,
        }
    }

    /// Lets everything end well and the crawl with it.
    fn run_to_the_end(&mut self) {
        self.delay(&Delay::Gate(Handout::All));
        for _ in 0..MOST_STEPS {
            match self.next() {
                None => {}
                Some(Next::WaitUntil(at)) => {
                    assert!(at > self.now, "a wake-up in the past would spin");
                    if self.flights.is_empty() {
                        self.now = at;
                    } else {
                        self.settle(0, Fate::Fine(Vec::new()));
                    }
                    // Pages wait for their errands, but not for ever.
                    if !self.postponed.is_empty() && self.errands.is_empty() {
                        self.end_postponed(0);
                    }
                }
                Some(Next::Waiting | Next::Idle) => {
                    if self.flights.is_empty() {
                        assert!(!self.postponed.is_empty(), "it waits for nothing");
                        assert!(self.errands.is_empty(), "an errand was forgotten");
                        self.end_postponed(0);
                    } else {
                        self.settle(0, Fate::Fine(Vec::new()));
                    }
                }
                Some(Next::Done(end)) => {
                    assert_eq!(end, End::Finished, "URLs are left without a reason");
                    assert_eq!(self.frontier.counts().todo(), 0);
                    return;
                }
                Some(Next::Start(_) | Next::Settled(_)) => unreachable!("they were taken"),
            }
            self.check_books();
        }
        panic!("the crawl does not end");
    }
}

fn failed(class: FailureClass, excuse: Option<Excuse>) -> Ending {
    Ending::Failed(Failure {
        class,
        message: class.about().into(),
        excuse,
        connected: false,
        wire: 0,
        sent_at: None,
    })
}

proptest! {
    #![proptest_config(super::repeatable())]

    #[test]
    fn any_sequence_keeps_the_promises(
        depth in prop::option::of(0..3_u32),
        steps in steps(),
    ) {
        replay(depth, steps);
    }
}

fn replay(depth: Option<u32>, steps: Vec<Step>) {
    let mut model = Model::new(depth);
    for step in steps {
        model.step(step);
    }
    model.run_to_the_end();
}

/// The robots.txt of the first host is redirected to the third, which then fails in this way.
fn redirected_robots(third: Vec<Step>, hop: Vec<Step>) {
    let first = [
        Step::Admit(0),
        Step::Next,
        Step::Settle(0, Fate::Fine(Vec::new())),
        Step::Next,
        Step::Settle(0, Fate::Redirect(2 * PAGES)),
        Step::Next,
    ];
    replay(None, [third, first.to_vec(), hop].concat());
}

#[test]
fn a_host_that_ended_does_not_keep_the_robots_of_others() {
    let ended = vec![
        Step::Admit(2 * PAGES),
        Step::Next,
        Step::Settle(0, Fate::Failed(FailureClass::DnsNotFound)),
        Step::Next,
    ];
    redirected_robots(ended, Vec::new());
}

#[test]
fn a_shortage_of_this_machine_does_not_lose_the_robots_of_others() {
    redirected_robots(Vec::new(), vec![Step::Settle(0, Fate::Local)]);
}

#[test]
fn a_late_link_of_a_level_is_not_left_behind() {
    use Step::{Admit, Next, Settle, Sleep, Wait};
    let fine = || Fate::Fine(Vec::new());
    let steps = vec![
        Admit(0),
        Next,
        Settle(0, Fate::Failed(FailureClass::DnsNotFound)),
        Next,
        Admit(8),
        Next,
        Settle(0, fine()),
        Next,
        Settle(0, Fate::CrawlDelay(120)),
        Admit(4),
        Next,
        Wait(100),
        Next,
        Settle(0, fine()),
        Next,
        Sleep,
        Next,
        Settle(0, Fate::Redirect(0)),
        Settle(0, fine()),
        Next,
        Next,
        Settle(0, Fate::Local),
        Sleep,
        Next,
        Settle(0, fine()),
        Next,
        Settle(0, Fate::Redirect(0)),
        Next,
        Settle(0, Fate::Fine(vec![1])),
    ];
    replay(Some(1), steps);
}
