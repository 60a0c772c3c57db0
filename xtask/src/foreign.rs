//! Other people's tools on our archives, and ours on theirs.
//!
//! Owns how the tools come here: packages of Python in an environment below the target folder,
//! wget from Debian. What is compared is told in `tests/warc/check.py`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::stage::{Counts, Ending};
use crate::{Workspace, skipped, tools};

/// What is installed from `PyPI`: two readers of archives, and the maker of an index's keys.
const PACKAGES: [&str; 3] = ["warcio==1.8.1", "fastwarc==1.1.0", "surt==0.3.1"];
/// The longest that installing or checking may take, in seconds.
const LONGEST: &str = "300";

/// Runs the script.
pub(crate) fn check(workspace: &Workspace) -> Result<Ending> {
    let python = match environment(workspace) {
        Ok(python) => python,
        Err(error) => return Ok(skipped(&error)),
    };
    if let Err(error) = tools::installed(&["wget"], &["wget"]) {
        return Ok(skipped(&error));
    }
    let status = tools::within(LONGEST, &python)
        .arg(workspace.root.join("tests/warc/check.py"))
        .arg(workspace.target.join("ci/examples/specimen"))
        .arg(workspace.target.join("ci/clewline"))
        .arg(workspace.target.join("foreign/files"))
        .status()
        .context("python does not start")?;
    if !status.success() {
        bail!("the check by other people's tools ended with {status}");
    }
    run(tools::within(LONGEST, &python)
        .arg(workspace.root.join("tests/warc/crawl.py"))
        .arg(workspace.target.join("ci/clewline"))
        .arg(workspace.target.join("foreign/crawl")))?;
    Ok(Ending::Ran(Counts::PASSED))
}

/// The python of an environment that has the packages.
fn environment(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target.join("foreign/python");
    let python = folder.join("bin/python");
    let has_all = |python: &Path| {
        let command = ["-c", "import warcio, fastwarc, surt"];
        let status = Command::new(python)
            .args(command)
            .stderr(Stdio::null())
            .status();
        status.is_ok_and(|status| status.success())
    };
    if has_all(&python) {
        return Ok(python);
    }
    let system = tools::installed(&["python3"], &["python3", "python3-venv"])?;
    run(tools::within(LONGEST, &system)
        .args(["-m", "venv"])
        .arg(&folder))?;
    let install = ["-m", "pip", "install", "--quiet"];
    run(tools::within(LONGEST, &python).args(install).args(PACKAGES))?;
    Ok(python)
}

fn run(command: &mut Command) -> Result<()> {
    let name = format!("{command:?}");
    let status = command
        .status()
        .with_context(|| format!("{name} does not start"))?;
    if !status.success() {
        bail!("{name} ended with {status}");
    }
    Ok(())
}
