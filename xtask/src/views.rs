//! A replayed site and a mirror as a browser sees them.
//!
//! Owns which pages are opened and what must hold: they look as before (pictures are left for
//! people to look at), every link to a page of the site leads to a capture or a file, and no
//! request goes anywhere but to the replay server.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use crate::browser::{Browser, LOOPBACK_TOO, width_of};
use crate::stage::say;

/// The window of the pictures.
const WINDOW: (u32, u32) = (1280, 900);
/// Pages that are opened, below the root.
const PAGES: [(&str, &str); 2] = [("", "home"), ("lang_select.html", "inner")];

/// What the server says of what was not captured.
const MISSING: &str = "<title>Not in the archive</title>";

/// Opens pages of a crawl in both views.
pub(crate) fn check(browser: &Browser, clewline: &Path, job: &Path, root: &str) -> Result<()> {
    let replay = Replay::start(clewline, job)?;
    for (page, name) in PAGES {
        let url = format!("http://{}/web/{root}{page}", replay.address);
        let only = format!("{LOOPBACK_TOO};{}", replay.address);
        let dom = picture(browser, &url, &format!("replay-{name}"), vec![only])?;
        ensure!(dom.contains("<clewline-banner "), "{url} has no banner");
        let links = references(&dom, "/web/");
        let own = links.iter().filter(|link| link.contains(root));
        let mut count = 0;
        for link in own {
            ensure!(replay.has(link)?, "{link} on {url} leads nowhere");
            count += 1;
        }
        ensure!(count > 10, "{url} has {count} links");
        say(&format!(
            "replay of /{page}: {count} links lead to captures"
        ));
    }
    drop(replay);
    mirror(browser, clewline, job, root)
}

fn mirror(browser: &Browser, clewline: &Path, job: &Path, root: &str) -> Result<()> {
    let folder = browser.folder.join("mirror");
    let status = Command::new(clewline)
        .arg("export")
        .arg(job)
        .args(["--to", "mirror", "--output"])
        .arg(&folder)
        .status()
        .context("the export does not start")?;
    ensure!(status.success(), "the export ended with {status}");
    let host = root.trim_start_matches("http://").trim_end_matches('/');
    let site = folder.join(format!("{}~http", host.replace(':', "~")));
    for (page, name) in PAGES {
        let file = site.join(if page.is_empty() { "index.html" } else { page });
        let url = format!("file://{}", file.display());
        let dom = picture(browser, &url, &format!("mirror-{name}"), Vec::new())?;
        let links = references(&dom, "");
        // What a script of the page puts there is not the mirror's: it cannot be known before.
        let written = fs::read(&file)?;
        let written = String::from_utf8_lossy(&written);
        let own = links
            .iter()
            .filter(|link| !link.contains(':') && written.contains(link.as_str()));
        let mut count = 0;
        for link in own {
            let link = link.split('#').next().unwrap_or_default();
            ensure!(site.join(link).exists(), "{link} in {url} leads nowhere");
            count += 1;
        }
        ensure!(count > 10, "{url} has {count} links");
        say(&format!("mirror of /{page}: {count} links lead to files"));
    }
    Ok(())
}

/// Takes a picture of a page; answers its document.
fn picture(browser: &Browser, url: &str, name: &str, mut flags: Vec<String>) -> Result<String> {
    let picture = browser.folder.join(format!("{name}.png"));
    let (width, height) = WINDOW;
    flags.push(format!("--window-size={width},{height}"));
    flags.push(format!("--screenshot={}", picture.display()));
    let visit = browser.visit_url(url, &flags)?;
    if !visit.requests.is_empty() {
        bail!("{url} asks for {:?}", visit.requests);
    }
    let found = width_of(&fs::read(&picture).context("there is no picture")?);
    ensure!(found == Some(width), "the picture is {found:?} wide");
    say(&format!("picture: {}", picture.display()));
    Ok(visit.dom)
}

/// The values of `href` and `src` that begin so, without fragments alone.
fn references(dom: &str, start: &str) -> Vec<String> {
    let mut found = Vec::new();
    for name in [" href=\"", " src=\""] {
        for rest in dom.split(name).skip(1) {
            let value = rest.split('"').next().unwrap_or_default();
            if value.starts_with(start) && !value.starts_with('#') && !value.contains("/*/") {
                found.push(value.replace("&amp;", "&"));
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// A replay server; it ends with this value.
pub(crate) struct Replay {
    child: Child,
    pub(crate) address: String,
}

impl Replay {
    pub(crate) fn start(clewline: &Path, job: &Path) -> Result<Self> {
        let mut child = Command::new(clewline)
            .args(["serve", "--port", "0"])
            .arg(job)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("the replay server does not start")?;
        let out = child.stdout.take().context("stdout was asked for")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let rest = line.split("http://").nth(1);
        let address = rest.and_then(|rest| rest.split('/').next());
        let address = address.unwrap_or_default().to_owned();
        Ok(Self { child, address })
    }

    /// Whether there is a capture, be it of a page that was not found.
    fn has(&self, path: &str) -> Result<bool> {
        let path = path.split('#').next().unwrap_or_default();
        Ok(!self.answer(path)?.contains(MISSING))
    }

    /// The answer to a request, with its head.
    pub(crate) fn answer(&self, path: &str) -> Result<String> {
        let mut stream = TcpStream::connect(&self.address)?;
        let host = &self.address;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        ensure!(answer.starts_with("HTTP/1."), "{path} is not answered");
        Ok(answer)
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found_once() {
        let dom =
            r##"<a href="/web/1/x?a&amp;b"><img src="/web/1/x?a&b"><a href="#y"><a href="z">"##;
        assert_eq!(references(dom, "/web/"), ["/web/1/x?a&b"]);
        assert_eq!(references(dom, ""), ["/web/1/x?a&b", "z"]);
    }
}
