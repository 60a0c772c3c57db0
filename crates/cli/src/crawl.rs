//! The verb `crawl`: a crawl between its first line and its exit code.
//!
//! Owns the order of things around a crawl: notes, signals, progress, report, exit code. It
//! refuses to know how a crawl works.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use clewline::{Crawl, CrawlError, EngineError, Running, Summary};
use clewline_job::config::{Config, OutputConfig};
use clewline_job::report::StoppedBy;
use clewline_serve::Dashboard;

use crate::Failure;
use crate::advice;
use crate::event_printer::EventPrinter;
use crate::exit::ExitStatus;
use crate::feeder::Feeder;
use crate::fleet::FleetDoor;
use crate::message::{Speaker, shown};
use crate::paper::{self, Gathered};
use crate::progress::{LatestSnapshot, ProgressDisplay};
use crate::resolve::{CommandOptions, FailOn, ResolvedSettings, Talk};
use crate::serve::dashboard::{DashboardFlags, open_browser};
use crate::stop::Stop;
use crate::stream::RecordStream;
use crate::views;

/// The report in a job folder.
const REPORT: &str = "report.html";

/// Crawls, reports, and says how it ended.
pub(crate) fn crawl(
    resolved: ResolvedSettings,
    door: Option<&FleetDoor>,
    dashboard: &DashboardFlags,
) -> Result<ExitStatus, Failure> {
    let ResolvedSettings {
        mut config,
        options,
        notes,
        ..
    } = resolved;
    anchor(&mut config)?;
    let speaker = Speaker::new(options.colour);
    if options.talk != Talk::Quiet {
        for note in &notes {
            speaker.note(note);
        }
    }
    let kept = Gathered::for_list(options, &config);
    let stream = RecordStream::for_options(options);
    let output = config.output.clone();
    let watched = watched(&config, options, (&kept, &stream), door, dashboard)?;
    match (watched, door) {
        (Ok((ended, _)), Some(door)) => {
            upload_end(door, &ended, &speaker);
            Ok(finish(&ended, options, kept, &speaker)?)
        }
        (Ok((mut ended, feeder)), None) => {
            let empty = ended.empty_folder.take();
            // A list is read from the folder; whatever else is printed need not name it.
            if options.is_fleeting || empty.is_some() && !options.list {
                ended.report.facts.folder = None;
            }
            let status = finish(&ended, options, kept, &speaker)?;
            let was_closed = stream
                .was_closed()
                .context("the records cannot be printed")?;
            let status = if was_closed && status == ExitStatus::Interrupted {
                ExitStatus::Done
            } else {
                status
            };
            let fed = feeder.and_then(Feeder::finish);
            if let Some(empty) = empty {
                empty.remove()?;
                return Ok(status);
            }
            let status = with_views(status, &ended, &output, options);
            if let Some(error) = fed.filter(|_| options.talk != Talk::Quiet) {
                speaker.note(&shown(&format!(
                    "the index did not grow with the crawl: {error:#}"
                )));
            }
            if let Some(folder) = &ended.report.facts.folder {
                show(folder, options, dashboard, &speaker);
            }
            Ok(status)
        }
        (Err(error), _) => {
            let (status, hints) = advice::on_refusal(&error);
            speaker.error(&anyhow::Error::new(error), &hints);
            Ok(status)
        }
    }
}

/// Opens the report, or says how a crawl is opened, where somebody sits in front of it.
fn show(folder: &Path, options: CommandOptions, dashboard: &DashboardFlags, speaker: &Speaker) {
    let report = folder.join(REPORT);
    if dashboard.open && !dashboard.dashboard && report.is_file() {
        // A browser may start in another folder.
        let whole = std::path::absolute(&report).unwrap_or(report);
        open_browser(&whole.to_string_lossy(), speaker);
    } else if options.talk == Talk::Normal && io::stderr().is_terminal() {
        let name = folder.to_string_lossy();
        let note = format!("`clewline serve {name}` shows it in a browser");
        speaker.note(&shown(&note));
    }
}

/// A merge that has who held which shard needs no database; it can do with one, too.
fn upload_end(door: &FleetDoor, ended: &Summary, speaker: &Speaker) {
    let folder = ended.report.facts.folder.as_deref();
    if let Some(Err(error)) = folder.map(|folder| door.upload_end(folder)) {
        let note = format!("who held which shard is not uploaded: {error:#}");
        speaker.note(&shown(&note));
    }
}

/// Crawls for another verb, which says what came of it; the exit code if nothing can be said.
pub(crate) fn for_verb(resolved: ResolvedSettings) -> Result<Result<Summary, ExitStatus>, Failure> {
    let ResolvedSettings {
        mut config,
        options,
        ..
    } = resolved;
    anchor(&mut config)?;
    let speaker = Speaker::new(options.colour);
    let kept = Gathered::for_list(options, &config);
    let stream = RecordStream::for_options(options);
    let alone = DashboardFlags::default();
    match watched(&config, options, (&kept, &stream), None, &alone)? {
        Ok((ended, _)) => Ok(match conclude(&ended, options, &speaker) {
            ExitStatus::Done | ExitStatus::Threshold => Ok(ended),
            status => Err(status),
        }),
        Err(error) => {
            let (status, hints) = advice::on_refusal(&error);
            speaker.error(&anyhow::Error::new(error), &hints);
            Ok(Err(status))
        }
    }
}

/// Files are named from where the command was given; another run may begin elsewhere.
fn anchor(config: &mut Config) -> io::Result<()> {
    let fetch = &mut config.fetch;
    for path in [&mut fetch.cacert, &mut fetch.cookie_file]
        .into_iter()
        .flatten()
    {
        *path = std::path::absolute(&*path)?;
    }
    Ok(())
}

/// How a crawl ended, and who still feeds a view of it.
type Watched = (Summary, Option<Feeder>);

/// Runs the crawl to its end, with progress on stderr and an ear for signals.
fn watched(
    config: &Config,
    options: CommandOptions,
    (kept, stream): (&Gathered, &RecordStream),
    door: Option<&FleetDoor>,
    dashboard: &DashboardFlags,
) -> Result<Result<Watched, CrawlError>, Failure> {
    // It ends with the crawl.
    let shown_board = dashboard.start(config.output.folder.as_deref())?;
    let address = shown_board.as_ref().map(Dashboard::address);
    let stop = Stop::prepare()?;
    let board = LatestSnapshot::default();
    let progress = ProgressDisplay::start(&board, options);
    let output = config.output.clone();
    let begin = || -> Result<Result<Running, CrawlError>, Failure> {
        let (board, voice) = (board.clone(), progress.voice());
        let mut event_printer = EventPrinter::new(board, voice, options.talk, config);
        let (kept, lines) = (kept.clone(), stream.clone());
        let mut crawl = Crawl::from_config(config.clone()).observe(move |event| {
            kept.take(&event);
            lines.take(&event);
            event_printer.tell(&event);
        });
        if let Some(door) = door {
            crawl = crawl.fleet(door.place()?);
        }
        let running = crawl.run();
        if let Ok(running) = &running {
            stream.steer(running.control());
        }
        Ok(running)
    };
    let mut running = match begin()? {
        Ok(running) => running,
        Err(error) => return Ok(Err(error)),
    };
    if let Some(address) = address {
        let page = format!("http://{address}/");
        progress.voice().say(&format!("dashboard: {page}"));
        if dashboard.open {
            open_browser(&page, &Speaker::new(options.colour));
        }
    }
    let feeder = views::feeder(&output).filter(|_| door.is_none());
    let current = Arc::new(Mutex::new(Some(running.control())));
    let (stopped, voice) = (Arc::clone(&current), progress.voice());
    stop.listen(move || {
        voice.say(&stopping());
        // Taken, so that nobody joins again after that.
        let control = stopped
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(control) = control {
            control.stop(Crawl::GRACE);
        }
    })?;
    let ended = loop {
        let ended = running.wait();
        // A worker that its fleet took for dead, or whose database went back in time, knows nothing
        // that counts; it begins anew as another one.
        let (true, Ok(Some(EngineError::Fleet(why)))) =
            (door.is_some(), ended.as_ref().map(|ended| &ended.error))
        else {
            break ended;
        };
        let mut control = current.lock().unwrap_or_else(PoisonError::into_inner);
        if control.is_none() {
            break ended;
        }
        progress
            .voice()
            .say(&format!("{}; joining again", shown(why)));
        running = match begin()? {
            Ok(running) => running,
            Err(error) => break Err(error),
        };
        *control = Some(running.control());
    };
    progress.finish();
    Ok(ended.map(|ended| (ended, feeder)))
}

/// Prints what came of it.
fn finish(
    ended: &Summary,
    options: CommandOptions,
    kept: Gathered,
    speaker: &Speaker,
) -> anyhow::Result<ExitStatus> {
    let printed = print(ended, options, kept);
    if options.talk != Talk::Quiet
        && let Some(note) = advice::on_early_end(&ended.report)
    {
        speaker.note(&note);
    }
    if options.talk != Talk::Quiet
        && let Some(note) = advice::on_empty_root(&ended.report)
    {
        speaker.note(&note);
    }
    // Why the crawl failed comes before why its report did: the one may follow from the other.
    let status = conclude(ended, options, speaker);
    printed.context("the report cannot be printed")?;
    Ok(status)
}

/// Makes the views of what there is, also of a crawl that was stopped; `resume` goes on with it.
fn with_views(
    status: ExitStatus,
    ended: &Summary,
    output: &OutputConfig,
    options: CommandOptions,
) -> ExitStatus {
    let Some(folder) = &ended.report.facts.folder else {
        return status;
    };
    // A disk that is full has no room for views either.
    if ended.error.is_some() {
        return status;
    }
    match views::update(folder, output, options) {
        ExitStatus::Done => status,
        failed => failed,
    }
}

fn stopping() -> String {
    format!(
        "stopping: what is in flight may finish, within {} s; once more to stop at once",
        Crawl::GRACE.as_secs()
    )
}

/// Whoever closed the pipe has read enough; what the crawl came to counts all the same.
fn print(ended: &Summary, options: CommandOptions, kept: Gathered) -> io::Result<()> {
    if options.stream.is_some() {
        return Ok(());
    }
    match paper::print(&ended.report, options, kept) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Says why the crawl could not do its work, if it could not, and how the command ends.
fn conclude(ended: &Summary, options: CommandOptions, speaker: &Speaker) -> ExitStatus {
    let report = &ended.report;
    let interrupted = report.facts.stopped_by == StoppedBy::Interrupted;
    if let Some(error) = &ended.error {
        let hints = advice::on_error(error, report);
        speaker.error(&anyhow::Error::msg(error.to_string()), &hints);
        return ExitStatus::Stuck;
    }
    let unreached = advice::on_unreached(&ended.failed_roots, report);
    if let Some((reason, hints)) = unreached.filter(|_| !interrupted) {
        speaker.error(&anyhow::Error::msg(reason), &hints);
        return ExitStatus::Stuck;
    }
    let counts = (report.tally.broken, report.tally.outcomes.failed);
    if interrupted {
        ExitStatus::Interrupted
    } else if is_met(options.fail_on, counts) {
        ExitStatus::Threshold
    } else {
        ExitStatus::Done
    }
}

/// Whether what `--fail-on` names occurred.
fn is_met(fail_on: Option<FailOn>, (broken, failed): (u64, u64)) -> bool {
    match fail_on {
        Some(FailOn::Broken) => broken > 0,
        Some(FailOn::Failed) => failed > 0,
        Some(FailOn::Any) => broken > 0 || failed > 0,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds() {
        for (fail_on, counts, expected) in [
            (None, (1, 1), false),
            (Some(FailOn::Broken), (1, 0), true),
            (Some(FailOn::Broken), (0, 1), false),
            (Some(FailOn::Failed), (0, 1), true),
            (Some(FailOn::Failed), (1, 0), false),
            (Some(FailOn::Any), (1, 0), true),
            (Some(FailOn::Any), (0, 1), true),
            (Some(FailOn::Any), (0, 0), false),
        ] {
            assert_eq!(is_met(fail_on, counts), expected, "{fail_on:?} {counts:?}");
        }
    }
}
