//! One process of a fleet: the same crawl, cut into shards, with many owners.
//!
//! Owns what makes a crawl a member of a fleet: its store is a cache of the logs of the shards that
//! it holds ([`journal`]), its batches count when the bus says so ([`committer`]), and a driver
//! beside the engine keeps the lease, takes shards over and gives them back ([`driver`]). Which
//! shard is whose and what may be asked is decided in the core; how the bus keeps it, behind
//! [`Bus`](clewline_core::fleet::Bus). Without a fleet nothing of this runs.

mod addresses;
mod asker;
mod batch;
mod commits;
mod committer;
mod deaths;
mod driver;
mod journal;
mod lease;
mod membership;
mod messages;
mod orders;
mod requeue;
mod sent;
mod shard_log;
mod shares;
mod worker_folder;

use std::collections::BTreeMap;

use clewline_core::fleet::{
    BusError, DealtAddress, FleetAnswer, JobView, MailRow, ShardId, ShardRow, Tenure,
};
use clewline_core::frontier::Moment;

pub(crate) use asker::Asker;
pub(crate) use batch::ShardMap;
pub(crate) use committer::{CommitFailure, Committer};
pub(crate) use deaths::found_in as deaths_found_in;
pub(crate) use driver::{DriverParts, FleetDriver};
pub(crate) use journal::JournalStore;
pub(crate) use lease::FleetLease;
pub(crate) use membership::{AtWork, Membership};
pub(crate) use messages::{Delta, pack_mail, read_mail};
pub(crate) use orders::FleetOrder;
pub(crate) use requeue::{requeue, settled_keys};
use shard_log::ShardLog;
pub(crate) use worker_folder::{BatchesFile, write_fleet_file};

/// What the driver of a member hears.
#[derive(Debug)]
pub(crate) enum FleetWord {
    /// The answer to a request for membership or a shard that was sent then.
    Member {
        answer: Result<FleetAnswer, BusError>,
        sent: Moment,
    },
    /// How the job stands.
    View(Result<Box<JobView>, BusError>),
    /// Leave to ask addresses until then.
    Addresses {
        dealt: Result<Vec<DealtAddress>, BusError>,
        until: Moment,
    },
    /// The job was ended.
    Ended(Result<(), BusError>),
    /// All members were told of something.
    Ordered(Result<(), BusError>),
    /// The log of a shard was read.
    Loaded {
        shard: ShardId,
        loaded: Result<Box<(ShardRow, ShardLog)>, BusError>,
    },
    /// Mail that was asked for then.
    Mail {
        mail: Result<Vec<MailRow>, BusError>,
        sent: Moment,
    },
    /// The log of a shard was shortened, or not.
    Compacted(Result<bool, BusError>),
    /// Who held which shard.
    Tenures(Result<Vec<Tenure>, BusError>),
    /// The batch that was on its way counts, but for shards that were lost in these tenures.
    Committed {
        rows: Vec<ShardRow>,
        lost: BTreeMap<ShardId, u64>,
    },
}
