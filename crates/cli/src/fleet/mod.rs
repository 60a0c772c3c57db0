//! One crawl on many machines: the verb `fleet`, and `--fleet` of a crawl.
//!
//! Owns how a job of a fleet is made, joined, listed, dropped and merged, and what is told of it. What
//! a fleet is, the core decides; how a database keeps it, `clewline-postgres`.

mod door;
mod flags;
mod manage;
mod merge;
mod order;
mod requeue;
mod spec;
mod status;

use std::path::Path;

use clewline_core::fleet::BusError;
use clewline_postgres::FleetServer;

pub(crate) use door::FleetDoor;
pub(crate) use flags::{FLEET_HELP, FleetArguments, FleetFlags, FleetVerb};
pub(crate) use order::order;
pub(crate) use status::{standing, status};

use crate::Failure;
use crate::exit::ExitStatus;
use crate::settings::problem::Problem;

/// Whether an argument names a database and not a folder.
pub(crate) fn is_address(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

/// The address that stands where a folder might, if it does.
pub(crate) fn address(path: Option<&Path>) -> Option<&str> {
    path.and_then(Path::to_str).filter(|text| is_address(text))
}

/// Does what a verb of `fleet` says.
pub(crate) fn fleet(arguments: FleetArguments) -> Result<ExitStatus, Failure> {
    match arguments.verb {
        FleetVerb::Join(arguments) => door::join(*arguments),
        FleetVerb::List { address, json } => manage::list(&address, json),
        FleetVerb::Drop {
            address,
            job,
            force,
        } => manage::drop_job(&address, &job, force),
        FleetVerb::Merge(arguments) => merge::merge(&arguments),
    }
}

/// Connects to a database.
pub(crate) fn connect(address: &str) -> Result<FleetServer, Failure> {
    FleetServer::connect(address).map_err(stuck)
}

pub(crate) fn stuck(error: BusError) -> Failure {
    Failure::Stuck(anyhow::Error::new(error))
}

/// The name of a job, which has to be given with an address.
pub(crate) fn named(job: Option<&str>) -> Result<&str, Failure> {
    job.ok_or_else(|| {
        let problem = Problem::new("--job", "is missing: a database may have many jobs");
        Failure::Usage(vec![problem.with_hint("`clewline fleet list` shows them")])
    })
}
