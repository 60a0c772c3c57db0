//! A rung from outside: read the flags, crawl, report.
//!
//! Owns the frame that is the same for all rungs, the exit code included.

use std::io;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use clap::Parser as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::crawl::Crawl;
use crate::options::Options;
use crate::report::Report;

/// Runs a rung that takes a crawl and gives it back when there is nothing left to fetch.
pub fn climb(
    default_tasks: usize,
    rung: impl FnOnce(Crawl, &Options) -> io::Result<Crawl>,
) -> ExitCode {
    let Some(options) = prepare(default_tasks) else {
        return ExitCode::SUCCESS;
    };
    let crawled = Crawl::new(&options)
        .map_err(io::Error::other)
        .and_then(|crawl| rung(crawl, &options));
    let concluded = crawled.and_then(|crawl| {
        let report = Report::new(options.tasks(), crawl.into_parts());
        conclude(&report, &options, &AtomicBool::new(false))
    });
    match concluded {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            options.error(&error.to_string());
            ExitCode::from(2)
        }
    }
}

/// Reads the flags and allows as many open files as the system grants. `None`: there is nothing
/// to crawl, and the hint was given.
pub fn prepare(default_tasks: usize) -> Option<Options> {
    let mut options = Options::parse();
    options.max_tasks.get_or_insert(default_tasks);
    if options.roots.is_empty() {
        eprintln!("Use --help for command line help");
        return None;
    }
    let limits = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limits.maximum,
        maximum: limits.maximum,
    };
    // Without it fewer sockets can be held, which the report shows.
    let _ = setrlimit(Resource::Nofile, raised);
    Some(options)
}

/// Prints the report and writes the list, if one is asked for.
pub fn conclude(report: &Report, options: &Options, hurry: &AtomicBool) -> io::Result<()> {
    use io::Write as _;

    if let Some(path) = &options.urls {
        let because = |error| io::Error::other(format!("{}: {error}", path.display()));
        report.write_urls(path).map_err(because)?;
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    if options.json {
        writeln!(out, "{}", report.json())?;
    } else {
        report.write(&mut out, hurry)?;
    }
    out.flush()
}
