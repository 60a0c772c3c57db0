//! What members of a fleet share, kept in `PostgreSQL`.
//!
//! Owns the statements, the schema and the connection: [`PostgresBus`] is one member's way to its
//! job, [`FleetServer`] is what people and commands ask of all jobs in a database. It refuses to
//! know what a delta, a piece of mail or a job's configuration says, and it decides nothing that
//! the core can decide. Invariants: each call happens whole or not at all; nothing is written by
//! whoever is not the owner of a shard in its present epoch; a password is never shown.
#![warn(missing_docs)]

mod addresses;
mod budget;
mod bus;
mod commit;
mod fault;
mod leases;
mod log;
mod password;
mod phases;
mod requeue;
mod rows;
mod schema;
mod server;
mod session;
mod status;
mod tls;
mod url;

pub use bus::PostgresBus;
pub use server::{DropMode, FleetCreation, FleetListing, FleetServer};
pub use status::{FleetStatus, MemberStatus, ShardSummary};
pub use url::DatabaseUrl;
