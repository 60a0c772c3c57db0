//! `terrarium`: a synthetic internet to crawl by hand or in a benchmark.
//!
//! `serve` runs one, says what to type, shows a live line and ends with the referee's findings;
//! `check` holds the `urls.jsonl` of a crawl against the oracle. stdout is data, stderr is talk.

mod check;
mod flags;
mod live;
mod place;
mod serve;

use std::process::ExitCode;

use clap::Parser as _;

use flags::{Command, Verb};

fn main() -> ExitCode {
    let ended = match Command::parse().verb {
        Verb::Serve(arguments) => serve::run(&arguments),
        Verb::Check(arguments) => check::run(&arguments),
    };
    match ended {
        Ok(code) => code,
        Err(error) => {
            eprintln!("terrarium: {error}");
            ExitCode::from(3)
        }
    }
}
