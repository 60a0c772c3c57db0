//! Our packages as replayweb.page reads them.
//!
//! Owns how its service worker comes here: out of a package of npm, kept below the target folder.
//! What is compared is told in `tests/warc/replayweb.py`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::foreign::run;
use crate::stage::say;
use crate::{Workspace, tools};

/// The package that has the worker.
const PACKAGE: &str = "replaywebpage";
const VERSION: &str = "2.5.3";
/// The longest that each step may take, in seconds.
const LONGEST: &str = "240";

/// Has a browser replay a package of a crawl.
pub(crate) fn check(workspace: &Workspace, browser: &Path, job: &Path) -> Result<()> {
    let worker = match worker(workspace) {
        Ok(worker) => worker,
        Err(error) => {
            say(&format!("SKIPPED: replayweb.page: {error:#}"));
            return Ok(());
        }
    };
    let python = tools::installed(&["python3"], &["python3"])?;
    let clewline = workspace.target.join("ci/clewline");
    let package = job.with_extension("wacz");
    run(Command::new(&clewline)
        .arg("export")
        .arg(job)
        .args(["--to", "wacz", "--overwrite", "--output"])
        .arg(&package))?;
    run(tools::within(LONGEST, &python)
        .arg("-B")
        .arg(workspace.root.join("tests/warc/replayweb.py"))
        .arg(browser)
        .arg(&worker)
        .arg(&clewline)
        .arg(&package)
        .arg(job.with_extension("replayweb")))
}

/// The service worker.
fn worker(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target.join("packages").join(PACKAGE);
    let worker = folder.join("package/sw.js");
    if worker.is_file() {
        return Ok(worker);
    }
    let npm = tools::installed(&["npm"], &["npm"])?;
    fs::create_dir_all(&folder)?;
    run(tools::within(LONGEST, &npm)
        .args(["pack", "--silent"])
        .arg(format!("{PACKAGE}@{VERSION}"))
        .current_dir(&folder))?;
    run(Command::new("tar")
        .arg("xzf")
        .arg(format!("{PACKAGE}-{VERSION}.tgz"))
        .arg("package/sw.js")
        .current_dir(&folder))?;
    Ok(worker)
}
