//! The crawlers of others, and how they come here.
//!
//! Owns the command lines: each rival starts at the root, follows the links of the same host,
//! with as many requests in flight as it can be told, without delay, robots.txt or anything
//! else than links read from pages. They write to memory where they must write.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::ground::{Ground, said};
use super::options::Options;
use super::race::contestant::{Contestant, Party};
use crate::stage::say;
use crate::tools;

/// Debian packages of rivals.
const PACKAGES: [&str; 3] = ["wget", "wget2", "httrack"];

const WGET2: [&str; 7] = [
    "wget2",
    "--quiet",
    "--recursive",
    "--level=0",
    "--no-robots",
    "--max-threads={in_flight}",
    // Parts of pages would be fetched too.
    "--ignore-tags=img,link,script",
];

const WGET: [&str; 8] = [
    "wget",
    "--quiet",
    "--recursive",
    "--level=inf",
    "--execute=robots=off",
    "--follow-tags=a",
    "--directory-prefix={out}",
    "{url}",
];

/// What wget with an archive is called. It keeps nothing else.
pub(crate) const WGET_WARC: &str = "wget --warc-file";

const HTTRACK: [&str; 13] = [
    "httrack",
    "{url}",
    "-O",
    "{out}",
    "--quiet",
    "-s0",
    "-c{in_flight}",
    "-%c0",
    "-A0",
    "--disable-security-limits",
    // Only pages, and no index of its own.
    "-p1",
    "-I0",
    "-%v0",
];

/// The rivals that can be raced here. What is not installed is said; where every answer is
/// late, those that ask one page at a time are left out.
pub(crate) fn present(ground: &Ground, options: &Options, late: bool) -> Vec<Contestant> {
    let mut present = Vec::new();
    let mut offer = |program: PathBuf, contestant: Contestant, patient: bool| {
        if !program.is_file() {
            say(&format!("  {}: not installed", contestant.name));
        } else if !late || patient {
            present.push(contestant);
        }
    };
    let find = |name: &str| tools::program(&[name]).unwrap_or_default();
    let wget2 = |name: &str, stores| Contestant::new(name, Party::Rival, stores, &WGET2);
    let files = wget2("wget2", "files").with(&["--directory-prefix={out}", "{url}"]);
    offer(find("wget2"), files, true);
    let nothing = wget2("wget2, nothing stored", "nothing");
    let nothing = nothing.with(&["--output-document=/dev/null", "{url}"]);
    offer(find("wget2"), nothing, true);
    let spider = spider_program(ground);
    let words = [&*spider.display().to_string(), "{url}", "{in_flight}"];
    let contestant = Contestant::new("spider", Party::Rival, "nothing", &words);
    offer(spider, contestant, true);
    let wget = Contestant::new("wget", Party::Rival, "files", &WGET);
    offer(find("wget"), wget.clone(), false);
    let recording = wget.with(&["--warc-file={out}/site", "--delete-after"]);
    offer(
        find("wget"),
        recording.called(WGET_WARC, "an archive"),
        false,
    );
    let httrack = Contestant::new("httrack", Party::Rival, "files", &HTTRACK);
    offer(find("httrack"), httrack, false);
    let scrapy = venv(ground).join("bin/scrapy");
    let words = scrapy_words(ground);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let contestant = Contestant::new("scrapy", Party::Rival, "nothing", &words);
    offer(scrapy, contestant, false);
    for (name, command) in &options.more_rivals {
        let words: Vec<&str> = command.split_whitespace().collect();
        present.push(Contestant::new(name, Party::Rival, "as told", &words));
    }
    present
}

fn venv(ground: &Ground) -> PathBuf {
    ground.scratch.join("rivals/venv")
}

fn scrapy_words(ground: &Ground) -> Vec<String> {
    let program = venv(ground).join("bin/scrapy").display().to_string();
    let spider = ground.workspace.root.join("xtask/rivals/scrapy_spider.py");
    let words = [
        "runspider",
        "--nolog",
        "-a",
        "url={url}",
        "-a",
        "in_flight={in_flight}",
    ];
    let mut all = vec![program];
    all.extend(words.map(str::to_owned));
    all.push(spider.display().to_string());
    all
}

fn spider_program(ground: &Ground) -> PathBuf {
    ground.scratch.join("rivals/spider/release/spider-rival")
}

/// Installs every rival: Debian's, Scrapy in a folder of its own, and a program on `spider`.
pub(crate) fn install(ground: &Ground) -> Result<()> {
    for package in PACKAGES {
        tools::installed(&[package], &[package])?;
    }
    let venv = venv(ground);
    run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    run(Command::new(venv.join("bin/pip")).args(["install", "--quiet", "scrapy"]))?;
    let manifest = ground.workspace.root.join("xtask/rivals/spider/Cargo.toml");
    let mut cargo = ground.cargo();
    cargo.args(["build", "--quiet", "--release", "--manifest-path"]);
    cargo.arg(manifest).arg("--target-dir");
    run(cargo.arg(ground.scratch.join("rivals/spider")))
}

fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().display().to_string();
    let status = command.status().with_context(|| name.clone())?;
    ensure!(status.success(), "{name} failed; see above");
    Ok(())
}

/// The versions of the rivals, for the record.
pub(crate) fn versions(ground: &Ground) -> Vec<(&'static str, String)> {
    let first_line = |text: String| text.lines().next().unwrap_or_default().trim().to_owned();
    let scrapy = venv(ground).join("bin/scrapy").display().to_string();
    let asked = [
        ("wget2", "wget2", "--version"),
        ("wget", "wget", "--version"),
        ("httrack", "httrack", "--version"),
        ("scrapy", scrapy.as_str(), "version"),
    ];
    let told = asked.into_iter().filter_map(|(name, program, word)| {
        let version = first_line(said(program, &[word])?);
        Some((name, version))
    });
    let mut versions: Vec<_> = told.collect();
    if let Some(version) = spider_version(ground) {
        versions.push(("spider", version));
    }
    versions
}

/// The version in the lock file that the build has left.
fn spider_version(ground: &Ground) -> Option<String> {
    let lock = ground.workspace.root.join("xtask/rivals/spider/Cargo.lock");
    let lock = std::fs::read_to_string(lock).ok()?;
    let (_, rest) = lock.split_once("name = \"spider\"\nversion = \"")?;
    rest.split('"').next().map(str::to_owned)
}
