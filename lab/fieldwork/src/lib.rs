//! Small webs crawled into job folders, for tests of what is made from them.
//!
//! Owns how such a crawl is set up, the comparison of folders by what lies in them, a private
//! database ([`postgres`]), a private object store ([`s3`]), ways to do harm ([`faults`]) and
//! processes ([`processes`]). Refuses to know what is made of a job;
//! only tests depend on it. Invariant: a crawl that fails, or does not end by itself, is a failure of
//! the test.
#![warn(missing_docs)]
#![expect(
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "what fails here is a failed test"
)]

pub mod faults;
pub mod postgres;
pub mod processes;
pub mod s3;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clewline::Crawl;
use clewline_job::config::{Config, RenderUse, Root, Speed};
use clewline_render::Rendering;
use tempfile::TempDir;
use terrarium::LiveWeb;

/// The host that crawls begin at.
pub const HOST: &str = "a.test";

/// A crawl that does not end by itself is stopped.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A crawl of a web into a job folder, at full speed.
pub fn config(web: &LiveWeb, folder: &Path) -> Config {
    let mut config = Config {
        roots: vec![Root::parse(&web.url(HOST, "/")).unwrap()],
        ..Config::default()
    };
    config.fetch.resolve = web.resolve_args();
    config.politeness.speed = Some(Speed::Max);
    config.limits.time = Some(PATIENCE);
    config.output.folder = Some(folder.into());
    config
}

/// Crawls to the end.
pub fn crawl(config: Config) {
    finish(Crawl::from_config(config));
}

/// Crawls to the end with a browser that shows this for a URL.
pub fn crawl_rendered(mut config: Config, shown: fn(&str) -> String) {
    config.render.when = RenderUse::Auto;
    let crawl = Crawl::from_config(config);
    finish(crawl.rendered_by(Arc::new(move |page, _| {
        let rendering = Rendering {
            html: shown(&page.url),
            ..Rendering::default()
        };
        Box::pin(async { Ok(rendering) })
    })));
}

fn finish(crawl: Crawl) {
    let summary = crawl.run().unwrap().wait().unwrap();
    assert!(summary.error.is_none(), "{:?}", summary.error);
}

/// A web crawled into a job folder of its own, which is gone with the place.
pub fn crawled(web: &LiveWeb) -> (TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a.crawl");
    crawl(config(web, &folder));
    (place, folder)
}

/// Every file below a folder, in order.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file() {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Files below a folder and what is in them.
pub fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let named = |path: PathBuf| {
        let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
        (name.to_owned(), fs::read(&path).unwrap())
    };
    files(folder).into_iter().map(named).collect()
}
