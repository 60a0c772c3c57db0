//! What people and commands ask of the jobs in a database.
//!
//! Owns making, listing, ending and dropping jobs, orders to their members, and mail from outside.
//! It refuses to know what an order or a piece of mail says. Invariant: whatever adds work to a job
//! holds the lock of its row, so that a job which is being finished is reopened and not forgotten.

use std::sync::Arc;

use clewline_core::fleet::{
    BusError, CutTenure, FleetJob, JobPhase, ShardHistory, ShardId, ShardRequeue, Tenure,
};
use serde::Serialize;
use tokio_postgres::Row;

use crate::bus::{LONG_CALL, PostgresBus};
use crate::fault::CallFault;
use crate::rows::{self, bits, job_columns};
use crate::session::{Connection, Session};
use crate::status::{self, FleetStatus};
use crate::url::DatabaseUrl;
use crate::{budget, log, phases, requeue};

const CREATE: &str = "\
    insert into clewline.job (name, format, spec, seed, bits, expiry, pages, pages_left, server)
    values ($1, $2, $3, $4, $5, $6, $7, $7, $8)
    on conflict (name) do nothing
    returning id";

const SHARDS: &str = "\
    insert into clewline.shard (job, id) select $1, generate_series(0, (1 << $2) - 1)";

const JOB: &str = concat!(
    "select j.id, ",
    job_columns!(),
    " from clewline.job j where j.name = $1"
);

const LIST: &str = concat!(
    "select j.phase, j.ended, j.paused, (select count(*) from clewline.member m
        where m.job = j.id and m.seen > clock_timestamp() - j.expiry * interval '1 millisecond'
    ) as members, ",
    job_columns!(),
    " from clewline.job j order by j.name"
);

const LOCK_FOR_DROP: &str = "\
    select j.id, (select count(*) from clewline.member m where m.job = j.id
        and m.seen > clock_timestamp() - j.expiry * interval '1 millisecond') as members
    from clewline.job j where j.name = $1 for update";

/// Shards first: a commit that is under way holds them, and then nothing is written any more.
const DROP: [&str; 10] = [
    "delete from clewline.shard where job = $1",
    "delete from clewline.member where job = $1",
    "delete from clewline.log where job = $1",
    "delete from clewline.past where job = $1",
    "delete from clewline.mail where job = $1",
    "delete from clewline.tenure where job = $1",
    "delete from clewline.orders where job = $1",
    "delete from clewline.joined where job = $1",
    "delete from clewline.address where job = $1",
    "delete from clewline.job where id = $1",
];

const PAUSE: &str = "update clewline.job set paused = $2 where id = $1";

/// The sender is a member that never was, under a number that nobody has.
const POST: &str = "\
    insert into clewline.mail (job, shard, worker, batch, body)
    select $1, m.shard, w.id, m.at, m.body
    from (select ('x0' || right(gen_random_uuid()::text, 12)
            || right(replace(gen_random_uuid()::text, '-', ''), 3))::bit(64)::bigint as id) w,
        unnest($2::int[], $3::bytea[]) with ordinality as m (shard, body, at)";

/// What came of making a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FleetCreation {
    /// It was made.
    Created,
    /// There is one of this name, which stays as it is.
    There(FleetJob),
}

/// Whether a job may be dropped under its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DropMode {
    /// Only if no member is live.
    Unused,
    /// In any case; its members then end with an error.
    Forced,
}

/// A job as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FleetListing {
    /// Which one.
    pub job: FleetJob,
    /// How far it has come.
    pub phase: JobPhase,
    /// Why it ended early, if it did.
    pub ended: Option<String>,
    /// Nothing is asked until somebody says so.
    pub paused: bool,
    /// Members whose renewals are good.
    pub members: u64,
}

/// A database with the jobs of fleets. Calls block, as those of [`PostgresBus`] do.
pub struct FleetServer {
    session: Session,
}

impl FleetServer {
    /// Connects to a database, and creates the tables if there are none.
    pub fn connect(url: &str) -> Result<Self, BusError> {
        let url = Arc::new(DatabaseUrl::parse(url)?);
        let mut session = Session::new(url);
        session.call(LONG_CALL, async |_| Ok(()))?;
        Ok(Self { session })
    }

    /// Makes a job, unless there is one of this name.
    pub fn create(&mut self, job: &FleetJob) -> Result<FleetCreation, BusError> {
        self.session.call(LONG_CALL, async |connection| {
            connection.begin().await?;
            if insert(connection, job).await? {
                connection.commit().await?;
                return Ok(FleetCreation::Created);
            }
            connection.roll_back().await?;
            let (_, there) = find(connection, &job.name).await?;
            Ok(FleetCreation::There(there))
        })
    }

    /// The job of this name, if there is one.
    pub fn job(&mut self, name: &str) -> Result<Option<FleetJob>, BusError> {
        self.session.call(LONG_CALL, async |connection| {
            let found = connection.query_one(JOB, &[&name]).await?;
            Ok(found.as_ref().map(rows::job))
        })
    }

    /// All jobs, by name.
    pub fn list(&mut self) -> Result<Vec<FleetListing>, BusError> {
        self.session.call(LONG_CALL, async |connection| {
            let found = connection.query(LIST, &[]).await?;
            Ok(found.iter().map(listing).collect())
        })
    }

    /// Removes a job with everything that belongs to it.
    pub fn drop_job(&mut self, name: &str, mode: DropMode) -> Result<(), BusError> {
        self.session.call(LONG_CALL, async |connection| {
            connection.begin().await?;
            let found = connection.query_one(LOCK_FOR_DROP, &[&name]).await?;
            let found = found.ok_or_else(|| unknown(name))?;
            let (id, members): (i64, i64) = (found.get("id"), found.get("members"));
            if members > 0 && mode == DropMode::Unused {
                return Err(CallFault::unusable(format!(
                    "the job {name} has {members} live members: stop it first, or drop it by force"
                )));
            }
            for statement in DROP {
                connection.query(statement, &[&id]).await?;
            }
            connection.commit().await
        })
    }

    /// How a job stands.
    pub fn status(&mut self, name: &str) -> Result<FleetStatus, BusError> {
        self.session.call(LONG_CALL, async |connection| {
            let (id, job) = find(connection, name).await?;
            status::read(connection, id, job).await
        })
    }

    /// Nothing of a job is asked until [`Self::go_on`].
    pub fn pause(&mut self, name: &str) -> Result<(), BusError> {
        self.hold(name, true)
    }

    /// Ends a pause.
    pub fn go_on(&mut self, name: &str) -> Result<(), BusError> {
        self.hold(name, false)
    }

    fn hold(&mut self, name: &str, is_paused: bool) -> Result<(), BusError> {
        self.session.call(LONG_CALL, async |connection| {
            let (id, _) = find(connection, name).await?;
            connection.query(PAUSE, &[&id, &is_paused]).await?;
            Ok(())
        })
    }

    /// Ends a job early and says why, unless it has ended.
    pub fn stop(&mut self, name: &str, why: &str) -> Result<(), BusError> {
        self.session.call(LONG_CALL, async |connection| {
            let (id, _) = find(connection, name).await?;
            phases::end(connection, id, why).await
        })
    }

    /// Gives a job another budget of pages; one that had spent its budget is opened again.
    pub fn change_pages(&mut self, name: &str, pages: u64) -> Result<(), BusError> {
        self.session.call(LONG_CALL, async |connection| {
            let (id, _) = find(connection, name).await?;
            budget::change(connection, id, pages).await
        })
    }

    /// Orders something of all members.
    pub fn order(&mut self, name: &str, text: &str) -> Result<(), BusError> {
        self.session.call(LONG_CALL, async |connection| {
            let (id, _) = find(connection, name).await?;
            phases::order(connection, id, text).await
        })
    }

    /// Posts mail to shards of a job, and reopens the job if it is done. Answers its phase.
    pub fn post(&mut self, name: &str, mail: &[(ShardId, Vec<u8>)]) -> Result<JobPhase, BusError> {
        let shards: Vec<i32> = mail.iter().map(|(to, _)| i32::from(to.0)).collect();
        let bodies: Vec<&[u8]> = mail.iter().map(|(_, body)| body.as_slice()).collect();
        self.session.call(LONG_CALL, async |connection| {
            let (id, job) = find(connection, name).await?;
            let count = 1_i32 << job.bits.min(12);
            if let Some(shard) = shards.iter().find(|shard| **shard >= count) {
                return Err(CallFault::unusable(format!(
                    "the job {name} has {count} shards, and none with the number {shard}"
                )));
            }
            connection.begin().await?;
            connection.query(phases::LOCK, &[&id]).await?;
            connection.query(POST, &[&id, &shards, &bodies]).await?;
            let phase = phases::reopen(connection, id).await?;
            connection.commit().await?;
            Ok(phase)
        })
    }

    /// Who held which shard of a job, and which batches of theirs count.
    pub fn tenures(&mut self, name: &str) -> Result<Vec<Tenure>, BusError> {
        self.session.call(LONG_CALL, async |connection| {
            let (id, _) = find(connection, name).await?;
            log::tenures(connection, id).await
        })
    }

    /// All that was written down of a shard of a job.
    pub fn history(&mut self, name: &str, shard: ShardId) -> Result<ShardHistory, BusError> {
        self.session.call(LONG_CALL, async |connection| {
            let (id, _) = find(connection, name).await?;
            log::history(connection, id, shard).await
        })
    }

    /// Queues URLs again whose records are lost, and reopens the job: what of a tenure is lost does
    /// not count any more, and its pages go back to the budget. Refused while members are live, and
    /// if a shard does not stand where it stood.
    pub fn requeue(
        &mut self,
        name: &str,
        shards: &[ShardRequeue],
        cut: &[CutTenure],
    ) -> Result<(), BusError> {
        self.session.call(LONG_CALL, async |connection| {
            let (id, _) = find(connection, name).await?;
            connection.begin().await?;
            requeue::requeue(connection, id, shards, cut).await?;
            connection.commit().await
        })
    }

    /// A member's way to a job, with a connection of its own.
    pub fn bus(&self, job: &FleetJob) -> PostgresBus {
        PostgresBus::new(self.session.url().clone(), Arc::new(job.clone()))
    }
}

fn unknown(name: &str) -> CallFault {
    CallFault::unusable(format!(
        "there is no job {name} in the fleet's database: list the jobs to see their names"
    ))
}

async fn find(connection: &mut Connection, name: &str) -> Result<(i64, FleetJob), CallFault> {
    let found = connection.query_one(JOB, &[&name]).await?;
    let row = found.ok_or_else(|| unknown(name))?;
    Ok((row.get("id"), rows::job(&row)))
}

fn listing(row: &Row) -> FleetListing {
    FleetListing {
        job: rows::job(row),
        phase: rows::phase(row),
        ended: row.get("ended"),
        paused: row.get("paused"),
        members: rows::count(row, "members"),
    }
}

/// Whether the job was not there.
async fn insert(connection: &mut Connection, job: &FleetJob) -> Result<bool, CallFault> {
    let server = connection.server().to_owned();
    let (format, cut) = (job.format.cast_signed(), job.bits.min(12).cast_signed());
    let expiry = i64::try_from(job.expiry.as_millis()).unwrap_or(i64::MAX);
    let pages = job
        .pages
        .map(|pages| i64::try_from(pages).unwrap_or(i64::MAX));
    let seed = bits(job.seed);
    let parameters: [crate::session::Parameter<'_>; 8] = [
        &job.name, &format, &job.spec, &seed, &cut, &expiry, &pages, &server,
    ];
    let Some(row) = connection.query_one(CREATE, &parameters).await? else {
        return Ok(false);
    };
    let id: i64 = row.get("id");
    connection.query(SHARDS, &[&id, &cut]).await?;
    Ok(true)
}
