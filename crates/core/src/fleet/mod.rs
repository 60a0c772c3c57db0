//! A fleet: one crawl on many machines.
//!
//! Owns which part of the key space is whose ([`Shards`]) and what members send to each other
//! ([`Mail`]). It refuses to
//! know how any of it travels: a bus carries claims, commits and mail, and `now` is an argument.
//! Invariant: a host has one owner at a time, and only its owner asks it.

mod mail;
mod member;
mod shards;

pub use mail::Mail;
pub use member::{Duty, Fence, FleetAnswer, FleetMember, FleetRequest, FleetView, LeaseTimes};
pub use shards::{ShardId, Shards};
