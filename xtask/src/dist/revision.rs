//! The commit that is packaged, and its time.
//!
//! Owns the questions to git. Invariant: every time in a package is the time of the commit.

use std::process::Command;

use anyhow::{Context as _, Result};

use super::said;
use crate::Workspace;
use crate::stage::say;

/// A commit.
#[derive(Debug, Clone)]
pub(super) struct Revision {
    /// Seconds since 1970.
    pub(super) seconds: u64,
    /// As RFC 3339 writes it.
    pub(super) iso: String,
    /// As RFC 5322 writes it, which Debian's changelogs do, too.
    pub(super) mail: String,
}

impl Revision {
    pub(super) fn read(workspace: &Workspace) -> Result<Self> {
        let git = |words: &[&str]| {
            let mut command = Command::new("git");
            command.current_dir(&workspace.root).env("TZ", "UTC");
            let line = said(command.args(words)).context("dist packages a commit");
            line.map(|line| line.trim().to_owned())
        };
        let date = |format: &str| {
            let format = format!("--date=format-local:{format}");
            git(&["log", "-1", &format, "--format=%cd"])
        };
        if !git(&["status", "--porcelain"])?.is_empty() {
            say("NOTE: the tree has changes that no commit has");
        }
        Ok(Self {
            seconds: git(&["log", "-1", "--format=%ct"])?.parse()?,
            iso: date("%Y-%m-%dT%H:%M:%SZ")?,
            mail: date("%a, %d %b %Y %H:%M:%S +0000")?,
        })
    }
}
