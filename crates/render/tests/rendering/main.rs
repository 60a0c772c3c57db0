//! Pages in a real browser: what they show, what they try, and how they fail.
#![cfg(target_os = "linux")]

mod apps;
mod faults;
mod pages;
mod support;
mod ways_out;
