//! A crawl that is a member of a fleet, from its configuration to the running engine.
//!
//! Owns what differs at the start: a folder of its own below that of the machine, keys seeded as
//! those of all members, an empty state, the clock of the database, and budgets that others count.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Duration;

use clewline_core::fleet::{
    FleetJob, FleetPlace, Mail, ShardHistory, ShardId, ShardRequeue, Shards,
};
use clewline_core::frontier::{Frontier, Moment, RootsOnly, Rules};
use clewline_core::key::Key;
use clewline_job::merge::{LostUrls, WORKERS, name_of};
use tokio::sync::mpsc as pages_channel;

use super::{Crawl, CrawlError, Setup, begin as begin_engine};
use crate::config::{Config, ConfigProblem};
use crate::engine::HandedPage;
use crate::engine::{EngineError, Parts, state};
use crate::fleet::{
    Asker, BatchesFile, Committer, DriverParts, FleetDriver, FleetLease, FleetOrder, JournalStore,
    ShardMap, deaths_found_in, pack_mail, requeue, settled_keys, write_fleet_file,
};
use crate::folder::{JobFolder, io_at, new_seed};
use crate::job;
use crate::leases::LeaseBoard;
use crate::log::Offset;
use crate::memory::MemoryPlan;
use crate::running::Running;
use crate::store::DiskStore;

/// What members write before it counts: each batch is a statement of the database …
const BATCH_TIME: Duration = Duration::from_millis(250);
/// … and with uploads some requests as well.
const UPLOADED_BATCH_TIME: Duration = Duration::from_secs(5);

/// Joins the fleet.
pub(super) fn begin(
    mut crawl: Crawl,
    mut place: FleetPlace,
    pages: Option<pages_channel::Sender<HandedPage>>,
) -> Result<Running, CrawlError> {
    let worker = new_seed() >> 1;
    let workers = workers_folder(&crawl.config)?;
    let deaths = deaths_found_in(&workers, place.job.seed);
    crawl.config.output.folder = Some(workers.join(name_of(worker)));
    let config = crawl.config.clone();
    let mut setup = Setup::seeded(crawl, pages, Some(place.job.seed))?;
    setup.rules = member_rules(setup.rules, &config, place.clock);
    let Some(folder) = &setup.folder else {
        unreachable!("a member has a folder");
    };
    let (batches, board) = own_files(folder, &place.job, worker)
        .map_err(|source| CrawlError::from(io_at(folder.path(), source)))?;
    let (outbox, inbox) = channel();
    let map = ShardMap {
        cut: Shards::new(place.job.bits),
        keyer: setup.rules.keyer.clone(),
    };
    let lease = FleetLease::new();
    let batch_time = if place.upload.is_some() {
        UPLOADED_BATCH_TIME
    } else {
        BATCH_TIME
    };
    let committer = Committer {
        bus: place.bus.another(),
        worker,
        lease: lease.clone(),
        map: map.clone(),
        batches,
        upload: place.upload.take(),
        engine: outbox.clone(),
        counted: 0,
    };
    let frontier = frontier(&setup, folder, committer, &map, &place.job)?;
    let clock = (lease.clock, map.keyer.clone());
    let asker = Asker::start(place.bus, worker, clock, outbox.clone());
    let driver = FleetDriver::new(DriverParts {
        worker,
        job: place.job,
        folder: folder.path().to_owned(),
        map,
        roots: config.roots.clone(),
        lease: lease.clone(),
        asker: asker.map_err(EngineError::Start)?,
        batch_time,
        rule: setup.rules.host.politeness.address,
        deaths,
        max_bytes: config.limits.bytes,
        max_time: config.limits.time,
    });
    let mut logs = job::open_logs(folder, &config, Offset(0))?;
    setup.logs.append(&mut logs);
    let (parts, folder) = setup.parts_with(frontier, outbox, inbox)?;
    let parts = Parts {
        member: Some(Box::new(driver)),
        lease: Some(lease),
        leases: Some(board),
        ..parts
    };
    begin_engine(parts, folder)
}

/// The files in the folder of a member that only members have, and its board of pages in hand.
fn own_files(
    folder: &JobFolder,
    job: &FleetJob,
    worker: u64,
) -> io::Result<(BatchesFile, LeaseBoard)> {
    write_fleet_file(folder.path(), job, worker, None)?;
    let batches = BatchesFile::create(folder.path())?;
    Ok((batches, LeaseBoard::open(&folder.state_path())?))
}

/// Each process has a folder of its own in it: nobody goes on with what another one left.
fn workers_folder(config: &Config) -> Result<PathBuf, CrawlError> {
    let folder = config.output.folder.as_ref();
    let folder = folder.ok_or_else(|| {
        CrawlError::Config(vec![ConfigProblem {
            setting: "output",
            problem: "is missing: a worker of a fleet keeps what it fetches in a folder".into(),
        }])
    })?;
    Ok(folder.join(WORKERS))
}

/// The rules of a member: others count pages, bytes and time for all, and the time that is kept with
/// hosts is that of the database.
fn member_rules(mut rules: Rules, config: &Config, clock: u64) -> Rules {
    rules.limits.leave_to_fleet();
    rules.epoch = clock;
    rules.active_lanes = MemoryPlan::new(config.output.memory.0).active_lanes();
    rules
}

fn frontier(
    setup: &Setup,
    folder: &JobFolder,
    committer: Committer,
    map: &ShardMap,
    job: &FleetJob,
) -> Result<Frontier<JournalStore>, CrawlError> {
    let plan = MemoryPlan::new(setup.config.output.memory.0);
    let disk = DiskStore::open(&folder.store_path(), map.keyer.clone(), plan)?;
    let store = JournalStore::new(disk, map.clone(), committer);
    let mut frontier = Frontier::new(setup.rules.clone(), store);
    frontier.join_fleet(job.bits);
    for root in &setup.config.roots {
        frontier.know_root(&root.url);
    }
    if job.pages.is_some() {
        frontier.count_granted_pages();
    }
    let told = frontier.hand_out_roots_only(RootsOnly::Yes, Moment::ZERO);
    told.map_err(state)?;
    Ok(frontier)
}

/// What a fleet needs of a crawl that does not run here.
impl Crawl {
    /// What brings its first root to a fleet that is at work with this configuration: an order to
    /// all members, and mail for the owner of a shard.
    pub fn root_for_fleet(&self, job: &FleetJob) -> Result<(String, ShardId, Vec<u8>), CrawlError> {
        if let Some((text, error)) = &self.bad_root {
            return Err(CrawlError::Root(text.clone(), *error));
        }
        let Some(root) = self.config.roots.first() else {
            return Err(CrawlError::Config(vec![ConfigProblem {
                setting: "url",
                problem: "is missing".into(),
            }]));
        };
        let rules = self.config.rules(job.seed)?;
        let mut entry = rules.root_entry(root.url.clone());
        entry.guessed_scheme = root.guessed_scheme;
        let shard = Shards::new(job.bits).of(entry.key.host());
        let order = FleetOrder::Root(root.url.to_string());
        let order = serde_json::to_string(&order).map_err(state)?;
        let mail = Mail::Url(Box::new(entry));
        Ok((order, shard, pack_mail(std::iter::once(&mail))))
    }

    /// The keys of all URLs that reached their end in a shard of a fleet with this configuration.
    pub fn settled_in_fleet(
        &self,
        job: &FleetJob,
        history: &ShardHistory,
    ) -> Result<Vec<Key>, CrawlError> {
        let rules = self.config.rules(job.seed)?;
        Ok(settled_keys(history, &rules.keyer).map_err(state)?)
    }

    /// What queues those of them again that are lost.
    pub fn requeue_in_fleet(
        &self,
        job: &FleetJob,
        history: &ShardHistory,
        lost: &LostUrls,
    ) -> Result<ShardRequeue, CrawlError> {
        let rules = self.config.rules(job.seed)?;
        Ok(requeue(history, lost, &rules.keyer).map_err(state)?)
    }
}
