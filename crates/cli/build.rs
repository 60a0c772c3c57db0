//! Which commit the command is built from, for `clewline --version`.
//!
//! Owns the two variables that `flags` reads: the revision, and the target that the build is for.
//! A packager without git sets `CLEWLINE_COMMIT` and `CLEWLINE_COMMIT_DATE`. It refuses to know
//! when the build happens: the date is that of the commit, so the same commit gives the same bytes.
//! Invariant: it runs again only when the commit or one of its variables changes.

use std::path::Path;
use std::process::Command;

/// Digits of the commit that are shown: the same in every clone, unlike git's own short form.
const DIGITS: usize = 10;

/// Files of git, one of which changes with every commit and checkout.
const WATCHED: [&str; 3] = ["HEAD", "logs/HEAD", "packed-refs"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let revision = from_variables().or_else(from_git);
    let revision = revision.unwrap_or_else(|| "unknown commit".to_owned());
    println!("cargo::rustc-env=CLEWLINE_REVISION={revision}");
    let target = std::env::var("TARGET").unwrap_or_else(|_| "unknown".to_owned());
    println!("cargo::rustc-env=CLEWLINE_TARGET={target}");
}

fn from_variables() -> Option<String> {
    let variable = |name: &str| {
        println!("cargo::rerun-if-env-changed={name}");
        std::env::var(name).ok().filter(|value| !value.is_empty())
    };
    let (commit, date) = (
        variable("CLEWLINE_COMMIT"),
        variable("CLEWLINE_COMMIT_DATE"),
    );
    let commit: String = commit?.chars().take(DIGITS).collect();
    Some(date.map_or(commit.clone(), |date| format!("{commit} {date}")))
}

fn from_git() -> Option<String> {
    // A source archive may lie in the repository of another project.
    git(&["ls-files", "--error-unmatch", "Cargo.toml"])?;
    watch();
    let format = ["--date=format-local:%Y-%m-%d", "--format=%H %cd"];
    let line = git(&["log", "-1", format[0], format[1]])?;
    let (commit, date) = line.split_once(' ')?;
    Some(format!("{} {date}", commit.get(..DIGITS)?))
}

/// Cargo takes a watched file that does not exist for a change, so only those that do are named.
fn watch() {
    let branch = git(&["symbolic-ref", "HEAD"]);
    let files = WATCHED.into_iter().map(str::to_owned).chain(branch);
    for path in files.filter_map(|file| git(&["rev-parse", "--git-path", &file])) {
        if Path::new(&path).is_file() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// What git answers, if it is there and content.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(arguments)
        .env("TZ", "UTC")
        .output();
    let output = output.ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
