//! A member's way to its job: the [`Bus`] on `PostgreSQL`.
//!
//! Owns which job is meant and how long each call may take; the statements are in the modules
//! beside it. Calls block, and must not be made from within an asynchronous runtime. Invariant: the
//! job is looked up again with each new connection, so that a job which was dropped and made again
//! is not mistaken for the old one.

use std::sync::Arc;
use std::time::Duration;

use clewline_core::fleet::{
    Bus, BusError, DealtAddress, FleetAnswer, FleetCommit, FleetJob, FleetRequest, JobView,
    KnownView, LogPart, MailRow, ShardCheckpoint, ShardId, ShardRow, Tenure,
};
use clewline_core::frontier::AddressUse;
use clewline_core::politeness::GroupPace;

use crate::fault::CallFault;
use crate::rows::bits;
use crate::session::{Connection, Session};
use crate::url::DatabaseUrl;
use crate::{addresses, commit, leases, log, phases};

/// The longest that loading and committing may take.
pub(crate) const LONG_CALL: Duration = Duration::from_secs(30);

/// The shortest limit of a call, however short leases are.
const LEAST_LIMIT: Duration = Duration::from_secs(1);

const FIND: &str = "select id from clewline.job where name = $1 and seed = $2";

/// One member's connection to one job.
pub struct PostgresBus {
    session: Session,
    job: Arc<FleetJob>,
}

/// The job is not there (any more).
pub(crate) fn gone() -> CallFault {
    CallFault::unusable(
        "the job is not in the fleet's database any more: somebody dropped it, so there is nothing \
         to go on with"
            .to_owned(),
    )
}

impl PostgresBus {
    /// A bus to a job, which connects when it is first asked something.
    pub(crate) const fn new(url: Arc<DatabaseUrl>, job: Arc<FleetJob>) -> Self {
        Self {
            session: Session::new(url),
            job,
        }
    }

    /// A renewal that takes longer would come too late for its lease.
    fn lease_limit(&self) -> Duration {
        (self.job.expiry / 2).max(LEAST_LIMIT)
    }

    fn call<T>(
        &mut self,
        limit: Duration,
        work: impl AsyncFn(&mut Connection, i64) -> Result<T, CallFault>,
    ) -> Result<T, BusError> {
        let job = &self.job;
        self.session.call(limit, async move |connection| {
            let id = match connection.job {
                Some(id) => id,
                None => find(connection, job).await?,
            };
            work(connection, id).await
        })
    }
}

async fn find(connection: &mut Connection, job: &FleetJob) -> Result<i64, CallFault> {
    let found = connection
        .query_one(FIND, &[&job.name, &bits(job.seed)])
        .await?;
    let id = found.ok_or_else(gone)?.get(0);
    connection.job = Some(id);
    Ok(id)
}

impl Bus for PostgresBus {
    fn another(&self) -> Box<dyn Bus> {
        Box::new(Self::new(self.session.url().clone(), self.job.clone()))
    }

    fn ask(
        &mut self,
        worker: u64,
        info: &str,
        request: &FleetRequest,
    ) -> Result<FleetAnswer, BusError> {
        self.call(self.lease_limit(), async |connection, job| {
            leases::ask(connection, (job, worker), info, request).await
        })
    }

    fn view(&mut self, known: KnownView) -> Result<JobView, BusError> {
        self.call(self.lease_limit(), async |connection, job| {
            phases::view(connection, job, known).await
        })
    }

    fn log(&mut self, shard: ShardId) -> Result<(ShardRow, Vec<LogPart>), BusError> {
        self.call(LONG_CALL, async |connection, job| {
            log::log(connection, job, shard).await
        })
    }

    fn mail(&mut self, shards: &[ShardId], most: usize) -> Result<Vec<MailRow>, BusError> {
        self.call(LONG_CALL, async |connection, job| {
            log::mail(connection, job, shards, most).await
        })
    }

    fn commit(&mut self, commit: &FleetCommit) -> Result<Vec<ShardRow>, BusError> {
        let has_budget = self.job.pages.is_some();
        self.call(LONG_CALL, async |connection, job| {
            commit::commit(connection, job, commit, has_budget).await
        })
    }

    fn compact(
        &mut self,
        worker: u64,
        held: (ShardId, u64),
        checkpoint: &ShardCheckpoint,
    ) -> Result<bool, BusError> {
        self.call(LONG_CALL, async |connection, job| {
            log::compact(connection, (job, worker), held, checkpoint).await
        })
    }

    fn addresses(
        &mut self,
        worker: u64,
        asked: &[AddressUse],
        rule: GroupPace,
        time: Duration,
    ) -> Result<Vec<DealtAddress>, BusError> {
        self.call(self.lease_limit(), async |connection, job| {
            addresses::deal(connection, (job, worker), asked, rule, time).await
        })
    }

    fn tenures(&mut self) -> Result<Vec<Tenure>, BusError> {
        self.call(LONG_CALL, async |connection, job| {
            log::tenures(connection, job).await
        })
    }

    fn order(&mut self, text: &str) -> Result<(), BusError> {
        self.call(LONG_CALL, async |connection, job| {
            phases::order(connection, job, text).await
        })
    }

    fn end(&mut self, why: &str) -> Result<(), BusError> {
        self.call(LONG_CALL, async |connection, job| {
            phases::end(connection, job, why).await
        })
    }
}
