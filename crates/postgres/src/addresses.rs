//! Leave to ask addresses, dealt out over all members.
//!
//! Owns where holdings are kept and who deals at a time; the core reckons. The table is not
//! logged: after a crash or a fail-over it is empty, and nothing new is granted until every old
//! grant has ended. Invariant: one member deals at a time, on what the last one left.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Duration;

use clewline_core::fleet::{AddressHolding, AddressShare, DealtAddress};
use clewline_core::frontier::AddressUse;
use clewline_core::politeness::GroupPace;
use tokio_postgres::Row;

use crate::bus::gone;
use crate::fault::CallFault;
use crate::rows::{self, bits};
use crate::session::{Connection, Parameter};

const ALONE: &str = "select pg_advisory_xact_lock(1668048248, ($1::bigint & 2147483647)::int)";

/// Numbers rise with the clock, so that none is given again after a fail-over.
const BEGIN: &str = "\
    with ended as (
        delete from clewline.address where job = $1 and until <= clock_timestamp()
    )
    select j.server <> $2 or j.quiet_until > clock_timestamp() as quiet,
        greatest((extract(epoch from clock_timestamp()) * 1000000)::bigint,
            (select max(a.number) + 1 from clewline.address a where a.job = $1)) as number
    from clewline.job j where j.id = $1";

const HELD: &str = "\
    select address, worker, most_in_flight, most_rate, last_in_flight, last_rate, number
    from clewline.address where job = $1 and address = any($2)";

const HOLD: &str = "\
    insert into clewline.address (job, address, worker, most_in_flight, most_rate,
        last_in_flight, last_rate, number, until)
    select $1, h.address, $2, h.most_in_flight, h.most_rate, h.last_in_flight, h.last_rate,
        h.number, clock_timestamp() + $3 * interval '1 microsecond'
    from unnest($4::inet[], $5::bigint[], $6::float8[], $7::bigint[], $8::float8[], $9::bigint[])
        as h (address, most_in_flight, most_rate, last_in_flight, last_rate, number)
    on conflict (job, address, worker) do update set most_in_flight = excluded.most_in_flight,
        most_rate = excluded.most_rate, last_in_flight = excluded.last_in_flight,
        last_rate = excluded.last_rate, number = excluded.number, until = excluded.until";

/// Who holds what of the addresses that are asked for.
type Holdings = HashMap<IpAddr, Vec<(u64, AddressHolding)>>;

/// Deals out addresses.
pub(crate) async fn deal(
    connection: &mut Connection,
    (job, worker): (i64, u64),
    asked: &[AddressUse],
    rule: GroupPace,
    time: Duration,
) -> Result<Vec<DealtAddress>, CallFault> {
    let server = connection.server().to_owned();
    connection.begin().await?;
    connection.query(ALONE, &[&job]).await?;
    let begun = connection.query_one(BEGIN, &[&job, &server]).await?;
    let begun = begun.ok_or_else(gone)?;
    let (is_quiet, number) = (begun.get("quiet"), rows::count(&begun, "number"));
    let addresses: Vec<IpAddr> = asked.iter().map(|one| one.address).collect();
    let held = connection.query(HELD, &[&job, &addresses]).await?;
    let mut held = holdings(&held);
    let mut dealt = Vec::with_capacity(asked.len());
    let mut kept = Vec::with_capacity(asked.len());
    for one in asked {
        let known = held.entry(one.address).or_default();
        let own = known.iter().position(|(other, _)| *other == worker);
        let pace = if own.is_none() && is_quiet {
            None
        } else {
            let mut holding = own.map(|at| known.swap_remove(at).1).unwrap_or_default();
            let others: Vec<AddressHolding> = known.iter().map(|(_, other)| *other).collect();
            let pace = holding.deal(one, rule, &others, number);
            known.push((worker, holding));
            kept.push((one.address, holding));
            pace
        };
        dealt.push(DealtAddress {
            address: one.address,
            pace: pace.map(|pace| (pace, number)),
        });
    }
    hold(connection, (job, worker), &kept, time).await?;
    connection.commit().await?;
    Ok(dealt)
}

fn holdings(found: &[Row]) -> Holdings {
    let mut held = Holdings::new();
    for row in found {
        let share = |in_flight: &str, rate: &str| AddressShare {
            in_flight: u32::try_from(row.get::<_, i64>(in_flight)).unwrap_or(u32::MAX),
            rate: row.get(rate),
        };
        let holding = AddressHolding {
            most: share("most_in_flight", "most_rate"),
            last: share("last_in_flight", "last_rate"),
            number: rows::count(row, "number"),
        };
        let address: IpAddr = row.get("address");
        let known = held.entry(address).or_default();
        known.push((rows::count(row, "worker"), holding));
    }
    held
}

async fn hold(
    connection: &mut Connection,
    (job, worker): (i64, u64),
    kept: &[(IpAddr, AddressHolding)],
    time: Duration,
) -> Result<(), CallFault> {
    let addresses: Vec<IpAddr> = kept.iter().map(|(address, _)| *address).collect();
    let in_flight = |of: fn(&AddressHolding) -> AddressShare| -> Vec<i64> {
        let shares = kept.iter().map(|(_, holding)| of(holding));
        shares.map(|share| i64::from(share.in_flight)).collect()
    };
    let rate = |of: fn(&AddressHolding) -> AddressShare| -> Vec<f64> {
        kept.iter().map(|(_, holding)| of(holding).rate).collect()
    };
    let most = (in_flight(|held| held.most), rate(|held| held.most));
    let last = (in_flight(|held| held.last), rate(|held| held.last));
    let numbers: Vec<i64> = kept.iter().map(|(_, held)| bits(held.number)).collect();
    let time = time.as_micros() as f64;
    let me = bits(worker);
    let parameters: [Parameter<'_>; 9] = [
        &job, &me, &time, &addresses, &most.0, &most.1, &last.0, &last.1, &numbers,
    ];
    connection.query(HOLD, &parameters).await?;
    Ok(())
}
