//! Real pages, read twice.
//!
//! Owns the choice of three documentation sites by different hands, from Debian's packages. The
//! library's own test reads each page with the tokenizer and with a second opinion, whole and
//! damaged; it refuses to know how.

use std::env;
use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};

use crate::stage::Ending;
use crate::{Workspace, cargo, skipped, tools};

/// Packages, and where their pages lie.
const SITES: [(&str, &str); 3] = [
    (
        "openjdk-17-doc",
        "usr/share/doc/openjdk-17-jre-headless/api",
    ),
    ("sqlite3-doc", "usr/share/doc/sqlite3"),
    ("git-doc", "usr/share/doc/git-doc"),
];

/// Has the pages read.
pub(crate) fn check(workspace: &Workspace) -> Result<Ending> {
    let folders = match folders(workspace) {
        Ok(folders) => env::join_paths(folders).context("a folder with a colon")?,
        Err(error) => return Ok(skipped(&error)),
    };
    // All libraries, of which one has the test: for fewer packages, crates that they share would
    // have other features and be built once more.
    let what = [
        "test",
        "--profile",
        "ci",
        "--workspace",
        "--lib",
        "--",
        "--nocapture",
        "extract::tests::pages",
    ];
    cargo::run_with(workspace, &what, ("CLEWLINE_PAGES", &folders))
}

fn folders(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let folder = |(package, place): (&str, &str)| {
        let folder = tools::unpacked(workspace, package)?.join(place);
        ensure!(
            folder.is_dir(),
            "the package {package} has no pages in {}",
            folder.display()
        );
        Ok(folder)
    };
    SITES.into_iter().map(folder).collect()
}
