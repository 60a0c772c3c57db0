//! The report of a crawl on stdout.
//!
//! Owns which form is printed, how wide and in which colour, and where the list of URLs comes
//! from: from the job folder, or from memory where nothing is left on disk.

use std::io::{self, BufWriter, IsTerminal, Write, stdout};
use std::sync::{Arc, Mutex, PoisonError};

use clewline::Event;
use clewline_job::config::Config;
use clewline_job::log::{records, urls};
use clewline_job::record::Record;
use clewline_job::report::{Report, StoppedBy, TextStyle, json, list, text};

use crate::message::shown;
use crate::resolve::{CommandOptions, Format};
use crate::shell;

/// Columns where stdout is no terminal.
const USUAL_WIDTH: usize = 80;
/// Wider lines are hard to read.
const WIDEST: usize = 120;

/// Records that are kept for the list, where no folder keeps them. The list sorts all of them,
/// so it holds them in memory in any case.
#[derive(Clone, Default)]
pub(crate) struct Gathered(Option<Arc<Mutex<Vec<Record>>>>);

impl Gathered {
    /// Gathers only if there will be a list and no folder to read it from.
    pub(crate) fn for_list(options: CommandOptions, config: &Config) -> Self {
        let needed = options.list && config.output.folder.is_none();
        Self(needed.then(Arc::default))
    }

    /// Keeps a settled record.
    pub(crate) fn take(&self, event: &Event<'_>) {
        if let (Some(kept), Event::Settled(record)) = (&self.0, event) {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push((*record).clone());
        }
    }

    fn into_records(self) -> Vec<Record> {
        self.0.map_or_else(Vec::new, |kept| {
            std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }
}

/// Prints the report as the options want it.
pub(crate) fn print(
    report: &Report,
    options: CommandOptions,
    gathered: Gathered,
) -> io::Result<()> {
    let out = stdout();
    let width = terminal_size::terminal_size_of(&out)
        .map_or(USUAL_WIDTH, |(width, _)| usize::from(width.0));
    let style = TextStyle {
        colour: options.colour.decide(out.is_terminal()),
        width: width.min(WIDEST),
    };
    let mut out = BufWriter::new(out.lock());
    if options.list {
        print_list(report, gathered, &mut out)?;
    } else {
        let mut page = String::new();
        match options.format {
            Format::Json => page = json(report)? + "\n",
            Format::Text => {
                text(report, &mut page, style).map_err(io::Error::other)?;
                page.push_str(&next_steps(report));
            }
        }
        out.write_all(page.as_bytes())?;
    }
    out.flush()
}

/// The last lines of the report: where to read more, and what to type next.
fn next_steps(report: &Report) -> String {
    let Some(folder) = &report.facts.folder else {
        return String::new();
    };
    let mut lines = String::new();
    let page = folder.join("report.html");
    if page.is_file() {
        lines = format!("report     {}\n", shown(&page.to_string_lossy()));
    }
    let name = shell::quoted(&folder.to_string_lossy());
    let has_page = report.tally.statuses.keys().any(|status| *status < 300);
    let has_archive = folder.join("archive").is_dir();
    let step = match &report.facts.stopped_by {
        StoppedBy::Budget(_) | StoppedBy::Interrupted if report.facts.resumable => {
            format!("clewline resume {name}")
        }
        _ if has_page && has_archive => {
            format!("clewline serve {name}\n           clewline search {name} WORDS")
        }
        _ => return lines,
    };
    lines + &format!("next       {step}\n")
}

fn print_list(report: &Report, gathered: Gathered, out: &mut dyn Write) -> io::Result<()> {
    if let Some(folder) = &report.facts.folder {
        return list(records(&folder.join(urls::FILE))?, &report.facts, out);
    }
    let kept = gathered.into_records().into_iter().map(Ok);
    list(kept, &report.facts, out)
}
