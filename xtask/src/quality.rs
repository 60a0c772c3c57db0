//! `cargo xtask quality`: main text and Markdown against the sources the pages were made from.
//!
//! Owns how the packages, the rivals and the reader come here, and where the table goes. What
//! is compared, and which targets there are, is told in `tests/quality/quality.py`. Invariant:
//! a table that is saved is of this run.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use crate::stage::say;
use crate::{Workspace, cargo, tools};

/// Packages with pages and the sources of the pages, and the documentation site at the end.
const PACKAGES: [&str; 11] = [
    "python3.11-doc",
    "sphinx-doc",
    "python-flask-doc",
    "python-sqlalchemy-doc",
    "git-doc",
    "python-babel-doc",
    "python-click-doc",
    "python-jinja2-doc",
    "python-requests-doc",
    "python-werkzeug-doc",
    "openjdk-17-doc",
];
/// The rivals from `PyPI`, and what one of them needs and does not name in a way that every
/// installer understands.
const RIVALS: [&str; 4] = ["trafilatura", "lxml_html_clean", "chardet", "cssselect"];
/// The longest that installing or comparing may take, in seconds.
const LONGEST: &str = "900";

/// Runs the comparison; it fails where a target is missed.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let is_saved = match arguments {
        [] => false,
        [flag] if flag == "--save" => true,
        _ => bail!("quality takes --save at most, which writes docs/quality.md"),
    };
    for package in PACKAGES {
        tools::unpacked(workspace, package)?;
    }
    let python = environment(workspace)?;
    let reader = reader(workspace)?;
    let output = tools::within(LONGEST, &python)
        .arg(workspace.root.join("tests/quality/quality.py"))
        .arg(reader)
        .arg(workspace.target.join("packages"))
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("python does not start")?;
    let table = String::from_utf8(output.stdout)?;
    ensure!(!table.is_empty(), "the comparison printed nothing");
    say(&table);
    if is_saved {
        let page = workspace.root.join("docs/quality.md");
        fs::write(&page, format!("{HEAD}{table}"))?;
        say(&format!("wrote {}", page.display()));
    }
    ensure!(output.status.success(), "a target was missed");
    Ok(())
}

const HEAD: &str = "\
# How well pages are read

The main text of documentation pages is compared with the source that each page was made from: reStructuredText or AsciiDoc that is in the
same Debian package. F1 is over the words as a multiset, a mean over pages; pages whose source includes other files are left out. The rivals
run in the same process, one after the other, with their defaults; the reader is built with little optimisation. Two mistakes of ours were found
with pages of the first five packages; nobody looked at those of the others, which have a row of their own. `cargo xtask quality --save` makes this page.

";

/// The program that reads pages, built like all that is tested: not the fastest build there is.
fn reader(workspace: &Workspace) -> Result<PathBuf> {
    let status = cargo::command(workspace)
        .args(["build", "--quiet", "--profile", "ci"])
        .args(["-p", "clewline-content", "--example", "read"])
        .status()
        .context("cargo does not start")?;
    ensure!(status.success(), "the reader does not build");
    Ok(workspace.target.join("ci/examples/read"))
}

/// The python of an environment that has the rivals.
fn environment(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target.join("quality/python");
    let python = folder.join("bin/python");
    let has_all = || {
        let command = ["-c", "import readability, trafilatura"];
        let output = Command::new(&python).args(command).output();
        output.is_ok_and(|output| output.status.success())
    };
    if has_all() {
        return Ok(python);
    }
    let system = tools::installed(&["python3"], &["python3", "python3-venv"])?;
    run_well(
        tools::within(LONGEST, &system)
            .args(["-m", "venv"])
            .arg(&folder),
    )?;
    let install = ["-m", "pip", "install", "--quiet"];
    run_well(tools::within(LONGEST, &python).args(install).args(RIVALS))?;
    let alone = ["--no-deps", "readability-lxml"];
    run_well(tools::within(LONGEST, &python).args(install).args(alone))?;
    Ok(python)
}

fn run_well(command: &mut Command) -> Result<()> {
    let name = format!("{command:?}");
    let status = command.status();
    let status = status.with_context(|| format!("{name} does not start"))?;
    ensure!(status.success(), "{name} ended with {status}");
    Ok(())
}
