//! What tests of rendering need.
//!
//! Owns how the browser without a window and bubblewrap come here, and the promise to the tests that both
//! work: with it, a test that cannot start a browser fails instead of being skipped. Invariant: where
//! namespaces are forbidden, that is said aloud and nothing is promised.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::tools;

/// Read by `crates/render/tests`.
const PROMISE: &str = "CLEWLINE_BROWSER_TESTS";

/// The browser that the tests render with.
const BROWSER: &str = "chromium-headless-shell";

/// Installs what is missing, and finds out whether this machine allows namespaces.
pub(crate) fn prepare() -> Result<()> {
    tools::installed(&[BROWSER], &[BROWSER, "fonts-dejavu-core"])?;
    let bubblewrap = tools::installed(&["bwrap"], &["bubblewrap"])?;
    if !has_namespaces(&bubblewrap) {
        bail!(
            "namespaces are forbidden here: in a container, allow them with --security-opt seccomp=unconfined"
        );
    }
    Ok(())
}

/// The variable that makes the promise, where it can be kept.
pub(crate) fn promise() -> Option<(&'static str, &'static str)> {
    let bubblewrap = tools::program(&["bwrap"])?;
    let is_possible = tools::program(&[BROWSER]).is_some() && has_namespaces(&bubblewrap);
    is_possible.then_some((PROMISE, "1"))
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
