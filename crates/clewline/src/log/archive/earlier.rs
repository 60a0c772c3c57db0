//! Payloads that the archives of earlier crawls hold.
//!
//! Owns a table on disk from digest to capture, sorted once when a run begins and searched by
//! halving, and a filter in memory in front of it: a payload that is new costs no search.
//! Refuses to know this crawl's own captures. Invariant: memory does not grow with the number of
//! captures; the table is a nameless file and goes with the process.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use clewline_warc::cdxj::{self, Capture, Index, LONGEST_LINE};
use clewline_warc::{Digest, Moment};
use xxhash_rust::xxh3::xxh3_64;

use super::seen::Holder;
use crate::log::appender::named;

/// Bits of the filter, as a power of two: a mebibyte, good for a million payloads. With more of
/// them more searches are made in vain.
const FILTER_LOG: u32 = 23;
/// Memory for sorting.
const SORTING: usize = 16 << 20;

/// The payloads of earlier crawls.
#[derive(Debug)]
pub(super) struct Earlier {
    filter: Vec<u64>,
    table: Index,
}

impl Earlier {
    /// Makes the table from indexes, in a folder. Nothing if there are no indexes.
    pub(super) fn open(indexes: &[PathBuf], folder: &Path) -> io::Result<Option<Self>> {
        if indexes.is_empty() {
            return Ok(None);
        }
        crate::durable::make_folder(folder)?;
        let mut filter = vec![0; 1 << (FILTER_LOG - 6)];
        let mut rows = BufWriter::new(tempfile::tempfile_in(folder)?);
        for path in indexes {
            let index = File::open(path).map_err(|error| named(path, &error))?;
            add(BufReader::new(index), &mut rows, &mut filter)?;
        }
        let mut rows = rows.into_inner().map_err(io::IntoInnerError::into_error)?;
        rows.rewind()?;
        let mut table = BufWriter::new(tempfile::tempfile_in(folder)?);
        cdxj::sort(BufReader::new(rows), &mut table, SORTING, folder)?;
        let table = table.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(Some(Self {
            filter,
            table: Index::of(table)?,
        }))
    }

    /// The earliest capture that holds a payload.
    pub(super) fn find(&mut self, digest: Digest) -> io::Result<Option<Holder>> {
        let key = format!("{digest} ");
        if !places(&key).all(|(word, bit)| self.filter[word] & bit != 0) {
            return Ok(None);
        }
        let mut found = None;
        self.table.each_line(key.as_bytes(), |line| {
            found = holder(&line[key.len()..]);
            found.is_none()
        })?;
        Ok(found)
    }
}

/// Where a payload stands in the filter.
fn places(key: &str) -> impl Iterator<Item = (usize, u64)> {
    let hash = xxh3_64(key.as_bytes());
    [hash, hash >> 32].into_iter().map(|part| {
        let place = part & ((1 << FILTER_LOG) - 1);
        ((place >> 6) as usize, 1 << (place & 63))
    })
}

/// Adds the captures of an index that hold payloads: `digest timestamp url`.
fn add(mut index: BufReader<File>, rows: &mut dyn io::Write, filter: &mut [u64]) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut index)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)?
            == 0
        {
            return Ok(());
        }
        let capture = Capture::parse(&String::from_utf8_lossy(&line));
        let Some(capture) = capture.filter(|capture| !capture.is_revisit()) else {
            continue;
        };
        if let Some(digest) = Digest::parse(&capture.digest) {
            let key = format!("{digest} ");
            places(&key).for_each(|(word, bit)| filter[word] |= bit);
            writeln!(rows, "{key}{} {}", capture.timestamp, capture.url)?;
        }
    }
}

fn holder(row: &[u8]) -> Option<Holder> {
    let (timestamp, url) = str::from_utf8(row).ok()?.split_once(' ')?;
    Some(Holder {
        target: url.into(),
        date: Moment::of_timestamp(timestamp)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_found_by_their_digests() {
        let place = tempfile::tempdir().unwrap();
        let digest = |number: u32| Digest::of(&number.to_be_bytes());
        let capture = |number: u32, day: u32| Capture {
            timestamp: format!("202601{day:02}000000"),
            url: format!("http://a.test/{number}/{day}"),
            mime: if number.is_multiple_of(7) {
                "warc/revisit"
            } else {
                "text/html"
            }
            .into(),
            status: "200".into(),
            digest: digest(number).to_string(),
            length: 1,
            offset: 1,
            filename: "x.warc.gz".into(),
            refers_to_url: String::new(),
            refers_to_date: String::new(),
        };
        let index = |name: &str, day: u32| {
            let path = place.path().join(name);
            let lines = (0..500).map(|number| capture(number, day).line() + "\n");
            std::fs::write(&path, "!header\n".to_owned() + &lines.collect::<String>()).unwrap();
            path
        };
        let indexes = [index("b", 2), index("a", 1)];
        let mut earlier = Earlier::open(&indexes, place.path()).unwrap().unwrap();
        for number in 0..1000 {
            let found = earlier.find(digest(number)).unwrap();
            let expected = (number < 500 && !number.is_multiple_of(7)).then(|| Holder {
                target: format!("http://a.test/{number}/1").into(),
                date: Moment::of_timestamp("20260101").unwrap(),
            });
            assert_eq!(found, expected, "{number}");
        }
        assert!(Earlier::open(&[], place.path()).unwrap().is_none());
        assert!(Earlier::open(&[place.path().join("none")], place.path()).is_err());
    }
}
