//! Pages in a real browser: what they show, what they try, and how they fail.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "what fails here is a failed test")]

mod apps;
mod costs;
mod faults;
mod pages;
mod support;
mod ways_out;
