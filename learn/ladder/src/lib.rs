//! What the rungs of the ladder share: everything but the waiting.
//!
//! Every rung crawls the same site by the same rules and prints the same report. What to fetch
//! next and what an answer means is decided here, without a socket ([`Crawl`]); how to wait for
//! answers is what each rung is about, and is written out in its own file in `src/bin`.
//! `docs/ladder.md` walks through them.
#![warn(missing_docs)]

mod climb;
mod crawl;
mod hosts;
mod http;
mod links;
mod options;
mod report;
mod trace;

pub use climb::{climb, conclude, prepare};
pub use crawl::{Crawl, FetchStatistic, Task};
pub use hosts::Addresses;
pub use http::{Answer, Framing, MAX_ANSWER, PORTION, request, request_alive, too_large};
pub use options::Options;
pub use report::{Meter, Report};
pub use trace::Trace;
