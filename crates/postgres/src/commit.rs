//! The commit of a batch: one statement, all of it or nothing.
//!
//! Owns that statement and the granting of pages after it. Invariants: a batch whose shards do not
//! all stand where its member believes leaves no trace; pages are never granted that the budget
//! does not have.

use clewline_core::fleet::{CommitPart, FleetCommit, ShardId, ShardRow};
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;

use crate::fault::CallFault;
use crate::log;
use crate::rows::{self, bits, shard_columns};
use crate::session::{Connection, Parameter};

/// If a shard is missing among those that moved, the last line divides by zero, and everything is
/// rolled back. The row of the job is touched only by what joins or comes back; its counter numbers
/// what joined, since it is read again after a wait and a list would not be.
const COMMIT: &str = concat!(
    "with part as (
        select * from unnest($4::int[], $5::bigint[], $6::bigint[], $7::bytea[], $8::bigint[],
            $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[],
            $14::bigint[], $15::bigint[], $16::bool[], $17::smallint[])
        as p (shard, epoch, head, delta, admitted, settled, withheld, roots_todo, sitemaps_todo,
            pages, bytes, returns, wants, idle_in)
    ), moved as (
        update clewline.shard s set head = s.head + 1, batch = $3,
            admitted = p.admitted, settled = p.settled, withheld = p.withheld,
            roots_todo = p.roots_todo, sitemaps_todo = p.sitemaps_todo,
            pages = s.pages + p.pages, bytes = s.bytes + p.bytes,
            wants = p.wants, idle_in = p.idle_in,
            tail_bytes = s.tail_bytes + octet_length(p.delta),
            granted = s.granted - case when j.pages_left is null then 0
                else p.pages + p.returns end
        from part p, clewline.job j
        where j.id = $1 and s.job = $1 and s.id = p.shard
            and s.worker = $2 and s.epoch = p.epoch and s.head = p.head
        returning ",
    shard_columns!(),
    ", p.delta, p.pages as brought, p.returns
    ), logged as (
        insert into clewline.log (job, shard, seq, part, body)
        select $1, id, head, -1, delta from moved
    ), held as (
        update clewline.tenure t set first_batch = coalesce(t.first_batch, $3), last_batch = $3,
            pages = t.pages + m.brought
        from moved m
        where t.job = $1 and t.shard = m.id and t.epoch = m.epoch and t.worker = $2
    ), read as (
        delete from clewline.mail m
        using unnest($18::int[], $19::bigint[], $20::bigint[]) as i (shard, worker, batch)
        where m.job = $1 and m.shard = i.shard and m.worker = i.worker and m.batch = i.batch
    ), sent as (
        insert into clewline.mail (job, shard, worker, batch, body)
        select $1, o.shard, $2, $3, o.body from unnest($21::int[], $22::bytea[]) as o (shard, body)
        on conflict do nothing
    ), fresh as (
        select u.url, row_number() over (order by u.at) as n
        from unnest($23::text[]) with ordinality as u (url, at)
        where not exists (select from clewline.joined k where k.job = $1 and k.url = u.url)
    ), counted as (
        update clewline.job j set joined = j.joined + f.count, pages_left = j.pages_left + r.sum
        from (select count(*) from fresh) f, (select coalesce(sum(returns), 0) from moved) r (sum)
        where j.id = $1 and (f.count > 0 or (r.sum > 0 and j.pages_left is not null))
        returning j.joined - f.count as before
    ), added as (
        insert into clewline.joined (job, n, url)
        select $1, c.before + f.n, f.url from fresh f, counted c
        on conflict do nothing
    )
    select 1 / case when c.count = cardinality($4::int[]) then 1 else 0 end as whole, ",
    shard_columns!(),
    " from (select count(*) from moved) c left join moved s on true order by s.id"
);

const LOCK_WANTS: &str = "\
    select s.id from clewline.shard s
    where s.job = $1 and s.id = any($2) and s.worker = $3 and s.wants and s.granted = 0
    order by s.id for no key update";

const LOCK_BUDGET: &str = "\
    select pages_left from clewline.job where id = $1 for no key update";

const GRANT: &str = "\
    with granted as (
        update clewline.shard s set granted = s.granted + g.share
        from unnest($2::int[], $3::bigint[]) as g (id, share)
        where s.job = $1 and s.id = g.id
    )
    update clewline.job set pages_left = pages_left - $4 where id = $1";

/// Commits, and answers how the rows of its shards stand after that, whether it counted or not.
pub(crate) async fn commit(
    connection: &mut Connection,
    job: i64,
    commit: &FleetCommit,
    has_budget: bool,
) -> Result<Vec<ShardRow>, CallFault> {
    let shards: Vec<ShardId> = commit.parts.iter().map(|part| part.shard).collect();
    let moved = match send(connection, job, commit).await {
        Ok(moved) => moved,
        Err(fault) if fault.code() == Some(&SqlState::DIVISION_BY_ZERO) => {
            log::rows_as_they_are(connection, job, &shards).await?
        }
        Err(fault) => return Err(overdrawn(fault)),
    };
    // A commit without shards answers one row of nothing.
    let moved: Vec<Row> = moved
        .into_iter()
        .filter(|row| row.get::<_, Option<i32>>("id").is_some())
        .collect();
    let waits = |row: &Row| {
        rows::maybe(row, "worker") == Some(commit.worker)
            && row.get("wants")
            && rows::count(row, "granted") == 0
    };
    if has_budget && moved.iter().any(waits) {
        grant(connection, job, &shards, commit.worker).await?;
        return log::rows(connection, job, &shards).await;
    }
    Ok(moved.iter().map(rows::shard).collect())
}

fn overdrawn(fault: CallFault) -> CallFault {
    if fault.code() == Some(&SqlState::CHECK_VIOLATION) {
        return CallFault::unusable(
            "a batch has more pages than its shards were granted, so it was refused: this is a \
             mistake in clewline, please report it"
                .to_owned(),
        );
    }
    fault
}

/// Columns of a commit, one array for each.
async fn send(
    connection: &mut Connection,
    job: i64,
    commit: &FleetCommit,
) -> Result<Vec<Row>, CallFault> {
    let parts = &commit.parts;
    let number = |of: fn(&CommitPart) -> u64| -> Vec<i64> {
        parts.iter().map(|part| bits(of(part))).collect()
    };
    let shards: Vec<i32> = parts.iter().map(|part| i32::from(part.shard.0)).collect();
    let deltas: Vec<&[u8]> = parts.iter().map(|part| part.delta.as_slice()).collect();
    let wants: Vec<bool> = parts.iter().map(|part| part.wants).collect();
    let idle: Vec<Option<i16>> = parts
        .iter()
        .map(|part| part.idle_in.map(|phase| phase as i16))
        .collect();
    let read = &commit.imported;
    let read_shards: Vec<i32> = read.iter().map(|id| i32::from(id.shard.0)).collect();
    let read_from: Vec<i64> = read.iter().map(|id| bits(id.worker)).collect();
    let read_batches: Vec<i64> = read.iter().map(|id| bits(id.batch)).collect();
    let to: Vec<i32> = commit.mail.iter().map(|(to, _)| i32::from(to.0)).collect();
    let bodies: Vec<&[u8]> = commit
        .mail
        .iter()
        .map(|(_, body)| body.as_slice())
        .collect();
    let (me, batch) = (bits(commit.worker), bits(commit.batch));
    let numbers = [
        number(|part| part.counts.admitted),
        number(|part| part.counts.settled),
        number(|part| part.counts.withheld),
        number(|part| part.counts.roots_todo),
        number(|part| part.counts.sitemaps_todo),
        number(|part| part.pages),
        number(|part| part.bytes),
        number(|part| part.returns),
    ];
    let (epochs, heads) = (
        number(|part| part.fence.epoch),
        number(|part| part.fence.head),
    );
    let mut parameters: Vec<Parameter<'_>> =
        vec![&job, &me, &batch, &shards, &epochs, &heads, &deltas];
    parameters.extend(numbers.iter().map(|column| column as Parameter<'_>));
    let rest: [Parameter<'_>; 8] = [
        &wants,
        &idle,
        &read_shards,
        &read_from,
        &read_batches,
        &to,
        &bodies,
        &commit.joined,
    ];
    parameters.extend(rest);
    connection.query(COMMIT, &parameters).await
}

/// Grants pages to shards of this member that want some and have none: an eighth of what is left
/// to each in turn, as long as there is something. Shards are locked before the job, as a commit
/// does it.
async fn grant(
    connection: &mut Connection,
    job: i64,
    shards: &[ShardId],
    worker: u64,
) -> Result<(), CallFault> {
    let ids: Vec<i32> = shards.iter().map(|shard| i32::from(shard.0)).collect();
    connection.begin().await?;
    let waiting = connection
        .query(LOCK_WANTS, &[&job, &ids, &bits(worker)])
        .await?;
    let waiting: Vec<i32> = waiting.iter().map(|row| row.get("id")).collect();
    let budget = connection.query_one(LOCK_BUDGET, &[&job]).await?;
    let mut left = budget
        .and_then(|row| row.get::<_, Option<i64>>(0))
        .unwrap_or_default();
    let before = left;
    let mut dealt = Vec::with_capacity(waiting.len());
    for _ in &waiting {
        let share = (left / 8).max(1).min(left);
        left -= share;
        dealt.push(share);
    }
    let taken = before - left;
    if taken > 0 {
        connection
            .query(GRANT, &[&job, &waiting, &dealt, &taken])
            .await?;
    }
    connection.commit().await
}
