//! The crawlers of others, and how they go on after a kill.
//!
//! Owns the command lines: the first, and the one that the manual names for going on.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::Workspace;
use crate::bench::ground::said;
use crate::tools;

/// A line for each: its name and version, the first command and the one that goes on.
pub(super) fn commands(workspace: &Workspace) -> Result<String> {
    let wget = tools::installed(&["wget"], &["wget"])?;
    let httrack = tools::installed(&["httrack"], &["httrack"])?;
    let scrapy = scrapy(workspace)?;
    let spider = workspace.root.join("xtask/rivals/scrapy_spider.py");
    let wget_words = format!(
        "{} --quiet --recursive --level=inf --no-clobber --execute=robots=off --follow-tags=a \
         --waitretry=0 --retry-on-http-error=500 --directory-prefix={{out}}/wget {{url}}",
        wget.display()
    );
    let httrack_words = |goes_on: &str| {
        format!(
            "{} {{url}} -O {{out}}/httrack --quiet -s0 -c16 -%c0 -A0 --disable-security-limits \
             -p1 -I0 -%v0 {goes_on}",
            httrack.display()
        )
    };
    let scrapy_words = format!(
        "{} runspider --nolog -s JOBDIR={{out}}/scrapy -s RETRY_ENABLED=True \
         -s COOKIES_ENABLED=True -a url={{url}} -a in_flight=24 {}",
        scrapy.display(),
        spider.display()
    );
    let lines = [
        (
            version("wget", &wget, "--version"),
            wget_words.clone(),
            wget_words,
        ),
        (
            version("HTTrack", &httrack, "--version"),
            httrack_words(""),
            httrack_words("--continue"),
        ),
        (
            version("Scrapy", &scrapy, "version"),
            scrapy_words.clone(),
            scrapy_words,
        ),
    ];
    let line =
        |(name, first, again): &(String, String, String)| format!("{name}\t{first}\t{again}");
    Ok(lines.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// Scrapy, in the folder where the benchmark keeps it.
fn scrapy(workspace: &Workspace) -> Result<std::path::PathBuf> {
    let folder = workspace.target.join("bench/rivals/venv");
    let program = folder.join("bin/scrapy");
    if !program.is_file() {
        fetch(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let pip = folder.join("bin/pip");
        fetch(Command::new(pip).args(["install", "--quiet", "scrapy"]))?;
    }
    Ok(program)
}

fn fetch(command: &mut Command) -> Result<()> {
    let name = command.get_program().display().to_string();
    let status = command.status().with_context(|| name.clone())?;
    ensure!(status.success(), "{name} failed; see above");
    Ok(())
}

/// A name with the first number that the program says of itself.
fn version(name: &str, program: &Path, word: &str) -> String {
    let told = said(&program.display().to_string(), &[word]).unwrap_or_default();
    let is_version = |word: &&str| word.starts_with(|letter: char| letter.is_ascii_digit());
    let number = told.split_whitespace().find(is_version).unwrap_or_default();
    format!("{name} {number}").trim_end().to_owned()
}
