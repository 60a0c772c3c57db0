//! The command `clewline`, as a library.
//!
//! Owns the way from the command line to an exit code. stdout is data, stderr is talk. The program
//! `clewline` and the command in the Python package both call [`run_command`]; [`keywords`] offers the
//! settings of a crawl to other languages. It refuses to know who calls.

mod advice;
mod browser_page;
mod check;
mod crawl;
mod demo;
mod diff;
mod event_printer;
mod exit;
mod export;
mod feeder;
mod flags;
mod fleet;
mod inspect;
mod job;
pub mod keywords;
mod manual;
mod mcp;
mod message;
mod nearest;
mod paper;
mod progress;
mod resolve;
mod search;
mod serve;
mod settings;
mod shell;
mod stop;
mod stream;
mod views;
mod warc;

use std::ffi::OsString;
use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use clewline::JobError;

use crate::exit::ExitStatus;
use crate::flags::{CrawlArguments, InspectArguments, SettingSources, Verb};
use crate::fleet::FleetDoor;
use crate::message::{Colour, LogForm, Speaker, choose_log_form};
use crate::resolve::{Environment, ResolvedSettings, resolve};
use crate::settings::binding::SettingValue;
use crate::settings::file::{self, FILE_VARIABLE, FileSettings};
use crate::settings::layer::{Layer, SettingOrigin};
use crate::settings::problem::Problem;
use crate::settings::{reference, show};

/// What the command was called with, without its own name: hints repeat it.
static ARGUMENTS: OnceLock<Vec<OsString>> = OnceLock::new();

/// Runs the command and answers with its exit code. The first argument is the name of the program.
pub fn run_command(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let given = arguments.iter().skip(1).cloned().collect();
    ARGUMENTS.set(given).ok();
    command(arguments).code()
}

fn command(arguments: Vec<OsString>) -> ExitStatus {
    if arguments.len() <= 1 {
        return end(write_out(flags::SHORT_HELP), Colour::Auto);
    }
    match flags::parse(arguments.into_iter()) {
        Ok(cli) => {
            let verb = cli.verb.unwrap_or_else(|| Verb::Crawl(Box::new(cli.crawl)));
            let colour = colour_of(&verb);
            if flag_of(&verb, "log-format").as_deref() == Some("json") {
                choose_log_form(LogForm::Json);
            }
            end(run(verb), colour)
        }
        Err(error) => {
            let is_answer = !error.use_stderr();
            // The parser answers --help and --version this way, too.
            let printed = error.print();
            let status = if is_answer {
                ExitStatus::Done
            } else {
                ExitStatus::Usage
            };
            printed.map_or(ExitStatus::Done, |()| status)
        }
    }
}

/// Errors are told in the colour the flags want, even before the settings are read.
fn colour_of(verb: &Verb) -> Colour {
    match flag_of(verb, "color").as_deref() {
        Some("always") => Colour::Always,
        Some("never") => Colour::Never,
        _ => Colour::Auto,
    }
}

/// What a flag says, before the settings are read.
fn flag_of(verb: &Verb, name: &str) -> Option<String> {
    let flags = match verb {
        Verb::Crawl(arguments) => &arguments.settings.0,
        Verb::Inspect(arguments) => &arguments.settings.0,
        Verb::Resume(arguments) => &arguments.settings.0,
        Verb::Check(arguments) => &arguments.settings.0,
        _ => return None,
    };
    flags.texts(name).first().cloned()
}

/// Why a verb did not begin or did not end well.
enum Failure {
    Usage(Vec<Problem>),
    Job(JobError),
    Stuck(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Stuck(error.into())
    }
}

fn run(verb: Verb) -> Result<ExitStatus, Failure> {
    match verb {
        Verb::Crawl(arguments) => run_crawl(*arguments),
        Verb::Inspect(arguments) => run_inspect(*arguments),
        Verb::Check(arguments) => check::check(&arguments),
        Verb::Resume(arguments) => job::resume::resume(*arguments),
        Verb::Status(arguments) => job::status::status(&arguments),
        Verb::Why(arguments) => job::why::why(&arguments),
        Verb::Ctl(arguments) => job::ctl::ctl(&arguments),
        Verb::Search(arguments) => search::search(&arguments),
        Verb::Index(arguments) => search::index(&arguments),
        Verb::Warc(arguments) => warc::warc(&arguments),
        Verb::Serve(arguments) => serve::serve(&arguments),
        Verb::Mcp(arguments) => mcp::mcp(&arguments),
        Verb::Export(arguments) => export::export(&arguments),
        Verb::Diff(arguments) => diff::diff(&arguments),
        Verb::Fleet(arguments) => fleet::fleet(arguments),
        Verb::Demo(arguments) => demo::demo(&arguments),
        Verb::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut flags::command(), "clewline", &mut text);
            write_out(&String::from_utf8_lossy(&text))
        }
        Verb::Reference => write_out(&reference::markdown()),
        Verb::Manual { dir } => Ok(manual::write(&dir)?),
    }
}

fn run_crawl(arguments: CrawlArguments) -> Result<ExitStatus, Failure> {
    if arguments.recursive {
        let problem = Problem::new("-r", "is not needed: clewline is always recursive");
        let hint = "leave it out; --depth N limits how far it goes";
        return Err(Failure::Usage(vec![problem.with_hint(hint)]));
    }
    let mut resolved = resolved(arguments.settings.0, &arguments.sources)?;
    if arguments.sources.show_config {
        return write_out(&show::show(&resolved));
    }
    resolved.config.scope.foreign_roots |= arguments.foreign_roots;
    if resolved.config.roots.is_empty() {
        let problem = Problem::new("URL", "is missing: nothing to crawl");
        let hint = "clewline example.com, or --input-file with one URL per line";
        return Err(Failure::Usage(vec![problem.with_hint(hint)]));
    }
    let door = FleetDoor::open(&arguments.fleet, &resolved)?;
    crawl::crawl(resolved, door.as_ref(), &arguments.dashboard)
}

fn run_inspect(arguments: InspectArguments) -> Result<ExitStatus, Failure> {
    let view = inspect::View::from_arguments(&arguments.content).map_err(|error| {
        let problem = Problem::new("--rules", format!("{error:#}"));
        Failure::Usage(vec![problem])
    })?;
    let path = Path::new(&arguments.url);
    if path.is_file() {
        return Ok(inspect::inspect_file(path, view.as_ref())?);
    }
    let mut flags = arguments.settings.0;
    let mut insert = |name, value| flags.insert(name, value, SettingOrigin::Flag);
    insert("url", SettingValue::Texts(vec![arguments.url]));
    insert("no-output", SettingValue::Switch(true));
    if let Some(format) = arguments.format {
        insert("format", SettingValue::Text(format));
    }
    let resolved = resolved(flags, &arguments.sources)?;
    if arguments.sources.show_config {
        return write_out(&show::show(&resolved));
    }
    let show = match view {
        Some(view) => inspect::Show::Content(view),
        None if arguments.body => inspect::Show::Body,
        None => inspect::Show::Explanation,
    };
    Ok(inspect::inspect(resolved, &show)?)
}

fn resolved(flags: Layer, sources: &SettingSources) -> Result<ResolvedSettings, Failure> {
    let (file, mut problems) = if sources.no_config {
        (FileSettings::default(), Vec::new())
    } else {
        file::load(named_file(sources))
    };
    match resolve(flags, file, &Environment::from_process()) {
        Ok(resolved) if problems.is_empty() => {
            choose_log_form(resolved.options.log_form);
            Ok(resolved)
        }
        Ok(_) => Err(Failure::Usage(problems)),
        Err(more) => {
            problems.extend(more);
            Err(Failure::Usage(problems))
        }
    }
}

/// The name and the text of the file that settings are read from, if there is one that can be read.
fn configuration_text(sources: &SettingSources) -> Option<(String, String)> {
    if sources.no_config {
        return None;
    }
    file::source(named_file(sources))
}

/// The file that a flag or the environment names.
fn named_file(sources: &SettingSources) -> Option<PathBuf> {
    let from_variable = || std::env::var_os(FILE_VARIABLE).filter(|path| !path.is_empty());
    let named = sources.config.clone();
    named.or_else(|| from_variable().map(PathBuf::from))
}

fn write_out(text: &str) -> Result<ExitStatus, Failure> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(ExitStatus::Done)
}

fn end(result: Result<ExitStatus, Failure>, colour: Colour) -> ExitStatus {
    let speaker = Speaker::new(colour);
    match result {
        Ok(status) => status,
        Err(Failure::Usage(problems)) => {
            speaker.problems(&problems);
            ExitStatus::Usage
        }
        Err(Failure::Job(error)) => job::tell(error, colour),
        // Whoever closed the pipe has read enough.
        Err(Failure::Stuck(error)) if is_broken_pipe(&error) => ExitStatus::Done,
        Err(Failure::Stuck(error)) => {
            speaker.error(&error, &[]);
            ExitStatus::Stuck
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    error
        .chain()
        .any(|cause| cause.downcast_ref::<io::Error>().is_some_and(kind))
}
