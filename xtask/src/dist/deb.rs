//! The package for Debian and what comes from it.
//!
//! Owns where things lie after an installation and what the package says of itself. `dpkg-deb`
//! writes the file. Invariant: lintian finds nothing but what `OVERRIDES` explains.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::archive::{self, Member, Members};
use super::{Product, said};

/// Who answers for the package.
const MAINTAINER: &str = "The Clewline project <clewline@users.noreply.github.com>";

const HOMEPAGE: &str = "https://github.com/clewline/clewline";

/// What the package says, after its first line.
const DESCRIPTION: &str = "\
web crawler that never loses its place
 Clewline fetches a whole site politely, survives a crash at any moment, and
 keeps everything in one folder that can be searched, replayed, exported and
 checked. Every request and response is archived as WARC.
 .
 Many machines can share one crawl over a PostgreSQL database.";

/// What lintian says of every program that a Rust compiler linked as a whole.
const OVERRIDES: &str = "\
# Crates bring their C libraries, as Cargo.lock names them; the SBOM lists them.
clewline: embedded-library
# It was never uploaded to Debian.
clewline: initial-upload-closes-no-bugs
";

/// Where completions lie, under which name, and what they are called in the archive.
const COMPLETIONS: [(&str, &str); 3] = [
    (
        "clewline.bash",
        "usr/share/bash-completion/completions/clewline",
    ),
    (
        "clewline.fish",
        "usr/share/fish/vendor_completions.d/clewline.fish",
    ),
    ("_clewline", "usr/share/zsh/vendor-completions/_clewline"),
];

/// Writes the package into a folder.
pub(super) fn write(folder: &Path, product: &Product) -> Result<()> {
    let architecture = architecture(&product.built.target)?;
    let members = members(product)?;
    let tree = folder.join("deb");
    for member in &members {
        lay(&tree, member)?;
    }
    let control = [
        Member::text("control", &control(product, architecture, &members)?),
        Member::text("md5sums", &sums(&tree, &members)?),
    ];
    for member in archive::below("DEBIAN", &control) {
        lay(&tree, &member)?;
    }
    let name = format!("clewline_{}-1_{architecture}.deb", product.version);
    let mut command = Command::new("dpkg-deb");
    // Times that are later than this are set to it, in the members as in the file itself.
    command.env("SOURCE_DATE_EPOCH", product.revision.seconds.to_string());
    command.args(["--root-owner-group", "-Zxz", "--build"]);
    said(command.arg(&tree).arg(folder.join(name)))?;
    fs::remove_dir_all(&tree).with_context(|| tree.display().to_string())
}

/// What Debian calls the processor of a target.
fn architecture(target: &str) -> Result<&'static str> {
    match target.split('-').next() {
        Some("x86_64") => Ok("amd64"),
        Some("aarch64") => Ok("arm64"),
        _ => bail!("Debian has no name for {target}"),
    }
}

fn members(product: &Product) -> Result<Members> {
    let mut members = vec![Member::program("usr/bin/clewline", &product.built.bytes)];
    for page in archive::below("usr/share/man/man1", &product.pages) {
        members.push(page.gzipped()?);
    }
    for (name, place) in COMPLETIONS {
        let found = product.completions.iter().find(|it| it.path == name);
        let found = found.with_context(|| format!("there is no {name}"))?;
        members.push(Member {
            path: place.to_owned(),
            ..found.clone()
        });
    }
    members.extend(archive::below("usr/share/doc/clewline", &papers(product)?));
    let overrides = Member::text("usr/share/lintian/overrides/clewline", OVERRIDES);
    members.push(overrides);
    Ok(members)
}

/// What lies in the folder for documents.
fn papers(product: &Product) -> Result<Members> {
    let mut papers = vec![
        Member::text("copyright", &copyright()),
        Member::text("changelog.Debian", &changelog(product)).gzipped()?,
        Member::text("THIRD-PARTY-LICENSES", &product.licences).gzipped()?,
        Member::text("sbom.cdx.json", &product.sbom).gzipped()?,
    ];
    for text in &product.texts {
        match text.path.as_str() {
            "CHANGELOG.md" => {
                let renamed = Member {
                    path: "changelog".to_owned(),
                    ..text.clone()
                };
                papers.push(renamed.gzipped()?);
            }
            "README.md" | "clewline.example.toml" => papers.push(text.clone()),
            // The texts of our terms are in `copyright`.
            _ => {}
        }
    }
    Ok(papers)
}

fn control(product: &Product, architecture: &str, members: &[Member]) -> Result<String> {
    let glibc = product.built.glibc.context("the glibc is known")?;
    let bytes: usize = members.iter().map(|member| member.bytes.len()).sum();
    Ok(format!(
        "Package: clewline\nVersion: {}-1\nArchitecture: {architecture}\nMaintainer: {MAINTAINER}\n\
         Installed-Size: {}\nDepends: libc6 (>= {glibc}), libgcc-s1 (>= 4.2)\nSuggests: postgresql\n\
         Section: web\nPriority: optional\nHomepage: {HOMEPAGE}\nDescription: {DESCRIPTION}\n",
        product.version,
        bytes.div_ceil(1024),
    ))
}

fn changelog(product: &Product) -> String {
    format!(
        "clewline ({}-1) stable; urgency=medium\n\n  * Release; changelog.gz tells what changed.\n\n \
         -- {MAINTAINER}  {}\n",
        product.version, product.revision.mail,
    )
}

fn copyright() -> String {
    let mut text = format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: clewline\nSource: {HOMEPAGE}\n\
         Comment: The terms of the crates that are linked in are in THIRD-PARTY-LICENSES.gz.\n\n\
         Files: *\nCopyright: The Clewline contributors\nLicense: Expat or Apache-2.0\n\n\
         License: Expat\n"
    );
    let expat = include_str!("../../../LICENSE-MIT");
    for line in expat.trim().lines() {
        let line = if line.trim().is_empty() { "." } else { line };
        let _ = writeln!(text, " {line}");
    }
    text.push_str(
        "\nLicense: Apache-2.0\n On Debian systems the full text of the Apache License 2.0 is in\n \
         /usr/share/common-licenses/Apache-2.0.\n",
    );
    text
}

/// The sums that `dpkg --verify` compares with.
fn sums(tree: &Path, members: &[Member]) -> Result<String> {
    let paths = members.iter().map(|member| &member.path);
    said(Command::new("md5sum").args(paths).current_dir(tree))
}

/// Puts a member into a tree.
fn lay(tree: &Path, member: &Member) -> Result<()> {
    let path = tree.join(&member.path);
    let place = || path.display().to_string();
    let folder = path.parent().with_context(place)?;
    fs::create_dir_all(folder).with_context(place)?;
    fs::write(&path, &member.bytes).with_context(place)?;
    // The umask of whoever packages must not reach those who install.
    let folders = path.ancestors().skip(1);
    for folder in folders.take_while(|folder| folder.starts_with(tree)) {
        permit(folder, 0o755).with_context(place)?;
    }
    permit(&path, member.mode()).with_context(place)
}

#[cfg(unix)]
fn permit(path: &Path, mode: u32) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// Packages for Debian are made on Linux only.
#[cfg(not(unix))]
fn permit(_: &Path, _: u32) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}
