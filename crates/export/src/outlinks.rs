//! Where links lead that nobody followed.
//!
//! Owns the way from a page to the URLs that its links name. The link log knows keys alone, and
//! `urls.jsonl` the URLs that were settled; the others stand in the metadata record behind the
//! page's capture.

use std::collections::HashMap;

use clewline_archive::Archive;
use clewline_core::key::{Key, Keyer};
use clewline_job::rebuild;

/// The URLs that a page names.
#[derive(Debug, Default)]
pub(crate) struct Outlinks(HashMap<Key, String>);

impl Outlinks {
    /// Reads what the archive knows of a page. What is damaged or missing tells nothing.
    pub(crate) fn read(archive: &Archive, keyer: &Keyer, url: &str) -> Self {
        Self::of_page(archive, keyer, url).unwrap_or_default()
    }

    fn of_page(archive: &Archive, keyer: &Keyer, url: &str) -> Option<Self> {
        let held = archive.best(url, None, |capture| capture.url == url);
        let block = archive.notes(&held.ok()??).ok()??;
        let links = rebuild::outlinks(&block[..]).ok()?;
        let mut urls = HashMap::with_capacity(links.len());
        for link in links {
            let key = keyer.key(&link.url);
            urls.entry(key)
                .or_insert_with(|| link.url.as_str().to_owned());
        }
        Some(Self(urls))
    }

    /// The URL behind a key that the page links to.
    pub(crate) fn url(&self, target: Key) -> Option<&str> {
        self.0.get(&target).map(String::as_str)
    }
}
