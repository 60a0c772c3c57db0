//! `cargo xtask website`: the documentation as a website.
//!
//! Owns how pages of `docs/` become a site: a copy in which links that leave `docs/` lead to the
//! repository, and mdBook over it with our style sheet. The stage crawls the site with our own
//! program. Invariant: a link on the site that is dead fails the stage.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::real_site::{Files, Server};
use crate::stage::{Counts, Ending, say};
use crate::{Workspace, cargo, skipped, tools};

/// The version of mdBook that the style sheet was written for.
const MDBOOK: &str = "0.5.4";
/// The longest that building mdBook may take, in seconds.
const BUILDING: &str = "900";
/// The longest that the crawl of the site may take, in seconds.
const LONGEST: &str = "120";
/// Where files outside of `docs/` can be read.
const REPOSITORY: &str = "https://github.com/clewline/clewline/blob/main";

/// Builds the site and says where it is.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    ensure!(words.is_empty(), "website takes no arguments");
    let book = build(workspace)?;
    say(&format!("the website is in {}", book.display()));
    Ok(())
}

/// Builds the site and crawls it.
pub(crate) fn check(workspace: &Workspace) -> Result<Ending> {
    let book = match build(workspace) {
        Ok(book) => book,
        Err(error) => return Ok(skipped(&error)),
    };
    let files = match Files::serving(workspace, book) {
        Ok(files) => files,
        Err(error) => return Ok(skipped(&error)),
    };
    let server = Server::start(&files, &workspace.target.join("website/server"))?;
    let status = tools::within(LONGEST, &workspace.target.join("ci/clewline"))
        .args(["crawl", "--no-config", "--quiet", "--no-output"])
        .args(["--page-requisites", "--fail-on", "broken", "--noproxy", "*"])
        .arg(server.root())
        .status()
        .context("the crawl does not start")?;
    ensure!(status.success(), "the website has dead links; see above");
    Ok(Ending::Ran(Counts::PASSED))
}

fn build(workspace: &Workspace) -> Result<PathBuf> {
    let mdbook = mdbook(workspace)?;
    let folder = workspace.target.join("website");
    let source = folder.join("src");
    if source.exists() {
        fs::remove_dir_all(&source)?;
    }
    copy(&workspace.root.join("docs"), &source, &mut |path, text| {
        outward(path, text)
    })?;
    let theme = folder.join("theme");
    copy(
        &workspace.root.join("website/theme"),
        &theme,
        &mut |_, text| text.to_owned(),
    )?;
    let tokens = workspace.root.join("crates/job/src/look/tokens.css");
    fs::copy(tokens, theme.join("tokens.css"))?;
    let book = "book.toml";
    fs::copy(workspace.root.join("website").join(book), folder.join(book))?;
    let status = Command::new(mdbook)
        .arg("build")
        .arg(&folder)
        .status()
        .context("mdBook does not start")?;
    ensure!(status.success(), "mdBook ended with {status}");
    Ok(folder.join("book"))
}

/// The program, built once into the target folder: no package of Debian has it.
fn mdbook(workspace: &Workspace) -> Result<PathBuf> {
    let root = workspace.target.join("packages/mdbook");
    let program = root.join("bin/mdbook");
    if program.is_file() {
        return Ok(program);
    }
    say(&format!("building mdBook {MDBOOK}"));
    let status = tools::within(BUILDING, &cargo::program())
        .args(["install", "mdbook", "--version", MDBOOK, "--locked"])
        .args(["--quiet", "--no-default-features", "--features", "search"])
        // Nobody waits for its speed.
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0")
        .arg("--root")
        .arg(&root)
        .arg("--target-dir")
        .arg(workspace.target.join("mdbook"))
        .status()
        .context("cargo does not start")?;
    ensure!(status.success(), "mdBook cannot be built: {status}");
    Ok(program)
}

/// Copies a folder; pages pass through a function with their path below it.
fn copy(from: &Path, to: &Path, page: &mut dyn FnMut(&Path, &str) -> String) -> Result<()> {
    copy_below(from, to, Path::new(""), page)
}

fn copy_below(
    from: &Path,
    to: &Path,
    below: &Path,
    page: &mut dyn FnMut(&Path, &str) -> String,
) -> Result<()> {
    fs::create_dir_all(to.join(below))?;
    for entry in fs::read_dir(from.join(below))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_below(from, to, &path, page)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            let text = fs::read_to_string(entry.path())?;
            fs::write(to.join(&path), page(&path, &text))?;
        } else {
            fs::copy(entry.path(), to.join(&path))?;
        }
    }
    Ok(())
}

/// Leads links that leave `docs/` to the repository; all others stay. The path is the page's own,
/// below `docs/`.
fn outward(path: &Path, text: &str) -> String {
    let depth = path.components().count() - 1;
    let leaving = format!("]({}", "../".repeat(depth + 1));
    text.replace(&leaving, &format!("]({REPOSITORY}/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_leave_the_folder_lead_to_the_repository() {
        for (path, text, expected) in [
            ("a.md", "[x](../lab/y.rs)", "[x](@/lab/y.rs)"),
            ("a.md", "[x](b.md) [y](c/d.md)", "[x](b.md) [y](c/d.md)"),
            ("c/d.md", "[x](../b.md)", "[x](../b.md)"),
            (
                "c/d.md",
                "[x](../../ARCHITECTURE.md)",
                "[x](@/ARCHITECTURE.md)",
            ),
        ] {
            let expected = expected.replace('@', REPOSITORY);
            assert_eq!(outward(Path::new(path), text), expected, "{path}");
        }
    }
}
