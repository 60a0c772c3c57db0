//! The log of a shard, its row, its mail and its tenures.
//!
//! Owns reading them and putting a checkpoint in place of old deltas. Invariants: a log and its row
//! are read by one look; a checkpoint replaces exactly what it has taken in, and only its owner
//! writes one; what it leaves out of the log is kept in the past.

use clewline_core::fleet::{
    LogPart, MailId, MailRow, ShardCheckpoint, ShardHistory, ShardId, ShardRow, Tenure,
};
use tokio_postgres::Row;

use crate::bus::gone;
use crate::fault::CallFault;
use crate::rows::{self, bits, shard_columns};
use crate::session::{Connection, Parameter};

const ROWS: &str = concat!(
    "select ",
    shard_columns!(),
    " from clewline.shard s where s.job = $1 and s.id = any($2) order by s.id"
);

const LOG: &str = concat!(
    "select l.seq, l.part, l.body, ",
    shard_columns!(),
    " from clewline.shard s left join clewline.log l on l.job = s.job and l.shard = s.id
    where s.job = $1 and s.id = $2 order by l.seq, l.part"
);

/// At least one, and then as many as fit.
const MAIL: &str = "\
    select shard, worker, batch, body from (
        select *, sum(octet_length(body)) over (order by shard, worker, batch)
            - octet_length(body) as before
        from clewline.mail where job = $1 and shard = any($2)
    ) m
    where before = 0 or before < $3
    order by shard, worker, batch";

const TENURES: &str = "\
    select shard, epoch, worker, first_batch, last_batch, pages from clewline.tenure
    where job = $1 order by shard, epoch";

/// A later checkpoint must not be followed by an earlier one that was late.
const OWN: &str = "\
    select id from clewline.shard
    where job = $1 and id = $2 and worker = $3 and epoch = $4 and head >= $5
        and not exists (
            select from clewline.log l
            where l.job = $1 and l.shard = $2 and l.part >= 0 and l.seq > $5)
    for no key update";

const FORGET: &str = "delete from clewline.log where job = $1 and shard = $2 and seq <= $3";

const WRITE: &str = "\
    insert into clewline.log (job, shard, seq, part, body) values ($1, $2, $3, $4, $5)";

/// A checkpoint whose answer got lost is written again; its past is there already.
const KEEP: &str = "\
    insert into clewline.past (job, shard, seq, part, body) values ($1, $2, $3, $4, $5)
    on conflict do nothing";

const PAST: &str = "\
    select body from clewline.past where job = $1 and shard = $2 order by seq, part";

const WEIGH: &str = "\
    update clewline.shard s set checkpoint_bytes = $3, tail_bytes = (
        select coalesce(sum(octet_length(body)), 0) from clewline.log l
        where l.job = $1 and l.shard = $2 and l.part < 0)
    where s.job = $1 and s.id = $2";

/// The rows of shards.
pub(crate) async fn rows(
    connection: &mut Connection,
    job: i64,
    shards: &[ShardId],
) -> Result<Vec<ShardRow>, CallFault> {
    let found = rows_as_they_are(connection, job, shards).await?;
    Ok(found.iter().map(rows::shard).collect())
}

/// The same, with all columns.
pub(crate) async fn rows_as_they_are(
    connection: &mut Connection,
    job: i64,
    shards: &[ShardId],
) -> Result<Vec<Row>, CallFault> {
    let ids: Vec<i32> = shards.iter().map(|shard| i32::from(shard.0)).collect();
    connection.query(ROWS, &[&job, &ids]).await
}

/// A shard's row and its log.
pub(crate) async fn log(
    connection: &mut Connection,
    job: i64,
    shard: ShardId,
) -> Result<(ShardRow, Vec<LogPart>), CallFault> {
    let found = connection.query(LOG, &[&job, &i32::from(shard.0)]).await?;
    let row = rows::shard(found.first().ok_or_else(gone)?);
    let part = |row: &Row| {
        Some(LogPart {
            seq: rows::maybe(row, "seq")?,
            part: u32::try_from(row.get::<_, i32>("part")).ok(),
            body: row.get("body"),
        })
    };
    Ok((row, found.iter().filter_map(part).collect()))
}

/// All that was written down of a shard. The log is read first: a checkpoint that comes in between
/// may show something in both, but hides nothing.
pub(crate) async fn history(
    connection: &mut Connection,
    job: i64,
    shard: ShardId,
) -> Result<ShardHistory, CallFault> {
    let (row, log) = log(connection, job, shard).await?;
    let found = connection.query(PAST, &[&job, &i32::from(shard.0)]).await?;
    Ok(ShardHistory {
        row,
        log,
        past: found.iter().map(|row| row.get("body")).collect(),
    })
}

/// Mail for shards, about so many bytes of it.
pub(crate) async fn mail(
    connection: &mut Connection,
    job: i64,
    shards: &[ShardId],
    most: usize,
) -> Result<Vec<MailRow>, CallFault> {
    let ids: Vec<i32> = shards.iter().map(|shard| i32::from(shard.0)).collect();
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let found = connection.query(MAIL, &[&job, &ids, &most]).await?;
    let mail = found.iter().map(|row| MailRow {
        id: MailId {
            shard: rows::shard_id(row, "shard"),
            worker: rows::count(row, "worker"),
            batch: rows::count(row, "batch"),
        },
        body: row.get("body"),
    });
    Ok(mail.collect())
}

/// Puts a checkpoint in place of everything up to its number.
pub(crate) async fn compact(
    connection: &mut Connection,
    (job, worker): (i64, u64),
    (shard, epoch): (ShardId, u64),
    checkpoint: &ShardCheckpoint,
) -> Result<bool, CallFault> {
    let seq = bits(checkpoint.seq);
    let id = i32::from(shard.0);
    connection.begin().await?;
    let own = connection
        .query_one(OWN, &[&job, &id, &bits(worker), &bits(epoch), &seq])
        .await?;
    if own.is_none() {
        connection.roll_back().await?;
        return Ok(false);
    }
    connection.query(FORGET, &[&job, &id, &seq]).await?;
    let mut bytes = 0_i64;
    for (number, part) in (0_i32..).zip(&checkpoint.parts) {
        bytes += i64::try_from(part.body.len()).unwrap_or(i64::MAX);
        let parameters: [Parameter<'_>; 5] = [&job, &id, &seq, &number, &part.body];
        connection.query(WRITE, &parameters).await?;
    }
    for (number, body) in (0_i32..).zip(&checkpoint.past) {
        let parameters: [Parameter<'_>; 5] = [&job, &id, &seq, &number, body];
        connection.query(KEEP, &parameters).await?;
    }
    connection.query(WEIGH, &[&job, &id, &bytes]).await?;
    connection.commit().await?;
    Ok(true)
}

/// Who held which shard.
pub(crate) async fn tenures(
    connection: &mut Connection,
    job: i64,
) -> Result<Vec<Tenure>, CallFault> {
    let found = connection.query(TENURES, &[&job]).await?;
    let tenures = found.iter().map(|row| Tenure {
        shard: rows::shard_id(row, "shard"),
        epoch: rows::count(row, "epoch"),
        worker: rows::count(row, "worker"),
        batches: rows::maybe(row, "first_batch").zip(rows::maybe(row, "last_batch")),
        pages: rows::count(row, "pages"),
    });
    Ok(tenures.collect())
}
