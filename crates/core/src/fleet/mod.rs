//! A fleet: one crawl on many machines.
//!
//! Owns which part of the key space is whose ([`Shards`]) and what members send to each other
//! ([`Mail`]). It refuses to
//! know how any of it travels: a bus carries claims, commits and mail, and `now` is an argument.
//! Invariant: a host has one owner at a time, and only its owner asks it.

mod mail;
mod shards;

pub use mail::Mail;
pub use shards::{ShardId, Shards};
