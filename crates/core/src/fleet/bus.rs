//! The bus: what members of a fleet share, whichever engine keeps it.
//!
//! Owns the seam [`Bus`] and the values that pass through it. What a delta or a piece of mail says
//! is bytes here; whoever packs them reads them. It refuses to know connections and statements.
//! Invariants: each call happens whole or not at all; a commit counts only if every shard of it
//! still stands where its member believes; an error says nothing about what happened.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Fence, FleetAnswer, FleetRequest, ShardId};
use crate::frontier::{AddressUse, ShardCounts};
use crate::politeness::GroupPace;

/// Why a call brought no answer.
#[derive(Debug, Error)]
pub enum BusError {
    /// Nobody answered, or not in time. It may have happened all the same, and may go through later.
    #[error("the fleet's database does not answer: {0}")]
    Away(String),
    /// It will not go through later either.
    #[error("{0}")]
    Unusable(String),
}

/// How far a job has come. What follows is decided by one look at all shards and the mail.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[repr(u8)]
pub enum JobPhase {
    /// Only roots are asked, until all of their redirects have ended: what they lead to belongs to
    /// the crawl, and everybody has to know that first.
    #[default]
    Roots = 0,
    /// Everything is asked.
    Run = 1,
    /// Nothing is left but hosts without a robots.txt, which now give up.
    LastCall = 2,
    /// Nothing is left, or somebody ended it.
    Done = 3,
}

impl JobPhase {
    /// The phase with this number.
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Roots),
            1 => Some(Self::Run),
            2 => Some(Self::LastCall),
            3 => Some(Self::Done),
            _ => None,
        }
    }
}

/// A job of a fleet, as its first member made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetJob {
    /// What people call it.
    pub name: String,
    /// Which messages its members understand.
    pub format: u32,
    /// Its configuration as text, without secrets; only members read it.
    pub spec: String,
    /// The seed of its keys.
    pub seed: u64,
    /// It is cut into 2^bits shards.
    pub bits: u32,
    /// So long after its last renewal a member counts as dead.
    pub expiry: Duration,
    /// The budget of pages.
    pub pages: Option<u64>,
}

/// What a member knows of its job already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KnownView {
    /// Hosts that joined the scope: so many were heard of.
    pub joined: u64,
    /// Orders: so many were heard of.
    pub orders: u64,
}

/// How a job stands, with what is new to whoever asks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JobView {
    /// How far it has come.
    pub phase: JobPhase,
    /// Why it ended early, if it did.
    pub ended: Option<String>,
    /// Nothing is to be asked until somebody says so.
    pub paused: bool,
    /// Hosts that joined the scope since, as URLs, in their order.
    pub joined: Vec<String>,
    /// What was ordered since, in its order.
    pub orders: Vec<String>,
    /// Members whose renewals are good.
    pub members: u64,
    /// Sums over all shards.
    pub totals: FleetTotals,
    /// Time since the job was made.
    pub elapsed: Duration,
    /// The time of the bus, in milliseconds since 1970.
    pub clock: u64,
}

/// What all members together have done and have left to do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetTotals {
    /// URLs that were let in.
    pub admitted: u64,
    /// URLs that reached their end.
    pub settled: u64,
    /// URLs that are given up as part of a trap.
    pub withheld: u64,
    /// Pages fetched.
    pub pages: u64,
    /// Bytes read from the network.
    pub bytes: u64,
    /// Batches of links that nobody has read yet.
    pub mail: u64,
}

/// The row of a shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardRow {
    /// Which one.
    pub shard: ShardId,
    /// Who owns it.
    pub worker: Option<u64>,
    /// Where its log stands.
    pub fence: Fence,
    /// The last batch that counts.
    pub batch: u64,
    /// Pages that may be fetched in it.
    pub grant: u64,
    /// Its counts after that batch.
    pub counts: ShardCounts,
    /// Bytes of its last checkpoint, and of the deltas since.
    pub log_bytes: (u64, u64),
}

/// A part of a shard's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPart {
    /// Its number; deltas count from one, and a checkpoint has the number of the last delta in it.
    pub seq: u64,
    /// The parts of a checkpoint are numbered; a delta has none.
    pub part: Option<u32>,
    /// What it says.
    pub body: Vec<u8>,
}

/// What takes the place of a shard's log up to a delta.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardCheckpoint {
    /// The number of that delta.
    pub seq: u64,
    /// All that is known of the shard then, under that number.
    pub parts: Vec<LogPart>,
    /// URLs that reached their end since the checkpoint before. They are kept, but whoever takes
    /// the shard over does not read them.
    pub past: Vec<Vec<u8>>,
}

/// All that was ever written down of a shard's URLs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardHistory {
    /// Its row.
    pub row: ShardRow,
    /// Its log from the last checkpoint on.
    pub log: Vec<LogPart>,
    /// URLs that reached their end before that.
    pub past: Vec<Vec<u8>>,
}

/// A shard in which URLs that had reached their end are queued again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardRequeue {
    /// Which one.
    pub shard: ShardId,
    /// Where it stands.
    pub fence: Fence,
    /// What queues them.
    pub delta: Vec<u8>,
    /// Its counts after that.
    pub counts: ShardCounts,
    /// How many URLs.
    pub urls: u64,
}

/// The name of a batch of mail, which is never given again: a serial number would be, after a
/// fail-over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MailId {
    /// For whom.
    pub shard: ShardId,
    /// Who sent it.
    pub worker: u64,
    /// In which batch.
    pub batch: u64,
}

/// Mail for one shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailRow {
    /// Its name.
    pub id: MailId,
    /// What it says.
    pub body: Vec<u8>,
}

/// What a batch did in one shard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitPart {
    /// Which one.
    pub shard: ShardId,
    /// Where it stands if the member is right.
    pub fence: Fence,
    /// What changed.
    pub delta: Vec<u8>,
    /// Its counts after the batch.
    pub counts: ShardCounts,
    /// Pages fetched in the batch; taken from the shard's grant where pages are granted.
    pub pages: u64,
    /// Bytes read from the network in the batch.
    pub bytes: u64,
    /// Granted pages that it has no work for.
    pub returns: u64,
    /// Something of it waits for a grant of pages.
    pub wants: bool,
    /// Nothing of it is left to do in this phase.
    pub idle_in: Option<JobPhase>,
}

/// A batch of a member: what it did, what it sends and what it took in. It counts whole or not at
/// all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetCommit {
    /// Whose.
    pub worker: u64,
    /// Its number, which rises by one with each batch of a member.
    pub batch: u64,
    /// What it did, at the most once for each shard.
    pub parts: Vec<CommitPart>,
    /// Mail for shards of others, at the most once for each.
    pub mail: Vec<(ShardId, Vec<u8>)>,
    /// Mail that was taken in.
    pub imported: Vec<MailId>,
    /// Hosts that joined the scope, as URLs.
    pub joined: Vec<String>,
}

/// Leave to ask an address, or none yet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DealtAddress {
    /// Which one.
    pub address: IpAddr,
    /// How, and the number of the grant.
    pub pace: Option<(GroupPace, u64)>,
}

/// Who held a shard in which epoch, and which of its batches count: from the first to the last, if
/// there is any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tenure {
    /// Which shard.
    pub shard: ShardId,
    /// In which epoch.
    pub epoch: u64,
    /// Who.
    pub worker: u64,
    /// The first and the last batch that count.
    pub batches: Option<(u64, u64)>,
    /// Pages that those batches brought.
    pub pages: u64,
}

/// A tenure of which something is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutTenure {
    /// As it was.
    pub was: Tenure,
    /// As far as it is still there.
    pub kept: Tenure,
}

/// Brings what the logs of a member hold to a place that outlives its machine. Called before each
/// commit, with the folder of the member, the number of the batch and where each log ends.
pub type Upload = Box<
    dyn FnMut(
            &Path,
            u64,
            &[(&'static str, u64)],
        ) -> Result<(), Box<dyn std::error::Error + Send + Sync>>
        + Send,
>;

/// The place of a crawl in a fleet.
pub struct FleetPlace {
    /// Which job it is part of.
    pub job: FleetJob,
    /// The way to the others.
    pub bus: Box<dyn Bus>,
    /// Their time as the crawl takes its place, in milliseconds since 1970 ([`JobView::clock`]).
    pub clock: u64,
    /// Where results are brought before they count, if they are.
    pub upload: Option<Upload>,
}

/// The engine that members of a fleet share, as one of them sees it: a connection to one job.
pub trait Bus: Send {
    /// Another connection to the same job, for calls that must not wait for each other.
    fn another(&self) -> Box<dyn Bus>;

    /// Asks for membership and shards. `info` says who asks, for people, as JSON.
    fn ask(
        &mut self,
        worker: u64,
        info: &str,
        request: &FleetRequest,
    ) -> Result<FleetAnswer, BusError>;

    /// How the job stands. Goes on to the next phase where nothing is left of this one.
    fn view(&mut self, known: KnownView) -> Result<JobView, BusError>;

    /// The log of a shard from its last checkpoint on, in its order, and its row as it was then.
    fn log(&mut self, shard: ShardId) -> Result<(ShardRow, Vec<LogPart>), BusError>;

    /// Mail for shards, about so many bytes of it at the most.
    fn mail(&mut self, shards: &[ShardId], most: usize) -> Result<Vec<MailRow>, BusError>;

    /// Commits a batch, whole or not at all, and grants pages to shards that want some and have
    /// none. Answers how the rows of its shards stand after that: whoever reads them sees whether
    /// it happened.
    fn commit(&mut self, commit: &FleetCommit) -> Result<Vec<ShardRow>, BusError>;

    /// Puts a checkpoint in place of everything up to its number in the log of a shard, and its past
    /// beside the log, if `worker` still holds it in this epoch; whether it did.
    fn compact(
        &mut self,
        worker: u64,
        held: (ShardId, u64),
        checkpoint: &ShardCheckpoint,
    ) -> Result<bool, BusError>;

    /// Leave to ask addresses for `time` from when it was asked for, within `rule` over all members.
    fn addresses(
        &mut self,
        worker: u64,
        asked: &[AddressUse],
        rule: GroupPace,
        time: Duration,
    ) -> Result<Vec<DealtAddress>, BusError>;

    /// Who held which shard, and which batches of theirs count.
    fn tenures(&mut self) -> Result<Vec<Tenure>, BusError>;

    /// Tells all members something, those that join later too.
    fn order(&mut self, text: &str) -> Result<(), BusError>;

    /// Ends the job early and says why, unless it has ended.
    fn end(&mut self, why: &str) -> Result<(), BusError>;
}
