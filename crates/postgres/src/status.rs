//! How a job stands, for people.
//!
//! Owns the shape of the answer and the statements behind it. It reads by several looks, so figures
//! of a running job may differ by what happened in between. It changes nothing.

use std::time::Duration;

use clewline_core::fleet::{FleetJob, FleetTotals, JobPhase};
use serde::Serialize;
use serde_json::Value;

use crate::bus::gone;
use crate::fault::CallFault;
use crate::phases;
use crate::rows;
use crate::session::Connection;

/// The name under which members tell their rate in what they say of themselves.
const RATE: &str = "pages_per_second";

const JOB: &str = "\
    select j.phase, j.ended, j.paused, j.pages_left,
        (extract(epoch from clock_timestamp() - j.created) * 1000000)::bigint as elapsed,
        greatest(0, case when isfinite(j.quiet_until) then
            (extract(epoch from j.quiet_until - clock_timestamp()) * 1000000)::bigint else 0 end)
            as quiet,
        (select count(*) from clewline.mail m where m.job = j.id) as mail,
        (select (extract(epoch from clock_timestamp() - min(m.posted)) * 1000000)::bigint
            from clewline.mail m where m.job = j.id) as oldest_mail,
        s.*
    from clewline.job j, lateral (
        select coalesce(sum(s.admitted), 0)::bigint as admitted,
            coalesce(sum(s.settled), 0)::bigint as settled,
            coalesce(sum(s.withheld), 0)::bigint as withheld,
            coalesce(sum(s.pages), 0)::bigint as pages,
            coalesce(sum(s.bytes), 0)::bigint as bytes,
            count(*) as shards,
            count(*) filter (where m.id is not null) as owned,
            count(*) filter (where s.epoch = 0) as never,
            count(*) filter (where s.idle_in = j.phase) as idle,
            coalesce(sum(s.granted), 0)::bigint as granted
        from clewline.shard s
        left join clewline.member m on m.job = s.job and m.id = s.worker
            and m.seen > clock_timestamp() - j.expiry * interval '1 millisecond'
        where s.job = j.id
    ) s
    where j.id = $1";

const MEMBERS: &str = "\
    select m.id, m.info, (extract(epoch from clock_timestamp() - m.seen) * 1000000)::bigint as age,
        m.seen > clock_timestamp() - j.expiry * interval '1 millisecond' as live,
        (select count(*) from clewline.shard s where s.job = m.job and s.worker = m.id) as shards
    from clewline.member m join clewline.job j on j.id = m.job
    where m.job = $1 order by m.id";

/// What others do is visible only with the right to see it.
const HEALTH: &str = "\
    select (select coalesce(sum(n_dead_tup), 0)::bigint from pg_stat_user_tables
            where schemaname = 'clewline') as dead,
        (select (extract(epoch from clock_timestamp() - min(xact_start)) * 1000000)::bigint
            from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid()) as oldest";

/// How a job of a fleet stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetStatus {
    /// Which one.
    pub job: FleetJob,
    /// How far it has come.
    pub phase: JobPhase,
    /// Why it ended early, if it did.
    pub ended: Option<String>,
    /// Nothing is asked until somebody says so.
    pub paused: bool,
    /// Time since it was made.
    pub elapsed: Duration,
    /// After a restart or a fail-over nothing is claimed for so long.
    pub quiet: Duration,
    /// Sums over all shards.
    pub totals: FleetTotals,
    /// Pages of the budget that no shard has.
    pub pages_left: Option<u64>,
    /// Pages that shards have and did not fetch yet.
    pub pages_granted: u64,
    /// What the members say they fetch in a second, together.
    pub pages_per_second: Option<f64>,
    /// Its members, those that are dead included.
    pub members: Vec<MemberStatus>,
    /// Its shards.
    pub shards: ShardSummary,
    /// The age of the oldest mail that nobody has read.
    pub oldest_mail: Option<Duration>,
    /// Rows that wait to be cleared away by the database.
    pub dead_rows: u64,
    /// The age of the oldest transaction, which keeps the database from clearing.
    pub oldest_transaction: Option<Duration>,
}

/// A member, as its last renewal told.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemberStatus {
    /// Its number.
    pub worker: u64,
    /// Its renewals are good.
    pub live: bool,
    /// Time since the last of them.
    pub age: Duration,
    /// Shards under its number.
    pub shards: u64,
    /// What it says of itself.
    pub info: Value,
}

/// How many shards are what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ShardSummary {
    /// All of them.
    pub all: u64,
    /// They have a live owner.
    pub owned: u64,
    /// They have none.
    pub free: u64,
    /// They never had one.
    pub never_claimed: u64,
    /// Nothing of them is left to do in this phase.
    pub idle: u64,
}

/// Reads how a job stands.
pub(crate) async fn read(
    connection: &mut Connection,
    id: i64,
    job: FleetJob,
) -> Result<FleetStatus, CallFault> {
    let row = connection.query_one(JOB, &[&id]).await?.ok_or_else(gone)?;
    let members = members(connection, id).await?;
    let health = connection.query_one(HEALTH, &[]).await?.ok_or_else(gone)?;
    let rates = members.iter().filter(|member| member.live);
    let rates: Vec<f64> = rates
        .filter_map(|member| member.info.get(RATE)?.as_f64())
        .collect();
    let (all, owned) = (rows::count(&row, "shards"), rows::count(&row, "owned"));
    Ok(FleetStatus {
        job,
        phase: rows::phase(&row),
        ended: row.get("ended"),
        paused: row.get("paused"),
        elapsed: rows::duration(&row, "elapsed").unwrap_or_default(),
        quiet: rows::duration(&row, "quiet").unwrap_or_default(),
        totals: phases::totals(&row),
        pages_left: rows::maybe(&row, "pages_left"),
        pages_granted: rows::count(&row, "granted"),
        pages_per_second: (!rates.is_empty()).then(|| rates.iter().sum()),
        members,
        shards: ShardSummary {
            all,
            owned,
            free: all - owned,
            never_claimed: rows::count(&row, "never"),
            idle: rows::count(&row, "idle"),
        },
        oldest_mail: rows::duration(&row, "oldest_mail"),
        dead_rows: rows::count(&health, "dead"),
        oldest_transaction: rows::duration(&health, "oldest"),
    })
}

async fn members(connection: &mut Connection, id: i64) -> Result<Vec<MemberStatus>, CallFault> {
    let found = connection.query(MEMBERS, &[&id]).await?;
    let members = found.iter().map(|row| {
        let info: &str = row.get("info");
        MemberStatus {
            worker: rows::count(row, "id"),
            live: row.get("live"),
            age: rows::duration(row, "age").unwrap_or_default(),
            shards: rows::count(row, "shards"),
            info: serde_json::from_str(info).unwrap_or_else(|_| Value::from(info)),
        }
    });
    Ok(members.collect())
}
