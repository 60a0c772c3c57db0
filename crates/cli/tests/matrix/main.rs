//! The fault matrix: one fault at a time, and the figure that a crawl must reach in spite of it.
//!
//! Each test stands for a row of `docs/reliability.md`. Time is compressed where it can be. A
//! fault that this machine does not allow to make is skipped, and loudly.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are tests, but clippy knows only functions"
)]

mod ground;
mod shortage;
mod signals;
mod time;
mod trouble;
