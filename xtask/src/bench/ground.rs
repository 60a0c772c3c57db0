//! The ground everything stands on: folders, cores, and building what is measured.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::options::Options;
use crate::stage::say;
use crate::{Workspace, cargo};

/// The core of the servers, and of the harness itself.
pub(crate) const SERVER_CORE: usize = 0;

/// The core of whoever is measured.
pub(crate) const CRAWLER_CORE: usize = 1;

/// Where things are.
pub(crate) struct Ground {
    pub(crate) workspace: Workspace,
    /// Whatever a run leaves behind.
    pub(crate) scratch: PathBuf,
    /// Files of contestants go to memory where that is possible, so that no disk is measured.
    pub(crate) memory: PathBuf,
    /// Cores of the machine, before the harness kept to its own.
    pub(crate) cores: usize,
    profile: String,
}

impl Ground {
    pub(crate) fn prepare(workspace: Workspace, options: &Options) -> Result<Self> {
        let scratch = workspace.target.join("bench");
        std::fs::create_dir_all(&scratch)?;
        let shared = Path::new("/dev/shm");
        let memory = if shared.is_dir() {
            shared.join(format!("clewline-bench-{}", std::process::id()))
        } else {
            scratch.join("out")
        };
        Ok(Self {
            workspace,
            scratch,
            memory,
            cores: std::thread::available_parallelism()?.get(),
            profile: options.build().to_owned(),
        })
    }

    /// The Cargo profile of what is measured.
    pub(crate) fn profile(&self) -> &str {
        &self.profile
    }

    /// Where a built program lies.
    pub(crate) fn program(&self, name: &str) -> String {
        let folder = match self.profile.as_str() {
            "dev" => "debug",
            other => other,
        };
        let program = self.workspace.target.join(folder).join(name);
        program.display().to_string()
    }

    /// Builds packages of the workspace.
    pub(crate) fn build(&self, packages: &[&str]) -> Result<()> {
        say(&format!(
            "building {} ({})",
            packages.join(", "),
            self.profile
        ));
        let chosen = packages.iter().flat_map(|name| ["--package", name]);
        self.build_with(&chosen.collect::<Vec<_>>())
    }

    /// Builds every program of the workspace.
    pub(crate) fn build_all(&self) -> Result<()> {
        say(&format!("building all programs ({})", self.profile));
        self.build_with(&["--workspace", "--bins"])
    }

    fn build_with(&self, words: &[&str]) -> Result<()> {
        let mut cargo = self.cargo();
        cargo.args(["build", "--quiet", "--profile", &self.profile]);
        ensure!(cargo.args(words).status()?.success(), "the build failed");
        Ok(())
    }

    /// Cargo itself, in the workspace.
    pub(crate) fn cargo(&self) -> Command {
        cargo::command(&self.workspace)
    }

    /// Keeps the harness, and the servers it starts, off the core of whoever is measured.
    pub(crate) fn keep_to_own_core() -> Result<()> {
        let cores = std::thread::available_parallelism()?.get();
        ensure!(
            cores > CRAWLER_CORE,
            "a server and a crawler need a core each; this machine has {cores}"
        );
        let status = Command::new("taskset")
            .args(["--cpu-list", "--pid"])
            .arg(SERVER_CORE.to_string())
            .arg(std::process::id().to_string())
            .stdout(Stdio::null())
            .status()
            .context("taskset (Debian: util-linux)")?;
        ensure!(status.success(), "cannot keep to core {SERVER_CORE}");
        Ok(())
    }
}

impl Drop for Ground {
    /// What was written to memory would stay there until the next start of the machine.
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.memory).ok();
    }
}

/// What a program says on its standard output.
pub(crate) fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
