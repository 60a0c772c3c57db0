//! The binary that is packaged: built, stripped, and looked at.
//!
//! Owns the flags that keep the machine out of the binary, the oldest glibc it may need and the most
//! bytes it may have. It refuses to know packages. Invariant: a binary that needs a younger glibc is
//! refused, and so is one that was built here and is too large.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::{DistOptions, said};
use crate::stage::say;
use crate::{Workspace, cargo};

/// The youngest glibc that a binary may need: that of Debian 12, Ubuntu 22.04 and RHEL 9 or older.
const GLIBC: GlibcVersion = GlibcVersion(2, 35);

/// The most that a stripped binary may take, in bytes; 24 million are the goal, and docs/packaging.md
/// says what was tried and what made it grow.
const MOST_BYTES: usize = 35_000_000;

/// A version of the C library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GlibcVersion(u32, u32);

impl std::fmt::Display for GlibcVersion {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}.{}", self.0, self.1)
    }
}

/// A stripped binary.
pub(super) struct Built {
    pub(super) target: String,
    /// Where it can be run.
    pub(super) binary: PathBuf,
    pub(super) bytes: Vec<u8>,
    /// The oldest glibc that it runs with, on Linux with glibc.
    pub(super) glibc: Option<GlibcVersion>,
}

impl Built {
    /// Builds the binary, or takes the one that is named, and strips a copy of it.
    pub(super) fn make(
        workspace: &Workspace,
        options: &DistOptions,
        folder: &Path,
    ) -> Result<Self> {
        let target = match &options.target {
            Some(target) => target.clone(),
            None => host()?,
        };
        let source = match &options.binary {
            Some(binary) => workspace.root.join(binary),
            None => build(workspace, options, &target)?,
        };
        // The name of the folder of packages is not in the binary, so any will do.
        let binary = folder.with_extension("stripped");
        fs::copy(&source, &binary).with_context(|| source.display().to_string())?;
        if !target.contains("windows") {
            said(Command::new("strip").arg(&binary))?;
        }
        let bytes = fs::read(&binary)?;
        // A binary that is named may be one for tests, which is larger.
        if options.binary.is_none() {
            small_enough(bytes.len())?;
        }
        let glibc = if target.ends_with("-linux-gnu") {
            Some(glibc_of(&binary)?)
        } else {
            None
        };
        Ok(Self {
            target,
            binary,
            bytes,
            glibc,
        })
    }

    pub(super) fn is_gnu_linux(&self) -> bool {
        self.glibc.is_some()
    }

    /// The name of the command.
    pub(super) fn name(&self) -> &'static str {
        if self.target.contains("windows") {
            "clewline.exe"
        } else {
            "clewline"
        }
    }
}

impl Drop for Built {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.binary);
    }
}

/// The target that the compiler builds for unless told otherwise.
pub(super) fn host() -> Result<String> {
    let words = said(Command::new("rustc").arg("-vV"))?;
    let line = words.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(line.context("rustc does not name its host")?.to_owned())
}

/// Builds in the profile `dist`, with no path of this machine in the binary.
fn build(workspace: &Workspace, options: &DistOptions, target: &str) -> Result<PathBuf> {
    let mut command = cargo::command(workspace);
    command.args([
        "build",
        "--locked",
        "--profile",
        "dist",
        "--package",
        "clewline-cli",
        "--features",
        "mute",
    ]);
    let mut folder = workspace.target.clone();
    if options.target.is_some() {
        command.args(["--target", target]);
        folder.push(target);
    }
    let places = places(workspace)?;
    let for_rust = prefixes("--remap-path-prefix", &places);
    command.env("CARGO_ENCODED_RUSTFLAGS", for_rust.join("\u{1f}"));
    if !target.contains("msvc") {
        let for_c = prefixes("-ffile-prefix-map", &places).join(" ");
        command.env("CFLAGS", &for_c).env("CXXFLAGS", for_c);
    }
    let status = command.status().context("cargo does not start")?;
    ensure!(status.success(), "cargo ended with {status}");
    let suffix = if target.contains("windows") {
        ".exe"
    } else {
        ""
    };
    Ok(folder.join(format!("dist/clewline{suffix}")))
}

/// Folders of this machine, and what they are called in the binary. The last one that fits wins.
fn places(workspace: &Workspace) -> Result<[(PathBuf, &'static str); 3]> {
    let own = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = || std::env::home_dir().map(|home| home.join(".cargo"));
    Ok([
        (workspace.root.clone(), "/clewline"),
        (workspace.target.clone(), "/clewline/target"),
        (own.or_else(home).context("cargo has no home")?, "/cargo"),
    ])
}

fn prefixes(flag: &str, places: &[(PathBuf, &str)]) -> Vec<String> {
    let prefix = |(from, to): &(PathBuf, &str)| format!("{flag}={}={to}", from.display());
    places.iter().map(prefix).collect()
}

fn small_enough(bytes: usize) -> Result<()> {
    ensure!(
        bytes <= MOST_BYTES,
        "the stripped binary has {bytes} bytes, at most {MOST_BYTES} are promised"
    );
    Ok(())
}

/// The oldest glibc that has every symbol the binary wants.
fn glibc_of(binary: &Path) -> Result<GlibcVersion> {
    let symbols = said(Command::new("objdump").arg("-T").arg(binary))?;
    let needed = youngest(&symbols).context("the binary names no version of glibc")?;
    say(&format!("the binary needs glibc {needed} or later"));
    ensure!(
        needed <= GLIBC,
        "the binary needs glibc {needed}, at most {GLIBC} is promised"
    );
    Ok(needed)
}

/// The youngest version in a table of symbols.
fn youngest(symbols: &str) -> Option<GlibcVersion> {
    let versions = symbols.split("GLIBC_").skip(1).filter_map(|text| {
        let end = text.find(|letter: char| letter != '.' && !letter.is_ascii_digit());
        let mut parts = text[..end.unwrap_or(text.len())].split('.');
        let major = parts.next()?.parse().ok()?;
        Some(GlibcVersion(major, parts.next()?.parse().ok()?))
    });
    versions.max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_youngest_symbol_decides() {
        let check = |symbols: &str, expected: Option<(u32, u32)>| {
            let found = youngest(symbols).map(|version| (version.0, version.1));
            assert_eq!(found, expected, "{symbols}");
        };
        check("", None);
        check(
            "0 DF *UND* 0 (GLIBC_2.9) a\n0 (GLIBC_2.34) b",
            Some((2, 34)),
        );
        check("(GLIBC_2.2.5) a\n(GLIBC_PRIVATE) b", Some((2, 2)));
        assert!(GlibcVersion(2, 9) < GlibcVersion(2, 34));
    }

    #[test]
    fn a_binary_that_grew_too_large_is_refused() {
        assert!(small_enough(MOST_BYTES).is_ok());
        assert!(small_enough(MOST_BYTES + 1).is_err());
    }

    #[test]
    fn every_folder_of_the_machine_gets_another_name() {
        let workspace = Workspace {
            root: "/home/a".into(),
            target: "/home/a/target".into(),
        };
        let flags = prefixes("--map", &places(&workspace).unwrap());
        assert_eq!(flags[0], "--map=/home/a=/clewline");
        assert_eq!(flags[1], "--map=/home/a/target=/clewline/target");
        assert!(flags[2].ends_with("=/cargo"), "{}", flags[2]);
    }
}
