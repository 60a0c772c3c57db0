//! Finding captures in a sorted index.
//!
//! Owns the halving of a file by lines: a look-up reads a line for each halving and then the lines
//! of the URL and some before them, never the whole. Whoever looks up many URLs has fences, a bounded
//! table of lines all over the file, between which one reading suffices.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use super::sort::CdxjLines;
use super::{Capture, LONGEST_LINE};
use crate::moment::Moment;
use crate::surt::surt;

/// A line is near within so many bytes: they are read at once.
const NEAR: u64 = 8 * 1024;
/// Bytes between two fences, at the least.
const FENCE_GAP: u64 = 2 * 1024;
/// Fences of one index.
const MOST_FENCES: u64 = 4096;
/// What is kept of a line.
const FENCE_KEY: usize = 96;

/// A sorted index in a file.
#[derive(Debug)]
pub struct CdxjIndex {
    file: BufReader<File>,
    length: u64,
    fences: Option<Arc<CdxjFences>>,
}

/// Some lines of an index and where they begin, so that a look-up need not read its way there.
#[derive(Debug)]
pub struct CdxjFences {
    /// The first bytes of lines, in order.
    lines: Vec<(Box<[u8]>, u64)>,
    /// Of the index.
    length: u64,
}

impl CdxjFences {
    /// Between which places the first line begins that is not less than a key.
    fn around(&self, key: &[u8]) -> (u64, u64) {
        // Of a line that is longer than what is kept of it, and begins as the key does, nobody knows.
        let is_less = |line: &[u8]| line < key && !key.starts_with(line);
        let low = self.lines.partition_point(|(line, _)| is_less(line));
        let high = self.lines.partition_point(|(line, _)| **line < *key);
        let begin = |index: usize| self.lines.get(index).map(|(_, begin)| *begin);
        let low = low.checked_sub(1).and_then(begin).unwrap_or(0);
        (low, begin(high).unwrap_or(self.length))
    }
}

impl CdxjIndex {
    /// Opens an index.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::from_file(File::open(path)?)
    }

    /// An index in a file that is open already; any file of sorted lines will do.
    pub fn from_file(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let file = BufReader::new(file);
        Ok(Self {
            file,
            length,
            fences: None,
        })
    }

    /// Hands on the captures of a URL, oldest first, until the taker answers no.
    pub fn each(&mut self, url: &str, mut take: impl FnMut(Capture) -> bool) -> io::Result<()> {
        let key = surt(url) + " ";
        self.each_line(key.as_bytes(), |line| {
            let capture = Capture::parse(&String::from_utf8_lossy(line));
            capture.is_none_or(&mut take)
        })
    }

    /// Hands on keys and captures in order, from the first that is not before a line, which may
    /// be the beginning of one, until the taker answers no.
    pub fn each_from(
        &mut self,
        line: &str,
        mut take: impl FnMut(&str, Capture) -> bool,
    ) -> io::Result<()> {
        self.lines_from(line.as_bytes(), |line| {
            let line = String::from_utf8_lossy(line);
            let key = line.split(' ').next().unwrap_or_default();
            Capture::parse(&line).is_none_or(|capture| take(key, capture))
        })
    }

    /// Hands on the lines that begin with a prefix, in order, until the taker answers no.
    pub fn each_line(
        &mut self,
        prefix: &[u8],
        mut take: impl FnMut(&[u8]) -> bool,
    ) -> io::Result<()> {
        self.lines_from(prefix, |line| line.starts_with(prefix) && take(line))
    }

    fn lines_from(&mut self, first: &[u8], mut take: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
        let start = self.shortly_before(first)?;
        self.file.seek(SeekFrom::Start(start))?;
        let mut lines = CdxjLines(&mut self.file);
        let mut is_before = true;
        while let Some(line) = lines.next_line()? {
            is_before = is_before && line.as_slice() < first;
            if !is_before && !take(&line) {
                break;
            }
        }
        Ok(())
    }

    /// The capture of a URL that is closest in time; of two as close, the earlier.
    pub fn closest(&mut self, url: &str, moment: Moment) -> io::Result<Option<Capture>> {
        let mut best: Option<(u64, Capture)> = None;
        self.each(url, |capture| {
            let time = Moment::from_timestamp(&capture.timestamp);
            let away = time.map_or(u64::MAX, |time| time.seconds().abs_diff(moment.seconds()));
            let is_nearer = best.as_ref().is_none_or(|(least, _)| away < *least);
            if is_nearer {
                best = Some((away, capture));
            }
            // Times only grow from here on.
            is_nearer || time.is_none_or(|time| time <= moment)
        })?;
        Ok(best.map(|(_, capture)| capture))
    }

    /// Where a line begins before which all lines are less than a key, and behind which the first
    /// that is not less is near.
    fn shortly_before(&mut self, key: &[u8]) -> io::Result<u64> {
        // Every line that begins before `low` is less; none that begins at or behind `high` is.
        let (mut low, mut high) = match &self.fences {
            Some(fences) if fences.length == self.length => fences.around(key),
            _ => (0, self.length),
        };
        while high.saturating_sub(low) > NEAR {
            let middle = low + (high - low) / 2;
            let begin = self.line_at(middle)?;
            if begin >= high {
                high = middle;
                continue;
            }
            let line = CdxjLines(&mut self.file).next_line()?;
            if line.is_some_and(|line| line.as_slice() < key) {
                low = self.file.stream_position()?;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Where lines begin all over the index, for whoever looks up many URLs.
    pub fn fences(&mut self) -> io::Result<CdxjFences> {
        let count = (self.length / FENCE_GAP).min(MOST_FENCES);
        let mut lines: Vec<(Box<[u8]>, u64)> = Vec::new();
        for number in 1..=count {
            let begin = self.line_at(self.length / (count + 1) * number)?;
            if lines.last().is_some_and(|(_, last)| *last >= begin) {
                continue;
            }
            let Some(mut line) = CdxjLines(&mut self.file).next_line()? else {
                break;
            };
            line.truncate(FENCE_KEY);
            lines.push((line.into(), begin));
        }
        Ok(CdxjFences {
            lines,
            length: self.length,
        })
    }

    /// The same index, in which URLs are found between these fences. Those of another file are of
    /// no use and do no harm.
    #[must_use]
    pub fn fenced(self, fences: Arc<CdxjFences>) -> Self {
        Self {
            fences: Some(fences),
            ..self
        }
    }

    /// Goes to the first line that begins at or behind a place.
    fn line_at(&mut self, place: u64) -> io::Result<u64> {
        let before = place.saturating_sub(1);
        self.file.seek(SeekFrom::Start(before))?;
        if place == 0 {
            return Ok(0);
        }
        let mut passed = Vec::new();
        let mut limited = self.file.by_ref().take(LONGEST_LINE + 1);
        Ok(before + limited.read_until(b'\n', &mut passed)? as u64)
    }
}
