//! The ground everything stands on: folders, cores, and building what is measured.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::options::Options;

/// The core of the servers, and of the harness itself.
pub(crate) const SERVER_CORE: usize = 0;

/// The core of whoever is measured.
pub(crate) const CRAWLER_CORE: usize = 1;

/// Where things are.
#[derive(Debug, Clone)]
pub(crate) struct Ground {
    /// The workspace.
    pub(crate) root: PathBuf,
    /// Whatever a run leaves behind.
    pub(crate) scratch: PathBuf,
    /// Files of contestants go to memory where that is possible, so that no disk is measured.
    pub(crate) memory: PathBuf,
    target: PathBuf,
    profile: String,
}

impl Ground {
    pub(crate) fn prepare(options: &Options) -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("xtask lies in the workspace")?
            .to_path_buf();
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| root.join("target"), |folder| root.join(folder));
        let scratch = target.join("bench");
        std::fs::create_dir_all(&scratch)?;
        let shared = Path::new("/dev/shm");
        let memory = if shared.is_dir() {
            shared.join(format!("clewline-bench-{}", std::process::id()))
        } else {
            scratch.join("out")
        };
        Ok(Self {
            root,
            scratch,
            memory,
            target,
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
        self.target.join(folder).join(name).display().to_string()
    }

    /// Builds packages of the workspace.
    pub(crate) fn build(&self, packages: &[&str]) -> Result<()> {
        println!("building {} ({})", packages.join(", "), self.profile);
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.current_dir(&self.root);
        cargo.args(["build", "--quiet", "--profile", &self.profile]);
        for package in packages {
            cargo.args(["--package", package]);
        }
        ensure!(cargo.status()?.success(), "the build failed");
        Ok(())
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

/// Where a program lies, if it is installed.
pub(crate) fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// What a program says on its standard output.
pub(crate) fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
