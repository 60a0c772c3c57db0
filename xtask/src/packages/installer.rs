//! `install.sh`, run as a user would, against packages on loopback and in a folder.
//!
//! Owns the two ways in and the refusal. Invariant: after a refusal nothing is installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use super::{Bench, LONGEST, said};
use crate::tools;

/// Installs from a server and from a folder, then from a folder whose archive was changed.
pub(super) fn check(bench: &Bench) -> Result<()> {
    if let Ok(shellcheck) = tools::installed(&["shellcheck"], &["shellcheck"]) {
        said(Command::new(shellcheck).arg(script(bench)))?;
    }
    let url = format!("{}packages", bench.server.root());
    let folder = bench.packages.display().to_string();
    for (name, downloads) in [("from-server", url), ("from-folder", folder)] {
        let prefix = bench.empty(name)?;
        let words = said(&mut installer(bench, &downloads, &prefix))?;
        let installed = prefix.join("bin/clewline");
        let version = said(Command::new(installed).arg("-V"))?;
        ensure!(words.contains(version.trim()), "{words} lacks {version}");
        for file in [
            "share/man/man1/clewline-crawl.1",
            "share/bash-completion/completions/clewline",
            "share/zsh/site-functions/_clewline",
        ] {
            ensure!(prefix.join(file).is_file(), "{file} is not installed");
        }
    }
    refuses_a_wrong_sum(bench)
}

fn refuses_a_wrong_sum(bench: &Bench) -> Result<()> {
    let changed = bench.empty("changed")?;
    for entry in fs::read_dir(&bench.packages)? {
        let entry = entry?;
        fs::copy(entry.path(), changed.join(entry.file_name()))?;
    }
    let archive = bench.package(".tar.gz")?;
    let archive = changed.join(archive.file_name().unwrap_or_default());
    let mut bytes = fs::read(&archive)?;
    if let Some(last) = bytes.last_mut() {
        *last ^= 1;
    }
    fs::write(&archive, bytes)?;
    let prefix = bench.empty("refused")?;
    let downloads = changed.display().to_string();
    let output = installer(bench, &downloads, &prefix).output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(!output.status.success(), "a wrong sum was accepted");
    ensure!(complaint.contains("sum"), "it only says {complaint:?}");
    let is_empty = fs::read_dir(&prefix)?.next().is_none();
    ensure!(is_empty, "something was installed all the same");
    Ok(())
}

fn installer(bench: &Bench, downloads: &str, prefix: &Path) -> Command {
    let mut command = tools::within(LONGEST, Path::new("sh"));
    command.arg(script(bench)).arg("--prefix").arg(prefix);
    command.env("CLEWLINE_DOWNLOADS", downloads);
    command.env("no_proxy", "127.0.0.1");
    command
}

fn script(bench: &Bench) -> PathBuf {
    bench.workspace.root.join("packaging/install.sh")
}
