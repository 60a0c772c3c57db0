//! The app for programs, judged by others.
//!
//! Owns how the judges come here: `promtool` of Debian's Prometheus, and from `PyPI` a validator of
//! `OpenAPI` and schemathesis. What they are shown is told in `tests/api/judge.py`.

use anyhow::Result;

use crate::foreign::run as judged;
use crate::stage::{Counts, Ending};
use crate::{Workspace, skipped, tools};

/// What is installed from `PyPI`.
const PACKAGES: [&str; 2] = ["schemathesis==4.32.5", "openapi-spec-validator==0.9.0"];
/// The longest that all of it may take, in seconds.
const LONGEST: &str = "90";

/// Shows a served folder to the judges.
pub(crate) fn check(workspace: &Workspace) -> Result<Ending> {
    let found = tools::installed(&["promtool"], &["prometheus"]).and_then(|promtool| {
        let python = tools::installed(&["python3"], &["python3", "python3-venv"])?;
        let programs = tools::python_environment(workspace, "api-judges", &python, &PACKAGES)?;
        Ok((promtool, programs))
    });
    let (promtool, programs) = match found {
        Ok(found) => found,
        Err(error) => return Ok(skipped(&error)),
    };
    judged(
        tools::within(LONGEST, &programs.join("python"))
            .arg("-B")
            .arg(workspace.root.join("tests/api/judge.py"))
            .arg(workspace.target.join("ci/clewline"))
            .args([promtool, programs.join("schemathesis")])
            .arg(workspace.target.join("api")),
    )?;
    Ok(Ending::Ran(Counts::PASSED))
}
