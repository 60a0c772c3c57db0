//! The verb `inspect`: one page, fetched and explained.
//!
//! Owns the way from the settings to the printed explanation and the exit code. It refuses to
//! know what a crawl does with a page; the library tells.

mod content;
mod render;
mod words;

use std::io::{self, BufWriter, IsTerminal, Write, stderr, stdout};

use clewline::Crawl;
use clewline_job::inspection::{self, Inspection};

use crate::exit::ExitStatus;
use crate::message::{Speaker, shown};
use crate::resolve::{CommandOptions, Format, ResolvedSettings, Talk};
pub(crate) use content::{View, inspect_file};
use render::{Detail, RenderStyle};

/// What goes to standard output.
#[derive(Debug)]
pub(crate) enum Show {
    /// What happened.
    Explanation,
    /// The page as it came.
    Body,
    /// What the page says.
    Content(View),
}

/// Fetches the page and says what happened: 0 if an answer was read, whatever its status, and
/// 3 if none was or the page could not be read.
pub(crate) fn inspect(resolved: ResolvedSettings, show: &Show) -> anyhow::Result<ExitStatus> {
    let ResolvedSettings {
        config, options, ..
    } = resolved;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let inspection = match runtime.block_on(Crawl::from_config(config).inspect()) {
        Ok(inspection) => inspection,
        Err(error) => {
            Speaker::new(options.colour).error(&error.into(), &[]);
            return Ok(ExitStatus::Usage);
        }
    };
    if let Show::Explanation = show {
        explain(&inspection, options, &mut stdout())?;
    } else if options.talk != Talk::Quiet {
        // What was asked for is the page; the explanation is talk.
        explain(&inspection, options, &mut stderr())?;
    }
    let is_told = match show {
        Show::Explanation => true,
        Show::Body => write_body(&inspection).map(|()| true)?,
        Show::Content(view) => content::of_answer(&inspection, view)?,
    };
    Ok(match inspection.page {
        Some(_) if is_told => ExitStatus::Done,
        _ => ExitStatus::Stuck,
    })
}

fn explain<W: Write + IsTerminal>(
    inspection: &Inspection,
    options: CommandOptions,
    out: &mut W,
) -> anyhow::Result<()> {
    let text = match options.format {
        Format::Json => inspection::json(inspection)? + "\n",
        Format::Text => {
            let style = RenderStyle {
                in_colour: options.colour.decide(out.is_terminal()),
                detail: if matches!(options.talk, Talk::Verbose(_)) {
                    Detail::Whole
                } else {
                    Detail::Short
                },
            };
            render::text(inspection, style)
        }
    };
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Bytes as they are for a program; for a terminal text that cannot steer it.
fn write_body(inspection: &Inspection) -> io::Result<()> {
    if stdout().is_terminal() {
        return write_text(&inspection.text());
    }
    let mut out = stdout().lock();
    out.write_all(&inspection.body)?;
    out.flush()
}

/// Text as it is for a program; for a terminal without what could steer it.
fn write_text(text: &str) -> io::Result<()> {
    let out = stdout();
    let is_terminal = out.is_terminal();
    let mut out = BufWriter::new(out.lock());
    if is_terminal {
        for line in text.lines() {
            let cells: Vec<_> = line.split('\t').map(shown).collect();
            writeln!(out, "{}", cells.join("\t"))?;
        }
    } else {
        out.write_all(text.as_bytes())?;
    }
    out.flush()
}
