//! The app as people use it: a crawl is started, watched, steered, searched, replayed and deleted.
//!
//! Owns who does that: Chromium, driven by playwright, and axe-core, which judges every page on the way.
//! What is done and what must come of it is told in `tests/look/app.py`. Invariant: a message on the
//! console, a violation or a request to anybody else fails it.

use std::path::Path;

use anyhow::Result;

use crate::check_forms::environment;
use crate::foreign::run as judged;
use crate::{Workspace, screens, tools};

/// The longest that all of it may take, in seconds.
const LONGEST: &str = "90";

/// Uses the app; jobs and pictures are left in `app` below the target folder.
pub(crate) fn check(workspace: &Workspace, browser: &Path) -> Result<()> {
    let (python, axe) = (environment(workspace)?, screens::axe(workspace)?);
    judged(
        tools::within(LONGEST, &python)
            .arg("-B")
            .arg(workspace.root.join("tests/look/app.py"))
            .arg(browser)
            .arg(workspace.target.join("ci/clewline"))
            .arg(workspace.target.join("app"))
            .arg(axe),
    )
}
