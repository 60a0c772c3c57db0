//! The bus and the server on a real `PostgreSQL`, call by call.
//!
//! What is asked here is what the simulated bus of the core promises. Without the package the tests
//! say so and do nothing.
#![expect(clippy::unwrap_used, reason = "what fails here is a failed test")]

mod place;

mod addresses;
mod commits;
mod leases;
mod outages;
mod phases;
mod security;
mod server;
