//! Pages and hosts in trouble, in virtual time: what it costs, and whom.

use super::*;
use crate::limits::Limits;
use crate::politeness::HostPace;

/// One host with pages that a root lists, and a function that says how each is answered.
struct Site<'a> {
    pages: u64,
    /// The answer to a page, by its number, how often it was asked before and when.
    answer: &'a dyn Fn(u64, u32, Moment) -> Ending,
    politeness: Politeness,
    limits: Limits,
    /// The user named all pages, else the first one leads to them.
    are_roots: bool,
}

/// What a crawl of a site looked like.
#[derive(Debug, Default)]
struct Seen {
    /// When each page was asked.
    asked: BTreeMap<u64, Vec<Moment>>,
    finished: BTreeMap<u64, (Outcome, u32)>,
    end: Moment,
}

const LATENCY: Duration = Duration::from_millis(20);

fn status(status: u16) -> Ending {
    Ending::Answered(Box::new(Answer {
        status,
        first_byte: LATENCY,
        ..Answer::default()
    }))
}

fn status_after(number: u16, retry_after: Duration) -> Ending {
    let Ending::Answered(mut answer) = status(number) else {
        unreachable!("a status is an answer")
    };
    answer.retry_after = Some(retry_after);
    Ending::Answered(answer)
}

impl Site<'_> {
    fn crawl(&self) -> Seen {
        let mut rules = with_politeness(rules(), self.politeness.clone());
        rules.limits = self.limits.clone();
        let mut frontier = Frontier::new(rules, MemoryStore::default());
        let named = if self.are_roots {
            1..=self.pages
        } else {
            0..=0
        };
        for number in named {
            let path = if number > 0 {
                number.to_string()
            } else {
                String::new()
            };
            let root = CrawlUrl::parse(&format!("http://a.test/{path}")).unwrap();
            frontier.admit_root(root, false, Moment::ZERO).unwrap();
        }
        let mut seen = Seen::default();
        let mut flights: VecDeque<(Moment, JobId, Ending)> = VecDeque::new();
        let mut now = Moment::ZERO;
        loop {
            let wake = match frontier.next(now).unwrap() {
                Next::Start(job) => {
                    let ending = self.perform(&frontier, &job, now, &mut seen);
                    flights.push_back((now + LATENCY, job.id, ending));
                    continue;
                }
                Next::Settled(finished) => {
                    seen.finish(*finished);
                    continue;
                }
                Next::WaitUntil(at) => Some(at),
                Next::Waiting | Next::Idle => None,
                Next::Done(_) => {
                    seen.end = now;
                    return seen;
                }
            };
            let first = flights.front().map(|(at, ..)| *at);
            now = first
                .into_iter()
                .chain(wake)
                .min()
                .expect("something is due");
            while flights.front().is_some_and(|(at, ..)| *at <= now) {
                let (_, job, ending) = flights.pop_front().unwrap();
                let mut settlement = Settlement { job, ending };
                if let Settled::Done(finished) = frontier.settle(&mut settlement, now).unwrap() {
                    seen.finish(*finished);
                }
            }
        }
    }

    fn perform(
        &self,
        frontier: &Frontier<MemoryStore>,
        job: &FetchJob,
        now: Moment,
        seen: &mut Seen,
    ) -> Ending {
        match &job.work {
            Work::Resolve { .. } => Ending::Resolved {
                addresses: vec!["93.0.0.1".parse().unwrap()],
                ttl: Duration::from_hours(24),
                trusted: false,
            },
            Work::Robots { .. } | Work::Errand { .. } => status(404),
            Work::Page { url, .. } if url.path() == "/" => {
                let keyer = &frontier.rules().keyer;
                let Ending::Answered(mut answer) = status(200) else {
                    unreachable!("a status is an answer")
                };
                for number in 1..=self.pages {
                    let url = url.join(&format!("/{number}")).unwrap();
                    let link = Link::new(url, LinkKind::Anchor);
                    answer.links.push(link.by_ref(), keyer.key(&link.url));
                }
                Ending::Answered(answer)
            }
            Work::Page { url, .. } => {
                let number = url.path()[1..].parse().unwrap();
                let asked = seen.asked.entry(number).or_default();
                let before = asked.len() as u32;
                asked.push(now);
                (self.answer)(number, before, now)
            }
        }
    }
}

impl Seen {
    fn finish(&mut self, finished: Finished) {
        if let Ok(number) = finished.entry.url.path()[1..].parse() {
            let tries = finished.entry.tries;
            self.finished.insert(number, (finished.outcome, tries));
        }
    }

    fn requests(&self) -> usize {
        self.asked.values().map(Vec::len).sum()
    }

    /// When the last page that is asked once was asked, and the last retry.
    fn last_first_and_retry(&self) -> (Moment, Moment) {
        let first = self.asked.values().filter_map(|times| times.first());
        let again = self.asked.values().flat_map(|times| times.iter().skip(1));
        let last = |times: Option<&Moment>| times.copied().unwrap_or_default();
        (last(first.max()), last(again.max()))
    }
}

fn crawl(politeness: &Politeness, pages: u64, answer: &dyn Fn(u64, u32, Moment) -> Ending) -> Seen {
    Site {
        pages,
        answer,
        politeness: politeness.clone(),
        limits: rules().limits,
        are_roots: false,
    }
    .crawl()
}

/// The waits before three more tries of a page.
fn back_off(politeness: &Politeness) -> Duration {
    politeness.retry_delay * 7 * 5 / 4
}

#[test]
fn pages_that_always_fail_cost_their_own_waits_only() {
    let cases = [
        (Speed::Max, 1500, 100),
        (Speed::Max, 1500, 20),
        (Speed::Fast, 1500, 20),
        (Speed::Polite, 400, 20),
        (Speed::Polite, 400, 5),
    ];
    for (speed, pages, every) in cases {
        let politeness = Politeness::for_speed(speed);
        let alone = crawl(&politeness, pages, &|_, _, _| status(200));
        let failing = |number: u64, _: u32, _: Moment| {
            status(if number.is_multiple_of(every) {
                500
            } else {
                200
            })
        };
        let seen = crawl(&politeness, pages, &failing);
        assert_eq!(seen.finished.len() as u64, pages);
        let most = alone.end * 2 + back_off(&politeness);
        assert!(
            seen.end <= most,
            "{speed:?}, one in {every}: {:?} for {:?}",
            seen.end,
            alone.end
        );
        let (last_first, last_retry) = seen.last_first_and_retry();
        assert!(last_first < last_retry, "{speed:?}, one in {every}");
        for (number, times) in &seen.asked {
            let tries = if number.is_multiple_of(every) { 4 } else { 1 };
            assert_eq!(times.len(), tries, "{number}");
        }
    }
}

#[test]
fn bad_pages_before_good_ones_do_not_hold_them_up() {
    for speed in [Speed::Polite, Speed::Fast, Speed::Max] {
        let politeness = Politeness::for_speed(speed);
        let alone = crawl(&politeness, 220, &|_, _, _| status(200));
        let failing = |number: u64, _: u32, _: Moment| status(if number <= 20 { 500 } else { 200 });
        let seen = crawl(&politeness, 220, &failing);
        let good = seen.asked.range(21..).flat_map(|(_, times)| times).max();
        let most = alone.end * 2 + back_off(&politeness);
        assert!(
            good.unwrap() <= &most,
            "{speed:?}: {good:?} for {:?}",
            alone.end
        );
        assert!(
            seen.end <= most,
            "{speed:?}: {:?} for {:?}",
            seen.end,
            alone.end
        );
    }
}

#[test]
fn a_host_that_fails_for_everything_is_probed_gently_and_given_up() {
    let politeness = Politeness::for_speed(Speed::Max);
    let seen = crawl(&politeness, 2000, &|_, _, _| status(500));
    let first_second = seen.asked.values().flatten().filter(|at| at.as_secs() < 1);
    assert!(first_second.count() <= 64 + 8, "what was in flight");
    let after = |from: u64, to: u64| {
        let times = seen.asked.values().flatten();
        times
            .filter(|at| (from..to).contains(&at.as_secs()))
            .count()
    };
    assert!(
        after(60, 120) <= 7,
        "{} in the second minute",
        after(60, 120)
    );
    let skipped = Outcome::Skipped(SkipReason::HostUnreachable);
    let given_up = seen
        .finished
        .values()
        .filter(|(outcome, _)| *outcome == skipped);
    assert!(
        given_up.count() > 1500,
        "after {} requests",
        seen.requests()
    );
}

#[test]
fn a_host_that_fails_for_a_while_is_back_as_soon_as_it_is_well() {
    let politeness = Politeness::for_speed(Speed::Fast);
    let ill = Moment::from_secs(2)..Moment::from_secs(62);
    let answer = |_: u64, _: u32, now: Moment| status(if ill.contains(&now) { 500 } else { 200 });
    let seen = crawl(&politeness, 3000, &answer);
    let times = || seen.asked.values().flatten();
    let in_trouble = times().filter(|at| ill.contains(at)).count();
    assert!(in_trouble <= 60, "{in_trouble} requests while it was ill");
    let well_at = Moment::from_secs(62 + 10 + 20);
    let at_full_speed =
        times().filter(|at| (well_at..well_at + Duration::from_secs(1)).contains(at));
    assert!(at_full_speed.count() >= 50, "{:?}", seen.end);
    assert!(
        seen.finished
            .values()
            .all(|(outcome, _)| *outcome == Outcome::Fetched)
    );
}

#[test]
fn one_page_that_is_refused_costs_its_host_seconds() {
    for number in [429, 503] {
        for politeness in [Politeness::for_speed(Speed::Polite), Politeness::loopback()] {
            let alone = crawl(&politeness, 200, &|_, _, _| status(200));
            let refusing =
                |page: u64, _: u32, _: Moment| status(if page == 40 { number } else { 200 });
            let seen = crawl(&politeness, 200, &refusing);
            let most = alone.end + Duration::from_secs(5) + back_off(&politeness);
            assert!(
                seen.end <= most,
                "{number}: {:?} for {:?}",
                seen.end,
                alone.end
            );
            assert_eq!(seen.asked[&40].len(), 4);
            assert_eq!(seen.finished.len(), 200);
        }
    }
}

#[test]
fn a_page_that_asks_for_a_year_costs_one_wait() {
    let politeness = Politeness::for_speed(Speed::Fast);
    let year = Duration::from_hours(365 * 24);
    let answer = |page: u64, _: u32, _: Moment| match page {
        40 | 80 | 120 => status_after(503, year),
        _ => status(200),
    };
    let seen = crawl(&politeness, 200, &answer);
    let skipped = Outcome::Skipped(SkipReason::RetryAfter);
    for (page, (outcome, _)) in &seen.finished {
        let expected = if page % 40 == 0 && *page <= 120 {
            &skipped
        } else {
            &Outcome::Fetched
        };
        assert_eq!(outcome, expected, "{page}");
    }
    let limit = politeness.longest_retry_after;
    assert!(
        seen.end >= limit && seen.end <= limit + Duration::from_secs(30),
        "{:?}",
        seen.end
    );
}

#[test]
fn a_host_that_always_asks_for_a_year_gets_three_requests_more() {
    let politeness = Politeness::for_speed(Speed::Gentle);
    let year = Duration::from_hours(365 * 24);
    let seen = crawl(&politeness, 50, &|_, _, _| status_after(503, year));
    assert_eq!(seen.requests(), 3);
    let skipped = Outcome::Skipped(SkipReason::RetryAfter);
    assert!(
        seen.finished
            .values()
            .all(|(outcome, _)| *outcome == skipped)
    );
    assert_eq!(seen.finished.len(), 50);
}

#[test]
fn passing_errors_do_not_slow_a_crawl() {
    for number in [500, 503] {
        let mut politeness = Politeness::for_speed(Speed::Fast);
        let rate = Rate::per_second(60.0);
        (politeness.host.first_rate, politeness.host.most_rate) = (rate, rate);
        let alone = crawl(&politeness, 6000, &|_, _, _| status(200));
        let answer = |page: u64, before: u32, _: Moment| {
            // One page in 25, scattered, fails at its first try.
            let unlucky = page.wrapping_mul(0x9e37_79b9) % 1009 < 40 && before == 0;
            status(if unlucky { number } else { 200 })
        };
        let seen = crawl(&politeness, 6000, &answer);
        let most = alone.end * 5 / 4 + Duration::from_secs(10);
        assert!(
            seen.end <= most,
            "{number}: {:?} for {:?}",
            seen.end,
            alone.end
        );
        let fetched = seen
            .finished
            .values()
            .filter(|(outcome, _)| *outcome == Outcome::Fetched);
        assert_eq!(fetched.count(), 6000);
    }
}

#[test]
fn retries_do_not_come_in_a_bundle_and_new_pages_come_first() {
    let politeness = Politeness::for_speed(Speed::Max);
    let seen = crawl(&politeness, 300, &|page, _, _| {
        status(if page % 3 == 0 { 500 } else { 200 })
    });
    let mut retries: Vec<Moment> = seen
        .asked
        .values()
        .flat_map(|times| times.iter().skip(1).copied())
        .collect();
    retries.sort_unstable();
    let gap = retries
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]))
        .min();
    assert_eq!(gap, Some(politeness.retry_delay / 100));
}

/// A host that has always something new still tries again what failed.
#[test]
fn an_endless_host_tries_again_one_time_in_twenty() {
    let mut hand = Hand::new(|_| {});
    hand.root("http://a.test/0", false);
    let (mut number, mut retries, mut waiting) = (1, 0, 0);
    let mut failing = HashSet::new();
    for request in 0..5000 {
        let job = hand.job("93.0.0.1");
        let url = url_of(&job).to_owned();
        hand.now += Duration::from_millis(10);
        if failing.contains(&url) {
            (retries, waiting) = (retries + 1, 0);
            hand.page(&job, &[]);
            continue;
        }
        waiting += usize::from(failing.len() > retries);
        // A second and a quarter until one is due, and then its turn.
        assert!(waiting <= 125 + 20, "retries starve");
        if request % 50 == 3 {
            failing.insert(url);
            hand.answer(&job, 500);
            continue;
        }
        let links = [number, number + 1].map(|next| format!("http://a.test/{next}"));
        number += 2;
        let links = links
            .each_ref()
            .map(|link| (link.as_str(), LinkKind::Anchor));
        hand.page(&job, &links);
    }
    assert!(retries >= 50, "{retries} of {}", failing.len());
}

#[test]
fn a_run_of_403_pauses_the_host_and_then_goes_on() {
    let politeness = Politeness::for_speed(Speed::Polite);
    let blocked = Moment::from_secs(10)..Moment::from_secs(40);
    let answer =
        |_: u64, _: u32, now: Moment| status(if blocked.contains(&now) { 403 } else { 200 });
    let seen = crawl(&politeness, 300, &answer);
    let in_block = seen
        .asked
        .values()
        .flatten()
        .filter(|at| blocked.contains(at));
    let in_block = in_block.count();
    assert!(in_block <= 20, "{in_block} requests against a closed door");
    let lost = seen
        .asked
        .values()
        .filter(|times| times.len() == 1 && blocked.contains(&times[0]));
    assert!(lost.count() <= 4, "only those before the run was seen");
}

#[test]
fn a_host_that_refuses_everybody_is_given_up_in_the_end() {
    let politeness = Politeness::for_speed(Speed::Max);
    let seen = crawl(&politeness, 500, &|_, _, _| status(503));
    assert_eq!(seen.finished.len(), 500);
    assert!(seen.requests() < 2000, "{} requests", seen.requests());
    assert!(seen.end < Moment::from_hours(3), "{:?}", seen.end);
}

#[test]
fn a_pause_outlives_two_restarts() {
    let mut hand = Hand::new(|_| {});
    hand.root("http://a.test/0", false);
    hand.root("http://a.test/1", false);
    let job = hand.job("93.0.0.1");
    hand.settle(job.id, status_after(429, Duration::from_mins(5)));
    let host = hand
        .frontier
        .rules()
        .keyer
        .key(&CrawlUrl::parse("http://a.test/0").unwrap())
        .host();
    let mut row = hand.frontier.lanes[&host].row(|moment| moment.as_millis() as u64);
    for restart in 1..=2 {
        assert!(row.parked, "restart {restart}");
        assert_eq!(row.not_before, 300_000, "restart {restart}");
        let mut lane = Lane::new("a.test", 0, Arc::clone(&hand.frontier.rules().host));
        lane.restore(row, Moment::from_secs(restart), Moment::from_millis);
        assert_eq!(
            lane.pace.next_at(),
            Moment::from_mins(5),
            "restart {restart}"
        );
        row = lane.row(|moment| moment.as_millis() as u64);
    }
}

/// Links to one host, asked as a check of links asks: one request at a time, and a few tries.
fn ask_links(links: u64, patience: &Patience, answer: &dyn Fn(u64, u32, Moment) -> Ending) -> Seen {
    let mut politeness = Politeness::for_speed(Speed::Max);
    politeness.host = HostPace::steady(1, None);
    politeness.longest_retry_after = Duration::from_mins(2);
    politeness.longest_gap = patience.longest_gap;
    let limits = Limits {
        tries: patience.tries,
        host_failures: patience.host_failures,
        failed_pages: patience.failed_pages,
        ..rules().limits
    };
    Site {
        pages: links,
        answer,
        politeness,
        limits,
        are_roots: true,
    }
    .crawl()
}

/// How much trouble with a host is borne.
struct Patience {
    tries: u32,
    host_failures: u32,
    failed_pages: u32,
    longest_gap: Duration,
}

/// That of a crawl, and that of a check of links.
const OF_CRAWL: Patience = Patience {
    tries: 4,
    host_failures: 12,
    failed_pages: 100,
    longest_gap: Duration::from_mins(1),
};
const OF_CHECK: Patience = Patience {
    tries: 3,
    host_failures: 4,
    failed_pages: 8,
    longest_gap: Duration::from_secs(5),
};

/// A crawl waits for such hosts in pauses that double up to ten minutes, each host for itself. A check of
/// links has less patience, and the other hosts wait for nobody.
#[test]
fn links_to_hosts_that_refuse_end_soon_for_a_check_and_late_for_a_crawl() {
    let refusing = |_: u64, _: u32, _: Moment| status(503);
    let resetting = |_: u64, _: u32, _: Moment| failure(FailureClass::Reset);
    let limiting = || {
        let last = std::cell::Cell::new(None::<Moment>);
        move |_: u64, _: u32, now: Moment| {
            let pause = Duration::from_secs(1);
            if last.get().is_some_and(|last| now < last + pause) {
                return status_after(429, pause);
            }
            last.set(Some(now));
            status(200)
        }
    };
    for links in [7, 16, 25] {
        let check = |answer: &dyn Fn(u64, u32, Moment) -> Ending, crawl: u64, check: u64| {
            let long = ask_links(links, &OF_CRAWL, answer);
            assert!(long.end >= Duration::from_secs(crawl), "{:?}", long.end);
            let short = ask_links(links, &OF_CHECK, answer);
            assert!(short.end <= Duration::from_secs(check), "{:?}", short.end);
            assert!(short.requests() <= 4, "{}", short.requests());
        };
        check(&refusing, 30 * 60, 15);
        check(&resetting, 5 * 60, 8);
        let limited = ask_links(links, &OF_CHECK, &limiting());
        let is_good = |(outcome, _): &&(Outcome, u32)| *outcome == Outcome::Fetched;
        let good = limited.finished.values().filter(is_good).count();
        assert_eq!(good as u64, links, "who waits as told is answered");
        assert!(
            limited.end <= Duration::from_secs(2 * links),
            "{:?}",
            limited.end
        );
    }
}

/// A crawl asks a hundred pages of a host that fails on all of them, a check of links a few and some of
/// those again; a host that fails on each page at first loses none of them.
#[test]
fn a_check_soon_leaves_a_host_that_fails_on_every_link() {
    for links in [20, 50, 200] {
        let failing = |_: u64, _: u32, _: Moment| status(500);
        let long = ask_links(links, &OF_CRAWL, &failing);
        assert!(long.end >= Duration::from_mins(2), "{:?}", long.end);
        let short = ask_links(links, &OF_CHECK, &failing);
        assert!(short.end <= Duration::from_mins(2), "{:?}", short.end);
        let requests = short.requests();
        assert!((12..=30).contains(&requests), "{requests} of {links}");
        assert_eq!(short.finished.len() as u64, links);
        let flapping = |_: u64, tries: u32, _: Moment| status(if tries == 0 { 500 } else { 200 });
        let flapped = ask_links(links, &OF_CHECK, &flapping);
        let is_good = |(outcome, _): &&(Outcome, u32)| *outcome == Outcome::Fetched;
        let good = flapped.finished.values().filter(is_good).count();
        assert_eq!(good as u64, links);
    }
}

/// A host that says "not now" to each link at first slows a crawl down to one request in a minute.
#[test]
fn a_check_is_slowed_down_to_one_request_in_a_few_seconds() {
    let busy = |_: u64, tries: u32, _: Moment| status(if tries == 0 { 503 } else { 200 });
    let links = 25;
    let end = |patience| {
        let seen = ask_links(links, patience, &busy);
        let is_good = |(outcome, _): &&(Outcome, u32)| *outcome == Outcome::Fetched;
        assert_eq!(seen.finished.values().filter(is_good).count() as u64, links);
        seen.end
    };
    let (long, short) = (end(&OF_CRAWL), end(&OF_CHECK));
    assert!(short <= Duration::from_secs(15 * links), "{short:?}");
    assert!(long > short * 2, "{long:?} and {short:?}");
}
