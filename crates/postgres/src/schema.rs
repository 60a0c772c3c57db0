//! The schema, its number, and which life of the server this is.
//!
//! Owns who creates the tables: the first that comes, one at a time. Invariant: a schema with a
//! later number than this program knows is not touched.

use tokio_postgres::{Client, Error};

use crate::fault::CallFault;
use crate::url::DatabaseUrl;

/// The number of the schema that this program knows.
const NUMBER: i32 = 2;

const TABLES: &str = include_str!("schema.sql");

/// Whoever creates the tables holds this lock.
const ALONE: &str = "select pg_advisory_xact_lock(1668048247, 0)";

/// A crash and a fail-over empty the table, a restart has another start, and a fail-over another
/// timeline. A crash of one process of the server restarts the others without a new start.
const SERVER: &str = "\
    select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
        || ' ' || extract(epoch from pg_postmaster_start_time())::text
        || ' ' || number::text
    from clewline.life";

const LIVE: &str = "\
    insert into clewline.life (number)
    select (random() * 9007199254740991)::bigint
    where not exists (select from clewline.life)
    on conflict do nothing";

/// Sees to it that the tables are there, and that they are those of this program.
pub(crate) async fn ensure(client: &Client, url: &DatabaseUrl) -> Result<(), CallFault> {
    if number(client).await?.is_none() {
        client.batch_execute("begin").await?;
        client.batch_execute(ALONE).await?;
        if number(client).await?.is_none() {
            client.batch_execute(TABLES).await?;
        }
        client.batch_execute("commit").await?;
    }
    let found = number(client).await?.unwrap_or_default();
    if found > NUMBER {
        return Err(CallFault::unusable(format!(
            "{url}: a later clewline made the fleet's tables (number {found}, this one knows \
             {NUMBER}): update clewline here, or use another database"
        )));
    }
    if found < NUMBER {
        return Err(CallFault::unusable(format!(
            "{url}: the fleet's tables have number {found}, which this clewline does not know: use \
             another database"
        )));
    }
    Ok(())
}

/// The catalogue is read as a table: functions such as `to_regclass` remember that a name was not
/// there, even while its creator was waited for.
const IS_THERE: &str = "\
    select exists (
        select from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        where n.nspname = 'clewline' and c.relname = 'version')";

async fn number(client: &Client) -> Result<Option<i32>, Error> {
    let row = client.query_one(IS_THERE, &[]).await?;
    if !row.get::<_, bool>(0) {
        return Ok(None);
    }
    let rows = client.query("select max(number) from clewline.version", &[]);
    let rows = rows.await?;
    Ok(rows.first().and_then(|row| row.get(0)))
}

/// Which life of which server this is.
pub(crate) async fn server(client: &Client) -> Result<String, Error> {
    client.execute(LIVE, &[]).await?;
    let row = client.query_one(SERVER, &[]).await?;
    Ok(row.get(0))
}
