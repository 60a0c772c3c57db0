//! Known items: is a page found by its own distinctive words?
//!
//! Owns the site, the API documentation of a Java platform (some 10,000 pages), and the way it
//! gets into an index. What is asked, what counts as found and how the index of `SQLite` does on the
//! same pages is told in `tests/search/known_items.py`.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};

use crate::real_site::{self, Files, Server};
use crate::stage::{Counts, Ending};
use crate::{Workspace, skipped, tools};

pub(crate) const PACKAGE: &str = "openjdk-17-doc";
/// Where its pages lie.
pub(crate) const PAGES: &str = "usr/share/doc/openjdk-17-jre-headless/api";
/// The longest that indexing and asking may take, in seconds.
const LONGEST: &str = "900";

/// The site, crawled, and the server that it came from.
pub(crate) struct CrawledPages {
    pub(crate) job: PathBuf,
    pages: PathBuf,
    server: Server,
}

/// Crawls the site; without its pages or what serves them, that is the answer.
pub(crate) fn crawled(workspace: &Workspace) -> Result<Result<CrawledPages>> {
    let pages = match tools::unpacked(workspace, PACKAGE) {
        Ok(folder) => folder.join(PAGES),
        Err(error) => return Ok(Err(error)),
    };
    ensure!(
        pages.is_dir(),
        "the package {PACKAGE} has no folder {PAGES}"
    );
    let files = match Files::serving(workspace, pages.clone()) {
        Ok(files) => files,
        Err(error) => return Ok(Err(error)),
    };
    let place = workspace.target.join("known-items");
    let server = Server::start(&files, &place)?;
    let job = place.join("site.crawl");
    real_site::crawl(workspace, &server, &job, &["--speed", "max"])?;
    Ok(Ok(CrawledPages { job, pages, server }))
}

/// Has the site indexed and searched.
pub(crate) fn check(workspace: &Workspace) -> Result<Ending> {
    let python = match tools::installed(&["python3"], &["python3"]) {
        Ok(python) => python,
        Err(error) => return Ok(skipped(&error)),
    };
    let site = match crawled(workspace)? {
        Ok(site) => site,
        Err(error) => return Ok(skipped(&error)),
    };
    let status = tools::within(LONGEST, &python)
        .arg(workspace.root.join("tests/search/known_items.py"))
        .arg(site.pages)
        .arg(site.server.root())
        .arg(workspace.target.join("ci/clewline"))
        .arg(workspace.target.join("ci/examples/ask"))
        .arg(site.job)
        .status()
        .context("python does not start")?;
    if !status.success() {
        bail!("the search for known items ended with {status}");
    }
    Ok(Ending::Ran(Counts::PASSED))
}
