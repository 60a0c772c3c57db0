//! A job in a database of its own, and the steps that tests take in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use clewline_core::fleet::{
    Bus, CommitPart, Fence, FleetAnswer, FleetCommit, FleetJob, FleetRequest, FleetView, ShardId,
    ShardRow,
};
use clewline_core::frontier::ShardCounts;
use clewline_postgres::{FleetCreation, FleetServer, PostgresBus};
use fieldwork::postgres::Server;

static JOBS: AtomicU64 = AtomicU64::new(0);

/// Long enough that nobody dies while a test runs.
pub(crate) const EXPIRY: Duration = Duration::from_mins(10);

/// A job with four shards.
pub(crate) fn job(pages: Option<u64>) -> FleetJob {
    FleetJob {
        name: format!("job-{}", JOBS.fetch_add(1, Ordering::Relaxed)),
        format: 3,
        spec: "depth = 2\n".to_owned(),
        seed: u64::MAX - 7,
        bits: 2,
        expiry: EXPIRY,
        pages,
    }
}

pub(crate) struct Place {
    pub(crate) server: Arc<Server>,
    pub(crate) fleet: FleetServer,
    pub(crate) job: FleetJob,
    pub(crate) bus: PostgresBus,
}

impl Place {
    /// A new job on the server that tests share.
    pub(crate) fn new(pages: Option<u64>) -> Option<Self> {
        Some(Self::on(Server::shared()?, pages))
    }

    pub(crate) fn on(server: Arc<Server>, pages: Option<u64>) -> Self {
        let mut fleet = FleetServer::connect(&server.url()).unwrap();
        let job = job(pages);
        assert_eq!(fleet.create(&job).unwrap(), FleetCreation::Created);
        let bus = fleet.bus(&job);
        Self {
            server,
            fleet,
            job,
            bus,
        }
    }

    pub(crate) fn ask(&mut self, worker: u64, request: &FleetRequest) -> FleetAnswer {
        self.bus.ask(worker, "{}", request).unwrap()
    }

    pub(crate) fn join(&mut self, worker: u64) {
        let answer = self.ask(worker, &FleetRequest::Join);
        assert_eq!(answer, FleetAnswer::Joined);
    }

    pub(crate) fn renew(&mut self, worker: u64) -> FleetView {
        match self.ask(worker, &FleetRequest::Renew) {
            FleetAnswer::Renewed(view) => view,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn row(&mut self, shard: u16) -> ShardRow {
        self.bus.log(ShardId(shard)).unwrap().0
    }

    /// Claims a shard as it stands.
    pub(crate) fn claim(&mut self, worker: u64, shard: u16) -> FleetAnswer {
        let fence = self.row(shard).fence;
        self.ask(worker, &FleetRequest::Claim(ShardId(shard), fence))
    }

    /// Claims a shard that is free.
    pub(crate) fn own(&mut self, worker: u64, shard: u16) -> Fence {
        match self.claim(worker, shard) {
            FleetAnswer::Claimed { fence, .. } => fence,
            other => panic!("{other:?}"),
        }
    }

    /// Makes a member's last renewal older than a lease.
    pub(crate) fn bury(&self, worker: u64) {
        let (name, worker) = (&self.job.name, worker.cast_signed());
        self.server.sql(&format!(
            "update clewline.member m set seen = seen - interval '1 day' from clewline.job j
             where j.id = m.job and j.name = '{name}' and m.id = {worker}"
        ));
    }

    pub(crate) fn number(&self, question: &str) -> i64 {
        let name = &self.job.name;
        let text = question.replace(
            "$job",
            &format!("(select id from clewline.job where name = '{name}')"),
        );
        self.server.sql(&text).parse().unwrap()
    }
}

pub(crate) fn part(shard: u16, fence: Fence) -> CommitPart {
    CommitPart {
        shard: ShardId(shard),
        fence,
        delta: format!("delta {shard} {}", fence.head + 1).into_bytes(),
        counts: ShardCounts {
            admitted: 10,
            settled: 4,
            withheld: 1,
            roots_todo: 0,
            sitemaps_todo: 2,
        },
        pages: 0,
        bytes: 100,
        returns: 0,
        wants: false,
        idle_in: None,
    }
}

pub(crate) fn commit(worker: u64, batch: u64, parts: Vec<CommitPart>) -> FleetCommit {
    FleetCommit {
        worker,
        batch,
        parts,
        mail: Vec::new(),
        imported: Vec::new(),
        joined: Vec::new(),
    }
}

/// A connection without the bus in between.
pub(crate) struct Raw {
    runtime: tokio::runtime::Runtime,
    client: tokio_postgres::Client,
}

impl Raw {
    pub(crate) fn connect(server: &Server) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let url = server.url();
        let connected = runtime.block_on(tokio_postgres::connect(&url, tokio_postgres::NoTls));
        let (client, connection) = connected.unwrap();
        runtime.spawn(async move { drop(connection.await) });
        Self { runtime, client }
    }

    pub(crate) fn run(&mut self, text: &str) {
        self.runtime
            .block_on(self.client.batch_execute(text))
            .unwrap();
    }

    pub(crate) fn is(&mut self, question: &str) -> bool {
        let asked = self.client.query_one(question, &[]);
        self.runtime.block_on(asked).unwrap().get(0)
    }

    pub(crate) fn wait_until(&mut self, question: &str) {
        while !self.is(question) {}
    }

    /// Until somebody waits for a lock that this connection holds. Within a transaction only the
    /// locks are looked at anew each time.
    pub(crate) fn wait_for_waiter(&mut self) {
        self.wait_until(
            "select exists (select from pg_locks
             where not granted and pg_backend_pid() = any(pg_blocking_pids(pid)))",
        );
    }
}
