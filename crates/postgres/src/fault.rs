//! What went wrong in a call, and whether it may go well later.
//!
//! Owns what the codes of `PostgreSQL` mean for a member of a fleet. Invariant: only what people
//! must mend is unusable; whatever a restart, a fail-over or a calmer hour mends is away.

use std::error::Error as _;
use std::io;

use clewline_core::fleet::BusError;
use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

use crate::url::DatabaseUrl;

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum CallFault {
    /// The server or the way to it said so.
    Server(Error),
    /// It is decided already what it means.
    Known(BusError),
}

impl From<Error> for CallFault {
    fn from(error: Error) -> Self {
        Self::Server(error)
    }
}

impl From<BusError> for CallFault {
    fn from(error: BusError) -> Self {
        Self::Known(error)
    }
}

impl CallFault {
    pub(crate) fn unusable(text: String) -> Self {
        Self::Known(BusError::Unusable(text))
    }

    pub(crate) fn away(text: &str) -> Self {
        Self::Known(BusError::Away(text.to_owned()))
    }

    pub(crate) fn code(&self) -> Option<&SqlState> {
        match self {
            Self::Server(error) => error.code(),
            Self::Known(_) => None,
        }
    }

    /// Two calls were in each other's way, and this one was rolled back.
    pub(crate) fn is_conflict(&self) -> bool {
        let code = self.code();
        code == Some(&SqlState::T_R_SERIALIZATION_FAILURE)
            || code == Some(&SqlState::T_R_DEADLOCK_DETECTED)
    }

    /// What a member is told.
    pub(crate) fn into_bus_error(self, url: &DatabaseUrl) -> BusError {
        match self {
            Self::Known(error) => error,
            Self::Server(error) => match error.as_db_error() {
                Some(said) => said_by_server(said, url),
                None => on_the_way(&error, url),
            },
        }
    }
}

/// The first two characters of codes that time mends: connection, resources, operator, system.
const PASSING: [&str; 4] = ["08", "53", "57", "58"];

fn said_by_server(said: &DbError, url: &DatabaseUrl) -> BusError {
    let (code, text) = (said.code(), said.message());
    let is = |state: &SqlState| code == state;
    if is(&SqlState::INVALID_PASSWORD) || is(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION) {
        return refused_login(url, text);
    }
    if is(&SqlState::UNDEFINED_DATABASE)
        || is(&SqlState::INVALID_CATALOG_NAME)
        || is(&SqlState::DATABASE_DROPPED)
    {
        return BusError::Unusable(format!(
            "{url}: {text}; create it with createdb, or correct the address"
        ));
    }
    if is(&SqlState::INSUFFICIENT_PRIVILEGE) {
        return BusError::Unusable(format!(
            "{url}: {text}; the user needs the right to create a schema in the database, or all \
             rights on the schema clewline and its tables"
        ));
    }
    if is(&SqlState::INVALID_SQL_STATEMENT_NAME)
        || is(&SqlState::DUPLICATE_PSTATEMENT)
        || text.contains("unsupported startup parameter")
    {
        return BusError::Unusable(format!(
            "{url}: {text}; there seems to be a pooler such as PgBouncer in transaction mode in \
             between: use its session mode, or the server's own port"
        ));
    }
    if is(&SqlState::UNDEFINED_TABLE) || is(&SqlState::INVALID_SCHEMA_NAME) {
        return BusError::Unusable(format!(
            "{url}: {text}; somebody removed the fleet's tables: start again to create them"
        ));
    }
    let is_passing = PASSING.iter().any(|class| code.code().starts_with(class))
        || is(&SqlState::LOCK_NOT_AVAILABLE)
        || is(&SqlState::READ_ONLY_SQL_TRANSACTION)
        || is(&SqlState::T_R_SERIALIZATION_FAILURE)
        || is(&SqlState::T_R_DEADLOCK_DETECTED);
    if is_passing {
        return BusError::Away(format!("{url}: {text}"));
    }
    BusError::Unusable(format!(
        "{url}: {text} ({}); the server's log says more",
        code.code()
    ))
}

fn refused_login(url: &DatabaseUrl, text: &str) -> BusError {
    let hint = url.password_complaint().unwrap_or_else(|| {
        "check the user in the address, and the password in PGPASSWORD or ~/.pgpass".to_owned()
    });
    BusError::Unusable(format!("{url}: {text}; {hint}"))
}

fn on_the_way(error: &Error, url: &DatabaseUrl) -> BusError {
    let cause = error.source();
    let reason = cause.map_or_else(|| error.to_string(), ToString::to_string);
    if reason == "password missing" {
        return refused_login(url, "the server asks for a password, and there is none");
    }
    let handshake = cause
        .and_then(|cause| cause.downcast_ref::<io::Error>())
        .and_then(io::Error::get_ref)
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    if let Some(fault) = handshake {
        return BusError::Unusable(format!(
            "{url}: TLS failed: {fault}; check the host name, and name the authority of the \
             server's certificate by sslrootcert=FILE in the address"
        ));
    }
    if reason == "server does not support TLS" {
        return BusError::Unusable(format!(
            "{url}: the server has no TLS: turn it on there (ssl = on), or say sslmode=disable in \
             the address if the network between is your own"
        ));
    }
    if error.to_string() == "invalid configuration" {
        return BusError::Unusable(format!("{url}: {reason}; correct the address"));
    }
    BusError::Away(format!("{url}: {reason}"))
}
