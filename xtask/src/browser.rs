//! The report as a browser sees it.
//!
//! Owns headless Chromium. It opens `report.html` of a crawl of the real site in a wide and a
//! narrow window, leaves pictures, and has the probe beside this file look into it. Invariant:
//! the report loads nothing and complains of nothing, and both witnesses of that, the sink and
//! the console, have been seen to work.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::driver::{Driver, LISTEN, PIPED};
use crate::real_site::{self, Files, Server};
use crate::sink::Sink;
use crate::stage::{Counts, Ending, say};
use crate::{Workspace, app_page, replayweb, search_page, skipped, tools, views};

const PROBE: &str = include_str!("probe.html");

/// What the probe does so that we know that we would notice.
const CONTROL_REQUEST: &str = "http://control.invalid/";
const CONTROL_MESSAGE: &str = "the probe runs";

/// Windows in which the report must look well.
const WINDOWS: [(u32, u32); 2] = [(1280, 900), (390, 844)];

/// Sends requests to this machine through the proxy, as all others.
pub(crate) const LOOPBACK_TOO: &str = "--proxy-bypass-list=<-loopback>";

/// The longest that Chromium may take, in seconds.
const LONGEST: &str = "60";

/// … and while it is driven.
const LONGEST_DRIVE: &str = "300";

/// Only pages of our own are opened, and root has no sandbox.
const FLAGS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-component-update",
    "--disable-dev-shm-usage",
];

/// Names of the browser by Debian, Ubuntu and its maker.
pub(crate) const BROWSERS: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// Whom the browser asks of its own accord, whatever it is told.
const BROWSERS_OWN: [&str; 3] = ["google.com", "googleapis.com", "gvt1.com"];

/// Opens the report of a fresh crawl.
pub(crate) fn check(workspace: &Workspace) -> Result<Ending> {
    let found = tools::installed(&BROWSERS, &["chromium", "fonts-dejavu-core"])
        .and_then(|program| Ok((program, Files::find(workspace)?)));
    let (program, files) = match found {
        Ok(found) => found,
        Err(error) => return Ok(skipped(&error)),
    };
    let folder = workspace.target.join("browser");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let job = folder.join("site.crawl");
    let server = Server::start(&files, &folder.join("server"))?;
    // A crawl of half a second has no course that could be drawn.
    real_site::crawl(workspace, &server, &job, &["--rate", "500/s", "-p"])?;
    let root = server.root();
    drop(server);

    let browser = Browser { program, folder };
    for window in WINDOWS {
        browser.picture(&job.join("report.html"), window)?;
    }
    browser.probe()?;
    let clewline = workspace.target.join("ci/clewline");
    views::check(&browser, &clewline, &job, &root)?;
    search_page::check(&browser, &clewline, &job)?;
    replayweb::check(workspace, &browser.program, &job)?;
    app_page::check(workspace, &browser.program)?;
    Ok(Ending::Ran(Counts::PASSED))
}

pub(crate) struct Browser {
    program: PathBuf,
    pub(crate) folder: PathBuf,
}

/// What a page left behind.
pub(crate) struct Visit {
    pub(crate) dom: String,
    /// Messages on the console.
    console: Vec<String>,
    /// Requests that went into the network, without the browser's own.
    pub(crate) requests: Vec<String>,
}

impl Browser {
    /// Takes a picture of a page, which must be silent.
    fn picture(&self, page: &Path, (width, height): (u32, u32)) -> Result<()> {
        let picture = self.folder.join(format!("report-{width}.png"));
        let visit = self.visit(
            page,
            &[
                format!("--window-size={width},{height}"),
                format!("--screenshot={}", picture.display()),
            ],
        )?;
        if !visit.console.is_empty() || !visit.requests.is_empty() {
            bail!(
                "the report is not silent: {:?} {:?}",
                visit.console,
                visit.requests
            );
        }
        if !visit.dom.contains("<table") {
            bail!("the report has no table");
        }
        let found = width_of(&fs::read(&picture).context("there is no picture")?);
        if found != Some(width) {
            bail!("the picture is {found:?} wide, not {width}");
        }
        say(&format!("picture: {}", picture.display()));
        Ok(())
    }

    /// Has the probe look into the report.
    fn probe(&self) -> Result<()> {
        let page = self.folder.join("probe.html");
        fs::write(&page, PROBE)?;
        let visit = self.visit(&page, &["--allow-file-access-from-files".to_owned()])?;
        let (_, verdict) = visit
            .dom
            .split_once("<pre id=\"verdict\">")
            .context("the probe did not run")?;
        let verdict = verdict.split('<').next().unwrap_or_default().trim();
        say(&format!("probe: {verdict}"));
        if !verdict.starts_with("ok") {
            bail!("the probe found: {verdict}");
        }
        let [message] = visit.console.as_slice() else {
            bail!("the console says {:?}", visit.console);
        };
        let [request] = visit.requests.as_slice() else {
            bail!("the page asked for {:?}", visit.requests);
        };
        if !message.contains(CONTROL_MESSAGE) || !request.contains(CONTROL_REQUEST) {
            bail!("instead of the controls there came {message:?} and {request:?}");
        }
        Ok(())
    }

    fn visit(&self, page: &Path, more: &[String]) -> Result<Visit> {
        self.visit_url(&format!("file://{}", page.display()), more)
    }

    /// Opens a page. Loopback, too, goes to the sink, unless the flags say otherwise.
    pub(crate) fn visit_url(&self, url: &str, more: &[String]) -> Result<Visit> {
        let sink = Sink::open()?;
        let mut command: Command = tools::within(LONGEST, &self.program);
        let output = command
            .args(self.flags(&sink)?)
            .args(["--enable-logging=stderr", "--dump-dom"])
            .arg(LOOPBACK_TOO)
            .args(more)
            .arg(url)
            .stdin(Stdio::null())
            .output()
            .context("the browser does not start")?;
        let requests = sink.close()?;
        let talk = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            bail!("the browser ended with {}: {talk}", output.status);
        }
        Ok(Visit {
            dom: String::from_utf8_lossy(&output.stdout).into_owned(),
            console: messages(&talk),
            requests: foreign(requests),
        })
    }

    /// Starts the browser to be driven; a flag says which addresses are not led to the sink.
    pub(crate) fn drive(&self, sink: &Sink, bypass: &str) -> Result<Driver> {
        let mut command = tools::within(LONGEST_DRIVE, Path::new("sh"));
        command
            .args(PIPED)
            .arg(&self.program)
            .args(self.flags(sink)?)
            // Without a page it would open the one that its distribution likes.
            .args([LISTEN, bypass, "about:blank"]);
        Driver::start(&mut command)
    }

    /// The flags of every visit, with a profile that nobody used yet.
    fn flags(&self, sink: &Sink) -> Result<Vec<String>> {
        let profile = self.folder.join("profile");
        if profile.exists() {
            fs::remove_dir_all(&profile)?;
        }
        let mut flags: Vec<String> = FLAGS.iter().map(|&flag| flag.to_owned()).collect();
        flags.push(format!("--proxy-server={}", sink.address()));
        flags.push(format!("--user-data-dir={}", profile.display()));
        Ok(flags)
    }
}

/// The lines of a log that pages wrote.
fn messages(log: &str) -> Vec<String> {
    let lines = log.lines().filter(|line| line.contains(":CONSOLE"));
    lines.map(str::to_owned).collect()
}

/// Requests without the browser's own.
pub(crate) fn foreign(mut requests: Vec<String>) -> Vec<String> {
    requests.retain(|line| !is_own(line));
    requests
}

/// Whether a request, by its first line, is the browser's own.
fn is_own(line: &str) -> bool {
    let target = line.split(' ').nth(1).unwrap_or_default();
    let target = target.split_once("://").map_or(target, |(_, rest)| rest);
    let host = target.split([':', '/']).next().unwrap_or_default();
    BROWSERS_OWN.iter().any(|own| {
        let rest = host.strip_suffix(own);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

/// The width of a PNG picture, which stands in the first field of its first chunk (PNG 11.2.1).
pub(crate) fn width_of(picture: &[u8]) -> Option<u32> {
    let field = picture.strip_prefix(b"\x89PNG\r\n\x1a\n")?.get(8..12)?;
    Some(u32::from_be_bytes(field.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browsers_own_requests_are_known() {
        let check = |line: &str, expected: bool| assert_eq!(is_own(line), expected, "{line}");
        check("CONNECT accounts.google.com:443 HTTP/1.1", true);
        check(
            "GET http://clients2.google.com/time/1/current HTTP/1.1",
            true,
        );
        check("GET http://127.0.0.1:8080/google.com HTTP/1.1", false);
        check("CONNECT notgoogle.com:443 HTTP/1.1", false);
        check("", false);
    }

    #[test]
    fn the_width_of_a_picture() {
        let head = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x05\x00";
        assert_eq!(width_of(head), Some(1280));
        assert_eq!(width_of(&head[..18]), None);
        assert_eq!(width_of(b"GIF89a"), None);
    }

    #[test]
    fn pages_write_to_the_console() {
        let log = "[1:1:INFO:CONSOLE:2] \"a\"\n[1:1:ERROR:dbus/bus.cc:405] no bus\n";
        assert_eq!(messages(log).len(), 1);
        assert!(PROBE.contains(CONTROL_MESSAGE) && PROBE.contains(CONTROL_REQUEST));
    }
}
