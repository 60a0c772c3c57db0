//! Shards that move between frontiers at random, over a bus that never fails.
//!
//! What must hold alone of taking over and giving away: nothing foreign or closed is handed out, no
//! host is asked sooner by its new owner than by the old one, nothing is lost or done twice, and the
//! counts add up after every step.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use clewline_core::fleet::{Mail, ShardId, Shards};
use clewline_core::frontier::{
    AddressGrant, Admission, Adoption, Ending, Excuse, Failure, FetchJob, Finished, Frontier,
    HostRules, Moment, Next, Rules, Settled, Settlement, Work,
};
use clewline_core::key::Keyer;
use clewline_core::outcome::FailureClass;
use clewline_core::politeness::{GroupPace, HostPace, Politeness, Rate, Speed};
use clewline_core::scope::{Reach, Scope};
use clewline_core::url::CrawlUrl;
use mutate::Dice;

use super::journal::{JournalStore, ShardLog};
use super::web::Web;

pub(crate) const BITS: u32 = 3;
/// After that no shard moves.
const MOVING: Duration = Duration::from_mins(1);
pub(crate) const GAP: Duration = Duration::from_millis(200);
pub(crate) const ADDRESS_IN_FLIGHT: u32 = 6;
pub(crate) const ADDRESS_RATE: f64 = 20.0;
pub(crate) const DOMAIN_IN_FLIGHT: u32 = 3;

pub(crate) fn address_pace() -> GroupPace {
    GroupPace {
        in_flight: ADDRESS_IN_FLIGHT,
        rate: Rate::per_second(ADDRESS_RATE),
    }
}

pub(crate) fn rules(web: &Web) -> Rules {
    let reach = if web.roots_hosts_only {
        Reach::Host
    } else {
        Reach::Any
    };
    let scope = Scope::new(reach, false, &[], &[]).expect("there are no patterns");
    let rate = Rate::per_second(1.0 / GAP.as_secs_f64());
    let politeness = Politeness {
        host: HostPace::steady(2, rate),
        domain: GroupPace {
            in_flight: DOMAIN_IN_FLIGHT,
            rate: Rate::per_second(8.0),
        },
        address: address_pace(),
        ..Politeness::for_speed(Speed::Polite)
    };
    let host = HostRules::new(politeness);
    Rules {
        host: Arc::new(host),
        traps: false,
        robots_retry: Duration::from_secs(20),
        ..Rules::new(scope, Keyer::new(web.seed, &[]))
    }
}

/// All members see the same logs at once.
struct Ideal {
    web: Web,
    keyer: Keyer,
    cut: Shards,
    dice: Dice,
    now: Moment,
    members: Vec<Frontier<JournalStore>>,
    owner: HashMap<ShardId, usize>,
    closing: BTreeSet<ShardId>,
    logs: BTreeMap<ShardId, ShardLog>,
    mail: Vec<Mail>,
    flights: Vec<(Moment, usize, FetchJob)>,
    last_start: HashMap<String, (Moment, usize)>,
    finished: Vec<CrawlUrl>,
    as_roots: BTreeSet<String>,
    moved: usize,
}

impl Ideal {
    fn new(seed: u64, members: usize, traps: bool) -> Self {
        let web = Web {
            seed,
            hosts: 10 + seed % 20,
            pages: 3 + seed % 4,
            roots_hosts_only: false,
        };
        let keyer = rules(&web).keyer;
        let member = |_| {
            let rules = Rules {
                traps,
                ..rules(&web)
            };
            let store = JournalStore::new(BITS, keyer.clone());
            let mut frontier = Frontier::new(rules, store);
            frontier.join_fleet(BITS);
            for root in web.roots() {
                frontier.know_root(&root);
            }
            frontier
        };
        let members = (0..members).map(member).collect();
        let cut = Shards::new(BITS);
        Self {
            logs: cut
                .all()
                .map(|shard| (shard, ShardLog::default()))
                .collect(),
            members,
            web,
            keyer,
            cut,
            dice: Dice(seed),
            now: Moment::ZERO,
            owner: HashMap::new(),
            closing: BTreeSet::new(),
            mail: Vec::new(),
            flights: Vec::new(),
            last_start: HashMap::new(),
            finished: Vec::new(),
            as_roots: BTreeSet::new(),
            moved: 0,
        }
    }

    fn shard_of(&self, url: &CrawlUrl) -> ShardId {
        self.cut.of(self.keyer.key(url).host())
    }

    /// A shard that nobody owns goes to anybody.
    fn adopt(&mut self, shard: ShardId, member: usize) {
        let log = self.logs[&shard].clone();
        let first = log.known.is_empty();
        let frontier = &mut self.members[member];
        frontier.store().import(shard, &log);
        let adoption = Adoption {
            counts: log.counts,
            ..Adoption::default()
        };
        frontier.adopt_shard(shard, adoption, self.now);
        self.owner.insert(shard, member);
        if first {
            for root in self.web.roots() {
                if self.shard_of(&root) == shard {
                    let admission = self.members[member].admit_root(root, false, self.now);
                    assert_eq!(admission, Ok(Admission::Accepted));
                }
            }
        }
    }

    /// Commits at once what a member has in its open batch.
    fn commit(&mut self, member: usize) {
        let frontier = &mut self.members[member];
        let Ok(mut sealed) = frontier.seal(Vec::new());
        for (shard, delta) in &mut sealed.0.deltas {
            delta.counts = frontier.shard_counts(*shard).expect("it is owned");
            self.logs.get_mut(shard).expect("every shard").apply(delta);
        }
        let keys = sealed.0.mail.iter().filter_map(|(_, mail)| match mail {
            Mail::Url(entry) => Some(entry.key),
            _ => None,
        });
        let Ok(()) = frontier.know_sent(keys.collect::<Vec<_>>());
        self.mail
            .extend(sealed.0.mail.into_iter().map(|(_, mail)| mail));
    }

    fn deliver(&mut self) {
        for mail in std::mem::take(&mut self.mail) {
            let shard = self.cut.of(mail.host(&self.keyer));
            match self.owner.get(&shard) {
                Some(member) => {
                    let twice = self.dice.chance(10);
                    let frontier = &mut self.members[*member];
                    if twice {
                        let Ok(_) = frontier.admit_mail(mail.clone(), self.now);
                    }
                    let Ok(admission) = frontier.admit_mail(mail.clone(), self.now);
                    let again = twice && matches!(mail, Mail::Url(_));
                    assert!(!again || admission == Admission::Known, "{mail:?}");
                }
                None => self.mail.push(mail),
            }
        }
    }

    /// Goes on with what closing shards wait for.
    fn let_go(&mut self) {
        for shard in self.closing.clone() {
            let member = self.owner[&shard];
            if !self.members[member].flights_of(shard).is_empty() {
                assert_eq!(self.members[member].drop_shard(shard), Ok(false));
                continue;
            }
            self.commit(member);
            let before = self.members[member].counts();
            let counts = self.members[member].shard_counts(shard).expect("owned");
            assert_eq!(self.members[member].drop_shard(shard), Ok(true));
            let after = self.members[member].counts();
            assert_eq!(after.todo() + counts.todo(), before.todo());
            self.owner.remove(&shard);
            self.closing.remove(&shard);
            self.moved += 1;
        }
    }

    fn start(&mut self, member: usize, job: FetchJob) {
        let url = job.work.url();
        let shard = self.shard_of(url);
        assert_eq!(self.owner.get(&shard), Some(&member), "{url} is foreign");
        assert!(!self.closing.contains(&shard), "{url} is closed");
        if !matches!(job.work, Work::Resolve { .. }) {
            let gap = GAP.max(self.web.delay_of(url.host()));
            let last = self
                .last_start
                .insert(url.host().into(), (self.now, member));
            if let Some((last, other)) = last
                && other != member
            {
                let since = self.now.saturating_sub(last);
                assert!(
                    since >= gap,
                    "{url} is asked {since:?} after its former owner"
                );
            }
        }
        let took = Duration::from_millis(5 + self.dice.roll(300));
        self.flights.push((self.now + took, member, job));
    }

    fn settle_due(&mut self) {
        let now = self.now;
        for (_, member, job) in self
            .flights
            .extract_if(.., |(at, ..)| *at <= now)
            .collect::<Vec<_>>()
        {
            let frontier = &mut self.members[member];
            let mut ending = self.web.answer(&job.work, &self.keyer);
            if let Ending::Resolved { addresses, .. } = &ending {
                for address in addresses {
                    let grant = AddressGrant {
                        pace: address_pace(),
                        until: now + Duration::from_secs(5),
                        number: 1,
                    };
                    frontier.grant_address(*address, grant);
                }
            }
            if self.dice.chance(3) {
                ending = short_of_something();
            }
            let mut settlement = Settlement {
                job: job.id,
                ending,
            };
            let Ok(settled) = frontier.settle(&mut settlement, now);
            if let Settled::Done(finished) = settled {
                self.finish(&finished);
            }
        }
    }

    fn finish(&mut self, finished: &Finished) {
        self.finished.push(finished.entry.url.clone());
        if finished.entry.root {
            self.as_roots.insert(finished.entry.url.to_string());
        }
    }

    fn check_counts(&mut self) {
        for frontier in &self.members {
            let counts = frontier.counts();
            assert_eq!(counts.admitted, counts.settled + counts.todo());
            let shards = frontier.owned_shards();
            let of = shards
                .iter()
                .map(|shard| frontier.shard_counts(*shard).expect("owned"));
            let sum = of.fold((0, 0, 0), |sum, one| {
                (
                    sum.0 + one.admitted,
                    sum.1 + one.settled,
                    sum.2 + one.withheld,
                )
            });
            assert_eq!(sum, (counts.admitted, counts.settled, counts.withheld));
        }
    }

    /// Steps of 20 ms until nothing is left.
    fn run(&mut self, moves: u64) {
        let mut quiet = 0;
        for _ in 0..30_000 {
            self.settle_due();
            self.deliver();
            for shard in self.cut.all() {
                if !self.owner.contains_key(&shard) && self.dice.chance(30) {
                    let member = self.dice.below(self.members.len());
                    self.adopt(shard, member);
                } else if self.now < MOVING
                    && self.dice.roll(1000) < moves
                    && !self.closing.contains(&shard)
                    && let Some(member) = self.owner.get(&shard)
                {
                    let Ok(()) = self.members[*member].close_shard(shard, self.now);
                    self.closing.insert(shard);
                }
            }
            self.let_go();
            let mut idle = true;
            for member in 0..self.members.len() {
                loop {
                    let Ok(next) = self.members[member].next(self.now);
                    match next {
                        Next::Start(job) => self.start(member, job),
                        Next::Settled(finished) => self.finish(&finished),
                        Next::Idle => break,
                        Next::WaitUntil(_) | Next::Waiting => {
                            idle = false;
                            break;
                        }
                        Next::Done(end) => panic!("a member ends alone: {end:?}"),
                    }
                }
                if self.dice.chance(10) {
                    self.commit(member);
                }
            }
            self.check_counts();
            let all_owned = self.owner.len() == self.cut.count() && self.closing.is_empty();
            // What a page found may still lie in the open batch of its member.
            let mut members = self.members.iter_mut();
            let all_committed = members.all(|member| !member.store().has_open_batch());
            quiet = if idle && all_owned && all_committed && self.mail.is_empty() {
                quiet + 1
            } else {
                0
            };
            if quiet > 20 {
                return;
            }
            self.now += Duration::from_millis(20);
        }
        panic!("the crawl does not end");
    }
}

pub(crate) fn short_of_something() -> Ending {
    Ending::Failed(Failure {
        class: FailureClass::Connect,
        message: "too many open files".into(),
        excuse: Some(Excuse::Shortage),
        connected: false,
        wire: 0,
        sent_at: None,
    })
}

#[test]
fn shards_move_and_every_url_is_settled_once() {
    let mut moved = 0;
    for seed in 1..=40 {
        let mut ideal = Ideal::new(seed, 2 + seed as usize % 3, false);
        ideal.run(if seed % 4 == 0 { 0 } else { 4 });
        let expected = ideal.web.reachable(&ideal.as_roots);
        let finished: BTreeSet<String> = ideal.finished.iter().map(ToString::to_string).collect();
        assert_eq!(
            finished.len(),
            ideal.finished.len(),
            "seed {seed}: settled twice"
        );
        let missing: Vec<_> = expected.difference(&finished).collect();
        let strange: Vec<_> = finished.difference(&expected).collect();
        assert!(
            missing.is_empty() && strange.is_empty(),
            "seed {seed}: {missing:?} {strange:?}"
        );
        moved += ideal.moved;
    }
    assert!(moved > 1000, "only {moved} moves");
}

#[test]
fn what_was_learnt_of_traps_moves_with_its_shard() {
    for seed in 1..=10 {
        let mut ideal = Ideal::new(seed, 3, true);
        ideal.run(4);
        let finished: BTreeSet<String> = ideal.finished.iter().map(ToString::to_string).collect();
        assert_eq!(
            finished.len(),
            ideal.finished.len(),
            "seed {seed}: settled twice"
        );
        let withheld: u64 = ideal
            .members
            .iter()
            .map(|member| member.counts().withheld)
            .sum();
        let todo: u64 = ideal
            .members
            .iter()
            .map(|member| member.counts().todo())
            .sum();
        assert_eq!(todo, withheld, "seed {seed}: only what is withheld waits");
    }
}
