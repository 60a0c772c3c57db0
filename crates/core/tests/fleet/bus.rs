//! The engine between members, in memory: rows, one-statement commits, and roll-back.
//!
//! Owns what is durable. Each call is one transaction, done whole or not at all. Its clock is its
//! own. Roll-back puts an older state in its place, as a fail-over to a replica does that lacks the
//! last second; then nothing may be claimed and no address granted for a while.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use clewline_core::fleet::{
    AddressHolding, Fence, FleetAnswer, FleetRequest, FleetView, LeaseTimes, Mail, ShardId, Shards,
};
use clewline_core::frontier::{AddressGrant, AddressUse, Moment};
use clewline_core::key::Keyer;
use clewline_core::politeness::{GroupPace, Rate};
use clewline_core::url::CrawlUrl;

use super::journal::{Delta, ShardLog};
use super::moves::{ADDRESS_IN_FLIGHT, ADDRESS_RATE};

/// A name that is never given again: a serial number would be, after a roll-back.
pub(crate) type MailId = (u64, u64, usize);

/// The row of a shard.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    pub(crate) worker: Option<u64>,
    pub(crate) fence: Option<Fence>,
    pub(crate) batch: u64,
    pub(crate) idle: bool,
    pub(crate) wants: bool,
    pub(crate) grant: u64,
    pub(crate) log: Arc<ShardLog>,
}

impl Row {
    pub(crate) fn fence(&self) -> Fence {
        self.fence.unwrap_or(Fence { epoch: 0, head: 0 })
    }
}

/// Who held a shard in which epoch, and which of its batches count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tenure {
    pub(crate) epoch: u64,
    pub(crate) worker: u64,
    pub(crate) batches: Option<(u64, u64)>,
}

/// How far the job has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Roots,
    Run,
    LastCall,
    Done,
}

/// One shard's part of a commit.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) fence: Fence,
    pub(crate) delta: Delta,
    pub(crate) pages: u64,
    pub(crate) returns: u64,
    pub(crate) wants: bool,
    pub(crate) idle: bool,
}

/// The one statement.
#[derive(Debug, Clone)]
pub(crate) struct Commit {
    pub(crate) worker: u64,
    pub(crate) batch: u64,
    pub(crate) parts: BTreeMap<ShardId, Part>,
    pub(crate) mail: Vec<Mail>,
    pub(crate) imported: Vec<MailId>,
    pub(crate) phase: Phase,
    pub(crate) joined: Vec<CrawlUrl>,
}

/// What lies in the engine.
#[derive(Debug, Clone)]
struct State {
    rows: BTreeMap<ShardId, Row>,
    mail: BTreeMap<MailId, (ShardId, Mail)>,
    seen: BTreeMap<u64, Moment>,
    tenures: BTreeMap<ShardId, Vec<Tenure>>,
    joined: Vec<CrawlUrl>,
    phase: Phase,
    pages_left: Option<u64>,
}

/// What a member holds of an address, and until when.
#[derive(Debug, Clone, Copy, Default)]
struct AddressRow {
    holding: AddressHolding,
    until: Moment,
}

pub(crate) struct Bus {
    pub(crate) times: LeaseTimes,
    cut: Shards,
    keyer: Keyer,
    state: State,
    earlier: Vec<(Moment, State)>,
    /// Nothing is claimed or granted before then.
    quiet_until: Moment,
    addresses: BTreeMap<(IpAddr, u64), AddressRow>,
    /// Answers to questions for addresses.
    grants: u64,
}

/// How long an address is granted.
pub(crate) fn grant_time(times: LeaseTimes) -> Duration {
    times.expiry * 3 / 2
}

fn address_rule() -> GroupPace {
    GroupPace {
        in_flight: ADDRESS_IN_FLIGHT,
        rate: Rate::per_second(ADDRESS_RATE),
    }
}

impl Bus {
    pub(crate) fn new(bits: u32, keyer: Keyer, times: LeaseTimes, pages: Option<u64>) -> Self {
        let cut = Shards::new(bits);
        Self {
            times,
            state: State {
                rows: cut.all().map(|shard| (shard, Row::default())).collect(),
                mail: BTreeMap::new(),
                seen: BTreeMap::new(),
                tenures: BTreeMap::new(),
                joined: Vec::new(),
                phase: Phase::Roots,
                pages_left: pages,
            },
            cut,
            keyer,
            earlier: Vec::new(),
            quiet_until: Moment::ZERO,
            addresses: BTreeMap::new(),
            grants: 0,
        }
    }

    fn is_live(&self, worker: u64, now: Moment) -> bool {
        let seen = self.state.seen.get(&worker);
        seen.is_some_and(|seen| *seen + self.times.expiry > now)
    }

    fn is_free(&self, row: &Row, now: Moment) -> bool {
        row.worker.is_none_or(|worker| !self.is_live(worker, now))
    }

    pub(crate) fn member(&mut self, worker: u64, ask: &FleetRequest, now: Moment) -> FleetAnswer {
        match *ask {
            FleetRequest::Join => {
                self.state.seen.insert(worker, now);
                FleetAnswer::Joined
            }
            FleetRequest::Renew => match self.state.seen.get_mut(&worker) {
                Some(seen) => {
                    *seen = (*seen).max(now);
                    self.judge();
                    FleetAnswer::Renewed(self.view(worker, now))
                }
                None => FleetAnswer::Unknown,
            },
            FleetRequest::Claim(shard, fence) => {
                let row = &self.state.rows[&shard];
                let is_free = row.fence() == fence && self.is_free(row, now);
                if is_free && self.is_live(worker, now) && now >= self.quiet_until {
                    self.own(shard, worker)
                } else {
                    FleetAnswer::Refused(shard)
                }
            }
            FleetRequest::Reclaim(shard) => {
                let is_own = self.state.rows[&shard].worker == Some(worker);
                if is_own && self.is_live(worker, now) {
                    self.own(shard, worker)
                } else {
                    FleetAnswer::Refused(shard)
                }
            }
            FleetRequest::GiveBack(shard, fence) => {
                let row = self.state.rows.get_mut(&shard).expect("every shard");
                if row.worker == Some(worker) && row.fence() == fence {
                    row.worker = None;
                }
                FleetAnswer::GivenBack(shard)
            }
            FleetRequest::Leave => {
                self.state.seen.remove(&worker);
                FleetAnswer::Left
            }
        }
    }

    fn own(&mut self, shard: ShardId, worker: u64) -> FleetAnswer {
        let row = self.state.rows.get_mut(&shard).expect("every shard");
        let was_free = row.worker.is_none();
        let fence = row.fence();
        let fence = Fence {
            epoch: fence.epoch + 1,
            ..fence
        };
        row.idle &= row.worker == Some(worker);
        row.worker = Some(worker);
        row.fence = Some(fence);
        let tenures = self.state.tenures.entry(shard).or_default();
        tenures.push(Tenure {
            epoch: fence.epoch,
            worker,
            batches: None,
        });
        FleetAnswer::Claimed {
            shard,
            fence,
            was_free,
        }
    }

    fn view(&self, worker: u64, now: Moment) -> FleetView {
        let rows = self.state.rows.iter();
        let seen = self.state.seen.keys();
        let live: Vec<u64> = seen.copied().filter(|id| self.is_live(*id, now)).collect();
        let has = |id: u64| {
            let owned = rows.clone().filter(|(_, row)| row.worker == Some(id));
            (Reverse(owned.count()), id)
        };
        let place = has(worker);
        FleetView {
            members: live.len(),
            before: live.iter().filter(|id| has(**id) < place).count(),
            free: rows
                .clone()
                .filter(|(_, row)| self.is_free(row, now))
                .map(|(shard, row)| (*shard, row.fence()))
                .collect(),
            held: rows
                .filter(|(_, row)| row.worker == Some(worker))
                .map(|(shard, row)| (*shard, row.fence()))
                .collect(),
        }
    }

    pub(crate) fn row(&self, shard: ShardId) -> &Row {
        &self.state.rows[&shard]
    }

    pub(crate) fn phase(&self) -> Phase {
        self.state.phase
    }

    pub(crate) fn joined(&self) -> &[CrawlUrl] {
        &self.state.joined
    }

    pub(crate) fn tenures(&self) -> &BTreeMap<ShardId, Vec<Tenure>> {
        &self.state.tenures
    }

    pub(crate) fn mail_for(&self, shards: &BTreeSet<ShardId>) -> Vec<(MailId, ShardId, Mail)> {
        let mail = self.state.mail.iter();
        let mail = mail.filter(|(_, (shard, _))| shards.contains(shard));
        mail.map(|(id, (shard, mail))| (*id, *shard, mail.clone()))
            .collect()
    }

    /// Whether all of it happened; nothing of it if not.
    pub(crate) fn commit(&mut self, commit: &Commit) -> bool {
        let holds = |(shard, part): (&ShardId, &Part)| {
            let row = &self.state.rows[shard];
            let is_own = row.worker == Some(commit.worker) && row.fence() == part.fence;
            assert!(!is_own || part.pages + part.returns <= row.grant || row.grant == 0);
            is_own
        };
        if !commit.parts.iter().all(holds) {
            return false;
        }
        let state = &mut self.state;
        for (shard, part) in &commit.parts {
            let row = state.rows.get_mut(shard).expect("every shard");
            Arc::make_mut(&mut row.log).apply(&part.delta);
            let head = part.fence.head + 1;
            row.fence = Some(Fence { head, ..part.fence });
            row.batch = commit.batch;
            // What was idle in one phase may have work in the next.
            row.idle = part.idle && commit.phase == state.phase;
            row.wants = part.wants;
            if let Some(left) = &mut state.pages_left {
                row.grant = row
                    .grant
                    .checked_sub(part.pages + part.returns)
                    .expect("a page is fetched only against a grant");
                *left += part.returns;
                let share = (*left / 8).max(1).min(*left);
                let share = if part.wants && row.grant == 0 {
                    share
                } else {
                    0
                };
                *left -= share;
                row.grant += share;
            }
            let tenures = state.tenures.get_mut(shard).expect("it was claimed");
            let tenure = tenures.last_mut().expect("it was claimed");
            assert_eq!(
                (tenure.epoch, tenure.worker),
                (part.fence.epoch, commit.worker)
            );
            let first = tenure.batches.map_or(commit.batch, |(first, _)| first);
            assert!(tenure.batches.is_none_or(|(_, last)| last < commit.batch));
            tenure.batches = Some((first, commit.batch));
        }
        for (at, mail) in commit.mail.iter().enumerate() {
            let shard = self.cut.of(mail.host(&self.keyer));
            let id = (commit.worker, commit.batch, at);
            state.mail.insert(id, (shard, mail.clone()));
        }
        for id in &commit.imported {
            state.mail.remove(id);
        }
        for url in &commit.joined {
            if !state.joined.contains(url) {
                state.joined.push(url.clone());
            }
        }
        true
    }

    /// Goes on to the next phase where nothing is left of this one, by one look at everything.
    fn judge(&mut self) {
        let state = &mut self.state;
        let all_claimed = state.rows.values().all(|row| row.fence.is_some());
        let is_root = |mail: &Mail| matches!(mail, Mail::Url(entry) if entry.root);
        let mut rows = state.rows.values();
        let grants: u64 = rows.clone().map(|row| row.grant).sum();
        let is_spent = state.pages_left.unwrap_or(0) + grants == 0;
        match state.phase {
            // A root for which no page is left is never asked.
            Phase::Roots if all_claimed && state.pages_left.is_some() && is_spent => {
                state.phase = Phase::Run;
                state.rows.values_mut().for_each(|row| row.idle = false);
            }
            Phase::Roots => {
                let mut mail = state.mail.values();
                let started =
                    rows.all(|row| row.fence().head > 0 && row.log.counts.roots_todo == 0);
                if all_claimed && started && !mail.any(|(_, mail)| is_root(mail)) {
                    state.phase = Phase::Run;
                    state.rows.values_mut().for_each(|row| row.idle = false);
                }
            }
            Phase::Run | Phase::LastCall => {
                let quiet = rows.all(|row| row.idle && (!row.wants || is_spent));
                if quiet && state.mail.is_empty() {
                    state.phase = if state.phase == Phase::Run {
                        Phase::LastCall
                    } else {
                        Phase::Done
                    };
                    state.rows.values_mut().for_each(|row| row.idle = false);
                }
            }
            Phase::Done => {}
        }
    }

    /// Leave to ask addresses, as far as the others leave room.
    pub(crate) fn addresses(
        &mut self,
        worker: u64,
        asked: &[AddressUse],
        now: Moment,
    ) -> Vec<(IpAddr, Option<AddressGrant>)> {
        self.grants += 1;
        self.addresses.retain(|_, row| row.until > now);
        let grants = asked
            .iter()
            .map(|one| (one.address, self.address(worker, one, now)));
        grants.collect()
    }

    fn address(&mut self, worker: u64, asked: &AddressUse, now: Moment) -> Option<AddressGrant> {
        let key = (asked.address, worker);
        if now < self.quiet_until && !self.addresses.contains_key(&key) {
            return None;
        }
        let rows = self.addresses.iter();
        let others: Vec<AddressHolding> = rows
            .filter(|((address, other), _)| *address == asked.address && *other != worker)
            .map(|(_, row)| row.holding)
            .collect();
        let row = self.addresses.entry(key).or_default();
        row.until = now + grant_time(self.times);
        let pace = row
            .holding
            .deal(asked, address_rule(), &others, self.grants)?;
        Some(AddressGrant {
            pace,
            until: Moment::ZERO,
            number: self.grants,
        })
    }

    /// Keeps the state for a roll-back.
    pub(crate) fn remember(&mut self, now: Moment) {
        self.earlier.push((now, self.state.clone()));
        if self.earlier.len() > 12 {
            self.earlier.remove(0);
        }
    }

    /// Goes back to the oldest state that is remembered, about a second.
    pub(crate) fn roll_back(&mut self, now: Moment) {
        if self.earlier.is_empty() {
            return;
        }
        (_, self.state) = self.earlier.remove(0);
        self.earlier.clear();
        self.addresses.clear();
        self.quiet_until = now + grant_time(self.times) + self.times.grace();
    }
}
