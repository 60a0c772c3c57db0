//! The tools for assistants, as the official Python client of the protocol sees them.
//!
//! Owns how that client comes here and the site that it asks about, the documentation of a Java
//! platform. What is called and what counts as found is told in `tests/assistants/client.py`.

use anyhow::{Context as _, Result, bail};

use crate::known_items;
use crate::stage::{Counts, Ending};
use crate::{Workspace, skipped, tools};

/// The client, by its name on `PyPI`.
const CLIENT: &str = "mcp";
/// How many questions are asked. The client asks a thousand if nobody says how many.
const QUESTIONS: &str = "300";
/// The longest that all calls may take, in seconds.
const LONGEST: &str = "900";

/// Calls every tool, and looks for passages by their own words.
pub(crate) fn check(workspace: &Workspace) -> Result<Ending> {
    let programs = match tools::from_pypi(workspace, "mcp-client", CLIENT) {
        Ok(programs) => programs,
        Err(error) => return Ok(skipped(&error)),
    };
    let site = match known_items::crawled(workspace)? {
        Ok(site) => site,
        Err(error) => return Ok(skipped(&error)),
    };
    let status = tools::within(LONGEST, &programs.join("python"))
        .arg(workspace.root.join("tests/assistants/client.py"))
        .arg(workspace.target.join("ci/clewline"))
        .arg(site.job)
        .arg(QUESTIONS)
        .status()
        .context("python does not start")?;
    if !status.success() {
        bail!("the client of the tools ended with {status}");
    }
    Ok(Ending::Ran(Counts::PASSED))
}
