//! Where links lead that nobody followed.
//!
//! Owns the way from a page to the URLs that its links name. The link log knows keys alone, and
//! `urls.jsonl` the URLs that were settled; the others stand in the metadata record behind the
//! page's capture. Invariant: the links of one page are held, and no more.

use std::collections::HashMap;
use std::rc::Rc;

use clewline::rebuild;
use clewline_archive::Archive;
use clewline_core::key::{Key, Keyer};

use crate::error::ExportError;
use crate::job::Job;

/// Reads the links of pages.
pub(crate) struct Outlinks<'a> {
    archive: Rc<Archive>,
    keyer: &'a Keyer,
    /// The page whose links are held.
    page: Option<Key>,
    urls: HashMap<Key, String>,
}

impl<'a> Outlinks<'a> {
    /// Nothing if the keys of the job cannot be made again.
    pub(crate) fn of_job(job: &'a Job) -> Result<Option<Self>, ExportError> {
        let found = job.archive_with_keys()?;
        Ok(found.map(|(archive, keyer)| Self {
            archive,
            keyer,
            page: None,
            urls: HashMap::new(),
        }))
    }

    /// The URL behind a key that a page links to, as far as the archive tells.
    pub(crate) fn url(&mut self, page: (Key, &str), target: Key) -> Option<&str> {
        let (key, url) = page;
        if self.page != Some(key) {
            self.page = Some(key);
            self.urls = self.read(url).unwrap_or_default();
        }
        self.urls.get(&target).map(String::as_str)
    }

    /// What is damaged or missing tells nothing.
    fn read(&self, url: &str) -> Option<HashMap<Key, String>> {
        let held = self.archive.best(url, None, |capture| capture.url == url);
        let block = self.archive.notes(&held.ok()??).ok()??;
        let links = rebuild::outlinks(&block[..]).ok()?;
        let mut urls = HashMap::with_capacity(links.len());
        for link in links {
            let key = self.keyer.key(&link.url);
            urls.entry(key)
                .or_insert_with(|| link.url.as_str().to_owned());
        }
        Some(urls)
    }
}
