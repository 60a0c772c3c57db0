//! Where links lead that nobody followed.
//!
//! Owns the way from a page to the URLs that its links name. The link log knows keys alone, and
//! `urls.jsonl` the URLs that were settled; the others stand in the metadata record behind the
//! page's capture.

use std::collections::HashMap;

use clewline_core::key::{Key, Keyer};
use clewline_core::url::CrawlUrl;
use clewline_job::pages::PageReader;

/// The URLs that a page names.
#[derive(Debug, Default)]
pub(crate) struct Outlinks(HashMap<Key, String>);

impl Outlinks {
    /// Reads what the archive knows of a page. What is damaged or missing tells nothing.
    pub(crate) fn read(reader: &PageReader, keyer: &Keyer, url: &CrawlUrl) -> Self {
        let mut urls = HashMap::new();
        for link in reader.links(url) {
            let key = keyer.key(&link.url);
            urls.entry(key)
                .or_insert_with(|| link.url.as_str().to_owned());
        }
        Self(urls)
    }

    /// The URL behind a key that the page links to.
    pub(crate) fn url(&self, target: Key) -> Option<&str> {
        self.0.get(&target).map(String::as_str)
    }
}
