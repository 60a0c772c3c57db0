//! `cargo xtask dist`: what people install, made from one binary.
//!
//! Owns which packages there are, what is in each and the order in which they are made. It refuses
//! to know the hour and the machine: times come from the commit, paths are mapped away, names are
//! sorted. Invariant: the same binary and the same commit give the same bytes.

mod archive;
mod compile;
mod deb;
mod dependencies;
mod licences;
mod options;
mod revision;
mod sbom;
mod sums;

pub(crate) use dependencies::check as check_dependencies;
pub(crate) use options::DistOptions;
pub(crate) use sums::hexadecimal;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::Workspace;
use crate::stage::say;
use archive::{Member, Members};
use compile::Built;
use dependencies::Dependencies;
use revision::Revision;

/// Shells, and what a file with completions for one is called.
const COMPLETIONS: [(&str, &str); 5] = [
    ("bash", "clewline.bash"),
    ("elvish", "clewline.elv"),
    ("fish", "clewline.fish"),
    ("powershell", "_clewline.ps1"),
    ("zsh", "_clewline"),
];

/// Files of the tree that every archive has.
const TEXTS: [&str; 5] = [
    "CHANGELOG.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "docs/clewline.example.toml",
];

/// Everything that goes into a package, whatever its form.
struct Product {
    version: String,
    built: Built,
    revision: Revision,
    texts: Members,
    pages: Members,
    completions: Members,
    licences: String,
    sbom: String,
}

/// Runs the verb with the words after it.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    let options = DistOptions::parse(words)?;
    make(workspace, &options)?;
    Ok(())
}

/// Makes every package this platform has; the folder they are in.
pub(crate) fn make(workspace: &Workspace, options: &DistOptions) -> Result<PathBuf> {
    let folder = options
        .out
        .clone()
        .unwrap_or_else(|| workspace.target.join("dist/packages"));
    if folder.exists() {
        fs::remove_dir_all(&folder).context("what an earlier run left")?;
    }
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let product = Product::gather(workspace, options, &folder)?;
    let archive = folder.join(format!("{}.tar.gz", product.archive_name()));
    archive::write(&archive, &product.archive_members(), &product.revision)?;
    let bill = format!("clewline-{}.cdx.json", product.version);
    fs::write(folder.join(bill), &product.sbom)?;
    if product.built.is_gnu_linux() {
        deb::write(&folder, &product)?;
    }
    sums::write(&folder)?;
    for file in sums::files(&folder)? {
        let bytes = fs::metadata(&file)?.len();
        say(&format!("{bytes:>10}  {}", file.display()));
    }
    Ok(folder)
}

impl Product {
    fn gather(workspace: &Workspace, options: &DistOptions, folder: &Path) -> Result<Self> {
        let revision = Revision::read(workspace)?;
        let built = Built::make(workspace, options, folder)?;
        let dependencies = Dependencies::read(workspace, &built.target)?;
        let pages = pages(&built.binary, &folder.join("man"))?;
        let text = |path: &&str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            Member::read(name, &workspace.root.join(path))
        };
        Ok(Self {
            version: dependencies.version().to_owned(),
            texts: TEXTS.iter().map(text).collect::<Result<_>>()?,
            pages,
            completions: completions(&built.binary)?,
            licences: licences::texts(&workspace.root, &dependencies)?,
            sbom: sbom::json(&dependencies, &revision)?,
            revision,
            built,
        })
    }

    fn archive_name(&self) -> String {
        archive_name(&self.version, &self.built.target)
    }

    fn archive_members(&self) -> Members {
        let mut members = vec![Member::program(self.built.name(), &self.built.bytes)];
        members.extend(self.texts.iter().cloned());
        members.push(Member::text("THIRD-PARTY-LICENSES.txt", &self.licences));
        members.push(Member::text("sbom.cdx.json", &self.sbom));
        members.extend(archive::below("man/man1", &self.pages));
        members.extend(archive::below("completions", &self.completions));
        archive::below(&self.archive_name(), &members)
    }
}

/// What an archive and the folder in it are called. `cargo binstall` and `install.sh` know it, too.
fn archive_name(version: &str, target: &str) -> String {
    format!("clewline-{version}-{target}")
}

/// The manual pages that the binary writes.
fn pages(binary: &Path, folder: &Path) -> Result<Members> {
    said(Command::new(binary).arg("manual").arg(folder))?;
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        pages.push(Member::read(&name, &entry.path())?);
    }
    fs::remove_dir_all(folder)?;
    pages.sort();
    Ok(pages)
}

fn completions(binary: &Path) -> Result<Members> {
    let written = |(shell, name): (&str, &str)| {
        let text = said(Command::new(binary).args(["completions", shell]))?;
        Ok(Member::text(name, &text))
    };
    COMPLETIONS.into_iter().map(written).collect()
}

/// What a program prints, if it ends well.
fn said(command: &mut Command) -> Result<String> {
    let name = format!("{command:?}");
    let output = command.output();
    let output = output.with_context(|| format!("{name} does not start"))?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    let status = output.status;
    ensure!(
        status.success(),
        "{name} ended with {status}: {}",
        complaint.trim()
    );
    String::from_utf8(output.stdout).with_context(|| format!("what {name} prints"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_binstall_knows_what_archives_are_called() {
        let manifest = include_str!("../../../crates/cli/Cargo.toml");
        let name = archive_name("{ version }", "{ target }");
        let expected = [
            format!("/releases/download/v{{ version }}/{name}.tar.gz\""),
            format!("bin-dir = \"{name}/{{ bin }}{{ binary-ext }}\""),
        ];
        for part in expected {
            assert!(manifest.contains(&part), "{part}");
        }
    }
}
