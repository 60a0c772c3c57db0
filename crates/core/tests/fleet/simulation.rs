//! Whole fleets with everything that can go wrong, seed by seed.
//!
//! Owns time, the network between processes and engine, the faults, and the referee, who sees every
//! request of every process. `CLEWLINE_FLEET_SEEDS` asks for more seeds than the usual few, or for
//! those from one to another.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::ops::Range;
use std::panic;
use std::time::Duration;

use clewline_core::domain::registrable;
use clewline_core::fleet::{FleetAnswer, FleetRequest, LeaseTimes, Mail, ShardId, Shards};
use clewline_core::frontier::{AddressGrant, AddressUse, FetchJob, Moment, Work};
use clewline_core::key::Keyer;
use clewline_core::url::CrawlUrl;
use mutate::Dice;

use super::bus::{Bus, Commit, MailId, Phase, Row, grant_time};
use super::moves::{ADDRESS_IN_FLIGHT, ADDRESS_RATE, BITS, DOMAIN_IN_FLIGHT, GAP, rules};
use super::process::{Process, Record, Sent, asked};
use super::web::{CRAWL_DELAY, Web};

const TICK: Duration = Duration::from_millis(20);
/// All times of leases follow from it.
const EXPIRY: Duration = Duration::from_secs(2);
/// After that nothing goes wrong any more.
const TROUBLE: Duration = Duration::from_secs(40);
/// Seeds of a usual run.
const USUAL_SEEDS: u64 = 1_000;
/// No crawl of these webs takes longer, however badly it goes.
const LONGEST: Duration = Duration::from_secs(400);

/// A question to the engine.
#[derive(Clone)]
enum Question {
    Member(FleetRequest),
    Load(ShardId),
    Commit(Box<Commit>),
    Rows(u64, Vec<ShardId>),
    Mail(BTreeSet<ShardId>),
    Addresses(Vec<AddressUse>),
}

/// Its answer.
#[derive(Clone)]
enum Reply {
    Member(FleetAnswer, Phase, Vec<CrawlUrl>),
    Loaded(ShardId, Box<Row>),
    Rows(u64, Vec<(ShardId, Row)>),
    Mail(Vec<(MailId, ShardId, Mail)>),
    Addresses(Vec<(IpAddr, Option<AddressGrant>)>),
}

/// Something on its way.
#[derive(Clone)]
enum Message {
    Ask(u64, Moment, Question),
    Answer(u64, Moment, Reply),
}

/// What goes wrong in a run.
#[derive(Debug, Clone, Copy, Default)]
struct Faults {
    lost: u64,
    repeated: u64,
    late: u64,
    kills: u64,
    freezes: u64,
    leaves: u64,
    roll_backs: u64,
}

/// How often something happened, so that a run shows what it tried.
#[derive(Debug, Default)]
struct Tried {
    records: u64,
    kills: u64,
    freezes: u64,
    leaves: u64,
    roll_backs: u64,
    lost: u64,
    refused: u64,
    lapses: u64,
    claims: u64,
    refetched: u64,
}

/// A request as the referee saw it.
struct Seen {
    start: Moment,
    end: Moment,
    worker: u64,
}

struct World {
    web: Web,
    keyer: Keyer,
    cut: Shards,
    dice: Dice,
    now: Moment,
    times: LeaseTimes,
    bus: Bus,
    faults: Faults,
    network: BTreeMap<(Moment, u64), Message>,
    messages: u64,
    processes: Vec<Process>,
    born: u64,
    wanted: usize,
    records: Vec<Record>,
    by_host: HashMap<String, Vec<Seen>>,
    by_group: HashMap<String, Vec<Seen>>,
    pages: Option<u64>,
    last_settled: Moment,
    tried: Tried,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let web = Web {
            seed,
            hosts: 8 + dice.roll(16),
            pages: 2 + dice.roll(4),
            roots_hosts_only: dice.chance(15),
        };
        let keyer = rules(&web).keyer;
        let times = LeaseTimes { expiry: EXPIRY };
        let pages = dice.chance(30).then(|| 1 + dice.roll(60));
        let mut percent = |chance: u64, most: u64| {
            if dice.chance(chance) {
                dice.roll(most)
            } else {
                0
            }
        };
        let faults = Faults {
            lost: percent(60, 15),
            repeated: percent(60, 10),
            late: percent(60, 6),
            kills: percent(60, 8),
            freezes: percent(50, 6),
            leaves: percent(50, 5),
            roll_backs: percent(25, 3),
        };
        Self {
            bus: Bus::new(BITS, keyer.clone(), times, pages),
            cut: Shards::new(BITS),
            now: Moment::ZERO,
            network: BTreeMap::new(),
            messages: 0,
            processes: Vec::new(),
            born: 0,
            wanted: 2 + dice.below(7),
            records: Vec::new(),
            by_host: HashMap::new(),
            by_group: HashMap::new(),
            last_settled: Moment::ZERO,
            tried: Tried::default(),
            web,
            keyer,
            dice,
            times,
            faults,
            pages,
        }
    }

    fn is_trouble(&self) -> bool {
        self.now < TROUBLE
    }

    fn post(&mut self, message: &Message) {
        let trouble = self.is_trouble();
        if trouble && self.dice.chance(self.faults.lost) {
            self.tried.lost += 1;
            return;
        }
        let copies = 1 + u64::from(trouble && self.dice.chance(self.faults.repeated));
        for _ in 0..copies {
            let mut delay = Duration::from_millis(1 + self.dice.roll(60));
            if trouble && self.dice.chance(self.faults.late) {
                delay += Duration::from_millis(self.dice.roll(4000));
            }
            self.messages += 1;
            let at = (self.now + delay, self.messages);
            self.network.insert(at, message.clone());
        }
    }

    fn ask(&mut self, worker: u64, question: Question) {
        self.post(&Message::Ask(worker, self.now, question));
    }

    fn deliver(&mut self) {
        while let Some((at, _)) = self
            .network
            .first_key_value()
            .filter(|(at, _)| at.0 <= self.now)
        {
            let at = *at;
            let message = self.network.remove(&at).expect("it was the first");
            match message {
                Message::Ask(worker, sent, question) => {
                    let fatal = matches!(question, Question::Commit(_));
                    let reply = self.execute(worker, question);
                    self.post(&Message::Answer(worker, sent, reply));
                    // Right after its commit happened is the worst moment to die.
                    if fatal && self.is_trouble() && self.dice.roll(1000) < self.faults.kills {
                        self.kill(worker);
                    }
                }
                Message::Answer(worker, sent, reply) => self.hear(worker, sent, reply),
            }
        }
    }

    fn execute(&mut self, worker: u64, question: Question) -> Reply {
        match question {
            Question::Member(ask) => {
                let answer = self.bus.member(worker, &ask, self.now);
                self.tried.claims += u64::from(matches!(answer, FleetAnswer::Claimed { .. }));
                Reply::Member(answer, self.bus.phase(), self.bus.joined().to_vec())
            }
            Question::Load(shard) => Reply::Loaded(shard, Box::new(self.bus.row(shard).clone())),
            Question::Commit(commit) => {
                let happened = self.bus.commit(&commit);
                self.tried.refused += u64::from(!happened);
                self.rows(commit.batch, commit.parts.keys().copied())
            }
            Question::Rows(batch, shards) => self.rows(batch, shards.into_iter()),
            Question::Mail(shards) => Reply::Mail(self.bus.mail_for(&shards)),
            Question::Addresses(addresses) => {
                Reply::Addresses(self.bus.addresses(worker, &addresses, self.now))
            }
        }
    }

    fn rows(&self, batch: u64, shards: impl Iterator<Item = ShardId>) -> Reply {
        let rows = shards.map(|shard| (shard, self.bus.row(shard).clone()));
        Reply::Rows(batch, rows.collect())
    }

    fn hear(&mut self, worker: u64, sent: Moment, reply: Reply) {
        let now = self.now;
        let mut waiting = Vec::new();
        let Some(at) = self.place_of(worker) else {
            return;
        };
        let process = &mut self.processes[at];
        if now < process.frozen_until {
            // It hears when it wakes.
            self.messages += 1;
            let wakes = (process.frozen_until, self.messages);
            self.network
                .insert(wakes, Message::Answer(worker, sent, reply));
            return;
        }
        match reply {
            Reply::Member(answer, phase, joined) => {
                if matches!(answer, FleetAnswer::Renewed(_)) {
                    process.hear_phase(phase, &joined, now);
                }
                process.ended |= answer == FleetAnswer::Left;
                let duties = process.member.hear(answer, sent, now);
                process.obey(duties, now);
            }
            Reply::Loaded(shard, row) => {
                if row.worker == Some(worker) && Some(row.fence()) == process.member.fence(shard) {
                    process.adopt(shard, &row, &self.web, now);
                } else if let Some((_, asked)) = process.loading.get_mut(&shard) {
                    *asked = None;
                }
            }
            Reply::Rows(batch, rows) => process.hear_commit(batch, &rows, now),
            Reply::Mail(mail) => process.import(mail, sent, now),
            Reply::Addresses(grants) => {
                let until = sent + grant_time(self.times);
                for (address, grant) in grants {
                    let Some(grant) = grant.filter(|_| until > now) else {
                        continue;
                    };
                    let grant = AddressGrant { until, ..grant };
                    process.frontier.grant_address(address, grant);
                    let granted = process.ungranted.extract_if(.., |(_, of)| *of == address);
                    waiting.extend(granted.map(|(job, _)| job));
                }
                for job in waiting {
                    let ending = self.web.answer(&job.work, &self.keyer);
                    process.settle(&job, ending, now);
                }
            }
        }
    }

    /// Where a member's process stands in the list, if it runs.
    fn place_of(&self, worker: u64) -> Option<usize> {
        let mut processes = self.processes.iter();
        processes.position(|one| one.member.id() == worker)
    }

    fn kill(&mut self, worker: u64) {
        let Some(at) = self.place_of(worker) else {
            return;
        };
        let process = self.processes.remove(at);
        self.tried.kills += 1;
        self.cut_flights(&process);
    }

    /// A process that is gone has no sockets.
    fn cut_flights(&mut self, process: &Process) {
        let now = self.now;
        let id = process.member.id();
        for seen in self.by_host.values_mut().chain(self.by_group.values_mut()) {
            for one in seen.iter_mut().filter(|one| one.worker == id) {
                one.end = one.end.min(now);
            }
        }
    }

    /// Faults of this tick.
    fn harm(&mut self) {
        if !self.is_trouble() {
            return;
        }
        let faults = self.faults;
        for at in (0..self.processes.len()).rev() {
            if self.dice.roll(5000) < faults.kills {
                self.kill(self.processes[at].member.id());
            } else if self.dice.roll(5000) < faults.freezes {
                let frozen = Duration::from_millis(self.dice.roll(5000));
                self.processes[at].frozen_until = self.now + frozen;
                self.tried.freezes += 1;
            } else if self.dice.roll(5000) < faults.leaves && !self.processes[at].leaving {
                self.processes[at].leaving = true;
                self.processes[at].member.leave();
                self.tried.leaves += 1;
            }
        }
        if self.dice.roll(2500) < faults.roll_backs && self.bus.phase() < Phase::LastCall {
            self.bus.roll_back(self.now);
            self.tried.roll_backs += 1;
        }
    }

    fn populate(&mut self) {
        let is_due = self.processes.len() < self.wanted && self.dice.chance(10);
        if is_due || self.processes.is_empty() {
            self.born += 1;
            // Two of them may be started at the same moment.
            let id = self.born << 20 | self.dice.roll(1 << 20);
            let pages = self.pages.is_some();
            let process = Process::new(id, &self.web, self.times, pages);
            self.processes.push(process);
        }
    }

    fn step(&mut self, at: usize) {
        let now = self.now;
        let process = &mut self.processes[at];
        if now < process.frozen_until {
            return;
        }
        let worker = process.member.id();
        let mut asks: Vec<Question> = Vec::new();
        asks.extend(process.member.poll(now).into_iter().map(Question::Member));
        if process.member.must_drop(now) {
            self.tried.lapses += u64::from(!process.flights.is_empty());
            process.abort(|_| true, now);
        }
        if process.leaving && process.member.has_lapsed(now) {
            process.ended = true;
        }
        for (shard, (_, asked)) in &mut process.loading {
            if asked.is_none_or(|asked| now > asked + EXPIRY / 4)
                && process.member.fence(*shard).is_some()
            {
                *asked = Some(now);
                asks.push(Question::Load(*shard));
            }
        }
        self.end_flights(at);
        self.share_out(at, &mut asks);
        self.hand_out(at, &mut asks);
        self.commit(at, &mut asks);
        let process = &self.processes[at];
        let shards = process.working();
        if !shards.is_empty() && process.may_work(now) && self.dice.chance(30) {
            asks.push(Question::Mail(shards));
        }
        for question in asks {
            self.ask(worker, question);
        }
    }

    fn end_flights(&mut self, at: usize) {
        let now = self.now;
        let process = &mut self.processes[at];
        let ended = process.flights.extract_if(.., |sent| sent.ends_at <= now);
        for Sent { job, .. } in ended.collect::<Vec<_>>() {
            if let Work::Resolve { url } = &job.work {
                process
                    .ungranted
                    .push((job.clone(), Web::address(url.host())));
                continue;
            }
            let ending = self.web.answer(&job.work, &self.keyer);
            process.settle(&job, ending, now);
        }
    }

    /// Gives back what is too much, or everything.
    fn share_out(&mut self, at: usize, asks: &mut Vec<Question>) {
        let now = self.now;
        let process = &mut self.processes[at];
        if process.leaving {
            for shard in process.working() {
                process.close(shard, now);
            }
            process.loading.clear();
            let unloaded: Vec<ShardId> = process.member.shards().collect();
            for shard in unloaded {
                if process.frontier.shard_counts(shard).is_none()
                    && let Some(ask) = process.member.give_back(shard)
                {
                    asks.push(Question::Member(ask));
                }
            }
        } else if process.member.surplus() > process.closing()
            && let Some(shard) = process.emptiest()
        {
            process.close(shard, now);
        }
        let (shards, records) = process.drained(now);
        for shard in shards {
            if let Some(ask) = process.member.give_back(shard) {
                asks.push(Question::Member(ask));
            }
        }
        self.records.extend(records);
    }

    fn hand_out(&mut self, at: usize, asks: &mut Vec<Question>) {
        let now = self.now;
        let process = &mut self.processes[at];
        if process.may_work(now) && process.is_sure_of_all() {
            while let Some(job) = self.processes[at].next(now) {
                self.start(at, job);
            }
        }
        let process = &mut self.processes[at];
        let is_due = now >= process.asked_addresses + EXPIRY / 4;
        if is_due && process.may_work(now) {
            process.asked_addresses = now;
            let recently = |used: &Moment| *used + EXPIRY / 2 > now;
            let none = |address| AddressUse {
                address,
                in_flight: 0,
                held: 0,
            };
            let waiting = process.ungranted.iter();
            let mut wanted: BTreeMap<IpAddr, AddressUse> = waiting
                .map(|(_, address)| (*address, none(*address)))
                .collect();
            for one in process.frontier.granted_addresses(now) {
                let is_wanted = one.in_flight > 0 || wanted.contains_key(&one.address);
                if is_wanted || process.used.get(&one.address).is_some_and(recently) {
                    wanted.insert(one.address, one);
                }
            }
            if !wanted.is_empty() {
                asks.push(Question::Addresses(wanted.into_values().collect()));
            }
        }
    }

    fn start(&mut self, at: usize, job: FetchJob) {
        let now = self.now;
        let took = Duration::from_millis(5 + self.dice.roll(300));
        let worker = self.processes[at].member.id();
        if let Some((url, address)) = asked(&job) {
            let shard = self.cut.of(self.keyer.key(url).host());
            let process = &mut self.processes[at];
            assert!(
                process.member.may_hand_out(shard, now),
                "{url} without a lease"
            );
            process.used.insert(address, now);
            let url = url.clone();
            self.referee(&url, address, (worker, took));
        }
        let ends_at = now + took;
        self.processes[at].flights.push(Sent { ends_at, job });
    }

    /// Looks at a request that starts, over all processes.
    fn referee(&mut self, url: &CrawlUrl, address: IpAddr, (worker, took): (u64, Duration)) {
        let now = self.now;
        let key = self.keyer.key(url).host();
        let row = self.bus.row(self.cut.of(key));
        let kept = row.log.lanes.get(&key).map(|lane| lane.interval);
        let seen = self.by_host.entry(url.host().into()).or_default();
        if let Some(last) = seen.last() {
            let moved = last.worker != worker;
            let gap = if moved && kept.is_some_and(|kept| kept >= CRAWL_DELAY) {
                CRAWL_DELAY
            } else {
                GAP
            };
            let since = now.saturating_sub(last.start);
            assert!(
                since >= gap,
                "{url} after {since:?} by {worker}, before by {}",
                last.worker
            );
        }
        let domain = registrable(url.host()).to_owned();
        let groups = [
            (url.host().to_owned(), 2),
            (domain, DOMAIN_IN_FLIGHT),
            (address.to_string(), ADDRESS_IN_FLIGHT),
        ];
        for (name, most) in groups {
            let seen = self.by_group.entry(name.clone()).or_default();
            let open = seen
                .iter()
                .rev()
                .take(200)
                .filter(|one| one.end > now)
                .count() as u32;
            assert!(open < most, "{name} has {open} in flight at {now:?}");
            if name == address.to_string() {
                let second = now.saturating_sub(Duration::from_secs(1));
                let recent = seen
                    .iter()
                    .rev()
                    .take_while(|one| one.start > second)
                    .count();
                let most = ADDRESS_RATE as usize + self.wanted + 1;
                assert!(
                    recent <= most,
                    "{name} was asked {recent} times in a second"
                );
            }
            seen.push(Seen {
                start: now,
                end: now + took,
                worker,
            });
        }
        let seen = self.by_host.entry(url.host().into()).or_default();
        seen.push(Seen {
            start: now,
            end: now + took,
            worker,
        });
    }

    fn commit(&mut self, at: usize, asks: &mut Vec<Question>) {
        let now = self.now;
        let process = &mut self.processes[at];
        if process.wants_commit(now) {
            let records = process.seal(now);
            if !records.is_empty() {
                self.last_settled = now;
            }
            self.records.extend(records);
            if self.is_trouble() && self.dice.roll(1000) < self.faults.kills {
                // Records are in its log, and nothing of it counts.
                self.processes[at].ended = true;
                return;
            }
        }
        let process = &mut self.processes[at];
        let statement = process.statement();
        let Some(pending) = &mut process.pending else {
            return;
        };
        match (pending.sent_at, statement) {
            (None, Some(statement)) => {
                pending.sent_at = Some(now);
                asks.push(Question::Commit(Box::new(statement)));
            }
            (Some(sent), Some(statement)) if now > sent + EXPIRY / 4 => {
                // An answer that got lost is no failure: first it is looked what happened.
                let shards = statement.parts.keys().copied().collect();
                pending.sent_at = Some(now);
                asks.push(Question::Rows(statement.batch, shards));
            }
            _ => {}
        }
    }

    /// Where everything stands, for whoever looks for the cause of a hang.
    fn picture(&self) -> String {
        let mut text = format!("{:?} {:?} {:?}\n", self.bus.phase(), self.pages, self.tried);
        for shard in self.cut.all() {
            let row = self.bus.row(shard);
            let mail = self.bus.mail_for(&BTreeSet::from([shard])).len();
            let line = format!(
                "{shard:?} of {:?} at {:?}, batch {}, idle {}, wants {}, grant {}, mail {mail}, {:?}\n",
                row.worker,
                row.fence(),
                row.batch,
                row.idle,
                row.wants,
                row.grant,
                row.log.counts
            );
            text += &line;
        }
        for process in &self.processes {
            text += &process.picture(self.now);
        }
        text
    }

    /// Runs to the end.
    fn run(&mut self) {
        let mut done_at = None;
        while done_at.is_none() {
            assert!(self.now < LONGEST, "the fleet hangs: {}", self.picture());
            self.deliver();
            self.harm();
            self.populate();
            for at in 0..self.processes.len() {
                self.step(at);
            }
            for at in (0..self.processes.len()).rev() {
                if self.processes[at].ended {
                    let process = self.processes.remove(at);
                    self.cut_flights(&process);
                }
            }
            if self.now.as_millis().is_multiple_of(100) {
                self.bus.remember(self.now);
            }
            if self.bus.phase() == Phase::Done {
                done_at = Some(self.now);
            }
            self.now += TICK;
        }
    }

    /// What the logs of all processes say, by the tenures.
    fn counted(&mut self) -> Vec<Record> {
        let tenures = self.bus.tenures();
        let counts = |record: &Record| {
            tenures.get(&record.shard).is_some_and(|tenures| {
                tenures.iter().any(|tenure| {
                    let batches = tenure.batches.filter(|_| tenure.worker == record.worker);
                    batches.is_some_and(|(first, last)| (first..=last).contains(&record.batch))
                })
            })
        };
        let counted: Vec<Record> = self
            .records
            .iter()
            .filter(|one| counts(one))
            .cloned()
            .collect();
        self.tried.refetched = (self.records.len() - counted.len()) as u64;
        counted
    }

    fn check(&mut self, seed: u64) {
        let counted = self.counted();
        let as_roots = counted.iter().filter(|record| record.is_root);
        let as_roots = as_roots.map(|record| record.url.clone()).collect();
        let expected = self.web.reachable(&as_roots);
        let urls: BTreeSet<String> = counted.iter().map(|record| record.url.clone()).collect();
        let is_first = |at: usize| counted[..at].iter().all(|one| one.url != counted[at].url);
        let twice = (0..counted.len()).find(|at| !is_first(*at));
        if let Some(record) = twice.map(|at| &counted[at]) {
            let all: Vec<_> = counted.iter().filter(|one| one.url == record.url).collect();
            let tenures = &self.bus.tenures()[&record.shard];
            panic!(
                "seed {seed}: counted twice: {all:#?} {tenures:#?} {:?}",
                self.tried
            );
        }
        let strange: Vec<_> = urls.difference(&expected).collect();
        assert!(strange.is_empty(), "seed {seed}: {strange:?}");
        match self.pages {
            None => {
                // Links to a host that joins are refused before it does.
                let is_sure = |url: &&String| {
                    let last = url.rsplit('/').next().expect("a path");
                    !self.web.roots_hosts_only
                        || (last.parse::<u64>().is_ok() && !url.contains("/to/"))
                };
                let missing: Vec<_> = expected.difference(&urls).filter(is_sure).collect();
                assert!(
                    missing.is_empty(),
                    "seed {seed}: {missing:?} {:?}",
                    self.tried
                );
            }
            Some(pages) => {
                let fetched = counted.iter().filter(|record| record.is_page).count() as u64;
                assert!(fetched <= pages, "seed {seed}: {fetched} of {pages} pages");
                let all_found = expected.iter().all(|url| urls.contains(url));
                assert!(
                    fetched == pages || all_found,
                    "seed {seed}: {fetched} of {pages} pages"
                );
            }
        }
        for tenures in self.bus.tenures().values() {
            for pair in tenures.windows(2) {
                assert!(pair[0].epoch < pair[1].epoch, "seed {seed}: epochs rise");
            }
        }
        let after = self.now.saturating_sub(self.last_settled.max(TROUBLE));
        assert!(after < 60 * EXPIRY, "seed {seed}: it ended {after:?} late");
    }
}

/// The seeds that are asked for: so many, or those from one to another ("300..400").
pub(crate) fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var("CLEWLINE_FLEET_SEEDS") else {
        return 0..USUAL_SEEDS;
    };
    let (from, to) = text.split_once("..").unwrap_or(("0", &text));
    let number = |text: &str| text.parse().expect("CLEWLINE_FLEET_SEEDS has numbers");
    number(from)..number(to)
}

/// Runs a seed; why it failed, if it did.
fn try_seed(seed: u64, sum: &mut Tried) -> Result<(), String> {
    let run = panic::catch_unwind(|| {
        let mut world = World::new(seed);
        world.run();
        world.check(seed);
        world.tried.records = world.records.len() as u64;
        world.tried
    });
    match run {
        Ok(tried) => sum.add(&tried),
        Err(reason) => {
            let text = reason.downcast_ref::<String>().cloned();
            return Err(text.unwrap_or_else(|| "it panicked".into()));
        }
    }
    Ok(())
}

/// A quarter of the seeds, so that the quarters can run side by side.
fn quarter(number: u64) {
    let seeds = seeds();
    let all = seeds.end - seeds.start;
    let mine = seeds.start + all * number / 4..seeds.start + all * (number + 1) / 4;
    let mut sum = Tried::default();
    let mut failed = Vec::new();
    for seed in mine.clone() {
        if let Err(reason) = try_seed(seed, &mut sum) {
            failed.push((seed, reason));
        }
    }
    eprintln!("seeds {mine:?}: {sum:?}");
    assert!(failed.is_empty(), "{failed:#?}");
    let all = [
        sum.kills,
        sum.freezes,
        sum.leaves,
        sum.roll_backs,
        sum.lost,
        sum.refused,
    ];
    let is_many = mine.end - mine.start >= 40;
    assert!(
        !is_many || all.iter().all(|count| *count > 0),
        "a fault was never tried: {sum:?}"
    );
}

#[test]
fn fleets_lose_nothing_and_stay_polite_1() {
    quarter(0);
}

#[test]
fn fleets_lose_nothing_and_stay_polite_2() {
    quarter(1);
}

#[test]
fn fleets_lose_nothing_and_stay_polite_3() {
    quarter(2);
}

#[test]
fn fleets_lose_nothing_and_stay_polite_4() {
    quarter(3);
}

impl Tried {
    fn add(&mut self, other: &Self) {
        self.records += other.records;
        self.kills += other.kills;
        self.freezes += other.freezes;
        self.leaves += other.leaves;
        self.roll_backs += other.roll_backs;
        self.lost += other.lost;
        self.refused += other.refused;
        self.lapses += other.lapses;
        self.claims += other.claims;
        self.refetched += other.refetched;
    }
}

#[test]
fn a_fleet_of_one_without_trouble_finds_what_one_crawler_finds() {
    for seed in 1..=5 {
        let mut world = World::new(seed);
        (world.wanted, world.faults) = (1, Faults::default());
        (world.pages, world.web.roots_hosts_only) = (None, false);
        world.bus = Bus::new(BITS, world.keyer.clone(), world.times, None);
        world.run();
        world.check(seed);
        assert_eq!(world.tried.refetched, 0);
    }
}
