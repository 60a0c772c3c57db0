//! The driver of a member: what it asks of the bus, and what it does with the answers.
//!
//! Owns the state of a member beside its frontier: its lease, the shards that come and go, what is
//! on its way. The parts of it are in [`shares`](super::shares) (shards), [`commits`](super::commits)
//! (batches and mail) and [`addresses`](super::addresses) (grants of addresses). It runs on the
//! engine's thread and never waits: questions go to the [`Asker`], answers come as words. Invariants:
//! nothing is handed out while the lease has lapsed or a shard is not held for sure; at most one
//! batch is on its way.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clewline_core::cookies::CookieJar;
use clewline_core::fleet::{
    BusError, Duty, FleetAnswer, FleetJob, FleetMember, FleetRequest, FleetTotals, JobPhase,
    JobView, KnownView, LeaseTimes, MailId, ShardId, ShardRow,
};
use clewline_core::frontier::{Frontier, JobId, Moment, RootsOnly, Work};
use clewline_core::key::Key;
use clewline_core::politeness::GroupPace;
use clewline_core::url::CrawlUrl;

use super::FleetWord;
use super::asker::{Asker, LongQuestion, QuickQuestion};
use super::batch::ShardMap;
use super::deaths::{DeathCounts, FoundDeath};
use super::journal::{JournalStore, SharedBatch};
use super::lease::FleetLease;
use super::membership::{AtWork, FleetTurn, Membership};
use super::shard_log::ShardLog;
use super::worker_folder::{FleetEnd, write_fleet_file};
use crate::config::Root;
use crate::engine::{EngineError, JobResult, state};
use crate::entry::Entry;
use crate::record::Record;
use crate::report::StoppedBy;

/// Rates are averaged over this time.
const RATE_TIME: Duration = Duration::from_secs(5);
/// A member looks after its lease at least so often.
const TURN: Duration = Duration::from_millis(50);

/// A shard that is being loaded.
#[derive(Debug)]
pub(super) struct Loading {
    pub(super) grace: Duration,
    pub(super) is_asked: bool,
    pub(super) loaded: Option<Box<(ShardRow, ShardLog)>>,
}

/// What a member was told to do, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Leaving {
    /// It stays.
    No,
    /// It leaves, and what is in flight has until then.
    Until(Moment),
    /// The job has ended.
    JobEnded(StoppedBy),
}

/// The driver of a member.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says of one question whether its answer is waited for, or is a fact of its own"
)]
pub(crate) struct FleetDriver {
    pub(super) member: FleetMember,
    pub(super) times: LeaseTimes,
    job: FleetJob,
    folder: PathBuf,
    pub(super) map: ShardMap,
    pub(super) roots: Vec<Root>,
    pub(super) lease: FleetLease,
    pub(super) asker: Asker,
    words: VecDeque<FleetWord>,
    /// Questions of the member that have no answer yet.
    asked: usize,
    is_viewing: bool,
    known: KnownView,
    pub(super) view: JobView,
    viewed_at: Moment,
    rate: PageRate,
    pub(super) phase: JobPhase,
    pub(super) loading: BTreeMap<ShardId, Loading>,
    pub(super) closing: BTreeSet<ShardId>,
    pub(super) losing: BTreeSet<ShardId>,
    /// How many tenures of a shard there were here.
    pub(super) tenures: BTreeMap<ShardId, u64>,
    pub(super) leaving: Leaving,
    has_left: bool,
    pub(super) has_tenures: bool,
    /// Names that are resolved and wait for a grant.
    pub(super) ungranted: Vec<(JobResult, Vec<IpAddr>)>,
    pub(super) used: BTreeMap<IpAddr, Moment>,
    pub(super) addresses_asked: Moment,
    pub(super) is_asking_addresses: bool,
    pub(super) rule: GroupPace,
    pub(super) is_asking_mail: bool,
    pub(super) mail_asked: Moment,
    pub(super) imported: Vec<MailId>,
    /// Mail that was taken in, and when it was heard that this is durable.
    pub(super) has_read: HashMap<MailId, Option<Moment>>,
    pub(super) pages: BTreeMap<ShardId, u64>,
    pub(super) bytes: BTreeMap<ShardId, u64>,
    pub(super) cookies: BTreeMap<ShardId, BTreeSet<String>>,
    pub(super) batch: u64,
    pub(super) batch_time: Duration,
    pub(super) sealed_at: Moment,
    pub(super) pending: Option<SharedBatch>,
    pub(super) committed: Option<(Vec<ShardRow>, BTreeMap<ShardId, u64>)>,
    pub(super) is_compacting: bool,
    pub(super) is_idle: bool,
    pub(super) shown_idle: BTreeSet<ShardId>,
    /// Hosts that joined the scope, of which all members hear.
    pub(super) told: HashSet<String>,
    pub(super) must_commit: bool,
    fatal: Option<String>,
    pub(super) deaths: DeathCounts,
    pub(super) max_bytes: Option<u64>,
    pub(super) max_time: Option<Duration>,
    is_ending: bool,
    pub(super) turn: FleetTurn,
}

/// Pages in a second, over the last seconds.
#[derive(Debug, Default)]
struct PageRate {
    at: Moment,
    pages: u64,
    per_second: f64,
}

impl PageRate {
    fn measure(&mut self, now: Moment, pages: u64) {
        let time = now.saturating_sub(self.at);
        if time >= RATE_TIME {
            self.per_second = pages.saturating_sub(self.pages) as f64 / time.as_secs_f64();
            (self.at, self.pages) = (now, pages);
        }
    }
}

/// What a driver is made of.
pub(crate) struct DriverParts {
    pub(crate) worker: u64,
    pub(crate) job: FleetJob,
    pub(crate) folder: PathBuf,
    pub(crate) map: ShardMap,
    pub(crate) roots: Vec<Root>,
    pub(crate) lease: FleetLease,
    pub(crate) asker: Asker,
    pub(crate) batch_time: Duration,
    pub(crate) rule: GroupPace,
    /// Members that died on this machine.
    pub(crate) deaths: Vec<FoundDeath>,
    pub(crate) max_bytes: Option<u64>,
    pub(crate) max_time: Option<Duration>,
}

impl FleetDriver {
    pub(crate) fn new(parts: DriverParts) -> Self {
        let times = LeaseTimes {
            expiry: parts.job.expiry,
        };
        let mut driver = Self {
            member: FleetMember::new(parts.worker, parts.map.cut.count(), times),
            times,
            job: parts.job,
            folder: parts.folder,
            map: parts.map,
            roots: parts.roots,
            lease: parts.lease,
            asker: parts.asker,
            words: VecDeque::new(),
            asked: 0,
            is_viewing: false,
            known: KnownView::default(),
            view: JobView::default(),
            viewed_at: Moment::ZERO,
            rate: PageRate::default(),
            phase: JobPhase::Roots,
            loading: BTreeMap::new(),
            closing: BTreeSet::new(),
            losing: BTreeSet::new(),
            tenures: BTreeMap::new(),
            leaving: Leaving::No,
            has_left: false,
            has_tenures: false,
            ungranted: Vec::new(),
            used: BTreeMap::new(),
            addresses_asked: Moment::ZERO,
            is_asking_addresses: false,
            rule: parts.rule,
            is_asking_mail: false,
            mail_asked: Moment::ZERO,
            imported: Vec::new(),
            has_read: HashMap::new(),
            pages: BTreeMap::new(),
            bytes: BTreeMap::new(),
            cookies: BTreeMap::new(),
            batch: 1,
            batch_time: parts.batch_time,
            sealed_at: Moment::ZERO,
            pending: None,
            committed: None,
            is_compacting: false,
            is_idle: false,
            shown_idle: BTreeSet::new(),
            told: HashSet::new(),
            must_commit: false,
            fatal: None,
            deaths: DeathCounts::default(),
            max_bytes: parts.max_bytes,
            max_time: parts.max_time,
            is_ending: false,
            turn: FleetTurn::default(),
        };
        driver.tell_deaths(parts.deaths);
        driver
    }

    pub(super) fn shard_of(&self, key: Key) -> ShardId {
        self.map.shard_of(key)
    }

    /// The time of the lease, which runs on while the machine sleeps.
    pub(super) fn lease_now(&self) -> Moment {
        self.lease.clock.now()
    }

    pub(super) const fn is_leaving(&self) -> bool {
        !matches!(self.leaving, Leaving::No)
    }

    /// Whether anything may be asked at all.
    pub(super) fn may_work(&self) -> bool {
        !self.is_leaving() && !self.member.has_lapsed(self.lease_now())
    }

    /// Shards that were lost and won again in a lapse wait until they are sure.
    pub(super) fn is_sure_of_all(&self, frontier: &Frontier<JournalStore>) -> bool {
        let mut owned = frontier.owned_shards().into_iter();
        self.losing.is_empty() && owned.all(|shard| self.member.fence(shard).is_some())
    }

    pub(super) fn is_away(&mut self, error: BusError) {
        if let BusError::Unusable(why) = error {
            self.fatal = Some(why);
        }
    }

    /// Handles everything that was heard.
    fn listen(&mut self, at: &mut AtWork<'_, JournalStore>) -> Result<(), EngineError> {
        while let Some(word) = self.words.pop_front() {
            match word {
                FleetWord::Member { answer, sent } => {
                    self.asked -= 1;
                    match answer {
                        Ok(answer) => {
                            self.has_left |= answer == FleetAnswer::Left;
                            let duties = self.member.hear(answer, sent, self.lease_now());
                            self.obey(duties);
                        }
                        Err(error) => self.is_away(error),
                    }
                }
                FleetWord::View(view) => {
                    self.is_viewing = false;
                    match view {
                        Ok(view) => self.hear_view(*view, at)?,
                        Err(error) => self.is_away(error),
                    }
                }
                FleetWord::Addresses { dealt, until } => self.hear_addresses(dealt, until, at),
                FleetWord::Ended(result) => {
                    self.is_ending = false;
                    result.unwrap_or_else(|error| self.is_away(error));
                }
                FleetWord::Ordered(result) => {
                    result.unwrap_or_else(|error| self.is_away(error));
                }
                FleetWord::Loaded { shard, loaded } => self.hear_loaded(shard, loaded),
                FleetWord::Mail { mail, sent } => self.hear_mail(mail, sent, at)?,
                FleetWord::Compacted(result) => {
                    self.is_compacting = false;
                    if let Err(error) = result {
                        self.is_away(error);
                    }
                }
                FleetWord::Tenures(tenures) => {
                    let joined = at.frontier.joined().to_vec();
                    self.has_tenures = true;
                    if let Ok(tenures) = tenures {
                        let end = FleetEnd {
                            tenures,
                            joined,
                            early: self.view.ended.clone(),
                        };
                        let worker = self.member.id();
                        write_fleet_file(&self.folder, &self.job, worker, Some(end))
                            .map_err(|error| EngineError::Write(error.into()))?;
                    }
                }
                FleetWord::Committed { .. } => unreachable!("it is taken when it is heard"),
            }
        }
        Ok(())
    }

    fn obey(&mut self, duties: Vec<Duty>) {
        for duty in duties {
            match duty {
                Duty::Load { shard, grace } => {
                    *self.tenures.entry(shard).or_default() += 1;
                    let loading = Loading {
                        grace,
                        is_asked: false,
                        loaded: None,
                    };
                    self.loading.insert(shard, loading);
                }
                Duty::Lose(shard) => self.lose(shard),
                Duty::End => {
                    let why = "the fleet's database does not know this worker any more";
                    self.lease.end(why);
                }
            }
        }
    }

    /// Hears how far the job is, and what was ordered.
    fn hear_view(
        &mut self,
        view: JobView,
        at: &mut AtWork<'_, JournalStore>,
    ) -> Result<(), EngineError> {
        self.known.joined += view.joined.len() as u64;
        for url in view.joined.iter().flat_map(|url| CrawlUrl::parse(url)) {
            at.frontier.hear_joined(&url);
            self.told.insert(url.to_string());
        }
        self.known.orders += view.orders.len() as u64;
        for order in &view.orders {
            self.hear_order(order, at);
        }
        if view.paused != self.view.paused {
            self.turn.paused = Some(view.paused);
        }
        self.viewed_at = at.now;
        let phase = view.phase;
        self.view = view;
        if phase != self.phase {
            self.enter(phase, at)?;
        }
        Ok(())
    }

    fn enter(
        &mut self,
        phase: JobPhase,
        at: &mut AtWork<'_, JournalStore>,
    ) -> Result<(), EngineError> {
        self.phase = phase;
        let only = if phase == JobPhase::Roots {
            RootsOnly::Yes
        } else {
            RootsOnly::No
        };
        let told = at.frontier.hand_out_roots_only(only, at.now);
        told.map_err(state)?;
        if phase == JobPhase::LastCall {
            at.frontier.call_last();
        }
        if phase == JobPhase::Done && !self.is_leaving() {
            let stopped_by = StoppedBy::in_fleet(self.view.ended.as_deref());
            self.leaving = Leaving::JobEnded(stopped_by);
            self.member.leave();
            self.asker.ask_long(LongQuestion::Tenures);
        }
        self.is_idle = false;
        self.shown_idle.clear();
        Ok(())
    }

    /// Asks what the member wants to know. Nothing is asked twice before it is answered.
    fn poll(&mut self, frontier: &Frontier<JournalStore>) {
        if self.asked > 0 {
            return;
        }
        self.rate
            .measure(self.lease.clock.now(), frontier.counts().pages);
        let info = self.info(frontier);
        for request in self.member.poll(self.lease_now()) {
            let renews = matches!(request, FleetRequest::Renew);
            self.ask_member(request, &info);
            if renews && !std::mem::replace(&mut self.is_viewing, true) {
                self.asker.ask(QuickQuestion::View(self.known));
            }
        }
    }

    pub(super) fn ask_member(&mut self, request: FleetRequest, info: &str) {
        self.asked += 1;
        self.asker
            .ask(QuickQuestion::Member(request, info.to_owned()));
    }

    /// Who it is and how it does, for people.
    pub(super) fn info(&self, frontier: &Frontier<JournalStore>) -> String {
        let counts = frontier.counts();
        serde_json::json!({
            "process": std::process::id(),
            "version": env!("CARGO_PKG_VERSION"),
            "folder": self.folder,
            "in_flight": counts.in_flight,
            "pages": counts.pages,
            "pages_per_second": self.rate.per_second,
            "shards": frontier.owned_shards().len(),
            "loading": self.loading.len(),
            "seconds": self.lease_now().as_secs(),
        })
        .to_string()
    }

    /// Budgets of bytes and time hold for all members together.
    fn watch_budgets(&mut self, at: &AtWork<'_, JournalStore>) {
        if self.is_leaving() || self.is_ending {
            return;
        }
        let open: u64 = self.bytes.values().sum();
        let bytes = self.view.totals.bytes + open;
        let elapsed = self.view.elapsed + at.now.saturating_sub(self.viewed_at);
        let spent = if self.max_bytes.is_some_and(|most| bytes >= most) {
            "--max-bytes"
        } else if self.max_time.is_some_and(|most| elapsed >= most) {
            "--max-time"
        } else {
            return;
        };
        self.is_ending = true;
        self.asker.ask(QuickQuestion::End(spent.to_owned()));
    }

    /// Tells commits and tasks what is held.
    fn publish(&self) {
        self.lease.publish(self.held_leases());
        let until = if self.has_left {
            Moment::ZERO
        } else {
            self.member.good_until()
        };
        self.lease.allow_until(until);
    }

    fn look_for_end(&mut self, at: &AtWork<'_, JournalStore>) {
        if let Some(why) = self.fatal.take() {
            self.lease.end(&why);
        }
        let has_lapsed = self.member.has_lapsed(self.lease_now());
        let is_done = at.batch.is_empty() && !at.is_writing;
        self.turn.ended = match &self.leaving {
            Leaving::Until(_) if self.has_left || has_lapsed => Some(StoppedBy::Interrupted),
            Leaving::JobEnded(by) if self.has_left && self.has_tenures => Some(by.clone()),
            Leaving::JobEnded(by) if has_lapsed && is_done => Some(by.clone()),
            _ => None,
        };
    }
}

impl Membership<JournalStore> for FleetDriver {
    fn hear(&mut self, word: FleetWord) {
        match word {
            // It is asked for before the next turn.
            FleetWord::Committed { rows, lost } => self.committed = Some((rows, lost)),
            word => self.words.push_back(word),
        }
    }

    fn turn(&mut self, mut at: AtWork<'_, JournalStore>) -> Result<FleetTurn, EngineError> {
        self.listen(&mut at)?;
        if let Some(why) = self.lease.ended() {
            return Err(EngineError::Fleet(why));
        }
        self.poll(at.frontier);
        self.turn.abort = self.jobs_to_drop(at.frontier);
        self.move_shards(&mut at)?;
        self.ask_addresses(&mut at);
        self.ask_mail(&at);
        self.watch_budgets(&at);
        self.publish();
        self.look_for_end(&at);
        let is_sure = self.is_sure_of_all(at.frontier);
        self.turn.holds = !self.may_work() || !is_sure;
        self.turn.commit = !at.is_writing && is_sure && self.wants_commit(&mut at);
        self.turn.due = at.now + TURN;
        Ok(std::mem::take(&mut self.turn))
    }

    fn receive(
        &mut self,
        result: JobResult,
        frontier: &Frontier<JournalStore>,
    ) -> Option<JobResult> {
        if !frontier.is_in_flight(result.settlement.job) {
            return None;
        }
        self.is_idle = false;
        self.await_grant(result, frontier)
    }

    fn finished(&mut self, record: &Record) {
        self.count(record);
    }

    fn cookies_changed(&mut self, url: &CrawlUrl) {
        let shard = self.shard_of(self.map.keyer.key(url));
        self.note_cookies(url.host(), shard);
    }

    fn started(&mut self, work: &Work, now: Moment) {
        self.note_use(work, now);
    }

    fn is_idle(&mut self) {
        self.is_idle = true;
    }

    fn before_seal(&mut self, frontier: &mut Frontier<JournalStore>) {
        self.mark_shards(frontier);
    }

    fn after_seal(
        &mut self,
        frontier: &mut Frontier<JournalStore>,
        cookies: &CookieJar,
        now: Moment,
    ) {
        self.complete_batch(frontier, cookies, now);
    }

    fn after_commit(
        &mut self,
        frontier: &mut Frontier<JournalStore>,
        entries: &mut Vec<Entry>,
        now: Moment,
    ) -> Result<(), EngineError> {
        self.batch_counts(frontier, entries, now)
    }

    fn totals(&self) -> (u64, FleetTotals) {
        (self.view.members, self.view.totals)
    }

    fn end(&mut self) {
        self.lease.end("the crawl has ended here");
    }

    fn leave(&mut self, grace: Duration) {
        let until = self.lease_now() + grace;
        if matches!(self.leaving, Leaving::No) {
            self.leaving = Leaving::Until(until);
            self.member.leave();
        } else if let Leaving::Until(known) = &mut self.leaving {
            *known = until.min(*known);
        }
    }
}

/// Jobs in flight of all shards that are owned.
pub(super) fn all_flights(frontier: &Frontier<JournalStore>) -> Vec<JobId> {
    let shards = frontier.owned_shards().into_iter();
    let jobs: BTreeSet<JobId> = shards
        .flat_map(|shard| frontier.flights_of(shard))
        .collect();
    jobs.into_iter().collect()
}
