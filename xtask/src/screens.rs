//! `cargo xtask screens`: every page that we make, as people see it.
//!
//! Owns how the samples come to be and who looks at them: unit tests write them, Chromium shoots
//! them at three widths, light and dark, and axe-core from npm judges them. What must hold is told
//! in `tests/look/screens.py`. Invariant: a violation, a message on the console or a request to
//! anybody else fails the stage.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};

use crate::browser::BROWSERS;
use crate::check_forms::environment;
use crate::foreign::run as judged;
use crate::stage::{Counts, Ending, say};
use crate::{Workspace, cargo, skipped, tools};

/// The judge of accessibility.
const AXE: &str = "axe-core@4.14.1";
const AXE_FILE: &str = "axe-core-4.14.1.tgz";
const AXE_SCRIPT: &str = "package/axe.min.js";
/// What browser and fonts are called by Debian; the fonts are those of the design, and of titles in
/// wide letters.
const INSTALLED: [&str; 3] = ["chromium", "fonts-inter", "fonts-noto-cjk"];
/// The longest that all pictures may take, in seconds.
const LONGEST: &str = "1800";
/// Where the pictures of the documentation lie.
const PICTURES: &str = "docs/pictures";
/// The variable that has unit tests write their samples.
const KEPT: &str = "CLEWLINE_SAMPLE_SITES";

/// Looks at all pages, or at those whose name has a word in it; `--save` renews the pictures of the
/// documentation instead.
pub(crate) fn run(workspace: &Workspace, words: &[String]) -> Result<()> {
    ensure!(words.len() <= 1, "screens takes one word at most");
    let ending = match words.first().map_or("", String::as_str) {
        "--save" => return save(workspace),
        part => look(workspace, ["all", part])?,
    };
    match ending {
        Ending::Ran(_) => Ok(()),
        Ending::Skipped(why) => bail!("{why}"),
    }
}

/// Takes the pictures of the documentation, in few colours: half as many bytes.
fn save(workspace: &Workspace) -> Result<()> {
    let smaller = tools::installed(&["pngquant"], &["pngquant"])?;
    let pictures = workspace.root.join(PICTURES);
    let name = pictures.to_str().context("the path is no text")?;
    if let Ending::Skipped(why) = look(workspace, ["save", name])? {
        bail!("{why}");
    }
    for entry in fs::read_dir(&pictures)? {
        let mut command = tools::within(LONGEST, &smaller);
        command.args(["--force", "--skip-if-larger", "--ext", ".png"]);
        // 98: it would be larger.
        let status = command.arg(entry?.path()).status()?;
        ensure!(
            status.success() || status.code() == Some(98),
            "pngquant ended with {status}"
        );
    }
    Ok(())
}

/// The stage of the tests: every page in a few windows.
pub(crate) fn check(workspace: &Workspace) -> Result<Ending> {
    look(workspace, ["few", ""])
}

/// Looks in these windows at the pages of this part.
fn look(workspace: &Workspace, [windows, part]: [&str; 2]) -> Result<Ending> {
    let found = environment(workspace).and_then(|python| {
        let browser = tools::installed(&BROWSERS, &INSTALLED)?;
        Ok((python, browser, axe(workspace)?))
    });
    let (python, browser, axe) = match found {
        Ok(found) => found,
        Err(error) => return Ok(skipped(&error)),
    };
    let folder = workspace.target.join("screens");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let samples = [
        "test",
        "--profile",
        "ci",
        "--workspace",
        "--lib",
        "samples_can_be_looked_at",
    ];
    cargo::run_with(workspace, &samples, (KEPT, folder.as_os_str()))?;
    judged(
        tools::within(LONGEST, &python)
            .arg("-B")
            .arg(workspace.root.join("tests/look/screens.py"))
            .args([browser.as_path(), folder.as_path(), axe.as_path()])
            .args([windows, part]),
    )?;
    say(&format!("look at {}", folder.join("sheet.html").display()));
    Ok(Ending::Ran(Counts::PASSED))
}

/// The script of the judge.
pub(crate) fn axe(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target.join("packages/axe-core");
    let script = folder.join(AXE_SCRIPT);
    if script.is_file() {
        return Ok(script);
    }
    let npm = tools::installed(&["npm"], &["npm"])?;
    fs::create_dir_all(&folder)?;
    judged(
        tools::within("120", &npm)
            .args(["pack", "--silent", AXE])
            .current_dir(&folder),
    )?;
    crate::check_forms::unpack(&folder, AXE_FILE, AXE_SCRIPT)?;
    Ok(script)
}
