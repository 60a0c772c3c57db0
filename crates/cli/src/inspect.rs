//! The verb `inspect`: one page, fetched and explained.
//!
//! Owns the way from the settings to the printed explanation; `explain` is the only place that
//! calls the library.

use std::io::{BufWriter, Write, stdout};

use clewline::config::Config;

use crate::exit::ExitStatus;
use crate::resolve::Resolved;

/// Whether the page itself is printed, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    Hide,
    Show,
}

/// Fetches the page and says what happened.
pub(crate) fn inspect(resolved: Resolved, body: Body) -> anyhow::Result<ExitStatus> {
    let mut out = BufWriter::new(stdout().lock());
    let status = explain(resolved.config, body, &mut out)?;
    out.flush()?;
    Ok(status)
}

/// Calls the library.
fn explain(config: Config, body: Body, out: &mut dyn Write) -> anyhow::Result<ExitStatus> {
    let _ = (config, body, out);
    anyhow::bail!("inspect is not joined to the command yet")
}
