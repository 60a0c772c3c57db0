//! Payloads that the archives of earlier crawls hold.
//!
//! Owns a table on disk from digest to capture, sorted once when a run begins and searched by
//! halving, and a filter in memory in front of it: a payload that is new costs no search.
//! Refuses to know this crawl's own captures. Invariant: memory does not grow with the number of
//! captures; the table is a nameless file and goes with the process.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use clewline_warc::cdxj::{self, Capture, CdxjIndex, LONGEST_LINE};
use clewline_warc::{Digest, Moment};
use xxhash_rust::xxh3::xxh3_64;

use super::seen::{Holder, are_alike, is_holder};
use crate::log::appender::named;

/// Bits of the filter, as a power of two: a mebibyte, good for a million payloads. With more of
/// them more searches are made in vain.
const FILTER_LOG: u32 = 23;
/// Memory for sorting.
const SORTING: usize = 16 << 20;

/// Stands for codings that an index does not tell.
const UNKNOWN: &str = "?";

/// What is known of a payload.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KnownPayload {
    /// No earlier archive has it.
    Not,
    /// This capture has it, coded in the same way.
    Alike(Holder),
    /// It was stored with another coding or one that is not told, so nothing may refer to it:
    /// replay servers would put the wrong head before it.
    Otherwise,
}

/// The payloads of earlier crawls.
#[derive(Debug)]
pub(super) struct EarlierPayloads {
    filter: Vec<u64>,
    table: CdxjIndex,
}

impl EarlierPayloads {
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
        let rows = rewound(rows)?;
        let mut sorted = BufWriter::new(tempfile::tempfile_in(folder)?);
        cdxj::sort(rows, &mut sorted, SORTING, folder)?;
        let mut table = BufWriter::new(tempfile::tempfile_in(folder)?);
        keep_first(rewound(sorted)?, &mut table)?;
        let table = table.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(Some(Self {
            filter,
            table: CdxjIndex::from_file(table)?,
        }))
    }

    /// The earliest capture that holds a payload, if this way of coding is the only one that it
    /// was stored in.
    pub(super) fn find(&mut self, digest: Digest, codings: &str) -> io::Result<KnownPayload> {
        let key = format!("{digest} ");
        if !places(&key).all(|(word, bit)| self.filter[word] & bit != 0) {
            return Ok(KnownPayload::Not);
        }
        let mut known = KnownPayload::Not;
        self.table.each_line(key.as_bytes(), |line| {
            let found = holder(&line[key.len()..]);
            let found = found.filter(|holder| are_alike(codings, &holder.codings));
            known = match (&known, found) {
                (KnownPayload::Not, Some(holder)) => KnownPayload::Alike(holder),
                _ => KnownPayload::Otherwise,
            };
            !matches!(known, KnownPayload::Otherwise)
        })?;
        Ok(known)
    }
}

fn rewound(written: BufWriter<File>) -> io::Result<BufReader<File>> {
    let mut file = written
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(BufReader::new(file))
}

/// Keeps the first of the sorted rows of each payload and coding: the earliest.
fn keep_first(mut rows: BufReader<File>, table: &mut dyn io::Write) -> io::Result<()> {
    let (mut before, mut row) = (Vec::new(), Vec::new());
    loop {
        row.clear();
        if rows
            .by_ref()
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut row)?
            == 0
        {
            return table.flush();
        }
        let mut words = row.splitn(3, |byte| *byte == b' ');
        let length: usize = words.by_ref().take(2).map(|word| word.len() + 1).sum();
        if row.get(..length).is_some_and(|key| key != before) {
            table.write_all(&row)?;
            before.clear();
            before.extend_from_slice(&row[..length]);
        }
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

/// Adds the captures of an index that hold payloads: `digest codings timestamp url`.
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
        let Some(capture) = capture.filter(is_holder) else {
            continue;
        };
        if let Some(digest) = Digest::parse(&capture.digest) {
            let key = format!("{digest} ");
            places(&key).for_each(|(word, bit)| filter[word] |= bit);
            let codings = match capture.codings.as_str() {
                told if is_word(told) => told,
                _ => UNKNOWN,
            };
            writeln!(rows, "{key}{codings} {} {}", capture.timestamp, capture.url)?;
        }
    }
}

/// Whether an index tells codings that can stand in a row.
fn is_word(codings: &str) -> bool {
    !codings.is_empty() && codings.bytes().all(|byte| byte.is_ascii_graphic())
}

fn holder(row: &[u8]) -> Option<Holder> {
    let mut words = str::from_utf8(row).ok()?.splitn(3, ' ');
    let codings = words.next()?;
    Some(Holder {
        codings: if codings == UNKNOWN { "" } else { codings }.into(),
        date: Moment::from_timestamp(words.next()?)?,
        target: words.next()?.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_found_by_their_digests() {
        let place = tempfile::tempdir().unwrap();
        let digest = |number: u32| Digest::sha1(&number.to_be_bytes());
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
            codings: match (number % 10, day) {
                (8, _) => "",
                (9, 2) => "-/chunked",
                _ => "-/-",
            }
            .into(),
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
        let mut earlier = EarlierPayloads::open(&indexes, place.path())
            .unwrap()
            .unwrap();
        for number in 0..1000_u32 {
            let holder = Holder {
                target: format!("http://a.test/{number}/1").into(),
                date: Moment::from_timestamp("20260101").unwrap(),
                codings: "-/-".into(),
            };
            let expected = match (number, number % 10) {
                (500.., _) => KnownPayload::Not,
                _ if number.is_multiple_of(7) => KnownPayload::Not,
                (_, 8 | 9) => KnownPayload::Otherwise,
                _ => KnownPayload::Alike(holder),
            };
            let found = earlier.find(digest(number), "-/-").unwrap();
            assert_eq!(found, expected, "{number}");
        }
        for codings in ["-/chunked", "gzip/-", ""] {
            let found = earlier.find(digest(1), codings).unwrap();
            assert_eq!(found, KnownPayload::Otherwise, "{codings}");
        }
        assert!(EarlierPayloads::open(&[], place.path()).unwrap().is_none());
        assert!(EarlierPayloads::open(&[place.path().join("none")], place.path()).is_err());
    }
}
