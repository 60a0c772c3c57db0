//! The verb `inspect`: one page, fetched and explained.
//!
//! Owns the way from the settings to the printed explanation and the exit code. It refuses to
//! know what a crawl does with a page; the library tells.

mod render;
mod words;

use std::io::{self, BufWriter, IsTerminal, Write, stderr, stdout};

use clewline::inspect::{self, Inspection};

use crate::exit::ExitStatus;
use crate::message::{Speaker, shown};
use crate::resolve::{Format, Options, Resolved, Talk};
use render::{Detail, Style};

/// Whether the page itself is printed, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    Hide,
    Show,
}

/// Fetches the page and says what happened: 0 if an answer was read, whatever its status, and
/// 3 if none was.
pub(crate) fn inspect(resolved: Resolved, body: Body) -> anyhow::Result<ExitStatus> {
    let Resolved {
        config, options, ..
    } = resolved;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let inspection = match runtime.block_on(inspect::inspect(&config)) {
        Ok(inspection) => inspection,
        Err(error) => {
            Speaker::new(options.colour).error(&error.into(), &[]);
            return Ok(ExitStatus::Usage);
        }
    };
    match body {
        Body::Hide => explain(&inspection, options, &mut stdout())?,
        Body::Show => {
            // What was asked for is the body; the explanation is talk.
            if options.talk != Talk::Quiet {
                explain(&inspection, options, &mut stderr())?;
            }
            write_body(&inspection)?;
        }
    }
    Ok(match inspection.page {
        Some(_) => ExitStatus::Done,
        None => ExitStatus::Stuck,
    })
}

fn explain<W: Write + IsTerminal>(
    inspection: &Inspection,
    options: Options,
    out: &mut W,
) -> anyhow::Result<()> {
    let text = match options.format {
        Format::Json => inspect::json(inspection)? + "\n",
        Format::Text => {
            let style = Style {
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
    let out = stdout();
    let is_terminal = out.is_terminal();
    let mut out = BufWriter::new(out.lock());
    if is_terminal {
        let text = inspection.text();
        for line in text.lines() {
            let cells: Vec<_> = line.split('\t').map(shown).collect();
            writeln!(out, "{}", cells.join("\t"))?;
        }
    } else {
        out.write_all(&inspection.body)?;
    }
    out.flush()
}
