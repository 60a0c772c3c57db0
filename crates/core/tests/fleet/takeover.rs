//! Single steps of giving a shard away and taking it over, one at a time.
//!
//! What the simulations meet only by chance: a robots.txt that leads into a shard that is being
//! closed, a host that is left alone longer because its former owner died, an answer that comes
//! after a later one.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use clewline_core::fleet::{Mail, ShardId, Shards};
use clewline_core::frontier::{
    AddressGrant, Adoption, Answer, Ending, FetchJob, Frontier, Moment, Next, Settled, Settlement,
    Work,
};
use clewline_core::key::Keyer;
use clewline_core::politeness::{GroupPace, Rate};
use clewline_core::robots::Robots;
use clewline_core::url::CrawlUrl;

use super::journal::{JournalStore, ShardLog};
use super::moves::{BITS, GAP, address_pace, rules};
use super::web::Web;

const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 0, 0, 1));
/// Longer than any grant or delay here.
const LONG: Duration = Duration::from_mins(10);

/// A member that owns all shards, or all but one.
struct Alone {
    frontier: Frontier<JournalStore>,
    keyer: Keyer,
    cut: Shards,
    now: Moment,
}

impl Alone {
    fn new(grace: Duration) -> Self {
        let web = Web {
            seed: 1,
            hosts: 8,
            pages: 1,
            roots_hosts_only: false,
        };
        let rules = rules(&web);
        let keyer = rules.keyer.clone();
        let mut frontier = Frontier::new(rules, JournalStore::new(BITS, keyer.clone()));
        frontier.join_fleet(BITS);
        let cut = Shards::new(BITS);
        for shard in cut.all() {
            frontier.store().import(shard, &ShardLog::default());
            let adoption = Adoption {
                grace,
                ..Adoption::default()
            };
            frontier.adopt_shard(shard, adoption, Moment::ZERO);
        }
        Self {
            frontier,
            keyer,
            cut,
            now: Moment::ZERO,
        }
    }

    fn shard_of(&self, url: &CrawlUrl) -> ShardId {
        self.cut.of(self.keyer.key(url).host())
    }

    /// The page of a host in another shard than that of a URL.
    fn elsewhere(&self, than: &CrawlUrl) -> CrawlUrl {
        let hosts = (0..).map(|number| url(&format!("http://h{number}.other{number}.test/")));
        let mut others = hosts.filter(|other| self.shard_of(other) != self.shard_of(than));
        others.next().expect("there is more than one shard")
    }

    fn root(&mut self, root: &CrawlUrl) {
        let Ok(_) = self.frontier.admit_root(root.clone(), false, self.now);
    }

    /// What is asked next; names are resolved, and time goes on where something is waited for.
    fn next(&mut self) -> Option<FetchJob> {
        while self.now < LONG {
            let Ok(next) = self.frontier.next(self.now);
            match next {
                Next::Start(job) if matches!(job.work, Work::Resolve { .. }) => self.resolve(&job),
                Next::Start(job) => return Some(job),
                Next::WaitUntil(at) => self.now = at,
                Next::Idle | Next::Waiting => return None,
                other => panic!("{other:?}"),
            }
        }
        None
    }

    fn resolve(&mut self, job: &FetchJob) {
        let grant = AddressGrant {
            pace: address_pace(),
            until: LONG,
            number: 1,
        };
        self.frontier.grant_address(ADDRESS, grant);
        let ending = Ending::Resolved {
            addresses: vec![ADDRESS],
            ttl: LONG,
            trusted: false,
        };
        self.settle(job, ending);
    }

    fn settle(&mut self, job: &FetchJob, ending: Ending) {
        let mut settlement = Settlement {
            job: job.id,
            ending,
        };
        let Ok(settled) = self.frontier.settle(&mut settlement, self.now);
        assert!(matches!(settled, Settled::Prepared), "{settled:?}");
    }

    /// The mail of the batch that was open.
    fn mail(&mut self) -> Vec<Mail> {
        let Ok(sealed) = self.frontier.seal(Vec::new());
        sealed.0.mail.into_iter().map(|(_, mail)| mail).collect()
    }

    /// What is asked next is a robots.txt, that of this host.
    fn asks_robots_of(&mut self, of: &CrawlUrl) -> FetchJob {
        let job = self.next().expect("a robots.txt is asked for");
        assert!(
            matches!(&job.work, Work::Robots { url, .. } if url.host() == of.host()),
            "{:?}",
            job.work
        );
        job
    }

    /// The robots.txt of a lane elsewhere is answered by mail, and its page is asked for.
    fn goes_on_when_told(&mut self, fetch: &Mail, page: &CrawlUrl) {
        let Mail::RobotsFetch(fetch) = fetch else {
            panic!("{fetch:?} is no errand");
        };
        assert_eq!(self.keyer.key(page).host(), fetch.for_lane);
        let answer = Mail::RobotsAnswer {
            for_lane: fetch.for_lane,
            for_origin: fetch.for_origin,
            url: fetch.url.clone(),
            robots: Some(Box::new(Robots::parse(b"", &["clewline"]))),
        };
        let Ok(_) = self.frontier.admit_mail(answer, self.now);
        let job = self.next().expect("the rules are known");
        assert!(
            matches!(&job.work, Work::Page { url, .. } if url == page),
            "{:?}",
            job.work
        );
    }
}

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).expect("it is a URL")
}

fn redirect(to: &CrawlUrl) -> Ending {
    Ending::Answered(Box::new(Answer {
        status: 302,
        location: Some(url(&format!("http://{}/robots.txt", to.host()))),
        first_byte: Duration::from_millis(30),
        ..Answer::default()
    }))
}

#[test]
fn a_robots_txt_that_leads_into_a_closed_shard_is_mailed_to_its_next_owner() {
    let page = url("http://a.test/");
    let mut alone = Alone::new(Duration::ZERO);
    let other = alone.elsewhere(&page);
    alone.root(&page);
    let job = alone.asks_robots_of(&page);
    let shard = alone.shard_of(&other);
    let Ok(()) = alone.frontier.close_shard(shard, alone.now);
    alone.settle(&job, redirect(&other));
    let mail = alone.mail();
    assert_eq!(mail.len(), 1, "{mail:?}");
    assert_eq!(mail[0].host(&alone.keyer), alone.keyer.key(&other).host());
    assert_eq!(alone.frontier.drop_shard(shard), Ok(true));
    alone.goes_on_when_told(&mail[0], &page);
}

#[test]
fn a_robots_txt_that_is_dropped_in_a_closed_shard_is_mailed_to_its_next_owner() {
    let page = url("http://a.test/");
    let mut alone = Alone::new(Duration::ZERO);
    let other = alone.elsewhere(&page);
    alone.root(&page);
    let job = alone.asks_robots_of(&page);
    alone.settle(&job, redirect(&other));
    let job = alone.asks_robots_of(&other);
    let shard = alone.shard_of(&other);
    let Ok(()) = alone.frontier.close_shard(shard, alone.now);
    assert_eq!(alone.frontier.flights_of(shard), [job.id]);
    alone.settle(
        &job,
        Ending::Withheld {
            until: alone.now + GAP,
            sent_at: None,
        },
    );
    let mail = alone.mail();
    assert_eq!(mail.len(), 1, "{mail:?}");
    assert_eq!(alone.frontier.drop_shard(shard), Ok(true));
    alone.goes_on_when_told(&mail[0], &page);
}

#[test]
fn a_lane_whose_errand_got_lost_asks_again() {
    let page = url("http://a.test/");
    let mut alone = Alone::new(Duration::ZERO);
    let other = alone.elsewhere(&page);
    alone.root(&page);
    let job = alone.asks_robots_of(&page);
    let Ok(()) = alone
        .frontier
        .close_shard(alone.shard_of(&other), alone.now);
    alone.settle(&job, redirect(&other));
    let before = alone.now;
    alone.asks_robots_of(&page);
    assert!(
        alone.now >= before + Duration::from_secs(20),
        "robots_retry"
    );
}

#[test]
fn a_host_whose_owner_died_is_left_alone_for_its_delay_and_the_grace() {
    for grace in [Duration::ZERO, Duration::from_secs(2)] {
        let page = url("http://a.test/");
        let mut alone = Alone::new(grace);
        alone.root(&page);
        alone.asks_robots_of(&page);
        assert_eq!(alone.now, grace + GAP);
    }
}

#[test]
fn a_grant_that_comes_after_a_later_one_counts_for_nothing() {
    let mut alone = Alone::new(Duration::ZERO);
    alone.root(&url("http://a.test/"));
    alone.next();
    for (number, expected) in [(5, 5), (4, 5), (6, 6)] {
        let grant = AddressGrant {
            pace: GroupPace {
                in_flight: 1,
                rate: Rate::per_second(1.0),
            },
            until: LONG,
            number,
        };
        alone.frontier.grant_address(ADDRESS, grant);
        let used = alone.frontier.granted_addresses(alone.now);
        assert_eq!((used[0].held, used[0].in_flight), (expected, 1));
    }
}
