//! The tools that tests need beside cargo, and how they come here.
//!
//! Owns Debian's package commands, and environments of their own for packages of Python. A package
//! that works from any folder is unpacked below the target folder, which needs no rights and starts
//! no service; others are installed, as root or with a sudo that asks nothing. Invariant: nothing is
//! fetched that is there already, and a tool that cannot be had is an error which says why.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::Workspace;
use crate::stage::say;

/// The longest that a package command may take, in seconds.
const PACKAGE_SECONDS: &str = "300";

/// Where Debian puts the `PostgreSQL` servers of all versions.
const DATABASES: &str = "/usr/lib/postgresql";

/// The first of these programs that is on this machine.
pub(crate) fn program(names: &[&str]) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    // Servers are there, and only root has it in the path.
    let folders: Vec<_> = env::split_paths(&path)
        .chain(["/usr/sbin".into()])
        .collect();
    let mut candidates = names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    candidates.find(|candidate| candidate.is_file())
}

/// One of these programs, from a package if it is not here yet.
pub(crate) fn installed(names: &[&str], packages: &[&str]) -> Result<PathBuf> {
    if let Some(program) = program(names) {
        return Ok(program);
    }
    install(packages)?;
    program(names).with_context(|| format!("{packages:?} did not bring any of {names:?}"))
}

/// Sees to it that there is a `PostgreSQL` server, whose programs are not in the path.
pub(crate) fn database() -> Result<()> {
    if has_database() {
        return Ok(());
    }
    install(&["postgresql"])?;
    if !has_database() {
        bail!("the package postgresql did not bring a server below {DATABASES}");
    }
    Ok(())
}

fn has_database() -> bool {
    let Ok(versions) = fs::read_dir(DATABASES) else {
        return false;
    };
    let mut versions = versions.filter_map(Result::ok);
    versions.any(|version| version.path().join("bin/initdb").is_file())
}

fn install(packages: &[&str]) -> Result<()> {
    let mut arguments = vec!["install", "--yes", "--no-install-recommends"];
    arguments.extend(packages);
    if as_root(&arguments).is_err() {
        refresh()?;
        as_root(&arguments)?;
    }
    Ok(())
}

/// The folder with the files of a package, which is not installed.
pub(crate) fn unpacked(workspace: &Workspace, package: &str) -> Result<PathBuf> {
    let packages = workspace.target.join("packages");
    let folder = packages.join(package);
    if folder.is_dir() {
        return Ok(folder);
    }
    let fresh = packages.join(format!("{package}.part"));
    if fresh.exists() {
        fs::remove_dir_all(&fresh)?;
    }
    fs::create_dir_all(&fresh)?;
    if download(package, &fresh).is_err() {
        refresh()?;
        download(package, &fresh)?;
    }
    let archive = fs::read_dir(&fresh)?
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .with_context(|| format!("apt-get left no file of {package}"))?;
    quiet(Command::new("dpkg-deb").arg("-x").arg(&archive).arg(&fresh))?;
    fs::remove_file(&archive)?;
    // Only a whole package gets its name.
    fs::rename(&fresh, &folder)?;
    Ok(folder)
}

/// The folder with the programs of a Python package, in an environment of its own.
pub(crate) fn from_pypi(workspace: &Workspace, name: &str, package: &str) -> Result<PathBuf> {
    let python = installed(&["python3"], &["python3", "python3-venv"])?;
    python_environment(workspace, name, &python, &[package])
}

/// The same with several packages, for this Python.
pub(crate) fn python_environment(
    workspace: &Workspace,
    name: &str,
    python: &Path,
    wanted: &[&str],
) -> Result<PathBuf> {
    let folder = workspace.target.join("packages").join(name);
    let marker = folder.join("whole");
    let wish = wanted.join(" ");
    // Environments of one package were marked without its name.
    let is_whole = |kept: String| kept == wish || (kept.is_empty() && wanted.len() == 1);
    if fs::read_to_string(&marker).is_ok_and(is_whole) {
        return Ok(folder.join("bin"));
    }
    say(&format!("installing {wish} from PyPI"));
    quiet(
        within(PACKAGE_SECONDS, python)
            .args(["-m", "venv", "--clear"])
            .arg(&folder),
    )?;
    let own = folder.join("bin/python");
    let install = ["-m", "pip", "install", "--quiet"];
    quiet(within(PACKAGE_SECONDS, &own).args(install).args(wanted))?;
    // Programs name the folder they were installed in, so it can't get its name at the end.
    fs::write(&marker, wish)?;
    Ok(folder.join("bin"))
}

fn download(package: &str, folder: &Path) -> Result<()> {
    say(&format!("downloading the package {package}"));
    quiet(
        within(PACKAGE_SECONDS, Path::new("apt-get"))
            .args(["--quiet", "download", package])
            .current_dir(folder),
    )
}

/// Brings the lists of packages up to date.
fn refresh() -> Result<()> {
    as_root(&["update"])
}

fn as_root(arguments: &[&str]) -> Result<()> {
    if program(&["apt-get"]).is_none() {
        bail!("there is no apt-get here");
    }
    say(&format!("apt-get {}", arguments.join(" ")));
    let mut command = rooted(PACKAGE_SECONDS)?;
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet"]);
    quiet(command.args(arguments))
}

/// The program `env` as root, for words that follow; it ends by force after so many seconds.
pub(crate) fn rooted(seconds: &str) -> Result<Command> {
    if is_root()? {
        return Ok(within(seconds, Path::new("env")));
    }
    let mut command = within(seconds, Path::new("sudo"));
    command.args(["-n", "env"]);
    Ok(command)
}

fn is_root() -> Result<bool> {
    let output = Command::new("id").arg("-u").output();
    Ok(output.context("id does not start")?.stdout == b"0\n")
}

/// A command that ends by force after so many seconds.
pub(crate) fn within(seconds: &str, program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.arg(seconds).arg(program);
    command
}

/// Runs a command whose output is of interest only if it fails.
pub(crate) fn quiet(command: &mut Command) -> Result<()> {
    let name = format!("{command:?}");
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("{name} does not start"))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let complaint = complaint.trim().lines().next_back().unwrap_or_default();
        bail!("{name} ended with {}: {complaint}", output.status);
    }
    Ok(())
}
