//! Where tests run the command: a folder of their own, a small web, and what came of it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use clewline_job::log::{records, urls};
use clewline_job::record::Record;
use terrarium::{LiveWeb, Page, Site, Web};

/// The program that stands for a browser, and the file in which it notes its page.
const BROWSER: &str = "browser";
const OPENED: &str = "opened";

/// A folder of its own for each test, so that no configuration lies around.
pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn with_file(self, name: &str, text: &str) -> Self {
        fs::write(self.path(name), text).unwrap();
        self
    }

    /// With a browser that notes which page it was given.
    pub(crate) fn with_browser(self) -> Self {
        let opened = self.path(OPENED);
        let opened = opened.display();
        let script = format!("#!/bin/sh\necho \"$1\" > {opened}.part\nmv {opened}.part {opened}\n");
        let place = self.with_file(BROWSER, &script);
        let may_run = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(place.path(BROWSER), may_run).unwrap();
        place
    }

    /// A command that finds that browser.
    pub(crate) fn command_with_browser(&self, line: &[&str]) -> Command {
        let mut command = self.command(line);
        command
            .env("BROWSER", self.path(BROWSER))
            .env("TMPDIR", self.path("."))
            .env("PATH", "/usr/bin:/bin");
        command
    }

    /// The page that the browser was given; waits for it, and forgets it.
    pub(crate) fn opened(&self) -> String {
        let opened = self.path(OPENED);
        while !opened.exists() {
            std::thread::yield_now();
        }
        let page = fs::read_to_string(&opened).unwrap();
        fs::remove_file(opened).unwrap();
        page.trim().to_owned()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn command(&self, line: &[&str]) -> Command {
        self.program(env!("CARGO_BIN_EXE_clewline"), line)
    }

    /// Another program, with the same clean environment.
    pub(crate) fn program(&self, program: &str, line: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(line)
            .current_dir(self.folder.path())
            .env_clear();
        command
    }

    pub(crate) fn run(&self, line: &[&str]) -> Ran {
        Ran::from(self.command(line).output().unwrap())
    }

    /// The names of everything in the folder, sorted.
    pub(crate) fn names(&self, below: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(below)).unwrap();
        let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
        let mut names: Vec<String> = entries.map(|entry| name(entry.unwrap())).collect();
        names.sort();
        names
    }

    /// The records of a job folder.
    pub(crate) fn records(&self, folder: &str) -> Vec<Record> {
        let file = self.path(folder).join(urls::FILE);
        records(&file).unwrap().map(Result::unwrap).collect()
    }
}

/// What a run of the command left.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) talk: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code().expect("no signal killed it"),
            out: String::from_utf8(output.stdout).unwrap(),
            talk: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

pub(crate) fn run(line: &[&str]) -> Ran {
    Place::new().run(line)
}

/// The host that most tests crawl; its address is its name, so nobody resolves anything.
pub(crate) const HOST: &str = "127.0.0.1";

/// A web of one site on this machine.
pub(crate) fn web_of(site: Site) -> LiveWeb {
    Web::new().site(HOST, site).start()
}

/// A site with one of everything that a report tells: pages, a redirect, a broken link, a
/// page that robots.txt forbids, and a link that leads away.
pub(crate) fn garden() -> Site {
    let home = "<title>Home</title><a href=/a>a</a> <a href=/old>old</a> <a href=/secret/>s</a> \
                <a href=http://elsewhere.test/>away</a>";
    Site::new()
        .robots("User-agent: *\nDisallow: /secret/\n")
        .page("/", Page::html(home))
        .page("/a", Page::html("<title>A</title><a href=/gone>gone</a>"))
        .page("/old", Page::redirect(301, "/a"))
}

/// What changes from run to run, made the same: the port, times, rates.
pub(crate) fn masked(text: &str, web: &LiveWeb) -> String {
    let port = web.addr(HOST).port().to_string();
    let text = text.replace(&port, "PORT");
    let volatile = [
        (r"[\d.,]+ (s|ms|pages/s|[kM]?B/s)\b", "# $1"),
        (r"[\d.]+ (secs|urls/sec/task)", "# $1"),
        (r"(?m)^in flight  \d+", "in flight  #"),
        (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "DATE"),
        (r" \(os error \d+\)", ""),
    ];
    let mask = |text: String, (pattern, mask): (&str, &str)| {
        let pattern = regex::Regex::new(pattern).unwrap();
        pattern.replace_all(&text, mask).into_owned()
    };
    volatile.into_iter().fold(text, mask)
}
