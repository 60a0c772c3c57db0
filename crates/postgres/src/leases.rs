//! Membership and shards: who is there, and who owns what.
//!
//! Owns the statements behind [`FleetRequest`]. Each judges by one look whether a member is live
//! and whether a shard is free, and a claim writes its tenure from what it changed itself.
//! Invariant: a shard is taken from nobody whose renewals are good.

use clewline_core::fleet::{Fence, FleetAnswer, FleetRequest, FleetView, ShardId};
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;

use crate::bus::gone;
use crate::fault::CallFault;
use crate::rows::{self, bits};
use crate::session::Connection;

const JOIN: &str = "\
    insert into clewline.member (job, id, seen, info) values ($1, $2, clock_timestamp(), $3)
    on conflict (job, id) do update set seen = excluded.seen, info = excluded.info";

/// Renews, and notes that the server is another one: then nothing may be claimed for as long as an
/// address is granted, and the grace. The row of the job is touched only in that case.
const RENEW: &str = "\
    with noticed as (
        update clewline.job set server = $4, quiet_until = clock_timestamp()
            + expiry * interval '1 millisecond' * 1.5 + expiry * interval '1 millisecond' / 5
        where id = $1 and server <> $4
    )
    update clewline.member set seen = greatest(seen, clock_timestamp()), info = $3
    where job = $1 and id = $2
    returning id";

/// Live members, how many of them have more shards than whoever asks (or as many, and a smaller id),
/// and the shards that are free or belong to whoever asks. Times are those of the statement: it must
/// not look at old renewals with a later clock.
const VIEW: &str = "\
    with live as materialized (
        select m.id, count(s.id) as shards
        from clewline.member m join clewline.job j on j.id = m.job
        left join clewline.shard s on s.job = m.job and s.worker = m.id
        where m.job = $1 and m.seen > statement_timestamp() - j.expiry * interval '1 millisecond'
        group by m.id
    )
    select (select count(*) from live) as members,
        (select count(*) from live me join live other on other.shards > me.shards
            or (other.shards = me.shards and other.id < me.id) where me.id = $2) as before,
        s.id, s.epoch, s.head,
        coalesce(s.worker = $2, false) as held, s.worker is null or l.id is null as free
    from clewline.job j
    left join clewline.shard s on s.job = j.id
        and (s.worker is null or s.worker = $2 or s.worker not in (select id from live))
    left join live l on l.id = s.worker
    where j.id = $1
    order by s.id";

/// A claim may wait for a commit, and is judged again after it by the row as it is then, but by
/// renewals as they were before. So it goes by the time of the statement, which is before those.
const CLAIM: &str = "\
    with claimed as (
        update clewline.shard s
        set former = s.worker, worker = $2, epoch = s.epoch + 1, idle_in = null
        from clewline.job j
        where j.id = $1 and s.job = $1 and s.id = $3 and s.epoch = $4 and s.head = $5
            and j.server = $6 and j.quiet_until <= statement_timestamp()
            and (s.worker is null or not exists (
                select from clewline.member m where m.job = $1 and m.id = s.worker
                    and m.seen > statement_timestamp() - j.expiry * interval '1 millisecond'))
            and exists (
                select from clewline.member m where m.job = $1 and m.id = $2
                    and m.seen > statement_timestamp() - j.expiry * interval '1 millisecond')
        returning s.id, s.epoch, s.head, s.former is null as was_free
    ), noted as (
        insert into clewline.tenure (job, shard, epoch, worker)
        select $1, id, epoch, $2 from claimed
    )
    select epoch, head, was_free from claimed";

const RECLAIM: &str = "\
    with claimed as (
        update clewline.shard s set former = s.worker, epoch = s.epoch + 1
        from clewline.job j
        where j.id = $1 and s.job = $1 and s.id = $3 and s.worker = $2 and exists (
            select from clewline.member m where m.job = $1 and m.id = $2
                and m.seen > statement_timestamp() - j.expiry * interval '1 millisecond')
        returning s.id, s.epoch, s.head
    ), noted as (
        insert into clewline.tenure (job, shard, epoch, worker)
        select $1, id, epoch, $2 from claimed
    )
    select epoch, head, false as was_free from claimed";

const GIVE_BACK: &str = "\
    update clewline.shard set worker = null
    where job = $1 and id = $3 and worker = $2 and epoch = $4 and head = $5";

const LEAVE: &str = "delete from clewline.member where job = $1 and id = $2";

/// Asks for membership and shards.
pub(crate) async fn ask(
    connection: &mut Connection,
    (job, worker): (i64, u64),
    info: &str,
    request: &FleetRequest,
) -> Result<FleetAnswer, CallFault> {
    let me = bits(worker);
    match *request {
        FleetRequest::Join => {
            let joined = connection.query(JOIN, &[&job, &me, &info]).await;
            joined.map_err(missing_job)?;
            Ok(FleetAnswer::Joined)
        }
        FleetRequest::Renew => renew(connection, (job, me), info).await,
        FleetRequest::Claim(shard, Fence { epoch, head }) => {
            let server = connection.server().to_owned();
            let fence = (bits(epoch), bits(head));
            let id = i32::from(shard.0);
            let claim = connection
                .query_one(CLAIM, &[&job, &me, &id, &fence.0, &fence.1, &server])
                .await?;
            Ok(claimed(shard, claim.as_ref()))
        }
        FleetRequest::Reclaim(shard) => {
            let id = i32::from(shard.0);
            let claim = connection.query_one(RECLAIM, &[&job, &me, &id]).await?;
            Ok(claimed(shard, claim.as_ref()))
        }
        FleetRequest::GiveBack(shard, Fence { epoch, head }) => {
            let fence = (bits(epoch), bits(head));
            let id = i32::from(shard.0);
            connection
                .query(GIVE_BACK, &[&job, &me, &id, &fence.0, &fence.1])
                .await?;
            Ok(FleetAnswer::GivenBack(shard))
        }
        FleetRequest::Leave => {
            connection.query(LEAVE, &[&job, &me]).await?;
            Ok(FleetAnswer::Left)
        }
    }
}

fn missing_job(fault: CallFault) -> CallFault {
    if fault.code() == Some(&SqlState::FOREIGN_KEY_VIOLATION) {
        return gone();
    }
    fault
}

fn claimed(shard: ShardId, row: Option<&Row>) -> FleetAnswer {
    row.map_or(FleetAnswer::Refused(shard), |row| FleetAnswer::Claimed {
        shard,
        fence: rows::fence(row),
        was_free: row.get("was_free"),
    })
}

async fn renew(
    connection: &mut Connection,
    (job, me): (i64, i64),
    info: &str,
) -> Result<FleetAnswer, CallFault> {
    let server = connection.server().to_owned();
    let renewed = connection
        .query_one(RENEW, &[&job, &me, &info, &server])
        .await?;
    if renewed.is_none() {
        return Ok(FleetAnswer::Unknown);
    }
    let mut view = FleetView::default();
    for row in connection.query(VIEW, &[&job, &me]).await? {
        let number = |column| usize::try_from(row.get::<_, i64>(column)).unwrap_or_default();
        (view.members, view.before) = (number("members"), number("before"));
        let Some(id) = row.get::<_, Option<i32>>("id") else {
            continue;
        };
        let shard = ShardId(u16::try_from(id).expect("there are at most 4,096 shards"));
        let fence = rows::fence(&row);
        if row.get("free") {
            view.free.push((shard, fence));
        }
        if row.get("held") {
            view.held.push((shard, fence));
        }
    }
    Ok(FleetAnswer::Renewed(view))
}
