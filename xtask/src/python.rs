//! The Python package: its wheel, its tests, its types.
//!
//! Owns the way from the workspace's own build to a wheel in a fresh environment, and the reading of
//! pytest's last line. Tools and the packages of recipes come from `PyPI` once, into environments of their own
//! below the target folder. Invariant: the wheel is installed without any other package, so what it
//! needs at run time is in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::stage::{Counts, Ending, say};
use crate::{Workspace, cargo, skipped, tools};

/// What all tests need, and what the recipes are about.
const TOOLS: [&str; 9] = [
    "pytest",
    "mypy",
    "pyarrow",
    "pandas",
    "polars",
    "duckdb",
    "scrapy",
    "langchain-core",
    "llama-index-core",
];
/// What a second version of Python is tried with.
const FEW_TOOLS: [&str; 1] = ["pytest"];
/// The longest that all tests of one version may take, in seconds.
const TEST_SECONDS: &str = "900";
/// The profile of the wheel that is tested.
const TESTED: &str = "ci";

/// Builds the wheel, installs it and runs its tests, on two versions of Python if they are there.
pub(crate) fn check(workspace: &Workspace) -> Result<Ending> {
    let pythons = interpreters()?;
    let [first, others @ ..] = &pythons[..] else {
        return Ok(skipped(&anyhow::anyhow!("there is no Python 3.9 or newer")));
    };
    // With a test it has the features of tests, so that no foreign crate is built twice; one test will
    // do for that, and a small one spares a run of this stage alone the making of all others.
    let what = [
        "build",
        "--profile",
        "ci",
        "--workspace",
        "--lib",
        "--test",
        "round_trip",
    ];
    cargo::run(workspace, &what)?;
    let mut counts = Counts::default();
    let environment = match Fresh::new(workspace, first, &TOOLS, TESTED) {
        Ok(environment) => environment,
        Err(error) => return Ok(skipped(&error)),
    };
    counts += environment.pytest(workspace)?;
    for arguments in [
        &["-m", "mypy", "--strict", "-p", "clewline"][..],
        &["-m", "mypy.stubtest", "clewline"],
    ] {
        counts += environment.passes(workspace, arguments)?;
    }
    match others.last() {
        Some(other) => match Fresh::new(workspace, other, &FEW_TOOLS, TESTED) {
            Ok(second) => counts += second.pytest(workspace)?,
            Err(error) => say(&format!("SKIPPED: Python {}: {error:#}", other.version)),
        },
        None => say("SKIPPED: there is only one version of Python here"),
    }
    Ok(Ending::Ran(counts))
}

/// The wheel of a profile in an environment of the usual Python, with everything that tests need.
pub(crate) fn environment(workspace: &Workspace, profile: &str) -> Result<Fresh> {
    let pythons = interpreters()?;
    let usual = pythons.first().context("there is no Python 3.9 or newer")?;
    Fresh::new(workspace, usual, &TOOLS, profile)
}

/// A Python of this machine.
struct Interpreter {
    program: PathBuf,
    version: String,
}

/// One of each version that can be used: first the usual one, then the others, the oldest last.
fn interpreters() -> Result<Vec<Interpreter>> {
    let usual = tools::installed(&["python3"], &["python3", "python3-venv"])?;
    let mut found = BTreeMap::new();
    let root = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let root = root.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv")));
    let installed = root.and_then(|root| fs::read_dir(root.join("versions")).ok());
    let kept = installed.into_iter().flatten().filter_map(Result::ok);
    let kept = kept.map(|version| version.path().join("bin/python3"));
    let in_path = (9..=20).filter_map(|minor| tools::program(&[&format!("python3.{minor}")]));
    for program in kept.chain(in_path) {
        if let Some(minor) = minor_version(&program) {
            found.entry(minor).or_insert(program);
        }
    }
    let Some(first) = minor_version(&usual) else {
        return Ok(Vec::new());
    };
    found.remove(&first);
    let others = found.into_iter().rev();
    let all = [(first, usual)].into_iter().chain(others);
    Ok(all
        .map(|(minor, program)| Interpreter {
            program,
            version: format!("3.{minor}"),
        })
        .collect())
}

/// The second number of its version, if it runs and is new enough.
fn minor_version(program: &Path) -> Option<u32> {
    let code = "import sys, venv; print(*sys.version_info[:2])";
    let output = Command::new(program).args(["-c", code]).output().ok()?;
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    let minor: u32 = words.strip_prefix("3 ")?.trim().parse().ok()?;
    (minor >= 9).then_some(minor)
}

/// An environment with the wheel alone, which sees the tools of another one.
pub(crate) struct Fresh {
    pub(crate) python: PathBuf,
}

impl Fresh {
    fn new(
        workspace: &Workspace,
        base: &Interpreter,
        packages: &[&str],
        profile: &str,
    ) -> Result<Self> {
        let name = format!("python-{}", base.version);
        let kept = tools::python_environment(workspace, &name, &base.program, packages)?;
        let folder = workspace.target.join("python").join(&base.version);
        tools::quiet(
            Command::new(&base.program)
                .args(["-m", "venv", "--clear"])
                .arg(&folder),
        )?;
        let python = folder.join("bin/python");
        let wheel = wheel(workspace, &python, profile)?;
        let alone = ["-m", "pip", "install", "--quiet", "--no-index"];
        tools::quiet(Command::new(&python).args(alone).arg(wheel))?;
        let packages = |of: &Path| of.join(format!("lib/python{}/site-packages", base.version));
        let others = packages(kept.parent().context("programs are in a folder")?);
        let link = packages(&folder).join("tools.pth");
        fs::write(link, others.to_string_lossy().as_bytes())?;
        Ok(Self { python })
    }

    fn pytest(&self, workspace: &Workspace) -> Result<Counts> {
        let output = tools::within(TEST_SECONDS, &self.python)
            .args(["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"])
            .current_dir(workspace.root.join("python"))
            .output()
            .context("pytest does not start")?;
        let text = String::from_utf8_lossy(&output.stdout);
        say(text.trim_end());
        let counts = text.lines().next_back().and_then(counts_of);
        match counts {
            Some(counts) if output.status.success() || counts.failed > 0 => Ok(counts),
            _ => {
                say(&String::from_utf8_lossy(&output.stderr));
                bail!("pytest ended with {}", output.status)
            }
        }
    }

    /// Runs a module as one check.
    fn passes(&self, workspace: &Workspace, arguments: &[&str]) -> Result<Counts> {
        let status = tools::within(TEST_SECONDS, &self.python)
            .args(arguments)
            .current_dir(workspace.target.join("python"))
            .status()
            .context("Python does not start")?;
        Ok(if status.success() {
            Counts::PASSED
        } else {
            Counts::FAILED
        })
    }
}

/// Packs what the workspace built in a profile.
fn wheel(workspace: &Workspace, python: &Path, profile: &str) -> Result<PathBuf> {
    let extension = workspace.target.join(profile).join("libclewline_python.so");
    let output = Command::new(python)
        .arg(workspace.root.join("python/wheel.py"))
        .arg(extension)
        .arg(env!("CARGO_PKG_VERSION"))
        .arg(workspace.target.join("python/wheels"))
        .output()
        .context("Python does not start")?;
    if !output.status.success() {
        bail!("the wheel: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
}

/// What pytest's last line says.
fn counts_of(line: &str) -> Option<Counts> {
    let line = line.trim_matches(['=', ' ']);
    let (figures, _) = line.rsplit_once(" in ")?;
    let mut counts = Counts::default();
    for figure in figures.split(", ") {
        let (number, what) = figure.split_once(' ')?;
        let number: u64 = number.parse().ok()?;
        match what {
            "passed" => counts.passed += number,
            "failed" | "error" | "errors" => counts.failed += number,
            "skipped" => counts.skipped += number,
            _ => {}
        }
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_pytest_is_counted() {
        let check = |line: &str, expected: Option<(u64, u64, u64)>| {
            let found = counts_of(line).map(|found| (found.passed, found.failed, found.skipped));
            assert_eq!(found, expected, "{line}");
        };
        check("31 passed in 4.20s", Some((31, 0, 0)));
        check(
            "1 failed, 30 passed, 2 skipped, 1 warning in 4.20s",
            Some((30, 1, 2)),
        );
        check("2 errors in 0.1s", Some((0, 2, 0)));
        check("no tests ran", None);
    }
}
