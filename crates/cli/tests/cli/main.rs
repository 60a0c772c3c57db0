//! The command as people meet it: output, talk and exit code, against a web on loopback.
#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests are tests, but clippy knows only functions"
)]

#[cfg(unix)]
mod app;
mod checking;
mod demo;
mod diff;
mod endings;
mod export;
#[cfg(unix)]
mod feeding;
mod flags;
#[cfg(target_os = "linux")]
mod flat;
mod folders;
#[cfg(unix)]
mod index_kills;
#[cfg(unix)]
mod jobs;
mod merged;
mod place;
mod quotes;
mod replay;
mod report;
mod safety;
mod screen;
mod search;
#[cfg(unix)]
mod signals;
mod streaming;
#[cfg(target_os = "linux")]
mod terminal;
mod traps;
mod usage;
