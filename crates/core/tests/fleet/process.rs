//! One process of a fleet: a member, its frontier, its flights and its log of records.
//!
//! Owns the order of a commit: records first, then the one statement, then what follows from it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Duration;

use clewline_core::fleet::{Duty, FleetMember, LeaseTimes, Mail, ShardId, Shards};
use clewline_core::frontier::{
    Adoption, Ending, FetchJob, Finished, Frontier, Moment, Next, RootsOnly, Rules, Settled,
    Settlement, Work,
};
use clewline_core::key::{Key, Keyer};
use clewline_core::outcome::Outcome;
use clewline_core::url::CrawlUrl;

use super::bus::{Commit, MailId, Part, Phase, Row};
use super::journal::{Batch, JournalStore};
use super::moves::{BITS, rules, short_of_something};
use super::web::Web;

/// A line in the log of a process.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) worker: u64,
    pub(crate) batch: u64,
    pub(crate) shard: ShardId,
    pub(crate) url: String,
    pub(crate) is_page: bool,
    pub(crate) is_root: bool,
}

/// A request on its way.
pub(crate) struct Sent {
    pub(crate) ends_at: Moment,
    pub(crate) job: FetchJob,
}

/// A batch that is sealed and not known to have happened.
pub(crate) struct Pending {
    batch: Batch,
    number: u64,
    heads: BTreeMap<ShardId, Facts>,
    imported: Vec<(ShardId, MailId)>,
    /// In which what it says of idle shards was so.
    phase: Phase,
    joined: Vec<CrawlUrl>,
    pub(crate) sent_at: Option<Moment>,
}

/// What a batch says of a shard beside its delta.
#[derive(Debug, Clone, Copy)]
struct Facts {
    head: u64,
    pages: u64,
    returns: u64,
    wants: bool,
    idle: bool,
}

pub(crate) struct Process {
    pub(crate) member: FleetMember,
    pub(crate) frontier: Frontier<JournalStore>,
    keyer: Keyer,
    cut: Shards,
    pub(crate) flights: Vec<Sent>,
    /// Names that are resolved and wait for a grant.
    pub(crate) ungranted: Vec<(FetchJob, IpAddr)>,
    pub(crate) used: BTreeMap<IpAddr, Moment>,
    pub(crate) asked_addresses: Moment,
    pub(crate) loading: BTreeMap<ShardId, (Duration, Option<Moment>)>,
    closing: BTreeSet<ShardId>,
    imported: Vec<(ShardId, MailId)>,
    /// Mail that was taken in, and when it was heard that this is durable.
    has_read: HashMap<MailId, Option<Moment>>,
    pages: BTreeMap<ShardId, u64>,
    batch: u64,
    sealed_at: Moment,
    open: Vec<Record>,
    pub(crate) pending: Option<Pending>,
    pub(crate) is_idle: bool,
    shown_idle: BTreeSet<ShardId>,
    told: usize,
    pub(crate) phase: Phase,
    pub(crate) frozen_until: Moment,
    pub(crate) leaving: bool,
    pub(crate) ended: bool,
}

impl Process {
    pub(crate) fn new(id: u64, web: &Web, times: LeaseTimes, pages: bool) -> Self {
        let rules: Rules = rules(web);
        let keyer = rules.keyer.clone();
        let store = JournalStore::new(BITS, keyer.clone());
        let mut frontier = Frontier::new(rules, store);
        frontier.join_fleet(BITS);
        for root in web.roots() {
            frontier.know_root(&root);
        }
        if pages {
            frontier.count_granted_pages();
        }
        let Ok(()) = frontier.hand_out_roots_only(RootsOnly::Yes, Moment::ZERO);
        let cut = Shards::new(BITS);
        Self {
            member: FleetMember::new(id, cut.count(), times),
            frontier,
            keyer,
            cut,
            flights: Vec::new(),
            ungranted: Vec::new(),
            used: BTreeMap::new(),
            asked_addresses: Moment::ZERO,
            loading: BTreeMap::new(),
            closing: BTreeSet::new(),
            imported: Vec::new(),
            has_read: HashMap::new(),
            pages: BTreeMap::new(),
            batch: 1,
            sealed_at: Moment::ZERO,
            open: Vec::new(),
            pending: None,
            is_idle: false,
            shown_idle: BTreeSet::new(),
            told: 0,
            phase: Phase::Roots,
            frozen_until: Moment::ZERO,
            leaving: false,
            ended: false,
        }
    }

    fn shard_of(&self, key: Key) -> ShardId {
        self.cut.of(key.host())
    }

    pub(crate) fn obey(&mut self, duties: Vec<Duty>, now: Moment) {
        for duty in duties {
            match duty {
                Duty::Load { shard, grace } => {
                    self.loading.insert(shard, (grace, None));
                }
                Duty::Lose(shard) => self.lose(shard, now),
                Duty::End => self.ended = true,
            }
        }
    }

    /// A shard is somebody else's: nothing of it counts from the last commit on.
    pub(crate) fn lose(&mut self, shard: ShardId, now: Moment) {
        self.member.lost(shard);
        self.loading.remove(&shard);
        if self.frontier.shard_counts(shard).is_none() {
            return;
        }
        let Ok(()) = self.frontier.close_shard(shard, now);
        for job in self.frontier.flights_of(shard) {
            self.abort(|other| other.id == job, now);
        }
        assert_eq!(self.frontier.drop_shard(shard), Ok(true));
        let (cut, keyer) = (self.cut.clone(), self.keyer.clone());
        if let Some(pending) = &mut self.pending {
            pending.batch.lose(shard, |entry| {
                let page = entry.found_on.as_ref()?;
                Some(cut.of(keyer.key(page).host()))
            });
            pending.heads.remove(&shard);
            pending.imported.retain(|(of, _)| *of != shard);
        }
        self.forget(shard);
    }

    fn forget(&mut self, shard: ShardId) {
        self.closing.remove(&shard);
        self.imported.retain(|(of, _)| *of != shard);
        self.pages.remove(&shard);
        self.shown_idle.remove(&shard);
        // A batch that this process writes in a later tenure must not count them.
        self.open.retain(|record| record.shard != shard);
        // What was imported may be mail again.
        self.has_read.clear();
        let pending = self.pending.iter().flat_map(|pending| &pending.imported);
        let read = self.imported.iter().chain(pending);
        self.has_read.extend(read.map(|(_, id)| (*id, None)));
        self.is_idle = false;
    }

    /// Drops requests in flight.
    pub(crate) fn abort(&mut self, which: impl Fn(&FetchJob) -> bool, now: Moment) {
        let flights = self.flights.extract_if(.., |sent| which(&sent.job));
        let mut jobs: Vec<FetchJob> = flights.map(|sent| sent.job).collect();
        let waiting = self.ungranted.extract_if(.., |(job, _)| which(job));
        jobs.extend(waiting.map(|(job, _)| job));
        for job in jobs {
            self.settle(&job, short_of_something(), now);
        }
    }

    pub(crate) fn settle(&mut self, job: &FetchJob, mut ending: Ending, now: Moment) {
        if let Ending::Answered(answer) = &mut ending {
            // As a task does: what is known for sure is not offered.
            let cache = self.frontier.verdict_cache();
            let links = std::mem::take(&mut answer.links);
            for offer in links.iter().filter(|offer| !cache.knows(offer.key)) {
                answer.links.push(offer.link, offer.key);
            }
        }
        let mut settlement = Settlement {
            job: job.id,
            ending,
        };
        let Ok(settled) = self.frontier.settle(&mut settlement, now);
        self.is_idle = false;
        if let Settled::Done(finished) = settled {
            self.finish(&finished);
        }
    }

    fn finish(&mut self, finished: &Finished) {
        let shard = self.shard_of(finished.entry.key);
        let is_sitemap = finished.entry.url.path().rsplit('.').next() == Some("xml");
        let is_page = finished.outcome == Outcome::Fetched && !is_sitemap;
        *self.pages.entry(shard).or_default() += u64::from(is_page);
        self.open.push(Record {
            worker: self.member.id(),
            batch: self.batch,
            shard,
            url: finished.entry.url.to_string(),
            is_page,
            is_root: finished.entry.root,
        });
    }

    /// Takes over a shard that was loaded; the first owner of all brings its roots.
    pub(crate) fn adopt(&mut self, shard: ShardId, row: &Row, web: &Web, now: Moment) {
        let Some((grace, _)) = self.loading.remove(&shard) else {
            return;
        };
        // A late write of the former owner may have come after the claim was heard of, but none
        // after the claim.
        self.frontier.store().import(shard, &row.log);
        let adoption = Adoption {
            counts: row.log.counts,
            pages: row.grant,
            grace,
        };
        self.frontier.adopt_shard(shard, adoption, now);
        self.is_idle = false;
        if row.fence().head == 0 {
            self.frontier.store().mark(shard);
            for root in web.roots() {
                if self.shard_of(self.keyer.key(&root)) == shard {
                    let Ok(_) = self.frontier.admit_root(root, false, now);
                }
            }
        }
    }

    /// Whether anything may be asked at all.
    pub(crate) fn may_work(&self, now: Moment) -> bool {
        !self.leaving && !self.member.has_lapsed(now)
    }

    /// What is next to be asked, if anything may be.
    pub(crate) fn next(&mut self, now: Moment) -> Option<FetchJob> {
        loop {
            let Ok(next) = self.frontier.next(now);
            match next {
                Next::Start(job) => return Some(job),
                Next::Settled(finished) => self.finish(&finished),
                Next::Idle => {
                    self.is_idle = true;
                    return None;
                }
                Next::WaitUntil(_) | Next::Waiting => return None,
                Next::Done(end) => panic!("a member ends alone: {end:?}"),
            }
        }
    }

    /// The shards that it owns and may work in.
    pub(crate) fn working(&self) -> BTreeSet<ShardId> {
        let owned = self.frontier.owned_shards().into_iter();
        let is_open =
            |shard: &ShardId| self.member.fence(*shard).is_some() && !self.closing.contains(shard);
        owned.filter(is_open).collect()
    }

    /// Shards that were lost and won again in a lapse wait until they are sure.
    pub(crate) fn is_sure_of_all(&self) -> bool {
        let mut owned = self.frontier.owned_shards().into_iter();
        owned.all(|shard| self.member.fence(shard).is_some())
    }

    /// Takes in mail that was asked for at `sent`. What was taken in before is in the table again if
    /// its sender's commit was rolled back after it was read, and was sent anew: it is removed again.
    pub(crate) fn import(&mut self, mail: Vec<(MailId, ShardId, Mail)>, sent: Moment, now: Moment) {
        for (id, shard, mail) in mail {
            let is_own = self.frontier.shard_counts(shard).is_some();
            if !is_own || self.member.fence(shard).is_none() {
                continue;
            }
            match self.has_read.get(&id) {
                None => {
                    let Ok(_) = self.frontier.admit_mail(mail, now);
                    self.is_idle = false;
                }
                Some(Some(durable)) if *durable <= sent => {}
                Some(_) => continue,
            }
            self.has_read.insert(id, None);
            self.frontier.store().mark(shard);
            self.imported.push((shard, id));
        }
    }

    pub(crate) fn close(&mut self, shard: ShardId, now: Moment) {
        let Ok(()) = self.frontier.close_shard(shard, now);
        self.closing.insert(shard);
    }

    /// A shard to give back, the emptiest one.
    pub(crate) fn emptiest(&self) -> Option<ShardId> {
        let shards = self.working().into_iter();
        shards.min_by_key(|shard| {
            self.frontier
                .shard_counts(*shard)
                .map(|counts| counts.todo())
        })
    }

    /// How many shards are being closed.
    pub(crate) fn closing(&self) -> usize {
        self.closing.len()
    }

    /// A member that leaves asks for no grants, so a name of a closed shard that waits for one would
    /// wait for ever, and its shard with it.
    fn abort_resolving(&mut self, now: Moment) {
        let (cut, keyer, closing) = (self.cut.clone(), self.keyer.clone(), self.closing.clone());
        let is_closing = |job: &FetchJob| match &job.work {
            Work::Resolve { url } => closing.contains(&cut.of(keyer.key(url).host())),
            Work::Page { .. } | Work::Robots { .. } | Work::Errand { .. } => false,
        };
        self.abort(is_closing, now);
    }

    /// Closed shards of which nothing is in flight or uncommitted; what is uncommitted is sealed.
    pub(crate) fn drained(&mut self, now: Moment) -> (Vec<ShardId>, Vec<Record>) {
        self.abort_resolving(now);
        if self.pending.is_some() || !self.is_sure_of_all() {
            return (Vec::new(), Vec::new());
        }
        let closing = self.closing.iter().copied();
        let quiet = closing.filter(|shard| self.frontier.flights_of(*shard).is_empty());
        let quiet: Vec<ShardId> = quiet.collect();
        let (mut waiting, mut drained) = (Vec::new(), Vec::new());
        for shard in quiet {
            // What one leaves behind may be mail of the next.
            if self.has_uncommitted(shard) {
                self.frontier.store().mark(shard);
                waiting.push(shard);
            } else {
                assert_eq!(self.frontier.drop_shard(shard), Ok(true));
                self.forget(shard);
                drained.push(shard);
            }
        }
        let records = if waiting.is_empty() {
            Vec::new()
        } else {
            self.seal(now)
        };
        (drained, records)
    }

    /// Whether something of a closed shard has to count before another may have it. What is open in
    /// other shards need not.
    fn has_uncommitted(&mut self, shard: ShardId) -> bool {
        self.open.iter().any(|record| record.shard == shard)
            || self.imported.iter().any(|(of, _)| *of == shard)
            || self.frontier.has_unsaved_lanes(shard)
            || self.frontier.store().has_open_part_of(shard)
    }

    /// Whether a shard has pages that others need more: it has no roots left, and only roots are
    /// asked. It is not idle, because its other URLs wait.
    fn hoards_pages(&self, shard: ShardId) -> bool {
        let counts = self.frontier.shard_counts(shard);
        self.phase == Phase::Roots
            && self.frontier.pages_granted(shard) > 0
            && counts.is_some_and(|counts| counts.roots_todo == 0)
    }

    /// Whether it is time to seal the open batch.
    pub(crate) fn wants_commit(&mut self, now: Moment) -> bool {
        let gap = Duration::from_millis(100);
        if self.pending.is_some() || now < self.sealed_at + gap || !self.is_sure_of_all() {
            return false;
        }
        let working = self.working();
        let wants = |shard: &ShardId| self.frontier.wants_pages(*shard);
        let news = self.is_idle && working.iter().any(|shard| !self.shown_idle.contains(shard));
        let wishes = working.iter().any(wants) && now >= self.sealed_at + 4 * gap;
        let told = self.frontier.joined().len() > self.told;
        let hoards = working.iter().any(|shard| self.hoards_pages(*shard));
        news || wishes || told || hoards || self.frontier.store().has_open_batch()
    }

    /// Closes the open batch. Its records are in the log from here on, counted or not.
    pub(crate) fn seal(&mut self, now: Moment) -> Vec<Record> {
        self.sealed_at = now;
        let working = self.working();
        for shard in &working {
            if self.is_idle || self.frontier.wants_pages(*shard) || self.hoards_pages(*shard) {
                self.frontier.store().mark(*shard);
            }
        }
        if let Some(shard) = working.first().or(self.closing.first()) {
            // Mail goes out with a shard at least.
            self.frontier.store().mark(*shard);
        }
        let Ok(mut sealed) = self.frontier.seal(Vec::new());
        if sealed.0.deltas.is_empty() {
            // Whoever owns nothing sends nothing.
            return std::mem::take(&mut self.open);
        }
        let mut heads = BTreeMap::new();
        for (shard, delta) in &mut sealed.0.deltas {
            delta.counts = self.frontier.shard_counts(*shard).expect("it is owned");
            let idle = self.is_idle && working.contains(shard);
            let facts = Facts {
                head: self.member.fence(*shard).expect("it is sure").head,
                pages: self.pages.remove(shard).unwrap_or(0),
                returns: if idle || (working.contains(shard) && self.hoards_pages(*shard)) {
                    self.frontier.return_pages(*shard)
                } else {
                    0
                },
                wants: self.frontier.wants_pages(*shard),
                idle,
            };
            if idle {
                self.shown_idle.insert(*shard);
            } else {
                self.shown_idle.remove(shard);
            }
            heads.insert(*shard, facts);
        }
        self.pending = Some(Pending {
            batch: sealed.0,
            number: self.batch,
            heads,
            imported: std::mem::take(&mut self.imported),
            phase: self.phase,
            joined: self.frontier.joined().to_vec(),
            sent_at: None,
        });
        self.told = self.frontier.joined().len();
        self.batch += 1;
        std::mem::take(&mut self.open)
    }

    /// The statement for the pending batch, once all its shards are sure.
    pub(crate) fn statement(&self) -> Option<Commit> {
        let pending = self.pending.as_ref()?;
        let mut parts = BTreeMap::new();
        for (shard, delta) in &pending.batch.deltas {
            let facts = pending.heads[shard];
            let mut fence = self.member.fence(*shard)?;
            fence.head = facts.head;
            let part = Part {
                fence,
                delta: delta.clone(),
                pages: facts.pages,
                returns: facts.returns,
                wants: facts.wants,
                idle: facts.idle,
            };
            parts.insert(*shard, part);
        }
        Some(Commit {
            worker: self.member.id(),
            batch: pending.number,
            parts,
            mail: pending
                .batch
                .mail
                .iter()
                .map(|(_, mail)| mail.clone())
                .collect(),
            imported: pending.imported.iter().map(|(_, id)| *id).collect(),
            phase: pending.phase,
            joined: pending.joined.clone(),
        })
    }

    /// Hears how the rows stand of the shards of a batch after an attempt to commit it.
    pub(crate) fn hear_commit(&mut self, number: u64, rows: &[(ShardId, Row)], now: Moment) {
        let Some(pending) = self
            .pending
            .as_ref()
            .filter(|pending| pending.number == number)
        else {
            return;
        };
        let me = Some(self.member.id());
        let facts = pending.heads.clone();
        let mut lost = Vec::new();
        let mut happened = false;
        for (shard, row) in rows {
            let Some(facts) = facts.get(shard) else {
                continue;
            };
            if row.worker != me {
                lost.push(*shard);
            } else if row.batch == number && row.fence().head == facts.head + 1 {
                happened = true;
            } else if row.fence().head != facts.head {
                // The engine forgot what it had confirmed.
                self.ended = true;
                return;
            }
        }
        if happened {
            self.happened(rows, now);
        }
        for shard in lost {
            self.lose(shard, now);
        }
        if let Some(pending) = &mut self.pending {
            pending.sent_at = None;
            if pending.batch.deltas.is_empty() {
                self.pending = None;
            }
        }
    }

    fn happened(&mut self, rows: &[(ShardId, Row)], now: Moment) {
        let pending = self.pending.take().expect("it was pending");
        let sent = pending
            .batch
            .mail
            .iter()
            .filter_map(|(_, mail)| match mail {
                Mail::Url(entry) => Some(entry.key),
                _ => None,
            });
        let Ok(()) = self.frontier.know_sent(sent.collect::<Vec<_>>());
        for (_, id) in &pending.imported {
            self.has_read.insert(*id, Some(now));
        }
        self.frontier.committed();
        for (shard, facts) in &pending.heads {
            self.member.committed(*shard, now);
            let row = rows.iter().find(|(of, _)| of == shard);
            if let Some((_, row)) = row
                && self.frontier.shard_counts(*shard).is_some()
            {
                let had = self.frontier.pages_granted(*shard);
                let uncounted = self.pages.get(shard).copied().unwrap_or(0);
                let more = row.grant.saturating_sub(uncounted + had);
                if more > 0 {
                    let Ok(()) = self.frontier.grant_pages(*shard, more, now);
                    self.is_idle = false;
                }
                if facts.wants {
                    self.shown_idle.remove(shard);
                }
            }
        }
    }

    /// Where it stands, for whoever looks for the cause of a hang.
    pub(crate) fn picture(&self, now: Moment) -> String {
        let owned = self.frontier.owned_shards().into_iter();
        let owned: Vec<_> = owned.map(|of| (of, self.member.fence(of))).collect();
        let pending = self.pending.as_ref();
        format!(
            "{} lapsed {}, leaves {}, idle {}, shown {:?}, {:?}, flights {}, without grant {:?}, \
             loads {:?}, closes {:?}, pending {:?}, owns {owned:?}\n",
            self.member.id(),
            self.member.has_lapsed(now),
            self.leaving,
            self.is_idle,
            self.shown_idle,
            self.phase,
            self.flights.len(),
            self.ungranted
                .iter()
                .map(|(_, address)| address)
                .collect::<Vec<_>>(),
            self.loading,
            self.closing,
            pending.map(|pending| (pending.number, pending.sent_at, &pending.heads)),
        )
    }

    /// Hears how far the job is.
    pub(crate) fn hear_phase(&mut self, phase: Phase, joined: &[CrawlUrl], now: Moment) {
        for url in joined {
            self.frontier.hear_joined(url);
        }
        if phase == self.phase {
            return;
        }
        self.phase = phase;
        if phase >= Phase::Run {
            let Ok(()) = self.frontier.hand_out_roots_only(RootsOnly::No, now);
        }
        if phase == Phase::LastCall {
            self.frontier.call_last();
        }
        self.is_idle = false;
        self.shown_idle.clear();
    }
}

/// The URL that a job asks, if it asks a host.
pub(crate) fn asked(job: &FetchJob) -> Option<(&CrawlUrl, IpAddr)> {
    let (url, address) = job.work.request()?;
    Some((url, address?))
}
