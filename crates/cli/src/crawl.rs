//! The verb `crawl`: a crawl between its first line and its exit code.
//!
//! Owns the order of things around a crawl: notes, signals, progress, report, exit code. It
//! refuses to know how a crawl works.

use std::io::{self, BufWriter, IsTerminal, Write, stdout};

use clewline::log::{records, urls};
use clewline::report::{self, Report, StoppedBy, Style, json, list};
use clewline::{Crawl, CrawlError, FolderError, GRACE};

use crate::exit::ExitStatus;
use crate::message::Speaker;
use crate::progress::{Board, Progress};
use crate::resolve::{FailOn, Format, Options, Resolved, Talk};
use crate::stop;
use crate::teller::Teller;

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
    pub(crate) in_colour: bool,
    pub(crate) width: usize,
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
    let speed_named = config.politeness.speed.is_some();
    let teller = Teller::new(board, progress.voice(), options.talk, speed_named);
    let running = match Crawl::from_config(config)
        .observe(move |event| teller.tell(&event))
        .run()
    {
        Ok(running) => running,
        Err(error) => {
            progress.finish();
            return Ok(refuse(error, &speaker));
        }
    };
    let control = running.control();
    let voice = progress.voice();
    stop::listen(move || {
        voice.say("stopping: what is in flight may finish; once more to stop at once");
        control.stop(GRACE);
    })?;
    let ended = running.wait();
    progress.finish();
    let summary = summary(ended?, options);
    let status = exit_status(&summary, options.fail_on);
    let Summary { ended, report, .. } = summary;
    print(report, options)?;
    if let Ended::Stuck { reason, hints } = ended {
        speaker.error(&anyhow::Error::msg(reason), &hints);
    }
    Ok(status)
}

/// A crawl that could not start: what is wrong, and what to do.
fn refuse(error: CrawlError, speaker: &Speaker) -> ExitStatus {
    let (status, hint) = match &error {
        CrawlError::Folder(FolderError::Finished(_)) => (
            ExitStatus::Usage,
            Some("name another folder with --output, or replace it with --overwrite"),
        ),
        CrawlError::Folder(FolderError::Unfinished(_)) => (
            ExitStatus::Usage,
            Some("start afresh with --overwrite, or name another folder with --output"),
        ),
        CrawlError::Folder(FolderError::Foreign(_)) => {
            (ExitStatus::Usage, Some("name another folder with --output"))
        }
        CrawlError::Folder(_) | CrawlError::Engine(_) => (ExitStatus::Stuck, None),
        _ => (ExitStatus::Usage, None),
    };
    let hints: Vec<String> = hint.into_iter().map(str::to_owned).collect();
    speaker.error(&anyhow::Error::new(error), &hints);
    status
}

fn summary(ended: clewline::Summary, options: Options) -> Summary {
    let clewline::Summary {
        report,
        failed_roots,
        error,
    } = ended;
    let ended = match (&report.facts.stopped_by, failed_roots.first(), error) {
        (_, _, Some(error)) => Ended::Stuck {
            reason: error.to_string(),
            hints: vec!["what was written until then is whole and can be read".to_owned()],
        },
        (StoppedBy::Interrupted, ..) => Ended::Interrupted,
        (_, Some((url, why)), _) => Ended::Stuck {
            reason: format!("no page could be reached: {url}: {why}"),
            hints: vec![format!("clewline inspect {url} shows each step")],
        },
        _ => Ended::Finished,
    };
    Summary {
        ended,
        broken: report.tally.broken,
        failed: report.tally.outcomes.failed,
        report: Box::new(move |out, look| write_report(&report, options, out, look)),
    }
}

fn write_report(
    report: &Report,
    options: Options,
    out: &mut dyn Write,
    look: Look,
) -> io::Result<()> {
    if options.list {
        let folder = report.facts.folder.as_deref();
        let records = folder
            .map(|folder| records(&folder.join(urls::FILE)))
            .transpose()?;
        return list(records.into_iter().flatten(), &report.facts, out);
    }
    let mut text = String::new();
    match options.format {
        Format::Json => text = json(report)? + "\n",
        Format::Text => {
            let style = Style {
                colour: look.in_colour,
                width: look.width,
            };
            report::text(report, &mut text, style).map_err(io::Error::other)?;
        }
    }
    out.write_all(text.as_bytes())
}

fn print(report: WriteReport, options: Options) -> io::Result<()> {
    let out = stdout();
    let width = terminal_size::terminal_size_of(&out).map_or(80, |(width, _)| width.0);
    let look = Look {
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
