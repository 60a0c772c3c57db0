//! What tests of rendering need.
//!
//! Owns how the browser without a window, bubblewrap and some applications come here, and the promise to the tests that both
//! work: with it, a test that cannot start a browser fails instead of being skipped. Invariant: where
//! namespaces are forbidden, that is said aloud and nothing is promised.

mod documentation;
mod rivals;
mod verb;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::{Workspace, tools};

pub(crate) use verb::run;

/// Read by `crates/render/tests`.
const PROMISE: &str = "CLEWLINE_BROWSER_TESTS";

/// The browser that the tests render with.
const BROWSER: &str = "chromium-headless-shell";

/// The folder with the applications that the tests crawl, below the target folder.
const APPLICATIONS: &str = "render-apps";

/// … and the variable that names it.
const APPLICATIONS_VARIABLE: &str = "CLEWLINE_RENDER_APPS";

/// The longest that npm may take, in seconds.
const INSTALLING: &str = "600";

/// Installs what is missing, and finds out whether this machine allows namespaces.
pub(crate) fn prepare(workspace: &Workspace) -> Result<()> {
    tools::installed(&[BROWSER], &[BROWSER, "fonts-dejavu-core"])?;
    let bubblewrap = tools::installed(&["bwrap"], &["bubblewrap"])?;
    if !has_namespaces(&bubblewrap) {
        bail!(
            "namespaces are forbidden here: in a container, allow them with --security-opt seccomp=unconfined"
        );
    }
    bundle(workspace)
}

/// Bundles the applications with packages of npm, once.
fn bundle(workspace: &Workspace) -> Result<()> {
    let folder = workspace.target.join(APPLICATIONS);
    let bundles = folder.join("bundles");
    let sources = workspace.root.join("tests/render-apps");
    if bundles.is_dir() && has_all(&folder, &sources)? {
        return Ok(());
    }
    let npm = tools::installed(&["npm"], &["npm"])?;
    let node = tools::installed(&["node"], &["nodejs"])?;
    fs::create_dir_all(&folder)?;
    if bundles.is_dir() {
        fs::remove_dir_all(&bundles)?;
    }
    for file in fs::read_dir(sources)? {
        let file = file?;
        fs::copy(file.path(), folder.join(file.file_name()))?;
    }
    let install = ["install", "--silent", "--no-audit", "--no-fund"];
    tools::quiet(
        tools::within(INSTALLING, &npm)
            .args(install)
            .current_dir(&folder),
    )?;
    let fresh = folder.join("bundles.part");
    let mut build = tools::within(INSTALLING, &node);
    tools::quiet(build.arg("build.mjs").arg(&fresh).current_dir(&folder))?;
    // Only whole bundles get their name.
    fs::rename(fresh, bundles)?;
    Ok(())
}

/// Whether a folder has all files of another one as they are there.
fn has_all(folder: &Path, sources: &Path) -> Result<bool> {
    for file in fs::read_dir(sources)? {
        let file = file?;
        let is_same = fs::read(folder.join(file.file_name())).ok() == Some(fs::read(file.path())?);
        if !is_same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The variables that make the promise, where it can be kept, and name the applications.
pub(crate) fn promises(workspace: &Workspace) -> Vec<(&'static str, OsString)> {
    let bubblewrap = tools::program(&["bwrap"]);
    let is_possible = bubblewrap.is_some_and(|program| has_namespaces(&program));
    if !is_possible || tools::program(&[BROWSER]).is_none() {
        return Vec::new();
    }
    let mut promises = vec![(PROMISE, "1".into())];
    let bundles = workspace.target.join(APPLICATIONS).join("bundles");
    if bundles.is_dir() {
        promises.push((APPLICATIONS_VARIABLE, bundles.into()));
    }
    promises
}

fn has_namespaces(bubblewrap: &Path) -> bool {
    let mut command = Command::new(bubblewrap);
    command.args(["--unshare-all", "--ro-bind", "/", "/", "true"]);
    let command = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
