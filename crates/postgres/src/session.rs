//! One connection, opened when it is needed and dropped when it is in doubt.
//!
//! Owns the runtime that drives the connection, its settings, its prepared statements, the time
//! limit of each call and the repetition of calls that were in each other's way. It refuses to know
//! any statement of the fleet. Invariants: a call ends in time; after a call that failed nothing of
//! its connection is used again, so no later call meets a transaction that it did not begin.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use clewline_core::fleet::BusError;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use crate::fault::CallFault;
use crate::url::DatabaseUrl;
use crate::{schema, tls};

/// So often a call is tried whose transaction was rolled back by another's.
const TRIES: usize = 5;

/// Servers before this one lack what is used here, or nobody tried them.
const LEAST_VERSION: i32 = 140_000;

/// A host that does not acknowledge for so long is gone.
const SILENCE: Duration = Duration::from_secs(15);

const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);

/// Each statement sees what was committed before it, and what is acknowledged is on disk.
const SETTINGS: &str = "\
    set session characteristics as transaction isolation level read committed, read write;
    set synchronous_commit = on;
    set idle_in_transaction_session_timeout = '60s'";

/// The server looks now and then whether a client still waits. Some platforms cannot do it.
const NOTICE_LEFT: &str = "set client_connection_check_interval = '2s'";

/// What a parameter of a statement is.
pub(crate) type Parameter<'a> = &'a (dyn ToSql + Sync);

/// A way to the database that mends itself.
pub(crate) struct Session {
    url: Arc<DatabaseUrl>,
    runtime: Option<Runtime>,
    connection: Option<Connection>,
}

impl Session {
    pub(crate) const fn new(url: Arc<DatabaseUrl>) -> Self {
        Self {
            url,
            runtime: None,
            connection: None,
        }
    }

    pub(crate) const fn url(&self) -> &Arc<DatabaseUrl> {
        &self.url
    }

    /// Does some work on the connection, which is opened if there is none.
    pub(crate) fn call<T>(
        &mut self,
        limit: Duration,
        work: impl AsyncFn(&mut Connection) -> Result<T, CallFault>,
    ) -> Result<T, BusError> {
        let runtime = match self.runtime.take() {
            Some(runtime) => runtime,
            None => Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| BusError::Away(format!("no connection can be opened: {error}")))?,
        };
        let tried = attempts(&self.url, &mut self.connection, limit, work);
        let ended = runtime.block_on(async { timeout(limit, tried).await });
        let ended = ended.unwrap_or_else(|_| {
            let seconds = limit.as_secs_f64();
            let text = format!("{}: no answer within {seconds} s", self.url);
            Err(CallFault::away(&text))
        });
        if ended.is_err()
            && let Some(connection) = self.connection.take()
        {
            // The socket closes only when the runtime lets go of the task that reads it.
            connection.reader.abort();
            let _: Result<(), _> = runtime.block_on(connection.reader);
        }
        self.runtime = Some(runtime);
        ended.map_err(|fault| fault.into_bus_error(&self.url))
    }
}

async fn attempts<T>(
    url: &DatabaseUrl,
    kept: &mut Option<Connection>,
    limit: Duration,
    work: impl AsyncFn(&mut Connection) -> Result<T, CallFault>,
) -> Result<T, CallFault> {
    let connection = match kept {
        Some(connection) => connection,
        None => kept.insert(Connection::open(url).await?),
    };
    connection.limit(limit).await?;
    let mut tries = 1;
    loop {
        match work(connection).await {
            Err(fault) if fault.is_conflict() && tries < TRIES => {
                connection.client.batch_execute("rollback").await?;
                tries += 1;
            }
            ended => return ended,
        }
    }
}

/// A connection that is open.
pub(crate) struct Connection {
    client: Client,
    reader: JoinHandle<()>,
    statements: HashMap<&'static str, Statement>,
    limit: Duration,
    server: String,
    /// The job that was looked up over this connection.
    pub(crate) job: Option<i64>,
}

impl Connection {
    async fn open(url: &DatabaseUrl) -> Result<Self, CallFault> {
        let mut config = url.config();
        config
            .tcp_user_timeout(SILENCE)
            .keepalives_idle(KEEPALIVE_IDLE)
            .keepalives_interval(KEEPALIVE_INTERVAL)
            .keepalives_retries(3);
        let (client, connection) = config.connect(tls::connector(url)?).await?;
        // Its end is seen by whoever asks next.
        let reader = tokio::spawn(async move { drop(connection.await) });
        let mut opened = Self {
            client,
            reader,
            statements: HashMap::new(),
            limit: Duration::ZERO,
            server: String::new(),
            job: None,
        };
        opened.check_server(url).await?;
        opened.client.batch_execute(SETTINGS).await?;
        if let Err(error) = opened.client.batch_execute(NOTICE_LEFT).await
            && error.as_db_error().is_none()
        {
            return Err(error.into());
        }
        schema::ensure(&opened.client, url).await?;
        opened.server = schema::server(&opened.client).await?;
        Ok(opened)
    }

    async fn check_server(&self, url: &DatabaseUrl) -> Result<(), CallFault> {
        const QUESTION: &str = "select current_setting('server_version_num')::int, \
                                current_setting('server_version'), pg_is_in_recovery()";
        let row = self.client.query_one(QUESTION, &[]).await?;
        let (number, name, is_replica): (i32, &str, bool) = (row.get(0), row.get(1), row.get(2));
        if number < LEAST_VERSION {
            return Err(CallFault::unusable(format!(
                "{url}: PostgreSQL {name} is too old for a fleet: use version 14 or later"
            )));
        }
        if is_replica {
            return Err(CallFault::away(&format!(
                "{url}: the server is a replica that only reads"
            )));
        }
        Ok(())
    }

    /// No statement of this call takes longer on the server, either.
    async fn limit(&mut self, limit: Duration) -> Result<(), CallFault> {
        if self.limit != limit {
            let most = limit.as_millis();
            let text = format!("set statement_timeout = {most}; set lock_timeout = {most}");
            self.client.batch_execute(&text).await?;
            self.limit = limit;
        }
        Ok(())
    }

    /// Which life of which server this is: it differs after a restart or a fail-over.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    pub(crate) async fn query(
        &mut self,
        text: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, CallFault> {
        if !self.statements.contains_key(text) {
            let statement = self.client.prepare(text).await?;
            self.statements.insert(text, statement);
        }
        let statement = &self.statements[text];
        Ok(self.client.query(statement, parameters).await?)
    }

    /// The one row of an answer, if there is one.
    pub(crate) async fn query_one(
        &mut self,
        text: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<Row>, CallFault> {
        Ok(self.query(text, parameters).await?.into_iter().next())
    }

    pub(crate) async fn begin(&mut self) -> Result<(), CallFault> {
        Ok(self.client.batch_execute("begin").await?)
    }

    pub(crate) async fn commit(&mut self) -> Result<(), CallFault> {
        Ok(self.client.batch_execute("commit").await?)
    }

    pub(crate) async fn roll_back(&mut self) -> Result<(), CallFault> {
        Ok(self.client.batch_execute("rollback").await?)
    }
}
