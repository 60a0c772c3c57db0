//! Rows of the database as values of the core.
//!
//! Owns how numbers are kept: unsigned 64 bits as bigint, bit by bit.

use std::time::Duration;

use clewline_core::fleet::{Fence, FleetJob, JobPhase, ShardId, ShardRow};
use clewline_core::frontier::ShardCounts;
use tokio_postgres::Row;

/// The columns that [`shard`] reads, of the table `shard` under the name `s`.
macro_rules! shard_columns {
    () => {
        "s.id, s.worker, s.epoch, s.head, s.batch, s.granted, s.admitted, s.settled, s.withheld, \
         s.roots_todo, s.sitemaps_todo, s.checkpoint_bytes, s.tail_bytes, s.wants"
    };
}
pub(crate) use shard_columns;

/// The columns that [`job`] reads, of the table `job` under the name `j`.
macro_rules! job_columns {
    () => {
        "j.name, j.format, j.spec, j.seed, j.bits, j.expiry, j.pages"
    };
}
pub(crate) use job_columns;

pub(crate) const fn bits(number: u64) -> i64 {
    number.cast_signed()
}

pub(crate) fn count(row: &Row, column: &str) -> u64 {
    row.get::<_, i64>(column).cast_unsigned()
}

pub(crate) fn maybe(row: &Row, column: &str) -> Option<u64> {
    row.get::<_, Option<i64>>(column).map(i64::cast_unsigned)
}

/// A time that a statement answers in microseconds.
pub(crate) fn duration(row: &Row, column: &str) -> Option<Duration> {
    let micros: Option<i64> = row.get(column);
    micros.map(|micros| Duration::from_micros(u64::try_from(micros).unwrap_or_default()))
}

pub(crate) fn shard_id(row: &Row, column: &str) -> ShardId {
    let number: i32 = row.get(column);
    ShardId(u16::try_from(number).expect("there are at most 4,096 shards"))
}

pub(crate) fn fence(row: &Row) -> Fence {
    Fence {
        epoch: count(row, "epoch"),
        head: count(row, "head"),
    }
}

pub(crate) fn shard(row: &Row) -> ShardRow {
    ShardRow {
        shard: shard_id(row, "id"),
        worker: maybe(row, "worker"),
        fence: fence(row),
        batch: count(row, "batch"),
        grant: count(row, "granted"),
        counts: ShardCounts {
            admitted: count(row, "admitted"),
            settled: count(row, "settled"),
            withheld: count(row, "withheld"),
            roots_todo: count(row, "roots_todo"),
            sitemaps_todo: count(row, "sitemaps_todo"),
        },
        log_bytes: (count(row, "checkpoint_bytes"), count(row, "tail_bytes")),
    }
}

pub(crate) fn phase(row: &Row) -> JobPhase {
    let number: i16 = row.get("phase");
    let number = u8::try_from(number).ok();
    number
        .and_then(JobPhase::from_number)
        .expect("only phases are written")
}

pub(crate) fn job(row: &Row) -> FleetJob {
    let number = |column: &str| row.get::<_, i32>(column).cast_unsigned();
    FleetJob {
        name: row.get("name"),
        format: number("format"),
        spec: row.get("spec"),
        seed: count(row, "seed"),
        bits: number("bits"),
        expiry: Duration::from_millis(count(row, "expiry")),
        pages: maybe(row, "pages"),
    }
}
