//! Looks for a few lines among all that a crawl wrote.
//!
//! Owns the passes over `urls.jsonl` and `links/`. Each pass streams; what is kept is bounded,
//! and a line is parsed only if its key or a redirect in it is asked for.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use clewline_core::key::{Key, Keyer};
use clewline_core::link::LinkKind;
use clewline_core::url::CrawlUrl;
use memchr::memmem::find;

use crate::log::lines::Lines;
use crate::log::{LinksReader, links, urls};
use crate::record::Record;

/// Pages that are named as sources of a link or of a redirect.
pub(super) const MOST_NAMED: usize = 10;

/// The logs of a job, as far as they are committed.
pub(super) struct Logs<'a> {
    folder: &'a Path,
    keyer: &'a Keyer,
    ends: &'a [(String, u64)],
}

/// Who links to a URL.
#[derive(Debug, Default)]
pub(super) struct Sources {
    pub(super) first: Vec<(Key, LinkKind)>,
    pub(super) count: u64,
}

/// What the first pass over the records finds.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The last record of the URL itself.
    pub(super) record: Option<Record>,
    /// Redirects that point to it.
    pub(super) redirects: Vec<CrawlUrl>,
    pub(super) redirect_count: u64,
}

impl<'a> Logs<'a> {
    pub(super) const fn new(folder: &'a Path, keyer: &'a Keyer, ends: &'a [(String, u64)]) -> Self {
        Self {
            folder,
            keyer,
            ends,
        }
    }

    fn end(&self, log: &str) -> Option<u64> {
        let known = self.ends.iter().find(|(name, _)| name == log);
        known.map(|(_, end)| *end)
    }

    fn urls(&self) -> PathBuf {
        self.folder.join(urls::FILE)
    }

    /// The pages that link to a URL.
    pub(super) fn sources(&self, target: Key) -> io::Result<Sources> {
        let mut sources = Sources::default();
        if !self.folder.join(links::FILE).exists() {
            return Ok(sources);
        }
        let reader = LinksReader::open(self.folder)?;
        for link in reader.until(self.end(links::NAME).unwrap_or(u64::MAX)) {
            match link {
                Ok((source, to, kind)) if to == target => {
                    sources.count += 1;
                    if sources.first.len() < MOST_NAMED {
                        sources.first.push((source, kind));
                    }
                }
                Ok(_) => {}
                // The tail of a crash, or of a write that goes on now.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(error),
            }
        }
        Ok(sources)
    }

    /// The record of a URL, and the redirects that point to it.
    pub(super) fn find(&self, key: Key) -> io::Result<Found> {
        let mut found = Found::default();
        let own = key.to_string();
        self.each(|line| {
            if key_of(line) == Some(own.as_bytes()) {
                found.record = Some(serde_json::from_slice(line)?);
            } else if find(line, b"\"redirect_to\":").is_some() {
                let record: Record = serde_json::from_slice(line)?;
                if self.redirects_to(&record, key) {
                    found.redirect_count += 1;
                    if found.redirects.len() < MOST_NAMED {
                        found.redirects.push(record.url);
                    }
                }
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn redirects_to(&self, record: &Record, key: Key) -> bool {
        let target = record.redirect_to.as_deref().map(CrawlUrl::parse);
        target.is_some_and(|target| target.is_ok_and(|url| self.keyer.key(&url) == key))
    }

    /// The records of some URLs.
    pub(super) fn records(&self, keys: &[Key]) -> io::Result<HashMap<Key, Record>> {
        let mut records = HashMap::new();
        if keys.is_empty() {
            return Ok(records);
        }
        let wanted: HashMap<String, Key> = keys.iter().map(|key| (key.to_string(), *key)).collect();
        self.each(|line| {
            let text = key_of(line).and_then(|key| std::str::from_utf8(key).ok());
            if let Some(key) = text.and_then(|text| wanted.get(text)) {
                records.insert(*key, serde_json::from_slice(line)?);
            }
            Ok(())
        })?;
        Ok(records)
    }

    fn each(&self, mut look: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let path = self.urls();
        if !path.exists() {
            return Ok(());
        }
        let mut lines = Lines::open(&path, 0, self.end(urls::NAME))?;
        while let Some(line) = lines.next()? {
            look(line)?;
        }
        Ok(())
    }
}

/// The key of a line, without parsing it. Quotes inside of values are escaped, so this text
/// stands in a line only where the field does.
fn key_of(line: &[u8]) -> Option<&[u8]> {
    const FIELD: &[u8] = b"\"key\":\"";
    let at = find(line, FIELD)? + FIELD.len();
    line.get(at..at + 32)
}
