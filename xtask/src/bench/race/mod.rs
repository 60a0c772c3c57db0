//! Races: contestants on an arena, in turn, and what they took.

mod archive;
pub(crate) mod checks;
pub(crate) mod contestant;
mod detection;
mod docs;
mod flight;
mod growth;
mod internet;
pub(crate) mod round;
mod schedule;

use anyhow::Result;

use super::ground::Ground;
use super::options::Options;
use super::result;
use checks::Check;
use round::Row;

/// What came out of everything.
pub(crate) struct Results {
    pub(crate) rows: Vec<Row>,
    pub(crate) checks: Vec<Check>,
}

/// Races on every site that is wanted, prints the figures and keeps them.
pub(crate) fn run(ground: &Ground, options: &Options) -> Result<()> {
    ground.build(&["clewline-cli", "bench-client"])?;
    Ground::keep_to_own_core()?;
    let mut rows = Vec::new();
    rows.extend(docs::race(ground, options)?);
    rows.extend(internet::race(ground, options)?);
    let mut checks = archive::checks(&rows);
    checks.extend(detection::check(&rows));
    checks.extend(schedule::checks(&rows));
    checks.extend(growth::of_rows(&rows));
    checks.extend(checks::run(ground, options)?);
    result::publish(ground, options, &Results { rows, checks })
}
