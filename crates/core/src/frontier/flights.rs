//! Jobs that were handed out and are not settled.
//!
//! Owns their numbers and what each of them is about and charged to. It refuses to know what their
//! ends mean. Invariant: a number is given once, and a job is taken back once.

use std::net::IpAddr;

use super::entry::{Origin, QueueEntry, RobotsFetch};
use super::errands::Errand;
use super::job::JobId;
use super::pace::Moment;
use super::slots::Taken;
use super::store::KeyMap;
use crate::key::HostId;

/// What a job in flight is about.
#[derive(Debug)]
pub(super) enum JobKind {
    Resolve(Origin),
    Page(Box<QueueEntry>),
    Robots(Box<RobotsFetch>),
    Errand(Box<Errand>),
    /// A page whose request has ended, and which is settled later.
    Postponed(Box<QueueEntry>),
}

/// A job in flight and what it is charged to.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) lane: HostId,
    pub(super) kind: JobKind,
    pub(super) domain: Option<u64>,
    pub(super) address: Option<IpAddr>,
    pub(super) since: Moment,
    pub(super) taken: Taken,
    /// The process was stopped meanwhile.
    pub(super) excused: bool,
}

/// All jobs in flight.
#[derive(Debug, Default)]
pub(super) struct Flights {
    flights: KeyMap<u64, Flight>,
    /// The number of the last job.
    last: u64,
}

impl Flights {
    /// Gives a job its number.
    pub(super) fn add(&mut self, flight: Flight) -> JobId {
        self.last += 1;
        self.flights.insert(self.last, flight);
        JobId(self.last)
    }

    /// Takes back a job.
    ///
    /// # Panics
    /// If it was taken back before: a lease ends once.
    pub(super) fn take(&mut self, job: JobId) -> Flight {
        let flight = self.flights.remove(&job.0);
        flight.expect("a lease is settled once")
    }

    /// Puts back a job under its number.
    pub(super) fn put_back(&mut self, job: JobId, flight: Flight) {
        self.flights.insert(job.0, flight);
    }

    pub(super) fn get(&self, job: JobId) -> Option<&Flight> {
        self.flights.get(&job.0)
    }

    /// All of them, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (JobId, &Flight)> {
        self.flights
            .iter()
            .map(|(number, flight)| (JobId(*number), flight))
    }

    /// Whether nothing is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.flights.is_empty()
    }

    /// The process was stopped while all of these were in flight.
    pub(super) fn excuse(&mut self) {
        for flight in self.flights.values_mut() {
            flight.excused = true;
        }
    }
}
