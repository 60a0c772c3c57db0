//! Other people's tools on our archives, and ours on theirs.
//!
//! Owns how the tools come here: packages of Python in an environment below the target folder,
//! wget from Debian. What is compared is told in `tests/warc`. The torture test leaves the files
//! of its kills for this stage, which has them made if they are not there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::stage::{Counts, Ending};
use crate::{Workspace, cargo, skipped, tools};

/// What is installed from `PyPI`: two readers of archives, the maker of an index's keys, a judge
/// of packages, a replay server, two readers of tables, and one of zstd.
const PACKAGES: [&str; 8] = [
    "warcio==1.8.1",
    "fastwarc==1.1.0",
    "surt==0.3.1",
    "wacz==0.6.0",
    "pywb==2.10.0",
    "pyarrow==26.0.1",
    "duckdb==2.0.0",
    "zstandard==0.25.0",
];
/// Pages that are crawled and asked from every replay server.
const PAGES: &str = "2000";
/// The longest that installing or checking may take, in seconds.
const LONGEST: &str = "600";

/// The variable that has the torture test keep its archives.
pub(crate) const KEPT: &str = "CLEWLINE_KEEP_ARCHIVES";

/// Where it keeps them.
pub(crate) fn kept(workspace: &Workspace) -> PathBuf {
    workspace.target.join("foreign/kills")
}

/// Runs the scripts.
pub(crate) fn check(workspace: &Workspace) -> Result<Ending> {
    let python = match environment(workspace) {
        Ok(python) => python,
        Err(error) => return Ok(skipped(&error)),
    };
    if let Err(error) = tools::installed(&["wget"], &["wget"]) {
        return Ok(skipped(&error));
    }
    let script = |name: &str| {
        let mut command = tools::within(LONGEST, &python);
        let path = workspace.root.join("tests/warc").join(name);
        // Nothing is left beside the scripts.
        command.arg("-B").arg(path);
        command
    };
    let clewline = workspace.target.join("ci/clewline");
    run(script("check.py")
        .arg(workspace.target.join("ci/examples/specimen"))
        .arg(&clewline)
        .arg(workspace.target.join("foreign/files")))?;
    run(script("crawl.py")
        .arg(&clewline)
        .arg(workspace.target.join("foreign/crawl")))?;
    run(script("zstd.py")
        .arg(&clewline)
        .arg(workspace.target.join("foreign/zstd")))?;
    run(script("views.py")
        .arg(&clewline)
        .arg(workspace.target.join("foreign/views"))
        .arg(PAGES))?;
    run(tools::within(LONGEST, &python)
        .arg("-B")
        .arg(workspace.root.join("tests/export/check.py"))
        .arg(&clewline)
        .arg(workspace.target.join("foreign/export"))
        .arg(PAGES))?;
    let kills = kept(workspace);
    if !kills.is_dir() {
        let filter = ["--", "a_second_kill"];
        let torture = [
            "test",
            "--profile",
            "ci",
            "--package",
            "clewline-cli",
            "--test",
            "torture",
        ];
        cargo::run_with(
            workspace,
            &[&torture[..], &filter].concat(),
            (KEPT, kills.as_os_str()),
        )?;
    }
    run(script("judge.py").arg(&kills))?;
    // The next run of this stage alone looks at kills of its own.
    fs::remove_dir_all(&kills).with_context(|| kills.display().to_string())?;
    Ok(Ending::Ran(Counts::PASSED))
}

/// The python of an environment that has the packages.
fn environment(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target.join("foreign/python");
    let python = folder.join("bin/python");
    let has_all = |python: &Path| {
        let command = [
            "-c",
            "import warcio, fastwarc, surt, wacz, pywb, pyarrow, duckdb, zstandard",
        ];
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

/// Runs a command that must succeed.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let name = format!("{command:?}");
    let status = command
        .status()
        .with_context(|| format!("{name} does not start"))?;
    if !status.success() {
        bail!("{name} ended with {status}");
    }
    Ok(())
}
