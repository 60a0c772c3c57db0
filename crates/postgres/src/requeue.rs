//! URLs that are queued again because what was written of them is lost.
//!
//! Owns the statements that take back what a tenure brought. It runs in a transaction of its caller.
//! It refuses to know what was lost and what the delta says. Invariants: nothing is changed while a
//! member may be at work; each shard stands where it stood when its history was read.

use clewline_core::fleet::{CutTenure, ShardRequeue};

use crate::fault::CallFault;
use crate::phases;
use crate::rows::bits;
use crate::session::{Connection, Parameter};

/// A member that wakes up later finds its shards without an owner and their logs longer.
const LIVE: &str = "\
    select count(*) from clewline.member m join clewline.job j on j.id = m.job
    where m.job = $1 and m.seen > clock_timestamp() - j.expiry * interval '1 millisecond'";

const QUEUE: &str = "\
    with moved as (
        update clewline.shard s set head = s.head + 1, worker = null, idle_in = null,
            settled = $5, roots_todo = $6, sitemaps_todo = $7, pages = s.pages - $8,
            tail_bytes = s.tail_bytes + octet_length($9::bytea)
        where s.job = $1 and s.id = $2 and s.epoch = $3 and s.head = $4
        returning s.head
    )
    insert into clewline.log (job, shard, seq, part, body)
    select $1, $2, head, -1, $9 from moved
    returning seq";

const CUT: &str = "\
    update clewline.tenure set first_batch = $7, last_batch = $8, pages = $9
    where job = $1 and shard = $2 and epoch = $3
        and first_batch = $4 and last_batch = $5 and pages = $6
    returning epoch";

const GIVE_BACK: &str = "\
    update clewline.job set pages_left = pages_left + $2 where id = $1";

/// Queues them. Shards are locked before the job, as a commit does it.
pub(crate) async fn requeue(
    connection: &mut Connection,
    job: i64,
    shards: &[ShardRequeue],
    cut: &[CutTenure],
) -> Result<(), CallFault> {
    for shard in shards {
        queue(connection, job, shard, cut).await?;
    }
    for tenure in cut {
        take_back(connection, job, tenure).await?;
    }
    connection.query(phases::LOCK, &[&job]).await?;
    let live = connection.query_one(LIVE, &[&job]).await?;
    let live: i64 = live.map_or(0, |row| row.get(0));
    if live > 0 {
        return Err(CallFault::unusable(format!(
            "the job has {live} live workers: queue what is lost again when they have ended"
        )));
    }
    let pages = pages(cut.iter());
    connection.query(GIVE_BACK, &[&job, &pages]).await?;
    phases::reopen(connection, job).await?;
    Ok(())
}

async fn queue(
    connection: &mut Connection,
    job: i64,
    requeue: &ShardRequeue,
    cut: &[CutTenure],
) -> Result<(), CallFault> {
    let shard = i32::from(requeue.shard.0);
    let counts = &requeue.counts;
    let lost = pages(cut.iter().filter(|cut| cut.was.shard == requeue.shard));
    let [epoch, head] = [requeue.fence.epoch, requeue.fence.head].map(bits);
    let [settled, roots, sitemaps] =
        [counts.settled, counts.roots_todo, counts.sitemaps_todo].map(bits);
    let parameters: [Parameter<'_>; 9] = [
        &job,
        &shard,
        &epoch,
        &head,
        &settled,
        &roots,
        &sitemaps,
        &lost,
        &requeue.delta,
    ];
    let moved = connection.query_one(QUEUE, &parameters).await?;
    moved.map(|_| ()).ok_or_else(changed)
}

async fn take_back(
    connection: &mut Connection,
    job: i64,
    CutTenure { was, kept }: &CutTenure,
) -> Result<(), CallFault> {
    let batch = |batches: Option<(u64, u64)>| batches.map(|(first, last)| [first, last].map(bits));
    let (old, new) = (batch(was.batches), batch(kept.batches));
    let [old_first, old_last] = [0, 1].map(|at| old.map(|batches| batches[at]));
    let [new_first, new_last] = [0, 1].map(|at| new.map(|batches| batches[at]));
    let (shard, epoch) = (i32::from(was.shard.0), bits(was.epoch));
    let [had, has] = [was.pages, kept.pages].map(bits);
    let parameters: [Parameter<'_>; 9] = [
        &job, &shard, &epoch, &old_first, &old_last, &had, &new_first, &new_last, &has,
    ];
    let cut = connection.query_one(CUT, &parameters).await?;
    cut.map(|_| ()).ok_or_else(changed)
}

/// Pages that do not count any more.
fn pages<'a>(cut: impl Iterator<Item = &'a CutTenure>) -> i64 {
    bits(cut.map(|cut| cut.was.pages - cut.kept.pages).sum())
}

fn changed() -> CallFault {
    CallFault::unusable(
        "the job changed while its folders were read: try again when its workers have ended"
            .to_owned(),
    )
}
