//! Fleets in virtual time: frontiers that share one crawl, over a bus that loses, delays and repeats.

mod journal;
mod moves;
mod web;
