//! Packages as people meet them: made twice, compared, checked by Debian's tools, installed.
//!
//! Owns what must hold of packages. The binary is the one that the other stages test, so nothing is
//! built again. It refuses to know how packages are made. Invariant: a check that can't be done here
//! is told by name and counts as skipped, in CI as failed.

mod added;
mod debian_root;
mod installer;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use crate::real_site::{Files, Server};
use crate::stage::{Counts, Ending, say};
use crate::{Workspace, cargo, dist, stage, tools};

/// The longest that one command of a check may take, in seconds.
const LONGEST: &str = "120";

/// The site that installed commands crawl: files and what they say.
const SITE: [(&str, &str); 2] = [
    (
        "index.html",
        "<!doctype html><title>Start</title><p>A start with a <a href=\"inner.html\">link</a>.",
    ),
    (
        "inner.html",
        "<!doctype html><title>Inner</title><p>Here the word quixotic stands.",
    ),
];

/// Crates that no registry gets.
const UNPUBLISHED: [&str; 8] = [
    "bench-client",
    "clewline-python",
    "fieldwork",
    "ladder",
    "mutate",
    "mutants",
    "terrarium",
    "xtask",
];

/// The word that only the inner page has, and the name of that page.
const WORD: (&str, &str) = ("quixotic", "inner.html");

/// Where the checks work.
struct Bench {
    workspace: Workspace,
    /// A folder of their own.
    place: PathBuf,
    /// The folder of packages.
    packages: PathBuf,
    /// Serves `SITE`, and packages below `packages/`.
    server: Server,
}

/// A check: what it proves, and how.
type Check = (&'static str, fn(&Bench) -> Result<()>);

const CHECKS: [Check; 10] = [
    ("two runs give the same bytes", same_bytes),
    ("sums are right", right_sums),
    ("lintian is content", lintian),
    ("the archive works where it is unpacked", archive),
    ("manual pages are sound", manual_pages),
    ("bash completes verbs", completions),
    (
        "install.sh installs, and refuses a wrong sum",
        installer::check,
    ),
    ("the deb installs into an empty Debian", debian_root::check),
    ("crates can be published", crates),
    (
        "the packaged library compiles where it is added",
        added::check,
    ),
];

/// Makes packages of the binary that is tested, and checks them.
pub(crate) fn check(workspace: &Workspace) -> Result<Ending> {
    let needed = [
        ("dpkg-deb", "dpkg"),
        ("lintian", "lintian"),
        ("man", "man-db"),
        ("objdump", "binutils"),
    ];
    for (program, package) in needed {
        if let Err(error) = tools::installed(&[program], &[package]) {
            return Ok(crate::skipped(&error));
        }
    }
    let pages = workspace.target.join("packaging/site");
    let files = match Files::serving(workspace, pages.clone()) {
        Ok(files) => files,
        Err(error) => return Ok(crate::skipped(&error)),
    };
    let bench = Bench::prepare(workspace, &files, &pages)?;
    let mut counts = Counts::default();
    for (what, check) in CHECKS {
        let began = std::time::Instant::now();
        let ended = check(&bench);
        let seconds = began.elapsed().as_secs_f64();
        let verdict = ended.as_ref().err().map(|error| format!("{error:#}"));
        let verdict = verdict.as_deref().unwrap_or("ok");
        say(&format!("{what}: {verdict} ({seconds:.1} s)"));
        counts += match &ended {
            Ok(()) => Counts::PASSED,
            Err(error) if error.is::<Impossible>() => stage::skip(stage::in_ci()),
            Err(_) => Counts::FAILED,
        };
    }
    Ok(Ending::Ran(counts))
}

/// Why a check could not be done here.
#[derive(Debug)]
struct Impossible(String);

impl std::fmt::Display for Impossible {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "SKIPPED: {}", self.0)
    }
}

impl std::error::Error for Impossible {}

impl Bench {
    /// Writes the site, serves it, and makes packages below it.
    fn prepare(workspace: &Workspace, files: &Files, pages: &Path) -> Result<Self> {
        let place = workspace.target.join("packaging");
        let packages = pages.join("packages");
        fs::create_dir_all(pages)?;
        for (name, text) in SITE {
            fs::write(pages.join(name), text)?;
        }
        let server = Server::start(files, &place.join("server"))?;
        make(workspace, &packages)?;
        Ok(Self {
            workspace: workspace.clone(),
            place,
            packages,
            server,
        })
    }

    /// The package with this ending.
    fn package(&self, ending: &str) -> Result<PathBuf> {
        let names = fs::read_dir(&self.packages)?.filter_map(Result::ok);
        let mut paths = names.map(|entry| entry.path());
        let has_ending = |path: &PathBuf| path.to_string_lossy().ends_with(ending);
        let found = paths.find(has_ending);
        found.with_context(|| format!("there is no package {ending}"))
    }

    /// A folder with nothing in it.
    fn empty(&self, name: &str) -> Result<PathBuf> {
        let folder = self.place.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }
}

fn make(workspace: &Workspace, folder: &Path) -> Result<()> {
    let options = dist::DistOptions {
        binary: Some(workspace.target.join("ci/clewline")),
        target: None,
        out: Some(folder.to_owned()),
    };
    dist::make(workspace, &options).map(|_| ())
}

fn same_bytes(bench: &Bench) -> Result<()> {
    let again = bench.place.join("again");
    make(&bench.workspace, &again)?;
    let mut count = 0;
    for entry in fs::read_dir(&bench.packages)? {
        let entry = entry?;
        let (first, second) = (entry.path(), again.join(entry.file_name()));
        let same = fs::read(&first)? == fs::read(&second)?;
        ensure!(same, "{} has other bytes", second.display());
        count += 1;
    }
    ensure!(count >= 4, "there are only {count} files");
    Ok(())
}

fn right_sums(bench: &Bench) -> Result<()> {
    let mut command = tools::within(LONGEST, Path::new("sha256sum"));
    command.args(["--check", "--strict", "SHA256SUMS"]);
    said(command.current_dir(&bench.packages)).map(|_| ())
}

fn lintian(bench: &Bench) -> Result<()> {
    let mut command = tools::within(LONGEST, Path::new("lintian"));
    command.args(["--allow-root", "--fail-on", "error,warning"]);
    let words = said(command.arg(bench.package(".deb")?))?;
    ensure!(words.trim().is_empty(), "{}", words.trim());
    Ok(())
}

/// Unpacks the archive; the folder in it.
fn unpacked(bench: &Bench, name: &str) -> Result<PathBuf> {
    let folder = bench.empty(name)?;
    let archive = bench.package(".tar.gz")?;
    let mut command = tools::within(LONGEST, Path::new("tar"));
    command.arg("-xzf").arg(&archive).arg("-C").arg(&folder);
    said(&mut command)?;
    let inner = fs::read_dir(&folder)?.next();
    Ok(inner.context("the archive is empty")??.path())
}

fn archive(bench: &Bench) -> Result<()> {
    let folder = unpacked(bench, "unpacked")?;
    let binary = folder.join("clewline");
    let own = said(Command::new(&binary).arg("-V"))?;
    let tested = said(Command::new(bench.workspace.target.join("ci/clewline")).arg("-V"))?;
    ensure!(own == tested, "{own:?} is not {tested:?}");
    let licences = fs::read_to_string(folder.join("THIRD-PARTY-LICENSES.txt"))?;
    ensure!(licences.contains("\ntokio "), "tokio's terms are missing");
    let bill = fs::read_to_string(folder.join("sbom.cdx.json"))?;
    let bill: serde_json::Value = serde_json::from_str(&bill)?;
    let parts = bill["components"].as_array().map_or(0, Vec::len);
    ensure!(parts > 100, "the SBOM names only {parts} crates");
    crawl_and_search(&mut || Ok(Command::new(&binary)), &folder, bench)
}

/// Crawls the site with an installed command, and finds the page with the word.
fn crawl_and_search(
    command: &mut dyn FnMut() -> Result<Command>,
    folder: &Path,
    bench: &Bench,
) -> Result<()> {
    let job = folder.join("site.crawl");
    let mut crawl = command()?;
    crawl.args(["crawl", "--no-config", "--noproxy", "*", "--output"]);
    said(crawl.arg(&job).arg(bench.server.root()))?;
    let mut search = command()?;
    let found = said(search.arg("search").arg(&job).arg(WORD.0))?;
    ensure!(found.contains(WORD.1), "{:?} is not found: {found}", WORD.0);
    Ok(())
}

fn manual_pages(bench: &Bench) -> Result<()> {
    let folder = unpacked(bench, "manual")?.join("man/man1");
    let mut count = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let mut command = tools::within(LONGEST, Path::new("man"));
        command.args(["--warnings", "-E", "UTF-8", "-Tutf8", "-Z", "-l"]);
        command.env("LC_ALL", "C.UTF-8").env("MANROFFSEQ", "");
        let output = command.arg(&path).stdin(Stdio::null()).output()?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        let is_sound = output.status.success() && complaint.trim().is_empty();
        ensure!(is_sound, "{}: {}", path.display(), complaint.trim());
        count += 1;
    }
    ensure!(count > 10, "there are only {count} pages");
    Ok(())
}

fn completions(bench: &Bench) -> Result<()> {
    let file = unpacked(bench, "completed")?.join("completions/clewline.bash");
    let script = "source \"$1\"; COMP_WORDS=(clewline res); COMP_CWORD=1; \
                  _clewline clewline res clewline; echo \"${COMPREPLY[*]}\"";
    let mut command = tools::within(LONGEST, Path::new("bash"));
    command.args(["--norc", "-c", script, "bash"]).arg(&file);
    let words = said(&mut command)?;
    ensure!(words.trim() == "resume", "bash completes {words:?}");
    Ok(())
}

/// Packages every crate below `crates/` as a registry would take it; the others are not for it.
fn crates(bench: &Bench) -> Result<()> {
    let mut command = tools::within(LONGEST, &cargo::program());
    command.current_dir(&bench.workspace.root);
    command.args(["package", "--workspace", "--no-verify", "--allow-dirty"]);
    command.arg("--offline");
    for name in UNPUBLISHED {
        command.args(["--exclude", name]);
    }
    let target = bench.place.join("crates");
    said(command.arg("--target-dir").arg(&target))?;
    let folders = fs::read_dir(bench.workspace.root.join("crates"))?.count();
    let files = fs::read_dir(target.join("package"))?.filter_map(Result::ok);
    let is_crate = |entry: &fs::DirEntry| entry.path().extension() == Some("crate".as_ref());
    let made = files.filter(is_crate).count();
    ensure!(made == folders, "{made} of {folders} crates were packaged");
    Ok(())
}

/// What a program prints, if it ends well.
fn said(command: &mut Command) -> Result<String> {
    let name = format!("{command:?}");
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("{name} does not start"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        bail!("{name} ended with {}: {text}{complaint}", output.status);
    }
    Ok(text)
}
