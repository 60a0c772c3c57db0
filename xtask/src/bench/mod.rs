//! `cargo xtask bench`: how fast the crawl is, against what, and where its time goes.
//!
//! Owns the harness: it builds the programs, starts the servers on a core of their own, runs
//! the contestants in turn on another, and writes what came out. It refuses to know how any of
//! them works: every contestant is a command whose time, memory and requests are taken from
//! outside. Invariant: no figure is printed whose runs were not all made by this harness.

mod arena;
pub(crate) mod ground;
mod instructions;
pub(crate) mod machine;
pub(crate) mod measure;
mod options;
mod profile;
mod race;
mod result;
mod rivals;

use anyhow::Result;

use crate::stage::{Counts, Ending, say};
use crate::{Workspace, skipped};
use ground::Ground;
use options::{Mode, Options};

/// Whether no hot path takes clearly more instructions than it did, as a stage of the tests.
pub(crate) fn check_instructions(workspace: &Workspace) -> Result<Ending> {
    if let Err(error) = instructions::tools() {
        return Ok(skipped(&error));
    }
    let words = ["--instructions".to_owned()];
    run(workspace, &words)?;
    Ok(Ending::Ran(Counts::PASSED))
}

/// Runs the verb with the words after `bench`.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    let options = Options::parse(words)?;
    let ground = Ground::prepare(workspace.clone(), &options)?;
    match &options.mode {
        Mode::Help => {
            say(options::HELP);
            Ok(())
        }
        Mode::Instructions(purpose) => instructions::run(&ground, *purpose),
        Mode::Profile => profile::run(&ground, &options),
        Mode::InstallRivals => rivals::install(&ground),
        Mode::Race => race::run(&ground, &options),
    }
}
