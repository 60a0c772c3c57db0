//! URLs found again, by the place of their record or by their key.
//!
//! Owns the way back into `urls.jsonl`. It holds 24 bytes for each URL and a bounded number of
//! texts; the rest stays in the file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::sync::Arc;

use clewline_core::key::Key;
use clewline_job::Job;
use clewline_job::log::Offset;
use clewline_job::record::Record;
use serde::Deserialize;

use crate::error::ExportError;
use crate::filter::Filter;

/// URLs whose place is known by key, 24 bytes each; later ones are not found by their key.
const MOST_KEYS: usize = 20_000_000;
/// Texts that are kept, of a few hundred bytes each.
const MOST_TEXTS: usize = 100_000;
/// A line that is longer is not read.
const LONGEST_LINE: u64 = 8 * 1024 * 1024;

/// Reads URLs out of the log of records.
#[derive(Debug)]
pub(crate) struct Urls {
    file: BufReader<File>,
    /// Sorted by key.
    places: Vec<LoggedUrl>,
    texts: HashMap<u64, Arc<str>>,
}

/// A settled URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LoggedUrl {
    key: Key,
    pub(crate) at: Offset,
    /// Whether filters let it through.
    pub(crate) is_wanted: bool,
}

#[derive(Deserialize)]
struct Line {
    url: String,
}

impl Urls {
    /// Opens the log, to read by place.
    pub(crate) fn open(job: &Job) -> Result<Self, ExportError> {
        let path = job.urls_path();
        let file = File::open(&path).map_err(ExportError::input(&path))?;
        Ok(Self {
            file: BufReader::new(file),
            places: Vec::new(),
            texts: HashMap::new(),
        })
    }

    /// Opens the log, to read by key as well.
    pub(crate) fn by_key(job: &Job, filters: &[Filter]) -> Result<Self, ExportError> {
        let mut urls = Self::open(job)?;
        for record in job.records()?.take(MOST_KEYS) {
            let (at, record) = record?;
            urls.places.push(LoggedUrl {
                key: record.key,
                at,
                is_wanted: filters.iter().all(|filter| filter.matches(&record)),
            });
        }
        urls.places.sort_unstable();
        Ok(urls)
    }

    /// The URL of the record that begins at a place.
    pub(crate) fn at(&mut self, place: Offset) -> io::Result<Arc<str>> {
        if let Some(text) = self.texts.get(&place.0) {
            return Ok(Arc::clone(text));
        }
        let read: Line = serde_json::from_slice(&self.line(place)?)?;
        let text: Arc<str> = read.url.into();
        if self.texts.len() >= MOST_TEXTS {
            self.texts.clear();
        }
        self.texts.insert(place.0, Arc::clone(&text));
        Ok(text)
    }

    /// The record that begins at a place.
    pub(crate) fn record(&mut self, place: Offset) -> io::Result<Record> {
        Ok(serde_json::from_slice(&self.line(place)?)?)
    }

    fn line(&mut self, place: Offset) -> io::Result<Vec<u8>> {
        self.file.seek(SeekFrom::Start(place.0))?;
        let mut line = Vec::new();
        (&mut self.file)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)?;
        Ok(line)
    }

    /// Where the record of a key is, if it was settled.
    pub(crate) fn find(&self, key: Key) -> Option<LoggedUrl> {
        let found = self.places.binary_search_by_key(&key, |place| place.key);
        found.ok().map(|found| self.places[found])
    }

    /// The URL of a key, if it was settled.
    pub(crate) fn of(&mut self, key: Key) -> io::Result<Option<Arc<str>>> {
        self.find(key).map(|place| self.at(place.at)).transpose()
    }
}

#[cfg(test)]
pub(crate) mod samples {
    use clewline_job::record::Record;

    /// A record of a URL that was fetched.
    pub(crate) fn record(url: &str) -> Record {
        let line = serde_json::json!({
            "v": 1, "url": url, "key": "000102030405060708090a0b0c0d0e0f",
            "outcome": "fetched", "wire_bytes": 1, "body_bytes": 2, "links": 0, "new_links": 0,
            "depth": 1, "kind": "anchor", "tries": 1, "timings": {},
            "fetched_at": "2026-11-15T12:00:00.500Z",
        });
        serde_json::from_value(line).unwrap()
    }
}
