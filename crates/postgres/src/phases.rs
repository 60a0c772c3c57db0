//! How a job stands, and when it goes on.
//!
//! Owns the judgement that nothing is left of a phase. It is made by one look at all shards and the
//! mail, and carried out only under the lock of the job's row, which whoever adds work holds, too.
//! Invariant: a job is never done while work for it is visible.

use std::time::Duration;

use clewline_core::fleet::{FleetTotals, JobPhase, JobView, KnownView};
use tokio_postgres::Row;

use crate::bus::gone;
use crate::fault::CallFault;
use crate::rows::{self, bits};
use crate::session::Connection;

/// What the phase is after this look at everything. What a shard said to be idle in another phase
/// does not count. Which mail has roots in it is not known here, so the first phase lasts until
/// all mail is read. Only where pages are granted they can be spent.
macro_rules! judged {
    () => {
        "select case
            when j.phase = 0 and w.claimed and j.pages_left + w.granted = 0 then 1
            when j.phase = 0 and w.claimed and w.started and not w.mail then 1
            when j.phase in (1, 2) and w.idle and (not w.wants
                or coalesce(j.pages_left, 0) + w.granted = 0) and not w.mail then j.phase + 1
            else j.phase end::smallint as next
        from clewline.job j, lateral (
            select bool_and(s.epoch > 0) as claimed, sum(s.granted) as granted,
                bool_and(s.head > 0 and s.roots_todo = 0) as started,
                bool_and(s.idle_in is not distinct from j.phase) as idle, bool_or(s.wants) as wants,
                exists (select from clewline.mail m where m.job = j.id) as mail
            from clewline.shard s where s.job = j.id
        ) w
        where j.id = $1"
    };
}

const VIEW: &str = concat!(
    "select j.phase, j.ended, j.paused, (",
    judged!(),
    ") as next,
        (extract(epoch from clock_timestamp() - j.created) * 1000000)::bigint as elapsed,
        (extract(epoch from clock_timestamp()) * 1000)::bigint as clock,
        (select count(*) from clewline.member m where m.job = j.id
            and m.seen > statement_timestamp() - j.expiry * interval '1 millisecond') as members,
        (select count(*) from clewline.mail m where m.job = j.id) as mail,
        array(select k.url from clewline.joined k where k.job = j.id order by k.n offset
            case when $2 > (select count(*) from clewline.joined k where k.job = j.id)
            then 0 else $2::bigint end) as joined,
        array(select o.text from clewline.orders o where o.job = j.id order by o.n offset
            case when $3 > (select count(*) from clewline.orders o where o.job = j.id)
            then 0 else $3::bigint end) as orders,
        t.*
    from clewline.job j, lateral (
        select coalesce(sum(s.admitted), 0)::bigint as admitted,
            coalesce(sum(s.settled), 0)::bigint as settled,
            coalesce(sum(s.withheld), 0)::bigint as withheld,
            coalesce(sum(s.pages), 0)::bigint as pages,
            coalesce(sum(s.bytes), 0)::bigint as bytes
        from clewline.shard s where s.job = j.id
    ) t
    where j.id = $1"
);

/// Whoever adds work or ends the job holds this lock, too.
pub(crate) const LOCK: &str = "\
    select phase from clewline.job where id = $1 for no key update";

/// How a job ended whose pages are spent. The statement below says the same.
pub(crate) const SPENT: &str = "--max-pages";

/// A job that is done though a shard waits for pages has spent its budget.
const JUDGE: &str = concat!(
    "update clewline.job u set phase = v.next,
        ended = case when v.next = 3 and u.pages is not null and exists (
            select from clewline.shard s where s.job = $1 and s.wants
        ) then '--max-pages' else u.ended end
    from (",
    judged!(),
    ") v where u.id = $1"
);

const ORDER: &str = "\
    insert into clewline.orders (job, n, text)
    select $1, coalesce(max(n), 0) + 1, $2 from clewline.orders where job = $1";

const END: &str = "\
    update clewline.job set phase = 3, ended = $2 where id = $1 and phase <> 3";

/// A finished job has work again. Where roots were never done, it begins with them.
const REOPEN: &str = "\
    update clewline.job j set ended = null, phase = case when exists (
            select from clewline.shard s
            where s.job = j.id and (s.head = 0 or s.roots_todo > 0)
        ) then 0 else 1 end
    where j.id = $1 and j.phase = 3";

/// How the job stands, after it went on to the next phase where nothing is left of this one.
pub(crate) async fn view(
    connection: &mut Connection,
    job: i64,
    known: KnownView,
) -> Result<JobView, CallFault> {
    let row = look(connection, job, known).await?;
    if row.get::<_, i16>("phase") == row.get::<_, i16>("next") {
        return Ok(read(&row));
    }
    // The statement after the lock sees what whoever held it before has added.
    connection.begin().await?;
    connection.query(LOCK, &[&job]).await?;
    connection.query(JUDGE, &[&job]).await?;
    connection.commit().await?;
    Ok(read(&look(connection, job, known).await?))
}

async fn look(connection: &mut Connection, job: i64, known: KnownView) -> Result<Row, CallFault> {
    let (joined, orders) = (bits(known.joined), bits(known.orders));
    let found = connection
        .query_one(VIEW, &[&job, &joined, &orders])
        .await?;
    found.ok_or_else(gone)
}

fn read(row: &Row) -> JobView {
    JobView {
        phase: rows::phase(row),
        ended: row.get("ended"),
        paused: row.get("paused"),
        joined: row.get("joined"),
        orders: row.get("orders"),
        members: rows::count(row, "members"),
        totals: totals(row),
        elapsed: rows::duration(row, "elapsed").unwrap_or(Duration::ZERO),
        clock: rows::count(row, "clock"),
    }
}

pub(crate) fn totals(row: &Row) -> FleetTotals {
    FleetTotals {
        admitted: rows::count(row, "admitted"),
        settled: rows::count(row, "settled"),
        withheld: rows::count(row, "withheld"),
        pages: rows::count(row, "pages"),
        bytes: rows::count(row, "bytes"),
        mail: rows::count(row, "mail"),
    }
}

/// Writes down what all members are to hear, in the order in which it was said.
pub(crate) async fn order(
    connection: &mut Connection,
    job: i64,
    text: &str,
) -> Result<(), CallFault> {
    connection.begin().await?;
    connection.query(LOCK, &[&job]).await?;
    connection.query(ORDER, &[&job, &text]).await?;
    connection.commit().await
}

/// Ends the job early, unless it has ended.
pub(crate) async fn end(connection: &mut Connection, job: i64, why: &str) -> Result<(), CallFault> {
    connection.query(END, &[&job, &why]).await?;
    Ok(())
}

/// Reopens a job that is done, for whoever holds its lock.
pub(crate) async fn reopen(connection: &mut Connection, job: i64) -> Result<JobPhase, CallFault> {
    connection.query(REOPEN, &[&job]).await?;
    let row = connection.query_one(LOCK, &[&job]).await?;
    row.as_ref().map(rows::phase).ok_or_else(gone)
}
