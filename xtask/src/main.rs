//! The project's own commands: `cargo xtask bench`.

mod bench;

use std::process::ExitCode;

use anyhow::{Result, bail};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[String]) -> Result<()> {
    match words.split_first() {
        Some((verb, rest)) if verb == "bench" => bench::run(rest),
        _ => bail!("usage: cargo xtask bench [--help]"),
    }
}
