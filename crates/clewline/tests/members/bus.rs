//! A bus in memory: the engine that members of one process share.
//!
//! Owns rows, logs and mail behind one lock, so that each call is one transaction. Faults are
//! asked for: answers that get lost, and a bus that is away.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clewline_core::fleet::{
    Bus, BusError, DealtAddress, Fence, FleetAnswer, FleetCommit, FleetJob, FleetRequest,
    FleetTotals, FleetView, JobPhase, JobView, KnownView, LogPart, MailId, MailRow,
    ShardCheckpoint, ShardId, ShardRow, Shards, Tenure,
};
use clewline_core::frontier::{AddressUse, ShardCounts};
use clewline_core::politeness::GroupPace;

struct Kept {
    row: ShardRow,
    is_claimed: bool,
    wants: bool,
    idle_in: Option<JobPhase>,
    pages: u64,
    bytes: u64,
    log: Vec<LogPart>,
}

struct State {
    job: FleetJob,
    begun: Instant,
    rows: BTreeMap<ShardId, Kept>,
    seen: BTreeMap<u64, Instant>,
    mail: BTreeMap<MailId, Vec<u8>>,
    tenures: Vec<Tenure>,
    joined: Vec<String>,
    orders: Vec<String>,
    phase: JobPhase,
    ended: Option<String>,
    paused: bool,
    pages_left: Option<u64>,
    addresses: BTreeMap<IpAddr, (u64, Instant)>,
    grants: u64,
    calls: u64,
    /// Every so many calls the answer gets lost.
    lossy: Option<u64>,
    away_until: Option<Instant>,
}

/// A connection to it.
#[derive(Clone)]
pub(crate) struct MemoryBus(Arc<Mutex<State>>);

impl MemoryBus {
    pub(crate) fn new(job: FleetJob) -> Self {
        let rows = Shards::new(job.bits).all().map(|shard| {
            let row = ShardRow {
                shard,
                worker: None,
                fence: Fence { epoch: 0, head: 0 },
                batch: 0,
                grant: 0,
                counts: ShardCounts::default(),
                log_bytes: (0, 0),
            };
            let row = Kept {
                row,
                is_claimed: false,
                wants: false,
                idle_in: None,
                pages: 0,
                bytes: 0,
                log: Vec::new(),
            };
            (shard, row)
        });
        Self(Arc::new(Mutex::new(State {
            rows: rows.collect(),
            pages_left: job.pages,
            job,
            begun: Instant::now(),
            seen: BTreeMap::new(),
            mail: BTreeMap::new(),
            tenures: Vec::new(),
            joined: Vec::new(),
            orders: Vec::new(),
            phase: JobPhase::Roots,
            ended: None,
            paused: false,
            addresses: BTreeMap::new(),
            grants: 0,
            calls: 0,
            lossy: None,
            away_until: None,
        })))
    }

    /// From here on the answer to every so many calls gets lost.
    pub(crate) fn lose_answers(&self, every: u64) {
        self.0.lock().unwrap().lossy = Some(every);
    }

    /// It does not answer for a while.
    pub(crate) fn go_away(&self, time: Duration) {
        self.0.lock().unwrap().away_until = Some(Instant::now() + time);
    }

    pub(crate) fn pause(&self, paused: bool) {
        self.0.lock().unwrap().paused = paused;
    }

    pub(crate) fn totals(&self) -> FleetTotals {
        self.0.lock().unwrap().totals()
    }

    /// The workers that own something.
    pub(crate) fn owners(&self) -> BTreeSet<u64> {
        let state = self.0.lock().unwrap();
        let owners = state.rows.values().filter_map(|row| row.row.worker);
        owners.collect()
    }

    pub(crate) fn all_tenures(&self) -> Vec<Tenure> {
        self.0.lock().unwrap().tenures.clone()
    }

    fn call<T>(
        &self,
        happens: impl FnOnce(&mut MutexGuard<'_, State>) -> T,
    ) -> Result<T, BusError> {
        let mut state = self.0.lock().unwrap();
        if state.away_until.is_some_and(|until| Instant::now() < until) {
            return Err(BusError::Away("it is away".into()));
        }
        let answer = happens(&mut state);
        state.calls += 1;
        let calls = state.calls;
        match state.lossy {
            Some(every) if calls.is_multiple_of(every) => {
                Err(BusError::Away("the answer got lost".into()))
            }
            _ => Ok(answer),
        }
    }
}

impl State {
    fn is_live(&self, worker: u64) -> bool {
        let seen = self.seen.get(&worker);
        seen.is_some_and(|seen| seen.elapsed() < self.job.expiry)
    }

    fn totals(&self) -> FleetTotals {
        let mut totals = FleetTotals {
            mail: self.mail.len() as u64,
            ..FleetTotals::default()
        };
        for row in self.rows.values() {
            totals.admitted += row.row.counts.admitted;
            totals.settled += row.row.counts.settled;
            totals.withheld += row.row.counts.withheld;
            totals.pages += row.pages;
            totals.bytes += row.bytes;
        }
        totals
    }

    fn own(&mut self, shard: ShardId, worker: u64) -> FleetAnswer {
        let row = self.rows.get_mut(&shard).unwrap();
        let was_free = row.row.worker.is_none();
        if row.row.worker != Some(worker) {
            row.idle_in = None;
        }
        row.row.worker = Some(worker);
        row.row.fence.epoch += 1;
        row.is_claimed = true;
        let fence = row.row.fence;
        self.tenures.push(Tenure {
            shard,
            epoch: fence.epoch,
            worker,
            batches: None,
            pages: 0,
        });
        FleetAnswer::Claimed {
            shard,
            fence,
            was_free,
        }
    }

    fn member(&mut self, worker: u64, request: &FleetRequest) -> FleetAnswer {
        match *request {
            FleetRequest::Join => {
                self.seen.insert(worker, Instant::now());
                FleetAnswer::Joined
            }
            FleetRequest::Renew if self.seen.contains_key(&worker) => {
                self.seen.insert(worker, Instant::now());
                FleetAnswer::Renewed(self.view_for(worker))
            }
            FleetRequest::Renew => FleetAnswer::Unknown,
            FleetRequest::Claim(shard, fence) => {
                let row = &self.rows[&shard].row;
                let is_free = row.worker.is_none_or(|owner| !self.is_live(owner));
                if row.fence == fence && is_free && self.is_live(worker) {
                    self.own(shard, worker)
                } else {
                    FleetAnswer::Refused(shard)
                }
            }
            FleetRequest::Reclaim(shard) => {
                if self.rows[&shard].row.worker == Some(worker) && self.is_live(worker) {
                    self.own(shard, worker)
                } else {
                    FleetAnswer::Refused(shard)
                }
            }
            FleetRequest::GiveBack(shard, fence) => {
                let row = &mut self.rows.get_mut(&shard).unwrap().row;
                if row.worker == Some(worker) && row.fence == fence {
                    row.worker = None;
                }
                FleetAnswer::GivenBack(shard)
            }
            FleetRequest::Leave => {
                self.seen.remove(&worker);
                FleetAnswer::Left
            }
        }
    }

    fn view_for(&self, worker: u64) -> FleetView {
        let shown = |row: &Kept| (row.row.shard, row.row.fence);
        let rows = self.rows.values();
        let is_free = |row: &&Kept| row.row.worker.is_none_or(|owner| !self.is_live(owner));
        let live = self.seen.keys().copied().filter(|id| self.is_live(*id));
        let has = |id: u64| {
            let owned = rows.clone().filter(|row| row.row.worker == Some(id));
            (Reverse(owned.count()), id)
        };
        let place = has(worker);
        FleetView {
            members: live.clone().count(),
            before: live.filter(|id| has(*id) < place).count(),
            free: rows.clone().filter(is_free).map(shown).collect(),
            held: rows
                .filter(|row| row.row.worker == Some(worker))
                .map(shown)
                .collect(),
        }
    }

    fn judge(&mut self) {
        let rows = self.rows.values();
        let grants: u64 = rows.clone().map(|row| row.row.grant).sum();
        let is_spent = self.pages_left.unwrap_or(0) + grants == 0;
        let all_claimed = rows.clone().all(|row| row.is_claimed);
        let started =
            |row: &Kept| row.row.fence.head > 0 && row.row.counts.roots_todo == 0 && row.is_claimed;
        let phase = self.phase;
        match phase {
            JobPhase::Roots if all_claimed && self.pages_left.is_some() && is_spent => {
                self.phase = JobPhase::Run;
            }
            // Whether a root is in the mail is not looked at: here none is redirected abroad.
            JobPhase::Roots if rows.clone().all(started) && self.mail.is_empty() => {
                self.phase = JobPhase::Run;
            }
            JobPhase::Run | JobPhase::LastCall => {
                let is_quiet = |row: &Kept| row.idle_in == Some(phase) && (!row.wants || is_spent);
                if rows.clone().all(is_quiet) && self.mail.is_empty() {
                    self.phase = if phase == JobPhase::Run {
                        JobPhase::LastCall
                    } else {
                        JobPhase::Done
                    };
                }
            }
            JobPhase::Roots | JobPhase::Done => {}
        }
    }

    fn commit(&mut self, commit: &FleetCommit) {
        let holds = commit.parts.iter().all(|part| {
            let row = &self.rows[&part.shard].row;
            row.worker == Some(commit.worker) && row.fence == part.fence
        });
        if !holds {
            return;
        }
        for part in &commit.parts {
            let row = self.rows.get_mut(&part.shard).unwrap();
            row.row.fence.head += 1;
            row.row.batch = commit.batch;
            row.row.counts = part.counts;
            assert_eq!(
                part.counts.todo(),
                part.counts.admitted - part.counts.settled
            );
            row.row.log_bytes.1 += part.delta.len() as u64;
            row.log.push(LogPart {
                seq: row.row.fence.head,
                part: None,
                body: part.delta.clone(),
            });
            row.idle_in = part.idle_in;
            row.wants = part.wants;
            row.pages += part.pages;
            row.bytes += part.bytes;
            if let Some(left) = &mut self.pages_left {
                let used = part.pages + part.returns;
                row.row.grant = row.row.grant.checked_sub(used).expect("within the grant");
                *left += part.returns;
                if part.wants && row.row.grant == 0 {
                    let share = (*left / 8).max(1).min(*left);
                    *left -= share;
                    row.row.grant = share;
                }
            }
            let mut tenures = self.tenures.iter_mut().rev();
            let tenure = tenures.find(|tenure| tenure.shard == part.shard).unwrap();
            let first = tenure.batches.map_or(commit.batch, |(first, _)| first);
            tenure.batches = Some((first, commit.batch));
            tenure.pages += part.pages;
        }
        for (shard, body) in &commit.mail {
            let id = MailId {
                shard: *shard,
                worker: commit.worker,
                batch: commit.batch,
            };
            self.mail.insert(id, body.clone());
        }
        for id in &commit.imported {
            self.mail.remove(id);
        }
        for url in &commit.joined {
            if !self.joined.contains(url) {
                self.joined.push(url.clone());
            }
        }
    }
}

impl Bus for MemoryBus {
    fn another(&self) -> Box<dyn Bus> {
        Box::new(self.clone())
    }

    fn ask(
        &mut self,
        worker: u64,
        info: &str,
        request: &FleetRequest,
    ) -> Result<FleetAnswer, BusError> {
        assert!(info.starts_with('{'), "{info}");
        self.call(|state| state.member(worker, request))
    }

    fn view(&mut self, known: KnownView) -> Result<JobView, BusError> {
        self.call(|state| {
            state.judge();
            let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            JobView {
                phase: if state.ended.is_some() {
                    JobPhase::Done
                } else {
                    state.phase
                },
                ended: state.ended.clone(),
                paused: state.paused,
                joined: state.joined[known.joined as usize..].to_vec(),
                orders: state.orders[known.orders as usize..].to_vec(),
                members: state.seen.len() as u64,
                totals: state.totals(),
                elapsed: state.begun.elapsed(),
                clock: since_1970.as_millis() as u64,
            }
        })
    }

    fn log(&mut self, shard: ShardId) -> Result<(ShardRow, Vec<LogPart>), BusError> {
        self.call(|state| (state.rows[&shard].row, state.rows[&shard].log.clone()))
    }

    fn mail(&mut self, shards: &[ShardId], _most: usize) -> Result<Vec<MailRow>, BusError> {
        self.call(|state| {
            let mail = state.mail.iter();
            let mail = mail.filter(|(id, _)| shards.contains(&id.shard));
            mail.map(|(id, body)| MailRow {
                id: *id,
                body: body.clone(),
            })
            .collect()
        })
    }

    fn commit(&mut self, commit: &FleetCommit) -> Result<Vec<ShardRow>, BusError> {
        self.call(|state| {
            state.commit(commit);
            let shards = commit.parts.iter();
            shards.map(|part| state.rows[&part.shard].row).collect()
        })
    }

    fn compact(
        &mut self,
        worker: u64,
        held: (ShardId, u64),
        checkpoint: &ShardCheckpoint,
    ) -> Result<bool, BusError> {
        self.call(|state| {
            let row = state.rows.get_mut(&held.0).unwrap();
            if row.row.worker != Some(worker) || row.row.fence.epoch != held.1 {
                return false;
            }
            let parts = &checkpoint.parts;
            row.log.retain(|part| part.seq > checkpoint.seq);
            row.log.splice(0..0, parts.iter().cloned());
            let bytes = parts.iter().map(|part| part.body.len() as u64).sum();
            row.row.log_bytes = (bytes, 0);
            true
        })
    }

    fn addresses(
        &mut self,
        worker: u64,
        asked: &[AddressUse],
        rule: GroupPace,
        time: Duration,
    ) -> Result<Vec<DealtAddress>, BusError> {
        self.call(|state| {
            state.grants += 1;
            let number = state.grants;
            // Whoever comes first has all of it; that is enough to hold the rule.
            let mut deal = |address: IpAddr| {
                let (owner, until) = state
                    .addresses
                    .entry(address)
                    .or_insert((worker, Instant::now()));
                if *owner != worker && Instant::now() < *until {
                    return None;
                }
                (*owner, *until) = (worker, Instant::now() + time);
                Some((rule, number))
            };
            let asked = asked.iter();
            asked
                .map(|one| DealtAddress {
                    address: one.address,
                    pace: deal(one.address),
                })
                .collect()
        })
    }

    fn tenures(&mut self) -> Result<Vec<Tenure>, BusError> {
        self.call(|state| state.tenures.clone())
    }

    fn order(&mut self, text: &str) -> Result<(), BusError> {
        self.call(|state| state.orders.push(text.to_owned()))
    }

    fn end(&mut self, why: &str) -> Result<(), BusError> {
        self.call(|state| {
            state.ended.get_or_insert_with(|| why.to_owned());
        })
    }
}
