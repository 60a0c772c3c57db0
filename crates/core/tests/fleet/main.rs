//! Fleets in virtual time: frontiers that share one crawl, over a bus that loses, delays and repeats.

mod bus;
mod journal;
mod moves;
mod process;
mod sharing;
mod simulation;
mod takeover;
mod web;
