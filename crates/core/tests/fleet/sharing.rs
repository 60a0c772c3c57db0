//! How shards spread over members that come, leave and die.
//!
//! Owns time, the way between members and the bus, and the judgement: soon after the last change all
//! have as many shards as each other, but for one, and then no shard moves any more. It knows no
//! frontiers: a shard that is to go back takes a while to drain. `CLEWLINE_FLEET_SEEDS` asks for more
//! seeds, as in [`simulation`](super::simulation).

use std::collections::BTreeMap;
use std::time::Duration;

use clewline_core::fleet::{Duty, FleetAnswer, FleetMember, FleetRequest, LeaseTimes, ShardId};
use clewline_core::frontier::Moment;
use clewline_core::key::Keyer;
use mutate::Dice;

use super::bus::Bus;
use super::simulation::seeds;

const TIMES: LeaseTimes = LeaseTimes {
    expiry: Duration::from_secs(10),
};
const TICK: Duration = Duration::from_millis(50);
/// So many renewals after the last change everything is shared out.
const SOON: u32 = 5;
/// For so many more nothing moves.
const STILL: u32 = 15;
/// Members of the largest fleet, and bits of its shards.
const MOST: u64 = 16;
const MOST_BITS: u32 = 6;

/// Something on its way between a member and the bus.
enum Word {
    Ask(FleetRequest),
    Answer(FleetAnswer),
}

/// A member and the shards that it drains.
struct Sharer {
    member: FleetMember,
    closing: BTreeMap<ShardId, Moment>,
    is_leaving: bool,
    has_ended: bool,
}

/// What a fleet goes through.
#[derive(Debug, Clone, Copy)]
struct Course {
    bits: u32,
    members: u64,
    /// Between two joins.
    gap: Duration,
    /// Members that leave or die afterwards.
    leaves: u64,
    deaths: u64,
    /// Of a hundred questions and answers, while members come and go.
    lost: u64,
}

impl Course {
    fn rolled(dice: &mut Dice) -> Self {
        let members = 1 + dice.roll(MOST);
        let gaps = [0, 50, 700, 3_000, 11_000];
        Self {
            bits: dice.below(MOST_BITS as usize + 1) as u32,
            members,
            gap: Duration::from_millis(gaps[dice.below(gaps.len())]),
            leaves: dice.roll(1 + members / 3),
            deaths: dice.roll(1 + members / 3),
            lost: if dice.chance(50) { dice.roll(20) } else { 0 },
        }
    }
}

struct Sharing {
    course: Course,
    dice: Dice,
    now: Moment,
    bus: Bus,
    network: BTreeMap<(Moment, u64), (u64, Moment, Word)>,
    words: u64,
    sharers: BTreeMap<u64, Sharer>,
    claims: u64,
    is_calm: bool,
}

impl Sharing {
    fn new(course: Course, seed: u64) -> Self {
        let keyer = Keyer::new(seed, &[]);
        Self {
            course,
            dice: Dice(seed ^ 0xf1ee),
            now: Moment::ZERO,
            bus: Bus::new(course.bits, keyer, TIMES, None),
            network: BTreeMap::new(),
            words: 0,
            sharers: BTreeMap::new(),
            claims: 0,
            is_calm: false,
        }
    }

    fn join(&mut self) {
        let id = self.dice.roll(u64::MAX);
        let sharer = Sharer {
            member: FleetMember::new(id, 1 << self.course.bits, TIMES),
            closing: BTreeMap::new(),
            is_leaving: false,
            has_ended: false,
        };
        self.sharers.insert(id, sharer);
    }

    fn post(&mut self, worker: u64, sent: Moment, word: Word) {
        if !self.is_calm && self.dice.chance(self.course.lost) {
            return;
        }
        self.words += 1;
        let at = self.now + Duration::from_millis(1 + self.dice.roll(150));
        self.network.insert((at, self.words), (worker, sent, word));
    }

    fn deliver(&mut self) {
        while let Some(entry) = self.network.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            let (worker, sent, word) = entry.remove();
            match word {
                Word::Ask(ask) => {
                    let answer = self.bus.member(worker, &ask, self.now);
                    self.claims += u64::from(matches!(answer, FleetAnswer::Claimed { .. }));
                    self.post(worker, sent, Word::Answer(answer));
                }
                Word::Answer(answer) => self.hear(worker, sent, answer),
            }
        }
    }

    fn hear(&mut self, worker: u64, sent: Moment, answer: FleetAnswer) {
        let Some(sharer) = self.sharers.get_mut(&worker) else {
            return;
        };
        sharer.has_ended |= answer == FleetAnswer::Left;
        for duty in sharer.member.hear(answer, sent, self.now) {
            match duty {
                Duty::Load { .. } => {}
                Duty::Lose(shard) => {
                    sharer.closing.remove(&shard);
                }
                Duty::End => panic!("the bus forgets nothing"),
            }
        }
    }

    fn step(&mut self, worker: u64) {
        let drain = Duration::from_millis(self.dice.roll(1_200));
        let sharer = self.sharers.get_mut(&worker).expect("it is there");
        let (member, now) = (&mut sharer.member, self.now);
        let mut asks = member.poll(now);
        if sharer.is_leaving || member.surplus() > sharer.closing.len() {
            let mut open = member.shards();
            let next = open.find(|shard| !sharer.closing.contains_key(shard));
            drop(open);
            sharer
                .closing
                .extend(next.map(|shard| (shard, now + drain)));
        }
        let drained = sharer.closing.extract_if(.., |_, until| *until <= now);
        for (shard, until) in drained.collect::<Vec<_>>() {
            if let Some(ask) = member.give_back(shard) {
                asks.push(ask);
            } else if member.fence(shard).is_none() && member.shards().any(|held| held == shard) {
                sharer.closing.insert(shard, until);
            }
        }
        for ask in asks {
            self.post(worker, now, Word::Ask(ask));
        }
    }

    fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.deliver();
            for worker in self.sharers.keys().copied().collect::<Vec<_>>() {
                self.step(worker);
            }
            self.sharers.retain(|_, sharer| !sharer.has_ended);
            self.now += TICK;
        }
    }

    fn any(&mut self) -> Option<u64> {
        let all: Vec<u64> = self.sharers.keys().copied().collect();
        (all.len() > 1).then(|| all[self.dice.below(all.len())])
    }

    /// Who has which shard.
    fn owners(&self) -> BTreeMap<ShardId, Option<u64>> {
        let shards = (0..1 << self.course.bits).map(ShardId);
        let owned = shards.map(|shard| (shard, self.bus.row(shard).worker));
        owned.collect()
    }

    /// How many shards each has.
    fn counts(&self) -> Vec<usize> {
        let owners = self.owners();
        let of = |id: &u64| owners.values().filter(|owner| **owner == Some(*id)).count();
        self.sharers.keys().map(of).collect()
    }

    fn come_and_go(&mut self) {
        for _ in 0..self.course.members {
            self.join();
            self.run_for(self.course.gap);
        }
        let pause = Duration::from_millis(self.dice.roll(8_000));
        self.run_for(pause);
        for _ in 0..self.course.leaves {
            if let Some(worker) = self.any() {
                let sharer = self.sharers.get_mut(&worker).expect("it is there");
                sharer.is_leaving = true;
                sharer.member.leave();
            }
            let pause = Duration::from_millis(self.dice.roll(2_000));
            self.run_for(pause);
        }
        for _ in 0..self.course.deaths {
            if let Some(worker) = self.any() {
                self.sharers.remove(&worker);
            }
        }
    }

    /// How long after the last change the fleet may still share out: the lease of the dead and of
    /// those whose leave got lost must run out first.
    fn settling(&self) -> Duration {
        let renewals = TIMES.renewal() * SOON;
        let course = self.course;
        if course.deaths + course.leaves + course.lost == 0 {
            renewals
        } else {
            renewals + TIMES.expiry + TIMES.renewal()
        }
    }

    fn check(&mut self, seed: u64) {
        self.come_and_go();
        self.is_calm = true;
        self.run_for(self.settling());
        let owners = self.owners();
        let (counts, course) = (self.counts(), self.course);
        let all = 1_usize << course.bits;
        let (least, most) = (all / counts.len(), all.div_ceil(counts.len()));
        let is_fair = counts.iter().all(|count| (least..=most).contains(count));
        let owned: usize = counts.iter().sum();
        assert!(
            is_fair && owned == all,
            "seed {seed}: {counts:?} for {least}..={most} of {all}, {course:?}"
        );
        let claims = self.claims;
        self.run_for(TIMES.renewal() * STILL);
        assert_eq!(
            self.owners(),
            owners,
            "seed {seed}: shards move, {course:?}"
        );
        assert_eq!(
            self.claims, claims,
            "seed {seed}: shards move and come back"
        );
    }
}

#[test]
fn shards_are_shared_out_evenly_and_then_stay() {
    for seed in seeds() {
        let course = Course::rolled(&mut Dice(seed));
        Sharing::new(course, seed).check(seed);
    }
}

#[test]
fn sixteen_that_join_one_after_another_have_as_many_as_each_other() {
    for seed in seeds() {
        let course = Course {
            bits: MOST_BITS,
            members: MOST,
            gap: Duration::from_millis(100 + 500 * (seed % 7)),
            leaves: 0,
            deaths: 0,
            lost: 0,
        };
        let mut sharing = Sharing::new(course, seed);
        sharing.check(seed);
        assert_eq!(sharing.counts(), [4; 16]);
    }
}
