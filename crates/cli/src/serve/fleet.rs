//! A fleet that is served: `serve` with the address of its database.
//!
//! Owns what the server is lent for it: one connection that all looks share, and orders as `ctl` gives
//! them. Refuses to know how a fleet is shown. Invariant: nothing that is lent says the
//! address or a password.

use std::sync::{Mutex, PoisonError};

use clewline_postgres::FleetServer;
use clewline_serve::{FleetSteer, ServedFleet};

use crate::Failure;
use crate::fleet;
use crate::job::ctl::Order;

/// The fleet of a job; fails if it cannot be looked at now.
pub(super) fn served(address: &str, job: Option<&str>) -> Result<ServedFleet, Failure> {
    let name = fleet::named(job)?.to_owned();
    let mut server = fleet::connect(address)?;
    server.status(&name).map_err(fleet::stuck)?;
    let shared = Mutex::new(Some(server));
    let (looked, told) = (address.to_owned(), address.to_owned());
    let (asked, ordered) = (name.clone(), name.clone());
    Ok(ServedFleet {
        name,
        // Where the server was started.
        audit_folder: ".".into(),
        look: Box::new(move || {
            let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
            look(&mut shared, &looked, &asked)
        }),
        obey: Box::new(move |steer| {
            let told = fleet::order(&told, Some(&ordered), &order(steer));
            told.map_err(|failure| said(&failure))
        }),
    })
}

/// Looks over the connection that is there; one that failed is made anew the next time.
fn look(
    shared: &mut Option<FleetServer>,
    address: &str,
    job: &str,
) -> Result<clewline_serve::FleetStanding, String> {
    let mut server = match shared.take() {
        Some(server) => server,
        None => FleetServer::connect(address).map_err(|error| error.to_string())?,
    };
    let status = server.status(job).map_err(|error| error.to_string())?;
    *shared = Some(server);
    Ok(fleet::standing(&status))
}

fn order(steer: &FleetSteer) -> Order {
    match steer {
        FleetSteer::Pause => Order::Pause,
        FleetSteer::Continue => Order::Continue,
        FleetSteer::Stop => Order::Stop,
        FleetSteer::Change(change) => Order::Change(*change),
        FleetSteer::Add(url) => Order::Add(url.clone()),
    }
}

fn said(failure: &Failure) -> String {
    match failure {
        Failure::Usage(problems) => {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            lines.join("; ")
        }
        Failure::Job(error) => error.to_string(),
        Failure::Stuck(error) => error.to_string(),
    }
}
