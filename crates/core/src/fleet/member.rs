//! A member of a fleet: when it may hand out, what it claims, and when it must stop.
//!
//! Owns the lease of a member as a state machine: join, renew, claim its share, stop when no
//! renewal was good for too long, claim again what it had, leave. The times follow from one, the
//! time after which others may claim what a member has. Durations are counted from when a question
//! was *sent*, so that a late answer never lengthens a lease. It refuses to know how questions
//! travel, what a shard holds and whether it is loaded. Invariants: a member hands out only while
//! nobody can have claimed its shards; after a lapse it hands out nothing of a shard that it did
//! not claim anew; a bus that fell behind what a member was told ends the member.

use std::collections::BTreeMap;
use std::time::Duration;

use super::ShardId;
use crate::frontier::Moment;

#[cfg(test)]
mod tests;

/// Shards that are claimed in one turn.
const CLAIMS: usize = 8;

/// The times of a lease, which follow from one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTimes {
    /// So long after its last renewal arrived, others may claim what a member has.
    pub expiry: Duration,
}

impl LeaseTimes {
    /// Between two renewals.
    pub fn renewal(self) -> Duration {
        self.expiry / 5
    }

    /// So long after its last good renewal was sent, a member hands out nothing more …
    pub fn stop(self) -> Duration {
        self.expiry * 3 / 5
    }

    /// … and so long after it, it has dropped what is in flight.
    pub fn drop(self) -> Duration {
        self.expiry * 4 / 5
    }

    /// How much longer hosts are left alone that come from a member which did not leave.
    pub fn grace(self) -> Duration {
        self.expiry / 5
    }
}

/// Where a shard stands in its log: who may write next, and after what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// Rises with each claim.
    pub epoch: u64,
    /// Deltas in the log.
    pub head: u64,
}

/// What a member asks of the bus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FleetRequest {
    /// Be one of the members.
    Join,
    /// Still be one.
    Renew,
    /// Own a shard that is free, if it still is as it was seen.
    Claim(ShardId, Fence),
    /// Own a shard on, with a new epoch, if nobody else claimed it.
    Reclaim(ShardId),
    /// Not own a shard any more; all of it is committed.
    GiveBack(ShardId, Fence),
    /// Be no member any more.
    Leave,
}

/// What the bus shows with a renewal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FleetView {
    /// Members whose renewals are good.
    pub members: usize,
    /// Those of them that come before whoever asks, where the shards do not divide evenly: who has
    /// more shards, and of as many the smaller id.
    pub before: usize,
    /// Shards that may be claimed.
    pub free: Vec<(ShardId, Fence)>,
    /// Shards that belong to whoever asks.
    pub held: Vec<(ShardId, Fence)>,
}

/// What the bus answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FleetAnswer {
    /// It is one of the members.
    Joined,
    /// It still is.
    Renewed(FleetView),
    /// It is none: the bus does not know it.
    Unknown,
    /// The shard is its own. Whether its former owner gave it back says how long its hosts are to
    /// be left alone.
    Claimed {
        /// Which one.
        shard: ShardId,
        /// From where it goes on.
        fence: Fence,
        /// Its former owner gave it back, or there was none.
        was_free: bool,
    },
    /// The shard belongs to somebody else.
    Refused(ShardId),
    /// The shard is nobody's.
    GivenBack(ShardId),
    /// It is no member any more.
    Left,
}

/// What a member has to do after an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Duty {
    /// Load a shard and take it over.
    Load {
        /// Which one.
        shard: ShardId,
        /// How much longer than usual its hosts are left alone.
        grace: Duration,
    },
    /// A shard has another owner: what was done in it since the last commit counts nowhere.
    Lose(ShardId),
    /// Nothing that was done since the last commit counts, and nothing may be sent or asked: the
    /// bus forgot something that it had confirmed, or forgot the member.
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MemberStage {
    New,
    Member,
    Leaving,
    Ended,
}

/// One shard of a member.
#[derive(Debug, Clone, Copy)]
struct HeldShard {
    fence: Fence,
    /// It was claimed, or claimed anew, after the last lapse.
    is_sure: bool,
    /// It is on its way back.
    is_given: bool,
    /// When that was heard: what was asked before may be answered by what was so before.
    told_at: Moment,
    /// When the last delta was heard to be in the log.
    grown_at: Moment,
}

impl HeldShard {
    /// Whether an answer to a question sent at `sent` shows an older shard than was confirmed.
    fn fell_back(&self, shown: Fence, sent: Moment) -> bool {
        let epoch_fell = sent >= self.told_at && shown.epoch < self.fence.epoch;
        epoch_fell || (sent >= self.grown_at && shown.head < self.fence.head)
    }
}

/// A member of a fleet.
#[derive(Debug)]
pub struct FleetMember {
    /// Never used by another, so that nobody takes it for its former self.
    id: u64,
    times: LeaseTimes,
    shards: usize,
    stage: MemberStage,
    /// When the last renewal that was good was sent.
    good: Option<Moment>,
    /// When it was last seen that no renewal was good for too long.
    lapsed_at: Option<Moment>,
    asked_at: Option<Moment>,
    claimed_at: Option<Moment>,
    held: BTreeMap<ShardId, HeldShard>,
    view: FleetView,
    /// When it was asked for.
    viewed_at: Moment,
}

impl FleetMember {
    /// A member that has not joined yet, of a job with so many shards.
    pub fn new(id: u64, shards: usize, times: LeaseTimes) -> Self {
        Self {
            id,
            times,
            shards,
            stage: MemberStage::New,
            good: None,
            lapsed_at: None,
            asked_at: None,
            claimed_at: None,
            held: BTreeMap::new(),
            view: FleetView::default(),
            viewed_at: Moment::ZERO,
        }
    }

    /// Its name, which no other ever had.
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// Whether nothing may be handed out, because others may take it for dead soon.
    pub fn has_lapsed(&self, now: Moment) -> bool {
        self.good.is_none_or(|good| now >= good + self.times.stop())
    }

    /// Until when requests may be sent if no renewal comes.
    pub fn good_until(&self) -> Moment {
        match self.good {
            Some(good) if self.stage != MemberStage::Ended => good + self.times.stop(),
            _ => Moment::ZERO,
        }
    }

    /// Whether something of a shard may be handed out, and a request be sent.
    pub fn may_hand_out(&self, shard: ShardId, now: Moment) -> bool {
        let held = self.held.get(&shard);
        self.stage == MemberStage::Member
            && !self.has_lapsed(now)
            && held.is_some_and(|held| held.is_sure && !held.is_given)
    }

    /// Whether what is in flight must be dropped.
    pub fn must_drop(&self, now: Moment) -> bool {
        self.good.is_none_or(|good| now >= good + self.times.drop())
    }

    /// Where a shard stands that is its own for sure.
    pub fn fence(&self, shard: ShardId) -> Option<Fence> {
        let held = self.held.get(&shard).filter(|held| held.is_sure);
        held.map(|held| held.fence)
    }

    /// Its shards, those among them that it must claim anew.
    pub fn shards(&self) -> impl Iterator<Item = ShardId> {
        self.held.keys().copied()
    }

    /// It was heard that a delta was added to the log of a shard.
    pub fn committed(&mut self, shard: ShardId, now: Moment) {
        if let Some(held) = self.held.get_mut(&shard) {
            held.fence.head += 1;
            held.grown_at = now;
        }
    }

    /// A commit was refused because a shard has another owner.
    pub fn lost(&mut self, shard: ShardId) {
        self.held.remove(&shard);
    }

    /// How many shards it has too many. A view that is older than a claim does not tell: it may
    /// have shown others as entitled to what this member has won since.
    pub fn surplus(&self) -> usize {
        let mut held = self.held.values();
        if held.any(|held| held.told_at > self.viewed_at) {
            return 0;
        }
        let kept = self.held.values().filter(|held| !held.is_given).count();
        kept.saturating_sub(self.share())
    }

    /// Its part of the shards. All have as many as each other; what is left over goes one by one to
    /// those that have the most already, so that nothing moves which need not.
    fn share(&self) -> usize {
        let members = self.view.members.max(1);
        let left_over = self.shards % members;
        self.shards / members + usize::from(self.view.before < left_over)
    }

    /// A shard is to go back; all of it is committed.
    pub fn give_back(&mut self, shard: ShardId) -> Option<FleetRequest> {
        let held = self.held.get_mut(&shard)?;
        if !held.is_sure || held.is_given {
            return None;
        }
        held.is_given = true;
        Some(FleetRequest::GiveBack(shard, held.fence))
    }

    /// It will leave when it has given back its shards.
    pub fn leave(&mut self) {
        if self.stage != MemberStage::Ended {
            self.stage = MemberStage::Leaving;
        }
    }

    /// What to ask now.
    pub fn poll(&mut self, now: Moment) -> Vec<FleetRequest> {
        self.note_lapse(now);
        let is_due = |at: Option<Moment>, gap| at.is_none_or(|at| now >= at + gap);
        let mut asks = Vec::new();
        if self.stage == MemberStage::Ended {
            return asks;
        }
        if is_due(self.asked_at, self.times.renewal()) {
            self.asked_at = Some(now);
            asks.push(match self.stage {
                MemberStage::New => FleetRequest::Join,
                MemberStage::Leaving if self.held.is_empty() => FleetRequest::Leave,
                _ => FleetRequest::Renew,
            });
        }
        if !self.has_lapsed(now) && is_due(self.claimed_at, self.times.expiry / 10) {
            self.claimed_at = Some(now);
            asks.extend(self.returns());
            match self.stage {
                MemberStage::Member => asks.extend(self.claims()),
                // What is not sure can be neither committed nor given back.
                MemberStage::Leaving => asks.extend(self.unsure()),
                MemberStage::New | MemberStage::Ended => {}
            }
        }
        asks
    }

    /// Shards that were given back, if no answer came.
    fn returns(&self) -> Vec<FleetRequest> {
        let given = self.held.iter().filter(|(_, held)| held.is_given);
        let asks = given.map(|(shard, held)| FleetRequest::GiveBack(*shard, held.fence));
        asks.collect()
    }

    /// Shards to claim anew.
    fn unsure(&self) -> impl Iterator<Item = FleetRequest> {
        let unsure = self.held.iter().filter(|(_, held)| !held.is_sure);
        unsure.map(|(shard, _)| FleetRequest::Reclaim(*shard))
    }

    /// Shards to claim anew and, if it has less than its share, others that seem to be free.
    fn claims(&self) -> Vec<FleetRequest> {
        // The answer to a claim got lost: it is its own, and nobody did anything in it.
        let unheard = self.view.held.iter().map(|(shard, _)| *shard);
        let unheard = unheard.filter(|shard| !self.held.contains_key(shard));
        let unheard = unheard.map(FleetRequest::Reclaim);
        let mut asks: Vec<_> = self.unsure().chain(unheard).collect();
        let wanted = self.share().saturating_sub(self.held.len()).min(CLAIMS);
        let free = &self.view.free;
        // Members begin at different places, so that they seldom want the same.
        let start = free.len() * self.view.before / self.view.members.max(1);
        let order = free.iter().cycle().skip(start).take(free.len());
        let claims = order.filter(|(shard, _)| !self.held.contains_key(shard));
        let claims = claims.take(wanted);
        asks.extend(claims.map(|(shard, fence)| FleetRequest::Claim(*shard, *fence)));
        asks
    }

    /// After a lapse nothing is sure, even if the next renewal is good: somebody may have claimed
    /// a shard in between.
    fn note_lapse(&mut self, now: Moment) {
        if self.has_lapsed(now) {
            self.lapsed_at = Some(now);
            for held in self.held.values_mut() {
                held.is_sure = false;
            }
        }
    }

    /// Hears an answer to a question that was sent at `sent`.
    pub fn hear(&mut self, answer: FleetAnswer, sent: Moment, now: Moment) -> Vec<Duty> {
        if self.stage == MemberStage::Ended {
            return Vec::new();
        }
        self.note_lapse(now);
        match answer {
            FleetAnswer::Joined => {
                if self.stage == MemberStage::New {
                    self.stage = MemberStage::Member;
                }
                self.good = self.good.max(Some(sent));
                self.asked_at = None;
                Vec::new()
            }
            FleetAnswer::Renewed(view) => {
                self.good = self.good.max(Some(sent));
                self.view = view;
                self.viewed_at = sent;
                // What it shows is claimed while it is new.
                if self.held.len() < self.share() && !self.view.free.is_empty() {
                    self.claimed_at = None;
                }
                self.compare(sent)
            }
            FleetAnswer::Unknown => self.end(),
            FleetAnswer::Claimed {
                shard,
                fence,
                was_free,
            } => {
                let claim = HeldShard {
                    fence,
                    is_sure: self.lapsed_at.is_none_or(|lapse| sent > lapse),
                    is_given: false,
                    told_at: now,
                    grown_at: now,
                };
                self.claimed(shard, claim, was_free, sent)
            }
            FleetAnswer::Refused(shard) => self.refused(shard, sent),
            FleetAnswer::GivenBack(shard) => {
                // A late answer may be about a shard that was claimed again since.
                if self.held.get(&shard).is_some_and(|held| held.is_given) {
                    self.held.remove(&shard);
                }
                Vec::new()
            }
            FleetAnswer::Left => {
                self.stage = MemberStage::Ended;
                Vec::new()
            }
        }
    }

    fn claimed(
        &mut self,
        shard: ShardId,
        claim: HeldShard,
        was_free: bool,
        sent: Moment,
    ) -> Vec<Duty> {
        let Some(held) = self.held.get_mut(&shard) else {
            // A member that leaves lets it expire: nothing was done in it.
            if self.stage != MemberStage::Member {
                return Vec::new();
            }
            self.held.insert(shard, claim);
            let grace = if was_free {
                Duration::ZERO
            } else {
                self.times.grace()
            };
            return vec![Duty::Load { shard, grace }];
        };
        if held.fell_back(claim.fence, sent) {
            return self.end();
        }
        if claim.fence.epoch > held.fence.epoch {
            held.fence.epoch = claim.fence.epoch;
            held.is_sure = claim.is_sure;
            held.told_at = claim.told_at;
        }
        Vec::new()
    }

    /// A claim that was not won is no loss; one for what it held is.
    fn refused(&mut self, shard: ShardId, sent: Moment) -> Vec<Duty> {
        let held = self.held.get(&shard);
        if held.is_some_and(|held| !held.is_sure && sent >= held.told_at) {
            self.held.remove(&shard);
            return vec![Duty::Lose(shard)];
        }
        self.view.free.retain(|(free, _)| *free != shard);
        Vec::new()
    }

    /// Compares what the bus shows with what is known. What it shows may be old: only what was told
    /// before the question was sent can be missed.
    fn compare(&mut self, sent: Moment) -> Vec<Duty> {
        let mut duties = Vec::new();
        let view = &self.view.held;
        let mut fell_back = false;
        self.held.retain(|shard, held| {
            if held.told_at > sent {
                return true;
            }
            match view.iter().find(|(shown, _)| shown == shard) {
                Some((_, fence)) if held.fell_back(*fence, sent) => fell_back = true,
                // A question to own it on arrived twice, and only one of the answers came. While
                // it is sure of the shard nobody else can have claimed it.
                Some((_, fence)) if held.is_sure => held.fence.epoch = fence.epoch,
                Some(_) => {}
                None if held.is_given => return false,
                None => {
                    duties.push(Duty::Lose(*shard));
                    return false;
                }
            }
            true
        });
        if fell_back { self.end() } else { duties }
    }

    fn end(&mut self) -> Vec<Duty> {
        self.stage = MemberStage::Ended;
        self.held.clear();
        vec![Duty::End]
    }
}
