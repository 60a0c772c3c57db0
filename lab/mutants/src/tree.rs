//! The copy of the tree in which the mutants are.
//!
//! Owns the copy below the target folder, the crate of the switch in it, and the files that are
//! looked at. Refuses to touch the tree it was made from. Invariant: lints of the workspace do not
//! hold in the copy, and all else does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// A part of the product: its name, its package, and the folder below `crates` that is looked at.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
    pub(crate) crate_folder: &'static str,
    pub(crate) sources: &'static str,
}

pub(crate) const PARTS: [Part; 4] = [
    Part {
        name: "core",
        package: "clewline-core",
        crate_folder: "crates/core",
        sources: "src",
    },
    Part {
        name: "engine",
        package: "clewline",
        crate_folder: "crates/clewline",
        sources: "src/engine",
    },
    Part {
        name: "export",
        package: "clewline-export",
        crate_folder: "crates/export",
        sources: "src",
    },
    Part {
        name: "search",
        package: "clewline-search",
        crate_folder: "crates/search",
        sources: "src",
    },
];

const SWITCH: &str = include_str!("switch.rs");

/// Copies all files that git knows of, and gives the parts the switch.
pub(crate) fn copy(from: &Path, to: &Path, parts: &[&Part]) -> Result<()> {
    if to.exists() {
        fs::remove_dir_all(to).context("the copy of before cannot be removed")?;
    }
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(from)
        .output()
        .context("git does not start")?;
    ensure!(
        listed.status.success(),
        "git does not list the files of the tree"
    );
    for name in String::from_utf8(listed.stdout)?.split_terminator('\0') {
        let (source, target) = (from.join(name), to.join(name));
        if source.is_file() {
            fs::create_dir_all(target.parent().context("a file has a folder")?)?;
            fs::copy(&source, &target).with_context(|| format!("{name} cannot be copied"))?;
        }
    }
    switch(to)?;
    for part in parts {
        depend(&to.join(part.crate_folder).join("Cargo.toml"))?;
    }
    Ok(())
}

fn switch(tree: &Path) -> Result<()> {
    let folder = tree.join("lab/mutant-switch");
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("src/lib.rs"), SWITCH)?;
    let manifest = "[package]\nname = \"mutant-switch\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
        publish = false\n";
    fs::write(folder.join("Cargo.toml"), manifest)?;
    Ok(())
}

fn depend(manifest: &Path) -> Result<()> {
    let text = fs::read_to_string(manifest)?;
    let dependency = "[dependencies]\nmutant-switch = { path = \"../../lab/mutant-switch\" }\n";
    let text = text.replacen("[dependencies]\n", dependency, 1);
    let text = text.replace("[lints]\nworkspace = true\n", "");
    ensure!(
        text.contains("mutant-switch"),
        "{} has no dependencies",
        manifest.display()
    );
    fs::write(manifest, text)?;
    Ok(())
}

/// The source files of a part, but for those of tests, in order.
pub(crate) fn sources(tree: &Path, part: &Part) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![tree.join(part.crate_folder).join(part.sources)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default();
            let is_source = path.extension().is_some_and(|extension| extension == "rs");
            if path.is_dir() {
                if name != "tests" {
                    folders.push(path);
                }
            } else if is_source && name != "tests.rs" && name != "fuzzing.rs" {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
