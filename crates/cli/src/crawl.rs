//! The verb `crawl`: a crawl between its first line and its exit code.
//!
//! Owns the order of things around a crawl: notes, signals, progress, report, exit code. It
//! refuses to know how a crawl works; `drive` is the only place that calls the library.

use std::io::{self, BufWriter, IsTerminal, Write, stdout};
use std::time::Duration;

use clewline::config::Config;

use crate::exit::ExitStatus;
use crate::message::Speaker;
use crate::progress::{Board, Progress};
use crate::resolve::{FailOn, Options, Resolved, Talk};
use crate::stop::Stop;

/// How long requests in flight may take to finish once a stop is asked for.
pub(crate) const GRACE: Duration = Duration::from_secs(10);

/// How a crawl ended, as far as the exit code and the report go.
pub(crate) struct Summary {
    pub(crate) ended: Ended,
    /// URLs that answered with an error and are linked to.
    pub(crate) broken: u64,
    /// URLs that could not be fetched.
    pub(crate) failed: u64,
    /// Writes the report to stdout.
    pub(crate) report: WriteReport,
}

/// A report that waits for its paper; a list of millions of URLs never stands in memory.
pub(crate) type WriteReport = Box<dyn FnOnce(&mut dyn Write, Look) -> io::Result<()>>;

/// Why a crawl ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Nothing was left, or a budget was spent.
    Finished,
    /// The user stopped it.
    Interrupted,
    /// It could not go on: what is wrong, and what may help.
    Stuck { reason: String, hints: Vec<String> },
}

/// How the report is to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) options: Options,
    pub(crate) in_colour: bool,
    pub(crate) width: usize,
}

/// What the crawl and the command share while it runs.
pub(crate) struct Watch<'a> {
    /// Where snapshots for the progress go.
    pub(crate) board: Board,
    /// Whether to stop handing out; then finish within [`GRACE`].
    pub(crate) stop: Stop,
    /// Prints lines while the crawl runs.
    pub(crate) progress: &'a Progress,
}

/// Crawls, reports, and says how it ended.
pub(crate) fn crawl(resolved: Resolved) -> anyhow::Result<ExitStatus> {
    let Resolved {
        config,
        options,
        notes,
        ..
    } = resolved;
    let speaker = Speaker::new(options.colour);
    if options.talk != Talk::Quiet {
        for note in &notes {
            speaker.note(note);
        }
    }
    let board = Board::default();
    let progress = Progress::start(&board, options);
    let voice = progress.voice();
    let stop = Stop::listen(move || voice.say(&stopping()))?;
    let watch = Watch {
        board,
        stop,
        progress: &progress,
    };
    let summary = drive(config, options, watch);
    progress.finish();
    let summary = summary?;
    let status = exit_status(&summary, options.fail_on);
    let Summary { ended, report, .. } = summary;
    print(report, options)?;
    if let Ended::Stuck { reason, hints } = ended {
        speaker.error(&anyhow::Error::msg(reason), &hints);
    }
    Ok(status)
}

fn stopping() -> String {
    let grace = GRACE.as_secs();
    format!("stopping: up to {grace}s for what is in flight; Ctrl-C again ends at once")
}

/// Calls the library.
fn drive(config: Config, options: Options, watch: Watch<'_>) -> anyhow::Result<Summary> {
    let _ = (config, options, watch);
    anyhow::bail!("the crawl is not joined to the command yet")
}

fn print(report: WriteReport, options: Options) -> io::Result<()> {
    let out = stdout();
    let width = terminal_size::terminal_size_of(&out).map_or(80, |(width, _)| width.0);
    let look = Look {
        options,
        in_colour: options.colour.decide(out.is_terminal()),
        width: usize::from(width),
    };
    let mut out = BufWriter::new(out.lock());
    report(&mut out, look)?;
    out.flush()
}

fn exit_status(summary: &Summary, fail_on: Option<FailOn>) -> ExitStatus {
    let is_met = match fail_on {
        Some(FailOn::Broken) => summary.broken > 0,
        Some(FailOn::Error) => summary.failed > 0,
        Some(FailOn::Any) => summary.broken > 0 || summary.failed > 0,
        None => false,
    };
    match summary.ended {
        Ended::Stuck { .. } => ExitStatus::Stuck,
        Ended::Interrupted => ExitStatus::Interrupted,
        Ended::Finished if is_met => ExitStatus::Threshold,
        Ended::Finished => ExitStatus::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes() {
        let check = |ended: Ended, counts: (u64, u64), fail_on, expected| {
            let summary = Summary {
                ended,
                broken: counts.0,
                failed: counts.1,
                report: Box::new(|_, _| Ok(())),
            };
            assert_eq!(
                exit_status(&summary, fail_on),
                expected,
                "{counts:?} {fail_on:?}"
            );
        };
        let stuck = || Ended::Stuck {
            reason: String::new(),
            hints: Vec::new(),
        };
        check(Ended::Finished, (1, 1), None, ExitStatus::Done);
        check(
            Ended::Finished,
            (1, 0),
            Some(FailOn::Broken),
            ExitStatus::Threshold,
        );
        check(
            Ended::Finished,
            (0, 1),
            Some(FailOn::Broken),
            ExitStatus::Done,
        );
        check(
            Ended::Finished,
            (0, 1),
            Some(FailOn::Error),
            ExitStatus::Threshold,
        );
        check(
            Ended::Finished,
            (1, 0),
            Some(FailOn::Error),
            ExitStatus::Done,
        );
        check(
            Ended::Finished,
            (1, 0),
            Some(FailOn::Any),
            ExitStatus::Threshold,
        );
        check(Ended::Finished, (0, 0), Some(FailOn::Any), ExitStatus::Done);
        check(
            Ended::Interrupted,
            (1, 1),
            Some(FailOn::Any),
            ExitStatus::Interrupted,
        );
        check(stuck(), (1, 1), Some(FailOn::Any), ExitStatus::Stuck);
    }
}
