//! Stages: named, timed, counted, summed up.
//!
//! Owns the order of events around a stage and the summary. It refuses to know what a stage
//! does. Invariant: the last line is `N passed, N failed`, with `, N skipped` if there are any.

use std::fmt;
use std::ops::AddAssign;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::Workspace;

/// One step of a verb.
pub(crate) struct Stage {
    pub(crate) name: &'static str,
    about: &'static str,
    run: fn(&Workspace) -> Result<Ending>,
    vital: bool,
}

impl Stage {
    pub(crate) const fn new(
        name: &'static str,
        about: &'static str,
        run: fn(&Workspace) -> Result<Ending>,
    ) -> Self {
        Self {
            name,
            about,
            run,
            vital: false,
        }
    }

    /// A stage without which the following ones make no sense.
    pub(crate) const fn vital(
        name: &'static str,
        about: &'static str,
        run: fn(&Workspace) -> Result<Ending>,
    ) -> Self {
        Self {
            vital: true,
            ..Self::new(name, about, run)
        }
    }
}

/// How a stage ended, if nothing stopped it.
pub(crate) enum Ending {
    Ran(Counts),
    /// Why it could not run.
    Skipped(String),
}

/// Tests by their result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Counts {
    /// One check that passed.
    pub(crate) const PASSED: Self = Self {
        passed: 1,
        failed: 0,
        skipped: 0,
    };
    /// One check that failed.
    pub(crate) const FAILED: Self = Self {
        passed: 0,
        failed: 1,
        skipped: 0,
    };
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed", self.passed, self.failed)?;
        match self.skipped {
            0 => Ok(()),
            skipped => write!(formatter, ", {skipped} skipped"),
        }
    }
}

/// What the summary says of a stage.
struct Row {
    name: &'static str,
    counts: Counts,
    time: Duration,
    remark: Option<String>,
}

/// Runs the stages and sums them up; whether all went well.
pub(crate) fn run_all(workspace: &Workspace, stages: &[Stage], notes: &[String]) -> bool {
    let began = Instant::now();
    let mut rows = Vec::new();
    let mut dead = None;
    for stage in stages {
        let row = match dead {
            None => run(workspace, stage),
            Some(vital) => Row {
                name: stage.name,
                counts: Counts::FAILED,
                time: Duration::ZERO,
                remark: Some(format!("not run: {vital} failed")),
            },
        };
        if stage.vital && row.counts.failed > 0 {
            dead = Some(stage.name);
        }
        rows.push(row);
    }
    summary(&rows, notes, began.elapsed())
}

fn run(workspace: &Workspace, stage: &Stage) -> Row {
    say(&format!("\n== {}: {}", stage.name, stage.about));
    let began = Instant::now();
    let (counts, remark) = match (stage.run)(workspace) {
        Ok(Ending::Ran(counts)) => (counts, None),
        Ok(Ending::Skipped(why)) => (skip(in_ci()), Some(format!("SKIPPED: {why}"))),
        Err(error) => (Counts::FAILED, Some(format!("{error:#}"))),
    };
    if let Some(remark) = &remark {
        say(&format!("{}: {remark}", stage.name));
    }
    Row {
        name: stage.name,
        counts,
        time: began.elapsed(),
        remark,
    }
}

/// On a desk a missing tool is a gap that is told; in CI nobody would read it.
pub(crate) fn skip(in_ci: bool) -> Counts {
    if in_ci {
        Counts::FAILED
    } else {
        Counts {
            skipped: 1,
            ..Counts::default()
        }
    }
}

pub(crate) fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

fn summary(rows: &[Row], notes: &[String], whole: Duration) -> bool {
    let mut total = Counts::default();
    say("\n== summary");
    for row in rows {
        total += row.counts;
        let verdict = match row.counts {
            Counts { failed: 1.., .. } => "FAILED",
            Counts { passed: 0, .. } => "skipped",
            _ => "ok",
        };
        let remark = row.remark.as_deref().unwrap_or_default();
        let remark = remark.lines().next().unwrap_or_default();
        let line = format!(
            "{:<14} {verdict:<8} {:>7.1} s  {:<36} {remark}",
            row.name,
            row.time.as_secs_f64(),
            row.counts.to_string(),
        );
        say(line.trim_end());
    }
    say(&format!("{:<23} {:>7.1} s", "all", whole.as_secs_f64()));
    for note in notes {
        say(note);
    }
    say(&total.to_string());
    total.failed == 0
}

/// Writes a line of our own.
#[expect(
    clippy::print_stdout,
    reason = "the summary is what these commands are run for"
)]
pub(crate) fn say(line: &str) {
    println!("{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> Workspace {
        Workspace {
            root: "root".into(),
            target: "target".into(),
        }
    }

    const GOOD: Stage = Stage::new("good", "", |_| Ok(Ending::Ran(Counts::PASSED)));
    const BAD: Stage = Stage::vital("bad", "", |_| anyhow::bail!("no"));

    #[test]
    fn a_failure_fails_the_run() {
        assert!(run_all(&workspace(), &[GOOD, GOOD], &[]));
        assert!(!run_all(&workspace(), &[GOOD, BAD], &[]));
    }

    #[test]
    fn nothing_runs_after_a_vital_failure() {
        const UNREACHABLE: Stage = Stage::new("unreachable", "", |_| panic!("it was run"));
        assert!(!run_all(&workspace(), &[BAD, UNREACHABLE], &[]));
    }

    #[test]
    fn a_skipped_stage_fails_in_ci_only() {
        assert_eq!(skip(true), Counts::FAILED);
        assert_eq!(skip(false).to_string(), "0 passed, 0 failed, 1 skipped");
    }
}
