//! An empty Debian in a folder, and the deb in it.
//!
//! Owns the folder: `mmdebstrap` fetches it once and keeps it as an archive, and every run unpacks it
//! anew. Invariant: what runs there finds nothing of this machine but its network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use super::{Bench, Impossible, LONGEST, crawl_and_search, said};
use crate::stage::say;
use crate::tools;

/// The longest that fetching an empty Debian may take, in seconds.
const FETCH_SECONDS: &str = "400";

/// Installs the deb where there is nothing else, crawls a site and searches it there.
pub(super) fn check(bench: &Bench) -> Result<()> {
    let archive = match fetched(bench) {
        Ok(archive) => archive,
        Err(error) => return Err(Impossible(format!("no empty Debian: {error:#}")).into()),
    };
    let root = bench.place.join("root");
    as_root(&["rm", "-rf"], &[&root])?;
    fs::create_dir_all(&root)?;
    as_root(
        &["tar", "--numeric-owner", "-xf"],
        &[&archive, Path::new("-C"), &root],
    )?;
    let deb = bench.package(".deb")?;
    as_root(&["cp"], &[&deb, &root.join("clewline.deb")])?;
    let began = Instant::now();
    let inside = || -> Result<Command> {
        let mut command = tools::rooted(LONGEST)?;
        command.args(["-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "chroot"]);
        command.arg(&root);
        Ok(command)
    };
    said(inside()?.args(["dpkg", "--install", "/clewline.deb"]))?;
    let own = said(inside()?.args(["clewline", "-V"]))?;
    ensure!(own.starts_with("clewline "), "it says {own:?}");
    let mut command = || -> Result<Command> {
        let mut command = inside()?;
        command.arg("clewline");
        Ok(command)
    };
    crawl_and_search(&mut command, Path::new("/root"), bench)?;
    said(inside()?.args(["dpkg", "--verify", "clewline"]))?;
    said(inside()?.args(["dpkg", "--remove", "clewline"]))?;
    ensure!(!root.join("usr/bin/clewline").exists(), "it is still there");
    let seconds = began.elapsed().as_secs_f64();
    say(&format!(
        "installed, crawled, searched and removed in {seconds:.1} s"
    ));
    as_root(&["rm", "-rf"], &[&root])
}

/// The archive of an empty Debian, fetched if it is not here yet.
fn fetched(bench: &Bench) -> Result<PathBuf> {
    let packages = bench.workspace.target.join("packages");
    let archive = packages.join("debian-root.tar");
    if archive.is_file() {
        return Ok(archive);
    }
    fs::create_dir_all(&packages)?;
    let program = tools::installed(&["mmdebstrap"], &["mmdebstrap"])?;
    let part = packages.join("debian-root.part.tar");
    let release = fs::read_to_string("/etc/os-release").context("/etc/os-release")?;
    let suite = release
        .lines()
        .find_map(|it| it.strip_prefix("VERSION_CODENAME="));
    let suite = suite.context("the system does not name its release")?;
    say(&format!("fetching an empty Debian, {suite}"));
    // What every Debian has and what the package names; no apt, no recommendations.
    let mut command = tools::rooted(FETCH_SECONDS)?;
    command.arg(program);
    command.args(["--variant=essential", "--include=libgcc-s1", suite]);
    tools::quiet(command.arg(&part))?;
    fs::rename(&part, &archive)?;
    Ok(archive)
}

fn as_root(words: &[&str], paths: &[&Path]) -> Result<()> {
    let mut command = tools::rooted(LONGEST)?;
    said(command.args(words).args(paths)).map(|_| ())
}
