//! A fleet: one crawl on many machines.
//!
//! Owns which part of the key space is whose ([`Shards`]), what members send to each other
//! ([`Mail`]), the lease of a member ([`FleetMember`]), how addresses are dealt out
//! ([`AddressHolding`]) and the seam to what they share ([`Bus`]). It refuses to know how any of it
//! travels, and `now` is an argument.
//! Invariant: a host has one owner at a time, and only its owner asks it.

mod addresses;
mod bus;
mod mail;
mod member;
mod shards;

pub use addresses::{AddressHolding, AddressShare};
pub use bus::{
    Bus, BusError, CommitPart, CutTenure, DealtAddress, FleetCommit, FleetJob, FleetPlace,
    FleetTotals, JobPhase, JobView, KnownView, LogPart, MailId, MailRow, ShardCheckpoint,
    ShardHistory, ShardRequeue, ShardRow, Tenure, Upload,
};
pub use mail::Mail;
pub use member::{Duty, Fence, FleetAnswer, FleetMember, FleetRequest, FleetView, LeaseTimes};
pub use shards::{ShardId, Shards};
