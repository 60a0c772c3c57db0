//! The packaged library in a project of somebody else, as `cargo add clewline` brings it.
//!
//! Owns the project and the folder that stands for the registry: `cargo vendor` fills it with the
//! crates of others, and ours are unpacked beside them. It refuses to know how crates are packaged.
//! Invariant: the project sees nothing of this workspace but what the packages hold.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::{Bench, Impossible, said};
use crate::cargo::program;
use crate::{dist, tools};

/// The longest that compiling the project may take, in seconds.
const COMPILING: &str = "900";

/// The `[workspace]` keeps cargo from looking for one around it.
const MANIFEST: &str =
    "[package]\nname = \"added\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n";

/// Compiles the README's Rust example against the packages.
pub(super) fn check(bench: &Bench) -> Result<()> {
    let packages = bench.place.join("crates/package");
    ensure!(packages.is_dir(), "no crate was packaged");
    let registry = match vendored(bench) {
        Ok(folder) => folder,
        Err(error) => return Err(Impossible(format!("no crates of others: {error:#}")).into()),
    };
    for entry in fs::read_dir(packages)? {
        let path = entry?.path();
        if path.extension() == Some("crate".as_ref()) {
            unpack(&path, &registry)?;
        }
    }
    let readme = fs::read_to_string(bench.workspace.root.join("README.md"))?;
    let example = rust_block(&readme).context("the README has no Rust example")?;
    let project = bench.empty("added")?;
    write(&project.join("Cargo.toml"), MANIFEST)?;
    write(&project.join("src/main.rs"), example)?;
    write(&project.join(".cargo/config.toml"), &sources(&registry))?;
    cargo(&project, &["add", "clewline"])?;
    cargo(
        &project,
        &["add", "tokio", "--features", "macros,rt-multi-thread"],
    )?;
    // Kept between runs, so that only what changed is compiled.
    let target = bench.place.join("added-target");
    let target = target.to_str().context("the target folder has a name")?;
    cargo(&project, &["check", "--target-dir", target])
}

/// The crates of others as `Cargo.lock` names them, fetched if it changed.
fn vendored(bench: &Bench) -> Result<PathBuf> {
    let folder = bench.place.join("vendor");
    let lock = fs::read(bench.workspace.root.join("Cargo.lock"))?;
    let marker = bench.place.join("vendor.lock");
    if fs::read(&marker).is_ok_and(|kept| kept == lock) {
        return Ok(folder);
    }
    let mut command = tools::within(COMPILING, &program());
    command.current_dir(&bench.workspace.root);
    command.args(["vendor", "--quiet", "--locked", "--versioned-dirs"]);
    said(command.arg(&folder))?;
    fs::write(&marker, lock)?;
    Ok(folder)
}

/// Puts one of our packages into the folder that stands for the registry.
fn unpack(package: &Path, registry: &Path) -> Result<()> {
    let name = package.file_stem().context("a package has a name")?;
    let folder = registry.join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    said(
        Command::new("tar")
            .arg("-xzf")
            .arg(package)
            .arg("-C")
            .arg(registry),
    )?;
    let digest = dist::hexadecimal(&fs::read(package)?);
    let sums = format!("{{\"files\":{{}},\"package\":\"{digest}\"}}");
    write(&folder.join(".cargo-checksum.json"), &sums)
}

/// Has cargo look for every crate in a folder.
fn sources(registry: &Path) -> String {
    format!(
        "[source.crates-io]\nreplace-with = \"folder\"\n\n[source.folder]\ndirectory = {:?}\n",
        registry.display().to_string()
    )
}

/// The first block of Rust on a page.
fn rust_block(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once("\n```rust\n")?;
    rest.split_once("```").map(|(block, _)| block)
}

fn cargo(project: &Path, words: &[&str]) -> Result<()> {
    let mut command = tools::within(COMPILING, &program());
    command.current_dir(project).args(words);
    said(command.args(["--offline", "--quiet"])).map(drop)
}

fn write(path: &Path, text: &str) -> Result<()> {
    let place = || path.display().to_string();
    fs::create_dir_all(path.parent().with_context(place)?).with_context(place)?;
    fs::write(path, text).with_context(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_block_of_rust_is_taken() {
        let page = "a\n```sh\nls\n```\n```rust\nfn main() {}\n```\n```rust\nb\n```\n";
        assert_eq!(rust_block(page), Some("fn main() {}\n"));
        assert_eq!(rust_block("```sh\nls\n```"), None);
    }
}
