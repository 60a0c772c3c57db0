//! Looks for a few lines among all that a crawl wrote.
//!
//! Owns the way to them: the lookup tells where they are, and what it does not cover yet is read
//! in passes over `urls.jsonl` and `links/`. Each pass streams; what is kept is bounded, and a
//! line is parsed only if its key or a redirect in it is asked for.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

use clewline_core::key::{Key, Keyer};
use clewline_core::link::LinkKind;
use clewline_core::url::CrawlUrl;
use memchr::memmem::find;

use super::part::Stretch;
use super::{LogPlaces, Lookup, MOST_PLACES};
use crate::log::{links, urls};
use crate::record::Record;

/// The logs of a job, as far as they are committed.
pub struct Logs<'a> {
    folder: &'a Path,
    keyer: &'a Keyer,
    ends: LogPlaces,
    lookup: Lookup,
}

/// Who links to a URL.
#[derive(Debug, Default)]
pub struct Sources {
    /// The first pages, and how they name it.
    pub first: Vec<(Key, LinkKind)>,
    /// How many there are.
    pub count: u64,
}

/// What is found of a URL in the records.
#[derive(Debug, Default)]
pub struct FoundRecord {
    /// The last record of the URL itself.
    pub record: Option<Record>,
    /// Redirects that point to it.
    pub redirects: Vec<CrawlUrl>,
    /// How many there are.
    pub redirect_count: u64,
}

/// Where the logs end: at the commits that are told, or where the files do.
pub fn log_ends(folder: &Path, told: &[(String, u64)]) -> LogPlaces {
    let end = |log: &str, file: &str| {
        let length = fs::metadata(folder.join(file)).map_or(0, |file| file.len());
        let committed = told.iter().find(|(name, _)| name == log);
        committed.map_or(length, |(_, end)| length.min(*end))
    };
    LogPlaces {
        urls: end(urls::NAME, urls::FILE),
        links: end(links::NAME, links::FILE),
    }
}

impl<'a> Logs<'a> {
    /// The logs of a folder up to these places, and what is known of them.
    pub const fn new(folder: &'a Path, keyer: &'a Keyer, ends: LogPlaces, lookup: Lookup) -> Self {
        Self {
            folder,
            keyer,
            ends,
            lookup,
        }
    }

    /// The logs from a place on.
    const fn behind(&self, from: LogPlaces) -> Stretch {
        let to = self.ends;
        Stretch { from, to }
    }

    /// The pages that link to a URL.
    pub fn sources(&self, target: Key) -> io::Result<Sources> {
        let known = self.lookup.find(target)?;
        let mut sources = Sources {
            first: Vec::new(),
            count: known.link_count,
        };
        for (place, kind) in known.links {
            let from = LogPlaces {
                urls: 0,
                links: place,
            };
            let reader = self.behind(from).links(self.folder)?;
            let source = reader.map(|mut reader| reader.source()).transpose()?;
            let source = source.flatten().ok_or(io::ErrorKind::UnexpectedEof)?;
            sources.first.push((source, kind));
        }
        let uncovered = self.behind(self.lookup.end());
        let Some(reader) = uncovered.links(self.folder)? else {
            return Ok(sources);
        };
        let read = reader.each(|source, to, kind| {
            if to == target {
                sources.count += 1;
                if sources.first.len() < MOST_PLACES {
                    sources.first.push((source, kind));
                }
            }
        });
        match read {
            // The tail of a crash, or of a write that goes on now.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(sources),
            other => other.map(|()| sources),
        }
    }

    /// The record of a URL, and the redirects that point to it.
    pub fn find(&self, key: Key) -> io::Result<FoundRecord> {
        let known = self.lookup.find(key)?;
        let mut found = FoundRecord {
            record: known.record.map(|at| self.line(at, key)).transpose()?,
            redirects: Vec::new(),
            redirect_count: known.redirect_count,
        };
        for at in known.redirects {
            found.redirects.push(self.record(at)?.url);
        }
        let own = key.to_string();
        self.each_new(|line| {
            if key_of(line) == Some(own.as_bytes()) {
                found.record = Some(serde_json::from_slice(line)?);
            } else if may_redirect(line) {
                let record: Record = serde_json::from_slice(line)?;
                if self.redirects_to(&record, key) {
                    found.redirect_count += 1;
                    if found.redirects.len() < MOST_PLACES {
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
    pub fn records(&self, keys: &[Key]) -> io::Result<HashMap<Key, Record>> {
        let mut records = HashMap::new();
        if keys.is_empty() {
            return Ok(records);
        }
        for key in keys {
            if let Some(at) = self.lookup.find(*key)?.record {
                records.insert(*key, self.line(at, *key)?);
            }
        }
        let wanted: HashMap<String, Key> = keys.iter().map(|key| (key.to_string(), *key)).collect();
        self.each_new(|line| {
            let text = key_of(line).and_then(|key| std::str::from_utf8(key).ok());
            if let Some(key) = text.and_then(|text| wanted.get(text)) {
                records.insert(*key, serde_json::from_slice(line)?);
            }
            Ok(())
        })?;
        Ok(records)
    }

    /// The record at a place, which must be the one of this key.
    fn line(&self, at: u64, key: Key) -> io::Result<Record> {
        let record = self.record(at)?;
        if record.key == key {
            Ok(record)
        } else {
            Err(io::ErrorKind::InvalidData.into())
        }
    }

    fn record(&self, at: u64) -> io::Result<Record> {
        let from = LogPlaces { urls: at, links: 0 };
        let lines = self.behind(from).lines(self.folder)?;
        let mut lines = lines.ok_or(io::ErrorKind::UnexpectedEof)?;
        let line = lines.next_line()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(serde_json::from_slice(line)?)
    }

    /// Looks at every line that the lookup does not cover.
    fn each_new(&self, mut look: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let uncovered = self.behind(self.lookup.end());
        let Some(mut lines) = uncovered.lines(self.folder)? else {
            return Ok(());
        };
        while let Some(line) = lines.next_line()? {
            look(line)?;
        }
        Ok(())
    }
}

/// The key of a line, without parsing it. Quotes inside of values are escaped, so this text
/// stands in a line only where the field does.
pub(super) fn key_of(line: &[u8]) -> Option<&[u8]> {
    const FIELD: &[u8] = b"\"key\":\"";
    let at = find(line, FIELD)? + FIELD.len();
    line.get(at..at + 32)
}

/// Whether a line has a redirect in it, without parsing it.
pub(super) fn may_redirect(line: &[u8]) -> bool {
    find(line, b"\"redirect_to\":").is_some()
}
